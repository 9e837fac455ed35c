"""What lies at a place, before there is a catalog: tables with the names and types of their columns.

Flow: `dither init` drafts a catalog from it, `dither.open` makes one of a single file. Reads no row.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb

from dither.catalog.model import fold
from dither.catalog.schema import SchemaColumn, SchemaTable
from dither.engines import csv_copy
from dither.engines.reading import fresh_connection, parquet_reader
from dither.errors import EngineUnavailable, InvalidParameter
from dither.sql.printing import quote_name, quote_text

__all__ = ["DATABASE_SUFFIXES", "describe", "describe_frame", "names_in"]

DATABASE_SUFFIXES = (".duckdb", ".db", ".ddb")


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


def describe_frame(frame: Any) -> SchemaTable:
    """Names and types of a pandas, Polars or Arrow table's columns. Raises InvalidParameter for anything else."""
    connection = fresh_connection()
    try:
        connection.register("frame", frame)
        rows = connection.execute("DESCRIBE frame").fetchall()
    except (duckdb.Error, TypeError):
        raise InvalidParameter(
            "source",
            expected="a catalog file, a data file, or a pandas, Polars or Arrow table",
            found=type(frame).__name__,
        ) from None
    finally:
        connection.close()
    return SchemaTable("data", [SchemaColumn(str(r[0]), str(r[1])) for r in rows])


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
        return SchemaTable(path.stem, columns, typed=False, in_paths=names_in([str(path)]))
    rows = connection.execute(f"DESCRIBE SELECT * FROM {parquet_reader([str(path)])}").fetchall()
    columns = [SchemaColumn(str(r[0]), str(r[1])) for r in rows]
    return SchemaTable(path.stem, columns, in_paths=names_in([str(path)]))


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


def names_in(paths: Iterable[str]) -> frozenset[str]:
    """Folded names that folders of these paths give a value, as in `year=2024/part.parquet`."""
    folders = {part for path in paths for part in Path(path).parts[:-1]}
    return frozenset(fold(folder.partition("=")[0]) for folder in folders if "=" in folder.lstrip("="))
