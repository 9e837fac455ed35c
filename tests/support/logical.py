"""One logical table, and what our documented rules make of it, in plain Python: no DuckDB has a part in it.

Flow: `tests/properties/test_physical_storage.py` stores the values of a `Kind` in some physical way, asks the questions
of `questions`, and compares with the rows that go with each.
The table: u (the unit), and three columns with the same values, declared with bounds, with listed values, and bare.
Dates are days and timestamps microseconds since 1970 here, for Python's own end in the year 9999.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

__all__ = ["KINDS", "Kind", "Question", "catalog_of", "day", "moment", "questions", "units"]

Value = Any
Rows = list[tuple[Value, ...]]


@dataclass(frozen=True)
class Kind:
    """One of the catalog's types, with a declaration of each sort and the values to be stored."""

    type: str
    bounds: tuple[Value, Value] | None
    values: tuple[Value, ...]
    """Those listed for the column that lists them."""
    stored: tuple[Value, ...]
    cuts: tuple[Value, ...]
    """Compared with: on each side of the bounds, on them, between them."""

    def bounded(self, value: Value) -> Value:
        """The value as a column with bounds is read."""
        if _is_nothing(value) or self.bounds is None:
            return None if _is_nothing(value) else value
        low, high = self.bounds
        return low if value < low else high if value > high else value

    def listed(self, value: Value) -> Value:
        return value if not _is_nothing(value) and value in self.values else None

    def bare(self, value: Value) -> Value:
        """The value as a column declared by its type alone is read: finite, of 64 bits, of the years 1 to 9999."""
        if _is_nothing(value) or (isinstance(value, float) and math.isinf(value)):
            return None
        low, high = _ENDS.get(self.type, (None, None))
        if low is None or high is None or low <= value <= high:
            return value
        return min(max(value, low), high) if self.type == "integer" else None


@dataclass(frozen=True)
class Question:
    sql: str
    rows: Rows
    tolerance: float = 1e-6


