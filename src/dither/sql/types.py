"""The types of expressions and the ranges their values lie in.

Flow: every typed expression carries a `Type` and, where it has one, an interval; functions compute both for their
results. Numbers in an interval are in the type's own unit: integers for INTEGER, days since 1970-01-01 for DATE,
microseconds for TIMESTAMP, exact Fractions for DECIMAL, floats (rounded outward) for DOUBLE.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

__all__ = [
    "BOOLEAN",
    "DATE",
    "DOUBLE",
    "INT64",
    "INTEGER",
    "INTERVAL",
    "NULL",
    "TEXT",
    "TIMESTAMP",
    "UNIT",
    "Bound",
    "Kind",
    "Type",
    "days_of",
    "decimal",
    "decimal_limit",
    "down",
    "greatest_of",
    "least_of",
    "magnitude",
    "microseconds_of",
    "up",
]


class Kind(Enum):
    BOOLEAN = "boolean"
    INTEGER = "integer"
    DECIMAL = "decimal"
    DOUBLE = "double"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"
    INTERVAL = "interval"
    NULL = "null"
    UNIT = "unit"
    """What tells units apart, in any type an engine has: only compared, never computed with."""


@dataclass(frozen=True)
class Type:
    kind: Kind
    scale: int = 0
    """Digits after the point; of DECIMAL only."""

    def __str__(self) -> str:
        return f"decimal({self.scale})" if self.kind is Kind.DECIMAL else self.kind.value

    @property
    def is_numeric(self) -> bool:
        return self.kind in (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)

    @property
    def has_range(self) -> bool:
        return self.is_numeric or self.kind in (Kind.DATE, Kind.TIMESTAMP)


BOOLEAN = Type(Kind.BOOLEAN)
INTEGER = Type(Kind.INTEGER)
DOUBLE = Type(Kind.DOUBLE)
TEXT = Type(Kind.TEXT)
DATE = Type(Kind.DATE)
TIMESTAMP = Type(Kind.TIMESTAMP)
INTERVAL = Type(Kind.INTERVAL)
NULL = Type(Kind.NULL)
UNIT = Type(Kind.UNIT)

Bound = int | float | Fraction

INT64 = (-(2**63), 2**63 - 1)
DECIMAL_DIGITS = 38
_EPOCH = dt.date(1970, 1, 1)

# What a read of an undeclared date keeps: the years 1 to 9999, so that no date function can leave its range.
DATE_RANGE = ((dt.date(1, 1, 1) - _EPOCH).days, (dt.date(9999, 12, 31) - _EPOCH).days)
TIMESTAMP_RANGE = (DATE_RANGE[0] * 86_400_000_000, (DATE_RANGE[1] + 1) * 86_400_000_000 - 1)


def least_of(*values: Bound) -> Bound:
    """`min`, typed for mixed numbers."""
    result = values[0]
    for value in values[1:]:
        result = value if value < result else result
    return result


def greatest_of(*values: Bound) -> Bound:
    """`max`, typed for mixed numbers."""
    result = values[0]
    for value in values[1:]:
        result = value if value > result else result
    return result


def magnitude(lo: Bound, hi: Bound) -> Bound:
    """The largest absolute value in [lo, hi]."""
    return greatest_of(lo if lo >= 0 else -lo, hi if hi >= 0 else -hi)


def decimal(scale: int) -> Type:
    return Type(Kind.DECIMAL, scale)


def decimal_limit(scale: int) -> Fraction:
    """Every DECIMAL(38, scale) lies strictly within plus or minus this."""
    return Fraction(10) ** (DECIMAL_DIGITS - scale)


def days_of(value: dt.date) -> int:
    return (value - _EPOCH).days


def microseconds_of(value: dt.datetime) -> int:
    delta = value - dt.datetime(1970, 1, 1)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def date_of(days: int) -> dt.date:
    return _EPOCH + dt.timedelta(days=days)


def down(value: float) -> float:
    """The next float below: the outward side of a lower end."""
    return value if math.isinf(value) else math.nextafter(value, -math.inf)


def up(value: float) -> float:
    """The next float above: the outward side of an upper end."""
    return value if math.isinf(value) else math.nextafter(value, math.inf)
