"""How a stored column becomes an expression that keeps the catalog's promise.

Flow: scans call `read_column` for each visible column; `sql.printing` prints the guard.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction

from dither.catalog.model import Column, DomainValue
from dither.catalog.schema import column_type
from dither.sql.expressions import Expr, make_column
from dither.sql.functions.casts import DBL_MAX
from dither.sql.functions.registry import STORED_TEXT
from dither.sql.types import (
    BOOLEAN,
    DATE_RANGE,
    INT64,
    TIMESTAMP_RANGE,
    UNIT,
    Bound,
    Kind,
    Type,
    days_of,
    decimal_limit,
    microseconds_of,
)
from dither.sql.units import unit_column, unit_value

__all__ = ["read_column", "read_unit"]


def read_column(column: Column, engine_type: str, identifier: str, *, required: bool = False) -> Expr:
    """The column clamped to its bounds, or NULL outside its values: never anything else, whatever is stored.
    required: the engine enforces that it is never NULL; whole numbers and booleans then stay so when they are read."""
    type = _type_of(column, engine_type)
    lo, hi = _range_of(column, type)
    length = 0
    if type.kind is Kind.TEXT:
        length = max((len(str(value)) for value in column.values), default=0) if column.values else STORED_TEXT
    nullable = not (required and column.values is None and type.kind in (Kind.INTEGER, Kind.BOOLEAN))
    raw = make_column(identifier, type, nullable=nullable, lo=lo, hi=hi, length=length)
    facts = (column, engine_type.upper())
    return Expr("read", type, (raw,), payload=facts, nullable=nullable, lo=lo, hi=hi, length=length)


def read_unit(column: Column, engine_type: str, identifier: str) -> Expr:
    """A unit's column that has neither bounds nor values: its values are read like any other's, or it has none where
    its type is of a kind that questions cannot see. engine_type, identifier: of the column that tells units apart."""
    if column_type(engine_type) is None:
        return Expr("unit", UNIT, (unit_column(identifier),), payload=(column, engine_type.upper()), nullable=False)
    read = read_column(column, engine_type, identifier)
    if engine_type.upper() == "UBIGINT":
        # As hashes are: all of them are values, in 128 bits.
        read = replace(read, lo=0, hi=2**64 - 1)
    return unit_value(read, identifier)


def _type_of(column: Column, engine_type: str) -> Type:
    if column.type == "boolean":
        return BOOLEAN
    if column.type == "decimal":
        stored = re.fullmatch(r"(?:DECIMAL|NUMERIC)\((\d+),\s*(\d+)\)", engine_type.upper())
        return Type(Kind.DECIMAL, column.scale if column.scale is not None else int(stored[2]) if stored else 0)
    return Type(Kind(column.type))


def _range_of(column: Column, type: Type) -> tuple[Bound | None, Bound | None]:
    if not type.has_range:
        return None, None
    ends: tuple[DomainValue, DomainValue] | None = column.bounds
    if column.values:
        # What is read is one of them or NULL, wherever the bounds are.
        ends = (min(column.values), max(column.values))
    if ends is not None and type.kind is Kind.DECIMAL:
        # Outward to decimals that can be printed: a bound between two of them would be read as the one beyond it.
        lo, hi = (_in_units(end, type) * 10**type.scale for end in ends)
        return Fraction(math.floor(lo), 10**type.scale), Fraction(math.ceil(hi), 10**type.scale)
    if ends is not None:
        return _in_units(ends[0], type), _in_units(ends[1], type)
    match type.kind:
        case Kind.INTEGER:
            return INT64
        case Kind.DECIMAL:
            # The last decimals there are: a limit beyond them could not be printed.
            limit = decimal_limit(type.scale) - Fraction(1, 10**type.scale)
            return -limit, limit
        case Kind.DATE:
            return DATE_RANGE
        case Kind.TIMESTAMP:
            return TIMESTAMP_RANGE
        case _:
            return -DBL_MAX, DBL_MAX


def _in_units(value: object, type: Type) -> Bound:
    match type.kind:
        case Kind.DATE:
            return days_of(value)  # type: ignore[arg-type]
        case Kind.TIMESTAMP:
            return microseconds_of(value)  # type: ignore[arg-type]
        case Kind.DOUBLE:
            return float(value)  # type: ignore[arg-type]
        case Kind.DECIMAL:
            return Fraction(value)  # type: ignore[call-overload,no-any-return]
        case _:
            return int(value)  # type: ignore[call-overload,no-any-return]
