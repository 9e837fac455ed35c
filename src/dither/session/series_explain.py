"""What a series counts, costs and rests on, from public facts: before it is opened and after.

Flow: `Series.explain`, and `session.series.foresee_series` for one that is not there yet; the command line shows it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dither.accounting import Budget, Price, price
from dither.catalog.model import Catalog
from dither.mechanisms.running import RunningStream
from dither.plan.explain import describe_expression, describe_vector, gaussian_notes, price_text
from dither.plan.series import SeriesQuestion

__all__ = ["SeriesExplanation", "explained"]

_SHOWN_EXTENSIONS = 4


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
    opened: bool
    """False where it is only looked at beforehand: nothing was paid."""
    price: Price
    """Of all its epochs so far."""
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
            "opened": self.opened,
            "price": _amounts(self.price),
            "half_width": self.half_width,
            "growth": [{"last": str(last), "price": _amounts(cost)} for last, cost in self.growth],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        until = "no day released yet" if self.released is None else f"released until {self.released}"
        cost = f"{'Paid' if self.opened else 'Price'}: {price_text(self.price)}."
        lines = [
            f"{self.name}: {self.what}, {self.first} to {self.last}; {until}.",
            f"{cost} Every total within ± {self.half_width:.4g}.",
            *(f"Extended to {last}: {price_text(grown)} in all." for last, grown in self.growth),
        ]
        return "\n".join([*lines, *self.notes])


def explained(
    catalog: Catalog,
    budget: Budget,
    question: SeriesQuestion,
    stream: RunningStream,
    *,
    name: str,
    text: str,
    first: dt.date,
    opened: bool,
) -> SeriesExplanation:
    """stream: as it stands; of one not yet opened, as it would begin."""
    table, day = catalog.tables[question.table].name, describe_expression(question.day)
    unit, tau = catalog.unit_name, question.measure.tau
    last = sum(stream.epoch_days)
    widest = max(range(last), key=stream.variance)
    cost = price(stream.price())
    notes = [
        f"In each epoch one {unit} counts with the first {tau:,} of its rows of {table}, in order of {day}.",
        "Released totals never change: rows that come late, for a day already released, are not counted. They do use "
        f"up what their {unit} may add.",
        "This rests on rows being added only. A row that is deleted, or moved to another day, makes room for another "
        f"of its {unit}, whom the price then no longer covers.",
    ]
    notes += gaussian_notes(cost, budget)
    return SeriesExplanation(
        name,
        text,
        f"{describe_vector(question.vector)} of {table} by {day}",
        first,
        first + dt.timedelta(days=last - 1),
        first + dt.timedelta(days=stream.day - 1) if stream.day else None,
        opened,
        cost,
        stream.half_width(widest) * float(question.vector.step),
        tuple(_growth(stream, first)),
        tuple(notes),
    )


def _growth(stream: RunningStream, first: dt.date) -> Iterator[tuple[dt.date, Price]]:
    for last, cost in stream.growth(_SHOWN_EXTENSIONS):
        if last > (dt.date.max - first).days:
            return
        yield first + dt.timedelta(days=last), cost


def _amounts(cost: Price) -> dict[str, str | None]:
    """Exact, as the ledger writes them."""
    return {
        "epsilon": None if cost.epsilon is None else str(cost.epsilon),
        "rho": str(cost.rho),
        "delta": str(cost.delta),
    }
