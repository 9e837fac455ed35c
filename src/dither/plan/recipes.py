"""A recipe says how one aggregate comes from a measure's noisy vectors; recipes share the vectors they need.

Flow: `sums`, `quantiles` and `powers` make recipes over the `Vectors` of one measure, led by `compile`;
`answer.evaluate` runs them on noisy vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from dither.plan import nodes
from dither.plan.aggregates import Aggregate
from dither.plan.choices import Choices, with_bounds
from dither.plan.decimals import Digits, sum_digits, unit_of
from dither.plan.grids import LARGEST_RUNNING, Grid, grid_of, largest_contribution
from dither.plan.separable import Relation
from dither.sql.bind import display_name
from dither.sql.expressions import Expr, walk
from dither.sql.functions import logic
from dither.sql.types import BOOLEAN, INTEGER, Kind, Type, decimal_limit, magnitude

__all__ = ["Recipe", "RecipeKind", "Vectors", "along", "both", "limits_of", "not_null", "sum_vector"]

RecipeKind = Literal[
    "count", "sum", "mean", "sum_from_mean", "var_pop", "var_samp", "stddev_pop", "stddev_samp",
    "covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept", "regr_r2", "regr_sxx", "regr_syy", "regr_sxy",
    "skewness", "kurtosis", "kurtosis_pop", "sem", "geomean", "bool_or", "bool_and", "quantile",
]  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """The column `id` of a noisy table, computed from the measure's vectors at these positions."""

    id: str
    kind: RecipeKind
    vectors: tuple[int, ...]
    center: Fraction = Fraction(0)
    """Of a centred sum, in the unit of the data; of the second variable for covariances."""
    other_center: Fraction = Fraction(0)
    whole: bool = False
    """True where the answer is an integer."""
    limits: tuple[float, float] | None = None
    """Ends the true value cannot leave; means are kept within them."""
    quantile: Fraction = Fraction(0)
    type: Type = INTEGER
    digits: Digits | None = None
    """Of a decimal: what the column handed to the finish counts. None where that is the number itself."""


def along(
    running: Mapping[str, nodes.Running], vectors: Sequence[nodes.Vector], recipes: Sequence[Recipe]
) -> tuple[tuple[nodes.Vector, ...], list[Recipe]]:
    """The vectors and recipes with those vectors marked whose aggregates (by id) are summed up along a key.
    Aggregates made of several vectors have none to mark: their totals add up what independent noise left."""
    marked, changed = list(vectors), list(recipes)
    for i, recipe in enumerate(recipes):
        way = running.get(recipe.id)
        if way is None or recipe.kind not in ("count", "sum"):
            continue
        position = recipe.vectors[0]
        if sum(position in other.vectors for other in recipes) > 1:
            continue
        vector = vectors[position]
        if vector.kind == "sum":
            assert vector.expr is not None
            grid = grid_of(vector.expr, centered=False, most=LARGEST_RUNNING)
            digits = recipe.digits and sum_digits(vector.expr, grid.step)
            vector = replace(vector, lo=grid.lo, hi=grid.hi, step=grid.step, center=grid.center)
            changed[i] = replace(recipe, whole=recipe.whole and grid.step == 1, digits=digits)
        marked[position] = replace(vector, running=way)
    return tuple(marked), changed


