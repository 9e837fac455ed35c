"""The kept rows of tuned tables, in a file of the owner's: what every question would cut, clamp and round, done once.

Flow: `dither tune` calls `write_kept`; an engine attaches the store when it opens and reads a stored table instead of
the source's for as long as the stamp says that it is what the source would give.
A stored table has the scan's columns c0, c1, ... as they are, the unit u, and for each bounded double its integer steps
s0, s1, ... on the grid of sums. Decision: docs/decisions/0013-kept-rows-are-stored.md
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import duckdb

from dither.catalog.model import Column, Table, fold
from dither.catalog.schema import SchemaTable
from dither.engines.emit import is_bounded_double, steps_sql
from dither.engines.reading import parquet_reader, stat_version
from dither.engines.relations import Emission, kept_relation_sql
from dither.engines.stopping import stoppable
from dither.errors import EngineError, EngineUnavailable
from dither.plan import nodes
from dither.plan.grids import grid_of
from dither.plan.reads import read_column
from dither.plan.separable import source_names
from dither.sql.expressions import Expr
from dither.sql.printing import quote_name, quote_text

__all__ = [
    "KeptDatabase", "KeptFiles", "KeptStore", "kept_name", "kept_query", "kept_stamp", "table_scan", "write_kept",
]  # fmt: skip

_INT32 = 2**31
_FORMAT = 3
"""Of what is stored: to be raised when the grid of sums or the order of kept rows changes, lest old tables serve."""


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


def kept_stamp(scan: nodes.Scan, table: Table, salt: int, source_version: str, promise: str) -> str:
    """A digest of all that the stored rows depend on."""
    declared = [(column.name, column.type, column.bounds, column.values) for column in table.columns.values()]
    cut = (scan.table, [column.name for column in scan.columns], scan.tau, scan.truncated, salt)
    facts = (_FORMAT, source_version, cut, declared)
    return hashlib.sha256(f"{facts!r}{promise}".encode()).hexdigest()


def write_kept(
    store: KeptStore, connect: Callable[[], duckdb.DuckDBPyConnection], scan: nodes.Scan, query: str, stamp: str
) -> None:
    """Write one table's kept rows into the owner's private files, which nobody else can read."""
    store.path.parent.mkdir(parents=True, exist_ok=True)
    connection = connect()
    old = os.umask(0o077)
    try:
        store.put(connection, scan.table, query, stamp)
    except (duckdb.Error, OSError):
        raise EngineError(
            "The rows that count could not be stored.",
            hint="Another session may have the stored tables open, or the disk is full. Questions go on without them.",
        ) from None
    finally:
        os.umask(old)
        connection.close()


def table_scan(table: Table, schema: SchemaTable, tau: int, *, truncated: bool) -> tuple[nodes.Scan, dict[str, Expr]]:
    """The scan of a table as lowering would make it, and its columns as questions read them."""
    columns = tuple(nodes.ScanColumn(f"s0_{i}", name) for i, name in enumerate(source_names(table, schema)))
    read = {}
    for entry in columns:
        found = schema.column(entry.name)
        assert found is not None
        declared = table.column(entry.name) or Column(entry.name, "text")
        read[entry.id] = read_column(declared, found.engine_type, entry.id)
    return nodes.Scan(fold(table.name), columns, "s0_unit", tau, truncated=truncated), read


def kept_query(scan: nodes.Scan, columns: Mapping[str, Expr], emission: Emission) -> str:
    """All rows that count of one table. columns: as questions read them, by their id."""
    wanted = frozenset({scan.unit, *(column.id for column in scan.columns)})
    rows = kept_relation_sql(scan, emission, wanted)
    stored = [f"{quote_name(column.id)} AS c{i}" for i, column in enumerate(scan.columns)]
    steps = [f"{sql} AS s{i}" for i, sql in _steps_of(scan, columns)]
    return f"SELECT {', '.join([*stored, f'{quote_name(scan.unit)} AS u', *steps])} FROM ({rows}) AS q"


def _steps_of(scan: nodes.Scan, columns: Mapping[str, Expr]) -> Iterator[tuple[int, str]]:
    for i, column in enumerate(scan.columns):
        expr = columns[column.id]
        if not is_bounded_double(expr):
            continue
        grid = grid_of(expr, centered=False)
        # Four bytes a row where they suffice: a scan's time is mostly the width of what it reads.
        narrow = grid.lo >= -_INT32 and grid.hi < _INT32
        yield i, f"CAST({steps_sql(expr, grid)} AS {'INTEGER' if narrow else 'BIGINT'})"
