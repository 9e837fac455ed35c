"""Typed expressions as DuckDB SQL. Literals are quoted here, names are always quoted, every read enforces the catalog.

Flow: used by `plan.keys` over public domains and by `engines.emit` over private tables; the text never holds a
character of the question outside a quoted literal.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal, localcontext
from fractions import Fraction

from dither.catalog.model import Column
from dither.errors import GuaranteeError, QueryRefused
from dither.sql.expressions import Expr
from dither.sql.functions import TEMPLATES
from dither.sql.types import INT64, Kind, Type, magnitude

__all__ = ["float_text", "LARGEST_EXPRESSION", "print_expr", "print_stored", "quote_name", "quote_text", "sql_type"]

LARGEST_EXPRESSION = 100_000
"""Characters of printed SQL; a question that needs more in one expression is refused."""


def quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def sql_type(type: Type, *, wide: bool = False) -> str:
    match type.kind:
        case Kind.INTEGER:
            return "HUGEINT" if wide else "BIGINT"
        case Kind.DECIMAL:
            return f"DECIMAL(38, {type.scale})"
        case Kind.DOUBLE:
            return "DOUBLE"
        case Kind.TEXT:
            return "VARCHAR"
        case Kind.BOOLEAN | Kind.DATE | Kind.TIMESTAMP | Kind.INTERVAL:
            return type.kind.name
        case _:
            return "INTEGER"


def print_expr(expr: Expr) -> str:
    """SQL of the expression; columns print as their quoted ids."""
    text = _print(expr)
    if len(text) > LARGEST_EXPRESSION:
        raise QueryRefused(
            "This expression is too large once every guard is written out.",
            code="P-108",
            hint="Split it over a subquery, or nest fewer CASTs.",
        )
    return text


def _print(expr: Expr) -> str:
    match expr.op:
        case "column":
            return quote_name(str(expr.payload))
        case "literal":
            return _literal(expr)
        case "read" | "unit":
            return _read(expr)
        case "parameter":
            raise GuaranteeError("A value of an earlier phase was printed before it was known.")
        case "typed_null":
            return f"CAST(NULL AS {sql_type(expr.type)})"
        case "to_decimal":
            return f"CAST({print_expr(expr.args[0])} AS DECIMAL({_digits(expr)}, {expr.type.scale}))"
        case "text_to_decimal":
            assert isinstance(expr.payload, tuple)
            digits, scale = expr.payload
            return f"TRY_CAST({print_expr(expr.args[0])} AS DECIMAL({digits}, {scale}))"
        case "in":
            subject, *members = (print_expr(arg) for arg in expr.args)
            return f"({subject} IN ({', '.join(members)}))"
        case "case":
            *pairs, otherwise = (print_expr(arg) for arg in expr.args)
            arms = " ".join(f"WHEN {pairs[i]} THEN {pairs[i + 1]}" for i in range(0, len(pairs), 2))
            return f"CASE {arms} ELSE {otherwise} END"
        case op:
            args = [print_expr(arg) for arg in expr.args]
            return fill(TEMPLATES[op], args)


def fill(template: str, args: list[str]) -> str:
    """The template with {0}, {1}, ... and {*} filled in, in one pass: what is put in is never looked at again, so
    braces in a question's literals are only text."""

    def part(match: re.Match[str]) -> str:
        return ", ".join(args) if match[1] == "*" else args[int(match[1])]

    return _PLACES.sub(part, template)


_PLACES = re.compile(r"\{(\*|\d+)\}")


def _digits(expr: Expr) -> int:
    """Digits that hold the range and no more: a product of two decimals needs the digits of both."""
    assert expr.lo is not None and expr.hi is not None
    largest = int(magnitude(expr.lo, expr.hi)) + 1
    return min(38, max(len(str(largest)) + expr.type.scale, 1))


def _literal(expr: Expr) -> str:
    value = expr.payload
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int() if expr.type.kind is Kind.DATE:
            return f"(DATE '1970-01-01' + CAST({value} AS INTEGER))"
        case int() if expr.type.kind is Kind.TIMESTAMP:
            return f"make_timestamp(CAST({value} AS BIGINT))"
        case int():
            return f"CAST({value} AS {'BIGINT' if -(2**63) <= value < 2**63 else 'HUGEINT'})"
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
        case Fraction():
            # As a text: a number of 38 digits after the point would be read as a double.
            return f"CAST('{decimal_digits(value, expr.type.scale)}' AS DECIMAL({_digits(expr)}, {expr.type.scale}))"
        case str():
            return quote_text(value)
        case dt.datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
    raise AssertionError(f"no literal of {type(value)}")


def decimal_digits(value: Fraction, scale: int) -> str:
    with localcontext() as context:
        context.prec = 80
        quotient = Decimal(value.numerator) / Decimal(value.denominator)
        return f"{quotient:.{scale}f}"


