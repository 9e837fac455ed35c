"""Moments, shapes, covariances and regressions: sums of powers and products of centred values.

Flow: `compile` calls these with the `Vectors` of a measure. Values are measured from the middle of their bounds, where
their powers are smallest; recipes hold these centres for `answer.evaluate`.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dither.plan import nodes
from dither.plan.aggregates import Aggregate
from dither.plan.grids import grid_of
from dither.plan.recipes import Recipe, Vectors, both, limits_of, not_null, sum_vector
from dither.plan.sums import mean
from dither.sql.bind import display_name
from dither.sql.expressions import Expr, literal
from dither.sql.functions import BUILDERS, arithmetic
from dither.sql.functions.casts import as_double
from dither.sql.functions.registry import Call

__all__ = ["COVARIANCES", "MOMENTS", "REGRESSIONS", "covariance", "geomean", "moments", "one_side", "shape"]

MOMENTS = ("var_pop", "var_samp", "stddev_pop", "stddev_samp", "sem")
COVARIANCES = ("covar_pop", "covar_samp", "corr")
REGRESSIONS = ("regr_slope", "regr_intercept", "regr_r2", "regr_sxx", "regr_syy", "regr_sxy")
"""Of (y, x), as in SQL; over the rows where neither is NULL, as the covariances are."""
SQUARED = {"corr": (0, 1), "regr_r2": (0, 1), "regr_slope": (1,), "regr_intercept": (1,), "regr_sxx": (1,),
           "regr_syy": (0,)}  # fmt: skip
"""Of which arguments a covariance or a regression needs the squares."""
LARGEST_OF_POWERS = 1e30
"""Half the width of bounds whose fourth powers are still far inside the doubles."""


def moments(vectors: Vectors, id: str, aggregate: Aggregate, function: str) -> Recipe:
    average = mean(vectors, id, aggregate)
    expr = vectors.bounded(aggregate, aggregate.args[0])
    square = vectors.add(
        sum_vector(_product(expr, expr, average.center, average.center), aggregate.filter, vectors.most)
    )
    assert function in MOMENTS
    half = (Fraction(expr.hi or 0) - Fraction(expr.lo or 0)) / 2
    # sem is the deviation over sqrt(n): of the population's, as in DuckDB.
    most = float(half**2) if function.startswith("var") else float(half)
    return Recipe(id, function, (*average.vectors, square), center=average.center, limits=(0.0, most))  # type: ignore[arg-type]


def shape(vectors: Vectors, id: str, aggregate: Aggregate, function: str) -> Recipe:
    """Skewness and kurtosis: the powers of x - c up to the third or fourth, c the middle of the bounds."""
    average = mean(vectors, id, aggregate)
    expr = vectors.bounded(aggregate, aggregate.args[0])
    half = float((Fraction(expr.hi or 0) - Fraction(expr.lo or 0)) / 2)
    if half > LARGEST_OF_POWERS:
        raise aggregate.refuse(
            "B-111",
            f"{display_name(function)} adds up fourth powers: bounds as wide as these leave no digits for them.",
            hint=f"Measure in larger units, as in {display_name(function)}(x / 1000).",
        )
    powers = [_product(expr, expr, average.center, average.center)]
    powers.append(_times(powers[0], _centered(expr, average.center)))
    if function != "skewness":
        powers.append(replace(_times(powers[0], powers[0]), lo=0.0))
    positions = tuple(vectors.add(sum_vector(power, aggregate.filter, vectors.most)) for power in powers)
    return Recipe(id, function, (*average.vectors, *positions), center=average.center)  # type: ignore[arg-type]


def geomean(vectors: Vectors, id: str, aggregate: Aggregate) -> Recipe:
    """EXP(AVG(LN(x))). DuckDB's is NULL or NaN once some x is not above 0: here bounds say that none is."""
    expr = vectors.bounded(aggregate, aggregate.args[0])
    assert expr.lo is not None
    if expr.lo <= 0:
        raise aggregate.refuse(
            "B-112",
            f"{display_name(aggregate.function)} needs values that are above 0; these bounds begin at "
            f"{float(expr.lo):g}.",
            hint="Write GEOMEAN(GREATEST(x, 1)) with a least value you choose.",
        )
    logarithm = BUILDERS["ln"](Call("LN", (expr,), aggregate.span, (aggregate.span,)))
    average = mean(vectors, id, replace(aggregate, args=(logarithm,)))
    return replace(average, kind="geomean")


def covariance(vectors: Vectors, id: str, aggregate: Aggregate, function: str) -> Recipe:
    left, right = (vectors.bounded(aggregate, arg) for arg in aggregate.args)
    present = both(aggregate.filter, not_null(left), not_null(right))
    grids = grid_of(left, centered=True, most=vectors.most), grid_of(right, centered=True, most=vectors.most)
    centers = tuple(grid.center * grid.step for grid in grids)
    positions = [vectors.add(nodes.Vector("rows", None, present))]
    positions += [vectors.add(sum_vector(e, present, g)) for e, g in zip((left, right), grids, strict=True)]
    positions.append(vectors.add(sum_vector(_product(left, right, *centers), present, vectors.most)))
    for side in SQUARED.get(function, ()):
        expr, center = (left, right)[side], centers[side]
        positions.append(vectors.add(sum_vector(_product(expr, expr, center, center), present, vectors.most)))
    limits = (-1.0, 1.0) if function == "corr" else None
    return Recipe(id, function, tuple(positions), center=centers[0], other_center=centers[1], limits=limits)  # type: ignore[arg-type]


def one_side(vectors: Vectors, id: str, aggregate: Aggregate, function: str) -> Recipe:
    """REGR_COUNT, REGR_AVGX, REGR_AVGY: over the rows where neither side is NULL."""
    left, right = (vectors.number(aggregate, arg) for arg in aggregate.args)
    # Only the side that is averaged needs bounds.
    if function == "regr_avgx":
        right = vectors.bounded(aggregate, right)
    if function == "regr_avgy":
        left = vectors.bounded(aggregate, left)
    present = both(aggregate.filter, not_null(left), not_null(right))
    if function == "regr_count":
        return Recipe(id, "count", (vectors.add(nodes.Vector("rows", None, present)),), whole=True)
    # The other regressions count the same rows, in the same words: one vector serves them all.
    expr = right if function == "regr_avgx" else left
    grid = grid_of(expr, centered=True, most=vectors.most)
    count = vectors.add(nodes.Vector("rows", None, present))
    total = vectors.add(sum_vector(expr, present, grid))
    return Recipe(id, "mean", (count, total), center=grid.center * grid.step, limits=limits_of(expr))


def _product(left: Expr, right: Expr, left_center: Fraction, right_center: Fraction) -> Expr:
    """(left - its centre) * (right - its centre), in doubles; a square where both are the same."""
    product = _times(_centered(left, left_center), _centered(right, right_center))
    return replace(product, lo=0.0) if left == right else product


def _centered(expr: Expr, center: Fraction) -> Expr:
    return arithmetic.subtract(Call("-", (as_double(expr), literal(float(center))), None, (None, None)))


def _times(left: Expr, right: Expr) -> Expr:
    return arithmetic.multiply(Call("*", (left, right), None, (None, None)))
