"""A DuckDB database file as a source: attached read-only, its tables and views mounted.

Flow: `opening` makes one of a file whose name says so. Relies on `views` for views that compute.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb

from dither.catalog.model import Table, fold
from dither.engines.emission import Extent
from dither.engines.reading import identity_of, stat_version
from dither.engines.sources.base import Enforced, columns_read, view_name
from dither.engines.sources.table_facts import enforced_by_duckdb, extent_in_duckdb
from dither.engines.sources.views import attach_evaluated, is_plain
from dither.errors import EngineMismatch
from dither.sql.printing import quote_name, quote_text

__all__ = ["DatabaseFile"]


class DatabaseFile:
    """A DuckDB file, attached read-only: nothing can write to it while it is attached."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.shown = path.name
        self._attached: tuple[int, ...] | None = None
        """Which file it was: nothing can change it while it is attached, but another may be put in its place."""

    def mount(self, connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table]) -> None:
        self._attached = identity_of(self.path)
        connection.execute(f"ATTACH {quote_text(str(self.path))} AS source (READ_ONLY)")
        for key, table in tables.items():
            found = _find_table(connection, table.source_name or table.name)
            if found is None:
                continue
            schema, name, is_view = found
            place = _place(found)
            if is_view and not is_plain(connection, schema, name):
                read, evaluated = columns_read(table, tables), f"view {key}"
                names = [str(row[0]) for row in connection.execute(f"DESCRIBE {place}").fetchall()]
                wanted = [each for each in names if read is None or fold(each) in read]
                attach_evaluated(connection, self.path, place, wanted, shown=table.name, name=evaluated)
                place = f"{quote_name(evaluated)}.rows"
            connection.execute(f"CREATE VIEW {quote_name(view_name(key))} AS SELECT * FROM {place}")

    def files(self) -> list[str]:
        return [str(self.path), f"{self.path}.wal"]

    def version(self) -> str:
        if self._attached is not None and identity_of(self.path) != self._attached:
            # What is attached goes on to answer from the old file, or (where it was written over) from parts of both.
            raise EngineMismatch(
                f"The database `{self.shown}` was replaced by another file, or removed.",
                hint="Open the data set again.",
            )
        return stat_version([self.path, Path(f"{self.path}.wal")])

    def enforced(self, cursor: duckdb.DuckDBPyConnection, table: Table) -> Enforced:
        name = table.source_name or table.name
        schema, _, bare = name.rpartition(".")
        return enforced_by_duckdb(cursor, "source", schema or "main", bare)

    def extent(self, cursor: duckdb.DuckDBPyConnection, key: str, table: Table) -> Extent | None:
        # A view may be any query: even its number of rows may take reading them all.
        found = _find_table(cursor, table.source_name or table.name, views=False)
        return None if found is None else extent_in_duckdb(cursor, _place(found))

    def close(self) -> None:
        """Nothing beyond the connection is held."""


def _place(found: tuple[str, str, bool]) -> str:
    return f"source.{quote_name(found[0])}.{quote_name(found[1])}"


def _find_table(
    connection: duckdb.DuckDBPyConnection, name: str, *, views: bool = True
) -> tuple[str, str, bool] | None:
    """Schema and name as the database spells them, and whether it is a view."""
    schema, _, bare = name.rpartition(".")
    rows = connection.execute(
        """SELECT schema_name, name, is_view FROM (
             SELECT schema_name, table_name AS name, FALSE AS is_view FROM duckdb_tables()
             WHERE database_name = 'source'
             UNION ALL
             SELECT schema_name, view_name, TRUE FROM duckdb_views()
             WHERE database_name = 'source' AND NOT internal AND ?)
           WHERE lower(name) = ? AND lower(schema_name) = ?""",
        [views, bare.lower(), (schema or "main").lower()],
    ).fetchall()
    return (str(rows[0][0]), str(rows[0][1]), bool(rows[0][2])) if rows else None
