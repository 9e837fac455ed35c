"""Find the first thing in a ledger that does not hold: a changed row, a wrong total, a lost vector, a rollback.

Flow: `dither budget verify [--receipt]`. Relies on `chain` for hashes and on `effects`, which computes every total
again from the facts. What a chain alone cannot show is a ledger cut short or put back from an old copy: that takes a
receipt, kept outside, of an entry the old copy lacks. Statement: docs/proofs/ledger/hash-chain.md
"""

from __future__ import annotations

import hmac
import json
from dataclasses import dataclass, field
from typing import Any

from dither.accounting.price import Price
from dither.errors import DitherError
from dither.ledger.amounts import price_from_json
from dither.ledger.chain import GENESIS, canonical, digest, receipt_digest, row_hash
from dither.ledger.effects import levels_of, standings_after
from dither.ledger.journal import whole_log
from dither.ledger.model import LogRow, Receipt, ReleasedVector, Verification
from dither.ledger.opening import identity_problem
from dither.ledger.series import stored_states
from dither.ledger.standing import Standing
from dither.ledger.storage.connection import Connection
from dither.ledger.storage.statements import Statement
from dither.ledger.vectors import all_vectors, vector_facts

__all__ = ["verify_ledger"]


_QUICK_CHECK = Statement("PRAGMA quick_check(1)")
_STANDINGS = Statement("SELECT level, seq, body FROM dither_standing")

_SETTLING = ("answered", "void", "failed", "lost")


class _Broken(Exception):
    """A row does not hold; the text says why."""


@dataclass
class _Replay:
    """What the rows so far amount to."""

    head: str = GENESIS
    seq: int = 0
    day: str = ""
    standings: dict[str, Standing] = field(default_factory=dict)
    opened: dict[str, LogRow] = field(default_factory=dict)
    settled: dict[str, LogRow] = field(default_factory=dict)
    vectors: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    payers: set[tuple[str, int, str]] = field(default_factory=set)
    booked: set[tuple[str, str]] = field(default_factory=set)
    closed: bool = False
    projected: set[tuple[str, int, str]] = field(default_factory=set)
    series: dict[str, tuple[str, int, str]] = field(default_factory=dict)
    """Entry that opened a series -> its analyst, the row that left its newest state, that state's digest."""


def verify_ledger(connection: Connection, key: bytes, receipt: Receipt | None) -> Verification:
    """Check every row in order, then the tables that repeat parts of the log, then the receipt if there is one."""
    replay = _Replay()
    if problem := _damage(connection):
        return Verification(0, GENESIS, problem)
    for row in whole_log(connection):
        try:
            _check_row(replay, row)
        except _Broken as broken:
            return Verification(replay.seq, replay.head, str(broken), row.seq)
        except (DitherError, LookupError, TypeError, ValueError, AttributeError):
            return Verification(replay.seq, replay.head, "The row's content cannot be read.", row.seq)
    try:
        problem = (
            identity_problem(connection)
            or _check_standings(connection, replay)
            or _check_vectors(connection, replay)
            or _check_states(connection, replay)
        )
    except (DitherError, KeyError, TypeError, ValueError, AttributeError):
        problem = "A table that repeats the chain cannot be read."
    if problem is None and receipt is not None:
        problem = _check_receipt(replay, key, receipt)
    return Verification(replay.seq, replay.head, problem)


def _damage(connection: Connection) -> str | None:
    if connection.dialect != "sqlite" or _QUICK_CHECK.first(connection).quick_check == "ok":
        return None
    return "The file is damaged: SQLite's own check fails."


def _check_row(replay: _Replay, row: LogRow) -> None:
    if row.seq != replay.seq + 1:
        raise _Broken(f"Row {replay.seq + 1} is missing.")
    columns = (row.seq, row.kind, row.entry, row.analyst, row.request, row.at, row.day, row.body)
    if row.previous != replay.head or row.hash != row_hash(replay.head, columns):
        raise _Broken("The row does not hash to what the chain says: it was changed, or a row before it was.")
    if row.day < replay.day:
        raise _Broken("The day goes back.")
    body = json.loads(row.body)
    _check_life(replay, row, body["facts"])
    _check_prices(replay, row, body["facts"])
    _check_bookings(replay, row, body["facts"])
    _check_totals(replay, row, body)
    replay.seq, replay.head, replay.day = row.seq, row.hash, row.day


def _check_life(replay: _Replay, row: LogRow, facts: dict[str, Any]) -> None:
    """An entry is opened once and settled at most once; a void takes back what was charged, no more."""
    if row.entry is None:
        return
    if row.kind in ("reserved", "reused"):
        if row.entry in replay.opened:
            raise _Broken("The entry was opened before.")
        replay.opened[row.entry] = row
    elif row.kind in _SETTLING:
        opened = replay.opened.get(row.entry)
        if opened is None or opened.kind != "reserved" or row.entry in replay.settled or opened.analyst != row.analyst:
            raise _Broken("The row settles no open entry of its analyst.")
        charged = json.loads(opened.body)["facts"]
        if row.kind == "void" and (facts["price"] != charged["price"] or facts["day"] != opened.day):
            raise _Broken("The void takes back something else than was charged.")
        replay.settled[row.entry] = row
    if row.kind == "answered":
        replay.vectors[row.entry] = facts["vectors"]
        count = len(facts["vectors"])
        replay.payers |= {(row.entry, position, str(row.analyst)) for position in range(count)}
    if row.kind == "advanced":
        if row.entry in replay.opened:
            raise _Broken("The entry was opened before.")
        replay.opened[row.entry] = row
        replay.vectors[row.entry] = facts["vectors"]
        replay.payers.add((row.entry, 0, str(row.analyst)))
    if row.kind == "stalled" and row.entry not in replay.series:
        raise _Broken("The row tells of a series that is not there.")
    if row.kind in ("answered", "advanced") and "series" in facts:
        _check_series(replay, row, facts)
    if row.kind == "reused":
        replay.payers.add((str(facts["source"]), int(str(facts["position"])), str(row.analyst)))


