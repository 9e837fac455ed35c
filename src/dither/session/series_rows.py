"""What a series shows: released days, the sum of a range of them, and what it counts and costs. Plain frozen data.

Flow: `session.series` makes these; `cli.series` prints them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dither.accounting import Price
from dither.plan.explain import price_text

__all__ = ["SeriesDay", "SeriesExplanation", "SeriesRange"]


@dataclass(frozen=True)
class SeriesDay:
    """One released day. Unpacks into (day, total, half width at 95 %)."""

    day: dt.date
    total: float
    """Of all days up to and with this one, since the series began."""
    half_width: float
    """95 % of totals lie within this of the true one, over the rows that count."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.day, self.total, self.half_width))


@dataclass(frozen=True)
class SeriesRange:
    """The sum over the days first..last, both included. Unpacks into (value, half width at 95 %)."""

    first: dt.date
    last: dt.date
    value: float
    half_width: float

    def __iter__(self) -> Iterator[float]:
        return iter((self.value, self.half_width))


@dataclass(frozen=True)
class SeriesExplanation:
    """What a series counts, what was paid, and what going on would cost. From public facts."""

    name: str
    question: str
    what: str
    first: dt.date
    last: dt.date
    """The last day that is paid for."""
    released: dt.date | None
    """The newest released day."""
    price: Price
    """Paid so far, for all epochs."""
    half_width: float
    """Of the least sure total up to `last`."""
    growth: tuple[tuple[dt.date, Price], ...]
    """(last day, price of all epochs) after each of the next extensions by twice the days."""
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON; prices are exact rationals as text."""
        return {
            "name": self.name,
            "question": self.question,
            "counts": self.what,
            "first": str(self.first),
            "last": str(self.last),
            "released": None if self.released is None else str(self.released),
            "price": _amounts(self.price),
            "half_width": self.half_width,
            "growth": [{"last": str(last), "price": _amounts(cost)} for last, cost in self.growth],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        until = "no day released yet" if self.released is None else f"released until {self.released}"
        lines = [
            f"{self.name}: {self.what}, {self.first} to {self.last}; {until}.",
            f"Paid: {price_text(self.price)}. Every total within ± {self.half_width:.4g}.",
            *(f"Extended to {last}: {price_text(cost)} in all." for last, cost in self.growth),
        ]
        return "\n".join([*lines, *self.notes])


def _amounts(cost: Price) -> dict[str, str | None]:
    """Exact, as the ledger writes them."""
    return {
        "epsilon": None if cost.epsilon is None else str(cost.epsilon),
        "rho": str(cost.rho),
        "delta": str(cost.delta),
    }
