"""Series in the ledger: an entry for each epoch, a row for each advance, and the one state to go on from.

Flow: `session.series` opens, extends and advances; each is one transaction, durable before anything is shown.
An epoch is a question charged and answered at once: `reserved` and `answered` with the state before its first day, so
that no death can leave a charge without a series. An advance is a row `advanced` that keeps the new totals as a vector.
Of states only the newest is kept, beside the append-only tables: two states of one series would tell exactly what was
counted between them. The chain holds a digest of each, salted, or a guess of what was counted could be tried on it.
Statement: docs/proofs/ledger/series.md
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, func, insert, inspect, select, update

from dither.accounting.events import Event
from dither.accounting.price import Price
from dither.errors import LedgerConflict, LedgerCorrupt
from dither.ledger.chain import Json, digest
from dither.ledger.effects import levels_of
from dither.ledger.journal import Page, rows_of_entry
from dither.ledger.model import LogRow, NewVector, ReservationRequest
from dither.ledger.standing import DATASET, analyst_level
from dither.ledger.storage.schema import log, series_state
from dither.ledger.vectors import released_vectors, store_vectors, vector_facts

if TYPE_CHECKING:
    from dither.ledger.ledger import Ledger

__all__ = ["EpochRequest", "SeriesBook", "StoredSeries", "has_states", "interrupted", "stall"]

_SALT_BYTES = 32
_FREE = Price()


@dataclass(frozen=True)
class EpochRequest:
    """What an epoch is charged for, and the state it begins with."""

    text: str
    fingerprint: str
    price: Price
    events: tuple[Event, ...]
    terms: Mapping[str, Json]
    """What the series was opened with; the same in all its epochs."""
    state: bytes


@dataclass(frozen=True)
class StoredSeries:
    """A series as the ledger holds it."""

    entry: str
    """Of its first epoch; names the series."""
    analyst: str
    name: str
    text: str
    fingerprint: str
    release: str
    """The one it was opened in; a new release does not end it."""
    terms: Mapping[str, Json]
    epochs: int
    seq: int
    """Of the row that left this state."""
    state: bytes
    """As private as the data."""
    totals: tuple[bytes, ...]
    """What each advance released, in no order."""


class SeriesBook:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._journal = ledger._journal

    def find(self, analyst: str, name: str) -> StoredSeries | None:
        """This analyst's series of this name. Raises LedgerCorrupt when its state is not what the chain says."""
        with self._journal.reading() as connection:
            return _find(connection, self._ledger._analyst(analyst).name, name)

    def open(self, analyst: str, name: str, request: EpochRequest) -> StoredSeries:
        """Charge the first epoch, or find the series of this name, whatever it asks: the caller compares.
        Raises what `reserve` raises; a refusal charges nothing."""
        with self._journal.writing() as page:
            who = self._ledger._analyst(analyst).name
            found = _find(page.connection, who, name)
            if found is not None:
                return found
            entry = secrets.token_hex(8)
            series: dict[str, Json] = {"entry": entry, "name": name, "epoch": 0, "terms": dict(request.terms)}
            release = page.dataset().release
            self._charge(page, who, entry, series, request, release)
            opened = _find(page.connection, who, name)
        assert opened is not None
        return opened

    def extend(self, stored: StoredSeries, request: EpochRequest) -> None:
        """Charge a further epoch. Raises LedgerConflict when another process changed the series meanwhile, or the
        ledger was put back from a backup."""
        with self._journal.writing() as page:
            # A new epoch leaves a state newer than the backup, from which advances would go on.
            self._check_readable(page, stored)
            self._check_newest(page, stored)
            series: dict[str, Json] = {"entry": stored.entry, "name": stored.name, "epoch": stored.epochs}
            series["terms"] = dict(request.terms)
            self._charge(page, stored.analyst, secrets.token_hex(8), series, request, page.dataset().release)
        self._journal.store.forget_old_pages()

    def begin_reading(self, stored: StoredSeries) -> None:
        """Say that data is about to be read for the next advance: should this process die meanwhile, that is found out.
        Raises LedgerConflict, PolicyRefused where the series may not be advanced; `advance` checks again."""
        with self._journal.writing() as page:
            self._check_readable(page, stored)
            _mark(page.connection, stored.entry, self._journal.store.session())

    def advance(self, stored: StoredSeries, *, totals: bytes, state: bytes) -> None:
        """Keep newly released totals and the state after them, in one durable step; only then show the totals.
        Raises LedgerConflict when another process was first: then nothing of this advance may be shown."""
        vector = NewVector(_identity(stored.entry), {"kind": "series"}, _FREE, totals)
        kept = _salted(state)
        with self._journal.writing() as page:
            self._check_readable(page, stored)
            self._check_newest(page, stored)
            entry = secrets.token_hex(8)
            facts: dict[str, Json] = {
                "series": {"entry": stored.entry, "state": digest(kept)},
                "vectors": vector_facts([vector]),
                "release": stored.release,
            }
            row = page.append("advanced", facts=facts, entry=entry, analyst=stored.analyst)
            store_vectors(
                page.connection, entry=entry, release=stored.release, analyst=stored.analyst, vectors=[vector]
            )
            _replace_state(page.connection, stored.entry, row.seq, kept)
        self._journal.store.forget_old_pages()

    def stalled(self, stored: StoredSeries) -> None:
        """The engine failed on an advance: nothing was charged for it, and it counts towards the freeze."""
        with self._journal.writing() as page:
            stall(page, stored.entry, stored.analyst)

    def _charge(
        self, page: Page, who: str, entry: str, series: dict[str, Json], request: EpochRequest, release: str
    ) -> None:
        """The epoch's `reserved` and `answered` rows and its state, as one step of the caller's transaction."""
        ledger = self._ledger
        analyst = ledger._analyst(who)
        asked = ReservationRequest(
            who, request.text, request.fingerprint, request.price, request.events, (), release,
            idempotency_key=_key(str(series["name"]), int(str(series["epoch"]))),
        )  # fmt: skip
        facts = {**ledger._facts(asked, analyst), "series": series}
        before = page.standings(*levels_of("reserved", facts, analyst=who, day=page.day))
        ledger._check_current(before[DATASET], release)
        ledger._check_frozen(before[DATASET], before.get(analyst_level(who)))
        ledger._admit(analyst, before, page.day, request.price)
        page.append("reserved", facts=facts, entry=entry, analyst=who, request=asked.idempotency_key, before=before)
        kept = _salted(request.state)
        settled: dict[str, Json] = {"vectors": [], "series": {"entry": series["entry"], "state": digest(kept)}}
        row = page.append("answered", facts=settled, entry=entry, analyst=who)
        series_state.create(page.connection, checkfirst=True)
        _replace_state(page.connection, str(series["entry"]), row.seq, kept)

    def _check_readable(self, page: Page, stored: StoredSeries) -> None:
        standings = page.standings(DATASET, analyst_level(stored.analyst))
        dataset = standings[DATASET]
        self._ledger._check_current(dataset, dataset.release)
        self._ledger._check_frozen(dataset, standings.get(analyst_level(stored.analyst)))
        restored = page.connection.execute(
            select(func.max(log.c.seq)).where(log.c.kind == "restored", log.c.seq > stored.seq)
        ).scalar_one()
        if restored is not None:
            raise LedgerConflict(
                "The ledger was put back from a backup: days of this series may have been released since.",
                code="L-420",
                hint="What is kept can be shown. To go on, open another series, under another name.",
            )

    def _check_newest(self, page: Page, stored: StoredSeries) -> None:
        newest = page.connection.execute(select(series_state.c.seq).where(series_state.c.entry == stored.entry))
        if newest.scalar_one_or_none() != stored.seq:
            raise LedgerConflict(
                "Another process has just advanced this series.", code="L-410", hint="Nothing of this one was released."
            )