def _read(expr: Expr) -> str:
    """A column as the catalog promises it: clamped to its bounds, NULL outside its values, binary collation."""
    assert isinstance(expr.payload, tuple)
    column, engine_type = expr.payload
    assert isinstance(column, Column) and isinstance(engine_type, str)
    raw = print_stored(expr, engine_type)
    if column.values is not None:
        members = ", ".join(_domain_value(value, expr.type) for value in column.values)
        value = raw
        if expr.type.kind is Kind.INTEGER and engine_type in _BEYOND_BIGINT:
            # An unsigned value would underflow in a difference.
            value = f"CAST({raw} AS {'BIGINT' if all(-(2**63) <= v < 2**63 for v in column.values) else 'HUGEINT'})"  # type: ignore[operator]
        return f"CASE WHEN {raw} IN ({members}) THEN {value} END" if members else f"CAST(NULL AS {sql_type(expr.type)})"
    if not expr.type.has_range:
        return raw
    assert expr.lo is not None and expr.hi is not None
    lo, hi = (_end(expr.type, end) for end in (expr.lo, expr.hi))
    match expr.type.kind:
        case Kind.DOUBLE if column.bounds is None:
            return fill(TEMPLATES["finite"], [raw])
        case Kind.DOUBLE:
            # NaN sorts above infinity: the last branch leaves it NULL.
            inside = f"CASE WHEN {raw} BETWEEN {lo} AND {hi} THEN {raw} WHEN {raw} < {lo} THEN {lo}"
            return f"{inside} WHEN {raw} <= CAST('infinity' AS DOUBLE) THEN {hi} END"
        case Kind.INTEGER if column.bounds is None and engine_type not in _BEYOND_BIGINT:
            return raw
        case Kind.DECIMAL if column.bounds is None and not _beyond_its_digits(engine_type):
            return raw
        case Kind.DATE | Kind.TIMESTAMP | Kind.DECIMAL if column.bounds is None:
            return f"CASE WHEN {raw} BETWEEN {lo} AND {hi} THEN {raw} END"
        case _:
            # Bounds that were chosen privately may reach beyond 64 bits, and so may what is stored.
            whole = "BIGINT" if INT64[0] <= expr.lo and expr.hi <= INT64[1] else "HUGEINT"
            value = f"CAST({raw} AS {whole})" if expr.type.kind is Kind.INTEGER else raw
            inside = f"CASE WHEN {raw} BETWEEN {lo} AND {hi} THEN {value}"
            return f"{inside} WHEN {raw} < {lo} THEN {lo} WHEN {raw} > {hi} THEN {hi} END"


def _beyond_its_digits(engine_type: str) -> bool:
    """Could a file or a frame hold more in this decimal type than 38 digits? In 128 bits it can, and then the engine
    fails even on its negation; in 64 bits it cannot."""
    digits = re.fullmatch(r"(?:DECIMAL|NUMERIC)\((\d+),\s*\d+\)", engine_type)
    return digits is None or int(digits[1]) > 18


_BEYOND_BIGINT = frozenset({"HUGEINT", "UHUGEINT", "UBIGINT"})
_COARSE_MOMENTS = frozenset({"TIMESTAMP_S", "TIMESTAMP_MS"})
_UNSIGNED_END = f"CAST('{2**126}' AS UHUGEINT)"


def print_stored(expr: Expr, engine_type: str) -> str:
    """The stored value, brought to our type without changing it."""
    name = quote_name(str(expr.args[0].payload))
    match expr.type.kind:
        case Kind.INTEGER if engine_type == "UHUGEINT":
            # Its upper half has no signed type to be compared in: the engine would fail on one such value.
            inside = f"CASE WHEN {name} <= {_UNSIGNED_END} THEN CAST({name} AS HUGEINT)"
            return f"{inside} WHEN {name} > {_UNSIGNED_END} THEN CAST({_UNSIGNED_END} AS HUGEINT) END"
        case Kind.INTEGER:
            whole = engine_type if engine_type in ("BIGINT", *_BEYOND_BIGINT) else "BIGINT"
            stored = name if whole == engine_type else f"CAST({name} AS {whole})"
            # Of a unit the engine believes what a file says; of its values it must not, or it leaves a guard out.
            return f"xor({stored}, CAST(0 AS {whole}))" if expr.op == "unit" else stored
        case Kind.DOUBLE:
            # Adding zero turns a stored -0.0 into 0.0.
            return f"({name} + CAST(0 AS DOUBLE))"
        case Kind.DECIMAL:
            return f"CAST({name} AS {sql_type(expr.type)})"
        case Kind.TEXT:
            return f"({name} COLLATE C)" if engine_type.startswith("VARCHAR") else f"CAST({name} AS VARCHAR)"
        case Kind.TIMESTAMP if engine_type in _COARSE_MOMENTS:
            # They reach further than microseconds do, and the engine would fail on one value that does. From the year
            # 10000 on, and before the year 1, a moment is beyond all bounds, however far.
            late, early = (f"CAST('{year}' AS {engine_type})" for year in ("10000-01-01", "0001-01-01"))
            far = f"CASE WHEN {name} >= {late} THEN CAST('infinity' AS TIMESTAMP)"
            far = f"{far} WHEN {name} < {early} THEN CAST('-infinity' AS TIMESTAMP)"
            return f"{far} ELSE TRY_CAST({name} AS TIMESTAMP) END"
        case Kind.TIMESTAMP:
            return (
                f"({name} AT TIME ZONE 'UTC')"
                if engine_type.endswith("WITH TIME ZONE")
                else f"CAST({name} AS TIMESTAMP)"
            )
        case _:
            return name


def _end(type: Type, end: int | float | Fraction) -> str:
    return _literal(Expr("literal", type, payload=end, lo=end, hi=end))


def _domain_value(value: object, type: Type) -> str:
    if isinstance(value, Fraction) and type.kind is Kind.DOUBLE:
        value = float(value)
    if isinstance(value, int | Fraction) and not isinstance(value, bool) and type.kind is Kind.DECIMAL:
        fraction = Fraction(value)
        return _literal(Expr("literal", type, payload=fraction, lo=fraction, hi=fraction))
    return _literal(Expr("literal", type, payload=value))  # type: ignore[arg-type]


def float_text(value: float) -> str:
    """A double as SQL: written by its shortest digits, and read as a double and not as a decimal."""
    return f"CAST('{value!r}' AS DOUBLE)"
