"""Noisy vectors once released, kept so that nobody pays for the same number twice.

Flow: `answer` stores them with the entry that paid; the planner looks them up by identity within the release;
`record_reuse` adds a payer. Relies on `schema`. Payloads are opaque here; their digests are in the chain.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from dither.errors import GuaranteeError
from dither.ledger.amounts import price_from_json, price_json
from dither.ledger.chain import Json, canonical, digest
from dither.ledger.model import NewVector, ReleasedVector
from dither.ledger.storage.connection import Connection
from dither.ledger.storage.schema import VECTOR_COLUMNS
from dither.ledger.storage.statements import Statement, insertion

__all__ = [
    "add_payer",
    "all_vectors",
    "has_paid",
    "released_vectors",
    "store_vectors",
    "vector_facts",
    "vectors_of_entry",
]

_ADD_VECTOR = insertion("dither_vector", VECTOR_COLUMNS)
_ADD_PAYER = insertion("dither_payer", "entry, position, analyst")

_JOINED = (
    "FROM dither_vector LEFT JOIN dither_payer "
    "ON dither_payer.entry = dither_vector.entry AND dither_payer.position = dither_vector.position"
)


def _with_payers(condition: str = "") -> Statement:
    columns = ", ".join(f"dither_vector.{name} AS {name}" for name in VECTOR_COLUMNS.split(", "))
    return Statement(
        f"SELECT {columns}, dither_payer.analyst AS also_paid {_JOINED} {condition} "
        "ORDER BY dither_vector.entry, dither_vector.position, dither_payer.analyst"
    )


_ALL = _with_payers()
_BY_ENTRY = _with_payers("WHERE dither_vector.entry = :entry")
_BY_IDENTITY = _with_payers("WHERE dither_vector.identity = :identity AND dither_vector.release = :release")
_PAYERS = Statement(
    f"SELECT dither_vector.analyst AS analyst, dither_payer.analyst AS also_paid {_JOINED} "
    "WHERE dither_vector.entry = :entry AND dither_vector.position = :position"
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