def interrupted(connection: Connection) -> list[tuple[str, str, str]]:
    """(entry, analyst, session) of each series that data was being read for when it was last written down."""
    if not has_states(connection):
        return []
    marked = select(series_state.c.entry, log.c.analyst, series_state.c.reader).where(
        series_state.c.reader.isnot(None), log.c.seq == series_state.c.seq
    )
    return [(row.entry, row.analyst, row.reader) for row in connection.execute(marked)]


def stall(page: Page, entry: str, analyst: str) -> None:
    """An advance ended without releasing anything, and counts as a failure."""
    page.append("stalled", facts={"series": {"entry": entry}}, entry=entry, analyst=analyst)
    _mark(page.connection, entry, None)


def has_states(connection: Connection) -> bool:
    """Whether any series was ever opened in this ledger: the table of states comes with the first."""
    return inspect(connection).has_table(series_state.name)


def _find(connection: Connection, analyst: str, name: str) -> StoredSeries | None:
    if not has_states(connection):
        return None
    entry = _entry_of(connection, analyst, _key(name, 0))
    if entry is None:
        return None
    opened = _facts(rows_of_entry(connection, entry)[0])
    epochs = 1
    while _entry_of(connection, analyst, _key(name, epochs)) is not None:
        epochs += 1
    seq, state = _state(connection, entry)
    totals = released_vectors(connection, _identity(entry), opened["release"])
    return StoredSeries(
        entry, analyst, name, opened["text"], opened["fingerprint"], opened["release"], opened["series"]["terms"],
        epochs, seq, state, tuple(vector.payload for vector in totals),
    )  # fmt: skip


def _entry_of(connection: Connection, analyst: str, key: str) -> str | None:
    asked = select(log.c.entry).where(log.c.analyst == analyst, log.c.request == key, log.c.request.isnot(None))
    return connection.execute(asked).scalar_one_or_none()


def _state(connection: Connection, entry: str) -> tuple[int, bytes]:
    """(seq, state) of a series, once the chain's row says that it is this one."""
    kept = connection.execute(select(series_state).where(series_state.c.entry == entry)).one_or_none()
    body = None if kept is None else connection.execute(select(log.c.body).where(log.c.seq == kept.seq)).scalar()
    said: Mapping[str, Any] = {} if body is None else json.loads(body)["facts"].get("series", {})
    if kept is None or said.get("entry") != entry or said.get("state") != digest(bytes(kept.state)):
        raise LedgerCorrupt(
            "The state of a series is not the one the chain names.", hint="Run `dither budget verify`."
        )  # fmt: skip
    return int(kept.seq), bytes(kept.state)[_SALT_BYTES:]


def _replace_state(connection: Connection, entry: str, seq: int, state: bytes) -> None:
    connection.execute(delete(series_state).where(series_state.c.entry == entry))
    connection.execute(insert(series_state), {"entry": entry, "seq": seq, "state": state})


def _mark(connection: Connection, entry: str, reader: str | None) -> None:
    connection.execute(update(series_state).where(series_state.c.entry == entry).values(reader=reader))


def _salted(state: bytes) -> bytes:
    return secrets.token_bytes(_SALT_BYTES) + state


def _key(name: str, epoch: int) -> str:
    """The request key of an epoch. Keys of questions are printable, so none is ever taken for it."""
    return f"series\x1f{epoch}\x1f{name}"


def _identity(entry: str) -> str:
    return f"series {entry}"


def _facts(row: LogRow) -> dict[str, Any]:
    return json.loads(row.body)["facts"]  # type: ignore[no-any-return]
