"""CAST and TRY_CAST between all types: the same here, because a value that does not convert is NULL.

Numbers are cast within guards that keep what fits; texts are read by the engine's own TRY_CAST, which gives NULL where
CAST would raise (docs/decisions/0017-texts-are-read-by-try-cast.md says why that is no loud channel).
"""

from __future__ import annotations

import math
from fractions import Fraction

from dither.sql import embedded
from dither.sql.expressions import Expr, literal, typed_null
from dither.sql.functions.casts import (
    HUGEINT_LIMIT,
    TO_BIGINT,
    TO_DECIMAL,
    TO_HUGEINT,
    as_decimal,
    as_double,
    as_type,
    finite,
    is_wide,
    narrow,
)
from dither.sql.functions.intervals import span_literal
from dither.sql.functions.registry import Call, template
from dither.sql.types import (
    BOOLEAN,
    DATE,
    DATE_RANGE,
    DOUBLE,
    INT64,
    INTEGER,
    TEXT,
    TIMESTAMP,
    TIMESTAMP_RANGE,
    Bound,
    Kind,
    Type,
    decimal_limit,
    down,
    up,
)

__all__ = ["cast", "within"]

TO_FLOAT = template("to_float", "CAST(CAST({0} AS FLOAT) AS DOUBLE)")
TO_TEXT = template("to_text", "CAST({0} AS VARCHAR)")
TO_DATE = template("to_date", "CAST({0} AS DATE)")
TO_TRUTH = template("to_truth", "({0} <> 0)")
WITHIN = template("within", "CASE WHEN {0} BETWEEN {1} AND {2} THEN {0} END")
TEXT_TO_DECIMAL = "text_to_decimal"  # printed by printing: its text depends on the digits asked for

FLOAT_MAX = 3.4028234663852886e38
NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)

# The widest integer ranges of SQL's integer types; a value outside becomes NULL, where DuckDB would raise.
INTEGER_TYPES = {
    "tinyint": (-(2**7), 2**7 - 1),
    "smallint": (-(2**15), 2**15 - 1),
    "integer": (-(2**31), 2**31 - 1),
    "bigint": INT64,
    "hugeint": (-HUGEINT_LIMIT, HUGEINT_LIMIT),
}
# The engine computes on unsigned numbers by rules of their own (`~1` of a byte is 254); ours have a sign, always.
UNSIGNED = frozenset(["utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"])
# Other spellings that DuckDB's parser leaves as they are.
SPELLINGS = {
    "int1": "tinyint", "int2": "smallint", "short": "smallint", "int4": "integer", "int": "integer",
    "signed": "integer", "int8": "bigint", "long": "bigint", "float4": "float", "real": "float", "float8": "double",
    "numeric": "decimal", "text": "varchar", "string": "varchar", "char": "varchar", "bpchar": "varchar",
    "bool": "boolean", "logical": "boolean", "datetime": "timestamp",
}  # fmt: skip
FROM_TEXT = {
    name: template(f"text_to_{name}", f"CAST(TRY_CAST({{0}} AS {name.upper()}) AS {wide})")
    for name, wide in (
        *((name, "BIGINT" if ends[1] <= INT64[1] else "HUGEINT") for name, ends in INTEGER_TYPES.items()),
        ("double", "DOUBLE"), ("float", "DOUBLE"), ("date", "DATE"), ("timestamp", "TIMESTAMP"), ("boolean", "BOOLEAN"),
    )
}  # fmt: skip


