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
            if not all(isinstance(stored[name], list) for name in ("vectors", "assertions")):
                raise TypeError
            lines = tuple(VectorLine(**line) for line in stored.pop("vectors"))
            versions = _pairs(stored.pop("versions"))
            published = _pairs(stored.pop("published", []))
            assertions = tuple(stored.pop("assertions"))
            found = cls(vectors=lines, versions=versions, assertions=assertions, published=published, **stored)
            # Anybody may have written it: what reads a receipt may rely on the kind of each field.
            for line in lines:
                _check_kinds(line, optional=("measured_by",), others=("reused",))
            _check_kinds(
                found,
                optional=("epsilon", "entry", "hash", "digest"),
                others=("vectors", "versions", "assertions", "published"),
            )
            if not (
                all(type(line.reused) is bool for line in lines)
                and all(isinstance(text, str) for text in assertions)
                and all((text or "").isascii() for text in (found.entry, found.hash, found.digest))
            ):
                raise TypeError
            return found
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise InvalidParameter("receipt", expected="a file written by Receipt.save", found=str(path)) from None


def _pairs(stored: object) -> tuple[tuple[str, str], ...]:
    """Pairs of texts as JSON keeps them."""
    if not isinstance(stored, list):
        raise TypeError
    pairs = tuple((a, b) for a, b in stored)
    if not all(isinstance(text, str) for pair in pairs for text in pair):
        raise TypeError
    return pairs


def _check_kinds(found: object, *, optional: tuple[str, ...], others: tuple[str, ...]) -> None:
    """Raises TypeError where a field is no text: one of `optional` may be missing, `others` are not looked at."""
    for name, value in vars(found).items():
        if name not in others and not (isinstance(value, str) or (value is None and name in optional)):
            raise TypeError
