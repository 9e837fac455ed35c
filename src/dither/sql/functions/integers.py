"""Functions of whole numbers: bits, common divisors and multiples, factorials.

Bits are those of 64 (or 128) bits. Where what DuckDB gives depends on how many bits a number happens to be stored in
(counting or shifting out the sign), the use is refused.
"""

from __future__ import annotations

import math
from functools import partial

from dither.sql.expressions import Expr
from dither.sql.functions.casts import at_own_width, fit_integer, is_wide, unify, widen
from dither.sql.functions.ranges import Ends, ends_of
from dither.sql.functions.registry import Call, builder, template
from dither.sql.functions.signature import Row, define, integer
from dither.sql.types import INT64, INTEGER, Kind

SECTION = "Whole numbers"
integers = partial(builder, section=SECTION)

BIT_AND = template("bit_and_of", "({0} & {1})")
BIT_OR = template("bit_or_of", "({0} | {1})")
BIT_XOR = template("bit_xor_of", "xor({0}, {1})")
BIT_NOT = template("bit_not", "(~{0})")
BIT_COUNT = template("bit_count", "CAST(bit_count({0}) AS BIGINT)")
SHIFT_LEFT = template("shift_left", "({0} << {1})")
SHIFT_RIGHT = template("shift_right", "({0} >> {1})")
GCD = template("gcd", "gcd({0}, {1})")
LCM = template("lcm", "lcm({0}, {1})")
LARGEST_SHIFT = 125
LARGEST_FACTORIAL = 33
"""Its factorial is the largest below 2^126."""


@integers("&", example="age & 1")
def bit_and(call: Call) -> Expr:
    left, right = _pair(call)
    least_zero = [int(ends_of(arg)[1]) for arg in (left, right) if ends_of(arg)[0] >= 0]
    # A number that is never negative has no bits beyond its own, and lets through none either.
    ends = (0, min(least_zero)) if least_zero else _bits(left, right)
    return _of_pair(BIT_AND, left, right, ends)


@integers("|", example="age | 1")
def bit_or(call: Call) -> Expr:
    left, right = _pair(call)
    return _of_pair(BIT_OR, left, right, _bits(left, right))


@integers("xor", example="xor(age, 1)")
def bit_xor(call: Call) -> Expr:
    left, right = _pair(call)
    return _of_pair(BIT_XOR, left, right, _bits(left, right))


@integers("~", example="~age")
def bit_not(call: Call) -> Expr:
    call.need_count(1)
    arg = call.need_kind(0, Kind.INTEGER)
    lo, hi = ends_of(arg)
    return Expr(BIT_NOT, INTEGER, (arg,), nullable=arg.nullable, lo=-1 - hi, hi=-1 - lo)


@integers("bit_count", example="bit_count(age)")
def bit_count(call: Call) -> Expr:
    call.need_count(1)
    arg = _never_negative(call)
    most = int(ends_of(arg)[1]).bit_length()
    return Expr(BIT_COUNT, INTEGER, (arg,), nullable=arg.nullable, lo=0, hi=most)


@integers("<<", example="age << 2")
def shift_left(call: Call) -> Expr:
    call.need_count(2)
    value, by = _never_negative(call), _shift(call)
    shifts = [int(end) for end in ends_of(by)]
    shifted = [int(end) << shift for end, shift in zip(ends_of(value), shifts, strict=True)]
    lo, hi = fit_integer(call, *shifted)
    if hi > INT64[1] and not is_wide(value):
        value = widen(value)
    by = widen(by) if is_wide(value) else by
    nullable = value.nullable or by.nullable
    return at_own_width(Expr(SHIFT_LEFT, INTEGER, (value, by), nullable=nullable, lo=lo, hi=hi), value)


@integers(">>", example="age >> 2")
def shift_right(call: Call) -> Expr:
    call.need_count(2)
    value, by = _never_negative(call), _shift(call)
    shifts = [int(end) for end in ends_of(by)]
    lo, hi = int(ends_of(value)[0]) >> shifts[1], int(ends_of(value)[1]) >> shifts[0]
    by = widen(by) if is_wide(value) else by
    nullable = value.nullable or by.nullable
    return at_own_width(Expr(SHIFT_RIGHT, INTEGER, (value, by), nullable=nullable, lo=lo, hi=hi), value)


@integers("gcd", "greatest_common_divisor", example="gcd(age, 12)")
def gcd(call: Call) -> Expr:
    left, right = _sized_pair(call)
    return _of_pair(GCD, left, right, (0, max(_size(left), _size(right))))


@integers("lcm", "least_common_multiple", example="lcm(age, 12)")
def lcm(call: Call) -> Expr:
    left, right = _sized_pair(call)
    lo, hi = fit_integer(call, 0, _size(left) * _size(right))
    if hi > INT64[1] and not is_wide(left):
        left, right = widen(left), widen(right)
    return _of_pair(LCM, left, right, (lo, hi))


define(
    "factorial",
    row=Row(
        (integer,),
        INTEGER,
        f"CAST(CASE WHEN {{0}} BETWEEN 0 AND {LARGEST_FACTORIAL} "
        "THEN factorial(CAST({0} AS INTEGER)) END AS HUGEINT)",
        "factorial(age)",
        SECTION,
        # Always wider than BIGINT, as the template's type is.
        range=lambda arg: (1, math.factorial(LARGEST_FACTORIAL)),
        null_when=f"the argument is not from 0 to {LARGEST_FACTORIAL}",
    ),
)


def _pair(call: Call) -> tuple[Expr, Expr]:
    call.need_count(2)
    for index in range(2):
        call.need_kind(index, Kind.INTEGER)
    left, right = unify(call, call.args)
    return left, right


def _sized_pair(call: Call) -> tuple[Expr, Expr]:
    """Both in HUGEINT where one could be the least BIGINT, which has no size in BIGINT."""
    left, right = _pair(call)
    if not is_wide(left) and -(2**63) in (left.lo, right.lo):
        return widen(left), widen(right)
    return left, right


def _of_pair(op: str, left: Expr, right: Expr, ends: Ends) -> Expr:
    nullable = left.nullable or right.nullable
    result = Expr(op, INTEGER, (left, right), nullable=nullable, lo=ends[0], hi=ends[1])
    return at_own_width(result, left)


def _bits(left: Expr, right: Expr) -> Ends:
    """All numbers of as many bits as the arguments' largest have, negative ones only where one of those can be."""
    ends = [int(end) for arg in (left, right) for end in ends_of(arg)]
    limit = 1 << max(end.bit_length() for end in ends)
    return (-limit if min(ends) < 0 else 0), limit - 1


def _size(arg: Expr) -> int:
    return max(abs(int(end)) for end in ends_of(arg))


def _never_negative(call: Call) -> Expr:
    arg = call.need_kind(0, Kind.INTEGER)
    if ends_of(arg)[0] < 0:
        raise call.refuse(
            "F-147",
            f"{call.name} of numbers below 0 depends on how many bits they are stored in.",
            hint="Write GREATEST(x, 0) or x & 65535, or ask the owner to declare bounds.",
            arg=0,
        )
    return arg


def _shift(call: Call) -> Expr:
    by = call.need_kind(1, Kind.INTEGER)
    lo, hi = ends_of(by)
    if not 0 <= lo <= hi <= LARGEST_SHIFT:
        raise call.refuse("F-148", f"{call.name} needs a shift from 0 to {LARGEST_SHIFT} bits.", arg=1)
    return by
