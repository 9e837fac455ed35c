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

from dither.accounting.events import Event
from dither.accounting.price import Price
from dither.errors import LedgerConflict, LedgerCorrupt
from dither.ledger.chain import Json, digest
from dither.ledger.effects import levels_of
from dither.ledger.journal import Page, entry_of_request, rows_of_entry
from dither.ledger.model import LogRow, NewVector, ReservationRequest
from dither.ledger.standing import DATASET, analyst_level
from dither.ledger.storage.connection import Connection
from dither.ledger.storage.schema import create_series_state, has_series_state
from dither.ledger.storage.statements import Statement, insertion
from dither.ledger.vectors import released_vectors, store_vectors, vector_facts

if TYPE_CHECKING:
    from dither.ledger.ledger import Ledger

__all__ = ["EpochRequest", "SeriesBook", "StoredSeries", "interrupted", "stall", "stored_states"]

_SALT_BYTES = 32
_FREE = Price()

_STATES = Statement("SELECT entry, seq, state FROM dither_series_state")
_STATE = Statement("SELECT seq, state FROM dither_series_state WHERE entry = :entry")
_DROP_STATE = Statement("DELETE FROM dither_series_state WHERE entry = :entry")
_ADD_STATE = insertion("dither_series_state", "entry, seq, state")
_MARK = Statement("UPDATE dither_series_state SET reader = :reader WHERE entry = :entry")
_MARKED = Statement(
    "SELECT dither_series_state.entry, analyst, reader FROM dither_series_state "
    "JOIN dither_log ON dither_log.seq = dither_series_state.seq WHERE reader IS NOT NULL"
)
_BODY = Statement("SELECT body FROM dither_log WHERE seq = :seq")
_RESTORED = Statement("SELECT seq FROM dither_log WHERE kind = 'restored' AND seq > :seq LIMIT 1")


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
        create_series_state(page.connection)
        _replace_state(page.connection, str(series["entry"]), row.seq, kept)

    def _check_readable(self, page: Page, stored: StoredSeries) -> None:
        standings = page.standings(DATASET, analyst_level(stored.analyst))
        dataset = standings[DATASET]
        self._ledger._check_current(dataset, dataset.release)
        self._ledger._check_frozen(dataset, standings.get(analyst_level(stored.analyst)))
        if _RESTORED.first(page.connection, {"seq": stored.seq}) is not None:
            raise LedgerConflict(
                "The ledger was put back from a backup: days of this series may have been released since.",
                code="L-420",
                hint="What is kept can be shown. To go on, open another series, under another name.",
            )

    def _check_newest(self, page: Page, stored: StoredSeries) -> None:
        newest = _STATE.first(page.connection, {"entry": stored.entry})
        if newest is None or newest.seq != stored.seq:
            raise LedgerConflict(
                "Another process has just advanced this series.", code="L-410", hint="Nothing of this one was released."
            )


def interrupted(connection: Connection) -> list[tuple[str, str, str]]:
    """(entry, analyst, session) of each series that data was being read for when it was last written down."""
    if not has_series_state(connection):
        return []
    return [(row.entry, row.analyst, row.reader) for row in _MARKED.rows(connection)]


def stall(page: Page, entry: str, analyst: str) -> None:
    """An advance ended without releasing anything, and counts as a failure."""
    page.append("stalled", facts={"series": {"entry": entry}}, entry=entry, analyst=analyst)
    _mark(page.connection, entry, None)


def stored_states(connection: Connection) -> dict[str, tuple[int, bytes]]:
    """Entry of a series -> (row that left its state, the state as it is stored)."""
    # The table comes with the first series.
    rows = _STATES.rows(connection) if has_series_state(connection) else []
    return {row.entry: (row.seq, bytes(row.state)) for row in rows}


def _find(connection: Connection, analyst: str, name: str) -> StoredSeries | None:
    if not has_series_state(connection):
        return None
    entry = entry_of_request(connection, analyst, _key(name, 0))
    if entry is None:
        return None
    opened = _facts(rows_of_entry(connection, entry)[0])
    epochs = 1
    while entry_of_request(connection, analyst, _key(name, epochs)) is not None:
        epochs += 1
    seq, state = _state(connection, entry)
    totals = released_vectors(connection, _identity(entry), opened["release"])
    return StoredSeries(
        entry, analyst, name, opened["text"], opened["fingerprint"], opened["release"], opened["series"]["terms"],
        epochs, seq, state, tuple(vector.payload for vector in totals),
    )  # fmt: skip


def _state(connection: Connection, entry: str) -> tuple[int, bytes]:
    """(seq, state) of a series, once the chain's row says that it is this one."""
    kept = _STATE.first(connection, {"entry": entry})
    row = None if kept is None else _BODY.first(connection, {"seq": kept.seq})
    said: Mapping[str, Any] = {} if row is None else json.loads(row.body)["facts"].get("series", {})
    if kept is None or said.get("entry") != entry or said.get("state") != digest(bytes(kept.state)):
        raise LedgerCorrupt(
            "The state of a series is not the one the chain names.", hint="Run `dither budget verify`."
        )  # fmt: skip
    return int(kept.seq), bytes(kept.state)[_SALT_BYTES:]


def _replace_state(connection: Connection, entry: str, seq: int, state: bytes) -> None:
    _DROP_STATE.execute(connection, {"entry": entry})
    _ADD_STATE.insert(connection, [{"entry": entry, "seq": seq, "state": state}])


def _mark(connection: Connection, entry: str, reader: str | None) -> None:
    _MARK.execute(connection, {"entry": entry, "reader": reader})


def _salted(state: bytes) -> bytes:
    return secrets.token_bytes(_SALT_BYTES) + state


def _key(name: str, epoch: int) -> str:
    """The request key of an epoch. Keys of questions are printable, so none is ever taken for it."""
    return f"series\x1f{epoch}\x1f{name}"


def _identity(entry: str) -> str:
    return f"series {entry}"


def _facts(row: LogRow) -> dict[str, Any]:
    return json.loads(row.body)["facts"]  # type: ignore[no-any-return]
