"""Which groups an answer lists: the public list where one can be derived without the data, else private selection.

Flow: `grouped` asks `KeyLists.domain` for each measure; the session completes the engine's vectors over that list, so
that every listed group gets noise, present or not. None means that the groups themselves are private.
Proof: docs/proofs/plan/keys.md
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dither.catalog.model import Catalog, Column
from dither.errors import QueryRefused, Span
from dither.plan import nodes
from dither.plan.growth import too_large
from dither.plan.separable import Relation
from dither.sql import embedded
from dither.sql.expressions import Expr, columns_of, conjuncts, substitute
from dither.sql.functions import CHOICES
from dither.sql.printing import print_expr, quote_name, sql_type
from dither.sql.types import Kind, Type

__all__ = ["LARGEST_DOMAIN", "Domain", "KeyLists"]

LARGEST_DOMAIN = 2**20 + 1
"""Groups of one list: as many days as a running total may have, and the group of NULL."""
LARGEST_PRODUCT = 5 * 10**6
"""Most combinations of column values that are looked through to derive a list."""
MOST_LISTS = 64
"""Lists that a session remembers, oldest forgotten first: every question may filter by something else."""
MOST_LISTED = 4 * LARGEST_DOMAIN
"""Groups in all of them together."""
MOST_EXPANSIONS = 5_000
"""Most projected columns that are written out: each could name the one below it several times."""


@dataclass(frozen=True, eq=False)
class Domain:
    """All groups, as columns of equal length named by key id; in a fixed order that owes nothing to the data."""

    columns: embedded.Columns
    size: int
    source: str
    """The SQL and the values it was derived from, for fingerprints."""


@dataclass(frozen=True)
class KeyLists:
    catalog: Catalog
    public_values: Callable[[str, str], list[Any]]
    """(table, column) of a public table -> its distinct values, NULL among them as None."""
    has_delta: Callable[[], bool]
    """Does the ledger's budget have a delta to select private groups with?"""
    cache: dict[str, Domain] = field(default_factory=dict, compare=False)
    """Lists by what they were derived from."""

    turn: threading.Lock = field(default_factory=threading.Lock, compare=False)

    def remember(self, domain: Domain) -> None:
        with self.turn:
            listed = domain.size + sum(known.size for known in self.cache.values())
            while self.cache and (len(self.cache) >= MOST_LISTS or listed > MOST_LISTED):
                listed -= self.cache.pop(next(iter(self.cache))).size
            self.cache[domain.source] = domain

    def domain(self, relation: Relation, keys: tuple[nodes.Key, ...], span: Span | None) -> Domain | None:
        """The list of all groups of these keys; None where it is private and the budget has a delta to select with."""
        if not keys:
            return Domain({}, 1, "no keys")
        derivation = _Derivation(self, relation)
        parts = []
        for number, key in enumerate(keys):
            # Named by their order here: the list of one grouping of several is that of a question about it alone.
            part = derivation.part(replace(key, id=f"k{number}"))
            if part is None:
                self._need_delta(key, span)
                return None
            parts.append(part)
        domain = derivation.run(parts, drop_nulls=self.catalog.nulls == "drop")
        if isinstance(domain, Domain):
            columns = {key.id: domain.columns[f"k{number}"] for number, key in enumerate(keys)}
            return Domain(columns, domain.size, domain.source)
        self._need_delta_for_size(domain, span)
        return None

    def _need_delta(self, key: nodes.Key, span: Span | None) -> None:
        if self.has_delta():
            return
        raise QueryRefused(
            f"The groups of `{key.name}` are known only from the data; this budget has no delta to select them with.",
            code="K-101",
            span=span,
            hint="Group by a column with declared values, bounds, or a CASE with constant results.",
            owner_hint=f'Declare `values = ["...", "..."]` for `{key.name}`, or give the budget a delta: in [budget] '
            "before the ledger begins, by `dither budget grant --delta` after it has.",
        )

    def _need_delta_for_size(self, size: int, span: Span | None) -> None:
        if self.has_delta():
            return
        raise QueryRefused(
            f"This has {size:,} possible groups; at most {LARGEST_DOMAIN:,} are listed.",
            code="K-102",
            span=span,
            hint="Group by something coarser, as FLOOR(x / 10) or EXTRACT(YEAR FROM d).",
        )


