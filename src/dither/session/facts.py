"""What planning may know of the tables: schemas, public values and sizes, rows kept per unit. Cached per session.

Flow: lowering calls these through `PublicFacts` and `KeyLists`. They read public tables only; the engine checks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dither.catalog.model import Catalog, fold
from dither.catalog.schema import SchemaTable
from dither.engines.base import Engine
from dither.plan import nodes
from dither.plan.keys import KeyLists
from dither.plan.listing import PublicTables
from dither.plan.separable import Ids, PublicFacts, public_scan
from dither.sql.expressions import Expr
from dither.sql.functions.casts import is_wide
from dither.sql.printing import print_expr, quote_name
from dither.sql.types import Kind

__all__ = ["Facts"]


class Facts:
    def __init__(self, catalog: Catalog, engine: Engine, has_delta: Callable[[], bool]) -> None:
        """has_delta: of the ledger's budget."""
        self.catalog = catalog
        self.engine = engine
        self.schemas: Mapping[str, SchemaTable] = self._match(catalog, engine)
        self._cache: dict[Any, Any] = {}
        self._key_lists = KeyLists(catalog, PublicTables(self._size, self._distinct), has_delta)

    def refresh(self) -> None:
        """Forget what was read of public tables when the source has changed since."""
        if self.engine.refresh():
            self._cache.clear()

    def for_lowering(self) -> PublicFacts:
        return PublicFacts(self._count, self._fanout, self._rows)

    def key_lists(self) -> KeyLists:
        return self._key_lists

    def version_of(self, measure: nodes.Measure) -> str:
        """Digest of the contents of all public tables below a measure."""
        tables = sorted({n.table for n in nodes.walk_rows(measure.input) if isinstance(n, nodes.PublicScan)})
        return hashlib.sha256(repr([(t, self._contents(t)) for t in tables]).encode()).hexdigest() if tables else ""

    def public_rows(self, table: str, columns: Sequence[str]) -> Any:
        """All rows of a public table, some of its columns, by folded name: as questions read them."""
        relation = self._public(table)
        found = {fold(column.name): column.expr for column in relation.columns}
        selected = ", ".join(f"{print_expr(found[name])} AS {quote_name(name)}" for name in columns)
        return self._read(relation.node, f"SELECT {selected}")

    def public_columns(self, table: str) -> tuple[str, ...]:
        """Folded names of the columns of a public table that questions may read."""
        return tuple(fold(column.name) for column in self._public(table).columns)

    def _count(self, node: nodes.Rows) -> int:
        return int(self._read(node, "SELECT count(*) AS n")["n"][0])

    def _fanout(self, node: nodes.Rows, keys: tuple[Expr, ...]) -> int:
        names = ", ".join(print_expr(key) for key in keys)
        present = " AND ".join(f"{print_expr(key)} IS NOT NULL" for key in keys)
        counted = f"SELECT coalesce(max(n), 0) AS n FROM (SELECT count(*) FILTER (WHERE {present}) AS n"
        found = self._read(node, counted, suffix=f" GROUP BY {names})")
        return int(found["n"][0])

    def _rows(self, node: nodes.Rows, exprs: tuple[Expr, ...]) -> list[tuple[object, ...]]:
        selected = ", ".join(f"CAST({print_expr(expr)} AS VARCHAR) AS c{i}" for i, expr in enumerate(exprs))
        found = self._read(node, f"SELECT {selected}", suffix=" ORDER BY ALL")
        return list(zip(*(np.ma.asarray(column).tolist() for column in found.values()), strict=True))

    def _size(self, table: str) -> int:
        return self._count(self._public(table).node)

    def _distinct(self, table: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        relation = self._public(table)
        found = {fold(column.name): column.expr for column in relation.columns}
        selected = ", ".join(f"{_exact_sql(found[name])} AS c{i}" for i, name in enumerate(columns))
        read = self._read(relation.node, f"SELECT DISTINCT {selected}", suffix=" ORDER BY ALL")
        return list(zip(*(np.ma.asarray(values).tolist() for values in read.values()), strict=True))

    def _contents(self, table: str) -> tuple[int, int]:
        relation = self._public(table)
        names = ", ".join(quote_name(c.id) for c in relation.node.columns)
        # Order-free: the sum of row hashes, kept to 62 bits.
        found = self._read(relation.node, f"SELECT count(*) AS n, CAST(sum(hash({names}) % 4294967291) AS BIGINT) AS h")
        return int(found["n"][0]), int(np.ma.filled(np.ma.asarray(found["h"]), 0)[0])

    def _public(self, table: str) -> Any:
        return public_scan(self.catalog.tables[table], self.schemas[table], Ids())

    def _read(self, node: nodes.Rows, select: str, *, suffix: str = "") -> Any:
        key = (node, select, suffix)
        if key not in self._cache:
            self._cache[key] = self.engine.read_public(node, select, suffix)
        return self._cache[key]

    @staticmethod
    def _match(catalog: Catalog, engine: Engine) -> dict[str, SchemaTable]:
        found = {fold(entry.name): entry for entry in engine.schema()}
        matched = {}
        for key, table in catalog.tables.items():
            entry = found.get(fold(table.source_name or table.name))
            if entry is not None:
                matched[key] = entry
        return matched


def _exact_sql(expr: Expr) -> str:
    """Numbers of more digits than a double tells apart come as texts: NumPy would make doubles of them."""
    text = print_expr(expr)
    exact = expr.type.kind is Kind.DECIMAL or (expr.type.kind is Kind.INTEGER and is_wide(expr))
    return f"CAST({text} AS VARCHAR)" if exact else text
