"""Parquet files as a source, read in place; CSV files are such files too once `csv_copy` has copied them.

Flow: `opening` finds the files of each table. Relies on `parquet_files` to look at them, when they are mounted and when
they changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from dither.catalog.model import ColumnUnit, Table, fold
from dither.catalog.schema import column_type
from dither.engines.emission import Extent
from dither.engines.reading import fresh_connection, parquet_reader, stat_version
from dither.engines.sources.base import Enforced, columns_read, view_name
from dither.engines.sources.parquet_files import FileColumn, check_ranges, columns_of
from dither.errors import EngineMismatch
from dither.sql.printing import quote_name

__all__ = ["Files"]


class Files:
    """Parquet files, one list per table."""

    def __init__(self, shown: str, files: Mapping[str, list[str]]) -> None:
        self.shown = shown
        self._files = files
        self._tables: Mapping[str, Table] = {}
        self._mounted: dict[str, tuple[FileColumn, ...]] = {}
        """The columns of each table, as its view was made of."""
        self._seen = ""
        """The version that was looked at last."""

    def mount(self, connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table]) -> None:
        self._tables, self._seen = tables, self._stat()
        self._mounted = self._columns(connection)
        for key, columns in self._mounted.items():
            check_ranges(connection, tables[key].name, self._files[key], columns)
            unread = ", ".join(quote_name(column.name) for column in columns if column.narrow and not column.read)
            chosen = f"* EXCLUDE ({unread})" if unread else "*"
            reader = parquet_reader(self._files[key], any_text=True, looked_at=_guarded(columns, tables[key]))
            connection.execute(f"CREATE VIEW {quote_name(view_name(key))} AS SELECT {chosen} FROM {reader}")

    def files(self) -> list[str]:
        return [path for paths in self._files.values() for path in paths]

    def version(self) -> str:
        now = self._stat()
        if self._mounted and now != self._seen:
            self._look_again()
            self._seen = now
        return now

    def _stat(self) -> str:
        return stat_version([Path(path) for path in self.files()])

    def _columns(self, connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[FileColumn, ...]]:
        return {
            key: columns_of(connection, self._files[key], columns_read(table, self._tables))
            for key, table in self._tables.items()
        }

    def _look_again(self) -> None:
        """Files were replaced: the plans of questions still speak of the columns that were mounted."""
        try:
            with fresh_connection() as connection:
                found = self._columns(connection)
        except duckdb.Error:
            # What cannot be read at all fails when it is read, with the engine's own text.
            return
        changed = [self._tables[key].name for key in found if _read(found[key]) != _read(self._mounted[key])]
        if changed:
            raise EngineMismatch(
                f"The files of {', '.join(changed)} were replaced by others with other columns.",
                hint="Open the data set again.",
            )

    def enforced(self, cursor: duckdb.DuckDBPyConnection, table: Table) -> Enforced:
        return Enforced()

    def extent(self, cursor: duckdb.DuckDBPyConnection, key: str, table: Table) -> Extent | None:
        # The number of rows is in the files' footers; what these say of values would have to be believed.
        row = cursor.execute(f"SELECT count(*) FROM {quote_name(view_name(key))}").fetchone()
        assert row is not None
        return Extent(int(row[0]), {})

    def close(self) -> None:
        """Nothing beyond the connection is held."""


def _guarded(columns: Sequence[FileColumn], table: Table) -> list[str]:
    """Names of the columns that questions read through guards. A unit's own column of whole numbers or texts tells
    units apart as it is stored: what the file says of it makes that two to three times as fast."""
    unit = fold(table.unit.column) if isinstance(table.unit, ColumnUnit) else None
    return [
        column.name
        for column in columns
        if column.read and not (fold(column.name) == unit and column_type(column.type) in ("integer", "text"))
    ]


def _read(columns: Sequence[FileColumn]) -> frozenset[FileColumn]:
    return frozenset(column for column in columns if column.read)