@dataclass(frozen=True)
class _Part:
    """One key as SQL over leaves with known values."""

    id: str
    expr: Expr
    leaves: frozenset[str]


@dataclass
class _Derivation:
    lists: KeyLists
    relation: Relation
    aliases: dict[str, str] = field(default_factory=dict)
    """Column id -> its name here, by order of appearance: a list must not depend on how the plan numbers columns."""
    leaf_sql: dict[str, str] = field(default_factory=dict)
    leaf_size: dict[str, int] = field(default_factory=dict)
    tables: dict[str, embedded.Columns] = field(default_factory=dict)
    expanded: int = 0

    def part(self, key: nodes.Key) -> _Part | None:
        expr = self.expand(key.expr)
        leaves = columns_of(expr)
        if not _waits(expr) and all(self.leaf(leaf, expr) for leaf in leaves):
            size = 1
            names = frozenset(self.aliases[leaf] for leaf in leaves)
            for name in names:
                size *= self.leaf_size[name]
            if size <= LARGEST_PRODUCT:
                return _Part(key.id, self._renamed(expr), names)
        return self._by_itself(key, expr)

    def expand(self, expr: Expr) -> Expr:
        """The expression over stored columns: projected ids replaced by what they hold, up to outer joins."""
        self.expanded += 1
        if self.expanded > MOST_EXPANSIONS:
            raise too_large()

        def look_up(identifier: str) -> Expr:
            definition = self.relation.definitions.get(identifier)
            if definition is None or identifier in self.relation.extended:
                return next(e for e in _column_nodes(expr) if e.payload == identifier)
            return self.expand(definition)

        return substitute(expr, look_up)

    def leaf(self, identifier: str, within: Expr) -> bool:
        """Register the values of a stored column; False when they are not known beforehand."""
        if identifier in self.aliases:
            return True
        name = f"l{len(self.aliases)}"
        found = self._leaf_values(identifier, name, within)
        if found is None:
            return False
        self.aliases[identifier] = name
        self.leaf_sql[name], self.leaf_size[name] = found
        return True

    def _renamed(self, expr: Expr) -> Expr:
        """The expression over leaf names; columns without one stay as they are."""
        columns = {str(node.payload): node for node in _column_nodes(expr)}

        def named(identifier: str) -> Expr:
            return replace(columns[identifier], payload=self.aliases.get(identifier, identifier))

        return substitute(expr, named)

    def _leaf_values(self, identifier: str, name: str, within: Expr) -> tuple[str, int] | None:
        node = next(e for e in _column_nodes(within) if e.payload == identifier)
        if identifier in self.relation.extended and identifier in self.relation.definitions:
            return self._extended(identifier, name, node)
        source = self.relation.sources.get(identifier)
        if source is None:
            return self._written(identifier, name, node)
        table = self.lists.catalog.tables[source[0]]
        if table.is_public:
            values = self.lists.public_values(*source)
            weak = identifier in self.relation.extended
            return self._listed(name, [*values, None] if weak and None not in values else values, node.type)
        column = table.columns.get(source[1])
        nullable = node.nullable or identifier in self.relation.extended
        return None if column is None else self._declared(name, column, node.type, nullable=nullable)

    def _written(self, identifier: str, name: str, node: Expr) -> tuple[str, int] | None:
        """A column of a table written out in the question."""
        values = self.relation.written.get(identifier)
        if values is None:
            return None
        weak = identifier in self.relation.extended
        listed = list(dict.fromkeys([*values, None] if weak else values))
        return self._listed(name, listed, node.type)

    def _declared(self, identifier: str, column: Column, type: Type, *, nullable: bool) -> tuple[str, int] | None:
        if column.values is not None:
            return self._listed(identifier, [*column.values, None], type)
        if type.kind is Kind.BOOLEAN:
            return self._listed(identifier, [False, True, *([None] if nullable else [])], type)
        if column.bounds is not None and type.kind in (Kind.INTEGER, Kind.DATE):
            lo, hi = (_units(end) for end in column.bounds)
            return _range_sql(identifier, type, lo, hi, nullable=nullable)
        return None

    def _extended(self, identifier: str, name: str, node: Expr) -> tuple[str, int] | None:
        """A value computed below an outer join: its own list, and NULL where the join found nothing."""
        inner = _Derivation(self.lists, replace(self.relation, extended=frozenset()))
        part = inner.part(nodes.Key(identifier, self.relation.definitions[identifier], identifier))
        if part is None:
            return None
        domain = inner.run([part], drop_nulls=False)
        if not isinstance(domain, Domain):
            return None
        values = list(domain.columns[identifier].tolist())
        return self._listed(name, values if None in values else [*values, None], node.type)

    def _listed(self, identifier: str, values: list[Any], type: Type) -> tuple[str, int]:
        table = f"d{len(self.tables)}"
        self.tables[table] = {"v": _as_array(values, type)}
        return f"SELECT CAST(v AS {sql_type(type)}) AS {quote_name(identifier)} FROM {table}", len(values)

    def _by_itself(self, key: nodes.Key, expr: Expr) -> _Part | None:
        """A key whose own values are few whatever the columns below hold: conditions, CASE labels, bounded integers."""
        values = own_values(expr)
        sql: tuple[str, int] | None = None
        if values is not None:
            sql = self._listed(key.id, values, expr.type)
        elif (expr.type.kind in (Kind.INTEGER, Kind.DATE) and expr.lo is not None and expr.hi is not None) or (
            expr.op in ("floor", "ceil", "trunc") and expr.lo is not None and expr.hi is not None
        ):
            sql = _range_sql(key.id, expr.type, int(expr.lo), int(expr.hi), nullable=expr.nullable)
        if sql is None:
            return None
        self.leaf_sql[key.id], self.leaf_size[key.id] = sql
        return _Part(key.id, Expr("column", expr.type, payload=key.id), frozenset({key.id}))

    def run(self, parts: list[_Part], *, drop_nulls: bool) -> Domain | int:
        """The list itself, or its size where it is too long."""
        expanded = [self._renamed(self.expand(f)) for f in filters_of(self.relation.node)]
        conditions = [c for c in expanded if columns_of(c)]
        groups = _components(parts)
        queries = [self._component(group, conditions) for group in groups]
        if math.prod(self.leaf_size[leaf] for group in groups for leaf in _leaves(group)) > LARGEST_DOMAIN:
            size = math.prod(self._size(sql) for sql in queries)
            if size > LARGEST_DOMAIN:
                return size
        ids = [part.id for part in parts]
        names = ", ".join(quote_name(i) for i in ids)
        joined = " CROSS JOIN ".join(f"({sql}) AS c{i}" for i, sql in enumerate(queries))
        where = " AND ".join(f"{quote_name(i)} IS NOT NULL" for i in ids) if drop_nulls else "TRUE"
        order = ", ".join(f"{quote_name(i)} NULLS LAST" for i in ids)
        sql = f"SELECT {names} FROM {joined} WHERE {where} ORDER BY {order}"
        listed = {name: [np.ma.asarray(v).tolist() for v in table.values()] for name, table in self.tables.items()}
        source = repr((sql, sorted(listed.items())))
        known = self.lists.cache.get(source)
        if known is None:
            columns, _ = embedded.run(sql, self.tables)
            known = Domain(columns, len(next(iter(columns.values()))), source)
            self.lists.remember(known)
        return known

    def _size(self, sql: str) -> int:
        count, _ = embedded.run(f"SELECT count(*) AS n FROM ({sql})", self.tables)
        return int(count["n"][0])

    def _component(self, parts: list[_Part], conditions: list[Expr]) -> str:
        leaves = sorted(_leaves(parts))
        selected = ", ".join(f"{_key_sql(part.expr)} AS {quote_name(part.id)}" for part in parts)
        tables = " CROSS JOIN ".join(f"({self.leaf_sql[leaf]})" for leaf in leaves) or "(SELECT 1)"
        usable = [c for c in conditions if columns_of(c) <= set(leaves) and not _waits(c)]
        where = " AND ".join(print_expr(c) for c in usable) or "TRUE"
        return f"SELECT DISTINCT {selected} FROM {tables} WHERE {where}"


