"""Operators on numbers and moments: + - * / // %, sizes, and the greatest and least of several.

`/` is division in doubles whatever the operands, as in DuckDB; what would be infinite or undefined is NULL. Dates and
timestamps are moved by `intervals`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dither.sql.expressions import Expr
from dither.sql.functions import intervals
from dither.sql.functions.casts import (
    as_double,
    at_own_width,
    common_type,
    finite,
    finite_where_needed,
    is_wide,
    need_numbers,
    unify,
    widen,
)
from dither.sql.functions.logic import comparable
from dither.sql.functions.numeric import add_numbers, multiply_numbers, negate, subtract_numbers
from dither.sql.functions.ranges import WHOLE_LINE, combine, ends_of, outward
from dither.sql.functions.registry import Call, builder, template
from dither.sql.types import DOUBLE, INTEGER, TEXT, Bound, Kind, least_of, magnitude

SECTION = "Numbers"
numbers = partial(builder, section=SECTION)
MOMENTS = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.INTERVAL})

DIVIDE = template("divide", "({0} / NULLIF({1}, 0))")
INTEGER_DIVIDE = template("integer_divide", "({0} // NULLIF({1}, 0))")
MODULO = template("modulo", "({0} % NULLIF({1}, 0))")
ABSOLUTE = template("abs", "abs({0})")
SIGN = template("sign", "CAST(sign({0}) AS BIGINT)")
GREATEST = template("greatest", "greatest({*})")
LEAST = template("least", "least({*})")


@numbers("+", "add", example="age + 1")
def add(call: Call) -> Expr:
    call.need_count(1, 2)
    if len(call.args) == 1:
        return call.need_kind(0, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)
    if MOMENTS & {arg.type.kind for arg in call.args}:
        return intervals.add(call)
    return add_numbers(call)


@numbers("-", "subtract", example="price - 5")
def subtract(call: Call) -> Expr:
    call.need_count(1, 2)
    if MOMENTS & {arg.type.kind for arg in call.args}:
        return intervals.subtract(call)
    if len(call.args) == 1:
        call.need_kind(0, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)
        return negate(call, call.args[0])
    return subtract_numbers(call)


@numbers("*", "multiply", example="income * 0.5", null_when="the product is beyond the doubles")
def multiply(call: Call) -> Expr:
    call.need_count(2)
    if Kind.INTERVAL in {arg.type.kind for arg in call.args}:
        return intervals.multiply(call)
    return multiply_numbers(call)


@numbers("/", example="age / 10", null_when="the divisor is 0")
def divide(call: Call) -> Expr:
    """Division in doubles; by zero, and where the quotient is not finite, NULL."""
    call.need_count(2)
    need_numbers(call)
    left, right = (as_double(arg) for arg in call.args)
    if right.lo is not None and right.hi is not None and (right.lo > 0 or right.hi < 0):
        lo, hi = outward(combine(left, right, lambda a, b: a / b))
    else:
        lo, hi = WHOLE_LINE
    return finite_where_needed(Expr(DIVIDE, DOUBLE, (left, right), nullable=True, lo=lo, hi=hi))


@numbers("//", "divide", example="age // 10", null_when="the divisor is 0")
def integer_divide(call: Call) -> Expr:
    """On integers, the quotient cut towards zero; otherwise the same as `/`, as in DuckDB."""
    call.need_count(2)
    need_numbers(call)
    if common_type(call, call.args).kind is not Kind.INTEGER:
        return divide(call)
    left, right = _roomy(*unify(call, call.args))
    size = max(abs(int(end)) for end in ends_of(left))
    least = 0 if ends_of(left)[0] >= 0 and ends_of(right)[0] >= 0 else -size
    result = Expr(INTEGER_DIVIDE, INTEGER, (left, right), nullable=True, lo=least, hi=size)
    return at_own_width(result, left)


@numbers("%", "mod", example="age % 10", null_when="the divisor is 0")
def modulo(call: Call) -> Expr:
    """The remainder with the sign of the dividend; by zero, NULL."""
    call.need_count(2)
    need_numbers(call)
    left, right = unify(call, call.args)
    if left.type.kind is Kind.INTEGER:
        left, right = _roomy(left, right)
    size = magnitude(*ends_of(right))
    least = 0 * size if ends_of(left)[0] >= 0 else -size
    most = 0 * size if ends_of(left)[1] <= 0 else size
    result = Expr(MODULO, left.type, (left, right), nullable=True, lo=least, hi=most)
    if left.type.kind is Kind.INTEGER:
        return at_own_width(result, left)
    return finite(result) if left.type.kind is Kind.DOUBLE else result


@numbers("abs", "@", example="abs(price)")
def absolute(call: Call) -> Expr:
    call.need_count(1)
    arg = call.need_kind(0, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)
    # The least BIGINT has no absolute value in BIGINT: work one size up when it can occur.
    arg = widen(arg) if arg.type.kind is Kind.INTEGER and not is_wide(arg) and arg.lo == -(2**63) else arg
    lo, hi = ends_of(arg)
    least = 0 * lo if lo <= 0 <= hi else least_of(lo if lo >= 0 else -lo, hi if hi >= 0 else -hi)
    result = Expr(ABSOLUTE, arg.type, (arg,), nullable=arg.nullable, lo=least, hi=magnitude(lo, hi))
    return at_own_width(result, arg) if arg.type.kind is Kind.INTEGER else result


@numbers("sign", example="sign(price)")
def sign(call: Call) -> Expr:
    call.need_count(1)
    arg = call.need_kind(0, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)
    lo, hi = ends_of(arg)
    least, most = ((end > 0) - (end < 0) for end in (lo, hi))
    return Expr(SIGN, INTEGER, (arg,), nullable=arg.nullable, lo=least, hi=most)


@numbers("greatest", example="greatest(age, 18)")
def greatest(call: Call) -> Expr:
    return _extreme(call, GREATEST, max)


@numbers("least", example="least(income, 5e5)")
def least(call: Call) -> Expr:
    return _extreme(call, LEAST, min)


def _extreme(call: Call, op: str, pick: Callable[..., Bound]) -> Expr:
    """NULLs are skipped, as in DuckDB and PostgreSQL: the result is NULL only when all are."""
    call.need_count(1, 100)
    args = unify(call, comparable(call))
    nullable = all(arg.nullable for arg in args)
    if args[0].type.kind is Kind.TEXT:
        return Expr(op, TEXT, args, nullable=nullable, length=max(arg.length for arg in args))
    if not args[0].type.has_range:
        raise call.refuse("F-120", f"{call.name} takes numbers, texts, dates or timestamps; found {args[0].type}.")
    never_null = [arg for arg in args if not arg.nullable]
    los, his = [ends_of(arg)[0] for arg in args], [ends_of(arg)[1] for arg in args]
    lo, hi = min(los), max(his)
    # A side that never is NULL bounds the result from its own side, whatever the others hold.
    if never_null and pick is max:
        lo = max(ends_of(arg)[0] for arg in never_null)
    if never_null and pick is min:
        hi = min(ends_of(arg)[1] for arg in never_null)
    result = Expr(op, args[0].type, args, nullable=nullable, lo=lo, hi=hi)
    return at_own_width(result, args[0]) if args[0].type.kind is Kind.INTEGER else result


def _roomy(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Both in HUGEINT where the least BIGINT could meet -1: that one quotient does not fit its type."""
    if is_wide(left) or left.lo != -(2**63):
        return left, right
    return widen(left), widen(right)
