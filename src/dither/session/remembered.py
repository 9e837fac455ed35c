"""What was chosen privately, kept beside the ledger: released numbers, no more secret than an answer.

Flow: opening a session reads them; `tune` and `decide` add to them. They hold for the promise they were made under.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.catalog.model import Catalog
from dither.errors import CatalogError

if TYPE_CHECKING:
    from dither.session.session import Session

__all__ = ["Remembered", "recall", "remember_bounds", "remember_rows"]


@dataclass(frozen=True)
class Remembered:
    taus: Mapping[str, int] = field(default_factory=dict)
    """Folded table name -> rows kept per unit."""
    bounds: Mapping[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    """(folded table, column) -> bounds."""


def recall(catalog: Catalog, where: str) -> Remembered:
    """What was chosen for the data set whose ledger is at `where`."""
    path = _path(where)
    if path is None or not path.exists():
        return Remembered()
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["promise"] != catalog.promise_digest():
            return Remembered()
        taus = {str(t): int(entry["max_rows"]) for t, entry in stored["tables"].items() if t in catalog.tables}
        bounds = {
            (str(table), str(column)): (float(ends[0]), float(ends[1]))
            for table, columns in stored.get("columns", {}).items()
            if table in catalog.tables
            for column, ends in columns.items()
        }
        return Remembered(taus, bounds)
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        raise CatalogError(
            "The file of tuned tables cannot be read.", file=str(path), hint="Run `dither tune` again."
        ) from None


def remember_rows(session: Session, table: str, max_rows: int, share_kept: float | None) -> None:
    """Rows kept per unit of a table, and about which share of all rows that is."""
    session.taus[table] = max_rows
    _add(session, "tables", table, {"max_rows": max_rows, "share_kept": share_kept})


def remember_bounds(session: Session, place: tuple[str, str], bounds: tuple[float, float]) -> None:
    """Bounds of a column, by folded table and column."""
    table, _ = place
    session.bounds[place] = bounds
    known = {name: list(ends) for (other, name), ends in session.bounds.items() if other == table}
    _add(session, "columns", table, known)


def _add(session: Session, section: str, key: str, value: Any) -> None:
    path = _path(session.ledger_location)
    if path is None:
        return
    stored: dict[str, Any] = {"promise": session.catalog.promise_digest(), "tables": {}}
    if path.exists():
        old = json.loads(path.read_text(encoding="utf-8"))
        if old.get("promise") == stored["promise"]:
            stored = old
    stored.setdefault(section, {})[key] = value
    fresh = path.with_suffix(f".{os.getpid()}.new")
    fresh.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    fresh.replace(path)


def _path(where: str) -> Path | None:
    """Beside a ledger file; nowhere for a ledger in memory or in a server."""
    return None if not where or "://" in where else Path(where).with_suffix(".tuned.json")