def _waits(expr: Expr) -> bool:
    """Does a value of an earlier phase stand in it, unknown while planning?"""
    from dither.sql.expressions import walk

    return any(node.op == "parameter" for node in walk(expr))


def _leaves(parts: list[_Part]) -> frozenset[str]:
    return frozenset().union(*(part.leaves for part in parts))


def own_values(expr: Expr) -> list[Any] | None:
    """All values an expression can take, read off the expression itself; None where it does not tell."""
    if expr.type.kind is Kind.BOOLEAN:
        return [False, True, None] if expr.nullable else [False, True]
    match expr.op:
        case "literal" | "typed_null":
            return [expr.payload]
        case "case":
            results = (*expr.args[1:-1:2], expr.args[-1])
            return _union(map(own_values, results))
        case "coalesce":
            found = _union(map(own_values, expr.args))
            return found if found is None or expr.nullable else [value for value in found if value is not None]
        case "to_double" | "to_decimal" | "to_bigint" | "to_timestamp":
            return own_values(expr.args[0])
        case op if op in CHOICES:
            return [*CHOICES[op], None]
    return None


def filters_of(node: nodes.Rows) -> list[Expr]:
    """Conditions that every row of the node has passed: those above any side an outer join could fill with NULLs."""
    match node:
        case nodes.Filter(input, condition):
            return [*conjuncts(condition), *filters_of(input)]
        case nodes.Project(input) | nodes.UnitAggregate(input) | nodes.UnitWindow(input) | nodes.Distinct(input):
            return filters_of(input)
        case nodes.SemiJoin(left):
            return filters_of(left)
        case nodes.Join(left, right, kind, condition):
            sides = [s for s, kept in ((left, kind != "right"), (right, kind != "left")) if kept and kind != "full"]
            own = conjuncts(condition) if kind == "inner" else ()
            return [*own, *itertools.chain.from_iterable(filters_of(side) for side in sides)]
        case _:
            return []


