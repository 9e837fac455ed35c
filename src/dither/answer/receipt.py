"""A receipt: what was asked, how the noise was made, what it cost, and which ledger entry says so.

Flow: made by the session beside each answer; checked by `dither budget verify --receipt`. Holds no seed, no physical
version, no row count: anyone may see it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dither.errors import InvalidParameter

__all__ = ["Receipt", "VectorLine"]


@dataclass(frozen=True)
class VectorLine:
    """One measured or reused vector: what it is, in words, and the law of its noise."""

    what: str
    mechanism: str
    scale: str
    """Of the noise, in the unit of the data; an exact rational as text."""
    distance: str
    """The most one unit moves it, in the unit of the data."""
    reused: bool = False
    measured_by: str | None = None
    """Of one used again: the ledger entry that measured it. Named, not signed; the ledger can look it up."""


@dataclass(frozen=True)
class Receipt:
    question: str
    fingerprint: str
    dataset: str
    analyst: str
    release: str
    vectors: tuple[VectorLine, ...]
    epsilon: str | None
    """What this question cost, as exact decimals; None when it has no pure epsilon (Gaussian noise)."""
    rho: str
    delta: str
    entry: str | None
    """Ledger entry; None for a question answered from released vectors, or on invented rows."""
    hash: str | None
    digest: str | None
    """The head of the ledger under its own key: shows whether a ledger is the one that signed."""
    ledger: str
    """`kept` or `in memory only`."""
    versions: tuple[tuple[str, str], ...]
    assertions: tuple[str, ...] = ()
    published: tuple[tuple[str, str], ...] = ()
    """Of a published folder: the name and SHA-256 of each file beside the receipt."""

    def to_dict(self) -> dict[str, Any]:
        found = asdict(self)
        if not self.published:
            del found["published"]
        return found

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False)

    def save(self, path: str | Path) -> None:
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Receipt:
        try:
            stored = json.loads(Path(path).read_text(encoding="utf-8"))
            lines = tuple(VectorLine(**line) for line in stored.pop("vectors"))
            pairs = tuple((str(a), str(b)) for a, b in stored.pop("versions"))
            published = tuple((str(a), str(b)) for a, b in stored.pop("published", ()))
            assertions = tuple(stored.pop("assertions"))
            return cls(vectors=lines, versions=pairs, assertions=assertions, published=published, **stored)
        except (OSError, ValueError, TypeError, KeyError):
            raise InvalidParameter("receipt", expected="a file written by Receipt.save", found=str(path)) from None
