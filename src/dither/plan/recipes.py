"""How each SQL aggregate comes from integer vectors: what is measured, and what is computed from the noisy numbers.

Flow: `grouped` collects a SELECT's aggregates; `compile_aggregates` gives the distinct vectors they need (equal ones
once) and one recipe per aggregate; `answer.evaluate` runs the recipes on noisy vectors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from dither.errors import QueryRefused, Span
from dither.mechanisms.quantile import MOST_DIGITS
from dither.plan import nodes
from dither.plan.choices import Choices, with_bounds
from dither.plan.decimals import Digits, chosen_digits, sum_digits, unit_of
from dither.plan.grids import LARGEST_RUNNING, Grid, cells_of, grid_of, largest_contribution
from dither.plan.separable import Relation
from dither.sql.bind import display_name
from dither.sql.expressions import Expr, literal
from dither.sql.functions import BUILDERS, arithmetic, logic
from dither.sql.functions.casts import as_double
from dither.sql.functions.registry import Call
from dither.sql.refused_aggregates import way_forward
from dither.sql.types import BOOLEAN, DOUBLE, INTEGER, Kind, Type, decimal_limit, magnitude
from dither.sql.units import identity

__all__ = ["Aggregate", "Recipe", "RecipeKind", "along", "compile_aggregates"]

RecipeKind = Literal[
    "count", "sum", "mean", "sum_from_mean", "var_pop", "var_samp", "stddev_pop", "stddev_samp",
    "covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept", "regr_r2", "regr_sxx", "regr_syy", "regr_sxy",
    "skewness", "kurtosis", "kurtosis_pop", "sem", "geomean", "bool_or", "bool_and", "quantile",
]  # fmt: skip


@dataclass(frozen=True)
class Aggregate:
    """An aggregate as asked. Two that compare equal are measured once."""

    function: str
    args: tuple[Expr, ...]
    filter: Expr | None = None
    distinct: bool = False
    ordered: tuple[Expr, bool] | None = None
    """WITHIN GROUP (ORDER BY expression [DESC])."""
    span: Span | None = field(default=None, compare=False)
    written: tuple[str, ...] = field(default=(), compare=False)
    """The arguments as the question has them, for refusals."""

    def refuse(
        self, code: str, message: str, *, hint: str | None = None, owner_hint: str | None = None
    ) -> QueryRefused:
        return QueryRefused(message, code=code, span=self.span, hint=hint, owner_hint=owner_hint)


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


LARGEST_OF_POWERS = 1e30
"""Half the width of bounds whose fourth powers are still far inside the doubles."""


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


def compile_aggregates(
    aggregates: list[Aggregate], relation: Relation, choices: Choices, *, quantile_intervals: bool = False
) -> tuple[tuple[nodes.Vector, ...], list[Recipe]]:
    """The vectors of one measure and a recipe for each aggregate, in order.
    quantile_intervals: with the ends of an interval around each quantile of a number."""
    compiler = _Compiler(relation, choices, quantile_intervals)
    # Means first: a SUM beside an AVG of the same expression is derived from its two vectors.
    order = sorted(range(len(aggregates)), key=lambda i: _RANK.get(aggregates[i].function, 1))
    recipes = {i: compiler.compile(f"a{i}", aggregates[i]) for i in order}
    return tuple(compiler.vectors), [recipes[i] for i in range(len(aggregates))]


_RANK = {"avg": 0, "mean": 0, "sum": 2}
_ALIASES = {
    "mean": "avg", "variance": "var_samp", "stddev": "stddev_samp", "countif": "count_if", "sum_no_overflow": "sum",
    "fsum": "sum", "kahan_sum": "sum", "sumkahan": "sum", "favg": "avg", "geometric_mean": "geomean",
}  # fmt: skip
MOMENTS = ("var_pop", "var_samp", "stddev_pop", "stddev_samp", "sem")
COVARIANCES = ("covar_pop", "covar_samp", "corr")
REGRESSIONS = ("regr_slope", "regr_intercept", "regr_r2", "regr_sxx", "regr_syy", "regr_sxy")
"""Of (y, x), as in SQL; over the rows where neither is NULL, as the covariances are."""
SQUARED = {"corr": (0, 1), "regr_r2": (0, 1), "regr_slope": (1,), "regr_intercept": (1,), "regr_sxx": (1,),
           "regr_syy": (0,)}  # fmt: skip
"""Of which arguments a covariance or a regression needs the squares."""


class _Compiler:
    def __init__(self, relation: Relation, choices: Choices, quantile_intervals: bool) -> None:
        self.relation = relation
        self.choices = choices
        self.quantile_intervals = quantile_intervals
        self.most = largest_contribution(relation.tau)
        self.vectors: list[nodes.Vector] = []

    def compile(self, id: str, aggregate: Aggregate) -> Recipe:
        function = _ALIASES.get(aggregate.function, aggregate.function)
        if function in QUANTILES:
            return self._quantile(id, aggregate, function)
        if aggregate.ordered is not None:
            raise aggregate.refuse(
                "A-103",
                f"ORDER BY inside {display_name(function)} is not supported.",
                hint=way_forward(aggregate.function, aggregate.written),
            )
        match function:
            case "count_star":
                self._need_args(aggregate, 0)
                return self._count(id, aggregate, None)
            case "count" if not aggregate.distinct:
                self._need_args(aggregate, 1)
                return self._count(id, aggregate, aggregate.args[0])
            case "count" | "approx_count_distinct":
                self._need_args(aggregate, 1)
                return self._count_distinct(id, aggregate, aggregate.args[0])
            case "count_if" | "bool_or" | "bool_and" if not aggregate.distinct:
                return self._count_where(id, aggregate, function)
            case "sum" | "avg" if aggregate.distinct:
                self._need_args(aggregate, 1)
                return self._sum_distinct(id, aggregate, function)
            case "sum" | "avg":
                self._need_args(aggregate, 1)
                if function == "sum" and aggregate.args[0].type.kind is Kind.BOOLEAN:
                    return self._count_where(id, aggregate, "count_if")
                return self._sum(id, aggregate) if function == "sum" else self._mean(id, aggregate)
            case _ if function in MOMENTS and not aggregate.distinct:
                self._need_args(aggregate, 1)
                return self._moments(id, aggregate, function)
            case "skewness" | "kurtosis" | "kurtosis_pop" if not aggregate.distinct:
                self._need_args(aggregate, 1)
                return self._shape(id, aggregate, function)
            case "geomean" if not aggregate.distinct:
                self._need_args(aggregate, 1)
                return self._geomean(id, aggregate)
            case _ if (function in COVARIANCES or function in REGRESSIONS) and not aggregate.distinct:
                self._need_args(aggregate, 2)
                return self._covariance(id, aggregate, function)
            case "regr_count" | "regr_avgx" | "regr_avgy" if not aggregate.distinct:
                self._need_args(aggregate, 2)
                return self._one_side(id, aggregate, function)
        distinct = " with DISTINCT" if aggregate.distinct else ""
        raise aggregate.refuse(
            "A-104",
            f"{display_name(aggregate.function)}{distinct} is not among the aggregates Dither can protect.",
            hint=way_forward(aggregate.function, aggregate.written, distinct=aggregate.distinct),
        )

    def _add(self, vector: nodes.Vector) -> int:
        if vector not in self.vectors:
            self.vectors.append(vector)
        return self.vectors.index(vector)

    def _count(self, id: str, aggregate: Aggregate, expr: Expr | None) -> Recipe:
        counted = expr if expr is None else identity(expr) or expr
        counted = counted if counted is not None and counted.nullable else None
        position = self._add(nodes.Vector("rows", counted, aggregate.filter))
        return Recipe(id, "count", (position,), whole=True)

    def _count_distinct(self, id: str, aggregate: Aggregate, expr: Expr) -> Recipe:
        """Different units are counted as such: one unit adds one to each group it is in. Other values: tau at most."""
        column = identity(expr)
        if column is not None and column.payload in self.relation.total | self.relation.partial:
            present = None if column.payload in self.relation.total else _not_null(column)
            vector = nodes.Vector("units", None, _both(aggregate.filter, present))
        else:
            vector = nodes.Vector("distinct", expr, aggregate.filter)
        return Recipe(id, "count", (self._add(vector),), whole=True)

    def _sum_distinct(self, id: str, aggregate: Aggregate, function: str) -> Recipe:
        expr = self._bounded(aggregate, aggregate.args[0])
        grid = grid_of(expr, centered=function == "avg", most=self.most)
        total = self._add(replace(_sum_vector(expr, aggregate.filter, grid), distinct=True))
        if function == "sum":
            whole, digits = _kept_exact(aggregate, expr, grid)
            return Recipe(id, "sum", (total,), whole=whole, digits=digits)
        count = self._add(nodes.Vector("distinct", expr, aggregate.filter))
        return Recipe(id, "mean", (count, total), center=grid.center * grid.step, limits=_limits(expr))

    def _quantile(self, id: str, aggregate: Aggregate, function: str) -> Recipe:
        """MIN, MAX, MEDIAN and quantiles: chosen by the exponential mechanism over a histogram on a public grid."""
        if aggregate.distinct:
            raise aggregate.refuse("A-104", f"{display_name(function)} with DISTINCT is not supported.")
        expr, share = _quantile_parts(aggregate, function)
        expr = self._ordered_values(aggregate, expr)
        grid = cells_of(expr)
        vector = nodes.Vector("histogram", expr, aggregate.filter, grid.lo, grid.hi, grid.step, grid.center)
        positions = [self._add_quantile(vector, share, aggregate)]
        if self.quantile_intervals:
            if not expr.type.is_numeric:
                raise aggregate.refuse(
                    "A-109",
                    f"quantile_intervals buys intervals around numbers; found {expr.type}.",
                    hint="Ask without it, or of a number, as in MEDIAN(EXTRACT(year FROM day)).",
                )
            for end in (-1, 1):
                positions.append(self._add_quantile(replace(vector, end=end), share, aggregate))
        keeps_type = function in ("min", "max", "quantile_disc", "percentile_disc")
        type = expr.type if keeps_type or expr.type.kind is not Kind.INTEGER else DOUBLE
        limits, center, digits = _limits(expr), grid.center * grid.step, chosen_digits(expr)
        return Recipe(
            id, "quantile", tuple(positions), center=center, limits=limits, quantile=share, type=type, digits=digits
        )

    def _add_quantile(self, vector: nodes.Vector, share: Fraction, aggregate: Aggregate) -> int:
        """Quantiles of one histogram are chosen together, whoever asks for them."""
        same = (i for i, known in enumerate(self.vectors) if replace(known, quantiles=()) == vector)
        position = next(same, None)
        known = () if position is None else self.vectors[position].quantiles
        together = tuple(sorted({*known, share}))
        # A share by itself too: ranks are multiplied by its denominator, and must stay inside 64 bits.
        if len(together) > MOST_QUANTILES or math.lcm(*(q.denominator for q in together)) > MOST_DIGITS:
            raise aggregate.refuse(
                "A-107",
                f"These quantiles cannot be chosen together: at most {MOST_QUANTILES}, of six digits at most."
                if known
                else f"{display_name(aggregate.function)} takes a share of six digits at most.",
                hint="Round the shares, or ask in two questions." if known else "Round the share.",
            )
        if position is None:
            self.vectors.append(replace(vector, quantiles=together))
            return len(self.vectors) - 1
        self.vectors[position] = replace(self.vectors[position], quantiles=together)
        return position

    def _ordered_values(self, aggregate: Aggregate, expr: Expr) -> Expr:
        if expr.type.kind in (Kind.DATE, Kind.TIMESTAMP):
            return expr
        return self._bounded(aggregate, expr)

    def _count_where(self, id: str, aggregate: Aggregate, function: str) -> Recipe:
        self._need_args(aggregate, 1)
        condition = aggregate.args[0]
        if condition.type.kind is not Kind.BOOLEAN:
            raise aggregate.refuse(
                "F-120", f"{display_name(aggregate.function)} needs a condition; found {condition.type}."
            )
        if function == "bool_and":
            condition = Expr(logic.NOT, BOOLEAN, (condition,), nullable=condition.nullable)
        position = self._add(nodes.Vector("rows", None, _both(aggregate.filter, condition)))
        kind: RecipeKind = "count" if function == "count_if" else "bool_or" if function == "bool_or" else "bool_and"
        return Recipe(id, kind, (position,), whole=kind == "count", type=INTEGER if kind == "count" else BOOLEAN)

    def _sum(self, id: str, aggregate: Aggregate) -> Recipe:
        expr = self._bounded(aggregate, aggregate.args[0])
        plain, centered = grid_of(expr, centered=False, most=self.most), grid_of(expr, centered=True, most=self.most)
        count = nodes.Vector("rows", expr if expr.nullable else None, aggregate.filter)
        # n and the centred sum give SUM with variance r² + c² in place of m², when both are measured anyway.
        radius = max(abs(centered.lo), abs(centered.hi))
        if count in self.vectors and radius**2 + centered.center**2 < max(abs(plain.lo), abs(plain.hi)) ** 2:
            positions = (self._add(count), self._add(_sum_vector(expr, aggregate.filter, centered)))
            whole, digits = _kept_exact(aggregate, expr, centered)
            center = centered.center * centered.step
            return Recipe(id, "sum_from_mean", positions, center=center, whole=whole, digits=digits)
        position = self._add(_sum_vector(expr, aggregate.filter, plain))
        whole, digits = _kept_exact(aggregate, expr, plain)
        return Recipe(id, "sum", (position,), whole=whole, digits=digits)

    def _mean(self, id: str, aggregate: Aggregate) -> Recipe:
        expr = self._bounded(aggregate, aggregate.args[0])
        grid = grid_of(expr, centered=True, most=self.most)
        count = self._add(nodes.Vector("rows", expr if expr.nullable else None, aggregate.filter))
        total = self._add(_sum_vector(expr, aggregate.filter, grid))
        return Recipe(id, "mean", (count, total), center=grid.center * grid.step, limits=_limits(expr))

    def _moments(self, id: str, aggregate: Aggregate, function: str) -> Recipe:
        mean = self._mean(id, aggregate)
        expr = self._bounded(aggregate, aggregate.args[0])
        square = self._add(_sum_vector(_product(expr, expr, mean.center, mean.center), aggregate.filter, self.most))
        assert function in MOMENTS
        half = (Fraction(expr.hi or 0) - Fraction(expr.lo or 0)) / 2
        # sem is the deviation over sqrt(n): of the population's, as in DuckDB.
        most = float(half**2) if function.startswith("var") else float(half)
        return Recipe(id, function, (*mean.vectors, square), center=mean.center, limits=(0.0, most))  # type: ignore[arg-type]

    def _shape(self, id: str, aggregate: Aggregate, function: str) -> Recipe:
        """Skewness and kurtosis: the powers of x - c up to the third or fourth, c the middle of the bounds."""
        mean = self._mean(id, aggregate)
        expr = self._bounded(aggregate, aggregate.args[0])
        half = float((Fraction(expr.hi or 0) - Fraction(expr.lo or 0)) / 2)
        if half > LARGEST_OF_POWERS:
            raise aggregate.refuse(
                "B-111",
                f"{display_name(function)} adds up fourth powers: bounds as wide as these leave no digits for them.",
                hint=f"Measure in larger units, as in {display_name(function)}(x / 1000).",
            )
        powers = [_product(expr, expr, mean.center, mean.center)]
        powers.append(_times(powers[0], _centered(expr, mean.center)))
        if function != "skewness":
            powers.append(replace(_times(powers[0], powers[0]), lo=0.0))
        positions = tuple(self._add(_sum_vector(power, aggregate.filter, self.most)) for power in powers)
        return Recipe(id, function, (*mean.vectors, *positions), center=mean.center)  # type: ignore[arg-type]

    def _geomean(self, id: str, aggregate: Aggregate) -> Recipe:
        """EXP(AVG(LN(x))). DuckDB's is NULL or NaN once some x is not above 0: here bounds say that none is."""
        expr = self._bounded(aggregate, aggregate.args[0])
        assert expr.lo is not None
        if expr.lo <= 0:
            raise aggregate.refuse(
                "B-112",
                f"{display_name(aggregate.function)} needs values that are above 0; these bounds begin at "
                f"{float(expr.lo):g}.",
                hint="Write GEOMEAN(GREATEST(x, 1)) with a least value you choose.",
            )
        logarithm = BUILDERS["ln"](Call("LN", (expr,), aggregate.span, (aggregate.span,)))
        mean = self._mean(id, replace(aggregate, args=(logarithm,)))
        return replace(mean, kind="geomean")

    def _one_side(self, id: str, aggregate: Aggregate, function: str) -> Recipe:
        """REGR_COUNT, REGR_AVGX, REGR_AVGY: over the rows where neither side is NULL."""
        left, right = (self._bounded(aggregate, arg) for arg in aggregate.args)
        both = _both(aggregate.filter, _not_null(left), _not_null(right))
        if function == "regr_count":
            return Recipe(id, "count", (self._add(nodes.Vector("rows", None, both)),), whole=True)
        # The other regressions count the same rows, in the same words: one vector serves them all.
        expr = right if function == "regr_avgx" else left
        grid = grid_of(expr, centered=True, most=self.most)
        count = self._add(nodes.Vector("rows", None, both))
        total = self._add(_sum_vector(expr, both, grid))
        return Recipe(id, "mean", (count, total), center=grid.center * grid.step, limits=_limits(expr))

    def _covariance(self, id: str, aggregate: Aggregate, function: str) -> Recipe:
        left, right = (self._bounded(aggregate, arg) for arg in aggregate.args)
        both = _both(aggregate.filter, _not_null(left), _not_null(right))
        grids = grid_of(left, centered=True, most=self.most), grid_of(right, centered=True, most=self.most)
        centers = tuple(grid.center * grid.step for grid in grids)
        positions = [self._add(nodes.Vector("rows", None, both))]
        positions += [self._add(_sum_vector(e, both, g)) for e, g in zip((left, right), grids, strict=True)]
        positions.append(self._add(_sum_vector(_product(left, right, *centers), both, self.most)))
        for side in SQUARED.get(function, ()):
            expr, center = (left, right)[side], centers[side]
            positions.append(self._add(_sum_vector(_product(expr, expr, center, center), both, self.most)))
        limits = (-1.0, 1.0) if function == "corr" else None
        return Recipe(id, function, tuple(positions), center=centers[0], other_center=centers[1], limits=limits)  # type: ignore[arg-type]

    def _need_args(self, aggregate: Aggregate, count: int) -> None:
        if len(aggregate.args) != count:
            name = display_name(aggregate.function)
            raise aggregate.refuse("F-110", f"{name} takes {count} arguments; found {len(aggregate.args)}.")

    def _bounded(self, aggregate: Aggregate, expr: Expr) -> Expr:
        """The expression, when it is a number within bounds one person's row cannot leave."""
        name = display_name(aggregate.function)
        if not expr.type.is_numeric:
            shown = aggregate.written[0] if aggregate.written else "x"
            raise aggregate.refuse(
                "F-120", f"{name} needs numbers; found {expr.type}.", hint=_as_numbers(name, shown, expr.type)
            )
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


