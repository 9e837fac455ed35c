"""Explicit conversions: every operand is cast by us, so the engine never converts on its own.

An INTEGER expression is printed as BIGINT when its range fits, else as HUGEINT; a range beyond 126 bits is refused.
A DOUBLE expression is finite or NULL. Both hold for every expression, and each rule here keeps them.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction

from dither.sql.expressions import Expr
from dither.sql.functions.registry import Call, template
from dither.sql.types import (
    DOUBLE,
    INT64,
    INTEGER,
    NULL,
    TEXT,
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
    "as_double",
    "as_type",
    "cast",
    "common_type",
    "fit_integer",
    "is_wide",
    "narrow",
    "unify",
    "widen",
]

DBL_MAX = sys.float_info.max
HUGEINT_LIMIT = 2**126

TO_DOUBLE = template("to_double", "CAST({0} AS DOUBLE)")
TO_BIGINT = template("to_bigint", "CAST({0} AS BIGINT)")
TO_HUGEINT = template("to_hugeint", "CAST({0} AS HUGEINT)")
TO_FLOAT = template("to_float", "CAST(CAST({0} AS FLOAT) AS DOUBLE)")
TO_TEXT = template("to_text", "CAST({0} AS VARCHAR)")
TO_DATE = template("to_date", "CAST({0} AS DATE)")
TO_TIMESTAMP = template("to_timestamp", "CAST({0} AS TIMESTAMP)")
WITHIN = template("within", "CASE WHEN {0} BETWEEN {1} AND {2} THEN {0} END")
TYPED_NULL = template("typed_null", "CAST(NULL AS {type})")
TO_DECIMAL = "to_decimal"  # printed by emit: its text depends on the digits needed

FLOAT_MAX = 3.4028234663852886e38

# The widest integer ranges of SQL's integer types; a value outside becomes NULL, where DuckDB would raise.
INTEGER_TYPES = {
    "tinyint": (-(2**7), 2**7 - 1),
    "smallint": (-(2**15), 2**15 - 1),
    "integer": (-(2**31), 2**31 - 1),
    "bigint": INT64,
    "hugeint": (-HUGEINT_LIMIT, HUGEINT_LIMIT),
    "utinyint": (0, 2**8 - 1),
    "usmallint": (0, 2**16 - 1),
    "uinteger": (0, 2**32 - 1),
    "ubigint": (0, 2**64 - 1),
}


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
            return Expr(TYPED_NULL, DOUBLE, lo=0.0, hi=0.0)
        case _:
            assert expr.lo is not None and expr.hi is not None
            return Expr(
                TO_DOUBLE, DOUBLE, (expr,), nullable=expr.nullable, lo=_float_down(expr.lo), hi=_float_up(expr.hi)
            )


def as_decimal(call: Call, expr: Expr, scale: int) -> Expr:
    target = Type(Kind.DECIMAL, scale)
    if expr.type == target:
        return expr
    if expr.type.kind is Kind.NULL:
        return Expr(TYPED_NULL, target, lo=Fraction(0), hi=Fraction(0))
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
            zero: Bound | None = 0 if target.has_range else None
            return Expr(TYPED_NULL, target, lo=zero, hi=zero)
    raise call.refuse("F-121", f"{call.name} compares or combines {expr.type} with {target}.", hint=CONVERT)


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


def cast(call: Call, expr: Expr, type_name: str, parameters: tuple[int, ...]) -> Expr:
    """CAST and TRY_CAST: the same here, because a value that does not convert is NULL."""
    name = type_name.lower()
    kind = expr.type.kind
    numeric = expr.type.is_numeric or kind is Kind.NULL
    if name in INTEGER_TYPES and (numeric or kind is Kind.BOOLEAN):
        return _to_integer(expr, *INTEGER_TYPES[name])
    if name in ("double", "float") and numeric:
        return as_double(expr) if name == "double" else _to_float(expr)
    if name == "decimal" and numeric:
        return _to_decimal_cast(call, expr, parameters)
    if name == "boolean" and kind in (Kind.BOOLEAN, Kind.NULL):
        return expr if kind is Kind.BOOLEAN else Expr(TYPED_NULL, Type(Kind.BOOLEAN))
    if name == "varchar":
        return _to_text(expr)
    if name == "date" and kind in (Kind.DATE, Kind.TIMESTAMP):
        return _to_date(expr)
    if name == "timestamp" and kind in (Kind.DATE, Kind.TIMESTAMP):
        return as_type(call, expr, TIMESTAMP)
    raise call.refuse("F-150", f"A cast from {expr.type} to {type_name} is not among those Dither knows.")


def _to_integer(expr: Expr, lo: int, hi: int) -> Expr:
    """Half-way cases round as the engine's own cast does; what does not fit is NULL."""
    if expr.type.kind is Kind.NULL:
        return Expr(TYPED_NULL, INTEGER, lo=0, hi=0)
    if expr.type.kind is Kind.BOOLEAN:
        return Expr(TO_BIGINT, INTEGER, (expr,), nullable=expr.nullable, lo=0, hi=1)
    assert expr.lo is not None and expr.hi is not None
    if expr.type.kind is Kind.INTEGER:
        fits = lo <= expr.lo and expr.hi <= hi
        return expr if fits else _within(expr, lo, hi)
    # First to an integer wide enough for all of it, rounded as the engine rounds; what is outside the type is NULL.
    edge: Bound = Fraction(HUGEINT_LIMIT) if expr.type.kind is Kind.DECIMAL else float(HUGEINT_LIMIT)
    inner = expr if -edge <= expr.lo and expr.hi <= edge else _within(expr, -edge, edge)
    assert inner.lo is not None and inner.hi is not None
    ends = math.floor(inner.lo), math.ceil(inner.hi)
    wide = ends[0] < INT64[0] or ends[1] > INT64[1]
    rounded = Expr(
        TO_HUGEINT if wide else TO_BIGINT, INTEGER, (inner,), nullable=inner.nullable, lo=ends[0], hi=ends[1]
    )
    return rounded if lo <= ends[0] and ends[1] <= hi else _within(rounded, lo, hi)


