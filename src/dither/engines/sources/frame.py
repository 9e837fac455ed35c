"""A pandas, Polars or Arrow table as a source: columns by names that differ, values that DuckDB can hold.

Flow: `opening` makes one of what `dither.open` is given. What is wrong with it is said by column, never by value.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping
from typing import Any

import duckdb

from dither.catalog.model import Table, fold
from dither.engines.emission import Extent
from dither.engines.sources.base import Enforced, view_name
from dither.engines.sources.table_facts import extent_in_duckdb
from dither.engines.stopping import stoppable
from dither.errors import EngineMismatch, EngineUnavailable
from dither.sql.printing import quote_name

__all__ = ["Frame"]


class Frame:
    """A pandas, Polars or Arrow table: copied once, so that what the caller does to it later changes no answer."""

    def __init__(self, frame: Any) -> None:
        self.shown = "frame"
        self._frame = frame
        # Two frames are never the same rows as far as anybody knows.
        self._version = f"frame {uuid.uuid4()}"

    def mount(self, connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table]) -> None:
        (key,) = tables
        _named_once(self._frame)
        try:
            connection.register("frame", self._frame)
            text = f"CREATE TABLE {quote_name(view_name(key))} AS SELECT * FROM frame"
            stoppable(connection, lambda: connection.execute(text))
        except duckdb.Error:
            raise EngineUnavailable(
                f"The frame cannot be read{_unread_column(connection)}.",
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


def _named_once(frame: Any) -> None:
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


def _unread_column(connection: duckdb.DuckDBPyConnection) -> str:
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
