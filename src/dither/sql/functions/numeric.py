"""Exact and floating-point + - * on numbers, by themselves: what operators and spans of time are built on.

Integers stay exact (BIGINT or HUGEINT by range), decimals stay exact, doubles stay finite.
"""

from __future__ import annotations

from collections.abc import Callable

from dither.sql.expressions import Expr, literal
from dither.sql.functions.casts import (
    as_decimal,
    as_double,
    as_type,
    common_type,
    finite_where_needed,
    fit_integer,
    is_wide,
    narrow,
    need_numbers,
    widen,
)
from dither.sql.functions.ranges import combine, ends_of, outward
from dither.sql.functions.registry import Call, template
from dither.sql.types import DOUBLE, INTEGER, Bound, Kind, Type, decimal_limit, magnitude

__all__ = ["add_numbers", "divide_whole", "multiply_numbers", "negate", "remainder", "subtract_numbers"]

ADD = template("add", "({0} + {1})")
SUBTRACT = template("subtract", "({0} - {1})")
MULTIPLY = template("multiply", "({0} * {1})")
NEGATE = template("negate", "(-{0})")
# By constants that are not zero, as parts of spans of time are.
WHOLE_QUOTIENT = template("whole_quotient", "({0} // {1})")
WHOLE_REMAINDER = template("whole_remainder", "({0} % {1})")


def add_numbers(call: Call) -> Expr:
    return _binary(call, ADD, lambda a, b: a + b)


def subtract_numbers(call: Call) -> Expr:
    return _binary(call, SUBTRACT, lambda a, b: a - b)


def multiply_numbers(call: Call) -> Expr:
    return _binary(call, MULTIPLY, lambda a, b: a * b)


def divide_whole(expr: Expr, divisor: int) -> Expr:
    """An integer divided by a positive constant, cut towards zero."""
    lo, hi = ends_of(expr)
    quotient = [abs(end) // divisor * (1 if end >= 0 else -1) for end in (int(lo), int(hi))]
    args = (expr, literal(divisor))
    return Expr(WHOLE_QUOTIENT, INTEGER, args, nullable=expr.nullable, lo=quotient[0], hi=quotient[1])


def remainder(expr: Expr, divisor: int) -> Expr:
    """What `divide_whole` leaves, with the sign of the dividend."""
    lo, hi = ends_of(expr)
    least = -min(divisor - 1, -int(lo)) if lo < 0 else 0
    most = min(divisor - 1, int(hi)) if hi > 0 else 0
    return Expr(WHOLE_REMAINDER, INTEGER, (expr, literal(divisor)), nullable=expr.nullable, lo=least, hi=most)


def negate(call: Call, arg: Expr) -> Expr:
    """-x of a number."""
    if arg.type.kind is Kind.NULL:
        raise call.refuse("F-122", "The type of this NULL is unknown.", hint="Write CAST(NULL AS ...).")
    # The least BIGINT has no negative in BIGINT: work one size up when it can occur.
    arg = widen(arg) if arg.type.kind is Kind.INTEGER and not is_wide(arg) and arg.lo == -(2**63) else arg
    lo, hi = ends_of(arg)
    # `0.0 - x` where `-x` would make a negative zero.
    if arg.type.kind is Kind.DOUBLE:
        return Expr(SUBTRACT, DOUBLE, (literal(0.0), arg), nullable=arg.nullable, lo=-hi, hi=-lo)
    return Expr(NEGATE, arg.type, (arg,), nullable=arg.nullable, lo=-hi, hi=-lo)


def _binary(call: Call, op: str, compute: Callable[[Bound, Bound], Bound]) -> Expr:
    call.need_count(2)
    need_numbers(call)
    target = common_type(call, call.args)
    match target.kind:
        case Kind.INTEGER:
            return _integer(call, op, compute)
        case Kind.DECIMAL:
            return _decimal(call, op, compute)
        case Kind.DOUBLE:
            left, right = (as_double(arg) for arg in call.args)
            lo, hi = outward(combine(left, right, compute))
            nullable = left.nullable or right.nullable
            return finite_where_needed(Expr(op, DOUBLE, (left, right), nullable=nullable, lo=lo, hi=hi))
    raise call.refuse(
        "F-120", f"{call.name} needs numbers; found {target}.", hint="Text is never read as a number here."
    )


def _integer(call: Call, op: str, compute: Callable[[Bound, Bound], Bound]) -> Expr:
    left, right = (as_type(call, arg, INTEGER) for arg in call.args)
    lo, hi = fit_integer(call, *combine(left, right, compute))
    result = Expr(op, INTEGER, (left, right), nullable=left.nullable or right.nullable, lo=lo, hi=hi)
    if is_wide(result) or is_wide(left) or is_wide(right):
        left, right = (arg if is_wide(arg) else widen(arg) for arg in (left, right))
        wide = Expr(op, INTEGER, (left, right), nullable=result.nullable, lo=lo, hi=hi)
        return wide if is_wide(result) else narrow(wide)
    return result


def _decimal(call: Call, op: str, compute: Callable[[Bound, Bound], Bound]) -> Expr:
    scales = [arg.type.scale for arg in call.args]
    if op == MULTIPLY:
        left, right = (as_decimal(call, arg, arg.type.scale) for arg in call.args)
        scale = sum(scales)
    else:
        scale = max(scales)
        left, right = (as_decimal(call, arg, scale) for arg in call.args)
    lo, hi = combine(left, right, compute)
    if scale > 37 or magnitude(lo, hi) >= decimal_limit(scale):
        raise call.refuse(
            "F-141",
            f"{call.name} could overflow a decimal with {scale} digits after the point.",
            hint="Declare `bounds` on the columns, or work in CAST(... AS DOUBLE).",
        )
    return Expr(op, Type(Kind.DECIMAL, scale), (left, right), nullable=left.nullable or right.nullable, lo=lo, hi=hi)