def _check_series(replay: _Replay, row: LogRow, facts: dict[str, Any]) -> None:
    """A state follows a state of the same analyst's series; the first is that of the entry that opened it."""
    entry, state = str(facts["series"]["entry"]), str(facts["series"]["state"])
    known = replay.series.get(entry)
    begins = row.kind == "answered" and row.entry == entry
    if begins != (known is None) or (known is not None and known[0] != row.analyst):
        raise _Broken("The row goes on with a series that is not there, or not its analyst's.")
    replay.series[entry] = (str(row.analyst), row.seq, state)


def _check_prices(replay: _Replay, row: LogRow, facts: dict[str, Any]) -> None:
    """What `ledger` holds to when it writes: no price is below nothing, no vector costs more than was reserved, and
    whoever uses one again pays at least its price."""
    price = price_from_json(facts["price"]) if "price" in facts else Price()
    if min(price.epsilon or 0, price.rho, price.delta) < 0:
        raise _Broken("The row's price is below nothing.")
    if row.kind == "answered":
        charged = json.loads(replay.opened[str(row.entry)].body)["facts"]
        for vector in facts["vectors"]:
            if vector["identity"] not in charged["vectors"]:
                raise _Broken("The row keeps a vector that was not reserved.")
            if not price_from_json(vector["price"]) <= price_from_json(charged["price"]):
                raise _Broken("The row keeps a vector that costs more than was reserved.")
    if row.kind == "reused":
        vector = replay.vectors[facts["source"]][facts["position"]]
        if not price_from_json(vector["price"]) <= price:
            raise _Broken("The row uses a vector again for less than its price.")


_CHARGES = ("reserved", "reused", "imported", "merged")


def _check_bookings(replay: _Replay, row: LogRow, facts: dict[str, object]) -> None:
    """A release elsewhere is booked once, another ledger once; a closed ledger charges nothing."""
    if replay.closed and row.kind in _CHARGES:
        raise _Broken("The row charges a ledger that was closed.")
    if row.kind in ("imported", "merged"):
        booking = row.kind, str(facts["name" if row.kind == "imported" else "ledger"])
        if booking in replay.booked:
            raise _Broken("The row books what was booked before.")
        replay.booked.add(booking)
    replay.closed |= row.kind == "closed"


def _check_totals(replay: _Replay, row: LogRow, body: dict[str, dict[str, object]]) -> None:
    levels = levels_of(row.kind, body["facts"], analyst=row.analyst, day=row.day)
    before = {level: replay.standings[level] for level in levels if level in replay.standings}
    after = standings_after(row.kind, body["facts"], before, analyst=row.analyst, day=row.day)
    if {level: standing.to_json() for level, standing in after.items()} != body["standings"]:
        raise _Broken("The row's totals do not follow from the totals before it.")
    replay.standings |= after
    replay.projected |= {(level, row.seq, canonical(standing.to_json())) for level, standing in after.items()}


def _check_standings(connection: Connection, replay: _Replay) -> str | None:
    """The table that questions read totals from must repeat the log."""
    stored = {tuple(row) for row in _STANDINGS.each(connection)}
    if stored == replay.projected:
        return None
    first = min(seq for _, seq, _ in stored ^ replay.projected)
    return f"The totals kept for row {first} differ from the chain."


def _check_vectors(connection: Connection, replay: _Replay) -> str | None:
    kept: dict[str, list[ReleasedVector]] = {}
    for item in all_vectors(connection):
        kept.setdefault(item.entry_id, []).append(item)
    for entry in sorted(kept.keys() | replay.vectors.keys()):
        if vector_facts(kept.get(entry, [])) != replay.vectors.get(entry, []):
            return f"The vectors kept for entry {entry} differ from the chain."
        release = json.loads(replay.opened[entry].body)["facts"]["release"]
        if any(item.release != release for item in kept.get(entry, [])):
            return f"The vectors kept for entry {entry} name another release."
    paid = {(item.entry_id, item.position, name) for items in kept.values() for item in items for name in item.paid_by}
    return None if paid == replay.payers else "Who paid for which vector differs from the chain."


def _check_states(connection: Connection, replay: _Replay) -> str | None:
    """The newest state of each series, which alone is kept, must be the one the chain names last."""
    kept = {entry: (seq, digest(state)) for entry, (seq, state) in stored_states(connection).items()}
    said = {entry: (seq, state) for entry, (_, seq, state) in replay.series.items()}
    return None if kept == said else "The state kept for a series differs from the chain."


def _check_receipt(replay: _Replay, key: bytes, receipt: Receipt) -> str | None:
    if not hmac.compare_digest(receipt_digest(key, receipt.entry_id, receipt.hash), receipt.digest):
        return "The receipt was not written by this ledger."
    rows = (replay.settled.get(receipt.entry_id), replay.opened.get(receipt.entry_id))
    if any(row is not None and row.hash == receipt.hash for row in rows):
        return None
    return "The ledger lacks an entry that it once signed: it was put back from an older copy, or cut short."
