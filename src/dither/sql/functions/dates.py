"""Parts of dates and timestamps, truncation, distances. Always in UTC; stored values lie in the years 1 to 9999."""

from __future__ import annotations

import math
from functools import partial

from dither.sql.expressions import Expr
from dither.sql.functions.casts import as_type
from dither.sql.functions.intervals import DAY, part_of_span
from dither.sql.functions.literals import read_as
from dither.sql.functions.ranges import Ends, ends_of, outward
from dither.sql.functions.registry import Call, builder, template
from dither.sql.types import DATE_RANGE, DOUBLE, INTEGER, TIMESTAMP, Kind, date_of

SECTION = "Parts of dates"
parts = partial(builder, section=SECTION)

# Field -> the range of its values; those that count years are computed from the argument.
FIELDS: dict[str, Ends] = {
    "year": (0, 9999),
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "dayofyear": (1, 366),
    "dayofweek": (0, 6),
    "isodow": (1, 7),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
    "millisecond": (0, 59_999),
    "microsecond": (0, 59_999_999),
    "decade": (0, 999),
    "century": (1, 100),
    "millennium": (1, 10),
    "isoyear": (0, 9999),
    "yearweek": (0, 999_953),
    "era": (0, 1),
}
# Years of one of the field, and what is added before the division: the first century is the years 1 to 100.
YEARS_OF = {
    "year": (1, 0), "isoyear": (1, 0), "decade": (10, 0), "century": (100, 99), "millennium": (1000, 999),
}  # fmt: skip
OF_DAY = ("hour", "minute", "second", "millisecond", "microsecond")
# Functions that are a field by another name, and spellings that only EXTRACT and DATE_PART know.
FUNCTION_NAMES = {"day": ("dayofmonth",), "dayofyear": (), "dayofweek": ("weekday",), "week": ("weekofyear",)}
SPELLINGS = {
    "years": "year", "y": "year", "yr": "year", "yrs": "year", "months": "month", "mon": "month", "mons": "month",
    "days": "day", "d": "day", "dayofmonth": "day", "doy": "dayofyear", "dow": "dayofweek", "weekday": "dayofweek",
    "weeks": "week", "w": "week", "weekofyear": "week", "quarters": "quarter", "hours": "hour", "h": "hour",
    "hr": "hour", "hrs": "hour", "minutes": "minute", "m": "minute", "min": "minute", "mins": "minute",
    "seconds": "second", "s": "second", "sec": "second", "secs": "second", "milliseconds": "millisecond",
    "ms": "millisecond", "msec": "millisecond", "msecs": "millisecond", "microseconds": "microsecond",
    "us": "microsecond", "usec": "microsecond", "usecs": "microsecond", "decades": "decade", "dec": "decade",
    "decs": "decade", "centuries": "century", "cent": "century", "c": "century", "millenniums": "millennium",
    "millennia": "millennium", "mil": "millennium", "mils": "millennium",
}  # fmt: skip
# Of a constant NULL the engine makes a double.
PARTS = {field: template(f"extract_{field}", f"CAST(date_part('{field}', {{0}}) AS BIGINT)") for field in FIELDS}
EPOCH = template("epoch", "epoch({0})")
JULIAN = template("julian", "julian({0})")
JULIAN_1970 = 2_440_588

UNITS = (
    "millennium", "century", "decade", "year", "quarter", "month", "week", "day", "hour", "minute", "second",
    "millisecond", "microsecond",
)  # fmt: skip
TRUNCATE = {
    unit: template(f"truncate_{unit}", "CAST(date_trunc('" + unit + "', {0}) AS TIMESTAMP)")
    for unit in (*UNITS, "isoyear")
}
DISTANCE = {unit: template(f"distance_{unit}", "date_diff('" + unit + "', {0}, {1})") for unit in UNITS}
FULL_DISTANCE = {unit: template(f"full_distance_{unit}", "date_sub('" + unit + "', {0}, {1})") for unit in UNITS}
LEAST_DAYS = {
    "millennium": 360_000, "century": 36_000, "decade": 3600, "year": 360, "quarter": 85, "month": 27, "week": 7,
    "day": 1,
}  # fmt: skip
PER_DAY = {"hour": 24, "minute": 1440, "second": 86_400, "millisecond": 86_400_000, "microsecond": DAY}
# Days that truncation moves back by, at most.
MOVES_BACK = {"millennium": 366_000, "century": 36_600, "decade": 3660, "isoyear": 372, "quarter": 92, "month": 31}


@parts("date_part", "datepart", example="extract(year FROM born)")
def date_part(call: Call) -> Expr:
    call.need_count(2)
    return _part(call, call.need_constant_text(0).lower(), 1)


def _register_field(field: str, *others: str) -> None:
    @parts(field, *others, example=f"{field}({'seen' if field in OF_DAY else 'born'})")
    def build(call: Call) -> Expr:
        call.need_count(1)
        return _part(call, field, 0)


for _field in FIELDS:
    _register_field(_field, *FUNCTION_NAMES.get(_field, ()))
# DuckDB has these as fields of EXTRACT only.
_register_field("doy")
_register_field("dow")


@parts("epoch", example="epoch(seen)")
def epoch(call: Call) -> Expr:
    """Seconds since 1970."""
    call.need_count(1)
    return _part(call, "epoch", 0)


