"""Data sets in memory for tests: a catalog, tables made by plain DDL, and the session over them.

Flow: a test writes a `World` down, fills it, asks `world.session`; `world.load` changes rows under the same engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from dither.catalog.load import loads
from dither.catalog.model import Catalog, Table, fold
from dither.engines.duckdb import DuckDBEngine
from dither.engines.emission import Extent
from dither.engines.sources import Enforced, enforced_by_duckdb, extent_in_duckdb, view_name
from dither.ledger.ledger import Ledger
from dither.noise import Entropy
from dither.plan import nodes
from dither.plan.offer import Offer
from dither.plan.price import PricedPlan, distance_of, price_plan
from dither.secret import open_secret
from dither.session.session import Session

__all__ = ["MemoryTables", "World", "catalog_text", "insert", "new_ledger"]

Rows = Sequence[Sequence[Any]]


class MemoryTables:
    """A source whose tables live in the engine itself, with whatever types and collations the DDL says."""

    def __init__(self, ddl: Mapping[str, str]) -> None:
        self.shown = "memory"
        self._ddl = ddl
        self.rows: dict[str, Rows] = {}
        self.stamp = "memory"
        """The physical version it claims to have: tests change it when they change rows and mean to."""

    def mount(self, connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table]) -> None:
        # Tables of a dozen rows: a second thread costs more than it gives.
        connection.execute("SET threads=1")
        for key in tables:
            connection.execute(f'CREATE TABLE "{view_name(key)}" ({self._ddl[key]})')
            insert(connection, f'"{view_name(key)}"', self.rows.get(key, ()))

    def files(self) -> list[str]:
        return []

    def version(self) -> str:
        return self.stamp

    def enforced(self, cursor: duckdb.DuckDBPyConnection, table: Table) -> Enforced:
        return enforced_by_duckdb(cursor, "memory", "main", view_name(fold(table.name)))

    def extent(self, cursor: duckdb.DuckDBPyConnection, key: str, table: Table) -> Extent | None:
        return extent_in_duckdb(cursor, f'"{view_name(key)}"')

    def close(self) -> None:
        """Nothing is held."""


def new_ledger(catalog: Catalog) -> Ledger:
    """An empty ledger in memory."""
    return Ledger.open(
        "",
        dataset=catalog.name,
        promise_digest=catalog.promise_digest(),
        budget=catalog.budget,
        analysts=catalog.analysts,
    )


def insert(connection: duckdb.DuckDBPyConnection, table: str, rows: Rows) -> None:
    """Insert rows in one statement: a statement per row costs more than the questions asked of them."""
    for start in range(0, len(rows), 500):
        part = rows[start : start + 500]
        marks = ", ".join(f"({', '.join('?' for _ in row)})" for row in part)
        connection.execute(f"INSERT INTO {table} VALUES {marks}", [value for row in part for value in row])


class World:
    """A catalog over tables in memory. `ddl`: folded table name -> column definitions."""

    def __init__(
        self,
        catalog: str | Catalog,
        ddl: Mapping[str, str],
        *,
        entropy: Entropy | None = None,
        kept_path: Path | None = None,
    ) -> None:
        self.catalog = loads(catalog) if isinstance(catalog, str) else catalog
        self.ddl = dict(ddl)
        self._fills: list[tuple[str, str]] = []
        self.source = MemoryTables(ddl)
        self.engine = DuckDBEngine(self.catalog, self.source, kept_path=kept_path)
        self.ledger = new_ledger(self.catalog)
        taus = {k: t.max_rows_per_unit for k, t in self.catalog.tables.items() if t.max_rows_per_unit is not None}
        self.session = Session(self.catalog, self.engine, self.ledger, taus=taus, entropy=entropy)

    def load(self, table: str, rows: Rows) -> None:
        """Make these the rows of a table, whatever was there."""
        self.source.rows[table] = rows
        cursor = self.engine._connection.cursor()
        name = f'"{view_name(table)}"'
        cursor.execute(f"DELETE FROM {name}")
        insert(cursor, name, rows)
        cursor.close()
        self.engine._extents.clear()

    def fill(self, table: str, select: str) -> None:
        """Fill a table by SQL of the test's own, for tables of thousands of rows."""
        self._fills.append((table, select))
        self.engine._connection.cursor().execute(f'INSERT INTO "{view_name(table)}" {select}')
        self.engine._extents.clear()

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """SQL of the test's own on the same engine; tables go by the names of their views."""
        return self.engine._connection.cursor().execute(sql).fetchall()

    def plain(self) -> duckdb.DuckDBPyConnection:
        """An ordinary DuckDB with the same rows under the tables' own names."""
        connection = duckdb.connect(":memory:")
        connection.execute("SET TimeZone='UTC'")
        for key, columns in self.ddl.items():
            connection.execute(f'CREATE TABLE "{key}" ({columns})')
            insert(connection, f'"{key}"', self.source.rows.get(key, ()))
        for key, select in self._fills:
            connection.execute(f'INSERT INTO "{key}" {select}')
        return connection

    def priced_at(self, sql: str, **offer: Any) -> PricedPlan:
        """The plan under an offer (epsilon=..., rho=...)."""
        return price_plan(self.session.plan(sql), Offer.create(**offer), self.catalog, delta_per_question=self._delta())

    def priced(self, sql: str) -> PricedPlan:
        return self.priced_at(sql, epsilon=1)

    def _delta(self) -> Any:
        return self.ledger.budget.delta_selection / 1000

    def declared(self, measure: nodes.Measure) -> list[int]:
        """The L1 distance that is priced, vector by vector."""
        grouped = bool(measure.keys)
        return [
            distance_of(v, measure.tau, grouped=grouped, neighbours=self.catalog.neighbours) for v in measure.vectors
        ]

    def vectors(self, measure: nodes.Measure) -> list[dict[tuple[Any, ...], int]]:
        """What `measure` reads, opened: per vector, group -> integer, completed over the public groups."""
        from dither.answer.complete import complete

        (table,) = open_secret(self.engine.measure([measure]))
        if measure.domain is None:
            keys = list(zip(*(table.keys[k.id].tolist() for k in measure.keys), strict=True))
            return [dict(zip(keys, v.tolist(), strict=True)) for v in table.vectors]
        columns = [measure.domain.columns[k.id].tolist() for k in measure.keys]
        keys = list(zip(*columns, strict=True)) or [()]
        # By position too: two listed groups that print alike would otherwise hide each other.
        return [
            {(*key, i): int(n) for i, (key, n) in enumerate(zip(keys, vector.tolist(), strict=True))}
            for vector in complete(table, measure.domain)
        ]

    def close(self) -> None:
        self.session.close()


def catalog_text(
    tables: str, *, epsilon: str = "1e9", delta: str | None = None, dataset: str = "", unit: str = "person"
) -> str:
    """A catalog around the given [tables.*] sections, with a budget no test exhausts."""
    failure = f"delta = {delta}\n" if delta else ""
    return (
        f'[dataset]\nname = "world"\n{dataset}\n[source]\nurl = "memory.duckdb"\n[unit]\nname = "{unit}"\n'
        f"[budget]\nepsilon = {epsilon}\n{failure}\n{tables}"
    )