def _key_sql(expr: Expr) -> str:
    text = print_expr(expr)
    return f"({text} + CAST(0 AS DOUBLE))" if expr.type.kind is Kind.DOUBLE else text


def _components(parts: list[_Part]) -> list[list[_Part]]:
    """Keys that share a column are derived together; the rest multiply."""
    groups: list[list[_Part]] = []
    for part in parts:
        touching = [g for g in groups if any(part.leaves & other.leaves for other in g)]
        merged = [p for g in touching for p in g] + [part]
        groups = [g for g in groups if g not in touching] + [merged]
    return groups


def _range_sql(identifier: str, type: Type, lo: int, hi: int, *, nullable: bool = True) -> tuple[str, int] | None:
    if hi - lo > LARGEST_PRODUCT:
        return None
    value = (
        "DATE '1970-01-01' + CAST(range AS INTEGER)" if type.kind is Kind.DATE else f"CAST(range AS {sql_type(type)})"
    )
    sql = f"SELECT {value} AS {quote_name(identifier)} FROM range({lo}, {hi + 1})"
    if nullable:
        sql += f" UNION ALL SELECT CAST(NULL AS {sql_type(type)})"
    return sql, hi - lo + 1 + nullable


def _as_array(values: Iterable[Any], type: Type) -> Any:
    if type.kind in (Kind.DATE, Kind.TIMESTAMP):
        return np.array([None if v is None else np.datetime64(v, "us") for v in values], dtype="datetime64[us]")
    plain = [float(v) if isinstance(v, Fraction) else v for v in values]
    array = np.empty(len(plain), dtype=object)
    array[:] = plain
    if type.kind is Kind.TEXT or type.kind is Kind.BOOLEAN:
        return array
    if None in plain:
        mask = np.array([v is None for v in plain])
        data = np.array([0 if v is None else v for v in plain])
        return np.ma.MaskedArray(data, mask)
    return np.array(plain)


def _units(value: object) -> int:
    if isinstance(value, dt.date):
        return (value - dt.date(1970, 1, 1)).days
    return int(value)  # type: ignore[call-overload,no-any-return]


def _union(parts: Iterable[list[Any] | None]) -> list[Any] | None:
    result: list[Any] = []
    for part in parts:
        if part is None:
            return None
        result += [value for value in part if value not in result]
    return result


def _column_nodes(expr: Expr) -> list[Expr]:
    from dither.sql.expressions import walk

    return [node for node in walk(expr) if node.op == "column"]