def cast(call: Call, expr: Expr, type_name: str, parameters: tuple[int, ...]) -> Expr:
    name = SPELLINGS.get(type_name.lower(), type_name.lower())
    kind = expr.type.kind
    if kind is Kind.NULL:
        return typed_null(_type_named(call, name, parameters, type_name))
    if kind is Kind.BOOLEAN and name in (*INTEGER_TYPES, "double", "float", "decimal"):
        expr = Expr(TO_BIGINT, INTEGER, (expr,), nullable=expr.nullable, lo=0, hi=1)
        kind = Kind.INTEGER
    match name:
        case "varchar" if kind not in (Kind.INTERVAL, Kind.UNIT):
            return _to_text(expr)
        case "interval" if kind is Kind.TEXT and expr.is_literal:
            return span_literal(call, str(expr.payload))
        case "decimal" if kind in (*NUMBERS, Kind.TEXT):
            return _to_decimal(call, expr, *_digits(call, parameters))
        case _ if kind is Kind.TEXT and name in FROM_TEXT:
            return _from_text(call, expr, name)
        case "double" if kind in NUMBERS:
            return as_double(expr)
        case "float" if kind in NUMBERS:
            return _to_float(expr)
        case _ if kind in NUMBERS and name in INTEGER_TYPES:
            return _to_integer(expr, *INTEGER_TYPES[name])
        case "boolean" if kind is Kind.BOOLEAN:
            return expr
        case "boolean" if kind in NUMBERS:
            return Expr(TO_TRUTH, BOOLEAN, (expr,), nullable=expr.nullable)
        case "date" if kind in (Kind.DATE, Kind.TIMESTAMP):
            return _to_date(expr)
        case "timestamp" if kind in (Kind.DATE, Kind.TIMESTAMP):
            return as_type(call, expr, TIMESTAMP)
    hint = "Integers have a sign here: CAST to BIGINT or HUGEINT." if name in UNSIGNED else None
    raise call.refuse("F-150", f"A cast from {expr.type} to {type_name} is not among those Dither knows.", hint=hint)


def within(expr: Expr, lo: Bound, hi: Bound) -> Expr:
    """The value, NULL outside [lo, hi]."""
    assert expr.lo is not None and expr.hi is not None
    ends = tuple(Expr("literal", expr.type, payload=end, nullable=False, lo=end, hi=end) for end in (lo, hi))
    clipped_lo, clipped_hi = max(expr.lo, lo), min(expr.hi, hi)
    if clipped_lo > clipped_hi:
        clipped_lo, clipped_hi = lo, lo
    result = Expr(WITHIN, expr.type, (expr, *ends), nullable=True, lo=clipped_lo, hi=clipped_hi)
    return narrow(result) if expr.type.kind is Kind.INTEGER and is_wide(expr) and not is_wide(result) else result


def _type_named(call: Call, name: str, parameters: tuple[int, ...], written: str) -> Type:
    if name in INTEGER_TYPES:
        return INTEGER
    if name == "decimal":
        return Type(Kind.DECIMAL, _digits(call, parameters)[1])
    simple = {"double": DOUBLE, "float": DOUBLE, "varchar": TEXT, "date": DATE, "timestamp": TIMESTAMP}
    simple["boolean"] = BOOLEAN
    if name not in simple:
        raise call.refuse("F-150", f"A cast from {Kind.NULL.value} to {written} is not among those Dither knows.")
    return simple[name]


def _from_text(call: Call, expr: Expr, name: str) -> Expr:
    if expr.is_literal and (name in INTEGER_TYPES or name == "double"):
        return _number_of(call, str(expr.payload), name)
    op = FROM_TEXT[name]
    if name == "boolean":
        return Expr(op, BOOLEAN, (expr,), nullable=True)
    if name in ("double", "float"):
        return finite(Expr(op, DOUBLE, (expr,), nullable=True, lo=-math.inf, hi=math.inf))
    if name in ("date", "timestamp"):
        type, ends = (DATE, DATE_RANGE) if name == "date" else (TIMESTAMP, TIMESTAMP_RANGE)
        # The engine also reads far years and `infinity`: as in columns, only the years 1 to 9999 are kept.
        return within(Expr(op, type, (expr,), nullable=True, lo=ends[0], hi=ends[1]), *ends)
    lo, hi = INTEGER_TYPES[name]
    read = Expr(op, INTEGER, (expr,), nullable=True, lo=lo, hi=hi)
    return within(read, lo, hi) if name == "hugeint" else read


def _number_of(call: Call, text: str, name: str) -> Expr:
    found = embedded.evaluate(f"TRY_CAST(? AS {name.upper()})", text)
    value = None if found is None else found[0]
    if not isinstance(value, int | float) or (isinstance(value, float) and not math.isfinite(value)):
        raise call.refuse("F-153", f"This text is no number of the type {name}.", arg=0)
    return literal(value)


