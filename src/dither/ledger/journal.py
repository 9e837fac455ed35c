"""Append rows to the chain, and read the latest standing of a level: every write of the ledger goes through a Page.

Flow: `ledger` and `owner` open a page, decide on what it shows, append to it; the page is one transaction.
Relies on `store` (one writer at a time), `chain` (hashes), `schema`. Rows carry the standings they leave behind, so a
level's totals are read from its latest row and never recomputed or updated in place.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dither.errors import InvalidParameter
from dither.ledger.chain import GENESIS, Json, canonical, check, row_hash
from dither.ledger.effects import levels_of, standings_after
from dither.ledger.model import Clock, LogRow
from dither.ledger.standing import DATASET, Standing
from dither.ledger.storage.connection import Connection
from dither.ledger.storage.schema import LOG_COLUMNS
from dither.ledger.storage.statements import Statement, insertion
from dither.ledger.storage.store import Store

__all__ = [
    "EntryRow",
    "Journal",
    "Page",
    "entry_of_request",
    "facts_of_kind",
    "latest_standings",
    "rows_of_entry",
    "whole_log",
]

_HEAD = Statement("SELECT seq, hash, day FROM dither_log ORDER BY seq DESC LIMIT 1")
_STATES = Statement("SELECT kind, hash, day FROM dither_log WHERE entry = :entry ORDER BY seq")
_ENTRY = Statement(f"SELECT {LOG_COLUMNS} FROM dither_log WHERE entry = :entry ORDER BY seq")
_ALL = Statement(f"SELECT {LOG_COLUMNS} FROM dither_log ORDER BY seq")
_OF_KIND = Statement("SELECT body FROM dither_log WHERE kind = :kind ORDER BY seq")
# The last condition is in the words of the index, which SQLite takes only then.
_REQUEST = Statement(
    "SELECT entry FROM dither_log WHERE analyst = :analyst AND request = :request AND request IS NOT NULL"
)
_ADD_ROW = insertion("dither_log", LOG_COLUMNS)
_ADD_STANDING = insertion("dither_standing", "level, seq, body")


def _latest(number: int) -> str:
    return (
        "SELECT level, body FROM (SELECT level, body FROM dither_standing "
        f"WHERE level = :level_{number} ORDER BY seq DESC LIMIT 1) AS latest_{number}"
    )


_STANDINGS = {count: Statement(" UNION ALL ".join(_latest(number) for number in range(count))) for count in (1, 2, 3)}
"""One statement for the latest standings of several levels."""


@dataclass(frozen=True)
class _Head:
    seq: int
    hash: str
    day: str


@dataclass(frozen=True)
class EntryRow:
    kind: str
    hash: str
    day: str


class Page:
    """One open write transaction. What it reads stays true until it ends, for nobody else writes meanwhile."""

    def __init__(self, connection: Connection, now: dt.datetime) -> None:
        self.connection = connection
        row = _HEAD.first(connection)
        self._head = _Head(row.seq, row.hash, row.day) if row else _Head(0, GENESIS, "")
        self.at = _utc_text(now)
        # A clock set back must not open yesterday's daily limits again: the day never goes back.
        self.day = max(self.at[:10], self._head.day)

    @property
    def head(self) -> str:
        """Hash of the last row so far."""
        return self._head.hash

    def standings(self, *levels: str) -> dict[str, Standing]:
        """The latest standing of each level that has one."""
        return latest_standings(self.connection, *levels)

    def dataset(self) -> Standing:
        return self.standings(DATASET)[DATASET]

    def states(self, entry: str) -> list[EntryRow]:
        """An entry's rows, oldest first, without their bodies."""
        return [EntryRow(row.kind, row.hash, row.day) for row in _STATES.rows(self.connection, {"entry": entry})]

    def entry_of_request(self, analyst: str, request: str) -> str | None:
        """The id of the entry that this analyst's idempotency key made, if any."""
        return entry_of_request(self.connection, analyst, request)

    def append(
        self,
        kind: str,
        *,
        facts: Mapping[str, Json],
        entry: str | None = None,
        analyst: str | None = None,
        request: str | None = None,
        before: Mapping[str, Standing] | None = None,
    ) -> LogRow:
        """Add one row to the chain, with the standings it leaves behind.
        before: the standings of the row's levels, when the caller has just read them."""
        check(facts)
        if before is None:
            before = self.standings(*levels_of(kind, facts, analyst=analyst, day=self.day))
        after = standings_after(kind, facts, before, analyst=analyst, day=self.day)
        stored = {level: standing.to_json() for level, standing in after.items()}
        body = canonical({"facts": facts, "standings": stored})
        columns = (self._head.seq + 1, kind, entry, analyst, request, self.at, self.day, body)
        row = LogRow(*columns, previous=self._head.hash, hash=row_hash(self._head.hash, columns))
        _ADD_ROW.insert(self.connection, [vars(row)])
        if stored:
            bodies = [{"level": level, "seq": row.seq, "body": canonical(value)} for level, value in stored.items()]
            _ADD_STANDING.insert(self.connection, bodies)
        self._head = _Head(row.seq, row.hash, self.day)
        return row


class Journal:
    """A store with a clock: opens pages to write and connections to read."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store = store
        self._clock = clock

    @contextmanager
    def writing(self) -> Iterator[Page]:
        with self.store.writing() as connection:
            yield self.page(connection)

    def page(self, connection: Connection) -> Page:
        """A page in a write transaction already open: for the first row, whose tables it also creates."""
        return Page(connection, self._clock())

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self.store.reading() as connection:
            yield connection

    def today(self, connection: Connection) -> str:
        """The UTC day that limits go by, read outside a page."""
        row = _HEAD.first(connection)
        return max(_utc_text(self._clock())[:10], row.day if row else "")


def latest_standings(connection: Connection, *levels: str) -> dict[str, Standing]:
    """The latest standing of at most three levels, those that have one."""
    if not levels:
        return {}
    names = {f"level_{number}": level for number, level in enumerate(levels)}
    rows = _STANDINGS[len(levels)].rows(connection, names)
    return {row.level: Standing.from_json(json.loads(row.body)) for row in rows}


def entry_of_request(connection: Connection, analyst: str, request: str) -> str | None:
    """The id of the entry that this analyst's idempotency key made, if any."""
    found = _REQUEST.first(connection, {"analyst": analyst, "request": request})
    return None if found is None else str(found.entry)


def rows_of_entry(connection: Connection, entry: str) -> list[LogRow]:
    """An entry's rows, oldest first."""
    return [_log_row(row) for row in _ENTRY.rows(connection, {"entry": entry})]


def whole_log(connection: Connection) -> Iterator[LogRow]:
    """Every row of the chain, oldest first."""
    return map(_log_row, _ALL.each(connection))


def facts_of_kind(connection: Connection, kind: str) -> list[dict[str, Any]]:
    """What the rows of this kind say, oldest first."""
    return [json.loads(row.body)["facts"] for row in _OF_KIND.rows(connection, {"kind": kind})]


def _log_row(row: Any) -> LogRow:
    return LogRow(**row._asdict())


def _utc_text(now: dt.datetime) -> str:
    if now.tzinfo is None:
        raise InvalidParameter("clock", expected="times with a zone", found=now)
    return now.astimezone(dt.UTC).isoformat(timespec="microseconds")
