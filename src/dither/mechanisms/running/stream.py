"""Running totals of counts that arrive day by day: released as they come, frozen once released, restartable anywhere.

Flow: the owner opens a stream for a horizon of days and charges its whole price; each `append` closes a day and
returns its noisy total. At the horizon `extend` opens a further epoch with a tree of its own, at a further price.
The noise is that of the balanced tree over the horizon, at every day exactly as in the release of a whole table.
Memory is a few numbers a level. They are *pending totals*: for each state of a level's digit still to come, the
counts so far plus the noise that the total will have had then. Neither counts nor noise are kept by themselves.
Relies on: `tree` for the shape; the caller, who stores the state before showing a total, and never starts twice from
one stored state: the noise drawn after it would be drawn afresh.
Proof: docs/proofs/mechanisms/running-stream.md
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from dither.accounting.events import ComposedEvent, LaplaceEvent
from dither.accounting.price import Price, price
from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.mechanisms.laplace import laplace_scale
from dither.mechanisms.release import Neighbours, Values, opened
from dither.mechanisms.running.laplace_sums import Parts, half_width_of_sum
from dither.mechanisms.running.pending import PendingTotals
from dither.mechanisms.running.tree import BalancedTree, choose_tree
from dither.noise import DiscreteLaplace, Entropy

__all__ = ["DayTotal", "RunningStream"]


@dataclass(frozen=True)
class DayTotal:
    """The released total up to and including one day."""

    day: int
    """Days are numbered from 0."""
    total: int
    step: int
    """Difference to the day before's total."""
    noise: Parts
    """How many draws of which law the total holds."""

    @property
    def variance(self) -> float:
        return sum(draws * law.variance() for law, draws in self.noise)

    def half_width(self, confidence: Number = Fraction(95, 100)) -> int:
        return half_width_of_sum(self.noise, confidence)


@dataclass(frozen=True)
class StreamTerms:
    """What a stream promises and assumes, the same for all its epochs."""

    epsilon: Fraction
    """The price of one epoch."""
    neighbours: Neighbours
    max_rows_per_unit: int
    """Rows of one unit in one epoch, at most."""
    largest_step: int
    """How much one row adds, at most, in size."""

    def __post_init__(self) -> None:
        for name, value in (("max_rows_per_unit", self.max_rows_per_unit), ("largest_step", self.largest_step)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidParameter(name, expected="a whole number, at least 1", found=value)
        if self.neighbours not in ("add_remove", "replace"):
            raise InvalidParameter("neighbours", expected="add_remove or replace", found=self.neighbours)

    def epoch(self, days: int) -> Epoch:
        if isinstance(days, bool) or not isinstance(days, int) or days < 1:
            raise InvalidParameter("days", expected="a whole number, at least 1", found=days)
        rows = self.max_rows_per_unit * (2 if self.neighbours == "replace" else 1)
        distance = rows * self.largest_step * choose_tree(days).levels
        return Epoch(days, LaplaceEvent(laplace_scale(sensitivity=distance, epsilon=self.epsilon), distance))

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "epsilon": str(self.epsilon)}


@dataclass(frozen=True)
class Epoch:
    """Days with one tree and one charge."""

    days: int
    event: LaplaceEvent

    @property
    def tree(self) -> BalancedTree:
        return choose_tree(self.days)

    @property
    def law(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.event.scale)

    def noise(self, day: int) -> tuple[DiscreteLaplace, int]:
        """The law, and how many draws of it the total of this day of the epoch holds."""
        return self.law, int(self.tree.gain_between(0, day))


