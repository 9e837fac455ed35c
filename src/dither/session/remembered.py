"""What was chosen privately, kept beside the ledger: released numbers, no more secret than an answer.

Flow: opening a session reads them; `tune` and `decide` add to them. They hold for the promise they were made under.
What one analyst tuned stands apart, under their name: nobody else's answers rest on it.
Decision: docs/decisions/0030-what-an-analyst-tunes-is-theirs.md
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.catalog.model import Catalog
from dither.errors import CatalogError
from dither.plan.choices import LARGEST_CHOICE

if TYPE_CHECKING:
    from dither.session.session import Session

__all__ = ["Remembered", "recall", "remember_bounds", "remember_own_rows", "remember_rows"]


@dataclass(frozen=True)
class Remembered:
    taus: Mapping[str, int] = field(default_factory=dict)
    """Folded table name -> rows kept per unit."""
    bounds: Mapping[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    """(folded table, column) -> bounds."""
    own_taus: Mapping[str, int] = field(default_factory=dict)
    """Folded table name -> rows that the asking analyst tuned for themselves."""


def recall(catalog: Catalog, where: str, analyst: str | None = None) -> Remembered:
    """What was chosen for the data set whose ledger is at `where`, and what this analyst chose for themselves."""
    path = _path(where)
    stored = {} if path is None else _stored(path, catalog.promise_digest())
    own = {} if analyst is None else stored.get("analysts", {}).get(analyst, {})
    taus, own_taus = (
        {table: entry["max_rows"] for table, entry in tables.items() if table in catalog.tables}
        for tables in (stored.get("tables", {}), own)
    )
    bounds = {
        (table, column): (float(ends[0]), float(ends[1]))
        for table, columns in stored.get("columns", {}).items()
        if table in catalog.tables
        for column, ends in columns.items()
    }
    return Remembered(taus, bounds, own_taus)


def remember_rows(session: Session, table: str, max_rows: int, share_kept: float | None) -> None:
    """Rows kept per unit of a table, and about which share of all rows that is: for everybody."""
    session.taus[table] = max_rows
    _add(session, ["tables"], table, {"max_rows": max_rows, "share_kept": share_kept})


def remember_own_rows(session: Session, table: str, max_rows: int, share_kept: float | None) -> None:
    """The same, for this session's analyst alone."""
    session.taus[table] = session.own_taus[table] = max_rows
    _add(session, ["analysts", session.analyst], table, {"max_rows": max_rows, "share_kept": share_kept})


def remember_bounds(session: Session, place: tuple[str, str], bounds: tuple[float, float]) -> None:
    """Bounds of a column, by folded table and column."""
    table, _ = place
    session.bounds[place] = bounds
    known = {name: list(ends) for (other, name), ends in session.bounds.items() if other == table}
    _add(session, ["columns"], table, known)


def _add(session: Session, sections: Sequence[str], key: str, value: Any) -> None:
    """Under the innermost of the sections, made where they are missing."""
    path = _path(session.ledger_location)
    if path is None:
        return
    promise = session.catalog.promise_digest()
    stored = _stored(path, promise) or {"promise": promise, "tables": {}}
    section = stored
    for name in sections:
        section = section.setdefault(name, {})
    section[key] = value
    fresh = path.with_suffix(f".{os.getpid()}.new")
    try:
        fresh.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise CatalogError(
            f"What was chosen privately cannot be kept: {error.strerror or 'no usable path'}.",
            file=str(path),
            hint="It was paid for and holds in this session. Make room, or the folder writable, before the next one.",
        ) from None


def _stored(path: Path, promise: str) -> dict[str, Any]:
    """What the file says under this promise; nothing where there is none, or it is of another promise.
    Raises CatalogError for whatever could not have been chosen: an answer would rest on it without a word."""
    try:
        if not path.exists():
            return {}
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["promise"] != promise:
            return {}
        of_rows = [stored["tables"], *stored.get("analysts", {}).values()]
        rows = [entry["max_rows"] for tables in of_rows for entry in tables.values()]
        ends = [pair for columns in stored.get("columns", {}).values() for pair in columns.values()]
        if all(map(_are_rows, rows)) and all(map(_are_bounds, ends)):
            return dict(stored)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise CatalogError(
        "The file of tuned tables cannot be read.",
        file=str(path),
        hint="Put it back from a backup, or remove it and run `dither tune` again, which costs budget.",
    )


def _are_rows(found: object) -> bool:
    return type(found) is int and 1 <= found <= LARGEST_CHOICE


def _are_bounds(found: object) -> bool:
    if not (isinstance(found, list) and len(found) == 2 and all(type(end) in (int, float) for end in found)):
        return False
    return math.isfinite(found[0]) and math.isfinite(found[1]) and found[0] < found[1]


def _path(where: str) -> Path | None:
    """Beside a ledger file; nowhere for a ledger in memory or in a server."""
    return None if not where or "://" in where else Path(where).with_suffix(".tuned.json")
