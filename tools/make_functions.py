"""Write docs/reference/functions.md: every scalar function a question may use, with an example, its type and its range.

All of it is read off the rows of `dither.sql.functions`; each example is bound by the same code that binds questions,
over one row of the types below. Run it after changing that list; a test compares.
"""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from dither.sql.bind import Binder, display_name
from dither.sql.expressions import Expr, make_column
from dither.sql.functions import BUILDERS, FUNCTIONS, Function
from dither.sql.functions.refused import REFUSED
from dither.sql.names import NamedColumn, Scope
from dither.sql.parse import parse
from dither.sql.types import (
    BOOLEAN,
    DATE,
    DATE_RANGE,
    DOUBLE,
    INTEGER,
    TEXT,
    TIMESTAMP,
    Bound,
    Kind,
    date_of,
    days_of,
    decimal,
    microseconds_of,
)

TARGET = Path(__file__).resolve().parents[1] / "docs" / "reference" / "functions.md"
NOW = dt.datetime(2026, 1, 31, 12)
DAYS = dt.datetime(2020, 1, 1), dt.datetime(2026, 12, 31)

ROW: dict[str, Expr] = {
    "age": make_column("age", INTEGER, nullable=True, lo=0, hi=120),
    "price": make_column("price", decimal(2), nullable=True, lo=Fraction(0), hi=Fraction(500)),
    "income": make_column("income", DOUBLE, nullable=True, lo=0.0, hi=1e6),
    "region": make_column("region", TEXT, nullable=True, length=40),
    "smoker": make_column("smoker", BOOLEAN, nullable=True),
    "born": make_column("born", DATE, nullable=True, lo=days_of(DAYS[0].date()), hi=days_of(DAYS[1].date())),
    "seen": make_column("seen", TIMESTAMP, nullable=True, lo=microseconds_of(DAYS[0]), hi=microseconds_of(DAYS[1])),
}

FORMS = (
    "age = 30", "age <> 30", "income >= 1000", "region IS NOT DISTINCT FROM 'North'", "age BETWEEN 18 AND 65",
    "region IN ('North', 'South')", "region NOT IN ('North', 'South')", "smoker IS NULL", "age > 18 AND smoker",
    "age > 18 OR smoker", "NOT smoker", "CASE WHEN age < 18 THEN 'minor' WHEN age < 65 THEN 'adult' ELSE 'senior' END",
    "coalesce(age, 0)", "born < DATE '2000-01-01'", "born + 30", "DATE '2026-01-01' - born", "current_date",
    "CASE region WHEN 'North' THEN 1 ELSE 0 END", "born IN ('2024-01-31', '2024-02-29')",
    "born + INTERVAL '1 month'", "seen - INTERVAL (age) DAY", "seen - born > INTERVAL '36 hours'",
    "extract(epoch FROM seen - born)", "CAST(income AS INTEGER)", "CAST(age AS DOUBLE)",
    "CAST(income AS DECIMAL(10, 2))", "CAST(age AS VARCHAR)", "CAST(age AS BOOLEAN)", "CAST(smoker AS INTEGER)",
    "TRY_CAST(region AS INTEGER)", "CAST(region AS DATE)", "CAST(seen AS DATE)", "CAST(born AS TIMESTAMP)",
)  # fmt: skip

HEAD = """# Scalar functions

<!-- Written by tools/make_functions.py; do not edit. -->

The functions and operators that may stand over people's rows. No other reaches a database: each of these gives a value
or NULL on every row and never raises, because an error on a row would tell of that row. What is not a finite number is
NULL: division by zero, overflow of a double, logarithms and roots outside their domain, casts that do not fit. Nothing
is converted silently: text beside a number is a refusal.

The values are DuckDB's wherever DuckDB gives one, with four rules of ours: a double is finite or NULL; dates and
timestamps made from numbers or texts lie in the years 1 to 9999 or are NULL; an integer has at most 126 bits or is NULL
or a refusal; what was rounded to REAL is computed on in double precision. A test compares each
function with DuckDB on edge values.

A text literal beside a date is read as a date, beside a timestamp as a timestamp, when it is written `'2024-01-31'` or
`'2024-01-31 12:00:00'`; anything else is refused with its place. The constants of patterns, formats and regular
expressions are checked before a question is charged.

The finish, over noisy numbers, knows these as DuckDB has them, and a few more.

Examples are over `age` (integer, 0 to 120), `price` (decimal with 2 digits, 0 to 500), `income` (double, 0 to a
million), `region` (text), `smoker` (boolean), `born` (date, 2020 to 2026) and `seen` (timestamp, the same years). A
type is as [the catalog](catalog.md) names it; `decimal(s)` has s digits after the point. The range is what is known of
the example's result from its arguments' bounds; a sum needs no other bounds. `max` is the largest double.
"""