class Vectors:
    """The vectors of one measure, equal ones once, as its recipes come to need them."""

    def __init__(self, relation: Relation, choices: Choices, *, quantile_intervals: bool = False) -> None:
        self.relation = relation
        self.choices = choices
        self.quantile_intervals = quantile_intervals
        """With the ends of an interval around each quantile of a number."""
        self.most = largest_contribution(relation.tau)
        """The most steps of a grid that one row may add."""
        self.found: list[nodes.Vector] = []

    def add(self, vector: nodes.Vector) -> int:
        """Its position among the vectors found."""
        if vector not in self.found:
            self.found.append(vector)
        return self.found.index(vector)

    def number(self, aggregate: Aggregate, expr: Expr) -> Expr:
        """The expression, when it is a number, whatever its bounds."""
        if not expr.type.is_numeric:
            name, shown = display_name(aggregate.function), aggregate.written[0] if aggregate.written else "x"
            raise aggregate.refuse(
                "F-120", f"{name} needs numbers; found {expr.type}.", hint=_as_numbers(name, shown, expr.type)
            )
        return expr

    def bounded(self, aggregate: Aggregate, expr: Expr) -> Expr:
        """The expression, when it is a number within bounds one person's row cannot leave."""
        self.number(aggregate, expr)
        name = display_name(aggregate.function)
        assert expr.lo is not None and expr.hi is not None
        if magnitude(expr.lo, expr.hi) > _largest_bound(expr.type):
            place = self.relation.sources.get(str(expr.args[0].payload)) if expr.op == "read" else None
            chosen = None if place is None else self.choices.bounds_of(place)
            if chosen is not None:
                return with_bounds(expr, chosen)
            column = next((str(e.payload[0].name) for e in _reads(expr)), None)  # type: ignore[index,union-attr]
            named = f" on `{column}`" if column else ""
            short = [text for text in aggregate.written if len(text) <= 40]
            example = f"{name}(LEAST(GREATEST({short[0] if len(short) == 1 else column or 'x'}, 0), 500))"
            raise aggregate.refuse(
                "B-104",
                f"{name} needs bounds{named}; the catalog has none.",
                hint=f"Write {example} with limits you choose, or ask the owner to declare bounds.",
                owner_hint=f"Declare `bounds = [0, 500]`{named}, or write {example}.",
            )
        return expr


def sum_vector(expr: Expr, filter: Expr | None, grid: Grid | int) -> nodes.Vector:
    """grid: or the most steps of one contribution."""
    grid = grid_of(expr, centered=False, most=grid) if isinstance(grid, int) else grid
    return nodes.Vector("sum", expr, filter, grid.lo, grid.hi, grid.step, grid.center)


def both(*conditions: Expr | None) -> Expr | None:
    present = [condition for condition in conditions if condition is not None]
    if not present:
        return None
    result = present[0]
    for condition in present[1:]:
        result = Expr(logic.AND, BOOLEAN, (result, condition), nullable=result.nullable or condition.nullable)
    return result


def not_null(expr: Expr) -> Expr | None:
    return Expr(logic.IS_NOT_NULL, BOOLEAN, (expr,), nullable=False) if expr.nullable else None


def limits_of(expr: Expr) -> tuple[float, float]:
    assert expr.lo is not None and expr.hi is not None
    return float(expr.lo), float(expr.hi)


def _as_numbers(name: str, shown: str, type: Type) -> str:
    match type.kind:
        case Kind.BOOLEAN:
            return f"Write {name}(CAST({shown} AS INTEGER)): the share of those for which it holds."
        case Kind.DATE | Kind.TIMESTAMP:
            return f"Write {name}(EPOCH({shown})), MEDIAN({shown}), or {name}({shown} - DATE '2020-01-01')."
        case Kind.TEXT:
            return (
                f"Which texts there are is a question about groups: SELECT {shown}, COUNT(*) FROM ... GROUP BY {shown}."
            )
    return "Write a number inside it."


# Beyond these an expression counts as unbounded: its range is what its type holds, not what anyone declared.
LARGEST_BOUND: dict[Kind, int | float | Fraction] = {
    Kind.INTEGER: 2**62,
    Kind.DOUBLE: 1e150,
    Kind.DECIMAL: Fraction(10) ** 30,
}


def _largest_bound(type: Type) -> int | float | Fraction:
    most = LARGEST_BOUND[type.kind]
    if type.kind is not Kind.DECIMAL:
        return most
    # Many digits after the point leave few before it: the very last decimal of the type was declared by nobody.
    return min(most, decimal_limit(type.scale) - 2 * unit_of(type))


def _reads(expr: Expr) -> list[Expr]:
    return [node for node in walk(expr) if node.op in ("read", "unit")]
