"""What a frame has to be, to be copied: columns by names that differ, values that DuckDB can hold.

Flow: `sources.Frame` asks before and after it copies one. What is wrong is said by column, never by value.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb

from dither.catalog.model import fold
from dither.errors import EngineMismatch
from dither.sql.printing import quote_name

__all__ = ["named_once", "unread_column"]


def named_once(frame: Any) -> None:
    """DuckDB renames the second of `Age` and `age`, and would answer for the one by the other.
    Raises EngineMismatch."""
    schema = getattr(frame, "schema", None)
    named = next((n for n in (getattr(frame, "columns", None), getattr(schema, "names", None)) if n is not None), ())
    # Of an Arrow table `columns` are the columns themselves.
    names = [str(name) for name in (getattr(frame, "column_names", None) or named)]
    count = Counter(map(fold, names))
    twice = [name for name in names if count[fold(name)] > 1]
    if twice:
        shown = ", ".join(f"`{name[:60]}`" for name in twice[:4])
        raise EngineMismatch(
            f"The frame has several columns that differ at most in upper and lower case: {shown}.",
            hint="Rename them.",
        )


def unread_column(connection: duckdb.DuckDBPyConnection) -> str:
    """For a message: which column of the registered frame raises, where one by itself does; else nothing."""
    try:
        names = [str(row[0]) for row in connection.execute("DESCRIBE frame").fetchall()]
    except duckdb.Error:
        return ""
    for name in names:
        try:
            connection.execute(f"CREATE OR REPLACE TEMP TABLE unread AS SELECT {quote_name(name)} FROM frame")
        except duckdb.Error:
            return f": its column `{name[:60]}` is the reason"
    return ""
