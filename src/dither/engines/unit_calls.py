"""Aggregates and windows within one unit as SQL, their results within the range that was planned for them.

Flow: `relations` prints the calls of a unit's rows with these, those of `plan.unit_functions` by `to_sql`. Every order
is completed and every sum is one of integers, so that no result depends on how rows lie on disk.
Proof: docs/proofs/plan/unit-functions.md
"""

from __future__ import annotations

from fractions import Fraction

from dither.plan import nodes, unit_functions
from dither.plan.grids import grid_of
from dither.sql.expressions import Expr, literal
from dither.sql.functions.casts import is_wide
from dither.sql.printing import float_text, print_expr, quote_name, sql_type
from dither.sql.types import Kind

__all__ = ["aggregate_sql", "in_range", "to_sql", "window_sql"]


def aggregate_sql(call: nodes.AggregateCall) -> str:
    condition = f" FILTER (WHERE {print_expr(call.filter)})" if call.filter is not None else ""
    distinct = "DISTINCT " if call.distinct else ""
    match call.function:
        case "count_star":
            value = f"count(*){condition}"
        case function if function in unit_functions.EMITTED:
            value = to_sql(call, condition)
        case "sum" | "avg" if call.step is not None:
            assert call.arg is not None
            value = _grid_sum(call.arg, call.step, condition, distinct, mean=call.function == "avg")
        case function:
            args = [print_expr(e) for e in (call.arg, call.second) if e is not None]
            value = f"{function}({distinct}{', '.join(args)}){condition}"
    return f"({in_range(value, call.result)})"


def window_sql(call: nodes.WindowCall, tie_break: tuple[str, ...]) -> str:
    args = ", ".join(print_expr(arg) for arg in call.args)
    condition = f" FILTER (WHERE {print_expr(call.filter)})" if call.filter is not None else ""
    order = [f"{print_expr(e)} {direction} {nulls}" for e, direction, nulls in call.order]
    if call.total_order and tie_break:
        names = [quote_name(name) for name in tie_break]
        order += [f"hash({', '.join(names)})", *(f"{name} NULLS LAST" for name in names)]
    partition = f"PARTITION BY {', '.join(print_expr(e) for e in call.partition)}" if call.partition else ""
    ordering = f" ORDER BY {', '.join(order)}" if order else ""
    over = f"{condition} OVER ({partition}{ordering}{' ' + call.frame if call.frame else ''})"
    if call.function in ("grid_sum", "grid_avg"):
        (arg,) = call.args
        return _grid_sum(arg, grid_of(arg, centered=False).step, over, "", mean=call.function == "grid_avg")
    return f"{call.function}({args}){over}"


def in_range(value: str, result: Expr | None) -> str:
    """The value within the range planned for tau rows, which a unit with more (before it is cut) could leave."""
    if result is None or result.lo is None or result.hi is None:
        return value
    ends = [print_expr(Expr("literal", result.type, payload=end, lo=end, hi=end)) for end in (result.lo, result.hi)]
    clamped = f"least(greatest({value}, {ends[0]}), {ends[1]})"
    if result.type.kind is Kind.INTEGER:
        # Not before: a sum of many rows is too large for this type.
        clamped = f"CAST({clamped} AS {sql_type(result.type, wide=is_wide(result))})"
    # Of a NULL, LEAST would make its other argument.
    return f"CASE WHEN {value} IS NOT NULL THEN {clamped} END"


def to_sql(call: nodes.AggregateCall, condition: str) -> str:
    """The call as an engine computes it. condition: its FILTER, or nothing."""
    assert call.arg is not None
    value = print_expr(call.arg)
    if call.function == "any_value":
        # Any of them will do, so the least: the first by storage would depend on everybody's rows.
        return f"min({value}){condition}"
    if call.step is not None:
        return _spread(call.arg, call.function, call.step, condition)
    assert call.second is not None
    other = print_expr(call.second)
    if call.function == "quantile_cont":
        return f"quantile_cont({value}, {other}){condition}"
    if call.function in ("arg_max", "arg_min"):
        direction = "DESC" if call.function == "arg_max" else "ASC"
        present = f"{value} IS NOT NULL AND {other} IS NOT NULL"
        rows = f" FILTER (WHERE {present})" if not condition else f"{condition[:-1]} AND {present})"
        return f"first({value} ORDER BY {other} {direction}, hash({value}), {value}){rows}"
    name, _, descending = call.function.partition(" ")
    return (
        f"{name}({value} ORDER BY {other} {'DESC' if descending else 'ASC'} NULLS LAST, {value} NULLS LAST){condition}"
    )


def _spread(arg: Expr, function: str, step: Fraction, condition: str) -> str:
    """From exact integer sums of steps and their squares: the same bits whatever the order of rows. Steps are counted
    from the least value, and so are less than 2^32 (`plan.unit_functions`): in 128 bits the sums of any number of rows
    fit, also of a unit that has not been cut yet."""
    scale = float_text(float(1 / step))
    least = print_expr(literal(arg.lo)) if arg.type.kind is Kind.INTEGER else float_text(float(arg.lo or 0))
    steps = f"CAST(({print_expr(arg)} - {least}) * {scale} AS BIGINT)"
    count, first = f"CAST(count({steps}){condition} AS HUGEINT)", f"sum({steps}){condition}"
    second = f"sum(CAST({steps} AS HUGEINT) * {steps}){condition}"
    below = f"{count} * ({count} - 1)" if function.endswith("samp") else f"{count} * {count}"
    spread = f"CAST({count} * {second} - {first} * {first} AS DOUBLE)"
    variance = f"({spread} / NULLIF(CAST({below} AS DOUBLE), 0) / {scale} / {scale})"
    return variance if function.startswith("var") else f"sqrt({variance})"


def _grid_sum(expr: Expr, step: Fraction, condition: str, distinct: str, *, mean: bool) -> str:
    """A sum of doubles on an integer grid: the same bits whatever the order of rows, and whoever else is there."""
    scale = float_text(float(1 / step))
    steps = f"CAST({print_expr(expr)} * {scale} AS BIGINT)"
    total = f"(CAST(sum({distinct}{steps}){condition} AS DOUBLE) / {scale})"
    return f"({total} / NULLIF(count({distinct}{steps}){condition}, 0))" if mean else total
