"""Arithmetic: + - * / // % ^, rounding, roots and logarithms, with interval arithmetic rounded outward.

Integers stay exact (BIGINT or HUGEINT by range), decimals stay exact, doubles stay finite: what would be infinite or
undefined is NULL. `/` is division in doubles whatever the operands, as in DuckDB.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

from dither.sql.expressions import Expr
from dither.sql.functions.casts import (
    DBL_MAX,
    as_decimal,
    as_double,
    as_type,
    common_type,
    fit_integer,
    is_wide,
    narrow,
    unify,
    widen,
)
from dither.sql.functions.registry import Call, builder, template
from dither.sql.types import (
    DATE,
    DOUBLE,
    INTEGER,
    Bound,
    Kind,
    Type,
    decimal_limit,
    down,
    least_of,
    magnitude,
    up,
)

ADD = template("add", "({0} + {1})")
SUBTRACT = template("subtract", "({0} - {1})")
MULTIPLY = template("multiply", "({0} * {1})")
DIVIDE = template("divide", "({0} / NULLIF({1}, 0))")
INTEGER_DIVIDE = template("integer_divide", "({0} // NULLIF({1}, 0))")
MODULO = template("modulo", "({0} % NULLIF({1}, 0))")
NEGATE = template("negate", "(-{0})")
ABSOLUTE = template("abs", "abs({0})")
FLOOR = template("floor", "floor({0})")
CEIL = template("ceil", "ceil({0})")
TRUNC = template("trunc", "trunc({0})")
ROUND = template("round", "round({0}, CAST({1} AS INTEGER))")
SIGN = template("sign", "CAST(sign({0}) AS BIGINT)")
SQRT = template("sqrt", "sqrt({0})")
LN = template("ln", "ln({0})")
LOG10 = template("log10", "log10({0})")
LOG2 = template("log2", "log2({0})")
EXP = template("exp", "exp({0})")
POWER = template("power", "power({0}, {1})")
# NaN equals NaN in DuckDB, so three NULLIFs make a double finite or NULL without naming it twice.
FINITE = template(
    "finite",
    "NULLIF(NULLIF(NULLIF({0}, CAST('infinity' AS DOUBLE)), CAST('-infinity' AS DOUBLE)), CAST('nan' AS DOUBLE))",
)
GREATEST = template("greatest", "greatest({*})")
LEAST = template("least", "least({*})")
FARTHEST_DAY = 4_000_000
"""Days from 1970 that a computed date may reach: far inside what timestamps hold."""
ADD_DAYS = template("add_days", "({0} + CAST({1} AS INTEGER))")


def finite(expr: Expr) -> Expr:
    """The double, NULL where it is not finite, with its range cut to finite ends."""
    lo, hi = _ends(expr)
    clipped = max(-DBL_MAX, float(lo)), min(DBL_MAX, float(hi))
    return Expr(FINITE, DOUBLE, (expr,), nullable=True, lo=clipped[0], hi=clipped[1])


@builder("+")
def add(call: Call) -> Expr:
    if len(call.args) == 1:
        return call.need_kind(0, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)
    kinds = {arg.type.kind for arg in call.args}
    if Kind.DATE in kinds:
        date, days = call.args if call.args[0].type.kind is Kind.DATE else (call.args[1], call.args[0])
        return _shift_date(call, date, days, 1)
    return _binary(call, ADD, lambda a, b: a + b)


@builder("-")
def subtract(call: Call) -> Expr:
    if len(call.args) == 1:
        return _negate(call)
    left, right = call.args
    if left.type.kind is Kind.DATE and right.type.kind is Kind.DATE:
        lo, hi = _combine(left, right, lambda a, b: a - b)
        return Expr(SUBTRACT, INTEGER, (left, right), nullable=left.nullable or right.nullable, lo=lo, hi=hi)
    if left.type.kind is Kind.DATE:
        return _shift_date(call, left, right, -1)
    return _binary(call, SUBTRACT, lambda a, b: a - b)


@builder("*")
def multiply(call: Call) -> Expr:
    call.need_count(2)
    return _binary(call, MULTIPLY, lambda a, b: a * b)


@builder("/")
def divide(call: Call) -> Expr:
    """Division in doubles; by zero, and where the quotient is not finite, NULL."""
    call.need_count(2)
    _need_numbers(call)
    left, right = (as_double(arg) for arg in call.args)
    if right.lo is not None and right.hi is not None and (right.lo > 0 or right.hi < 0):
        lo, hi = _outward(_combine(left, right, lambda a, b: a / b))
    else:
        lo, hi = -math.inf, math.inf
    return _finite_where_needed(Expr(DIVIDE, DOUBLE, (left, right), nullable=True, lo=lo, hi=hi))


@builder("//")
def integer_divide(call: Call) -> Expr:
    """On integers, the quotient cut towards zero; otherwise the same as `/`, as in DuckDB."""
    call.need_count(2)
    _need_numbers(call)
    if common_type(call, call.args).kind is not Kind.INTEGER:
        return divide(call)
    left, right = _roomy(*unify(call, call.args))
    size = max(abs(int(end)) for end in _ends(left))
    result = Expr(INTEGER_DIVIDE, INTEGER, (left, right), nullable=True, lo=-size, hi=size)
    return _at_own_width(result, left)


@builder("%", "mod")
def modulo(call: Call) -> Expr:
    """The remainder with the sign of the dividend; by zero, NULL."""
    call.need_count(2)
    _need_numbers(call)
    left, right = unify(call, call.args)
    if left.type.kind is Kind.INTEGER:
        left, right = _roomy(left, right)
    size = magnitude(*_ends(right))
    least = 0 * size if _ends(left)[0] >= 0 else -size
    result = Expr(MODULO, left.type, (left, right), nullable=True, lo=least, hi=size)
    if left.type.kind is Kind.INTEGER:
        return narrow(result) if left.op == "to_hugeint" and not is_wide(result) else _at_own_width(result, left)
    return finite(result) if left.type.kind is Kind.DOUBLE else result


@builder("abs")
def absolute(call: Call) -> Expr:
    call.need_count(1)
    arg = call.need_kind(0, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)
    # The least BIGINT has no absolute value in BIGINT: work one size up when it can occur.
    arg = widen(arg) if arg.type.kind is Kind.INTEGER and not is_wide(arg) and arg.lo == -(2**63) else arg
    lo, hi = _ends(arg)
    least = 0 * lo if lo <= 0 <= hi else least_of(lo if lo >= 0 else -lo, hi if hi >= 0 else -hi)
    result = Expr(ABSOLUTE, arg.type, (arg,), nullable=arg.nullable, lo=least, hi=magnitude(lo, hi))
    return _at_own_width(result, arg) if arg.type.kind is Kind.INTEGER else result


@builder("floor")
def floor(call: Call) -> Expr:
    return _round_to_whole(call, FLOOR, math.floor)


@builder("ceil", "ceiling")
def ceil(call: Call) -> Expr:
    return _round_to_whole(call, CEIL, math.ceil)


@builder("trunc")
def trunc(call: Call) -> Expr:
    return _round_to_whole(call, TRUNC, math.trunc)


@builder("round")
def round_(call: Call) -> Expr:
    call.need_count(1, 2)
    arg = call.need_kind(0, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)
    digits = call.need_constant_integer(1, 0, 15) if len(call.args) == 2 else 0
    if arg.type.kind is Kind.INTEGER:
        return arg
    if arg.type.kind is Kind.DECIMAL:
        if digits >= arg.type.scale:
            return arg
        step = Fraction(1, 10**digits)
        lo, hi = _ends(arg)
        place = Expr("literal", INTEGER, payload=digits, nullable=False, lo=digits, hi=digits)
        return as_decimal(
            call,
            Expr(
                ROUND,
                Type(Kind.DECIMAL, arg.type.scale),
                (arg, place),
                nullable=arg.nullable,
                lo=lo - step,
                hi=hi + step,
            ),
            digits,
        )
    lo, hi = _ends(arg)
    step_size = 10.0**-digits
    place = Expr("literal", INTEGER, payload=digits, nullable=False, lo=digits, hi=digits)
    return finite(
        Expr(ROUND, DOUBLE, (arg, place), nullable=arg.nullable, lo=float(lo) - step_size, hi=float(hi) + step_size)
    )


@builder("sign")
def sign(call: Call) -> Expr:
    call.need_count(1)
    arg = call.need_kind(0, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)
    return Expr(SIGN, INTEGER, (arg,), nullable=arg.nullable, lo=-1, hi=1)


@builder("sqrt")
def sqrt(call: Call) -> Expr:
    return _of_double(call, SQRT, math.sqrt, least=0.0, below=0.0)


@builder("ln")
def ln(call: Call) -> Expr:
    return _of_double(call, LN, math.log, least=5e-324, below=-745.2)


@builder("log", "log10")
def log10(call: Call) -> Expr:
    return _of_double(call, LOG10, math.log10, least=5e-324, below=-323.4)


@builder("log2")
def log2(call: Call) -> Expr:
    return _of_double(call, LOG2, math.log2, least=5e-324, below=-1074.1)


@builder("exp")
def exp(call: Call) -> Expr:
    return _of_double(call, EXP, lambda x: math.exp(x) if x < 709 else math.inf, least=-math.inf, below=0.0)


@builder("power", "pow", "^", "**")
def power(call: Call) -> Expr:
    """In doubles; NULL where not finite (a negative number to a fraction, zero to a negative, overflow)."""
    call.need_count(2)
    _need_numbers(call)
    base, exponent = (as_double(arg) for arg in call.args)
    lo, hi = -math.inf, math.inf
    constant = call.args[1].payload
    if isinstance(constant, int) and 0 <= constant <= 64:
        ends = [_power(float(end), constant) for end in _ends(base)]
        spans_zero = _ends(base)[0] <= 0 <= _ends(base)[1]
        lo, hi = _outward((min(*ends, 0.0) if spans_zero else min(ends), max(*ends, 0.0) if spans_zero else max(ends)))
    return _finite_where_needed(
        Expr(POWER, DOUBLE, (base, exponent), nullable=base.nullable or exponent.nullable, lo=lo, hi=hi)
    )


@builder("greatest")
def greatest(call: Call) -> Expr:
    return _extreme(call, GREATEST, max)


@builder("least")
def least(call: Call) -> Expr:
    return _extreme(call, LEAST, min)


def _extreme(call: Call, op: str, pick: Callable[..., Bound]) -> Expr:
    """NULLs are skipped, as in DuckDB and PostgreSQL: the result is NULL only when all are."""
    call.need_count(1, 100)
    args = unify(call, call.args)
    if not args[0].type.has_range:
        raise call.refuse("F-120", f"{call.name} takes numbers, dates or timestamps; found {args[0].type}.")
    never_null = [arg for arg in args if not arg.nullable]
    los, his = [_ends(arg)[0] for arg in args], [_ends(arg)[1] for arg in args]
    lo, hi = min(los), max(his)
    # A side that never is NULL bounds the result from its own side, whatever the others hold.
    if never_null and pick is max:
        lo = max(_ends(arg)[0] for arg in never_null)
    if never_null and pick is min:
        hi = min(_ends(arg)[1] for arg in never_null)
    result = Expr(op, args[0].type, args, nullable=not never_null, lo=lo, hi=hi)
    return _at_own_width(result, args[0]) if args[0].type.kind is Kind.INTEGER else result


def _negate(call: Call) -> Expr:
    arg = call.need_kind(0, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)
    if arg.type.kind is Kind.NULL:
        raise call.refuse("F-122", "The type of this NULL is unknown.", hint="Write CAST(NULL AS ...).")
    arg = widen(arg) if arg.type.kind is Kind.INTEGER and not is_wide(arg) and arg.lo == -(2**63) else arg
    lo, hi = _ends(arg)
    # `0.0 - x` where `-x` would make a negative zero.
    if arg.type.kind is Kind.DOUBLE:
        zero = Expr("literal", DOUBLE, payload=0.0, nullable=False, lo=0.0, hi=0.0)
        return Expr(SUBTRACT, DOUBLE, (zero, arg), nullable=arg.nullable, lo=-hi, hi=-lo)
    return Expr(NEGATE, arg.type, (arg,), nullable=arg.nullable, lo=-hi, hi=-lo)


def _binary(call: Call, op: str, compute: Callable[[Bound, Bound], Bound]) -> Expr:
    call.need_count(2)
    _need_numbers(call)
    target = common_type(call, call.args)
    match target.kind:
        case Kind.INTEGER:
            return _integer(call, op, compute)
        case Kind.DECIMAL:
            return _decimal(call, op, compute)
        case Kind.DOUBLE:
            left, right = (as_double(arg) for arg in call.args)
            lo, hi = _outward(_combine(left, right, compute))
            nullable = left.nullable or right.nullable
            return _finite_where_needed(Expr(op, DOUBLE, (left, right), nullable=nullable, lo=lo, hi=hi))
    raise call.refuse(
        "F-120", f"{call.name} needs numbers; found {target}.", hint="Text is never read as a number here."
    )


def _integer(call: Call, op: str, compute: Callable[[Bound, Bound], Bound]) -> Expr:
    left, right = (as_type(call, arg, INTEGER) for arg in call.args)
    lo, hi = fit_integer(call, *_combine(left, right, compute))
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
    lo, hi = _combine(left, right, compute)
    if scale > 37 or magnitude(lo, hi) >= decimal_limit(scale):
        raise call.refuse(
            "F-141",
            f"{call.name} could overflow a decimal with {scale} digits after the point.",
            hint="Declare `bounds` on the columns, or work in CAST(... AS DOUBLE).",
        )
    return Expr(op, Type(Kind.DECIMAL, scale), (left, right), nullable=left.nullable or right.nullable, lo=lo, hi=hi)


def _shift_date(call: Call, date: Expr, days: Expr, direction: int) -> Expr:
    if days.type.kind is not Kind.INTEGER:
        raise call.refuse("F-120", f"A date takes whole days here; found {days.type}.", hint="Write d + 30.")
    lo, hi = _ends(days)
    first, last = _ends(date)
    if magnitude(lo, hi) > 4_000_000:
        raise call.refuse("F-142", "This moves a date by more than ten thousand years.")
    op = ADD_DAYS
    amount = days if direction > 0 else Expr(NEGATE, INTEGER, (days,), nullable=days.nullable, lo=-hi, hi=-lo)
    shift = (lo, hi) if direction > 0 else (-hi, -lo)
    if magnitude(first + shift[0], last + shift[1]) > FARTHEST_DAY:
        raise call.refuse("F-142", "This moves a date by more than ten thousand years.")
    nullable = date.nullable or days.nullable
    return Expr(op, DATE, (date, amount), nullable=nullable, lo=first + shift[0], hi=last + shift[1])


def _round_to_whole(call: Call, op: str, compute: Callable[[float], int]) -> Expr:
    """DuckDB's types: integers give doubles, decimals give decimals without digits, doubles stay doubles."""
    call.need_count(1)
    arg = call.need_kind(0, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)
    if arg.type.kind is Kind.DECIMAL:
        lo, hi = _ends(arg)
        inner = Expr(
            op,
            Type(Kind.DECIMAL, 0),
            (arg,),
            nullable=arg.nullable,
            lo=Fraction(math.floor(lo)),
            hi=Fraction(math.ceil(hi)),
        )
        return as_decimal(call, inner, 0)
    value = as_double(arg)
    ends: tuple[Bound, Bound] = _ends(arg) if arg.type.kind is Kind.INTEGER else _ends(value)
    lo, hi = (float(compute(float(end))) if abs(float(end)) < 2.0**62 else float(end) for end in ends)
    return Expr(op, DOUBLE, (value,), nullable=value.nullable, lo=lo, hi=hi)


