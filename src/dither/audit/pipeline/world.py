"""Invented databases under the real path: the production engine, session and ledger over tables the audit fills.

Flow: every check opens Worlds, loads one of two neighbouring databases, and asks. `Watched` stands between session and
engine, where the true integers pass: that is the seam through which an audit sees the pipeline without its noise.
Opening secrets is right here because every row is the audit's own invention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from dither.answer.complete import complete
from dither.catalog.model import Analyst, Catalog, ColumnType, ColumnUnit, ReferenceUnit, Table, fold
from dither.catalog.schema import SchemaTable
from dither.engines.base import Histogram, MeasuredTable
from dither.engines.duckdb import DuckDBEngine
from dither.engines.emission import Extent
from dither.engines.sources import Enforced, extent_in_duckdb, view_name
from dither.ledger.ledger import Ledger
from dither.noise import Entropy
from dither.plan import nodes
from dither.secret import Secret, open_secret
from dither.session.session import Session
from dither.sql.embedded import Columns
from dither.sql.printing import quote_name

__all__ = ["DEFAULT_TAU", "Cells", "Rows", "Tables", "Watched", "World", "column_names", "kind_of"]

Rows = Sequence[tuple[Any, ...]]
Tables = Mapping[str, Rows]
"""Folded table name -> its rows, columns in the order of `column_names`."""
Cells = dict[tuple[Any, ...], int]
"""One vector: group (and, of a histogram, cell) -> integer."""

DEFAULT_TAU = 5
"""Rows kept per unit where the catalog leaves it to `dither tune`."""

_TYPES = {
    "integer": "BIGINT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "text": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}


def column_names(catalog: Catalog, table: Table) -> list[str]:
    """Columns of an invented table: the unit's or the reference's first, then those declared, and keys referred to."""
    names: dict[str, None] = {}
    if isinstance(table.unit, ColumnUnit | ReferenceUnit):
        names[fold(table.unit.column)] = None
    names |= dict.fromkeys(fold(column.name) for column in table.columns.values())
    for other in catalog.tables.values():
        if isinstance(other.unit, ReferenceUnit) and fold(other.unit.table) == fold(table.name):
            names[fold(other.unit.key)] = None
    return list(names)


class _Invented:
    """A source whose tables live in the engine, typed as the catalog declares or as `ddl` says."""

    def __init__(self, catalog: Catalog, ddl: Mapping[str, str]) -> None:
        self.shown = "invented rows"
        self._catalog = catalog
        self._ddl = ddl
        self.connection: duckdb.DuckDBPyConnection | None = None
        self.rows: dict[str, Rows] = {}
        self.state = 0
        """Counts what was loaded: the physical version."""

    def mount(self, connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table]) -> None:
        # Tables of a dozen rows: a second thread costs more than it gives.
        connection.execute("SET threads=1")
        for key, table in tables.items():
            columns = self._ddl.get(key) or ", ".join(
                f"{quote_name(name)} {_type(self._catalog, table, name)}" for name in column_names(self._catalog, table)
            )
            connection.execute(f"CREATE TABLE {quote_name(view_name(key))} ({columns or 'nothing BIGINT'})")
        self.connection = connection
        # Storing the rows of heavy units opens the database anew.
        for key, rows in self.rows.items():
            self.insert(key, rows)

    def insert(self, table: str, rows: Rows) -> None:
        for start in range(0, len(rows), 200):
            part = rows[start : start + 200]
            marks = ", ".join(f"({', '.join('?' for _ in row)})" for row in part)
            values = [value for row in part for value in row]
            self.run(f"INSERT INTO {quote_name(view_name(table))} VALUES {marks}", values)

    def run(self, sql: str, values: Sequence[Any] = ()) -> None:
        assert self.connection is not None
        with self.connection.cursor() as cursor:
            cursor.execute(sql, list(values))

    def files(self) -> list[str]:
        return []

    def version(self) -> str:
        return f"invented {self.state}"

    def enforced(self, cursor: duckdb.DuckDBPyConnection, table: Table) -> Enforced:
        return Enforced()

    def extent(self, cursor: duckdb.DuckDBPyConnection, key: str, table: Table) -> Extent | None:
        return extent_in_duckdb(cursor, quote_name(view_name(key)))

    def close(self) -> None:
        """Nothing is held."""


class Watched:
    """The engine, with everything that is measured kept for the audit to read the same on another database."""

    def __init__(self, inner: DuckDBEngine) -> None:
        self.inner = inner
        self.asked: list[list[nodes.Measure]] = []
        """The measures of each reading, as the session asked for them."""
        self.before_reading: Callable[[], None] = lambda: None

    def schema(self) -> Sequence[SchemaTable]:
        return self.inner.schema()

    def read_public(self, node: nodes.Rows, select: str, suffix: str = "") -> Columns:
        return self.inner.read_public(node, select, suffix)

    def refresh(self) -> bool:
        return self.inner.refresh()

    def prepare(self, measures: Sequence[nodes.Measure]) -> None:
        self.inner.prepare(measures)

    def measure(self, measures: Sequence[nodes.Measure]) -> Secret[list[MeasuredTable]]:
        self.before_reading()
        self.asked.append(list(measures))
        return self.inner.measure(measures)

    def rows_per_unit(self, table: str, levels: Sequence[int]) -> Secret[Any]:
        self.before_reading()
        return self.inner.rows_per_unit(table, levels)

    def values_per_level(self, table: str, column: str, tau: int) -> Secret[Any]:
        self.before_reading()
        return self.inner.values_per_level(table, column, tau)

    def one_row_each(self, table: str, columns: Sequence[str]) -> Secret[Columns]:
        return self.inner.one_row_each(table, columns)

    def store_kept(self, table: str, tau: int) -> None:
        self.inner.store_kept(table, tau)

    def close(self) -> None:
        self.inner.close()


class World:
    """A catalog over invented tables, and the session that asks. `ledger`: '' in memory, or a file.
    stored: where rows of heavy units are kept at every `load`, as `dither tune` keeps them; None: nowhere.
    choosing: questions choose the rows kept per unit themselves where the catalog does not say."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        ddl: Mapping[str, str] | None = None,
        entropy: Entropy | None = None,
        ledger: str = "",
        analyst: str | None = None,
        stored: Path | None = None,
        choosing: bool = False,
    ) -> None:
        self.catalog = catalog
        self.source = _Invented(catalog, ddl or {})
        self._stored = stored
        self.watched = Watched(DuckDBEngine(catalog, self.source, kept_path=stored))
        self.ledger = Ledger.open(
            ledger,
            dataset=catalog.name,
            promise_digest=catalog.promise_digest(),
            budget=catalog.budget,
            analysts=catalog.analysts,
        )
        self.taus = {
            key: table.max_rows_per_unit or DEFAULT_TAU
            for key, table in catalog.tables.items()
            if not table.is_public and (table.max_rows_per_unit or not choosing)
        }
        self._entropy = entropy
        self.session = self.session_of(analyst or next(iter(catalog.analysts), "owner"))

    def session_of(self, analyst: Analyst | str) -> Session:
        """A session of another analyst on the same ledger and data."""
        name = analyst if isinstance(analyst, str) else analyst.name
        return Session(self.catalog, self.watched, self.ledger, analyst=name, taus=self.taus, entropy=self._entropy)

    def load(self, tables: Tables, *, store: bool = True) -> None:
        """Make these the rows of the named tables, whatever was there. store: keep rows of heavy units anew, if they
        are kept at all; else those of the state before lie there, and must not be used."""
        for table, rows in tables.items():
            self.source.rows[table] = rows
            self.source.run(f"DELETE FROM {quote_name(view_name(table))}")
            self.source.insert(table, rows)
        self._moved()
        if self._stored is not None and store:
            for table, tau in self.taus.items():
                self.watched.store_kept(table, tau)

    def fill(self, table: str, select: str) -> None:
        """Add the rows of a SELECT of the audit's own, for thousands of them."""
        self.source.run(f"INSERT INTO {quote_name(view_name(table))} {select}")
        self._moved()

    def _moved(self) -> None:
        """The rows are others: what the engine knew of them is no longer true."""
        self.source.state += 1
        self.watched.refresh()

    def read(self, measures: Sequence[nodes.Measure]) -> list[list[Cells]]:
        """What these measures read now, opened: per measure and vector, over all its groups."""
        tables = open_secret(self.watched.inner.measure(measures))
        return [_cells(measure, table) for measure, table in zip(measures, tables, strict=True)]

    def close(self) -> None:
        self.session.close()

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _cells(measure: nodes.Measure, table: MeasuredTable) -> list[Cells]:
    names = [key.id for key in measure.keys]
    if measure.domain is None:
        groups = _groups((table.keys[name] for name in names), len(table.vectors[0]) if table.vectors else 0)
        vectors = table.vectors
    else:
        groups = _groups((measure.domain.columns[name] for name in names), measure.domain.size)
        vectors = complete(table, measure.domain)
    # By position too: two groups that print alike would otherwise hide each other.
    found: list[Cells] = []
    for position, vector in enumerate(vectors):
        if position in table.histograms:
            found.append(_histogram(names, table.histograms[position]))
        elif measure.domain is None:
            found.append(dict(zip(groups, vector.tolist(), strict=True)))
        else:
            found.append(
                {(*group, i): int(n) for i, (group, n) in enumerate(zip(groups, vector.tolist(), strict=True))}
            )
    return found


