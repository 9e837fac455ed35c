"""From rows to days: keep at most tau rows per unit, in order of arrival, and drop rows that come too late.

Flow: the owner's loader calls `row` for each row as it arrives and `close_day` at the end of each day; counts go
straight into the stream's pending totals. Which rows of a unit are kept depends on that unit's rows and the calendar
alone: so neighbours differ by the kept rows of one unit, at most max_rows_per_unit in an epoch.
Relies on: days closed by the clock, never by how many rows have come. Whether a row was kept is for the owner only.
Proof: docs/proofs/mechanisms/running-stream.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from dither.accounting.events import ComposedEvent
from dither.errors import InvalidParameter
from dither.mechanisms.running.stream import DayTotal, RunningStream
from dither.noise import Entropy

__all__ = ["Arrivals"]


class Arrivals:
    """A stream with the rows kept per unit in the running epoch."""

    def __init__(self, stream: RunningStream, rows_of_unit: Mapping[str, int] | None = None) -> None:
        self.stream = stream
        self._rows_of_unit = Counter(rows_of_unit or {})

    def row(self, unit: str, day: int, step: int = 1) -> bool:
        """Count a row of this unit; True when it was kept. Rows of released days, and rows beyond the unit's limit, are
        dropped. step: what it adds, cut to what the stream's terms allow one row.  A row of a later day is refused:
        close the day first."""
        if day > self.stream.day:
            raise InvalidParameter("day", expected=f"at most the open day, {self.stream.day}", found=day)
        if day < self.stream.day or self._rows_of_unit[unit] >= self.stream.terms.max_rows_per_unit:
            return False
        largest = self.stream.terms.largest_step
        least = -largest if self.stream.terms.signed else 0
        self.stream.add(max(least, min(largest, int(step))))
        self._rows_of_unit[unit] += 1
        return True

    def close_day(self) -> DayTotal:
        """Release the open day's total and freeze the day."""
        return self.stream.append()

    def extend(self, days: int | None = None) -> ComposedEvent:
        """Open a further epoch, in which units may add max_rows_per_unit rows again; the event is to be charged."""
        event = self.stream.extend(days)
        self._rows_of_unit.clear()
        return event

    def to_state(self) -> dict[str, Any]:
        """The stream's state with the rows kept per unit, which are for the owner's eyes only."""
        return {"stream": self.stream.to_state(), "rows_of_unit": dict(self._rows_of_unit)}

    @classmethod
    def from_state(cls, stored: Mapping[str, Any], *, entropy: Entropy | None = None) -> Arrivals:
        """What `to_state` wrote, to go on with. Raises InvalidParameter for all else."""
        stream, kept = stored.get("stream"), stored.get("rows_of_unit")
        if not isinstance(stream, Mapping) or not isinstance(kept, Mapping):
            raise InvalidParameter("arrivals", expected="stored arrivals", found="something else")
        if not all(isinstance(unit, str) and type(rows) is int and rows >= 0 for unit, rows in kept.items()):
            raise InvalidParameter("arrivals", expected="whole numbers of rows by unit", found="something else")
        return cls(RunningStream.from_state(stream, entropy=entropy), kept)
