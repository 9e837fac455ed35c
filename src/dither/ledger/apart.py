"""The ledger of one notion that stands apart from differential privacy: metric privacy, or random DP.

Flow: whoever releases under such a notion opens the data set's ledger of it, reserves before data is read, releases,
and says `answered` before anything is shown. `session.statement` tells that it exists and what it means.
Relies on `storage` (one writer at a time, durable when it returns), `chain`; `apart_rows` for what rows say.

It is another kind of file than `Ledger`'s, with tables of other names: an epsilon per metre, or one that holds for the
typical members of a population, must never be added to one of differential privacy. Types say so (`reserve` takes the
kind of loss the ledger began with), and so do checks at run time. The rules are the main ledger's: charge first, never
refund, never forget. What a dead process reserved stays charged, for it may have read.
Statement: docs/proofs/ledger/apart.md
"""

from __future__ import annotations

import datetime as dt
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Generic

from dither.accounting.metric import MetricLoss
from dither.accounting.random_dp import RandomLoss, one_notion
from dither.errors import BudgetExceeded, InvalidParameter, LedgerConflict, LedgerCorrupt, LedgerError
from dither.ledger import apart_rows as rows_
from dither.ledger.apart_rows import ApartEntry, ApartRow, L
from dither.ledger.chain import GENESIS, Json, canonical, check, row_hash
from dither.ledger.model import Clock, Verification
from dither.ledger.storage.connection import Connection
from dither.ledger.storage.schema import APART_LOG_COLUMNS, apart_schema_exists, create_apart_schema
from dither.ledger.storage.statements import Statement, insertion
from dither.ledger.storage.store import Store, open_store

__all__ = ["ApartLedger"]

_LONGEST_RELEASED = 1 << 20

_SELECT = f"SELECT {APART_LOG_COLUMNS} FROM dither_apart_log"
_ALL = Statement(f"{_SELECT} ORDER BY seq")
_FIRST = Statement(f"{_SELECT} ORDER BY seq LIMIT 1")
_LATEST = Statement(f"{_SELECT} ORDER BY seq DESC LIMIT 1")
_OF_ENTRY = Statement(f"{_SELECT} WHERE entry = :entry ORDER BY seq")
_OF_KEY = Statement(f"{_SELECT} WHERE request = :request ORDER BY seq")
_ADD = insertion("dither_apart_log", APART_LOG_COLUMNS)
_QUICK_CHECK = Statement("PRAGMA quick_check(1)")


