"""A table of edge values, our reading of it, and one expression over it against plain DuckDB.

Flow: `EdgeTable.check` binds an expression as a question's would be, runs what is printed on all rows, and compares
with what a plain DuckDB makes of the same text on the values as we read them. A difference is a sentence; None is none.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

import duckdb

from dither.catalog.model import Column
from dither.plan.reads import read_column
from dither.sql.bind import Binder
from dither.sql.expressions import Expr
from dither.sql.names import NamedColumn, Scope
from dither.sql.parse import parse
from dither.sql.printing import print_expr
from dither.sql.types import DATE_RANGE, TIMESTAMP_RANGE, Kind

__all__ = ["KEPT_MOMENT", "KEPT_NUMBER", "KEPT_REAL", "EdgeTable"]

# Macros around a part of an expression, for plain DuckDB alone: our rules for what is no value. We see the part bare.
KEPT_NUMBER = "kept_number("
KEPT_MOMENT = "kept_moment("
KEPT_REAL = "kept_real("
"""A 4-byte float goes on as a double with us; plain DuckDB would go on in single precision."""
MACROS = (
    "CREATE MACRO kept_number(v) AS if(CAST(v AS VARCHAR) IN ('nan', '-nan', 'inf', '-inf'), NULL, v)",
    "CREATE MACRO kept_real(v) AS CAST(v AS DOUBLE)",
    "CREATE MACRO kept_moment(v) AS "
    "if(v BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59.999999', v, NULL)",
)

NOW = dt.datetime(2026, 1, 31, 12)
COLUMNS: dict[str, tuple[Column, str, tuple[str, ...]]] = {
    "i": (Column("i", "integer"), "BIGINT", (
        "NULL", "0", "1", "-1", "2", "7", "-7", "2147483647", "-2147483648", "2147483648", "9007199254740993",
        "9223372036854775807", "-9223372036854775808", "55296", "65", "2020",
    )),
    "k": (Column("k", "integer", bounds=(-10, 100)), "INTEGER", ("NULL", "0", "1", "-1", "3", "12", "-5000", "5000")),
    "n": (Column("n", "integer", bounds=(0, 120)), "UBIGINT", ("NULL", "0", "1", "2", "33", "34", "64", "119", "7000")),
    "x": (Column("x", "double"), "DOUBLE", (
        "NULL", "'nan'", "'inf'", "'-inf'", "0", "-0.0", "0.5", "-0.5", "1", "-1", "2.5", "-2.5", "1e-310", "1e308",
        "-1e308", "1.5707963267948966", "1000000000000000.3", "709.9", "1e22", "-1e-300", "170.7", "0.1",
    )),
    "y": (Column("y", "double", bounds=(Fraction(-10), Fraction(10))), "DOUBLE", (
        "NULL", "'nan'", "'inf'", "0", "-0.0", "0.3", "-0.3", "1", "-1", "3.14159", "-20", "9.999999999",
    )),
    "p": (Column("p", "decimal"), "DECIMAL(38, 2)", (
        "NULL", "0", "0.01", "-0.05", "1.55", "999999999999999999999999999999999999.99",
        "-999999999999999999999999999999999999.99", "12.34",
    )),
    "q": (Column("q", "decimal", bounds=(Fraction(-100), Fraction(500))), "DECIMAL(10, 2)", (
        "NULL", "0", "0.05", "-0.05", "1.25", "-1.35", "499.99", "12345.67", "25",
    )),
    "s": (Column("s", "text"), "VARCHAR", (
        "NULL", "''", "' '", "'a'", "'North'", "'héllo'", "'😀a'", "'ß'", "'İ'", "'ŉ ﬃ'", "'12'", "' 12 '", "'-7'",
        "'1e3'", "'1.5'", "'300'", "'99999999999999999999'", "'1e400'", "'nan'", "'inf'", "'0x10'", "'1_000'", "'abc'",
        "'2020-01-01'", "'2020-1-5'", "' 2020-02-30'", "'2020-01-01 10:00:00'", "'2020-01-01 10:00:00+02'",
        "'infinity'", "'-infinity'", "'epoch'", "'12020-01-01'", "'0044-03-15 (BC)'", "'true'", "'F'", "'yes'",
        "repeat('x', 100000)", "'a' || chr(10) || 'b'", "'%_\\'", "chr(0)", "'e' || chr(769)", "'xNorthx'", "'o o o'",
    )),
    "t": (Column("t", "text", values=("North", "South", "é")), "VARCHAR", (
        "NULL", "'North'", "'South'", "'é'", "'other'",
    )),
    "b": (Column("b", "boolean"), "BOOLEAN", ("NULL", "TRUE", "FALSE")),
    "d": (Column("d", "date"), "DATE", (
        "NULL", "'0001-01-01'", "'9999-12-31'", "'1970-01-01'", "'2020-02-29'", "'1969-12-31'", "'infinity'",
        "'-infinity'", "'290000-01-01'", "'2021-01-03'", "'2000-12-31'", "'0004-02-29'",
    )),
    "e": (Column("e", "date", bounds=(dt.date(2019, 1, 30), dt.date(2021, 3, 31))), "DATE", (
        "NULL", "'2020-01-31'", "'2020-02-29'", "'2019-12-31'", "'2021-03-31'", "'1900-01-01'", "'infinity'",
        "'2020-12-28'",
    )),
    "ts": (Column("ts", "timestamp"), "TIMESTAMP", (
        "NULL", "'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'", "'1969-12-31 23:59:59.5'", "'infinity'",
        "'2020-02-29 12:34:56.789012'", "'1970-01-01 00:00:00'", "'2024-12-30 00:00:00'",
    )),
    "us": (Column("us", "timestamp", bounds=(dt.datetime(2019, 1, 1), dt.datetime(2021, 6, 30, 12))), "TIMESTAMP", (
        "NULL", "'2020-01-31 23:59:59.999999'", "'2020-02-29 00:00:00.000001'", "'2019-03-31 02:30:00'", "'infinity'",
        "'1800-01-01 00:00:00'",
    )),
}  # fmt: skip
ROWS = 400


class EdgeTable:
    def __init__(self, seed: int = 11) -> None:
        self._connection = duckdb.connect(":memory:")
        self._connection.execute("SET TimeZone='UTC'")
        self._connection.execute("SET threads=1")
        for macro in MACROS:
            self._connection.execute(macro)
        self._fill(random.Random(seed))
        reads = {name: read_column(column, type, name) for name, (column, type, _) in COLUMNS.items()}
        self._scope = Scope(tuple(NamedColumn("", name, read) for name, read in reads.items()))
        cleaned = ", ".join(f'{print_expr(read)} AS "{name}"' for name, read in reads.items())
        self._connection.execute(f"CREATE TABLE clean AS SELECT row_id, {cleaned} FROM stored")

    def _fill(self, chance: random.Random) -> None:
        columns = ", ".join(f"{name} {type}" for name, (_, type, _) in COLUMNS.items())
        self._connection.execute(f"CREATE TABLE stored (row_id INTEGER, {columns})")
        lines = []
        for row in range(ROWS):
            # Each value of each column at least once; then any with any.
            cells = [v[row] if row < len(v) else chance.choice(v) for _, _, v in COLUMNS.values()]
            typed = [f"CAST({cell} AS {type})" for cell, (_, type, _) in zip(cells, COLUMNS.values(), strict=True)]
            lines.append(f"({row}, {', '.join(typed)})")
        self._connection.execute(f"INSERT INTO stored VALUES {', '.join(lines)}")

    def bind(self, text: str) -> Expr:
        return Binder(self._scope, now=NOW).bind(parse(f"SELECT {text}").children("select_list")[0])

    def check(self, text: str) -> str | None:
        """What is wrong with an accepted expression: it raises, leaves its range, or is not plain DuckDB's value.
        Raises QueryRefused where the expression is refused."""
        expr = self.bind(
            reduce(lambda bare, kept: bare.replace(kept, "("), (KEPT_NUMBER, KEPT_MOMENT, KEPT_REAL), text)
        )
        printed = print_expr(expr)
        try:
            ours = self._values(printed, "stored")
        except duckdb.Error as error:
            return f"raised: {error}\n{printed[:2000]}"
        for row, value in enumerate(ours):
            outside = _outside(expr, value)
            if outside is not None:
                return f"row {row}: {outside}; {self._row(row)}"
        return self._against_plain(text, expr, ours)

    def _values(self, printed: str, table: str, where: str = "TRUE") -> list[Any]:
        """Row by row; dates as days and timestamps as microseconds since 1970, because Python's end in 9999."""
        described = self._connection.execute(f"DESCRIBE SELECT {printed} AS v FROM {table}").fetchall()
        count = {"DATE": "v - DATE '1970-01-01'", "TIMESTAMP": "epoch_us(v)"}.get(described[0][1])
        far = f"CASE WHEN isfinite(v) THEN CAST({count} AS VARCHAR) WHEN v IS NOT NULL THEN 'far' END"
        shown = "v" if count is None else far
        inner = f"SELECT row_id, {printed} AS v FROM {table} WHERE {where}"
        values = [
            v for _, v in self._connection.execute(f"SELECT row_id, {shown} FROM ({inner}) ORDER BY 1").fetchall()
        ]
        return values if count is None else [_whole(value) for value in values]

    def _against_plain(self, text: str, expr: Expr, ours: list[Any]) -> str | None:
        try:
            plain = self._values(text, "clean")
        except duckdb.Error:
            plain = self._plain_where_it_can(text, ours)
        for row, (mine, theirs) in enumerate(zip(ours, plain, strict=True)):
            if isinstance(theirs, Raised) or _same(expr, mine, theirs):
                continue
            return f"row {row}: {mine!r}, and in plain DuckDB {theirs!r}; {self._row(row)}\n{print_expr(expr)[:1000]}"
        return None

    def _plain_where_it_can(self, text: str, ours: list[Any]) -> list[Any]:
        """Plain DuckDB raises on some rows. TRY gives NULL there, and also where the value is NULL: those are asked by
        themselves, where we have a value."""
        try:
            plain = self._values(f"TRY({text})", "clean")
        except duckdb.Error:
            return [Raised()] * len(ours)
        return [
            self._plain_value(text, row) if theirs is None and mine is not None else theirs
            for row, (mine, theirs) in enumerate(zip(ours, plain, strict=True))
        ]

    def _plain_value(self, text: str, row: int) -> Any:
        try:
            return self._values(text, "clean", f"row_id = {row}")[0]
        except duckdb.Error:
            return Raised()

    def _row(self, row: int) -> str:
        names = ", ".join(f"CAST({name} AS VARCHAR)" for name in COLUMNS)
        values = self._connection.execute(f"SELECT {names} FROM stored WHERE row_id = {row}").fetchall()[0]
        return ", ".join(f"{name}={str(value)[:40]}" for name, value in zip(COLUMNS, values, strict=True))


