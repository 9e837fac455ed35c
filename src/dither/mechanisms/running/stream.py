"""Running totals of counts that arrive day by day: released as they come, frozen once released, restartable anywhere.

Flow: the owner opens a stream for a horizon of days and charges its whole price; each `append` closes a day and
returns its noisy total. At the horizon `extend` opens a further epoch with noise of its own, at a further price.
An offer of epsilon buys the noise of the balanced tree over the horizon, at every day exactly as in the release of a
whole table; an offer of rho, or of (epsilon, delta), buys that of the square root, or above some thousand days that of
square roots on two levels (`levels`).
Memory is a few numbers a level. They are *pending*: counts so far plus the noise that a release to come will have had
by then. Neither counts nor noise are kept by themselves.
Relies on: `epochs`; the caller, who stores the state before showing a total, and never starts twice from one stored
state: a day would be released twice, with two noises, or with one noise and other counts.
Proof: docs/proofs/mechanisms/running-stream.md
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither.accounting.convert import rho_star
from dither.accounting.events import ComposedEvent, event_from_dict
from dither.accounting.price import Price, price
from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.mechanisms.release import Neighbours, Values, opened
from dither.mechanisms.running.epochs import Epoch, Noise, Pending, StreamTerms
from dither.mechanisms.running.laplace_sums import half_width_of_sum
from dither.mechanisms.running.levels import MEMORY
from dither.mechanisms.running.normal_sums import normal_half_widths, on_grid
from dither.noise import DiscreteLaplace, Entropy

__all__ = ["DayTotal", "RunningStream"]

_KIND = "running stream 2"
_CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True)
class DayTotal:
    """The released total up to and including one day. Unpacks into (total, half width at 95 %)."""

    day: int
    """Days are numbered from 0."""
    total: float
    """Under epsilon a whole number, of any size."""
    step: float
    """Difference to the day before's total."""
    noise: Noise
    """Which laws the total holds, and how much of each."""
    rounding: float = 0.0
    """How far at most the total was moved by rounding."""

    @property
    def variance(self) -> float:
        return sum(gain * law.variance() for law, gain in self.noise)

    def half_width(self, confidence: Number = _CONFIDENCE) -> float:
        return _half_width(self.noise, confidence) + self.rounding

    def __iter__(self) -> Iterator[float]:
        return iter((self.total, self.half_width()))


