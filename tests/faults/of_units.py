"""Faults of what one unit can move: clamps, truncation, order, joins, prices, and what must be refused."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dither.accounting import Price
from dither.catalog.model import ReferenceUnit
from dither.engines.relations import relation_sql
from dither.engines.sources import view_name
from dither.errors import QueryRefused
from dither.plan import nodes
from dither.sql.printing import print_expr, quote_name
from dither.sql.types import Kind
from faults.planting import COUNT, CUBE, SUM, moved, of, plant


@plant("dither.engines.emit._vector_sql", check="sensitivity", audit=moved(SUM))
def no_clamp(original: Any) -> Any:
    """Values are summed as they are stored, beyond their bounds."""

    def vector_sql(vector: nodes.Vector, sign: int, *rest: Any, **options: Any) -> str:
        expr = vector.expr
        if vector.kind != "sum" or expr is None or expr.op != "read" or expr.type.kind is not Kind.INTEGER:
            return original(vector, sign, *rest, **options)
        return f"{sign} * coalesce(sum({quote_name(str(expr.args[0].payload))}), 0)"

    return vector_sql


@plant("dither.engines.double_sums._clamp", check="sensitivity", audit=moved(SUM))
def no_clamp_in_doubles(original: Any) -> Any:
    """A column summed in doubles is not clamped above."""
    return lambda vector, *rest, **options: original(replace(vector, hi=vector.hi + 1000), *rest, **options)


@plant("dither.plan.grids.whole_steps", check="sensitivity", audit=moved("SELECT SUM(k * 0.25) FROM t"))
def decimals_a_digit_short(original: Any) -> Any:
    """The ends of a decimal's grid are one of its last digits too close to zero."""

    def steps(*given: Any) -> tuple[Fraction, int, int, int]:
        step, center, lo, hi = original(*given)
        return step, center, min(0, lo + 1), max(0, hi - 1)

    return steps


@plant("dither.plan.price.plan_at", check="sensitivity", audit=moved(CUBE, rho=Fraction(1, 3)))
def groupings_together_as_if_one_row(original: Any) -> Any:
    """Groupings measured together are priced as if a unit had one row."""
    return lambda sizes, wanted, weights, rho, distance, total: original(sizes, wanted, weights, rho, 1, 1)


@plant("dither.engines.emit.choose_method", check="sensitivity", audit=moved(COUNT))
def no_truncation(original: Any) -> Any:
    """All rows of every unit are counted."""
    return lambda measure, kept: "none"


@plant("dither.engines.relations.heavy_query", check="sensitivity", audit=moved(COUNT))
def truncation_one_too_late(original: Any) -> Any:
    """A unit counts as heavy only with two rows more than are kept."""
    return lambda scan, emission: original(scan, emission).replace(f"> {scan.tau})", f"> {scan.tau + 1})")


@plant(
    "dither.engines.emit.choose_method",
    check="sensitivity",
    audit=moved("SELECT COUNT(DISTINCT k) FROM t"),
)
def different_values_without_truncation(original: Any) -> Any:
    """COUNT(DISTINCT) looks at all rows, as if a unit had one value."""

    def method(measure: nodes.Measure, kept: Any) -> str:
        return "none" if any(v.kind == "distinct" for v in measure.vectors) else str(original(measure, kept))

    return method


@plant("dither.engines.relations.heavy_query", check="truncation", audit=of("truncation"))
def truncation_by_content(original: Any) -> Any:
    """The rows kept of a heavy unit are those with the least values, not those that come first in a hash."""
    return lambda scan, emission: re.sub(r"ORDER BY hash\([^)]*\), ", "ORDER BY ", original(scan, emission))


@plant("dither.engines.relations.heavy_query", check="sensitivity", audit=moved(SUM))
def truncation_by_storage_order(original: Any) -> Any:
    """Ties among a heavy unit's rows fall by the order in which they are stored."""
    return lambda scan, emission: re.sub(r"ORDER BY hash\(.*?\) AS r", "ORDER BY c0) AS r", original(scan, emission))


@plant("dither.engines.stored.kept_relation_sql", check="sensitivity", audit=moved(COUNT, stored=True))
def stored_rows_that_were_not_cut(original: Any) -> Any:
    """All rows of a tuned table are stored, as if no unit had more than count."""
    return relation_sql


@plant(
    "dither.plan.separable._most_left",
    check="sensitivity",
    audit=moved(
        "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY uid ORDER BY x) AS r FROM t) AS q WHERE r <= 2"
    ),
)
def a_cut_by_number_that_counts_one_row_too_few(original: Any) -> Any:
    """After `rn <= 2` one row of a unit is priced, and two are there."""
    return lambda relation, part: max(1, original(relation, part) - 1)


@plant(
    "dither.engines.unit_calls.to_sql",
    check="sensitivity",
    audit=moved("SELECT SUM(a) FROM (SELECT uid, ARG_MAX(k, flag) AS a FROM t GROUP BY uid) AS q"),
)
def picked_values_by_storage_order(original: Any) -> Any:
    """Of a unit's rows that tie, the value of the first as stored is picked."""

    def to_sql(call: nodes.AggregateCall, condition: str) -> str:
        assert call.arg is not None and call.second is not None
        return f"first({print_expr(call.arg)} ORDER BY {print_expr(call.second)} DESC){condition}"

    return to_sql