QUANTILES = (
    "min", "max", "median", "quantile", "quantile_cont", "quantile_disc", "percentile_cont", "percentile_disc",
    "approx_quantile",
)  # fmt: skip
MOST_QUANTILES = 1_000
"""Of one expression, in one question."""
FINE = 1024
"""A chosen value falls on one of this many places inside its cell."""


def _quantile_parts(aggregate: Aggregate, function: str) -> tuple[Expr, Fraction]:
    """The expression whose quantile is asked for, and which."""
    name = display_name(function)
    if function in ("min", "max", "median"):
        if len(aggregate.args) != 1 or aggregate.ordered is not None:
            raise aggregate.refuse("F-110", f"{name} takes 1 argument; found {len(aggregate.args)}.")
        return aggregate.args[0], {"min": Fraction(0), "max": Fraction(1), "median": Fraction(1, 2)}[function]
    args = aggregate.args if aggregate.ordered is None else (aggregate.ordered[0], *aggregate.args)
    if len(args) != 2:
        raise aggregate.refuse("F-110", f"{name} takes an expression and a share between 0 and 1.")
    share = args[1].payload
    if not args[1].is_literal or isinstance(share, bool | str) or not isinstance(share, int | float | Fraction):
        raise aggregate.refuse("A-107", f"{name} needs a constant share between 0 and 1.")
    share = Fraction(str(share)) if isinstance(share, float) else Fraction(share)
    if not 0 <= share <= 1:
        raise aggregate.refuse("A-107", f"{name} needs a share between 0 and 1; found {float(share):g}.")
    descending = aggregate.ordered is not None and aggregate.ordered[1]
    return args[0], 1 - share if descending else share