def _to_integer(expr: Expr, lo: int, hi: int) -> Expr:
    """Half-way cases round as the engine's own cast does; what does not fit is NULL."""
    assert expr.lo is not None and expr.hi is not None
    if expr.type.kind is Kind.INTEGER:
        fits = lo <= expr.lo and expr.hi <= hi
        return expr if fits else within(expr, lo, hi)
    # First to an integer wide enough for all of it, rounded as the engine rounds; what is outside the type is NULL.
    edge: Bound = Fraction(HUGEINT_LIMIT) if expr.type.kind is Kind.DECIMAL else float(HUGEINT_LIMIT)
    inner = expr if -edge <= expr.lo and expr.hi <= edge else within(expr, -edge, edge)
    assert inner.lo is not None and inner.hi is not None
    ends = math.floor(inner.lo), math.ceil(inner.hi)
    wide = ends[0] < INT64[0] or ends[1] > INT64[1]
    rounded = Expr(
        TO_HUGEINT if wide else TO_BIGINT, INTEGER, (inner,), nullable=inner.nullable, lo=ends[0], hi=ends[1]
    )
    return rounded if lo <= ends[0] and ends[1] <= hi else within(rounded, lo, hi)


def _to_float(expr: Expr) -> Expr:
    value = as_double(expr)
    assert value.lo is not None and value.hi is not None
    if value.lo < -FLOAT_MAX or value.hi > FLOAT_MAX:
        value = within(value, -FLOAT_MAX, FLOAT_MAX)
    assert value.lo is not None and value.hi is not None
    slack = max(abs(float(value.lo)), abs(float(value.hi))) * 2.0**-23
    return Expr(
        TO_FLOAT, DOUBLE, (value,), nullable=value.nullable, lo=float(value.lo) - slack, hi=float(value.hi) + slack
    )


def _digits(call: Call, parameters: tuple[int, ...]) -> tuple[int, int]:
    digits, scale = parameters if len(parameters) == 2 else (parameters[0], 0) if parameters else (18, 3)
    if not 1 <= digits <= 38 or not 0 <= scale <= digits:
        raise call.refuse("F-151", f"DECIMAL({digits}, {scale}) is not a decimal type.")
    return digits, scale


def _to_decimal(call: Call, expr: Expr, digits: int, scale: int) -> Expr:
    largest = Fraction(10) ** (digits - scale) - Fraction(1, 10**scale)
    target = Type(Kind.DECIMAL, scale)
    if expr.type.kind is Kind.TEXT:
        return Expr(TEXT_TO_DECIMAL, target, (expr,), payload=(digits, scale), nullable=True, lo=-largest, hi=largest)
    room = decimal_limit(scale) - 1
    assert expr.lo is not None and expr.hi is not None
    if expr.type.kind is Kind.DOUBLE:
        inner = expr if -room <= expr.lo and expr.hi <= room else within(expr, up(float(-room)), down(float(room)))
        assert inner.lo is not None and inner.hi is not None
        step = Fraction(1, 10**scale)
        lo, hi = Fraction(float(inner.lo)) - step, Fraction(float(inner.hi)) + step
        rounded = Expr(TO_DECIMAL, target, (inner,), nullable=inner.nullable, lo=lo, hi=hi)
    else:
        # With fewer digits after the point there is room for all before it.
        ends: tuple[Bound, Bound] = (int(-room), int(room)) if expr.type.kind is Kind.INTEGER else (-room, room)
        fits = expr.type.kind is Kind.DECIMAL and expr.type.scale >= scale
        inner = expr if fits or (ends[0] <= expr.lo and expr.hi <= ends[1]) else within(expr, *ends)
        rounded = as_decimal(call, inner, scale)
    assert rounded.lo is not None and rounded.hi is not None
    return rounded if -largest <= rounded.lo and rounded.hi <= largest else within(rounded, -largest, largest)


def _to_text(expr: Expr) -> Expr:
    if expr.type.kind is Kind.TEXT:
        return expr
    return Expr(TO_TEXT, TEXT, (expr,), nullable=expr.nullable, length=45)


def _to_date(expr: Expr) -> Expr:
    if expr.type.kind is Kind.DATE:
        return expr
    assert expr.lo is not None and expr.hi is not None
    day = 86_400_000_000
    lo, hi = int(expr.lo // day), int(expr.hi // day)
    return Expr(TO_DATE, DATE, (expr,), nullable=expr.nullable, lo=lo, hi=hi)
