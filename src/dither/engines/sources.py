"""Where a DuckDB engine's rows are: a database file, Parquet or CSV files, or a frame in memory.

Flow: `open_source` picks one by what is at the location; the engine mounts it as views named by `view_name`.
A source knows its physical version, by which the engine notices that what it stored no longer fits.
"""

from __future__ import annotations

import glob
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import duckdb

from dither.catalog.model import Catalog, ColumnUnit, ReferenceUnit, Table, fold
from dither.catalog.schema import SchemaTable, column_type
from dither.engines import csv_copy
from dither.engines.describing import DATABASE_SUFFIXES, describe, names_in
from dither.engines.frames import named_once, unread_column
from dither.engines.parquet_files import FileColumn, check_ranges, columns_of
from dither.engines.reading import fresh_connection, identity_of, parquet_reader, stat_version
from dither.engines.relations import Extent
from dither.engines.stopping import stoppable
from dither.engines.views import attach_evaluated, is_plain
from dither.errors import EngineMismatch, EngineUnavailable
from dither.sql.printing import quote_name, quote_text

__all__ = [
    "Enforced",
    "Inventions",
    "Source",
    "describe",
    "enforced_by_duckdb",
    "extent_in_duckdb",
    "open_source",
    "view_name",
    "with_paths",
]


@dataclass(frozen=True)
class Enforced:
    """Folded names of columns the engine keeps to a rule, so that no row can break it."""

    unique: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    """Never NULL."""


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


def view_name(key: str) -> str:
    return f"table {key}"


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
                read, evaluated = _read_of(table, tables), f"view {key}"
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
            key: columns_of(connection, self._files[key], _read_of(table, self._tables))
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


class Frame:
    """A pandas, Polars or Arrow table: copied once, so that what the caller does to it later changes no answer."""

    def __init__(self, frame: Any) -> None:
        self.shown = "frame"
        self._frame = frame
        # Two frames are never the same rows as far as anybody knows.
        self._version = f"frame {uuid.uuid4()}"

    def mount(self, connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table]) -> None:
        (key,) = tables
        named_once(self._frame)
        try:
            connection.register("frame", self._frame)
            text = f"CREATE TABLE {quote_name(view_name(key))} AS SELECT * FROM frame"
            stoppable(connection, lambda: connection.execute(text))
        except duckdb.Error:
            raise EngineUnavailable(
                f"The frame cannot be read{unread_column(connection)}.",
                hint="A type in it is unknown to DuckDB, or a value is none of its type: a text that is no UTF-8, a "
                "moment out of range. Convert that column first.",
            ) from None
        connection.unregister("frame")

    def files(self) -> list[str]:
        return []

    def version(self) -> str:
        return self._version

    def enforced(self, cursor: duckdb.DuckDBPyConnection, table: Table) -> Enforced:
        return Enforced()

    def extent(self, cursor: duckdb.DuckDBPyConnection, key: str, table: Table) -> Extent | None:
        return extent_in_duckdb(cursor, quote_name(view_name(key)))

    def close(self) -> None:
        self._frame = None


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


def open_source(catalog: Catalog, location: str, *, frame: Any = None) -> Source:
    """The source at a location. Raises EngineUnavailable when nothing readable is there."""
    if frame is not None:
        return Frame(frame)
    path = Path(location)
    if path.is_file() and path.suffix.lower() in DATABASE_SUFFIXES:
        return DatabaseFile(path)
    files: dict[str, list[str]] = {}
    for key, table in catalog.tables.items():
        found = _files_of(path, location, table)
        files[key] = [
            csv_copy.parquet_of(Path(f), table, catalog.csv) if f.lower().endswith(".csv") else f for f in found
        ]
    missing = [catalog.tables[key].name for key, found in files.items() if not found]
    if missing:
        raise EngineUnavailable(
            f"There are no files for {', '.join(missing)} at `{location}`.",
            hint="A source is a DuckDB file, a Parquet or CSV file, a folder of them, or a glob.",
        )
    return Files(path.name or location, files)


def with_paths(catalog: Catalog, location: str, schema: Sequence[SchemaTable]) -> list[SchemaTable]:
    """The schema with what the names of folders say of each table's files, for whoever takes that for columns."""
    if not location or "://" in location:
        return list(schema)
    files = {
        table.source_name or table.name: _files_of(Path(location), location, table) for table in catalog.tables.values()
    }
    return [replace(table, in_paths=names_in(files.get(table.name, ()))) for table in schema]


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


def _read_of(table: Table, tables: Mapping[str, Table]) -> frozenset[str] | None:
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


def _files_of(path: Path, location: str, table: Table) -> list[str]:
    name = table.source_name or table.name
    if path.is_file():
        return [str(path)]
    if path.is_dir():
        if table.source_name is not None:
            return sorted(glob.glob(str(path / name)))
        exact = [p for suffix in (".parquet", ".csv") for p in path.glob(f"*{suffix}") if fold(p.stem) == fold(name)]
        parts = sorted(str(p) for p in (path / name).glob("*.parquet"))
        found = [p.name for p in exact] + ([f"{name}/"] if parts else [])
        if len(found) > 1:
            # Read together, a table that was exported twice would count everybody twice.
            raise EngineUnavailable(
                f"Several files could be the table `{table.name}`: {', '.join(sorted(found))}.",
                hint=f'Say which under [tables.{table.name}]: source = "{sorted(found)[0]}"; or remove the others.',
            )
        return [str(p) for p in exact] or parts
    return sorted(glob.glob(location))


def enforced_by_duckdb(cursor: duckdb.DuckDBPyConnection, database: str, schema: str, table: str) -> Enforced:
    """Constraints of a table of DuckDB's own; a view has none."""
    rows = cursor.execute(
        "SELECT constraint_type, constraint_column_names FROM duckdb_constraints() WHERE database_name = ? AND "
        "lower(schema_name) = ? AND lower(table_name) = ? AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'NOT NULL')",
        [database, schema.lower(), table.lower()],
    ).fetchall()
    unique = {fold(names[0]) for kind, names in rows if kind != "NOT NULL" and len(names) == 1}
    required = {fold(name) for kind, names in rows if kind != "UNIQUE" for name in names}
    return Enforced(frozenset(unique), frozenset(required))


def extent_in_duckdb(cursor: duckdb.DuckDBPyConnection, table: str) -> Extent:
    """By the statistics of one of DuckDB's own tables, which never say less than there is."""
    names = [row[0] for row in cursor.execute(f"DESCRIBE {table}").fetchall() if row[1].split("(")[0] in _NUMBERS]
    count = cursor.execute(f"SELECT count(*) FROM {table}").fetchone()
    assert count is not None
    ends: dict[str, tuple[float, float]] = {}
    statistics = ", ".join(["0", *(f"stats({quote_name(name)})" for name in names)])
    for row in cursor.execute(f"SELECT {statistics} FROM {table} LIMIT 1").fetchall():
        for name, known in zip(names, row[1:], strict=True):
            low, high = (float(known.get(end, "nan")) for end in ("min", "max"))
            if math.isfinite(low) and math.isfinite(high):
                ends[fold(name)] = (low, high)
    return Extent(int(count[0]), ends)


_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "FLOAT", "DOUBLE")


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
