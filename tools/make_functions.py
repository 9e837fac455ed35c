"""Write docs/reference/functions.md: every scalar function a question may use, with an example and its type.

Each example is bound by the same code that binds questions, over one row of the types below; a function of the registry
without an example is an error. Run it after changing `dither.sql.functions`; a test compares.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from dither.sql.bind import Binder, display_name
from dither.sql.expressions import Expr, make_column
from dither.sql.functions import BUILDERS
from dither.sql.functions.dates import FIELDS
from dither.sql.names import NamedColumn, Scope
from dither.sql.parse import parse
from dither.sql.types import BOOLEAN, DATE, DOUBLE, INTEGER, TEXT, TIMESTAMP, days_of, decimal, microseconds_of

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

# First name of a function -> the example of it; the rest of its names follow from the registry.
NUMBERS = {
    "+": "age + 1", "-": "price - 5", "*": "income * 0.5", "/": "age / 10", "//": "age // 10", "%": "age % 10",
    "abs": "abs(price)", "floor": "floor(income / 1000)", "ceil": "ceil(income / 1000)", "trunc": "trunc(income)",
    "round": "round(income, 1)", "sign": "sign(price)", "sqrt": "sqrt(income)", "ln": "ln(income)",
    "log": "log10(income)", "log2": "log2(income)", "exp": "exp(age / 120)", "power": "power(age, 2)",
    "greatest": "greatest(age, 18)", "least": "least(income, 5e5)", "nullif": "nullif(age, 0)",
    "if": "if(age < 18, 'minor', 'adult')",
}  # fmt: skip
OF_DAY = ("hour", "minute", "second")
DATES = {
    "date_part": "extract(year FROM born)", "date_trunc": "date_trunc('month', seen)",
    "date_diff": "date_diff('day', born, DATE '2026-01-01')",
    **{field: f"{field}({'seen' if field in OF_DAY else 'born'})" for field in FIELDS},
}  # fmt: skip
TEXTS = {
    "~~": "region LIKE 'North%'", "~~*": "region ILIKE 'north%'", "!~~": "region NOT LIKE 'North%'",
    "!~~*": "region NOT ILIKE 'north%'", "like_escape": r"region LIKE '10\%%' ESCAPE '\'",
    "ilike_escape": r"region ILIKE '10\%%' ESCAPE '\'", "contains": "contains(region, 'th')",
    "starts_with": "starts_with(region, 'No')", "ends_with": "ends_with(region, 'th')", "lower": "lower(region)",
    "upper": "upper(region)", "trim": "trim(region)", "ltrim": "ltrim(region)", "rtrim": "rtrim(region)",
    "length": "length(region)", "substring": "substring(region, 1, 2)", "||": "region || '!'",
    "concat": "concat(region, ', ', region)",
}  # fmt: skip
FORMS = (
    "age = 30", "age <> 30", "income >= 1000", "region IS NOT DISTINCT FROM 'North'", "age BETWEEN 18 AND 65",
    "region IN ('North', 'South')", "region NOT IN ('North', 'South')", "smoker IS NULL", "age > 18 AND smoker",
    "age > 18 OR smoker", "NOT smoker", "CASE WHEN age < 18 THEN 'minor' WHEN age < 65 THEN 'adult' ELSE 'senior' END",
    "coalesce(age, 0)", "born < DATE '2000-01-01'", "born + 30", "DATE '2026-01-01' - born", "current_date",
    "CAST(income AS INTEGER)", "CAST(age AS DOUBLE)", "CAST(income AS DECIMAL(10, 2))", "CAST(age AS VARCHAR)",
    "CAST(seen AS DATE)", "CAST(born AS TIMESTAMP)",
)  # fmt: skip

HEAD = """# Scalar functions

<!-- Written by tools/make_functions.py; do not edit. -->

The functions and operators that may stand over people's rows. No other reaches a database: each of these gives a value
or NULL on every row and never raises, because an error on a row would tell of that row. Division by zero, overflow of a
double, logarithms and roots outside their domain, and casts that do not fit give NULL. Nothing is converted silently:
text beside a number is a refusal.

The finish, over noisy numbers, knows these and more (trigonometry, formatting of texts and dates).

Examples are over `age` (integer), `price` (decimal with 2 digits), `income` (double), `region` (text), `smoker`
(boolean), `born` (date) and `seen` (timestamp). A type is as [the catalog](catalog.md) names it; `decimal(s)` has s
digits after the point.
"""
SECTIONS = (("Numbers and choices", NUMBERS), ("Dates and timestamps", DATES), ("Text", TEXTS))


def type_of(example: str) -> str:
    """The type of one expression, as a question's binder finds it."""
    item = parse(f"SELECT {example}").children("select_list")[0]
    scope = Scope(tuple(NamedColumn("", name, column) for name, column in ROW.items()))
    return str(Binder(scope, now=NOW).bind(item).type)


def names_of() -> dict[str, list[str]]:
    """First registered name of each function -> all its names."""
    by_builder: dict[object, list[str]] = {}
    for name, build in BUILDERS.items():
        by_builder.setdefault(build, []).append(name)
    return {names[0]: names for names in by_builder.values()}


def section(examples: dict[str, str], names: dict[str, list[str]]) -> Iterator[str]:
    yield "| function | also | example | gives |\n|---|---|---|---|"
    for first, example in examples.items():
        others = ", ".join(f"`{display_name(name)}`" for name in names[first][1:])
        yield f"| `{cell(display_name(first))}` | {others} | `{cell(example)}` | {type_of(example)} |"


def cell(text: str) -> str:
    return text.replace("|", r"\|")


def page() -> str:
    names = names_of()
    examples = {**NUMBERS, **DATES, **TEXTS}
    if set(names) != set(examples):
        raise SystemExit(f"functions and examples differ: {sorted(set(names) ^ set(examples))}")
    parts = [HEAD]
    for title, listed in SECTIONS:
        parts += [f"## {title}\n", *section(listed, names), ""]
    parts += ["## Forms\n", "| form | gives |\n|---|---|"]
    parts += [f"| `{cell(form)}` | {type_of(form)} |" for form in FORMS]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{TARGET.name}: {len(BUILDERS)} names\n")
