"""Rounding: to whole numbers, to digits before and after the point, to even numbers.

Types are DuckDB's: FLOOR, CEIL and EVEN of integers give doubles, ROUND and TRUNC of integers give integers; decimals
give decimals with the digits that are left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from dither.sql.expressions import Expr, literal
from dither.sql.functions.casts import (
    as_decimal,
    as_double,
    at_own_width,
    finite_where_needed,
    fit_integer,
    is_wide,
    widen,
)
from dither.sql.functions.ranges import (
    ends_of,
    float_ends,
    loosened,
    round_half_away,
    round_half_even,
    truncate_to,
)
from dither.sql.functions.registry import Call, builder, template
from dither.sql.functions.signature import Row, define, number
from dither.sql.types import DOUBLE, Bound, Kind, Type, decimal

SECTION = "Rounding"
rounding = partial(builder, section=SECTION)

FLOOR = template("floor", "floor({0})")
CEIL = template("ceil", "ceil({0})")
TRUNC = template("trunc", "trunc({0})")
TRUNC_DIGITS = template("trunc_digits", "trunc({0}, CAST({1} AS INTEGER))")
ROUND = template("round", "round({0}, CAST({1} AS INTEGER))")
ROUND_EVEN = template("round_even", "round_even({0}, CAST({1} AS INTEGER))")
DIGITS = (-18, 15)
NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)

Exact = Callable[[Bound, int], int]
"""(value, step) -> the multiple of the step that it is rounded to."""


@rounding("floor", example="floor(income / 1000)")
def floor(call: Call) -> Expr:
    return _to_whole(call, FLOOR, math.floor)


@rounding("ceil", "ceiling", example="ceil(income / 1000)")
def ceil(call: Call) -> Expr:
    return _to_whole(call, CEIL, math.ceil)


@rounding("trunc", example="trunc(income, 1)")
def trunc(call: Call) -> Expr:
    call.need_count(1, 2)
    arg = call.need_kind(0, *NUMBERS)
    if len(call.args) == 2:
        return _to_digits(call, TRUNC_DIGITS, truncate_to)
    return arg if arg.type.kind is Kind.INTEGER else _to_whole(call, TRUNC, math.trunc)


@rounding("round", example="round(income, 1)")
def round_(call: Call) -> Expr:
    """Half-way cases away from zero."""
    return _to_digits(call, ROUND, round_half_away)


@rounding("round_even", "roundbankers", example="round_even(income, 1)")
def round_even(call: Call) -> Expr:
    call.need_count(2)
    return _to_digits(call, ROUND_EVEN, round_half_even)


def _even_ends(arg: Expr) -> tuple[float, float]:
    """Away from zero to the next even number: at most two further out."""
    lo, hi = float_ends(arg)
    return (lo - 2 if lo < 0 else 0.0), (hi + 2 if hi > 0 else 0.0)


define(
    "even",
    row=Row((number,), DOUBLE, "even({0})", "even(income)", SECTION, range=_even_ends),
)


def _to_whole(call: Call, op: str, compute: Callable[[float], int]) -> Expr:
    call.need_count(1)
    arg = call.need_kind(0, *NUMBERS)
    if arg.type.kind is Kind.DECIMAL:
        lo, hi = (Fraction(math.floor(ends_of(arg)[0])), Fraction(math.ceil(ends_of(arg)[1])))
        return as_decimal(call, Expr(op, decimal(0), (arg,), nullable=arg.nullable, lo=lo, hi=hi), 0)
    value = as_double(arg)
    ends = (float(compute(end)) if abs(end) < 2.0**62 else end for end in float_ends(value))
    low, high = ends
    return Expr(op, DOUBLE, (value,), nullable=value.nullable, lo=low, hi=high)


def _to_digits(call: Call, op: str, exact: Exact) -> Expr:
    call.need_count(1, 2)
    arg = call.need_kind(0, *NUMBERS)
    digits = call.need_constant_integer(1, *DIGITS) if len(call.args) == 2 else 0
    match arg.type.kind:
        case Kind.INTEGER:
            return arg if digits >= 0 else _integer_digits(call, op, exact, arg, digits)
        case Kind.DECIMAL:
            return arg if digits >= arg.type.scale else _decimal_digits(call, op, arg, digits)
    lo, hi = loosened(*float_ends(arg))
    step = 10.0**-digits
    return finite_where_needed(
        Expr(op, DOUBLE, (arg, literal(digits)), nullable=arg.nullable, lo=lo - step, hi=hi + step)
    )


def _integer_digits(call: Call, op: str, exact: Exact, arg: Expr, digits: int) -> Expr:
    step = 10**-digits
    lo, hi = fit_integer(call, *(exact(end, step) for end in ends_of(arg)))
    result = Expr(op, arg.type, (arg, literal(digits)), nullable=arg.nullable, lo=lo, hi=hi)
    if is_wide(result) and not is_wide(arg):
        # Rounded up, the largest numbers of 64 bits leave them.
        return Expr(op, arg.type, (widen(arg), literal(digits)), nullable=arg.nullable, lo=lo, hi=hi)
    return at_own_width(result, arg)


def _decimal_digits(call: Call, op: str, arg: Expr, digits: int) -> Expr:
    lo, hi = ends_of(arg)
    step = Fraction(10) ** -digits
    rounded = Expr(
        op,
        Type(Kind.DECIMAL, arg.type.scale),
        (arg, literal(digits)),
        nullable=arg.nullable,
        lo=Fraction(lo) - step,
        hi=Fraction(hi) + step,
    )
    return as_decimal(call, rounded, max(digits, 0))
