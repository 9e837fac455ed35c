"""MIN, MAX, MEDIAN and quantiles: chosen by the exponential mechanism over a histogram on a public grid.

Flow: `compile` calls `quantile` with the `Vectors` of a measure; those of one histogram become one vector.
`answer.chosen` gives places inside cells, `answer.evaluate` values.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from dither.mechanisms.quantile import MOST_DIGITS
from dither.plan import nodes
from dither.plan.aggregates import Aggregate
from dither.plan.decimals import chosen_digits
from dither.plan.grids import cells_of
from dither.plan.recipes import Recipe, Vectors, limits_of
from dither.sql.bind import display_name
from dither.sql.expressions import Expr
from dither.sql.types import DOUBLE, Kind

__all__ = ["FINE", "MOST_QUANTILES", "QUANTILES", "quantile"]

QUANTILES = (
    "min", "max", "median", "quantile", "quantile_cont", "quantile_disc", "percentile_cont", "percentile_disc",
    "approx_quantile",
)  # fmt: skip
MOST_QUANTILES = 1_000
"""Of one expression, in one question."""
FINE = 1024
"""A chosen value falls on one of this many places inside its cell."""


def quantile(vectors: Vectors, id: str, aggregate: Aggregate, function: str) -> Recipe:
    """MIN, MAX, MEDIAN and quantiles: chosen by the exponential mechanism over a histogram on a public grid."""
    if aggregate.distinct:
        raise aggregate.refuse("A-104", f"{display_name(function)} with DISTINCT is not supported.")
    expr, share = _quantile_parts(aggregate, function)
    expr = _ordered_values(vectors, aggregate, expr)
    grid = cells_of(expr)
    vector = nodes.Vector("histogram", expr, aggregate.filter, grid.lo, grid.hi, grid.step, grid.center)
    positions = [_chosen_together(vectors, vector, share, aggregate)]
    if vectors.quantile_intervals:
        if not expr.type.is_numeric:
            raise aggregate.refuse(
                "A-109",
                f"quantile_intervals buys intervals around numbers; found {expr.type}.",
                hint="Ask without it, or of a number, as in MEDIAN(EXTRACT(year FROM day)).",
            )
        for end in (-1, 1):
            positions.append(_chosen_together(vectors, replace(vector, end=end), share, aggregate))
    keeps_type = function in ("min", "max", "quantile_disc", "percentile_disc")
    type = expr.type if keeps_type or expr.type.kind is not Kind.INTEGER else DOUBLE
    limits, center, digits = limits_of(expr), grid.center * grid.step, chosen_digits(expr)
    return Recipe(
        id, "quantile", tuple(positions), center=center, limits=limits, quantile=share, type=type, digits=digits
    )


def _ordered_values(vectors: Vectors, aggregate: Aggregate, expr: Expr) -> Expr:
    if expr.type.kind in (Kind.DATE, Kind.TIMESTAMP):
        return expr
    return vectors.bounded(aggregate, expr)


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


def _chosen_together(vectors: Vectors, vector: nodes.Vector, share: Fraction, aggregate: Aggregate) -> int:
    """Quantiles of one histogram are chosen together, whoever asks for them."""
    same = (i for i, known in enumerate(vectors.found) if replace(known, quantiles=()) == vector)
    position = next(same, None)
    known = () if position is None else vectors.found[position].quantiles
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
        vectors.found.append(replace(vector, quantiles=together))
        return len(vectors.found) - 1
    vectors.found[position] = replace(vectors.found[position], quantiles=together)
    return position
