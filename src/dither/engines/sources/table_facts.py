"""What DuckDB knows of a table of its own without reading its rows: constraints it keeps, statistics it has.

Flow: sources whose rows are in DuckDB's own tables answer `enforced` and `extent` by these.
"""

from __future__ import annotations

import math

import duckdb

from dither.catalog.model import fold
from dither.engines.emission import Extent
from dither.engines.sources.base import Enforced
from dither.sql.printing import quote_name

__all__ = ["enforced_by_duckdb", "extent_in_duckdb"]


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
