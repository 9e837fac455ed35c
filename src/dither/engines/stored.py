"""The kept rows of tuned tables, in a file of the owner's: what every question would cut, clamp and round, done once.

Flow: `dither tune` has the engine `write` them; an engine attaches what is stored when it opens and reads a stored
table instead of the source's for as long as the stamp says that it is what the source would give. Where they lie:
`kept_store`.
A stored table has the scan's columns c0, c1, ... as they are, the unit u, and for each bounded double its integer steps
s0, s1, ... on the grid of sums. Decision: docs/decisions/0013-kept-rows-are-stored.md
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import duckdb

from dither.catalog.model import Catalog
from dither.engines.emission import Emission
from dither.engines.emit import is_bounded_double, steps_sql
from dither.engines.kept_store import KeptDatabase, KeptFiles, KeptStore, kept_name
from dither.engines.relations import kept_relation_sql
from dither.engines.sources import Files, Source
from dither.engines.tables import salt_of
from dither.errors import EngineError
from dither.plan import nodes
from dither.plan.grids import grid_of
from dither.sql.expressions import Expr
from dither.sql.printing import quote_name

__all__ = ["StoredTables", "kept_query"]

_INT32 = 2**31
_FORMAT = 3
"""Of what is stored: to be raised when the grid of sums or the order of kept rows changes, lest old tables serve."""


class StoredTables:
    """What is stored of one catalog's tables, as it was when it was attached."""

    def __init__(self, catalog: Catalog, source: Source, path: Path) -> None:
        self._catalog = catalog
        self._source = source
        self._store: KeptStore = KeptFiles(path) if isinstance(source, Files) else KeptDatabase(path)
        self._stamps: dict[str, str] = {}
        self._attached = ""
        """The version of the store that was attached."""

    def attach(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._attached = self._store.version()
        self._stamps = self._store.attach(connection, self._catalog.tables)

    def files(self) -> list[str]:
        """Files that may be read once the connection is locked."""
        return self._store.files()

    def version(self) -> str:
        """Changes whenever what is stored may have."""
        return self._store.version()

    def find(self, scan: nodes.Scan) -> str | None:
        """The stored table of a scan's kept rows, where they are what the source would give now."""
        stamp = self._stamps.get(scan.table)
        if stamp is None or stamp != self._stamp(scan):
            return None
        return kept_name(scan.table) if self._store.version() == self._attached else None

    def write(self, connect: Callable[[], duckdb.DuckDBPyConnection], scan: nodes.Scan, query: str) -> None:
        """Write one table's kept rows into the owner's private files, which nobody else can read."""
        stamp = self._stamp(scan)
        self._store.path.parent.mkdir(parents=True, exist_ok=True)
        connection = connect()
        old = os.umask(0o077)
        try:
            self._store.put(connection, scan.table, query, stamp)
        except (duckdb.Error, OSError):
            raise EngineError(
                "The rows that count could not be stored.",
                hint="Another session may have the stored tables open, or the disk is full. "
                "Questions go on without them.",
            ) from None
        finally:
            os.umask(old)
            connection.close()

    def _stamp(self, scan: nodes.Scan) -> str:
        """A digest of all that the stored rows depend on."""
        table = self._catalog.tables[scan.table]
        declared = [(column.name, column.type, column.bounds, column.values) for column in table.columns.values()]
        names = [column.name for column in scan.columns]
        cut = (scan.table, names, scan.tau, scan.truncated, salt_of(self._catalog, scan.table))
        facts = (_FORMAT, self._source.version(), cut, declared)
        return hashlib.sha256(f"{facts!r}{self._catalog.promise_digest()}".encode()).hexdigest()


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
