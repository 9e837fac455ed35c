"""Bringing operands to one type: every operand is cast by us, so the engine never converts on its own.

An INTEGER expression is printed as BIGINT when its range fits, else as HUGEINT; a range beyond 126 bits is refused.
A DOUBLE expression is finite or NULL. Both hold for every expression, and each rule here keeps them.
"""

from __future__ import annotations

import sys
from fractions import Fraction

from dither.sql.expressions import Expr, typed_null
from dither.sql.functions.ranges import float_ends
from dither.sql.functions.registry import Call, template
from dither.sql.types import (
    DOUBLE,
    INT64,
    INTEGER,
    NULL,
    TIMESTAMP,
    Bound,
    Kind,
    Type,
    decimal_limit,
    down,
    up,
)

__all__ = [
    "DBL_MAX",
    "ONLY_COMPARED",
    "as_decimal",
    "as_double",
    "as_type",
    "at_own_width",
    "common_type",
    "finite",
    "finite_where_needed",
    "fit_integer",
    "is_wide",
    "narrow",
    "need_numbers",
    "unify",
    "widen",
]

DBL_MAX = sys.float_info.max
HUGEINT_LIMIT = 2**126

TO_DOUBLE = template("to_double", "CAST({0} AS DOUBLE)")
TO_BIGINT = template("to_bigint", "CAST({0} AS BIGINT)")
TO_HUGEINT = template("to_hugeint", "CAST({0} AS HUGEINT)")
TO_TIMESTAMP = template("to_timestamp", "CAST({0} AS TIMESTAMP)")
TO_DECIMAL = "to_decimal"  # printed by emit: its text depends on the digits needed
# NaN equals NaN in DuckDB, so three NULLIFs make a double finite or NULL without naming it twice.
FINITE = template(
    "finite",
    "NULLIF(NULLIF(NULLIF({0}, CAST('infinity' AS DOUBLE)), CAST('-infinity' AS DOUBLE)), CAST('nan' AS DOUBLE))",
)


def is_wide(expr: Expr) -> bool:
    """Is this INTEGER expression printed as HUGEINT?"""
    assert expr.lo is not None and expr.hi is not None
    return expr.lo < INT64[0] or expr.hi > INT64[1]


def widen(expr: Expr) -> Expr:
    """The same integers as HUGEINT, for work whose result needs the room."""
    return Expr(TO_HUGEINT, INTEGER, (expr,), nullable=expr.nullable, lo=expr.lo, hi=expr.hi)


def narrow(expr: Expr) -> Expr:
    """The same integers as BIGINT, where the range allows."""
    return Expr(TO_BIGINT, INTEGER, (expr,), nullable=expr.nullable, lo=expr.lo, hi=expr.hi)


def at_own_width(result: Expr, worked_in: Expr) -> Expr:
    """An integer result as BIGINT again where it was computed in HUGEINT only for the room."""
    in_hugeint = is_wide(worked_in) or worked_in.op == TO_HUGEINT
    return narrow(result) if in_hugeint and not is_wide(result) else result


def finite(expr: Expr) -> Expr:
    """The double, NULL where it is not finite, with its range cut to finite ends."""
    lo, hi = float_ends(expr)
    return Expr(FINITE, DOUBLE, (expr,), nullable=True, lo=max(-DBL_MAX, lo), hi=min(DBL_MAX, hi))


def finite_where_needed(expr: Expr) -> Expr:
    """`finite`, where the range does not tell that it always is."""
    lo, hi = float_ends(expr)
    return expr if lo >= -DBL_MAX and hi <= DBL_MAX else finite(expr)


def need_numbers(call: Call) -> None:
    for index in range(len(call.args)):
        call.need_kind(index, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)


def fit_integer(call: Call, lo: Bound, hi: Bound) -> tuple[Bound, Bound]:
    """The range itself, or a refusal when no integer type of ours holds it."""
    if lo < -HUGEINT_LIMIT or hi > HUGEINT_LIMIT:
        raise call.refuse(
            "F-140",
            f"{call.name} could overflow 128-bit integers on the values allowed here.",
            hint="Declare `bounds` on the columns, or work in CAST(... AS DOUBLE).",
        )
    return lo, hi


def as_double(expr: Expr) -> Expr:
    match expr.type.kind:
        case Kind.DOUBLE:
            return expr
        case Kind.NULL:
            return typed_null(DOUBLE)
        case _:
            assert expr.lo is not None and expr.hi is not None
            exact = expr.type.kind is Kind.INTEGER
            lo, hi = _float_down(expr.lo, exact), _float_up(expr.hi, exact)
            return Expr(TO_DOUBLE, DOUBLE, (expr,), nullable=expr.nullable, lo=lo, hi=hi)


