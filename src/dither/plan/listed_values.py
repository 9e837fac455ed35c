"""Values that are known without the data: declared lists and ranges, rows of public tables, what an expression says.

Flow: `listing` takes them for the columns and keys of a list of groups. None means that they are not known.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dither.sql.expressions import Expr
from dither.sql.functions import CHOICES
from dither.sql.printing import quote_name, sql_type
from dither.sql.types import Kind, Type

__all__ = ["LARGEST_PRODUCT", "OneColumn", "TableRows", "array_of", "has_range", "own_values", "range_sql", "units_of"]

LARGEST_PRODUCT = 5 * 10**6
"""Most combinations of column values that are looked through to derive a list."""


@dataclass(frozen=True)
class OneColumn:
    """The values of one column."""

    sql: str
    size: int


@dataclass
class TableRows:
    """Columns of one public table, or of one that is written out in the question: their rows."""

    size: int
    read: Callable[[Sequence[str]], list[tuple[Any, ...]]]
    columns: dict[str, str] = field(default_factory=dict)
    """Leaf -> the name `read` knows it by."""
    types: dict[str, Type] = field(default_factory=dict)
    weak: bool = False
    """Can an outer join make all of them NULL?"""

    def rows(self, *, absent: bool) -> list[tuple[Any, ...]]:
        """absent: with the row of NULLs, where there can be one."""
        found = self.read(tuple(self.columns.values()))
        nulls = (None,) * len(self.columns)
        return [*found, nulls] if absent and self.weak and nulls not in found else found


def own_values(expr: Expr) -> list[Any] | None:
    """All values an expression can take, read off the expression itself; None where it does not tell."""
    if expr.type.kind is Kind.BOOLEAN:
        return [False, True, None] if expr.nullable else [False, True]
    match expr.op:
        case "literal" | "typed_null":
            return [expr.payload]
        case "case":
            results = (*expr.args[1:-1:2], expr.args[-1])
            return _union(map(own_values, results))
        case "coalesce":
            found = _union(map(own_values, expr.args))
            return found if found is None or expr.nullable else [value for value in found if value is not None]
        case "to_double" | "to_decimal" | "to_bigint" | "to_timestamp":
            return own_values(expr.args[0])
        case op if op in CHOICES:
            return [*CHOICES[op], None]
    return None


def has_range(expr: Expr) -> bool:
    """Is it a whole number, or a date, between ends that are known?"""
    whole = expr.type.kind in (Kind.INTEGER, Kind.DATE) or expr.op in ("floor", "ceil", "trunc")
    return whole and expr.lo is not None and expr.hi is not None


def range_sql(name: str, type: Type, lo: int, hi: int, *, nullable: bool = True) -> tuple[str, int] | None:
    """The whole numbers, or days, from lo to hi as a column `name`, and how many; None where they are too many."""
    if hi - lo > LARGEST_PRODUCT:
        return None
    value = (
        "DATE '1970-01-01' + CAST(range AS INTEGER)" if type.kind is Kind.DATE else f"CAST(range AS {sql_type(type)})"
    )
    sql = f"SELECT {value} AS {quote_name(name)} FROM range({lo}, {hi + 1})"
    if nullable:
        sql += f" UNION ALL SELECT CAST(NULL AS {sql_type(type)})"
    return sql, hi - lo + 1 + nullable


def array_of(values: Iterable[Any], type: Type) -> Any:
    """Values, NULL as None, in an array that the embedded database reads with the right type: numbers that no double
    tells from all others as texts."""
    if type.kind in (Kind.DATE, Kind.TIMESTAMP):
        return np.array([None if v is None else np.datetime64(v, "us") for v in values], dtype="datetime64[us]")
    plain = [_number(v, type) if isinstance(v, Fraction) else v for v in values]
    if type.kind is Kind.INTEGER and any(isinstance(v, int) and not -(2**63) <= v < 2**63 for v in plain):
        plain = [v if v is None else str(v) for v in plain]
    array = np.empty(len(plain), dtype=object)
    array[:] = plain
    if type.kind in (Kind.TEXT, Kind.BOOLEAN) or any(isinstance(value, str) for value in plain):
        return array
    if None in plain:
        mask = np.array([v is None for v in plain])
        data = np.array([0 if v is None else v for v in plain])
        return np.ma.MaskedArray(data, mask)
    return np.array(plain)


def _number(value: Fraction, type: Type) -> float | str:
    if type.kind is not Kind.DECIMAL:
        return float(value)
    return f"{int(value * 10**type.scale)}E-{type.scale}"


def units_of(value: object) -> int:
    """A bound as a whole number: of days since 1970 where it is a date."""
    if isinstance(value, dt.date):
        return (value - dt.date(1970, 1, 1)).days
    return int(value)  # type: ignore[call-overload,no-any-return]


def _union(parts: Iterable[list[Any] | None]) -> list[Any] | None:
    result: list[Any] = []
    for part in parts:
        if part is None:
            return None
        result += [value for value in part if value not in result]
    return result
