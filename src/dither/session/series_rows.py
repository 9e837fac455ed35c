"""What a series shows: released days, and the sum of a range of them. Plain frozen data.

Flow: `session.series` makes these; `cli.series` prints them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["SeriesDay", "SeriesRange"]


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
