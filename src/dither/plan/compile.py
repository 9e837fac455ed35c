"""From the aggregates of a SELECT to what is measured: their distinct vectors, and one recipe for each.

Flow: `grouped` collects a SELECT's aggregates; `compile_aggregates` asks `sums`, `quantiles` or `powers` for each.
"""

from __future__ import annotations

from dither.plan import nodes, powers, quantiles, sums
from dither.plan.aggregates import Aggregate
from dither.plan.choices import Choices
from dither.plan.recipes import Recipe, Vectors
from dither.plan.separable import Relation
from dither.sql.bind import display_name
from dither.sql.refused_aggregates import way_forward
from dither.sql.types import Kind

__all__ = ["compile_aggregates"]


def compile_aggregates(
    aggregates: list[Aggregate], relation: Relation, choices: Choices, *, quantile_intervals: bool = False
) -> tuple[tuple[nodes.Vector, ...], list[Recipe]]:
    """The vectors of one measure and a recipe for each aggregate, in order.
    quantile_intervals: with the ends of an interval around each quantile of a number."""
    vectors = Vectors(relation, choices, quantile_intervals=quantile_intervals)
    # Means first: a SUM beside an AVG of the same expression is derived from its two vectors.
    order = sorted(range(len(aggregates)), key=lambda i: _RANK.get(_named(aggregates[i]), 1))
    recipes = {i: _compile(vectors, f"a{i}", aggregates[i]) for i in order}
    return tuple(vectors.found), [recipes[i] for i in range(len(aggregates))]


_RANK = {"avg": 0, "sum": 2}
_ALIASES = {
    "mean": "avg", "variance": "var_samp", "stddev": "stddev_samp", "countif": "count_if", "sum_no_overflow": "sum",
    "fsum": "sum", "kahan_sum": "sum", "sumkahan": "sum", "favg": "avg", "geometric_mean": "geomean",
}  # fmt: skip


def _named(aggregate: Aggregate) -> str:
    return _ALIASES.get(aggregate.function, aggregate.function)


def _compile(vectors: Vectors, id: str, aggregate: Aggregate) -> Recipe:
    function = _named(aggregate)
    if function in quantiles.QUANTILES:
        return quantiles.quantile(vectors, id, aggregate, function)
    if aggregate.ordered is not None:
        raise aggregate.refuse(
            "A-103",
            f"ORDER BY inside {display_name(function)} is not supported.",
            hint=way_forward(aggregate.function, aggregate.written),
        )
    match function:
        case "count_star":
            aggregate.need_arguments(0)
            return sums.count(vectors, id, aggregate, None)
        case "count" if not aggregate.distinct:
            aggregate.need_arguments(1)
            return sums.count(vectors, id, aggregate, aggregate.args[0])
        case "count" | "approx_count_distinct":
            aggregate.need_arguments(1)
            return sums.count_distinct(vectors, id, aggregate, aggregate.args[0])
        case "count_if" | "bool_or" | "bool_and" if not aggregate.distinct:
            aggregate.need_arguments(1)
            return sums.count_where(vectors, id, aggregate, function)
        case "sum" | "avg" if aggregate.distinct:
            aggregate.need_arguments(1)
            return sums.sum_distinct(vectors, id, aggregate, function)
        case "sum" | "avg":
            aggregate.need_arguments(1)
            if function == "sum" and aggregate.args[0].type.kind is Kind.BOOLEAN:
                return sums.count_where(vectors, id, aggregate, "count_if")
            return sums.sum_of(vectors, id, aggregate) if function == "sum" else sums.mean(vectors, id, aggregate)
        case _ if function in powers.MOMENTS and not aggregate.distinct:
            aggregate.need_arguments(1)
            return powers.moments(vectors, id, aggregate, function)
        case "skewness" | "kurtosis" | "kurtosis_pop" if not aggregate.distinct:
            aggregate.need_arguments(1)
            return powers.shape(vectors, id, aggregate, function)
        case "geomean" if not aggregate.distinct:
            aggregate.need_arguments(1)
            return powers.geomean(vectors, id, aggregate)
        case _ if (function in powers.COVARIANCES or function in powers.REGRESSIONS) and not aggregate.distinct:
            aggregate.need_arguments(2)
            return powers.covariance(vectors, id, aggregate, function)
        case "regr_count" | "regr_avgx" | "regr_avgy" if not aggregate.distinct:
            aggregate.need_arguments(2)
            return powers.one_side(vectors, id, aggregate, function)
    distinct = " with DISTINCT" if aggregate.distinct else ""
    raise aggregate.refuse(
        "A-104",
        f"{display_name(aggregate.function)}{distinct} is not among the aggregates Dither can protect.",
        hint=way_forward(aggregate.function, aggregate.written, distinct=aggregate.distinct),
    )