class RunningStream:
    """A stream of noisy running totals. Open one with `RunningStream.open`, or go on with `from_dict`.

    For all pairs of streams, also streams chosen day by day after seeing totals, that differ in one unit's rows: the
    totals of e epochs are (e * epsilon)-DP. A unit has at most max_rows_per_unit rows *in each epoch*."""

    def __init__(
        self,
        terms: StreamTerms,
        epochs: tuple[Epoch, ...],
        pending: PendingTotals,
        *,
        last_total: int = 0,
        epoch_base: int = 0,
        entropy: Entropy | None = None,
    ) -> None:
        self.terms = terms
        self._epochs = epochs
        self._pending = pending
        self._last_total = last_total
        self._epoch_base = epoch_base
        self._entropy = entropy

    @classmethod
    def open(
        cls,
        days: int,
        *,
        epsilon: Number,
        neighbours: Neighbours,
        max_rows_per_unit: int = 1,
        largest_step: int = 1,
        entropy: Entropy | None = None,
    ) -> RunningStream:
        """A new stream with a first epoch of `days` days; its price, epsilon, is due now, whatever comes."""
        terms = StreamTerms(positive(epsilon, "epsilon"), neighbours, max_rows_per_unit, largest_step)
        epoch = terms.epoch(days)
        return cls(terms, (epoch,), PendingTotals.begin(epoch.tree, epoch.law, entropy), entropy=entropy)

    @property
    def day(self) -> int:
        """The day that is open: days below are released and frozen."""
        return sum(epoch.days for epoch in self._epochs[:-1]) + self._pending.closed

    @property
    def days_left(self) -> int:
        """Days that may still be closed before `extend`."""
        return self._epochs[-1].days - self._pending.closed

    @property
    def event(self) -> ComposedEvent:
        """What has been opened so far, each epoch in full."""
        return ComposedEvent(tuple(epoch.event for epoch in self._epochs))

    @property
    def price(self) -> Price:
        return price(self.event)

    def growth(self, epochs: int) -> list[tuple[int, Price]]:
        """(last day, price in all) after each of the next `epochs` extensions by twice the days: doubling's cost."""
        days, rows = self._epochs[-1].days, []
        last, total = sum(epoch.days for epoch in self._epochs) - 1, self.price
        for _ in range(epochs):
            days *= 2
            last, total = last + days, total + price(self.terms.epoch(days).event)
            rows.append((last, total))
        return rows

    def add(self, count: Values) -> None:
        """Count something on the open day; nothing is released."""
        if self.days_left == 0:
            raise InvalidParameter(
                "count",
                expected="a day within the horizon",
                found=f"day {self.day}",
                hint="extend() opens more, at a price",
            )
        self._pending.add(int(opened(count)))

    def append(self, count: Values = 0) -> DayTotal:
        """Add a last count to the open day, close it and release its total."""
        self.add(count)
        total = self._epoch_base + self._pending.close_day(self._entropy)
        step, self._last_total = total - self._last_total, total
        before = [epoch.noise(epoch.days - 1) for epoch in self._epochs[:-1]]
        now = self._epochs[-1].noise(self._pending.closed - 1)
        return DayTotal(self.day - 1, total, step, (*before, now))

    def extend(self, days: int | None = None) -> LaplaceEvent:
        """Open a further epoch of `days` days (default: twice the last), and say what is to be charged for it.
        Only at the end of the horizon: a day left over would be paid for and lost."""
        if self.days_left:
            raise InvalidParameter("days", expected="the horizon used up", found=f"{self.days_left} days left")
        epoch = self.terms.epoch(2 * self._epochs[-1].days if days is None else days)
        self._pending = PendingTotals.begin(epoch.tree, epoch.law, self._entropy)
        self._epochs = (*self._epochs, epoch)
        self._epoch_base = self._last_total
        return epoch.event

    def to_dict(self) -> dict[str, Any]:
        """What is needed to go on, for JSON. "released" is public; "owner" is as sensitive as the data (it holds
        counts under noise that later totals take off) and belongs in a file only the owner reads."""
        return {
            "kind": "running stream 1",
            "terms": self.terms.to_dict(),
            "epochs": [epoch.days for epoch in self._epochs],
            "released": {"days": self.day, "last_total": self._last_total, "epoch_base": self._epoch_base},
            "owner": {"closed": self._pending.closed, "pending": self._pending.levels},
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any], *, entropy: Entropy | None = None) -> RunningStream:
        """The stream that `to_dict` wrote; released days stay as they are. Raises InvalidParameter for all else."""
        try:
            if stored["kind"] != "running stream 1":
                raise ValueError(stored["kind"])
            terms = StreamTerms(**{**stored["terms"], "epsilon": positive(stored["terms"]["epsilon"], "epsilon")})
            epochs = tuple(terms.epoch(days) for days in stored["epochs"])
            owner, released = stored["owner"], stored["released"]
            levels = [[int(total) for total in level] for level in owner["pending"]]
            pending = PendingTotals(epochs[-1].tree, epochs[-1].law, int(owner["closed"]), levels)
            last_total, epoch_base = int(released["last_total"]), int(released["epoch_base"])
            days = int(released["days"])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InvalidParameter("stream", expected="a stored stream", found="something else") from error
        stream = cls(terms, epochs, pending, last_total=last_total, epoch_base=epoch_base, entropy=entropy)
        if stream.day != days:
            raise InvalidParameter("stream", expected="a stored stream", found="parts that do not fit together")
        return stream
