"""Where a DuckDB engine's rows are: a database file, Parquet or CSV files, or a frame in memory.

Flow: `open_source` picks one by what is at the location; the engine mounts it as views named by `view_name`.
A source knows its physical version, by which the engine notices that what it stored no longer fits.
"""

from __future__ import annotations

import glob
import math
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import duckdb

from dither.catalog.model import Catalog, Table, fold
from dither.catalog.schema import SchemaColumn, SchemaTable
from dither.engines import csv_copy
from dither.engines.reading import fresh_connection, parquet_reader, stat_version
from dither.engines.relations import Extent
from dither.errors import EngineUnavailable
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

DATABASE_SUFFIXES = (".duckdb", ".db", ".ddb")


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
        """Changes whenever the stored rows may have."""

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

    def mount(self, connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table]) -> None:
        connection.execute(f"ATTACH {quote_text(str(self.path))} AS source (READ_ONLY)")
        for key, table in tables.items():
            found = _find_table(connection, table.source_name or table.name)
            if found is not None:
                connection.execute(f"CREATE VIEW {quote_name(view_name(key))} AS SELECT * FROM {found}")

    def files(self) -> list[str]:
        return [str(self.path), f"{self.path}.wal"]

    def version(self) -> str:
        return stat_version([self.path, Path(f"{self.path}.wal")])

    def enforced(self, cursor: duckdb.DuckDBPyConnection, table: Table) -> Enforced:
        name = table.source_name or table.name
        schema, _, bare = name.rpartition(".")
        return enforced_by_duckdb(cursor, "source", schema or "main", bare)

    def extent(self, cursor: duckdb.DuckDBPyConnection, key: str, table: Table) -> Extent | None:
        # A view may be any query: even its number of rows may take reading them all.
        found = _find_table(cursor, table.source_name or table.name, views=False)
        return None if found is None else extent_in_duckdb(cursor, found)

    def close(self) -> None:
        """Nothing beyond the connection is held."""


class Files:
    """Parquet files, one list per table."""

    def __init__(self, shown: str, files: Mapping[str, list[str]]) -> None:
        self.shown = shown
        self._files = files

    def mount(self, connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table]) -> None:
        for key, paths in self._files.items():
            connection.execute(f"CREATE VIEW {quote_name(view_name(key))} AS SELECT * FROM {parquet_reader(paths)}")

    def files(self) -> list[str]:
        return [path for paths in self._files.values() for path in paths]

    def version(self) -> str:
        return stat_version([Path(path) for path in self.files()])

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
        connection.register("frame", self._frame)
        connection.execute(f"CREATE TABLE {quote_name(view_name(key))} AS SELECT * FROM frame")
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
    return [replace(table, in_paths=_names_in(files.get(table.name, ()))) for table in schema]


def _names_in(paths: Iterable[str]) -> frozenset[str]:
    folders = {part for path in paths for part in Path(path).parts[:-1]}
    return frozenset(fold(folder.partition("=")[0]) for folder in folders if "=" in folder.lstrip("="))


def describe(location: str) -> list[SchemaTable]:
    """The tables that lie at a location, with their columns: what a catalog could be drafted from."""
    path = Path(location)
    connection = fresh_connection()
    try:
        if path.is_file() and path.suffix.lower() in DATABASE_SUFFIXES:
            return _describe_database(connection, path)
        return [_describe_file(connection, p) for p in _data_files(path, location)]
    except duckdb.Error:
        raise EngineUnavailable(
            f"`{path.name}` cannot be read.",
            hint="Another program may be writing to it, or it is not what its name says.",
        ) from None
    finally:
        connection.close()


def _describe_database(connection: duckdb.DuckDBPyConnection, path: Path) -> list[SchemaTable]:
    connection.execute(f"ATTACH {quote_text(str(path))} AS source (READ_ONLY)")
    tables = connection.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'source'").fetchall()
    result = []
    for (name,) in tables:
        rows = connection.execute(f"DESCRIBE source.{quote_name(name)}").fetchall()
        result.append(SchemaTable(name, [SchemaColumn(str(r[0]), str(r[1]), nullable=r[2] == "YES") for r in rows]))
    return result


def _describe_file(connection: duckdb.DuckDBPyConnection, path: Path) -> SchemaTable:
    if path.suffix.lower() == ".csv":
        columns = [SchemaColumn(name, "VARCHAR") for name in csv_copy.header_of(path, {})]
        return SchemaTable(path.stem, columns, typed=False, in_paths=_names_in([str(path)]))
    rows = connection.execute(f"DESCRIBE SELECT * FROM {parquet_reader([str(path)])}").fetchall()
    columns = [SchemaColumn(str(r[0]), str(r[1])) for r in rows]
    return SchemaTable(path.stem, columns, in_paths=_names_in([str(path)]))


def _data_files(path: Path, location: str) -> list[Path]:
    found = (
        [path]
        if path.is_file()
        else sorted(path.iterdir())
        if path.is_dir()
        else [Path(p) for p in sorted(glob.glob(location))]
    )
    files = [p for p in found if p.suffix.lower() in (".parquet", ".csv")]
    if not files:
        raise EngineUnavailable(
            f"There is nothing to read at `{location}`.",
            hint="A source is a DuckDB file, a Parquet or CSV file, a folder of them, or a glob.",
        )
    return files


def _files_of(path: Path, location: str, table: Table) -> list[str]:
    name = table.source_name or table.name
    if path.is_file():
        return [str(path)]
    if path.is_dir():
        if table.source_name is not None:
            return sorted(glob.glob(str(path / name)))
        exact = [p for suffix in (".parquet", ".csv") for p in path.glob(f"*{suffix}") if fold(p.stem) == fold(name)]
        return [str(p) for p in exact] or sorted(str(p) for p in (path / name).glob("*.parquet"))
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


def _find_table(connection: duckdb.DuckDBPyConnection, name: str, *, views: bool = True) -> str | None:
    schema, _, bare = name.rpartition(".")
    rows = connection.execute(
        """SELECT schema_name, name FROM (
             SELECT schema_name, table_name AS name FROM duckdb_tables() WHERE database_name = 'source'
             UNION ALL
             SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'source' AND NOT internal AND ?)
           WHERE lower(name) = ? AND lower(schema_name) = ?""",
        [views, bare.lower(), (schema or "main").lower()],
    ).fetchall()
    return f"source.{quote_name(rows[0][0])}.{quote_name(rows[0][1])}" if rows else None
