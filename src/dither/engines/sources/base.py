"""What every source of rows does: say where they are, mount them as views, notice when they change.

Flow: the engine mounts a source once and asks the rest of it as long as it lives; the views are named by `view_name`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import duckdb

from dither.catalog.model import ColumnUnit, ReferenceUnit, Table, fold
from dither.engines.emission import Extent

__all__ = ["Enforced", "Source", "columns_read", "view_name"]


class Source(Protocol):
    shown: str
    """The location as messages show it."""

    def mount(self, connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table]) -> None:
        """Make one view per table."""

    def files(self) -> list[str]:
        """Files that may be read once the connection is locked."""

    def version(self) -> str:
        """Changes whenever the stored rows may have. Raises EngineMismatch where what is there now cannot be read as
        what was mounted."""

    def enforced(self, cursor: duckdb.DuckDBPyConnection, table: Table) -> Enforced:
        """What the engine itself enforces on the table's columns."""

    def extent(self, cursor: duckdb.DuckDBPyConnection, key: str, table: Table) -> Extent | None:
        """What is known of the table's rows without reading them; None where asking could read them."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class Enforced:
    """Folded names of columns the engine keeps to a rule, so that no row can break it."""

    unique: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    """Never NULL."""


def view_name(key: str) -> str:
    return f"table {key}"


def columns_read(table: Table, tables: Mapping[str, Table]) -> frozenset[str] | None:
    """Folded names of the columns that questions may read of a table; None: all there are."""
    if table.is_public and not table.columns:
        return None
    own = {fold(table.unit.column)} if isinstance(table.unit, ColumnUnit | ReferenceUnit) else set()
    keys = {
        fold(other.unit.key)
        for other in tables.values()
        if isinstance(other.unit, ReferenceUnit) and fold(other.unit.table) == fold(table.name)
    }
    return frozenset({*table.columns, *own, *keys})
