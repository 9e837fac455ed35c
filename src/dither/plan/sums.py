"""Counts, sums and means: what is measured for each, and the recipe that gives it back.

Flow: `compile` calls these with the `Vectors` of a measure; each adds the vectors it needs and gives a `Recipe`.
`powers` builds on `mean`.
"""

from __future__ import annotations

from dataclasses import replace

from dither.plan import nodes
from dither.plan.aggregates import Aggregate
from dither.plan.decimals import Digits, sum_digits
from dither.plan.grids import Grid, grid_of
from dither.plan.recipes import Recipe, RecipeKind, Vectors, both, limits_of, not_null, sum_vector
from dither.sql.bind import display_name
from dither.sql.expressions import Expr
from dither.sql.functions import logic
from dither.sql.types import BOOLEAN, INTEGER, Kind
from dither.sql.units import identity

__all__ = ["count", "count_distinct", "count_where", "mean", "sum_distinct", "sum_of"]


def count(vectors: Vectors, id: str, aggregate: Aggregate, expr: Expr | None) -> Recipe:
    counted = expr if expr is None else identity(expr) or expr
    counted = counted if counted is not None and counted.nullable else None
    position = vectors.add(nodes.Vector("rows", counted, aggregate.filter))
    return Recipe(id, "count", (position,), whole=True)


def count_distinct(vectors: Vectors, id: str, aggregate: Aggregate, expr: Expr) -> Recipe:
    """Different units are counted as such: one unit adds one to each group it is in. Other values: tau at most."""
    column = identity(expr)
    if column is not None and column.payload in vectors.relation.total | vectors.relation.partial:
        present = None if column.payload in vectors.relation.total else not_null(column)
        vector = nodes.Vector("units", None, both(aggregate.filter, present))
    else:
        vector = nodes.Vector("distinct", expr, aggregate.filter)
    return Recipe(id, "count", (vectors.add(vector),), whole=True)


def count_where(vectors: Vectors, id: str, aggregate: Aggregate, function: str) -> Recipe:
    condition = aggregate.args[0]
    if condition.type.kind is not Kind.BOOLEAN:
        raise aggregate.refuse(
            "F-120", f"{display_name(aggregate.function)} needs a condition; found {condition.type}."
        )
    if function == "bool_and":
        condition = Expr(logic.NOT, BOOLEAN, (condition,), nullable=condition.nullable)
    position = vectors.add(nodes.Vector("rows", None, both(aggregate.filter, condition)))
    kind: RecipeKind = "count" if function == "count_if" else "bool_or" if function == "bool_or" else "bool_and"
    return Recipe(id, kind, (position,), whole=kind == "count", type=INTEGER if kind == "count" else BOOLEAN)


def sum_of(vectors: Vectors, id: str, aggregate: Aggregate) -> Recipe:
    expr = vectors.bounded(aggregate, aggregate.args[0])
    plain, centered = grid_of(expr, centered=False, most=vectors.most), grid_of(expr, centered=True, most=vectors.most)
    rows = nodes.Vector("rows", expr if expr.nullable else None, aggregate.filter)
    # n and the centred sum give SUM with variance r² + c² in place of m², when both are measured anyway.
    radius = max(abs(centered.lo), abs(centered.hi))
    if rows in vectors.found and radius**2 + centered.center**2 < max(abs(plain.lo), abs(plain.hi)) ** 2:
        positions = (vectors.add(rows), vectors.add(sum_vector(expr, aggregate.filter, centered)))
        whole, digits = _kept_exact(aggregate, expr, centered)
        center = centered.center * centered.step
        return Recipe(id, "sum_from_mean", positions, center=center, whole=whole, digits=digits)
    position = vectors.add(sum_vector(expr, aggregate.filter, plain))
    whole, digits = _kept_exact(aggregate, expr, plain)
    return Recipe(id, "sum", (position,), whole=whole, digits=digits)


def mean(vectors: Vectors, id: str, aggregate: Aggregate) -> Recipe:
    expr = vectors.bounded(aggregate, aggregate.args[0])
    grid = grid_of(expr, centered=True, most=vectors.most)
    rows = vectors.add(nodes.Vector("rows", expr if expr.nullable else None, aggregate.filter))
    total = vectors.add(sum_vector(expr, aggregate.filter, grid))
    return Recipe(id, "mean", (rows, total), center=grid.center * grid.step, limits=limits_of(expr))


def sum_distinct(vectors: Vectors, id: str, aggregate: Aggregate, function: str) -> Recipe:
    expr = vectors.bounded(aggregate, aggregate.args[0])
    grid = grid_of(expr, centered=function == "avg", most=vectors.most)
    total = vectors.add(replace(sum_vector(expr, aggregate.filter, grid), distinct=True))
    if function == "sum":
        whole, digits = _kept_exact(aggregate, expr, grid)
        return Recipe(id, "sum", (total,), whole=whole, digits=digits)
    different = vectors.add(nodes.Vector("distinct", expr, aggregate.filter))
    return Recipe(id, "mean", (different, total), center=grid.center * grid.step, limits=limits_of(expr))


SUMS_OF_DOUBLES = ("fsum", "kahan_sum", "sumkahan")
"""In DuckDB these give doubles, of whatever they are the sum."""


def _kept_exact(aggregate: Aggregate, expr: Expr, grid: Grid) -> tuple[bool, Digits | None]:
    """Is the sum a whole number, or which decimal is it? Neither: a double."""
    if aggregate.function in SUMS_OF_DOUBLES:
        return False, None
    return expr.type.kind is Kind.INTEGER and grid.step == 1, sum_digits(expr, grid.step)