def day(year: int, month: int = 1, of: int = 1) -> int:
    """Days since 1970 in the proleptic calendar, for any year: Howard Hinnant's `days_from_civil`."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + of - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def moment(year: int, month: int = 1, of: int = 1, *, seconds: int = 0, us: int = 0) -> int:
    return (day(year, month, of) * 86400 + seconds) * 1_000_000 + us


_ENDS: dict[str, tuple[int, int]] = {
    "integer": (-(2**63), 2**63 - 1),
    "date": (day(1), day(9999, 12, 31)),
    "timestamp": (moment(1), moment(9999, 12, 31, seconds=86399, us=999999)),
}

NAN, INF = math.nan, math.inf

KINDS: dict[str, Kind] = {
    "integer": Kind(
        "integer", (0, 100), (0, 3, 100, 127),
        (None, 0, 1, 3, 3, 3, 99, 100, 101, 127, -1, -128, None, 40, 41, 41),
        (-200, -1, 0, 3, 50, 100, 101, 300),
    ),
    "double": Kind(
        "double", (-5, 50), (0, 0.5, 50, 64),
        (None, NAN, INF, -INF, -0.0, 0.0, 0.5, 0.5, 7.25, 49.75, 50.0, 50.25, -5.0, -5.5, 64.0, 2.0**100, 2.0**-100,
         NAN, None, -(2.0**100)),
        (-100, -5, 0, 0.5, 7.25, 50, 51, 1000),
    ),
    "decimal": Kind(
        "decimal", (Decimal("-2.50"), Decimal("50.00")), (Decimal("0.25"), Decimal("50.00"), Decimal("99.99")),
        tuple(None if v is None else Decimal(v) for v in (
            None, "0.00", "0.25", "0.25", "-2.50", "-2.51", "-99.99", "99.99", "50.00", "50.01", "7.07", None)),
        (-3, Decimal("-2.5"), 0, Decimal("0.25"), 50, Decimal("50.01"), 1000),
    ),
    "text": Kind(
        "text", None, ("a", "A", "", "é", "x" * 300),
        (None, "", "a", "A", "a", "é", "e\u0301", "É", "b ", "b", "x" * 300, "x" * 299 + "y", "x" * 5000, "\U0001f600",
         "'", "NULL", "nan", None, "B", "z\u00e4", "\u6f22\u5b57"),
        ("", "A", "a", "aa", "b", "x" * 300, "é", "\U0001f600"),
    ),
    "boolean": Kind("boolean", None, (True,), (None, True, False, True, None, True), (True, False)),
    "date": Kind(
        "date", (day(2020), day(2020, 3, 31)), (day(2020), day(2020, 2, 29), day(1900)),
        (None, day(2020), day(2020, 2, 29), day(2020, 2, 29), day(2019, 12, 31), day(2021), day(1970),
         day(1969, 12, 31), day(1900), day(1), day(9999, 12, 31), day(2020, 12, 31), None),
        (day(1969, 12, 31), day(2020), day(2020, 2, 29), day(2020, 12, 31), day(2021, 1, 1)),
    ),
    "timestamp": Kind(
        "timestamp", (moment(2020), moment(2020, 12, 31)), (moment(2020), moment(2020, 2, 29, seconds=3600)),
        (None, moment(2020), moment(2020, 2, 29, seconds=3600), moment(2020, 2, 29, seconds=3600),
         moment(2019, 12, 31, seconds=86399), moment(1970), moment(1969, 12, 31, seconds=86399), moment(2021),
         moment(1900, 1, 1, seconds=1), moment(2020, 12, 31), moment(2261), moment(1678), None),
        (moment(1969, 12, 31), moment(2020), moment(2020, 2, 29, seconds=3600), moment(2020, 12, 31), moment(2021)),
    ),
}  # fmt: skip


def units(stored: Sequence[Value]) -> list[int | None]:
    """Whose row each value is: two rows to a unit, and the last row nobody's."""
    return [*(i // 2 for i in range(len(stored) - 1)), None]


def literal(kind: str, value: Value) -> str:
    match kind:
        case "text":
            return "'" + value.replace("'", "''") + "'"
        case "boolean":
            return str(value).upper()
        case "date":
            return f"DATE '{_iso_day(value)}'"
        case "timestamp":
            days, rest = divmod(value, 86_400_000_000)
            seconds, us = divmod(rest, 1_000_000)
            clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{us:06}"
            return f"TIMESTAMP '{_iso_day(days)} {clock}'"
        case _:
            return str(value)


def catalog_of(kind: Kind, *, source: str, scale: int | None = None) -> str:
    """The catalog of the table with the columns u, a (bounds), b (values) and c (neither)."""
    digits = f", scale = {scale}" if scale is not None else ""
    low, high = (None, None) if kind.bounds is None else (_toml(kind.type, end) for end in kind.bounds)
    ends = "" if kind.bounds is None else f", bounds = [{low}, {high}]"
    listed = f", values = [{', '.join(_toml(kind.type, value) for value in kind.values)}]"
    return (
        f'[dataset]\nname = "stored"\n[source]\nurl = "{source}"\n[unit]\nname = "person"\n'
        f'[budget]\nepsilon = 1e9\ndelta = 1e-5\n[tables.t]\nprivacy_unit = "u"\nmax_rows_per_unit = 3\n'
        f'[tables.t.columns]\na = {{ type = "{kind.type}"{digits}{ends} }}\n'
        f'b = {{ type = "{kind.type}"{digits}{"" if kind.type == "boolean" else listed} }}\n'
        f'c = {{ type = "{kind.type}"{digits} }}\n'
    )


def questions(kind: Kind, stored: Sequence[Value], *, thorough: bool = False) -> list[Question]:
    """Questions about the table t of these stored values, with the answers that the rules give."""
    present = list(stored)[:-1]
    listed = kind.bare if kind.type == "boolean" else kind.listed
    reads = {
        name: [read(value) for value in present]
        for name, read in (("a", kind.bounded), ("b", listed), ("c", kind.bare))
    }
    found = [_presence(kind, reads), _self_join(reads["c"])]
    for name, values in reads.items():
        cuts = kind.cuts if thorough else kind.cuts[1::3]
        found += [_comparisons(kind, name, values, cuts), _groups(kind, name, values)]
        conditions = _filters(kind, name, values)
        found += conditions if thorough else conditions[:2]
        found += _casts(kind, name, values) if thorough or name == "a" else []
    return found + (_ranks(kind, reads["a"]) if kind.bounds is not None else [])


def _presence(kind: Kind, reads: dict[str, list[Value]]) -> Question:
    """Counts, different values and sums of all three columns."""
    items, row = ["COUNT(*)"], [float(len(reads["a"]))]
    for name, values in reads.items():
        known = [value for value in values if value is not None]
        items += [f"COUNT({name})", f"COUNT(*) FILTER (WHERE {name} IS NULL)", f"COUNT(DISTINCT {name})"]
        row += [len(known), len(values) - len(known), len({_key(value) for value in known})]
        # A sum over a column without bounds would spend on choosing them.
        if kind.type in ("integer", "double", "decimal") and name != "c":
            total = math.fsum(map(float, known))
            items += [f"SUM({name})", f"AVG({name})"]
            row += [total, total / len(known)] if known else [None, None]  # type: ignore[list-item]
    # The grid of sums is about a millionth of the range.
    return Question(f"SELECT {', '.join(items)} FROM t", [tuple(row)], tolerance=1e-3)


def _comparisons(kind: Kind, name: str, values: Sequence[Value], cuts: Sequence[Value]) -> Question:
    items: list[str] = []
    row: list[int] = []
    for cut in cuts:
        shown = literal(kind.type, cut)
        items += [f"COUNT(*) FILTER (WHERE {name} {op} {shown})" for op in ("<", "=", ">=", "<>")]
        items.append(f"SUM(CASE WHEN {name} > {shown} THEN 1 WHEN {name} IS NULL THEN 0 ELSE 3 END)")
        known = [_key(value) for value in values if value is not None]
        at = _key(cut)
        row += [sum(v < at for v in known), sum(v == at for v in known), sum(v >= at for v in known)]
        row += [sum(v != at for v in known), sum(1 if v > at else 3 for v in known)]
    return Question(f"SELECT {', '.join(items)} FROM t", [tuple(row)])


def _filters(kind: Kind, name: str, values: Sequence[Value]) -> list[Question]:
    """A WHERE of its own: an engine may leave out what a file says cannot be there."""
    low, middle, high = kind.cuts[0], kind.cuts[len(kind.cuts) // 2], kind.cuts[-1]
    known = [_key(value) for value in values if value is not None]
    ends = [literal(kind.type, cut) for cut in (low, middle, high)]
    a, m, z = _key(low), _key(middle), _key(high)
    cases = [
        (f"{name} <= {ends[1]}", sum(v <= m for v in known)),
        (f"NOT {name} BETWEEN {ends[0]} AND {ends[2]}", sum(not a <= v <= z for v in known)),
        (f"{name} > {ends[1]}", sum(v > m for v in known)),
        (f"{name} BETWEEN {ends[0]} AND {ends[2]}", sum(a <= v <= z for v in known)),
        (f"{name} IN ({ends[0]}, {ends[1]})", sum(v in (a, m) for v in known)),
        (f"{name} IS NOT NULL", len(known)),
        (f"{name} IS NULL", len(values) - len(known)),
    ]
    return [Question(f"SELECT COUNT(*) FROM t WHERE {condition}", [(n,)]) for condition, n in cases]


def _groups(kind: Kind, name: str, values: Sequence[Value]) -> Question:
    counted = Counter(None if value is None else _key(value) for value in values)
    shown = {None: None, **{_key(value): _shown(kind.type, value) for value in values if value is not None}}
    rows = [(shown[key], n) for key, n in counted.items()]
    return Question(f"SELECT {name} AS k, COUNT(*) AS n FROM t GROUP BY {name}", rows)


def _casts(kind: Kind, name: str, values: Sequence[Value]) -> list[Question]:
    known = [value for value in values if value is not None]
    match kind.type:
        case "integer" | "double" | "decimal":
            inside = sum(abs(value) < 10**6 for value in known)
            sql = f"SELECT COUNT(CASE WHEN ABS(CAST({name} AS DOUBLE)) < 1000000 THEN 1 END) FROM t"
            return [Question(sql, [(inside,)])]
        case "text":
            whole = f"SELECT SUM(CASE WHEN LENGTH({name}) > 1 THEN 1 ELSE 0 END) FROM t"
            return [
                Question(whole, [(sum(len(value) > 1 for value in known),)]),
                Question(f"SELECT COUNT(CAST({name} AS BIGINT)) FROM t", [(0,)]),
            ]
        case "date" | "timestamp":
            years = [1970 + (value // (1 if kind.type == "date" else 86_400_000_000)) / 365.2425 for value in known]
            sql = f"SELECT COUNT(*) FROM t WHERE EXTRACT(YEAR FROM {name}) < 2015"
            return [Question(sql, [(sum(year < 2015 for year in years),)])]
        case _:
            return [Question(f"SELECT COUNT(*) FROM t WHERE NOT {name}", [(sum(not value for value in known),)])]


def _ranks(kind: Kind, values: Sequence[Value]) -> list[Question]:
    known = sorted(float(value) for value in values if value is not None)
    if kind.type in ("date", "timestamp") or not known:
        return []
    sql = "SELECT MIN(a), MAX(a), MEDIAN(a) FROM t"
    middle = statistics.median(known)
    width = float(kind.bounds[1] - kind.bounds[0]) if kind.bounds else 1.0
    # Quantiles are right to a rank: here the ends, and the middle to the nearest values.
    return [Question(sql, [(known[0], known[-1], middle)], tolerance=0.15 * width)]


def _self_join(values: Sequence[Value]) -> Question:
    pairs = 0
    who = units([*values, None])[:-1]
    for i, left in enumerate(values):
        for j, right in enumerate(values):
            pairs += who[i] == who[j] and left is not None and right is not None and _key(left) == _key(right)
    return Question("SELECT COUNT(*) FROM t AS l JOIN t AS r ON l.u = r.u AND l.c = r.c", [(pairs,)])


def _is_nothing(value: Value) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _key(value: Value) -> Any:
    """What values are compared by: texts by their bytes, -0.0 as 0.0."""
    if isinstance(value, str):
        return value.encode()
    return value + 0.0 if isinstance(value, float) else value


def _shown(kind: str, value: Value) -> Any:
    """The key as an answer shows it, in the form `exactly.difference` compares."""
    if kind == "date":
        return _iso_day(value)
    if kind == "timestamp":
        return literal(kind, value).removeprefix("TIMESTAMP '").removesuffix("'").removesuffix(".000000")
    return _key(value) if isinstance(value, float) else value


def _iso_day(days: int) -> str:
    """The day as SQL and TOML write it; Hinnant's `civil_from_days`, for years 1 to 9999."""
    days += 719468
    era, of_era = divmod(days, 146097)
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day_of = of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    return f"{year + era * 400 + (month <= 2):04}-{month:02}-{day_of:02}"


def _toml(kind: str, value: Value) -> str:
    if kind == "text":
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if kind in ("date", "timestamp"):
        return literal(kind, value).split("'")[1].replace(" ", "T")
    return str(value).lower() if isinstance(value, bool) else str(value)
