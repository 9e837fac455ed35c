"""A table that rows are added to day by day, behind a ledger in a file: for series that are stopped and taken up again.

Flow: a test makes a `Daily`, sets its rows and its clock, opens sessions on it as often as it likes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from dither.catalog.load import loads
from dither.engines.duckdb import DuckDBEngine
from dither.ledger.ledger import Ledger
from dither.noise import Entropy
from dither.session.session import Session
from support.worlds import MemoryTables, catalog_text

__all__ = ["COUNT", "FIRST", "Daily", "day", "no_noise", "numbers"]

FIRST = dt.date(2026, 1, 1)
COUNT = "SELECT day, COUNT(*) FROM v GROUP BY day"
TABLES = """
[tables.v]
privacy_unit = "uid"
max_rows_per_unit = 2
[tables.v.columns]
day = { type = "date" }
x = { type = "double", bounds = [0, 10] }
"""


def day(number: int) -> dt.date:
    return FIRST + dt.timedelta(days=number)


class Daily:
    def __init__(self, ledger: str, *, tables: str = TABLES, entropy: Entropy | None = None, **terms: Any) -> None:
        self.catalog = loads(catalog_text(tables, **terms))
        self.ledger = ledger
        self.now = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
        self.rows: list[tuple[Any, ...]] = []
        self.entropy = entropy
        self._opened: list[Session] = []

    def arrive(self, *rows: tuple[int, int] | tuple[int, int, float]) -> None:
        """(unit, number of the day[, x]) each."""
        self.rows += [(row[0], day(row[1]), row[2] if len(row) > 2 else 1.0) for row in rows]

    def evening_of(self, number: int) -> None:
        """Let the clock stand at noon after this day."""
        self.now = dt.datetime.combine(day(number + 1), dt.time(12), tzinfo=dt.UTC)

    def session(self, analyst: str = "owner") -> Session:
        """A session over the rows that have come by now."""
        source = MemoryTables({"v": "uid BIGINT, day DATE, x DOUBLE"})
        source.rows["v"] = list(self.rows)
        engine = DuckDBEngine(self.catalog, source, kept_path=None)
        ledger = Ledger.open(
            self.ledger,
            dataset=self.catalog.name,
            promise_digest=self.catalog.promise_digest(),
            budget=self.catalog.budget,
            analysts=self.catalog.analysts,
            clock=lambda: self.now,
        )
        session = Session(
            self.catalog, engine, ledger, analyst=analyst, entropy=self.entropy, clock=lambda: self.now,
            taus={k: t.max_rows_per_unit for k, t in self.catalog.tables.items() if t.max_rows_per_unit},
        )  # fmt: skip
        self._opened.append(session)
        return session

    def close(self) -> None:
        for session in self._opened:
            session.close()


@contextmanager
def no_noise() -> Iterator[None]:
    """Streams draw zeros."""
    with (
        mock.patch("dither.mechanisms.running.pending_tree.unbounded_draw", lambda law, entropy: 0),
        mock.patch("dither.mechanisms.running.pending_roots.unbounded_draws", lambda law, count, entropy: [0] * count),
    ):
        yield


def numbers(rows: Sequence[Any]) -> list[float]:
    return [row.total for row in rows]
