"""Spans of time, and dates and timestamps moved by them or by whole days.

A span is three integer expressions: months, days, microseconds, as in DuckDB, where a month has no fixed length until
it is added to a date. Spans are not stored and not aggregated: they are added, subtracted, multiplied by integers,
compared, or taken apart by EXTRACT, all within one expression. Times are in UTC, so a day has 24 hours.

Each move is refused when the ranges of its operands could take it further than `FARTHEST_DAY`: no timestamp overflows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from dither.sql.expressions import Expr, literal
from dither.sql.functions.casts import TO_DOUBLE, as_type, is_wide
from dither.sql.functions.literals import span_parts
from dither.sql.functions.numeric import (
    add_numbers,
    divide_whole,
    multiply_numbers,
    negate,
    remainder,
)
from dither.sql.functions.ranges import Ends, combine, ends_of, outward
from dither.sql.functions.registry import Call, builder, template
from dither.sql.types import DATE, DOUBLE, INTEGER, INTERVAL, TIMESTAMP, Kind, magnitude

__all__ = ["FARTHEST_DAY", "add", "microseconds", "multiply", "part_of_span", "span", "span_literal", "subtract"]

SECTION = "Spans of time"
FARTHEST_DAY = 4_000_000
"""Days from 1970 that a computed date may reach: far inside what timestamps hold."""
DAY = 86_400_000_000
MONTH_DAYS = Fraction(3_652_425, 120_000)
MONTH_SLACK = 10
"""Days by which months of the calendar stray from the mean: two of leap years, two within a year, three at ends."""
MOMENTS = (Kind.DATE, Kind.TIMESTAMP)

SPAN = template("span", "(to_months(CAST({0} AS INTEGER)) + to_days(CAST({1} AS INTEGER)) + to_microseconds({2}))")
ADD_DAYS = template("add_days", "({0} + CAST({1} AS INTEGER))")
DAYS_BETWEEN = template("days_between", "({0} - {1})")
TIME_BETWEEN = template("time_between", "(epoch_us({0}) - epoch_us({1}))")
MOVE_MONTHS = template("move_months", "({0} + to_months(CAST({1} AS INTEGER)))")
MOVE_DAYS = template("move_days", "({0} + to_days(CAST({1} AS INTEGER)))")
MOVE_TIME = template("move_time", "({0} + to_microseconds({1}))")
SECONDS_OF = template("seconds_of", "(CAST({0} AS DOUBLE) / CAST(1000000 AS DOUBLE))")

# Unit of to_...() -> which of the three parts it counts, and how many of it.
UNITS = {
    "millennia": (0, 12_000), "centuries": (0, 1200), "decades": (0, 120), "years": (0, 12), "quarters": (0, 3),
    "months": (0, 1), "weeks": (1, 7), "days": (1, 1), "hours": (2, 3_600_000_000), "minutes": (2, 60_000_000),
    "seconds": (2, 1_000_000), "milliseconds": (2, 1000), "microseconds": (2, 1),
}  # fmt: skip


def span(months: Expr, days: Expr, time: Expr, *, between: bool = False) -> Expr:
    """between: a difference of two timestamps, whose days are whole ones of its microseconds."""
    parts = (months, days, time)
    return Expr(SPAN, INTERVAL, parts, payload=between, nullable=any(part.nullable for part in parts))


def span_literal(call: Call, text: str, index: int = 0) -> Expr:
    return span(*(literal(part) for part in span_parts(call, text, index)))


def _register_unit(unit: str) -> None:
    @builder(f"to_{unit}", example=f"born + to_{unit}(1)", section=SECTION)
    def build(call: Call) -> Expr:
        call.need_count(1)
        part, size = UNITS[unit]
        parts = [literal(0), literal(0), literal(0)]
        parts[part] = _counted(call, size, fractions=part == 2)
        return _checked(call, span(*parts))


for _unit in UNITS:
    _register_unit(_unit)


def add(call: Call) -> Expr:
    """Of two arguments, one a date, a timestamp or a span."""
    left, right = call.args
    if left.type.kind in MOMENTS and right.type.kind in MOMENTS:
        raise call.refuse("F-121", f"{call.name} cannot combine {left.type} and {right.type}.")
    moment, other = (left, right) if left.type.kind in MOMENTS else (right, left)
    if moment.type.kind in MOMENTS:
        return _moved(call, moment, other)
    parts = (_parts(call, 0), _parts(call, 1))
    return _checked(call, span(*(_sum(call, a, b) for a, b in zip(*parts, strict=True))))


def subtract(call: Call) -> Expr:
    """The negative of a span; a date or timestamp less another, a span or whole days; a span less another."""
    if len(call.args) == 1:
        return _negative(call, 0)
    left, right = call.args
    if left.type.kind in MOMENTS and right.type.kind in MOMENTS:
        return _between(left, right)
    if left.type.kind in MOMENTS:
        if right.type.kind is Kind.INTERVAL:
            return _moved(call, left, _negative(call, 1))
        if right.type.kind is Kind.INTEGER and left.type.kind is Kind.DATE:
            return _moved(call, left, negate(call, right))
        return _moved(call, left, right)
    return add(call.with_args(left, _negative(call, 1)))


def multiply(call: Call) -> Expr:
    """A span a whole number of times."""
    index = 0 if call.args[0].type.kind is Kind.INTERVAL else 1
    times = call.need_kind(1 - index, Kind.INTEGER)
    parts = (multiply_numbers(_numbers(call, part, times)) for part in _parts(call, index))
    return _checked(call, span(*map(_folded, parts)))


def microseconds(call: Call, index: int) -> Expr:
    """A span as an integer that orders spans as the engine does: a month counts as 30 days."""
    months, days, time = _parts(call, index)
    signs = {end > 0 for part in (months, days, time) for end in ends_of(part) if end != 0}
    several = sum(ends_of(part) != (0, 0) for part in (months, days, time)) > 1
    if several and len(signs) > 1:
        raise call.refuse("F-138", f"{call.name} of spans with parts of both signs is not supported.", arg=index)
    total = _sum(call, _product(call, months, 30 * DAY), _product(call, days, DAY))
    return _sum(call, total, time)


def part_of_span(call: Call, part: str, index: int) -> Expr:
    """EXTRACT from a span without months: of a difference of timestamps, most of all."""
    months, days, time = _parts(call, index)
    if ends_of(months) != (0, 0):
        raise call.refuse("F-138", "A part of a span with months is not supported.", arg=index)
    if call.args[index].payload is True and part != "epoch":
        days, time = divide_whole(time, DAY), remainder(time, DAY)
    match part:
        case "epoch":
            total = microseconds(call, index)
            first, last = ends_of(total)
            lo, hi = outward((float(first) / 1e6, float(last) / 1e6))
            return Expr(SECONDS_OF, DOUBLE, (total,), nullable=total.nullable, lo=lo, hi=hi)
        case "day":
            return days
        case "hour":
            return divide_whole(time, 3_600_000_000)
        case "minute":
            return divide_whole(remainder(time, 3_600_000_000), 60_000_000)
        case "second":
            return divide_whole(remainder(time, 60_000_000), 1_000_000)
    raise call.refuse("F-135", "Of a span Dither knows the parts day, hour, minute, second and epoch; not this one.")


def _moved(call: Call, moment: Expr, by: Expr) -> Expr:
    if by.type.kind is Kind.INTERVAL:
        return _moved_by_span(call, moment, by)
    if by.type.kind is not Kind.INTEGER or moment.type.kind is not Kind.DATE:
        raise call.refuse(
            "F-120",
            f"A {moment.type} is moved by {'whole days or ' if moment.type == DATE else ''}a span; found {by.type}.",
            hint="Write d + 30, or d + INTERVAL '3 months'.",
        )
    nullable = moment.nullable or by.nullable
    lo, hi = _near(call, combine(moment, by, lambda a, b: a + b))
    if magnitude(*ends_of(by)) > FARTHEST_DAY:
        raise call.refuse("F-142", "This moves a date by more than ten thousand years.")
    return Expr(ADD_DAYS, DATE, (moment, by), nullable=nullable, lo=lo, hi=hi)


def _moved_by_span(call: Call, moment: Expr, by: Expr) -> Expr:
    """A timestamp, as in DuckDB: months first, then days, then time."""
    result = as_type(call, moment, TIMESTAMP)
    for op, part in zip((MOVE_MONTHS, MOVE_DAYS, MOVE_TIME), by.args, strict=True):
        least, most = ends_of(part)
        if (least, most) == (0, 0) and not part.nullable:
            continue
        lo, hi = ends_of(result)
        if op == MOVE_MONTHS:
            least, most = (math.floor(least * MONTH_DAYS) - MONTH_SLACK, math.ceil(most * MONTH_DAYS) + MONTH_SLACK)
        unit = 1 if op == MOVE_TIME else DAY
        lo, hi = lo + least * unit, hi + most * unit
        _near(call, (lo // DAY, hi // DAY))
        result = Expr(op, TIMESTAMP, (result, part), nullable=result.nullable or part.nullable, lo=lo, hi=hi)
    return result


def _between(left: Expr, right: Expr) -> Expr:
    nullable = left.nullable or right.nullable
    if left.type.kind is Kind.DATE and right.type.kind is Kind.DATE:
        lo, hi = combine(left, right, lambda a, b: a - b)
        return Expr(DAYS_BETWEEN, INTEGER, (left, right), nullable=nullable, lo=lo, hi=hi)
    (first, last), (other_first, other_last) = _time_ends(left), _time_ends(right)
    ends = first - other_last, last - other_first
    time = Expr(TIME_BETWEEN, INTEGER, (left, right), nullable=nullable, lo=ends[0], hi=ends[1])
    return span(literal(0), literal(0), time, between=True)


def _time_ends(moment: Expr) -> Ends:
    lo, hi = ends_of(moment)
    unit = DAY if moment.type.kind is Kind.DATE else 1
    return lo * unit, hi * unit


def _parts(call: Call, index: int) -> tuple[Expr, Expr, Expr]:
    arg = call.args[index]
    if arg.op == SPAN:
        months, days, time = arg.args
        return months, days, time
    if arg.type.kind is Kind.TEXT and arg.is_literal:
        return _parts(call.with_args(*(span_literal(call, str(arg.payload), index) for _ in call.args)), index)
    if arg.type.kind is Kind.INTERVAL:
        raise call.refuse(
            "F-138",
            "A span of time made by another expression or in a subquery cannot be used here.",
            hint="Write DATE_DIFF or EXTRACT(EPOCH FROM ...) where it is made: that is a number.",
            arg=index,
        )
    raise call.refuse("F-121", f"{call.name} cannot combine {call.args[0].type} and {call.args[-1].type}.", arg=index)


def _negative(call: Call, index: int) -> Expr:
    whole = call.args[index]
    parts = (_folded(negate(call, part)) for part in _parts(call, index))
    return span(*parts, between=whole.payload is True)


def _counted(call: Call, size: int, *, fractions: bool) -> Expr:
    """The argument times `size`, as an integer. fractions: a constant need not be whole before it is multiplied."""
    arg = call.need_kind(0, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)
    # INTERVAL (k) SECOND is parsed with a cast to a double around k.
    arg = arg.args[0] if arg.op == TO_DOUBLE else arg
    if arg.type.kind is Kind.INTEGER and not is_wide(arg):
        return _product(call, arg, size)
    if fractions and isinstance(arg.payload, float | Fraction):
        return literal(round(Fraction(arg.payload) * size))
    raise call.refuse("F-120", f"{call.name} takes a whole number here; found {arg.type}.", arg=0)


def _checked(call: Call, made: Expr) -> Expr:
    """The span, when each part of it fits the function that makes it in the engine."""
    months, days, time = (magnitude(*ends_of(part)) for part in made.args)
    _near(call, (0, months * MONTH_DAYS + days + time / DAY))
    return made


def _near(call: Call, days: Ends) -> Ends:
    if magnitude(*days) > FARTHEST_DAY:
        raise call.refuse("F-142", "This moves a date by more than ten thousand years.")
    return days


def _product(call: Call, expr: Expr, size: int) -> Expr:
    return _folded(expr) if size == 1 else _folded(multiply_numbers(_numbers(call, expr, literal(size))))


def _sum(call: Call, left: Expr, right: Expr) -> Expr:
    if left.is_literal and left.payload == 0:
        return right
    if right.is_literal and right.payload == 0:
        return left
    return _folded(add_numbers(_numbers(call, left, right)))


def _numbers(call: Call, left: Expr, right: Expr) -> Call:
    return replace(call, args=(left, right), arg_spans=(call.span, call.span))


def _folded(expr: Expr) -> Expr:
    """A literal, where the range leaves one value and NULL is none."""
    lo, hi = ends_of(expr)
    return literal(int(lo)) if lo == hi and not expr.nullable else expr
