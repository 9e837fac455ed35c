"""Questions inside a question: a noisy value or table that later rows are compared or joined with.

Flow: lowering turns an uncorrelated subquery over protected rows into a `Phase` and puts a parameter or a `Given` table
in its place; the session reserves all phases before the first is read, answers them in order, and binds what came out.
A phase's result is released, hence public; its price is part of the question's.
Proof: docs/proofs/plan/phases.md
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from dither.plan import finish, nodes
from dither.plan.decimals import type_of_key
from dither.plan.recipes import Recipe
from dither.plan.rewriting import FinishTree
from dither.plan.separable import Relation
from dither.sql import embedded
from dither.sql.expressions import Expr, literal, make_column
from dither.sql.functions.casts import DBL_MAX
from dither.sql.functions.registry import STORED_TEXT
from dither.sql.names import NamedColumn
from dither.sql.parse import Tree
from dither.sql.types import (
    BOOLEAN,
    DATE,
    DATE_RANGE,
    DOUBLE,
    INT64,
    INTEGER,
    TEXT,
    TIMESTAMP,
    TIMESTAMP_RANGE,
    Kind,
    Type,
)

if TYPE_CHECKING:
    from dither.plan.lower import Lowering

__all__ = ["as_rows", "as_value", "bind_measure", "blank", "clean", "empty_array", "named_in", "type_of"]

LARGEST_GIVEN = 10_000
Plain = bool | int | float | str | dt.date | dt.datetime | None
_CLASS = type  # `type` names expression types below


def as_value(lowering: Lowering, whole: FinishTree, tree: Tree) -> Expr:
    """A parameter that stands for the one value of a noisy SELECT."""
    if len(whole.columns) != 1:
        raise tree.refuse("P-125", f"A subquery used as a value has one column; this one has {len(whole.columns)}.")
    (type,) = _types(lowering, whole, tree)
    name = _add(lowering, whole, (type,), tree, "q")
    column = _column(name, type)
    return replace(column, op="parameter")


def as_rows(
    lowering: Lowering, source: list[Relation] | finish.NoisySource, tree: Tree, alias: str | None = None
) -> list[Relation]:
    """A noisy SELECT as a public relation; relations pass through."""
    if isinstance(source, list):
        return source
    whole = source.whole
    if whole is None:
        raise tree.refuse(
            "S-114",
            "This joins several aggregated tables with rows of people.",
            hint="Join them in one subquery first.",
        )
    types = _types(lowering, whole, tree)
    name = _add(lowering, whole, types, tree, "given")
    number = lowering.ids.scan()
    columns = tuple(nodes.ScanColumn(f"s{number}_{i}", column) for i, column in enumerate(whole.columns))
    named = tuple(
        NamedColumn(alias or source.alias, column.name, _column(column.id, type))
        for column, type in zip(columns, types, strict=True)
    )
    node = nodes.Given(name, columns, types)
    keys, size = _uniqueness(lowering, name, whole, columns)
    if size is not None and size > LARGEST_GIVEN:
        raise tree.refuse(
            "K-109",
            f"An aggregated table of {size:,} groups is too large to be joined back; at most {LARGEST_GIVEN:,}.",
        )
    return [Relation(node, named, protected=False, given=(keys, size))]


def named_in(value: Any) -> set[str]:
    """Names of the phases a measure waits for."""
    match value:
        case Expr(op="parameter", payload=payload):
            return {str(payload)}
        case nodes.Given(phase, _, _, None):
            return {phase}
        case tuple():
            return set().union(*(named_in(item) for item in value))
        case _ if is_dataclass(value) and not isinstance(value, type):
            return set().union(*(named_in(getattr(value, f.name)) for f in fields(value)))
    return set()


def bind_measure(measure: nodes.Measure, results: Mapping[str, list[tuple[Any, ...]]]) -> nodes.Measure:
    """The measure with the results of its phases written in."""
    bound: nodes.Measure = _bind(measure, results)
    return bound


def blank(measure: nodes.Measure) -> nodes.Measure:
    """The measure with NULLs and empty tables for its phases' results: for looking at its SQL before they are known."""
    names = named_in(measure)
    return bind_measure(measure, {name: [] for name in names}) if names else measure


def _bind(value: Any, results: Mapping[str, list[tuple[Any, ...]]]) -> Any:
    match value:
        case Expr(op="parameter", payload=payload, type=type):
            rows = results[str(payload)]
            return _as_literal(rows[0][0] if rows else None, type)
        case nodes.Given(phase, _, types, None):
            rows = results[phase]
            plain = tuple(tuple(clean(v, t) for v, t in zip(row, types, strict=True)) for row in rows)
            return replace(value, rows=plain)
        case tuple():
            return tuple(_bind(item, results) for item in value)
        case _ if is_dataclass(value) and not isinstance(value, _CLASS):
            if not named_in(value):
                return value
            changed = {f.name: _bind(getattr(value, f.name), results) for f in fields(value) if f.init}
            return replace(value, **changed)
    return value


def _as_literal(value: Any, type: Type) -> Expr:
    plain = clean(value, type)
    if plain is None:
        zero = 0.0 if type.kind is Kind.DOUBLE else 0 if type.has_range else None
        return Expr("typed_null", type, lo=zero, hi=zero)
    return replace(literal(plain), type=type)


