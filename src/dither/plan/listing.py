"""The list of all groups as one SELECT over values that are known without the data.

Flow: `keys` adds one key after the other and runs what comes out in the embedded database. A key is an expression over
*sources*: a declared column by itself, or the columns of one public table, whose rows keep them together. Keys that
share a source, or whose sources an equality of the question links, are listed together; the others multiply.
Proof: docs/proofs/plan/keys.md
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from dither.catalog.model import Catalog, Column
from dither.plan.growth import too_large
from dither.plan.listed_values import (
    LARGEST_PRODUCT,
    OneColumn,
    TableRows,
    array_of,
    has_range,
    own_values,
    range_sql,
    units_of,
)
from dither.plan.met_conditions import filters_of, left_joins_of, tables_of
from dither.plan.separable import Relation
from dither.sql import embedded
from dither.sql.expressions import Expr, columns_of, conjuncts, substitute, walk
from dither.sql.printing import print_expr, quote_name, sql_type
from dither.sql.types import Kind, Type

__all__ = ["LARGEST_DOMAIN", "Listing", "PublicTables"]

LARGEST_DOMAIN = 2**20 + 1
"""Groups of one list: as many days as a running total may have, and the group of NULL."""
MOST_ROWS_LOOKED_AT = 100_000
"""Rows of a public table up to which columns that only conditions name are looked at, to shorten a list."""
MOST_EXPANSIONS = 5_000
"""Most projected columns that are written out: each could name the one below it several times."""


@dataclass(frozen=True)
class PublicTables:
    """What listing reads of public tables, by folded names."""

    size: Callable[[str], int]
    rows: Callable[[str, Sequence[str]], list[tuple[Any, ...]]]
    """(table, columns) -> the different rows of these columns, in an order of their own: NULL as None, decimals and
    integers beyond 64 bits as texts."""


@dataclass(frozen=True)
class _Part:
    """One key as SQL over leaves with known values."""

    id: str
    expr: Expr
    leaves: frozenset[str]


@dataclass(frozen=True)
class _Group:
    """Keys that are listed together: over which sources, and under which conditions."""

    parts: Sequence[_Part]
    sources: Sequence[str]
    outer: Mapping[str, Sequence[Expr]]
    """Public tables of left joins, and the parts of their conditions: a row without such a table is listed only where
    none of its rows meets them."""
    conditions: Sequence[Expr]


class Listing:
    """A list in the making. `tables`: what its SELECT reads."""

    def __init__(self, catalog: Catalog, public: PublicTables, relation: Relation) -> None:
        self.tables: dict[str, embedded.Columns] = {}
        self._catalog = catalog
        self._public = public
        self._relation = relation
        self._parts: list[_Part] = []
        self._leaves: dict[str, str] = {}
        """Column id -> its name here, by order of appearance, which owes nothing to how the plan numbers columns."""
        self._owners: dict[str, str] = {}
        """Leaf -> its source."""
        self._sources: dict[str, OneColumn | TableRows] = {}
        self._tables_of = tables_of(relation)
        self._expanded = 0

    def add(self, name: str, key: Expr) -> bool:
        """Add a key; False where its values are not known beforehand."""
        expr = self._expand(key)
        part = self._over_leaves(name, expr) or self._by_itself(name, expr)
        if part is None:
            return False
        self._parts.append(part)
        return True

    def select(self, *, drop_nulls: bool) -> str | int:
        """The SELECT of all keys; the number of its rows where they are more than LARGEST_DOMAIN."""
        queries = [self._component(group) for group in self._groups()]
        if math.prod(self._size(source) for source in self._owners_of_keys()) > LARGEST_DOMAIN:
            size = math.prod(self._count(sql) for sql in queries)
            if size > LARGEST_DOMAIN:
                return size
        ids = [part.id for part in self._parts]
        names = ", ".join(quote_name(i) for i in ids)
        joined = " CROSS JOIN ".join(f"({sql}) AS c{i}" for i, sql in enumerate(queries))
        where = " AND ".join(f"{quote_name(i)} IS NOT NULL" for i in ids) if drop_nulls else "TRUE"
        order = ", ".join(f"{quote_name(i)} NULLS LAST" for i in ids)
        return f"SELECT {names} FROM {joined} WHERE {where} ORDER BY {order}"

    # Keys over leaves --------------------------------------------------------------------------------------------

    def _expand(self, expr: Expr) -> Expr:
        """The expression over stored columns: projected ids replaced by what they hold, up to outer joins."""
        self._expanded += 1
        if self._expanded > MOST_EXPANSIONS:
            raise too_large()

        def look_up(identifier: str) -> Expr:
            definition = self._relation.definitions.get(identifier)
            if definition is None or identifier in self._relation.extended:
                return next(e for e in _column_nodes(expr) if e.payload == identifier)
            return self._expand(definition)

        return substitute(expr, look_up)

    def _over_leaves(self, name: str, expr: Expr) -> _Part | None:
        ids = columns_of(expr)
        if _waits(expr) or not all(self._leaf(identifier, expr) for identifier in ids):
            return None
        leaves = frozenset(self._leaves[identifier] for identifier in ids)
        sources = {self._owners[leaf] for leaf in leaves}
        if math.prod(self._size(source) for source in sources) > LARGEST_PRODUCT:
            return None
        return _Part(name, self._renamed(expr), leaves)

    def _by_itself(self, name: str, expr: Expr) -> _Part | None:
        """A key whose own values are few whatever the columns below hold: conditions, CASE labels, bounded integers."""
        values = own_values(expr)
        found: tuple[str, int] | None = None
        if values is not None:
            found = self._listed(name, values, expr.type)
        elif has_range(expr):
            assert expr.lo is not None and expr.hi is not None
            found = range_sql(name, expr.type, int(expr.lo), int(expr.hi), nullable=expr.nullable)
        if found is None:
            return None
        self._sources[name], self._owners[name] = OneColumn(*found), name
        return _Part(name, Expr("column", expr.type, payload=name), frozenset({name}))

    def _renamed(self, expr: Expr) -> Expr:
        """The expression over leaves; columns without one stay as they are."""
        columns = {str(node.payload): node for node in _column_nodes(expr)}
        return substitute(expr, lambda i: replace(columns[i], payload=self._leaves.get(i, i)))

    def _leaf(self, identifier: str, within: Expr) -> bool:
        """Register the values of a column; False when they are not known beforehand."""
        if identifier in self._leaves:
            return True
        node = next(e for e in _column_nodes(within) if e.payload == identifier)
        leaf = f"l{len(self._leaves)}"
        stored = self._stored(identifier)
        if stored in self._tables_of:
            source = self._tables_of[stored]
            table = self._table(stored)
            written = stored in self._relation.written
            table.columns[leaf] = stored if written else self._relation.sources[stored][1]
            table.types[leaf] = node.type
            table.weak |= identifier in self._relation.extended
        else:
            found = self._alone(identifier, leaf, node)
            if found is None:
                return False
            source, self._sources[leaf] = leaf, OneColumn(*found)
        self._leaves[identifier], self._owners[leaf] = leaf, source
        return True

    def _stored(self, identifier: str) -> str:
        """The stored column that a projected one is, where it is one as it stands."""
        definition = self._relation.definitions.get(identifier)
        if definition is not None and definition.op == "read" and definition.args:
            definition = definition.args[0]
        if definition is None or not definition.is_column:
            return identifier
        return self._stored(str(definition.payload))

    def _table(self, stored: str) -> TableRows:
        """The table of a stored column, as a source."""
        source = self._tables_of[stored]
        if source not in self._sources:
            self._sources[source] = self._together(stored)
        found = self._sources[source]
        assert isinstance(found, TableRows)
        return found

    def _together(self, stored: str) -> TableRows:
        written = self._relation.written
        if stored in written:
            return TableRows(
                len(written[stored]),
                cache(lambda columns: list(dict.fromkeys(zip(*(written[column] for column in columns), strict=True)))),
            )
        table, _ = self._relation.sources[stored]
        return TableRows(self._public.size(table), cache(lambda columns: self._public.rows(table, columns)))

    def _alone(self, identifier: str, leaf: str, node: Expr) -> tuple[str, int] | None:
        weak = identifier in self._relation.extended
        if weak and identifier in self._relation.definitions:
            return self._computed_below(identifier, leaf, node)
        source = self._relation.sources.get(identifier)
        if source is None:
            return None
        column = self._catalog.tables[source[0]].columns.get(source[1])
        return None if column is None else self._declared(leaf, column, node.type, nullable=node.nullable or weak)

    def _declared(self, leaf: str, column: Column, type: Type, *, nullable: bool) -> tuple[str, int] | None:
        if column.values is not None:
            return self._listed(leaf, [*column.values, None], type)
        if type.kind is Kind.BOOLEAN:
            return self._listed(leaf, [False, True, *([None] if nullable else [])], type)
        if column.bounds is not None and type.kind in (Kind.INTEGER, Kind.DATE):
            lo, hi = (units_of(end) for end in column.bounds)
            return range_sql(leaf, type, lo, hi, nullable=nullable)
        return None

    def _computed_below(self, identifier: str, leaf: str, node: Expr) -> tuple[str, int] | None:
        """A value computed below an outer join: its own list, and NULL where the join found nothing."""
        inner = Listing(self._catalog, self._public, replace(self._relation, extended=frozenset()))
        if not inner.add("v", self._relation.definitions[identifier]):
            return None
        sql = inner.select(drop_nulls=False)
        if isinstance(sql, int):
            return None
        values = list(embedded.run(sql, inner.tables)[0]["v"].tolist())
        return self._listed(leaf, values if None in values else [*values, None], node.type)

    def _listed(self, leaf: str, values: list[Any], type: Type) -> tuple[str, int]:
        return self._rows_sql({leaf: type}, [(value,) for value in values]), len(values)

    def _rows_sql(self, types: dict[str, Type], rows: list[tuple[Any, ...]]) -> str:
        table = f"d{len(self.tables)}"
        columns = zip(*rows, strict=True) if rows else [()] * len(types)
        arrays = (array_of(values, type) for values, type in zip(columns, types.values(), strict=True))
        self.tables[table] = {f"c{i}": array for i, array in enumerate(arrays)}
        selected = (
            f"CAST(c{i} AS {sql_type(type)}) AS {quote_name(leaf)}" for i, (leaf, type) in enumerate(types.items())
        )
        return f"SELECT {', '.join(selected)} FROM {table}"

    # What goes together ------------------------------------------------------------------------------------------

    def _groups(self) -> list[_Group]:
        """Keys that are listed together, with what shortens their list."""
        passed = [self._expand(condition) for condition in filters_of(self._relation.node)]
        joined = {
            self._tables_of[table]: [self._expand(part) for part in conjuncts(condition)]
            for table, condition in left_joins_of(self._relation.node)
            if table in self._tables_of
        }
        used = self._used([*passed, *itertools.chain.from_iterable(joined.values())])
        known = [c for c in passed if self._is_known(c, used)]
        outer = {
            source: [self._renamed(part) for part in parts]
            for source, parts in joined.items()
            if source in used and all(self._is_known(part, used) for part in parts)
        }
        pairs = [pair for pair in map(self._pair, known) if pair is not None]
        conditions = [self._renamed(c) for c in known]
        groups = self._united(pairs + [self._owners_of(*on) | {source} for source, on in outer.items()])
        if any(self._combinations(sources, pairs, outer) > LARGEST_PRODUCT for _, sources in groups):
            outer, groups = {}, self._united(pairs)
        return [
            _Group(
                parts,
                [source for source in sources if source not in outer],
                {source: on for source, on in outer.items() if source in sources},
                [c for c in conditions if self._owners_of(c) <= set(sources)],
            )
            for parts, sources in groups
        ]

    def _combinations(self, sources: Sequence[str], pairs: Sequence[frozenset[str]], outer: Container[str]) -> int:
        """How many rows the database looks up those of left joins for: all combinations of what no equality links."""
        sizes: list[tuple[frozenset[str], int]] = []
        for source in sources:
            if source in outer:
                continue
            near = frozenset({source}).union(*(pair for pair in pairs if source in pair))
            touching = [size for size in sizes if size[0] & near]
            most = max([self._size(source), *(count for _, count in touching)])
            sizes = [size for size in sizes if size not in touching]
            sizes.append((near.union(*(members for members, _ in touching)), most))
        return math.prod(count for _, count in sizes) if outer else 1

    def _used(self, conditions: Sequence[Expr]) -> frozenset[str]:
        """Sources of the keys, and public tables by which two of them are joined."""
        used = set(self._owners_of_keys())
        pairs = [pair for pair in map(self._pair, conditions) if pair is not None]
        first = {source: stored for stored, source in reversed(self._tables_of.items()) if source not in used}
        waiting = [source for source, stored in first.items() if self._table(stored).size <= MOST_ROWS_LOOKED_AT]
        while True:
            joined = (frozenset().union(*(pair for pair in pairs if source in pair)) & used for source in waiting)
            bridge = next((s for s, others in zip(waiting, joined, strict=True) if len(others) > 1), None)
            if bridge is None:
                return frozenset(used)
            waiting.remove(bridge)
            used.add(bridge)

    def _pair(self, condition: Expr) -> frozenset[str] | None:
        """The two sources that an equality is about. The database looks such rows up, and tries no combinations."""
        if condition.op != "equal" or _waits(condition):
            return None
        sides = [{self._source_of(identifier) for identifier in columns_of(arg)} for arg in condition.args]
        if any(len(side) != 1 for side in sides) or sides[0] == sides[1]:
            return None
        found = [source for side in sides for source in side if source is not None]
        return frozenset(found) if len(found) == 2 else None

    def _source_of(self, identifier: str) -> str | None:
        leaf = self._leaves.get(identifier)
        return self._tables_of.get(self._stored(identifier)) if leaf is None else self._owners[leaf]

    def _is_known(self, condition: Expr, used: frozenset[str]) -> bool:
        """Is it over sources in use? Columns of their public tables that no key names are read for it."""
        ids = columns_of(condition)
        if not ids or _waits(condition) or any(self._source_of(identifier) not in used for identifier in ids):
            return False
        more = [self._stored(identifier) for identifier in ids if identifier not in self._leaves]
        if any(self._table(stored).size > MOST_ROWS_LOOKED_AT for stored in more):
            return False
        return all(self._leaf(identifier, condition) for identifier in ids)

    def _owners_of(self, *exprs: Expr) -> frozenset[str]:
        """Sources of expressions over leaves."""
        return frozenset(self._owners[leaf] for leaf in columns_of(*exprs))

    def _owners_of_keys(self) -> frozenset[str]:
        return frozenset(self._owners[leaf] for part in self._parts for leaf in part.leaves)

    def _united(self, links: Sequence[frozenset[str]]) -> list[tuple[list[_Part], list[str]]]:
        """Keys and sources, those together that share a source or are linked."""
        groups: list[tuple[list[_Part], frozenset[str]]] = []
        own = [([part], frozenset(self._owners[leaf] for leaf in part.leaves)) for part in self._parts]
        for parts, sources in [*own, *(([], link) for link in links)]:
            touching = [group for group in groups if group[1] & sources]
            merged = [part for group in touching for part in group[0]] + parts
            groups = [group for group in groups if group not in touching]
            groups.append((merged, sources.union(*(group[1] for group in touching))))
        return [(parts, [source for source in self._sources if source in sources]) for parts, sources in groups]

    def _component(self, group: _Group) -> str:
        selected = ", ".join(f"{_key_sql(part.expr)} AS {quote_name(part.id)}" for part in group.parts)
        tables = " CROSS JOIN ".join(f"({self._sql(source)})" for source in group.sources) or "(SELECT 1)"
        for source, on in group.outer.items():
            met = " AND ".join(map(print_expr, on))
            tables = f"{tables} LEFT JOIN ({self._sql(source, absent=False)}) ON {met}"
        where = " AND ".join(map(print_expr, group.conditions)) or "TRUE"
        return f"SELECT DISTINCT {selected} FROM {tables} WHERE {where}"

    def _sql(self, source: str, *, absent: bool = True) -> str:
        found = self._sources[source]
        return found.sql if isinstance(found, OneColumn) else self._rows_sql(found.types, found.rows(absent=absent))

    def _size(self, source: str) -> int:
        found = self._sources[source]
        return found.size if isinstance(found, OneColumn) else len(found.rows(absent=True))

    def _count(self, sql: str) -> int:
        count, _ = embedded.run(f"SELECT count(*) AS n FROM ({sql})", self.tables)
        return int(count["n"][0])


def _waits(expr: Expr) -> bool:
    """Does a value of an earlier phase stand in it, unknown while planning?"""
    return any(node.op == "parameter" for node in walk(expr))


def _key_sql(expr: Expr) -> str:
    text = print_expr(expr)
    return f"({text} + CAST(0 AS DOUBLE))" if expr.type.kind is Kind.DOUBLE else text


def _column_nodes(expr: Expr) -> list[Expr]:
    return [node for node in walk(expr) if node.op == "column"]
