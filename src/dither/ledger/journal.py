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

from sqlalchemy import Connection, Select, Text, bindparam, insert, select, union_all

from dither.errors import InvalidParameter
from dither.ledger.chain import GENESIS, Json, canonical, check, row_hash
from dither.ledger.effects import levels_of, standings_after
from dither.ledger.model import Clock, LogRow
from dither.ledger.standing import DATASET, Standing
from dither.ledger.storage import schema
from dither.ledger.storage.schema import log
from dither.ledger.storage.statements import Prepared
from dither.ledger.storage.store import Store

__all__ = ["EntryRow", "Journal", "Page", "latest_standings", "log_row", "rows_of_entry"]

_HEAD = Prepared(select(log.c.seq, log.c.hash, log.c.day).order_by(log.c.seq.desc()).limit(1))
_STATES = Prepared(
    select(log.c.kind, log.c.hash, log.c.day).where(log.c.entry == bindparam("entry")).order_by(log.c.seq)
)
_ENTRY = Prepared(select(log).where(log.c.entry == bindparam("entry")).order_by(log.c.seq))
_REQUEST = Prepared(
    select(log.c.entry).where(
        log.c.analyst == bindparam("analyst"), log.c.request == bindparam("request"), log.c.request.isnot(None)
    )
)
_ADD_ROW = Prepared(insert(log))
_ADD_STANDING = Prepared(insert(schema.standing))


def _latest(number: int) -> Select[Any]:
    table = schema.standing
    latest = (
        select(table.c.level, table.c.body)
        .where(table.c.level == bindparam(f"level_{number}", type_=Text()))
        .order_by(table.c.seq.desc())
        .limit(1)
    )
    return select(latest.subquery())


_STANDINGS = {count: Prepared(union_all(*[_latest(number) for number in range(count)])) for count in (1, 2, 3)}
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
        row = next(iter(_HEAD.rows(connection)), None)
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
        found = _REQUEST.rows(self.connection, {"analyst": analyst, "request": request})
        return str(found[0].entry) if found else None

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
        row = next(iter(_HEAD.rows(connection)), None)
        return max(_utc_text(self._clock())[:10], row.day if row else "")


def latest_standings(connection: Connection, *levels: str) -> dict[str, Standing]:
    """The latest standing of at most three levels, those that have one."""
    if not levels:
        return {}
    names = {f"level_{number}": level for number, level in enumerate(levels)}
    rows = _STANDINGS[len(levels)].rows(connection, names)
    return {row.level: Standing.from_json(json.loads(row.body)) for row in rows}


def rows_of_entry(connection: Connection, entry: str) -> list[LogRow]:
    """An entry's rows, oldest first."""
    return [log_row(row) for row in _ENTRY.rows(connection, {"entry": entry})]


def log_row(row: object) -> LogRow:
    """A LogRow of a database row that has all of the log's columns."""
    return LogRow(**row._asdict())  # type: ignore[attr-defined]


def _utc_text(now: dt.datetime) -> str:
    if now.tzinfo is None:
        raise InvalidParameter("clock", expected="times with a zone", found=now)
    return now.astimezone(dt.UTC).isoformat(timespec="microseconds")