class ApartLedger(Generic[L]):
    """Safe to share among threads, and to open in many processes at once."""

    def __init__(self, store: Store, zero: L, allowance: L | None, clock: Clock) -> None:
        """For `open` and `look`."""
        self._store, self._clock = store, clock
        self._zero: L = zero
        self._declared: L | None = allowance

    @classmethod
    def open(
        cls,
        path: str,
        start: L,
        *,
        allowance: L | None = None,
        dataset: str | None = None,
        clock: Clock | None = None,
        wait_s: float = 10.0,
    ) -> ApartLedger[L]:
        """Open the ledger in the file `path` ('' in memory), or begin it there.

        start: a loss of zero, which names the notion: MetricLoss(0, metric) or RandomLoss(0, 0, 0, population).
        allowance: the most that may be spent, each amount by itself. It is recorded when the ledger begins; given
        later, the lesser of the two counts: only `raise_allowance` raises it.
        dataset: recorded when the ledger begins, compared later; None compares nothing.
        wait_s: how long to wait for other writers.
        Raises LedgerConflict when the file is of another notion or of differential privacy [L-500], or of another data
        set [L-220]; LedgerError when it cannot be used; InvalidParameter for a start that is not a loss of zero."""
        _check_start(start)
        if allowance is not None:
            rows_.check_same(allowance, start, "allowance")
        store = _file_store(path, wait_s)
        try:
            ledger = cls(store, start, allowance, clock or _now)
            ledger._begin_or_check(dataset)
        except BaseException:
            store.close()
            raise
        return ledger

    @classmethod
    def look(cls, path: str, *, wait_s: float = 10.0) -> ApartLedger[MetricLoss] | ApartLedger[RandomLoss]:
        """Open a ledger that is there, whichever notion it is of. Raises LedgerError [L-170] when none is."""
        if not os.path.exists(path):
            raise LedgerError("There is no ledger here yet.", code="L-170", hint="Check the path.")
        store = _file_store(path, wait_s)
        try:
            with store.reading() as connection:
                if not apart_schema_exists(connection):
                    raise LedgerError("There is no ledger here yet.", code="L-170", hint="Check the path.")
                zero = rows_.read_notion(_first(connection))
            if isinstance(zero, RandomLoss):
                return ApartLedger(store, zero, None, _now)
            return ApartLedger(store, zero, None, _now)
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Close the file. What is reserved and not answered stays charged."""
        self._store.close()

    @property
    def notion(self) -> str:
        """In words: "metric privacy in metres", "random DP over adults"."""
        return one_notion([self._zero])

    @property
    def dataset(self) -> str | None:
        """As recorded when the ledger began."""
        with self._store.reading() as connection:
            found = _first(connection).facts.get("dataset")
        return None if found is None else str(found)

    def reserve(self, loss: L, *, what: str, key: str | None = None) -> ApartEntry[L]:
        """Charge `loss` for what is about to be released; durable on return, in one transaction. Only then read.

        what: 1 to 2,000 printable characters for people: what is released, and never a value of the data.
        key: 1 to 200 printable characters chosen by the caller. A key seen before with the same `what` and loss gives
        its entry back, marked `repeated`, and charges nothing; then nothing may be read or released anew.
        Raises InvalidParameter for a loss of another notion [I-100] or a key of another release [I-180], and
        BudgetExceeded when the loss does not fit the allowance. A refusal charges nothing."""
        rows_.check_same(loss, self._zero)
        _check_text(what, "what", 2000)
        if key is not None:
            _check_text(key, "key", 200)
        charged = rows_.as_charged(loss)
        with self._writing() as page:
            if key is not None and (earlier := page.entry_of_key(key)) is not None:
                if (earlier.what, earlier.loss) != (what, charged):
                    raise InvalidParameter("key", expected="a new key for a new release", found=key, code="I-180")
                return earlier
            allowance = self._in_force(page)
            after = rows_.as_charged(page.total + charged)
            if not rows_.fits_within(after, allowance):
                raise _exceeded(charged, rows_.remains(page.total, allowance))
            row = page.append(
                "reserved",
                {"what": what, "loss": rows_.amounts_json(charged)},
                entry=secrets.token_hex(8),
                request=key,
                total=after,
            )
        return rows_.entries_of([row], self._zero)[0]

    def answered(self, entry: ApartEntry[L], digest: str, *, released: str | None = None) -> ApartEntry[L]:
        """Record that `entry` was released, durable on return; only then show it. Returns the entry as it is now.

        digest: SHA-256 of what was released, 64 hexadecimal digits.  released: what was released itself, as text, for
        a caller that wants to show it again under the same key.
        Raises LedgerConflict when the entry is unknown [L-240] or answered before [L-250]: then show nothing."""
        if not (isinstance(digest, str) and len(digest) == 64 and set(digest) <= set("0123456789abcdef")):
            raise InvalidParameter("digest", expected="64 hexadecimal digits", found=digest)
        if released is not None and not (isinstance(released, str) and len(released) <= _LONGEST_RELEASED):
            raise InvalidParameter("released", expected="a text of at most a million characters", found=type(released))
        with self._writing() as page:
            rows: list[ApartRow] = page.rows_of(entry.id)
            if not rows or rows[0].hash != entry.hash:
                raise LedgerConflict("The ledger does not know this reservation.", code="L-240", hint="Ask again.")
            if len(rows) > 1:
                raise LedgerConflict(
                    f"This release is already {rows[-1].kind}.", code="L-250", hint="Another process was first."
                )
            row = page.append("answered", {"digest": digest, "released": released}, entry=entry.id)
        return rows_.entries_of([*rows, row], self._zero)[0]

    def raise_allowance(self, allowance: L, *, reason: str) -> None:
        """For the owner: record another allowance, which counts from now on, here and for whoever opens the ledger
        with none or a higher one. What was spent stays spent."""
        rows_.check_same(allowance, self._zero, "allowance")
        _check_text(reason, "reason", 2000)
        with self._writing() as page:
            facts: dict[str, Json] = {"allowance": rows_.amounts_json(allowance), "reason": reason}
            page.append("allowance", facts, allowance=allowance)
        self._declared = None

    def restrict(self, allowance: L) -> None:
        """Hold this opened ledger to an allowance: the lesser of it and what is in force counts. Not recorded."""
        rows_.check_same(allowance, self._zero, "allowance")
        self._declared = rows_.lesser(self._declared, allowance)

    def total(self) -> L:
        """Everything charged so far, answered or not."""
        with self._reading() as page:
            return page.total

    def allowance(self) -> L | None:
        """The allowance in force; None: nothing limits what is spent."""
        with self._reading() as page:
            return self._in_force(page)

    def left(self) -> L | None:
        """What may still be spent, each amount by itself; None when nothing limits it."""
        with self._reading() as page:
            return rows_.remains(page.total, self._in_force(page))

    def log(self) -> tuple[ApartEntry[L], ...]:
        """Every entry, oldest first: what was charged for what, and whether it was answered."""
        with self._store.reading() as connection:
            return tuple(rows_.entries_of(_read(connection, _ALL), self._zero))

    def verify(self, head: str | None = None) -> Verification:
        """Check the file, the whole chain and every total.  head: a hash noted outside earlier (`ApartEntry.hash`),
        which must still be in the chain: if it is not, the ledger was cut short or put back from an older copy."""
        with self._store.reading() as connection:
            if _QUICK_CHECK.first(connection).quick_check != "ok":
                return Verification(0, GENESIS, "The file is damaged: SQLite's own check fails.")
            return rows_.replayed(_read(connection, _ALL), self._zero, head)

    @contextmanager
    def _writing(self) -> Iterator[_Page[L]]:
        with self._store.writing() as connection:
            yield _Page(connection, self._clock, self._zero)

    @contextmanager
    def _reading(self) -> Iterator[_Page[L]]:
        with self._store.reading() as connection:
            yield _Page(connection, self._clock, self._zero)

    def _in_force(self, page: _Page[L]) -> L | None:
        return rows_.lesser(page.allowance, self._declared)

    def _begin_or_check(self, dataset: str | None) -> None:
        with self._store.reading() as connection:
            there = apart_schema_exists(connection)
        if not there:
            with self._store.writing() as connection:
                # Another process may have come first.
                if not apart_schema_exists(connection):
                    create_apart_schema(connection)
                    _begin(_Page(connection, self._clock, self._zero), self._zero, self._declared, dataset)
        with self._store.reading() as connection:
            first = _first(connection)
        found = one_notion([rows_.read_notion(first)])
        if first.facts["format"] != rows_.FORMAT:
            raise LedgerError(
                f"The ledger has format {first.facts['format']}; this Dither reads format {rows_.FORMAT}.",
                code="L-180",
                hint="Use the Dither that wrote it, or a newer one.",
            )
        if found != self.notion:
            raise LedgerConflict(
                f"The ledger is of {found}, not of {self.notion}.",
                code="L-500",
                hint="Give each notion a file of its own: what is spent under one does not add to the other.",
            )
        if dataset is not None and (recorded := first.facts.get("dataset")) != dataset:
            raise LedgerConflict(
                f"The ledger is of data set {recorded!r}, not of {dataset!r}.",
                code="L-220",
                hint="Give each data set a ledger of its own.",
            )


class _Page(Generic[L]):
    """What the ledger stands at in one open transaction; in a write transaction nobody else changes it meanwhile."""

    def __init__(self, connection: Connection, clock: Clock, zero: L) -> None:
        self.connection, self._clock = connection, clock
        self._zero: L = zero
        latest = _read(connection, _LATEST)
        self._seq, self._head = (latest[0].seq, latest[0].hash) if latest else (0, GENESIS)
        content = latest[0].content if latest else {}
        limit = content.get("allowance")
        self.total: L = rows_.read_amounts(content.get("total"), zero) if latest else zero
        self.allowance: L | None = None if limit is None else rows_.read_amounts(limit, zero)

    def rows_of(self, entry: str) -> list[ApartRow]:
        """An entry's rows, oldest first."""
        return _read(self.connection, _OF_ENTRY, entry=entry)

    def entry_of_key(self, key: str) -> ApartEntry[L] | None:
        found = _read(self.connection, _OF_KEY, request=key)
        if not found:
            return None
        entry = rows_.entries_of(self.rows_of(str(found[0].entry)), self._zero)[0]
        return rows_.as_repeated(entry)

    def append(
        self,
        kind: str,
        facts: Mapping[str, Json],
        *,
        entry: str | None = None,
        request: str | None = None,
        total: L | None = None,
        allowance: L | None = None,
    ) -> ApartRow:
        """Add one row to the chain.  total, allowance: as they stand after it, where it changes them."""
        check(facts)
        self.total = self.total if total is None else total
        self.allowance = self.allowance if allowance is None else allowance
        limit = None if self.allowance is None else rows_.amounts_json(self.allowance)
        body = canonical({"facts": facts, "total": rows_.amounts_json(self.total), "allowance": limit})
        columns = (self._seq + 1, kind, entry, request, _utc_text(self._clock()), body)
        row = ApartRow(*columns, previous=self._head, hash=row_hash(self._head, columns))
        _ADD.insert(self.connection, [vars(row)])
        self._seq, self._head = row.seq, row.hash
        return row


