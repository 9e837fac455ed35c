"""Invented rows as a source: typed as the catalog declares, written into tables of the engine's own.

Flow: `session.invented` makes the rows, for `dither try`. Nobody is in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import duckdb

from dither.catalog.model import Table
from dither.engines.emission import Extent
from dither.engines.sources.base import Enforced, view_name
from dither.engines.sources.table_facts import extent_in_duckdb
from dither.sql.printing import quote_name

__all__ = ["Inventions"]


class Inventions:
    """Invented rows, typed as the catalog declares."""

    _TYPES: ClassVar[dict[str, str]] = {
        "integer": "BIGINT", "double": "DOUBLE", "boolean": "BOOLEAN", "text": "VARCHAR", "date": "DATE",
        "timestamp": "TIMESTAMP",
    }  # fmt: skip

    def __init__(self, tables: Mapping[str, list[dict[str, Any]]]) -> None:
        self.shown = "invented rows"
        self._tables = tables

    def mount(self, connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table]) -> None:
        for key, table in tables.items():
            rows = self._tables[key]
            names = list(rows[0]) if rows else [column.name for column in table.columns.values()]
            columns = ", ".join(f"{quote_name(name)} {self._type(table, name)}" for name in names)
            connection.execute(f"CREATE TABLE {quote_name(view_name(key))} ({columns or 'nothing BIGINT'})")
            if names:
                marks = ", ".join("?" for _ in names)
                values = [[row[name] for name in names] for row in rows]
                connection.executemany(f"INSERT INTO {quote_name(view_name(key))} VALUES ({marks})", values)

    def files(self) -> list[str]:
        return []

    def version(self) -> str:
        return "invented"

    def enforced(self, cursor: duckdb.DuckDBPyConnection, table: Table) -> Enforced:
        return Enforced()

    def extent(self, cursor: duckdb.DuckDBPyConnection, key: str, table: Table) -> Extent | None:
        return extent_in_duckdb(cursor, quote_name(view_name(key)))

    def close(self) -> None:
        """Nothing is held."""

    def _type(self, table: Table, name: str) -> str:
        column = table.column(name)
        if column is None:
            return "BIGINT"
        return f"DECIMAL(38, {column.scale or 2})" if column.type == "decimal" else self._TYPES[column.type]