@plant(
    "dither.plan.joins.public_copies",
    check="sensitivity",
    audit=moved("SELECT COUNT(*) FROM t JOIN (VALUES (7), (7), (0)) AS v(n) ON t.k = v.n"),
)
def a_written_row_met_once(original: Any) -> Any:
    """A join with a table written in the question is priced as if each row met one of its rows."""
    return lambda *given: 1


@plant(
    "dither.engines.unit_calls.window_sql",
    check="sensitivity",
    audit=moved(
        "SELECT SUM(k) FROM (SELECT k, ROW_NUMBER() OVER (PARTITION BY uid ORDER BY flag) AS r FROM t) AS q "
        "WHERE r = 1",
    ),
)
def window_ties_by_storage_order(original: Any) -> Any:
    """Ties inside a window fall by the order in which rows are stored."""
    return lambda call, tie_break: original(call, ())


@plant(
    "dither.engines.unit_calls._grid_sum",
    check="sensitivity",
    audit=moved("SELECT COUNT(*) FROM (SELECT uid, SUM(x) AS s FROM t GROUP BY uid) AS q WHERE s > 0.6"),
)
def float_sums_within_units(original: Any) -> Any:
    """A unit's doubles are added up as doubles: the last bit follows the order of rows."""

    def grid_sum(expr: Any, step: Fraction, condition: str, distinct: str, *, mean: bool) -> str:
        return f"{'avg' if mean else 'sum'}({distinct}{print_expr(expr)}){condition}"

    return grid_sum


@plant("dither.engines.relations.Printer._stored", check="sensitivity", audit=moved(COUNT))
def rows_of_nobody_kept(original: Any) -> Any:
    """Rows whose unit is NULL are counted."""
    return lambda self, scan, needed: re.sub(r"WHERE \S+ IS NOT NULL$", "WHERE TRUE", original(self, scan, needed))


@plant(
    "dither.plan.joins._join_protected",
    check="sensitivity",
    audit=moved("SELECT COUNT(*) FROM t a JOIN t b ON a.uid = b.uid"),
)
def join_that_multiplies_nothing(original: Any) -> Any:
    """A join of two tables is taken to have as many rows of a unit as the larger of them, not as their product."""

    def join(left: Any, right: Any, *rest: Any) -> Any:
        return replace(original(left, right, *rest), tau=max(left.tau, right.tau))

    return join


@plant(
    "dither.plan.joins.public_copies",
    check="sensitivity",
    audit=moved("SELECT COUNT(*) FROM t JOIN dim ON t.region = dim.region"),
)
def public_join_that_multiplies_nothing(original: Any) -> Any:
    """A public table is taken to hold each key once."""
    return lambda public, parts, facts: 1


@plant(
    "dither.plan.price.distance_of",
    check="sensitivity",
    audit=moved("SELECT region, COUNT(*) FROM t GROUP BY region", replaced=True),
)
def wrong_neighbours(original: Any) -> Any:
    """A replaced unit is priced as one that comes or goes."""

    def distance(vector: Any, tau: int, *, grouped: bool, neighbours: str) -> int:
        return int(original(vector, tau, grouped=grouped, neighbours="add_remove"))

    return distance


@plant("dither.plan.price.PricedVector.price", check="sensitivity", audit=moved(COUNT))
def half_price(original: Any) -> Any:
    """A vector is booked at half of what its noise costs."""

    def price(self: Any) -> Price:
        full = original.fget(self)
        return Price(full.epsilon / 2, full.rho / 4, full.delta)

    return property(price)


@plant("dither.plan.joins.join", check="refusals", audit=of("refusals"))
def public_side_kept(original: Any) -> Any:
    """An outer join that keeps public rows is accepted."""

    def join(left: Any, right: Any, kind: Any, condition: Any, *rest: Any) -> Any:
        try:
            return original(left, right, kind, condition, *rest)
        except QueryRefused as refused:
            if refused.code != "S-112":
                raise
            inner = original(left, right, "inner", condition, *rest)
            return replace(inner, node=nodes.Join(left.node, right.node, kind, condition))

    return join


@plant("dither.plan.joins.unit_pairs", check="refusals", audit=of("refusals"))
def join_across_people(original: Any) -> Any:
    """A join or a subquery need not match on the unit."""
    return lambda left, right, parts: True


@plant(
    "dither.engines.tables.Tables._resolved",
    check="sensitivity",
    audit=moved("SELECT COUNT(*) FROM o"),
)
def references_not_followed(original: Any) -> Any:
    """A table that refers to another takes the reference itself for the unit, whether it leads to somebody or not."""

    def resolved(self: Any, table: Any, alias: str) -> Any:
        if not isinstance(table.unit, ReferenceUnit):
            return original(self, table, alias)
        return f"{quote_name(view_name(table.name))} AS {alias}", f"{alias}.{quote_name(table.unit.column)}"

    return resolved
