"""What a stream promises, and its epochs: days that share one shape, one noise and one charge.

Flow: `stream` opens epochs by StreamTerms; an epoch begins, or resumes, the pending numbers of its days.
An epoch for epsilon is a balanced tree with Laplace noise, one for rho is square roots with Gaussian noise.
Proof: docs/proofs/mechanisms/running-stream.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from dither.accounting.events import Event, GaussianEvent, LaplaceEvent
from dither.errors import InvalidParameter
from dither.exact import exact
from dither.mechanisms.laplace import laplace_scale
from dither.mechanisms.release import Neighbours
from dither.mechanisms.running.levels import MEMORY, root_levels
from dither.mechanisms.running.normal_sums import grid_step
from dither.mechanisms.running.pending_roots import PendingRoots
from dither.mechanisms.running.pending_tree import PendingTree
from dither.mechanisms.running.square_root import LONGEST
from dither.mechanisms.running.tree import choose_tree
from dither.noise import DiscreteGaussian, DiscreteLaplace, Entropy

__all__ = ["Epoch", "Noise", "Pending", "StreamTerms"]

Noise = tuple[tuple[DiscreteLaplace | DiscreteGaussian, float], ...]
"""Laws, and by how much the variance of each is multiplied: for Laplace noise, how many draws of it there are."""

_LARGEST_MEMORY = 2**16


class Pending(Protocol):
    """The numbers that the days of one epoch still have to release."""

    closed: int
    """Days closed."""

    def add(self, count: int) -> None: ...
    def close_day(self, entropy: Entropy | None) -> float: ...
    def owner_state(self) -> dict[str, Any]: ...
    def public_state(self) -> dict[str, Any]: ...


class Epoch(Protocol):
    @property
    def days(self) -> int: ...
    @property
    def events(self) -> tuple[Event, ...]:
        """What is charged when the epoch is opened."""

    @property
    def rounding(self) -> float:
        """Its totals are whole multiples of this."""

    def noise(self, closed: int) -> Noise:
        """What the total of the first `closed` days of the epoch holds, the base it starts from apart."""

    def noise_between(self, first: int, last: int) -> Noise:
        """What the sum over days first..last of the epoch holds, as the difference of two totals."""

    def begin(self, entropy: Entropy | None) -> Pending: ...
    def resume(self, owner: Mapping[str, Any], public: Mapping[str, Any]) -> Pending: ...


@dataclass(frozen=True)
class StreamTerms:
    """What a stream promises and assumes, the same for all its epochs."""

    epsilon: Fraction | None
    rho: Fraction | None
    """The price of one epoch: one of the two."""
    neighbours: Neighbours
    max_rows_per_unit: int
    """Rows of one unit in one epoch, at most."""
    largest_step: int
    """How much one row adds, at most, in size."""
    signed: bool = True
    """False: no row adds less than 0."""
    memory: int = MEMORY
    """How many numbers a level of square roots keeps, at most."""

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            found = "neither" if self.rho is None else "both"
            raise InvalidParameter("offer", expected="epsilon or rho, one of them", found=found)
        for name, value in (("max_rows_per_unit", self.max_rows_per_unit), ("largest_step", self.largest_step)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidParameter(name, expected="a whole number, at least 1", found=value)
        if self.neighbours not in ("add_remove", "replace"):
            raise InvalidParameter("neighbours", expected="add_remove or replace", found=self.neighbours)
        if not isinstance(self.signed, bool):
            raise InvalidParameter("signed", expected="True or False", found=self.signed)
        if type(self.memory) is not int or not 2 <= self.memory <= _LARGEST_MEMORY:
            raise InvalidParameter("memory", expected=f"2 to {_LARGEST_MEMORY:,} numbers a level", found=self.memory)

    def epoch(self, days: int) -> Epoch:
        if isinstance(days, bool) or not isinstance(days, int) or days < 1:
            raise InvalidParameter("days", expected="a whole number, at least 1", found=days)
        moved = self.max_rows_per_unit * self.largest_step
        if self.rho is not None:
            if days > LONGEST:
                raise InvalidParameter("days", expected=f"at most {LONGEST:,} an epoch", found=days)
            # As for a whole table: columns without negative entries, so that without negative rows squares add up.
            replaced = (4 if self.signed else 2) if self.neighbours == "replace" else 1
            events = root_levels(days, self.memory).events(rho=self.rho, moved_squared=replaced * moved**2)
            return RootEpoch(days, self.memory, events)
        distance = moved * (2 if self.neighbours == "replace" else 1) * choose_tree(days).levels
        scale = laplace_scale(sensitivity=distance, epsilon=exact(self.epsilon or 0, "epsilon"))
        return TreeEpoch(days, LaplaceEvent(scale, distance))

    def to_dict(self) -> dict[str, Any]:
        return {
            "epsilon": None if self.epsilon is None else str(self.epsilon),
            "rho": None if self.rho is None else str(self.rho),
            "neighbours": self.neighbours,
            "max_rows_per_unit": self.max_rows_per_unit,
            "largest_step": self.largest_step,
            "signed": self.signed,
            "memory": self.memory,
        }


@dataclass(frozen=True)
class TreeEpoch:
    days: int
    event: LaplaceEvent

    @property
    def events(self) -> tuple[Event, ...]:
        return (self.event,)

    @property
    def law(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.event.scale)

    @property
    def rounding(self) -> float:
        return 0.0

    def noise(self, closed: int) -> Noise:
        return self.noise_between(0, closed - 1)

    def noise_between(self, first: int, last: int) -> Noise:
        return ((self.law, int(choose_tree(self.days).gain_between(first, last))),)

    def begin(self, entropy: Entropy | None) -> PendingTree:
        return PendingTree.begin(choose_tree(self.days), self.law, entropy)

    def resume(self, owner: Mapping[str, Any], public: Mapping[str, Any]) -> PendingTree:
        return PendingTree.resume(choose_tree(self.days), self.law, owner)


@dataclass(frozen=True)
class RootEpoch:
    days: int
    memory: int
    level_events: tuple[GaussianEvent, ...]
    """Lowest level first."""

    @property
    def events(self) -> tuple[Event, ...]:
        return self.level_events

    @property
    def laws(self) -> tuple[DiscreteGaussian, ...]:
        return tuple(DiscreteGaussian(event.variance) for event in self.level_events)

    @property
    def rounding(self) -> float:
        lowest = root_levels(self.days, self.memory).designs[0]
        return grid_step(math.sqrt(self.laws[0].variance() / float(lowest.column_squared)))

    def noise(self, closed: int) -> Noise:
        return self._held(root_levels(self.days, self.memory).gains(closed))

    def noise_between(self, first: int, last: int) -> Noise:
        return self._held(root_levels(self.days, self.memory).gains_between(first, last))

    def _held(self, gains: Sequence[float]) -> Noise:
        return tuple((law, gain) for law, gain in zip(self.laws, gains, strict=True) if gain)

    def begin(self, entropy: Entropy | None) -> PendingRoots:
        return PendingRoots.begin(root_levels(self.days, self.memory), self.laws, entropy)

    def resume(self, owner: Mapping[str, Any], public: Mapping[str, Any]) -> PendingRoots:
        return PendingRoots.resume(root_levels(self.days, self.memory), self.laws, owner, public)