def as_decimal(call: Call, expr: Expr, scale: int) -> Expr:
    target = Type(Kind.DECIMAL, scale)
    if expr.type == target:
        return expr
    if expr.type.kind is Kind.NULL:
        return typed_null(target)
    assert expr.lo is not None and expr.hi is not None
    lo, hi = _decimal_range(call, expr.lo, expr.hi, scale)
    if expr.type.kind is Kind.DECIMAL and expr.type.scale > scale:
        lo, hi = lo - Fraction(1, 10**scale), hi + Fraction(1, 10**scale)
    return Expr(TO_DECIMAL, target, (expr,), nullable=expr.nullable, lo=lo, hi=hi)


def as_type(call: Call, expr: Expr, target: Type) -> Expr:
    """The expression as `target`, where the step loses nothing; used when operands are brought to a common type."""
    if expr.type == target:
        return expr
    match target.kind:
        case Kind.DOUBLE:
            return as_double(expr)
        case Kind.DECIMAL:
            return as_decimal(call, expr, target.scale)
        case Kind.TIMESTAMP if expr.type.kind is Kind.DATE:
            assert expr.lo is not None and expr.hi is not None
            day = 86_400_000_000
            return Expr(TO_TIMESTAMP, TIMESTAMP, (expr,), nullable=expr.nullable, lo=expr.lo * day, hi=expr.hi * day)
        case _ if expr.type.kind is Kind.NULL:
            return typed_null(target)
    raise call.refuse("F-121", f"{call.name} compares or combines {expr.type} with {target}.", hint=CONVERT)


ONLY_COMPARED = (
    "A unit's column of this type tells units apart, as in a.unit = b.unit or GROUP BY unit, and is not computed with."
)
CONVERT = "Dither never converts silently: write CAST(... AS ...) where it is meant, or quote the literal properly."


def common_type(call: Call, args: tuple[Expr, ...]) -> Type:
    """The one type all arguments can be brought to: integer < decimal < double, date < timestamp, else equal."""
    kinds = {arg.type.kind for arg in args} - {Kind.NULL}
    if not kinds:
        return NULL
    if kinds <= {Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE}:
        if Kind.DOUBLE in kinds:
            return DOUBLE
        if Kind.DECIMAL in kinds:
            return Type(Kind.DECIMAL, max(arg.type.scale for arg in args))
        return INTEGER
    if kinds == {Kind.DATE, Kind.TIMESTAMP}:
        return TIMESTAMP
    if kinds == {Kind.UNIT}:
        raise call.refuse("F-121", f"{call.name} cannot look into a unit.", hint=ONLY_COMPARED)
    if len(kinds) == 1:
        return Type(kinds.pop())
    names = " and ".join(sorted(kind.value for kind in kinds))
    raise call.refuse("F-121", f"{call.name} cannot combine {names}.", hint=CONVERT)


def unify(call: Call, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """All arguments at their common type; integers at one width."""
    target = common_type(call, args)
    if target is NULL:
        raise call.refuse(
            "F-122", f"{call.name} has only NULLs here, so its type is unknown.", hint="Write CAST(NULL AS ...)."
        )
    cast_args = tuple(as_type(call, arg, target) for arg in args)
    if target.kind is Kind.INTEGER and any(map(is_wide, cast_args)):
        return tuple(arg if is_wide(arg) else widen(arg) for arg in cast_args)
    return cast_args


def _decimal_range(call: Call, lo: Bound, hi: Bound, scale: int) -> tuple[Fraction, Fraction]:
    exact_lo, exact_hi = Fraction(lo), Fraction(hi)
    if max(abs(exact_lo), abs(exact_hi)) >= decimal_limit(scale):
        raise call.refuse(
            "F-141",
            f"{call.name} could overflow a decimal with {scale} digits after the point.",
            hint="Declare `bounds` on the columns, or work in CAST(... AS DOUBLE).",
        )
    return exact_lo, exact_hi


def _float_down(value: Bound, exact: bool) -> float:
    """The double at or below a value. exact: the engine converts it without a second rounding, as it does integers."""
    if isinstance(value, float):
        return value
    near = float(value)
    return near if exact and near == value else max(-DBL_MAX, down(near))


def _float_up(value: Bound, exact: bool) -> float:
    if isinstance(value, float):
        return value
    near = float(value)
    return near if exact and near == value else min(DBL_MAX, up(near))