REFUSED_HEAD = """## Not offered

Asked for often, and left out on purpose.

| function | why, and what instead |
|---|---|"""


ORDER = (
    "Numbers", "Whole numbers", "Rounding", "Roots, powers and logarithms", "Angles", "Choices", "Text", "Patterns",
    "Hashes for buckets", "Parts of dates", "Dates made and shown", "Spans of time",
)  # fmt: skip


def bound(example: str) -> Expr:
    """One expression, as a question's binder makes it."""
    item = parse(f"SELECT {example}").children("select_list")[0]
    scope = Scope(tuple(NamedColumn("", name, column) for name, column in ROW.items()))
    return Binder(scope, now=NOW).bind(item)


def examples() -> list[str]:
    return [*(function.example for function in FUNCTIONS.values()), *FORMS]


def section(functions: list[Function]) -> Iterator[str]:
    yield "| function | also | example | gives | range | NULL when no argument is |\n|---|---|---|---|---|---|"
    for function in functions:
        first, *others = function.names
        expr = bound(function.example)
        also = ", ".join(f"`{cell(display_name(name))}`" for name in others)
        yield (
            f"| `{cell(display_name(first))}` | {also} | `{cell(function.example)}` | {expr.type} | {range_of(expr)} | "
            f"{function.null_when} |"
        )


def range_of(expr: Expr) -> str:
    if not expr.type.has_range:
        return ""
    assert expr.lo is not None and expr.hi is not None
    return f"{shown(expr, expr.lo)} to {shown(expr, expr.hi)}"


def shown(expr: Expr, end: Bound) -> str:
    """An end as people write it; rounded to the nearest, where the last digits are outward rounding."""
    match expr.type.kind:
        case Kind.DATE:
            return date_of(int(end)).isoformat() if DATE_RANGE[0] <= end <= DATE_RANGE[1] else f"day {int(end)}"
        case Kind.TIMESTAMP:
            days = int(end // 86_400_000_000)
            return date_of(days).isoformat() if DATE_RANGE[0] <= days <= DATE_RANGE[1] else f"day {days}"
        case Kind.INTEGER if abs(end) >= 2**53:
            sign = "-" if end < 0 else ""
            return f"{sign}2^{math.log2(abs(end)):.4g}"
        case Kind.DOUBLE if abs(end) >= sys.float_info.max:
            return "-max" if end < 0 else "max"
    return f"{int(end)}" if float(end).is_integer() and abs(end) < 2**53 else f"{float(end):.6g}"


def cell(text: str) -> str:
    return text.replace("|", r"\|")


def page() -> str:
    parts = [HEAD]
    if set(ORDER) != {function.section for function in FUNCTIONS.values()}:
        raise SystemExit("The sections of the functions are not those of this page.")
    for title in ORDER:
        listed = [function for function in FUNCTIONS.values() if function.section == title]
        parts += [f"## {title}\n", *section(listed), ""]
    parts += ["## Forms\n", "| form | gives |\n|---|---|"]
    parts += [f"| `{cell(form)}` | {bound(form).type} |" for form in FORMS]
    parts += ["", REFUSED_HEAD]
    for why in dict.fromkeys(REFUSED.values()):
        names = ", ".join(f"`{display_name(name)}`" for name, reason in REFUSED.items() if reason == why)
        parts.append(f"| {names} | {why} |")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{TARGET.name}: {len(FUNCTIONS)} functions, {len(BUILDERS)} names\n")
