"""Noisy vectors once released, kept so that nobody pays for the same number twice.

Flow: `answer` stores them with the entry that paid; the planner looks them up by identity within the release;
`record_reuse` adds a payer. Relies on `schema`. Payloads are opaque here; their digests are in the chain.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, insert, select

from dither.errors import GuaranteeError
from dither.ledger.amounts import price_from_json, price_json
from dither.ledger.chain import Json, canonical, digest
from dither.ledger.model import NewVector, ReleasedVector
from dither.ledger.storage.schema import payer, vector
from dither.ledger.storage.statements import Prepared

__all__ = [
    "add_payer",
    "all_vectors",
    "has_paid",
    "released_vectors",
    "store_vectors",
    "vector_facts",
    "vectors_of_entry",
]

_ADD_VECTOR = Prepared(insert(vector))
_ADD_PAYER = Prepared(insert(payer))


_SAME = and_(payer.c.entry == vector.c.entry, payer.c.position == vector.c.position)


def _with_payers(*conditions: ColumnElement[bool]) -> Select[Any]:
    return (
        select(vector, payer.c.analyst.label("also_paid"))
        .select_from(vector.outerjoin(payer, _SAME))
        .where(*conditions)
        .order_by(vector.c.entry, vector.c.position, payer.c.analyst)
    )


_PAYERS = Prepared(
    select(vector.c.analyst, payer.c.analyst.label("also_paid"))
    .select_from(vector.outerjoin(payer, _SAME))
    .where(vector.c.entry == bindparam("entry"), vector.c.position == bindparam("position"))
)
_ALL = Prepared(_with_payers())
_BY_ENTRY = Prepared(_with_payers(vector.c.entry == bindparam("entry")))
_BY_IDENTITY = Prepared(
    _with_payers(vector.c.identity == bindparam("identity"), vector.c.release == bindparam("release"))
)


def vector_facts(vectors: Sequence[NewVector | ReleasedVector]) -> list[Json]:
    """What the chain says of an entry's vectors: everything but the payload, of which it holds the digest."""
    return [
        {
            "identity": item.identity,
            "law": item.law,
            "price": price_json(item.price),
            "payload": digest(item.payload),
        }
        for item in vectors
    ]


def store_vectors(
    connection: Connection, *, entry: str, release: str, analyst: str, vectors: Sequence[NewVector]
) -> None:
    """Keep an entry's vectors, paid for by `analyst`."""
    if not vectors:
        return
    rows = [
        {
            "entry": entry,
            "position": position,
            "analyst": analyst,
            "identity": item.identity,
            "release": release,
            "law": canonical(item.law),
            "price": canonical(price_json(item.price)),
            "payload": item.payload,
        }
        for position, item in enumerate(vectors)
    ]
    _ADD_VECTOR.insert(connection, rows)


def add_payer(connection: Connection, item: ReleasedVector, analyst: str) -> None:
    _ADD_PAYER.insert(connection, [{"entry": item.entry_id, "position": item.position, "analyst": analyst}])


def has_paid(connection: Connection, item: ReleasedVector, analyst: str) -> bool:
    """Whether this analyst has paid for it by now; `item` may be older than that."""
    rows = _PAYERS.rows(connection, {"entry": item.entry_id, "position": item.position})
    if not rows:
        raise GuaranteeError("A vector was about to be reused that the ledger does not hold.")
    return any(analyst in row for row in rows)


def released_vectors(connection: Connection, identity: str, release: str) -> list[ReleasedVector]:
    """Every kept measurement of this vector in this release."""
    return _gather(_BY_IDENTITY.rows(connection, {"identity": identity, "release": release}))


def vectors_of_entry(connection: Connection, entry: str) -> list[ReleasedVector]:
    """An entry's vectors, in their order."""
    return _gather(_BY_ENTRY.rows(connection, {"entry": entry}))


def all_vectors(connection: Connection) -> list[ReleasedVector]:
    return _gather(_ALL.rows(connection))


def _gather(rows: Iterable[Any]) -> list[ReleasedVector]:
    """One vector per (entry, position); its rows differ in the payer only."""
    gathered = []
    for _, group in groupby(rows, key=lambda row: (row.entry, row.position)):
        same = list(group)
        first = same[0]
        gathered.append(
            ReleasedVector(
                identity=first.identity,
                release=first.release,
                entry_id=first.entry,
                position=first.position,
                law=json.loads(first.law),
                price=price_from_json(json.loads(first.price)),
                payload=bytes(first.payload),
                paid_by=frozenset({first.analyst} | {row.also_paid for row in same if row.also_paid is not None}),
            )
        )
    return gathered