class RunningStream:
    """A stream of noisy running totals. Open one with `RunningStream.open`, or go on with `from_state`.

    For all pairs of streams, also streams chosen day by day after seeing totals, that differ in one unit's rows: the
    totals of e epochs are (e * epsilon)-DP, or (e * rho)-zCDP. A unit has at most max_rows_per_unit rows *in each
    epoch*."""

    def __init__(
        self,
        terms: StreamTerms,
        epochs: tuple[Epoch, ...],
        pending: Pending,
        *,
        last_total: float = 0,
        last_step: float = 0,
        epoch_base: float = 0,
        entropy: Entropy | None = None,
    ) -> None:
        self.terms = terms
        self._epochs = epochs
        self._pending = pending
        self._last_total = last_total
        self._last_step = last_step
        self._epoch_base = epoch_base
        self._entropy = entropy

    @classmethod
    def open(
        cls,
        days: int,
        *,
        neighbours: Neighbours,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        max_rows_per_unit: int = 1,
        largest_step: int = 1,
        signed: bool = True,
        memory: int = MEMORY,
        entropy: Entropy | None = None,
    ) -> RunningStream:
        """A new stream with a first epoch of `days` days; its price is due now, whatever comes.
        Offered is one of: epsilon (pure); rho (zCDP); epsilon and delta, which buy the rho that they allow.
        signed: False promises that no row adds less than 0, which halves the variance under `replace` and rho.
        memory: under rho, how many numbers are kept a level at most; with fewer there are more levels and more noise.
        Raises InvalidParameter."""
        if delta is not None:
            if epsilon is None or rho is not None:
                raise InvalidParameter(
                    "offer", expected="epsilon beside delta, and nothing else", found="another offer"
                )
            rho = rho_star(epsilon, delta)
            epsilon = None
        terms = StreamTerms(
            None if epsilon is None else positive(epsilon, "epsilon"), None if rho is None else positive(rho, "rho"),
            neighbours, max_rows_per_unit, largest_step, signed, memory,
        )  # fmt: skip
        epoch = terms.epoch(days)
        return cls(terms, (epoch,), epoch.begin(entropy), entropy=entropy)

    @property
    def day(self) -> int:
        """The day that is open: days below are released and frozen."""
        return sum(epoch.days for epoch in self._epochs[:-1]) + self._pending.closed

    @property
    def days_left(self) -> int:
        """Days that may still be closed before `extend`."""
        return self._epochs[-1].days - self._pending.closed

    @property
    def last(self) -> DayTotal | None:
        """The newest release once more, as after a crash between storing the state and showing the total; None before
        the first day is closed."""
        return self._released() if self.day else None

    def price(self) -> ComposedEvent:
        """What has been opened so far, as events for a ledger: each epoch in full, whether its days came or not."""
        return ComposedEvent(tuple(event for epoch in self._epochs for event in epoch.events))

    @property
    def epoch_days(self) -> tuple[int, ...]:
        """How many days each epoch has, oldest first."""
        return tuple(epoch.days for epoch in self._epochs)

    def released(self, day: int, total: float, before: float = 0) -> DayTotal:
        """What is known of a released day from public facts, its own total, and the total of the day before."""
        if not 0 <= day < self.day:
            raise InvalidParameter("day", expected="a released day", found=day)
        return DayTotal(day, total, total - before, self._noise(day), self._moved(day))

    def half_width_between(self, first: int, last: int, confidence: Number = _CONFIDENCE) -> float:
        """How far the difference of the totals of days `last` and `first` - 1 is off at most, with this probability:
        what both hold cancels."""
        if not 0 <= first <= last < self.day:
            raise InvalidParameter("range", expected="released days, the first before the last", found=(first, last))
        parts: list[Noise] = []
        begun = 0
        for epoch in self._epochs:
            inside = max(first - begun, 0), min(last - begun, epoch.days - 1)
            if inside[0] <= inside[1]:
                parts.append(epoch.noise_between(*inside))
            begun += epoch.days
        moved = self._moved(last) + (self._moved(first - 1) if first else 0.0)
        return _half_width(tuple(part for noise in parts for part in noise), confidence) + moved

    def growth(self, epochs: int) -> list[tuple[int, Price]]:
        """(last day, price in all) after each of the next `epochs` extensions by twice the days: doubling's cost."""
        days, rows = self._epochs[-1].days, []
        last, total = sum(epoch.days for epoch in self._epochs) - 1, price(self.price())
        for _ in range(epochs):
            days *= 2
            last, total = last + days, total + price(ComposedEvent(self.terms.epoch(days).events))
            rows.append((last, total))
        return rows

    def variance(self, day: int) -> float:
        """The variance of the total of a day within the horizon opened so far, before it comes; from public facts."""
        if not 0 <= day < sum(epoch.days for epoch in self._epochs):
            raise InvalidParameter("day", expected="a day within the horizon", found=day)
        return sum(gain * law.variance() for law, gain in self._noise(day))

    def half_width(self, day: int, confidence: Number = _CONFIDENCE) -> float:
        """How far the total of a day within the horizon is off at most, with this probability; from public facts."""
        self.variance(day)
        return _half_width(self._noise(day), confidence) + self._moved(day)

    def add(self, count: Values) -> None:
        """Count something on the open day; nothing is released."""
        if self.days_left == 0:
            raise InvalidParameter(
                "count",
                expected="a day within the horizon",
                found=f"day {self.day}",
                hint="extend() opens more, at a price",
            )
        self._pending.add(_integer(count))

    def append(self, count: Values = 0) -> DayTotal:
        """Add a last count to the open day, close it and release its total."""
        self.add(count)
        total = self._rounded(self._epoch_base + self._pending.close_day(self._entropy))
        self._last_step, self._last_total = total - self._last_total, total
        return self._released()

    def extend(self, days: int | None = None) -> ComposedEvent:
        """Open a further epoch of `days` days (default: twice the last), and say what is to be charged for it.
        Only at the end of the horizon: a day left over would be paid for and lost."""
        if self.days_left:
            raise InvalidParameter("days", expected="the horizon used up", found=f"{self.days_left} days left")
        epoch = self.terms.epoch(2 * self._epochs[-1].days if days is None else days)
        self._pending = epoch.begin(self._entropy)
        self._epochs = (*self._epochs, epoch)
        self._epoch_base = self._last_total
        return ComposedEvent(epoch.events)

    def to_state(self) -> dict[str, Any]:
        """What is needed to go on, for JSON. "released" is public; "owner" is as sensitive as the data (later totals
        take its noise off) and belongs in a file only the owner reads."""
        return {
            "kind": _KIND,
            "terms": self.terms.to_dict(),
            "epochs": [
                {"days": epoch.days, "events": [event.to_dict() for event in epoch.events]} for epoch in self._epochs
            ],
            "released": {
                "days": self.day,
                "last_total": self._last_total,
                "last_step": self._last_step,
                "epoch_base": self._epoch_base,
                **self._pending.public_state(),
            },
            "owner": self._pending.owner_state(),
        }

    @classmethod
    def from_state(cls, stored: Mapping[str, Any], *, entropy: Entropy | None = None) -> RunningStream:
        """The stream that `to_state` wrote; released days stay as they are. Raises InvalidParameter for all else, also
        where this version would draw other noise than was charged for."""
        try:
            if stored["kind"] != _KIND:
                raise ValueError(stored["kind"])
            terms = _stored_terms(stored["terms"])
            epochs = tuple(terms.epoch(epoch["days"]) for epoch in stored["epochs"])
            for epoch, paid in zip(epochs, stored["epochs"], strict=True):
                if epoch.events != tuple(event_from_dict(event) for event in paid["events"]):
                    raise ValueError("events")
            released = stored["released"]
            pending = epochs[-1].resume(stored["owner"], released)
            told = {name: _stored_total(released[name]) for name in ("last_total", "last_step", "epoch_base")}
            days = int(released["days"])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InvalidParameter("stream", expected="a stored stream", found="something else") from error
        stream = cls(terms, epochs, pending, entropy=entropy, **told)
        if stream.day != days:
            raise InvalidParameter("stream", expected="a stored stream", found="parts that do not fit together")
        return stream

    def _released(self) -> DayTotal:
        """The newest day's total. After `extend` the new epoch has no day yet, and no part in it."""
        day = self.day - 1
        return DayTotal(day, self._last_total, self._last_step, self._noise(day), self._moved(day))

    def _moved(self, day: int) -> float:
        """How far rounding moved the total of a day at most: once for each epoch that had begun."""
        moved, begun = 0.0, 0
        for epoch in self._epochs:
            if begun <= day:
                moved += epoch.rounding / 2
            begun += epoch.days
        return moved

    def _noise(self, day: int) -> Noise:
        """What the total of a day holds: the last totals of the epochs before, and its own epoch's."""
        parts: list[Noise] = []
        for epoch in self._epochs:
            parts.append(epoch.noise(min(day + 1, epoch.days)))
            day -= epoch.days
            if day < 0:
                break
        return tuple(part for noise in parts for part in noise)

    def _rounded(self, total: float) -> float:
        """Under rho, a whole multiple of a power of two: steps are then the differences of totals to the last bit."""
        if self.terms.rho is None:
            return total
        return float(on_grid(np.array([total]), min(epoch.rounding for epoch in self._epochs))[0])


def _half_width(noise: Noise, confidence: Number) -> float:
    """Of the sum of what `noise` names, rounding apart."""
    laplace = tuple((law, int(draws)) for law, draws in noise if isinstance(law, DiscreteLaplace))
    if laplace:
        return half_width_of_sum(laplace, confidence)
    variance = sum(gain * law.variance() for law, gain in noise)
    return float(normal_half_widths(np.array([variance]), confidence)[0])


def _integer(count: Values) -> int:
    """One whole number, of any size. Raises InvalidParameter for anything else, and never shows it."""
    value = opened(count)
    if value.size != 1 or not (np.issubdtype(value.dtype, np.integer) or isinstance(value.reshape(-1)[0], int)):
        raise InvalidParameter("count", expected="one whole number", found="something else")
    return int(value.reshape(-1)[0])


def _stored_terms(stored: Mapping[str, Any]) -> StreamTerms:
    offers = {name: stored[name] for name in ("epsilon", "rho")}
    prices = {name: None if text is None else positive(text, name) for name, text in offers.items()}
    return StreamTerms(**{**stored, **prices})


def _stored_total(number: object) -> float:
    if type(number) is int or (type(number) is float and math.isfinite(number)):
        return number
    raise TypeError(number)