class Raised:
    """Where plain DuckDB raises there is nothing to compare with."""


def _whole(value: str | None) -> Any:
    return None if value is None else math.inf if value == "far" else int(value)


def _outside(expr: Expr, value: Any) -> str | None:
    if value is None:
        return None if expr.nullable else "NULL, and said never to be"
    if expr.type.kind is Kind.TEXT:
        # Lengths count a stored text as 4,096 characters, and the longest here has 100,000.
        return None if len(value) <= expr.length * 25 else f"a text of {len(value)} characters, not {expr.length}"
    if not expr.type.has_range:
        return None
    number = _number(value)
    if isinstance(number, float) and not math.isfinite(number):
        return f"{number} is not finite"
    assert expr.lo is not None and expr.hi is not None
    return None if expr.lo <= number <= expr.hi else f"{value!r} is outside [{expr.lo}, {expr.hi}]"


def _number(value: Any) -> Any:
    return Fraction(value) if isinstance(value, Decimal) else value


def _same(expr: Expr, ours: Any, plain: Any) -> bool:
    if isinstance(plain, float) and not math.isfinite(plain):
        return ours is None
    if ours is None and plain is not None and expr.type.kind in (Kind.DATE, Kind.TIMESTAMP):
        # What is made or read from a text is a date of the years 1 to 9999, as in columns, or NULL.
        first, last = DATE_RANGE if expr.type.kind is Kind.DATE else TIMESTAMP_RANGE
        return not first <= plain <= last
    if isinstance(plain, float) and isinstance(ours, int | float | Decimal):
        return math.isclose(float(ours), plain, rel_tol=1e-12, abs_tol=1e-300)
    if isinstance(ours, float) and isinstance(plain, int | Decimal):
        return math.isclose(ours, float(plain), rel_tol=1e-12)
    if isinstance(ours, bool) != isinstance(plain, bool):
        return False
    return bool(ours == plain)
