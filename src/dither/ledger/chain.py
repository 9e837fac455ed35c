"""Canonical bytes and hashes: what makes a ledger's past unchangeable without being seen.

Flow: `journal` hashes every row it appends over the row before it; `verify` recomputes the chain.
Relies on SHA-256. Each row's hash covers every column of the row and the previous hash, so changing, dropping or
inserting a row breaks the chain at that row. Whoever can write the file can also rewrite the whole chain; what they
cannot reach are the receipts already handed out, each of which names one hash. The keyed digest on a receipt lets the
owner tell a receipt of this ledger from an invented one.  Statement: docs/proofs/ledger/hash-chain.md
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence

from dither.errors import GuaranteeError

__all__ = ["GENESIS", "Json", "canonical", "check", "digest", "ledger_id", "receipt_digest", "row_hash"]

Json = str | int | bool | None | Sequence["Json"] | Mapping[str, "Json"]
"""What may be written down: no floats, whose text is not one thing everywhere."""

GENESIS = "0" * 64
"""The hash before the first row."""

# One encoder for all: json.dumps makes a new one for every call with arguments of its own.
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode

_ROW = b"dither ledger row 1\0"
_RECEIPT = b"dither ledger receipt 1\0"
_LEDGER = b"dither ledger id 1\0"


def canonical(value: Json) -> str:
    """The one JSON text of `value`, which passed `check`: keys sorted, no spaces, ASCII only."""
    return _encode(value)


def check(value: object) -> None:
    """Raises GuaranteeError on floats, and on everything else that `Json` does not name."""
    match value:
        case None | str() | bool() | int():
            return
        case Mapping():
            for key, part in value.items():
                if not isinstance(key, str):
                    raise GuaranteeError("A key that is not text was about to enter the ledger.")
                check(part)
        case list() | tuple():
            for part in value:
                check(part)
        case _:
            raise GuaranteeError(f"A {type(value).__name__} was about to enter the ledger; only text and integers may.")


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def row_hash(previous: str, columns: Sequence[str | int | None]) -> str:
    """SHA-256 over the previous hash and the row's columns as they are stored."""
    return hashlib.sha256(_ROW + _encode([previous, *columns]).encode()).hexdigest()


def ledger_id(key: bytes, first_hash: str) -> str:
    """Names a ledger and every copy of it, and no other: first rows may agree, keys do not. It tells nothing of the
    key."""
    return hmac.new(key, _LEDGER + first_hash.encode(), hashlib.sha256).hexdigest()


def receipt_digest(key: bytes, entry_id: str, entry_hash: str) -> str:
    """HMAC-SHA256 of an entry and of the chain's head at the time of its receipt, under the ledger's own key."""
    return hmac.new(key, _RECEIPT + f"{entry_id}\0{entry_hash}".encode(), hashlib.sha256).hexdigest()
