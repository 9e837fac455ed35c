"""Aggregates within one unit as SQL, where they are more than the function's name and its argument.

Flow: `relations` prints the calls of `plan.unit_functions` with these. Every order is completed by the picked value
and every sum is one of integers, so that no result depends on how rows lie on disk.
Proof: docs/proofs/plan/unit-functions.md
"""

from __future__ import annotations

from fractions import Fraction

from dither.plan import nodes
from dither.sql.expressions import Expr, literal
from dither.sql.printing import float_text, print_expr
from dither.sql.types import Kind

__all__ = ["to_sql"]


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
