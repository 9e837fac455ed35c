"""Decimals as whole numbers of their last digit: grids that lose nothing, and how a noisy table hands decimals over.

Flow: `grids` takes the steps of a decimal expression from here, recipes note what the noisy column is; `answer.noisy`
hands out whole numbers, which the finish reads as DECIMAL by the SQL made here.
Proof: docs/proofs/mechanisms/grid-sums.md
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from dither.sql.expressions import Expr
from dither.sql.printing import decimal_digits, sql_type
from dither.sql.types import DECIMAL_DIGITS, INT64, Kind, Type, decimal_limit, magnitude

__all__ = [
    "Digits",
    "chosen_digits",
    "exact_within_unit",
    "is_one_value",
    "sum_digits",
    "type_of_key",
    "unit_of",
    "whole_steps",
]

_FINEST = 2**40
"""No more steps than this from zero: a double then tells them apart with room to spare."""
_SLACK = Fraction(1, 2**8)
"""Of a step, above: what scaling a decimal in doubles can be off by is a part in 2^50 of at most 2^40 steps."""
_ROOM_WITHIN_UNIT = 10**22
"""Digits of a value that is summed within a unit: 10^16 rows of it fit a decimal, more than any engine holds."""


@dataclass(frozen=True)
class Digits:
    """A column DECIMAL(width, scale), handed over as whole numbers of `unit`, a multiple of 10^-scale."""

    unit: Fraction
    scale: int
    width: int = DECIMAL_DIGITS

    def sql(self) -> str:
        """The decimal, of an integer column that stands at {}. No 64-bit integer makes it overflow."""
        unit = f"CAST('{decimal_digits(self.unit, self.scale)}' AS DECIMAL(38, {self.scale}))"
        return f"CAST(CAST({{}} AS DECIMAL(19, 0)) * {unit} AS DECIMAL({self.width}, {self.scale}))"


def unit_of(type: Type) -> Fraction:
    """What all values of a type are whole numbers of: its last digit; 1 for integers, days and microseconds."""
    return Fraction(1, 10**type.scale)


def is_one_value(type: Type, step: Fraction) -> bool:
    """Is a step of the grid one value of the type?"""
    return type.kind is not Kind.DOUBLE and step == unit_of(type)


def whole_steps(expr: Expr, least: Fraction, middle: Fraction = Fraction(0)) -> tuple[Fraction, int, int, int]:
    """(step, centre, lo, hi) of a bounded decimal: what the engine makes of a value, less the centre, is a whole number
    within [lo, hi]. The step is 10^-scale, or the first odd multiple of it from `least` on; the centre is the step
    nearest to `middle`.
    Odd, for no decimal then lies halfway between two steps: halves that all go up would add up, row by row."""
    assert expr.lo is not None and expr.hi is not None
    unit = unit_of(expr.type)
    # The outermost values that can be read: a bound between two decimals is printed as one of them.
    lo, hi = math.floor(Fraction(expr.lo) / unit) * unit, math.ceil(Fraction(expr.hi) / unit) * unit
    times = max(1, math.ceil(max(least, max(abs(lo), abs(hi)) / _FINEST) / unit))
    step, half = (times | 1) * unit, Fraction(1, 2)
    center = round(middle / step)
    return step, center, math.floor(lo / step + half - _SLACK) - center, math.floor(hi / step + half + _SLACK) - center


def sum_digits(expr: Expr, step: Fraction) -> Digits | None:
    """How a sum of a decimal in these steps is handed over: as DECIMAL(38, scale), as in DuckDB. None, and so in
    doubles, where 2^63 steps have more digits than that: bounds beyond about 10^27 of the last digit."""
    if expr.type.kind is not Kind.DECIMAL or 2**63 * step >= decimal_limit(expr.type.scale):
        return None
    return Digits(step, expr.type.scale)


def chosen_digits(expr: Expr) -> Digits | None:
    """How a quantile of a decimal is handed over: in the type of the column, wide enough for its bounds."""
    assert expr.lo is not None and expr.hi is not None
    unit = unit_of(expr.type)
    if expr.type.kind is not Kind.DECIMAL or magnitude(expr.lo, expr.hi) / unit > INT64[1] // 2:
        return None
    most = math.ceil(Fraction(magnitude(expr.lo, expr.hi)) / unit)
    width = max(_stored_width(expr), len(str(most)), expr.type.scale)
    return Digits(unit, expr.type.scale, min(width, DECIMAL_DIGITS))


def exact_within_unit(expr: Expr) -> bool:
    """Can the engine add this decimal up within a unit as it is, however many rows the unit has?"""
    assert expr.lo is not None and expr.hi is not None
    return expr.type.kind is Kind.DECIMAL and magnitude(expr.lo, expr.hi) / unit_of(expr.type) <= _ROOM_WITHIN_UNIT


def type_of_key(expr: Expr) -> str:
    """The SQL type of a column of groups; decimals have the digits that are stored, or more where bounds need them."""
    digits = chosen_digits(expr) if expr.type.kind is Kind.DECIMAL else None
    return sql_type(expr.type) if digits is None else f"DECIMAL({digits.width}, {digits.scale})"


def _stored_width(expr: Expr) -> int:
    """Digits of the stored column, where it is one as it is; else as many as there can be."""
    facts = expr.payload if expr.op in ("read", "unit") else None
    stored = re.fullmatch(r"(?:DECIMAL|NUMERIC)\((\d+),\s*(\d+)\)", str(facts[1])) if isinstance(facts, tuple) else None
    return int(stored[1]) if stored and int(stored[2]) == expr.type.scale else DECIMAL_DIGITS