def clean(value: Any, type: Type) -> Plain:
    """A released value as our type holds it; NULL where it cannot."""
    if value is None:
        return None
    match type.kind:
        case Kind.DOUBLE:
            number = float(value)
            return number if math.isfinite(number) else None
        case Kind.INTEGER:
            return int(value) if INT64[0] <= int(value) <= INT64[1] else None
        case Kind.BOOLEAN:
            return bool(value)
        case Kind.DATE:
            return value.date() if isinstance(value, dt.datetime) else value
        case Kind.TIMESTAMP:
            return value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)
    return str(value)


def _add(lowering: Lowering, whole: FinishTree, types: tuple[Type, ...], tree: Tree, prefix: str) -> str:
    name = f"{prefix}{len(lowering.phases)}"
    lowering.phases.append(nodes.Phase(name, lowering.planned(whole, tree.source or tree.text), types))
    return name


def _types(lowering: Lowering, whole: FinishTree, tree: Tree) -> tuple[Type, ...]:
    """Types of a noisy SELECT's columns, as DuckDB finds them over empty tables."""
    tables = {m.name: _empty(m, lowering.recipes[m.name]) for m in lowering.measures if m.name in whole.measures}
    try:
        known = {
            m.name: {k.id: type_of_key(k.expr) for k in m.keys}
            | {r.id: r.digits.sql() for r in lowering.recipes[m.name] if r.digits is not None}
            for m in lowering.measures
            if m.name in tables
        }
        _, names = embedded.run(finish.to_sql(whole.tree), tables, known)
    except duckdb.Error:
        raise tree.refuse("F-171", "The SQL over the aggregates of this subquery does not work.") from None
    types = tuple(type_of(name) for name in names)
    if None in types:
        raise tree.refuse(
            "F-172", "A result of this type cannot be used further below.", hint="CAST it to a number or a text."
        )
    return tuple(type for type in types if type is not None)


def _empty(measure: nodes.Measure, recipes: list[Recipe]) -> embedded.Columns:
    columns: embedded.Columns = {key.id: empty_array(key.expr.type) for key in measure.keys}
    for recipe in recipes:
        type = (
            recipe.type if recipe.kind in ("quantile", "bool_or", "bool_and") else INTEGER if recipe.whole else DOUBLE
        )
        columns[recipe.id] = empty_array(INTEGER if recipe.digits is not None else type)
    return columns


def empty_array(type: Type) -> Any:
    kinds: dict[Kind, Any] = {
        Kind.INTEGER: np.int64,
        Kind.DOUBLE: np.float64,
        Kind.DECIMAL: np.float64,
        Kind.BOOLEAN: np.bool_,
        Kind.DATE: "datetime64[us]",
        Kind.TIMESTAMP: "datetime64[us]",
        Kind.TEXT: object,
    }
    return np.empty(0, dtype=kinds[type.kind])


def type_of(sql: str) -> Type | None:
    if sql.endswith("]"):
        return None
    if sql.startswith(("DOUBLE", "FLOAT", "DECIMAL", "NUMBER")):
        return DOUBLE
    if sql.startswith("BOOL"):
        return BOOLEAN
    if sql == "DATE":
        return DATE
    if sql.startswith(("TIMESTAMP", "DATETIME")):
        return TIMESTAMP
    if sql.startswith(("VARCHAR", "STRING")):
        return TEXT
    return INTEGER if sql.endswith("INT") or sql.startswith("INTEGER") else None


def _column(identifier: str, type: Type) -> Expr:
    ranges: dict[Kind, tuple[Any, Any]] = {
        Kind.INTEGER: INT64,
        Kind.DOUBLE: (-DBL_MAX, DBL_MAX),
        Kind.DATE: DATE_RANGE,
        Kind.TIMESTAMP: TIMESTAMP_RANGE,
    }
    lo, hi = ranges.get(type.kind, (None, None))
    return make_column(
        identifier, type, nullable=True, lo=lo, hi=hi, length=STORED_TEXT if type.kind is Kind.TEXT else 0
    )


def _uniqueness(
    lowering: Lowering, name: str, whole: FinishTree, columns: tuple[nodes.ScanColumn, ...]
) -> tuple[frozenset[str], int | None]:
    """Columns of which no two rows share the values, and the most rows there can be; nothing where it is not plain:
    a SELECT straight over one measure, every group column of which it shows. Grouping sets and joins repeat groups."""
    plan = next(phase for phase in lowering.phases if phase.name == name).plan
    direct = len(plan.measures) == 1 and not plan.aliases and len(plan.aggregates) == 1
    if not direct or whole.tree.get("type") != "SELECT_NODE" or whole.tree["from_table"].get("type") != "BASE_TABLE":
        return frozenset(), None
    (measure,) = plan.measures
    shown: dict[str, str] = {}
    for column, role, item in zip(columns, whole.roles, whole.tree["select_list"], strict=True):
        if role == "key":
            shown.setdefault(str(item["column_names"][0]), column.id)
    size = None if measure.domain is None else int(measure.domain.size)
    every = {key.id for key in measure.keys} <= set(shown)
    return frozenset(shown.values()) if every and measure.keys else frozenset(), size