def _reads(expr: Expr) -> list[Expr]:
    from dither.sql.expressions import walk

    return [node for node in walk(expr) if node.op in ("read", "unit")]


SUMS_OF_DOUBLES = ("fsum", "kahan_sum", "sumkahan")
"""In DuckDB these give doubles, of whatever they are the sum."""


def _kept_exact(aggregate: Aggregate, expr: Expr, grid: Grid) -> tuple[bool, Digits | None]:
    """Is the sum a whole number, or which decimal is it? Neither: a double."""
    if aggregate.function in SUMS_OF_DOUBLES:
        return False, None
    return expr.type.kind is Kind.INTEGER and grid.step == 1, sum_digits(expr, grid.step)


def _sum_vector(expr: Expr, filter: Expr | None, grid: Grid | int) -> nodes.Vector:
    """grid: or the most steps of one contribution."""
    grid = grid_of(expr, centered=False, most=grid) if isinstance(grid, int) else grid
    return nodes.Vector("sum", expr, filter, grid.lo, grid.hi, grid.step, grid.center)


def _product(left: Expr, right: Expr, left_center: Fraction, right_center: Fraction) -> Expr:
    """(left - its centre) * (right - its centre), in doubles; a square where both are the same."""
    product = _times(_centered(left, left_center), _centered(right, right_center))
    return replace(product, lo=0.0) if left == right else product


def _centered(expr: Expr, center: Fraction) -> Expr:
    return arithmetic.subtract(Call("-", (as_double(expr), literal(float(center))), None, (None, None)))


def _times(left: Expr, right: Expr) -> Expr:
    return arithmetic.multiply(Call("*", (left, right), None, (None, None)))


def _both(*conditions: Expr | None) -> Expr | None:
    present = [condition for condition in conditions if condition is not None]
    if not present:
        return None
    result = present[0]
    for condition in present[1:]:
        result = Expr(logic.AND, BOOLEAN, (result, condition), nullable=result.nullable or condition.nullable)
    return result


def _not_null(expr: Expr) -> Expr | None:
    return Expr(logic.IS_NOT_NULL, BOOLEAN, (expr,), nullable=False) if expr.nullable else None


def _limits(expr: Expr) -> tuple[float, float]:
    assert expr.lo is not None and expr.hi is not None
    return float(expr.lo), float(expr.hi)
