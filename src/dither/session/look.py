"""Look at the data once, for the owner: the least and greatest value of each column, to propose bounds from.

Flow: `dither init --look`; the draft rounds them coarsely and marks them `looked`, and while the mark stands no
question is answered. This reads protected rows without noise, which only the owner may do.
"""

from __future__ import annotations

import datetime as dt
import glob
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from dither.catalog.draft import Proposals
from dither.catalog.schema import SchemaTable, column_type
from dither.engines.describing import DATABASE_SUFFIXES
from dither.engines.reading import fresh_connection, parquet_reader
from dither.engines.stopping import stoppable
from dither.errors import EngineError
from dither.sql.printing import quote_name, quote_text

__all__ = ["look_at"]

_LOOKED_AT = ("integer", "double", "decimal", "date", "timestamp")


def look_at(location: str, tables: Sequence[SchemaTable]) -> Proposals:
    """By (table, column), the ends of what is there; columns without a finite value, and text files, are left out.
    tables: as `engines.describing.describe` gives them for this location."""
    path = Path(location)
    found: dict[tuple[str, str], tuple[Any, Any]] = {}
    try:
        with fresh_connection() as connection:
            in_database = path.is_file() and path.suffix.lower() in DATABASE_SUFFIXES
            if in_database:
                connection.execute(f"ATTACH {quote_text(str(path))} AS source (READ_ONLY)")
            for table in tables:
                if table.typed:
                    origin = f"source.{quote_name(table.name)}" if in_database else _file_of(path, location, table)
                    found |= _ends(connection, table, origin)
    except duckdb.Error:
        raise EngineError(
            "The data could not be read to propose bounds.", hint="Run `dither init` without --look."
        ) from None
    return found


def _file_of(path: Path, location: str, table: SchemaTable) -> str:
    places = [path] if path.is_file() else [*path.iterdir()] if path.is_dir() else map(Path, glob.glob(location))
    file = min(place for place in places if place.stem == table.name and place.suffix.lower() == ".parquet")
    return parquet_reader([str(file)])


def _ends(
    connection: duckdb.DuckDBPyConnection, table: SchemaTable, origin: str
) -> dict[tuple[str, str], tuple[Any, Any]]:
    columns = [column for column in table.columns if column_type(column.engine_type) in _LOOKED_AT]
    if not columns:
        return {}
    # What is infinite, NaN or beyond the years that a catalog can write tells of no bound.
    chosen = [
        f"{function}({quote_name(column.name)}) {_finite(column.engine_type, column.name)}"
        for column in columns
        for function in ("min", "max")
    ]
    text = f"SELECT {', '.join(chosen)} FROM {origin}"
    row = stoppable(connection, lambda: connection.execute(text).fetchone()) or ()
    ends = zip(row[::2], row[1::2], strict=True)
    return {
        (table.name, column.name): (low, high)
        for column, (low, high) in zip(columns, ends, strict=True)
        if _usable(low) and _usable(high)
    }


def _finite(engine_type: str, name: str) -> str:
    column = quote_name(name)
    match column_type(engine_type):
        case "date" | "timestamp" if not engine_type.endswith("_NS"):
            first, last = (quote_text(day) for day in ("0001-01-01", "9999-12-31"))
            return f"FILTER (WHERE {column} BETWEEN CAST({first} AS {engine_type}) AND CAST({last} AS {engine_type}))"
        # Nanoseconds reach from 1677 to 2262.
        case "double" | "timestamp":
            return f"FILTER (WHERE isfinite({column}))"
    return ""


def _usable(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is not None and not isinstance(value, dt.time)