@parts("julian", example="julian(seen)")
def julian(call: Call) -> Expr:
    """The Julian day."""
    call.need_count(1)
    return _part(call, "julian", 0)


@parts("date_trunc", "datetrunc", example="date_trunc('month', seen)")
def date_trunc(call: Call) -> Expr:
    call.need_count(2)
    unit = _unit(call, "DATE_TRUNC", TRUNCATE)
    moment = as_type(call, call.need_kind(1, Kind.DATE, Kind.TIMESTAMP), TIMESTAMP)
    lo, hi = ends_of(moment)
    back = MOVES_BACK.get(unit, 366) * DAY
    return Expr(TRUNCATE[unit], TIMESTAMP, (moment,), nullable=moment.nullable, lo=lo - back, hi=hi)


@parts("date_diff", "datediff", example="date_diff('day', born, '2026-01-01')")
def date_diff(call: Call) -> Expr:
    """How many borders of the unit lie between: from 23:59 to 0:01 it is one day."""
    return _distance(call, "DATE_DIFF", DISTANCE)


@parts("date_sub", "datesub", example="date_sub('year', born, DATE '2026-01-01')")
def date_sub(call: Call) -> Expr:
    """How many full units lie between: full years of a person's age."""
    return _distance(call, "DATE_SUB", FULL_DISTANCE)


def _unit(call: Call, function: str, known: dict[str, str]) -> str:
    written = call.need_constant_text(0).lower()
    unit = SPELLINGS.get(written, written)
    if unit not in known:
        raise call.refuse("F-135", f"{function} knows {', '.join(known)}; not this unit.", arg=0)
    return unit


def _distance(call: Call, function: str, ops: dict[str, str]) -> Expr:
    call.need_count(3)
    unit = _unit(call, function, ops)
    kinds = {arg.type.kind for arg in call.args[1:]}
    if kinds & {Kind.DATE, Kind.TIMESTAMP}:
        kind = Kind.TIMESTAMP if Kind.TIMESTAMP in kinds else Kind.DATE
        call = call.with_args(call.args[0], *(read_as(call, kind, index) for index in (1, 2)))
    left, right = (call.need_kind(index, Kind.DATE, Kind.TIMESTAMP) for index in (1, 2))
    days_left, days_right = _days(left), _days(right)
    span = max(days_right[1] - days_left[0], days_left[1] - days_right[0], 0) + 1
    size = span // LEAST_DAYS[unit] + 1 if unit in LEAST_DAYS else span * PER_DAY[unit]
    args = (left, right)
    if left.type != right.type:
        args = (as_type(call, left, TIMESTAMP), as_type(call, right, TIMESTAMP))
    least = 0 if days_left[1] <= days_right[0] and left.type == right.type else -size
    return Expr(ops[unit], INTEGER, args, nullable=left.nullable or right.nullable, lo=least, hi=size)


def _part(call: Call, written: str, index: int) -> Expr:
    field = SPELLINGS.get(written, written)
    if call.args[index].type.kind is Kind.INTERVAL:
        return part_of_span(call, field, index)
    if field not in FIELDS and field not in ("epoch", "julian"):
        known = ", ".join(sorted([*FIELDS, "epoch", "julian"]))
        raise call.refuse("F-135", f"Dither knows the parts {known}; not this one.")
    moment = call.need_kind(index, Kind.DATE, Kind.TIMESTAMP)
    if field in ("epoch", "julian"):
        return _on_a_line(moment, field)
    lo, hi = FIELDS[field]
    first, last = _years(moment, 1 if field in ("isoyear", "yearweek") else 0)
    # Before the year 1 engines count decades, centuries and weeks in their own ways, one apart at most.
    slack = 1 if field not in ("year", "isoyear") and first < 1 else 0
    if field in YEARS_OF:
        divisor, round_up = YEARS_OF[field]
        lo, hi = (first + round_up) // divisor - slack, (last + round_up) // divisor + slack
    if field == "yearweek":
        lo, hi = first * 100 - 53 * (first < 1), last * 100 + 53
    if field == "era" and first >= 1:
        lo = 1
    return Expr(PARTS[field], INTEGER, (moment,), nullable=moment.nullable, lo=lo, hi=hi)


def _on_a_line(moment: Expr, field: str) -> Expr:
    first, last = _days(moment)
    if field == "epoch":
        lo, hi = outward((first * 86_400.0, (last + 1) * 86_400.0))
        return Expr(EPOCH, DOUBLE, (moment,), nullable=moment.nullable, lo=lo, hi=hi)
    lo, hi = outward((float(first + JULIAN_1970), float(last + 1 + JULIAN_1970)))
    return Expr(JULIAN, DOUBLE, (moment,), nullable=moment.nullable, lo=lo, hi=hi)


def _days(moment: Expr) -> tuple[int, int]:
    lo, hi = ends_of(moment)
    unit = 1 if moment.type.kind is Kind.DATE else DAY
    return int(lo // unit), int(hi // unit)


def _years(moment: Expr, slack: int) -> tuple[int, int]:
    """The years of the first and last day; `slack` further out, for weeks that belong to the year before or after."""
    first, last = _days(moment)
    if DATE_RANGE[0] <= first and last <= DATE_RANGE[1]:
        return date_of(first).year - slack, date_of(last).year + slack
    # The calendar's mean year is exact to within one.
    return math.floor(first / 365.2425) + 1969 - slack, math.floor(last / 365.2425) + 1971 + slack