def _within(expr: Expr, lo: Bound, hi: Bound) -> Expr:
    assert expr.lo is not None and expr.hi is not None
    ends = tuple(Expr("literal", expr.type, payload=end, nullable=False, lo=end, hi=end) for end in (lo, hi))
    clipped_lo, clipped_hi = max(expr.lo, lo), min(expr.hi, hi)
    if clipped_lo > clipped_hi:
        clipped_lo, clipped_hi = lo, lo
    result = Expr(WITHIN, expr.type, (expr, *ends), nullable=True, lo=clipped_lo, hi=clipped_hi)
    return narrow(result) if expr.type.kind is Kind.INTEGER and is_wide(expr) and not is_wide(result) else result


def _to_float(expr: Expr) -> Expr:
    value = as_double(expr)
    assert value.lo is not None and value.hi is not None
    if value.lo < -FLOAT_MAX or value.hi > FLOAT_MAX:
        value = _within(value, -FLOAT_MAX, FLOAT_MAX)
    assert value.lo is not None and value.hi is not None
    slack = max(abs(float(value.lo)), abs(float(value.hi))) * 2.0**-23
    return Expr(
        TO_FLOAT, DOUBLE, (value,), nullable=value.nullable, lo=float(value.lo) - slack, hi=float(value.hi) + slack
    )


def _to_decimal_cast(call: Call, expr: Expr, parameters: tuple[int, ...]) -> Expr:
    digits, scale = parameters if len(parameters) == 2 else (parameters[0], 0) if parameters else (18, 3)
    if not 1 <= digits <= 38 or not 0 <= scale <= digits:
        raise call.refuse("F-151", f"DECIMAL({digits}, {scale}) is not a decimal type.")
    if expr.type.kind is Kind.NULL:
        return as_decimal(call, expr, scale)
    largest = Fraction(10) ** (digits - scale) - Fraction(1, 10**scale)
    room = decimal_limit(scale) - 1
    assert expr.lo is not None and expr.hi is not None
    if expr.type.kind is Kind.DOUBLE:
        inner = expr if -room <= expr.lo and expr.hi <= room else _within(expr, up(float(-room)), down(float(room)))
        assert inner.lo is not None and inner.hi is not None
        step = Fraction(1, 10**scale)
        lo, hi = Fraction(float(inner.lo)) - step, Fraction(float(inner.hi)) + step
        rounded = Expr(TO_DECIMAL, Type(Kind.DECIMAL, scale), (inner,), nullable=inner.nullable, lo=lo, hi=hi)
    else:
        ends: tuple[Bound, Bound] = (int(-room), int(room)) if expr.type.kind is Kind.INTEGER else (-room, room)
        if expr.type.kind is Kind.DECIMAL:
            edge = min(room, decimal_limit(expr.type.scale) - 1)
            ends = (-edge, edge)
        inner = expr if ends[0] <= expr.lo and expr.hi <= ends[1] else _within(expr, *ends)
        rounded = as_decimal(call, inner, scale)
    assert rounded.lo is not None and rounded.hi is not None
    return rounded if -largest <= rounded.lo and rounded.hi <= largest else _within(rounded, -largest, largest)


def _to_text(expr: Expr) -> Expr:
    if expr.type.kind is Kind.TEXT:
        return expr
    if expr.type.kind is Kind.NULL:
        return Expr(TYPED_NULL, TEXT)
    return Expr(TO_TEXT, TEXT, (expr,), nullable=expr.nullable, length=45)


def _to_date(expr: Expr) -> Expr:
    if expr.type.kind is Kind.DATE:
        return expr
    assert expr.lo is not None and expr.hi is not None
    day = 86_400_000_000
    return Expr(
        TO_DATE,
        Type(Kind.DATE),
        (expr,),
        nullable=expr.nullable,
        lo=math.floor(expr.lo / day),
        hi=math.floor(expr.hi / day),
    )


def _decimal_range(call: Call, lo: Bound, hi: Bound, scale: int) -> tuple[Fraction, Fraction]:
    exact_lo, exact_hi = Fraction(lo), Fraction(hi)
    if max(abs(exact_lo), abs(exact_hi)) >= decimal_limit(scale):
        raise call.refuse(
            "F-141",
            f"{call.name} could overflow a decimal with {scale} digits after the point.",
            hint="Declare `bounds` on the columns, or work in CAST(... AS DOUBLE).",
        )
    return exact_lo, exact_hi


def _float_down(value: Bound) -> float:
    return max(-DBL_MAX, down(float(value))) if not isinstance(value, float) else value


def _float_up(value: Bound) -> float:
    return min(DBL_MAX, up(float(value))) if not isinstance(value, float) else value
