"""The coordinates that a stream for rho still has to release: noise first, counts as they come.

Flow: `epochs` begins one; `stream` adds counts and closes days. `pending_tree` is its twin for epsilon.
Each level's open block has one pending number for every position still to come: the part of (C x)_t that is known so
far, plus the noise that the coordinate will be released with. A count adds its column of C to them. Closing a day takes
the first number of one level, estimates from it the count at that position, and begins the levels below afresh.
What is released, y = C x + z, is never changed by what comes later: so counts may depend on what was released.
Relies on: `levels` for the shape, `square_root` for columns and estimates, `draws` for noise without an end.
Proof: docs/proofs/mechanisms/running-stream.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dither.errors import GuaranteeError, InvalidParameter
from dither.mechanisms.running.draws import unbounded_draws
from dither.mechanisms.running.levels import RootLevels
from dither.noise import DiscreteGaussian, Entropy

__all__ = ["PendingRoots"]


class PendingRoots:
    def __init__(
        self,
        shape: RootLevels,
        laws: Sequence[DiscreteGaussian],
        closed: int,
        waiting: list[list[int]],
        estimates: list[list[float]],
    ) -> None:
        if not 0 <= closed <= shape.days or not len(waiting) == len(estimates) == shape.levels == len(laws):
            raise InvalidParameter("stream", expected="pending numbers of these levels", found="another shape")
        for level in range(shape.levels):
            place = shape.place(level, closed)
            if len(estimates[level]) != place or len(waiting[level]) != shape.positions(level, closed) - place:
                raise InvalidParameter("stream", expected="pending numbers of this day", found="another number of them")
        self.closed = closed
        """Days closed, the length of the prefix last released."""
        self.waiting = waiting
        """Pending numbers of each level's open block, in steps, lowest level first, the next to be released first."""
        self.estimates = estimates
        """Public: the estimated counts at the released positions of each level's open block."""
        self._shape = shape
        self._laws = laws

    @classmethod
    def begin(cls, shape: RootLevels, laws: Sequence[DiscreteGaussian], entropy: Entropy | None) -> PendingRoots:
        waiting = [unbounded_draws(law, shape.positions(level, 0), entropy) for level, law in enumerate(laws)]
        return cls(shape, laws, 0, waiting, [[] for _ in laws])

    @classmethod
    def resume(
        cls, shape: RootLevels, laws: Sequence[DiscreteGaussian], owner: Mapping[str, Any], public: Mapping[str, Any]
    ) -> PendingRoots:
        """What `owner_state` and `public_state` gave. Raises InvalidParameter, KeyError, TypeError or ValueError for
        anything else."""
        waiting = [[_whole(number) for number in level] for level in owner["pending"]]
        estimates = [[_finite(number) for number in level] for level in public["estimates"]]
        return cls(shape, laws, _whole(owner["closed"]), waiting, estimates)

    def owner_state(self) -> dict[str, Any]:
        return {"closed": self.closed, "pending": [list(level) for level in self.waiting]}

    def public_state(self) -> dict[str, Any]:
        return {"estimates": [list(level) for level in self.estimates]}

    def add(self, count: int) -> None:
        """Count on the open day: its column of C in every level whose open position the day belongs to."""
        for level, design in enumerate(self._shape.designs):
            waiting = self.waiting[level]
            column = design.column(len(self.estimates[level]), len(waiting)) if waiting else []
            self.waiting[level] = [number + entry * count for number, entry in zip(waiting, column, strict=True)]

    def close_day(self, entropy: Entropy | None) -> float:
        """The noisy total of the prefix that ends with the open day, in counts, not yet rounded."""
        if self.closed >= self._shape.days:
            raise GuaranteeError("A stream was asked for a day beyond its horizon.")
        self.closed += 1
        # The highest level of which this day closes a position.
        closing = next(i for i in reversed(range(self._shape.levels)) if self.closed % self._shape.span(i) == 0)
        noisy, *self.waiting[closing] = self.waiting[closing]
        found = self._shape.designs[closing].next_count(noisy, self.estimates[closing])
        self.estimates[closing] = [*self.estimates[closing], found]
        for lower in range(closing):
            positions = self._shape.positions(lower, self.closed)
            self.waiting[lower] = unbounded_draws(self._laws[lower], positions, entropy) if positions else []
            self.estimates[lower] = []
        return math.fsum(number for level in self.estimates for number in level)


def _whole(number: object) -> int:
    if type(number) is not int:
        raise TypeError(number)
    return number


def _finite(number: object) -> float:
    if type(number) is not float or not math.isfinite(number):
        raise TypeError(number)
    return number
