"""Aggregates within one unit beyond counts, sums and extremes: medians, spreads, and values picked by an order.

Flow: `unit_rows` asks for type, range and call; `engines.unit_calls` prints the call. Each is a function of the bag of
the group's rows alone: ties of an order are decided by the picked value, spreads come from exact integer sums.
Proof: docs/proofs/plan/unit-functions.md
"""

from __future__ import annotations

from fractions import Fraction

from dither.plan import nodes
from dither.plan.aggregates import Aggregate
from dither.plan.grids import grid_of
from dither.sql import refused_aggregates
from dither.sql.bind import display_name
from dither.sql.expressions import Expr
from dither.sql.functions.casts import as_double
from dither.sql.types import DOUBLE, Bound, Kind, Type

__all__ = ["EMITTED", "KNOWN", "ORDERED", "call", "result", "way_forward"]

ORDERED = frozenset(["first", "last"])
PICKED = {
    **dict.fromkeys(["arg_max", "max_by", "argmax"], "arg_max"),
    **dict.fromkeys(["arg_min", "min_by", "argmin"], "arg_min"),
    **dict.fromkeys(["any_value", "arbitrary"], "any_value"),
    "first": "first",
    "last": "last",
}
MIDDLES = ("median", "quantile_cont", "percentile_cont")
SPREADS = {"variance": "var_samp", "stddev": "stddev_samp", "var_samp": "var_samp", "var_pop": "var_pop",
           "stddev_samp": "stddev_samp", "stddev_pop": "stddev_pop"}  # fmt: skip
MOST_STEPS = 2**31
"""Between the ends of what a spread is of."""
WIDEST = 2.0**500
"""The same of doubles: so far apart their squares are finite."""
KNOWN = frozenset([*PICKED, *MIDDLES, *SPREADS])
EMITTED = frozenset(["arg_max", "arg_min", "first", "first desc", "last", "last desc", "any_value", "quantile_cont",
                     *SPREADS.values()])  # fmt: skip


def result(aggregate: Aggregate) -> tuple[Type, Bound | None, Bound | None]:
    """Type and range. Raises QueryRefused for arguments that do not fit."""
    function = aggregate.function
    arg = _argument(aggregate)
    if function in PICKED:
        return arg.type, arg.lo, arg.hi
    if arg.type.kind not in (Kind.INTEGER, Kind.DOUBLE):
        raise aggregate.refuse(
            "F-120",
            f"{display_name(function)} within one unit needs integers or doubles; found {arg.type}.",
            hint=f"Write {display_name(function)}(CAST(... AS DOUBLE)).",
        )
    assert arg.lo is not None and arg.hi is not None
    if function in MIDDLES:
        return DOUBLE, float(arg.lo), float(arg.hi)
    step = _step(arg)
    width = float(arg.hi) - float(arg.lo) + 2 * float(step)
    if (Fraction(arg.hi) - Fraction(arg.lo)) / step > MOST_STEPS or width > WIDEST:
        # Sums of their squares over any number of rows would not fit into 128 bits, and fail on one person's rows; nor
        # would squares of wider doubles be finite.
        raise aggregate.refuse(
            "B-104",
            f"{display_name(function)} within one unit needs bounds on its argument: whole numbers at most 2^31 apart, "
            "doubles at most 2^500.",
            hint="Declare narrower `bounds`, or divide: STDDEV(x // 1000) * 1000.",
        )
    # A sample's variance is at most twice the population's, n / (n - 1) of it.
    most = width**2 / 2
    return DOUBLE, 0.0, most if function.startswith("var") else most**0.5


def call(aggregate: Aggregate, column: Expr) -> nodes.AggregateCall:
    function, arg = aggregate.function, _argument(aggregate)
    if function in MIDDLES:
        share = Fraction(1, 2) if function == "median" else _share(aggregate)
        at = _literal(share)
        return nodes.AggregateCall("quantile_cont", as_double(arg), aggregate.filter, second=at, result=column)
    if function in SPREADS:
        return nodes.AggregateCall(SPREADS[function], arg, aggregate.filter, step=_step(arg), result=column)
    name = PICKED[function]
    second: Expr | None = None
    if name in ("arg_max", "arg_min"):
        second = aggregate.args[1]
    elif aggregate.ordered is not None:
        second, descending = aggregate.ordered
        name = f"{name} desc" if descending else name
    return nodes.AggregateCall(name, arg, aggregate.filter, second=second, result=column)


def _step(arg: Expr) -> Fraction:
    """Of the grid that spreads are computed on: whole numbers count from their least one, however large that is."""
    return Fraction(1) if arg.type.kind is Kind.INTEGER else grid_of(arg, centered=False).step


def way_forward(aggregate: Aggregate) -> str:
    if aggregate.function in ("mode", "list", "array_agg", "string_agg", "group_concat", "listagg", "histogram"):
        return (
            "COUNT, SUM, AVG, MIN, MAX, MEDIAN, STDDEV, VARIANCE, BOOL_AND, BOOL_OR, ARG_MAX, ARG_MIN and FIRST(x "
            "ORDER BY y) are; which values a person has can be counted, as in COUNT_IF(region = 'R1')."
        )
    if aggregate.function in refused_aggregates.NOT_MEASURED or aggregate.distinct:
        return (
            "COUNT, SUM, AVG, MIN, MAX, MEDIAN, STDDEV, VARIANCE, BOOL_AND, BOOL_OR, ARG_MAX, ARG_MIN and FIRST(x "
            "ORDER BY y) are, and DISTINCT in COUNT and SUM."
        )
    return "COUNT, SUM, AVG, MIN, MAX, MEDIAN, STDDEV, VARIANCE, BOOL_AND, BOOL_OR, ARG_MAX, ARG_MIN are."


def _argument(aggregate: Aggregate) -> Expr:
    """What the aggregate is of; refuses numbers of arguments and orders that it does not take."""
    function, given = aggregate.function, len(aggregate.args)
    name = display_name(function)
    if function in ("percentile_cont", "quantile_cont") and aggregate.ordered is not None:
        return aggregate.ordered[0]
    two = function in ("quantile_cont", "percentile_cont") or PICKED.get(function) in ("arg_max", "arg_min")
    if given != (2 if two else 1):
        raise aggregate.refuse("F-110", f"{name} takes {2 if two else 1} arguments; found {given}.")
    if function in ORDERED and aggregate.ordered is None:
        raise aggregate.refuse(
            "A-106",
            f"{name} without an order picks by storage, which depends on everybody's rows.",
            hint=f"Write {name}(x ORDER BY y), or MIN(x).",
        )
    return aggregate.args[0]


def _share(aggregate: Aggregate) -> Fraction:
    shares = aggregate.args if aggregate.ordered is not None else aggregate.args[1:]
    payload = shares[0].payload if len(shares) == 1 and shares[0].is_literal else None
    if isinstance(payload, bool) or not isinstance(payload, int | float | Fraction) or not 0 <= payload <= 1:
        raise aggregate.refuse("A-107", f"{display_name(aggregate.function)} needs a constant share between 0 and 1.")
    share = Fraction(str(payload)) if isinstance(payload, float) else Fraction(payload)
    return 1 - share if aggregate.ordered is not None and aggregate.ordered[1] else share


def _literal(share: Fraction) -> Expr:
    return Expr("literal", DOUBLE, payload=float(share), nullable=False, lo=float(share), hi=float(share))