def _begin(page: _Page[L], zero: L, allowance: L | None, dataset: str | None) -> None:
    facts: dict[str, Json] = {
        "format": rows_.FORMAT,
        # So that two ledgers begun alike have chains of their own.
        "ledger": secrets.token_hex(16),
        "notion": rows_.notion_facts(zero),
        "dataset": dataset,
        "allowance": None if allowance is None else rows_.amounts_json(allowance),
    }
    page.append("created", facts, allowance=allowance)


def _read(connection: Connection, statement: Statement, **values: str) -> list[ApartRow]:
    return [ApartRow(**row._asdict()) for row in statement.rows(connection, values)]


def _first(connection: Connection) -> ApartRow:
    found = _read(connection, _FIRST)
    if not found:
        raise LedgerCorrupt("The ledger lacks its first row.", hint="Restore a backup as documented.")
    return found[0]


def _file_store(path: str, wait_s: float) -> Store:
    if "://" in path and not path.startswith("sqlite"):
        raise InvalidParameter("path", expected="a path of a file: a ledger of this notion is one", found=path)
    return open_store(path, wait_s=wait_s)


def _check_start(start: object) -> None:
    match start:
        case MetricLoss(epsilon=0) | RandomLoss(epsilon=0, delta=0, gamma=0):
            return
        case _:
            raise InvalidParameter("start", expected="a MetricLoss or RandomLoss of zero", found=start)


def _check_text(text: object, name: str, longest: int) -> None:
    if not (isinstance(text, str) and 0 < len(text) <= longest and text.isprintable()):
        raise InvalidParameter(name, expected=f"1 to {longest} printable characters", found=text)


def _exceeded(loss: MetricLoss | RandomLoss, left: MetricLoss | RandomLoss | None) -> BudgetExceeded:
    cost, shown = rows_.loss_text(loss), "" if left is None else rows_.loss_text(left)
    return BudgetExceeded(
        f"The release costs {cost} of {one_notion([loss])}, which does not fit this notion's allowance; "
        f"{shown} is left.",
        level="allowance",
        requested=cost,
        remaining=shown,
        hint="Ask for less accuracy, or raise the allowance by `raise_allowance`, which is logged.",
    )


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def _utc_text(now: dt.datetime) -> str:
    if now.tzinfo is None:
        raise InvalidParameter("clock", expected="times with a zone", found=now)
    return now.astimezone(dt.UTC).isoformat(timespec="microseconds")