def _histogram(names: Sequence[str], histogram: Histogram) -> Cells:
    groups = _groups((histogram.keys[name] for name in names), len(histogram.cells))
    cells = histogram.cells.tolist()
    counts = histogram.counts.tolist()
    return {(*group, cell): int(n) for group, cell, n in zip(groups, cells, counts, strict=True)}


def _groups(columns: Iterable[Any], size: int) -> list[tuple[Any, ...]]:
    listed = [np.ma.asarray(column).tolist() for column in columns]
    return list(zip(*listed, strict=True)) if listed else [()] * size


def kind_of(catalog: Catalog, table: Table, name: str) -> ColumnType:
    """The type of an invented column: as declared, or of the column at the other end of a reference; else integer."""
    column = table.column(name)
    if column is not None:
        return column.type
    if isinstance(table.unit, ReferenceUnit) and fold(table.unit.column) == name:
        return kind_of(catalog, catalog.tables[fold(table.unit.table)], fold(table.unit.key))
    for other in catalog.tables.values():
        ends = other.unit
        if isinstance(ends, ReferenceUnit) and (fold(ends.table), fold(ends.key)) == (fold(table.name), name):
            declared = other.column(ends.column)
            if declared is not None:
                return declared.type
    return "integer"


def _type(catalog: Catalog, table: Table, name: str) -> str:
    kind, column = kind_of(catalog, table, name), table.column(name)
    return f"DECIMAL(38, {(column and column.scale) or 2})" if kind == "decimal" else _TYPES[kind]
