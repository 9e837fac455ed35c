"""Where the kept rows of tuned tables lie: a database file of the owner's, or Parquet files, beside the ledger.

Flow: `stored` says what is written and when it may be read; a store attaches, writes, and says when it changed.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import duckdb

from dither.engines.reading import parquet_reader, stat_version
from dither.engines.stopping import stoppable
from dither.errors import EngineUnavailable
from dither.sql.printing import quote_name, quote_text

__all__ = ["KeptDatabase", "KeptFiles", "KeptStore", "kept_name"]


def kept_name(table: str) -> str:
    """The stored table, as SQL names it."""
    return f"kept.{quote_name(table)}"


class KeptStore(Protocol):
    """Where stored tables are: files of the owner's, beside the ledger."""

    path: Path

    def attach(self, connection: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> dict[str, str]:
        """Make the stored tables readable by their `kept_name`; the stamp of each. Any doubt about a file means doing
        without it."""

    def files(self) -> list[str]:
        """Files that may be read once the connection is locked."""

    def version(self) -> str:
        """Changes whenever what is stored may have; until then, what was attached is what is read."""

    def put(self, connection: duckdb.DuckDBPyConnection, table: str, query: str, stamp: str) -> None:
        """Write one table. Raises duckdb.Error or OSError."""


class KeptDatabase:
    """Tables of a DuckDB file: as fast as the source's own, where the source is such a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def attach(self, connection: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> dict[str, str]:
        if not self.path.exists():
            return {}
        try:
            connection.execute(f"ATTACH {quote_text(str(self.path))} AS kept (READ_ONLY)")
            return dict(connection.execute("SELECT name, stamp FROM kept.stored").fetchall())
        except duckdb.Error:
            return {}

    def files(self) -> list[str]:
        return [str(self.path)] if self.path.exists() else []

    def version(self) -> str:
        # Nobody can write to it while it is attached.
        return ""

    def put(self, connection: duckdb.DuckDBPyConnection, table: str, query: str, stamp: str) -> None:
        connection.execute(f"ATTACH {quote_text(str(self.path))} AS kept")
        connection.execute("CREATE TABLE IF NOT EXISTS kept.stored (name VARCHAR PRIMARY KEY, stamp VARCHAR)")
        connection.execute("DELETE FROM kept.stored WHERE name = ?", [table])
        stoppable(connection, lambda: connection.execute(f"CREATE OR REPLACE TABLE {kept_name(table)} AS {query}"))
        # The row comes last: a half-written table has no stamp and is never used.
        connection.execute("INSERT INTO kept.stored VALUES (?, ?)", [table, stamp])
        connection.execute("DETACH kept")


class KeptFiles:
    """A Parquet file for each table, its stamp inside: read in passing, where DuckDB would keep a database's pages in
    memory (105 MB for 20 million rows, beside 85 MB in all); for sources that are such files too."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def attach(self, connection: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> dict[str, str]:
        connection.execute("CREATE SCHEMA kept")
        return {table: stamp for table in tables if (stamp := self._attached(connection, table)) is not None}

    def _attached(self, connection: duckdb.DuckDBPyConnection, table: str) -> str | None:
        file = self._file(table)
        if not file.exists():
            return None
        try:
            connection.execute(f"CREATE VIEW {kept_name(table)} AS SELECT * FROM {parquet_reader([str(file)])}")
            found = connection.execute(
                f"SELECT decode(value) FROM parquet_kv_metadata({quote_text(str(file))}) WHERE decode(key) = 'stamp'"
            ).fetchone()
        except (duckdb.Error, EngineUnavailable):
            return None
        return None if found is None else str(found[0])

    def files(self) -> list[str]:
        return [str(file) for file in self.path.parent.glob(f"{glob.escape(self.path.stem)}.*.parquet")]

    def version(self) -> str:
        # Another session may tune at any time: rows cut for its number of rows per unit are not this one's.
        return stat_version([Path(file) for file in sorted(self.files())])

    def put(self, connection: duckdb.DuckDBPyConnection, table: str, query: str, stamp: str) -> None:
        file = self._file(table)
        half = file.with_suffix(".half")
        options = f"FORMAT parquet, COMPRESSION lz4_raw, KV_METADATA {{stamp: {quote_text(stamp)}}}"
        try:
            text = f"COPY ({query}) TO {quote_text(str(half))} ({options})"
            stoppable(connection, lambda: connection.execute(text))
            os.replace(half, file)
        finally:
            half.unlink(missing_ok=True)

    def _file(self, table: str) -> Path:
        # Any text may be a table's name, and few are a file's.
        return self.path.with_name(f"{self.path.stem}.{hashlib.sha256(table.encode()).hexdigest()[:12]}.parquet")