def _of_double(call: Call, op: str, compute: Callable[[float], float], *, least: float, below: float) -> Expr:
    """An increasing function of a double, defined from `least` up; `below` bounds its values from below."""
    call.need_count(1)
    _need_numbers(call)
    value = as_double(call.args[0])
    lo, hi = (float(end) for end in _ends(value))
    high = up(up(compute(hi))) if hi >= least else below
    low = max(below, down(down(compute(lo)))) if lo >= max(least, 5e-324) else below
    result = Expr(op, DOUBLE, (value,), nullable=value.nullable, lo=low, hi=max(low, high))
    # Outside its domain DuckDB gives NaN or an infinity, never an error.
    return finite(result) if lo < least else _finite_where_needed(result)


def _roomy(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Both in HUGEINT where the least BIGINT could meet -1: that one quotient does not fit its type."""
    if is_wide(left) or left.lo != -(2**63):
        return left, right
    return widen(left), widen(right)


def _need_numbers(call: Call) -> None:
    for index in range(len(call.args)):
        call.need_kind(index, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)


def _at_own_width(result: Expr, worked_in: Expr) -> Expr:
    return narrow(result) if is_wide(worked_in) and not is_wide(result) else result


def _finite_where_needed(expr: Expr) -> Expr:
    lo, hi = _ends(expr)
    return expr if lo >= -DBL_MAX and hi <= DBL_MAX else finite(expr)


def _ends(expr: Expr) -> tuple[Bound, Bound]:
    assert expr.lo is not None and expr.hi is not None, expr
    return expr.lo, expr.hi


def _combine(left: Expr, right: Expr, compute: Callable[[Bound, Bound], Bound]) -> tuple[Bound, Bound]:
    """The range of a function that is monotone in each argument: its extremes lie at the corners."""
    corners = []
    for a, b in itertools.product(_ends(left), _ends(right)):
        try:
            value = compute(a, b)
        except OverflowError:
            value = math.inf
        corners.append(value)
    if any(isinstance(value, float) and math.isnan(value) for value in corners):
        return -math.inf, math.inf
    return min(corners), max(corners)


def _outward(ends: tuple[Bound, Bound]) -> tuple[float, float]:
    return down(float(ends[0])), up(float(ends[1]))


def _power(base: float, exponent: int) -> float:
    try:
        return base**exponent
    except OverflowError:
        return math.inf if base > 0 or exponent % 2 == 0 else -math.inf
