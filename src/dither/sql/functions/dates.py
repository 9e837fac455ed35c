"""Dates and timestamps: parts, truncation, distances. Always in UTC; values lie in the years 1 to 9999."""

from __future__ import annotations

import math

from dither.sql.expressions import Expr
from dither.sql.functions.casts import as_type
from dither.sql.functions.registry import Call, builder, template
from dither.sql.types import DATE_RANGE, INTEGER, TIMESTAMP, Kind, date_of

# Field -> the range of its values; the year's is computed from the argument.
FIELDS: dict[str, tuple[int, int]] = {
    "year": (0, 9999),
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "dayofmonth": (1, 31),
    "dayofyear": (1, 366),
    "doy": (1, 366),
    "dayofweek": (0, 6),
    "dow": (0, 6),
    "isodow": (1, 7),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
    "decade": (0, 999),
    "century": (1, 100),
}
PARTS = {field: template(f"extract_{field}", "date_part('" + field + "', {0})") for field in FIELDS}
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
TRUNCATE = {unit: template(f"truncate_{unit}", "CAST(date_trunc('" + unit + "', {0}) AS TIMESTAMP)") for unit in UNITS}
DISTANCE = {unit: template(f"distance_{unit}", "date_diff('" + unit + "', {0}, {1})") for unit in UNITS}
LEAST_DAYS = {"year": 360, "quarter": 85, "month": 27, "week": 7, "day": 1}
PER_DAY = {"hour": 24, "minute": 1440, "second": 86_400}


@builder("date_part", "datepart")
def date_part(call: Call) -> Expr:
    call.need_count(2)
    return _part(call, call.need_constant_text(0).lower(), 1)


def _register_field(field: str) -> None:
    @builder(field)
    def build(call: Call) -> Expr:
        call.need_count(1)
        return _part(call, field, 0)


for _field in FIELDS:
    _register_field(_field)


@builder("date_trunc", "datetrunc")
def date_trunc(call: Call) -> Expr:
    call.need_count(2)
    unit = call.need_constant_text(0).lower()
    if unit not in TRUNCATE:
        raise call.refuse("F-135", f"DATE_TRUNC knows {', '.join(UNITS)}; not this unit.", arg=0)
    moment = as_type(call, call.need_kind(1, Kind.DATE, Kind.TIMESTAMP), TIMESTAMP)
    assert moment.lo is not None and moment.hi is not None
    # Truncation moves back by less than 367 days.
    return Expr(
        TRUNCATE[unit],
        TIMESTAMP,
        (moment,),
        nullable=moment.nullable,
        lo=moment.lo - 367 * 86_400_000_000,
        hi=moment.hi,
    )


@builder("date_diff", "datediff")
def date_diff(call: Call) -> Expr:
    call.need_count(3)
    unit = call.need_constant_text(0).lower()
    if unit not in DISTANCE:
        raise call.refuse("F-135", f"DATE_DIFF knows {', '.join(UNITS)}; not this unit.", arg=0)
    left, right = call.need_kind(1, Kind.DATE, Kind.TIMESTAMP), call.need_kind(2, Kind.DATE, Kind.TIMESTAMP)
    days_left, days_right = _days(left), _days(right)
    span = max(days_right[1] - days_left[0], days_left[1] - days_right[0], 0) + 1
    size = span // LEAST_DAYS[unit] + 1 if unit in LEAST_DAYS else span * PER_DAY[unit]
    args = (left, right)
    if left.type != right.type:
        args = (as_type(call, left, TIMESTAMP), as_type(call, right, TIMESTAMP))
    return Expr(DISTANCE[unit], INTEGER, args, nullable=left.nullable or right.nullable, lo=-size, hi=size)


def _part(call: Call, field: str, index: int) -> Expr:
    if field not in FIELDS:
        raise call.refuse("F-135", f"Dither knows the parts {', '.join(sorted(FIELDS))}; not this one.")
    moment = call.need_kind(index, Kind.DATE, Kind.TIMESTAMP)
    lo, hi = FIELDS[field]
    if field in ("year", "decade", "century"):
        ends = _days(moment)
        first, last = _year(ends[0], -1), _year(ends[1], 1)
        if DATE_RANGE[0] <= ends[0] and ends[1] <= DATE_RANGE[1]:
            first, last = date_of(ends[0]).year, date_of(ends[1]).year
        divisor, round_up = {"year": (1, 0), "decade": (10, 0), "century": (100, 99)}[field]
        # Before the year 1 engines count decades and centuries in their own ways, one apart at most.
        slack = 1 if field != "year" and first < 1 else 0
        lo, hi = (first + round_up) // divisor - slack, (last + round_up) // divisor + slack
    return Expr(PARTS[field], INTEGER, (moment,), nullable=moment.nullable, lo=lo, hi=hi)


def _days(moment: Expr) -> tuple[int, int]:
    assert moment.lo is not None and moment.hi is not None
    if moment.type.kind is Kind.DATE:
        return int(moment.lo), int(moment.hi)
    return int(moment.lo // 86_400_000_000), int(moment.hi // 86_400_000_000)


def _year(days: int, slack: int) -> int:
    """A bound for the year of a day: the calendar's mean year is exact to within one."""
    return math.floor(days / 365.2425) + 1970 + slack
