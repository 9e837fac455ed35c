"""Dates made and shown: from numbers, ends of months, names of days, texts in a constant format, buckets of time."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from dither.sql.expressions import Expr, literal
from dither.sql.functions.casts import as_type, is_wide
from dither.sql.functions.convert import within
from dither.sql.functions.intervals import DAY, SPAN, add
from dither.sql.functions.ranges import Ends, ends_of
from dither.sql.functions.registry import Call, builder, finish_text, template
from dither.sql.functions.signature import Row, define, integer, moment
from dither.sql.types import (
    DATE,
    DATE_RANGE,
    INTEGER,
    TEXT,
    TIMESTAMP,
    TIMESTAMP_RANGE,
    Kind,
)

SECTION = "Dates made and shown"
dates = partial(builder, section=SECTION)

STRFTIME = template("strftime", "strftime({0}, {1})")
EPOCH_MS = template("epoch_ms", "epoch_ms({0})")
EPOCH_US = template("epoch_us", "epoch_us({0})")
FROM_MILLISECONDS = template("from_milliseconds", "epoch_ms({0})")
FROM_MICROSECONDS = template("from_microseconds", "make_timestamp({0})")
BUCKET = template("time_bucket", "time_bucket({0}, {1})")
LONGEST_FORMAT = 100
# What STRFTIME writes for each letter, in characters at most; `%-d` is `%d` without its zero.
LETTERS = {
    "Y": 7, "y": 2, "m": 2, "d": 2, "j": 3, "H": 2, "I": 2, "M": 2, "S": 2, "f": 6, "g": 3, "p": 2, "a": 3, "A": 9,
    "b": 3, "B": 9, "u": 1, "w": 1, "U": 2, "W": 2, "V": 2, "G": 7, "c": 30, "x": 14, "X": 8, "%": 1,
}  # fmt: skip
WITHOUT_ZERO = frozenset("dmyHIMSj")
_FORMAT = re.compile(r"%(-?.)|[^%]", re.DOTALL)
DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
LONGEST_BUCKET = 1000 * 366


@dates("date_add", example="date_add(born, INTERVAL '3 months')")
def date_add(call: Call) -> Expr:
    call.need_count(2)
    if call.args[0].type.kind not in (Kind.DATE, Kind.TIMESTAMP):
        call.need_kind(0, Kind.DATE, Kind.TIMESTAMP)
    return add(call.with_args(call.need_kind(0, Kind.DATE, Kind.TIMESTAMP), call.args[1]))


define(
    "dayname",
    row=Row((moment,), TEXT, "dayname({0})", "dayname(born)", SECTION, length=lambda arg: 9, choices=DAY_NAMES),
)
define(
    "monthname",
    row=Row((moment,), TEXT, "monthname({0})", "monthname(born)", SECTION, length=lambda arg: 9, choices=MONTH_NAMES),
)
define(
    "days_in_month",
    row=Row((moment,), INTEGER, "day(last_day({0}))", "days_in_month(born)", SECTION, range=lambda arg: (28, 31)),
)


def _days_of(arg: Expr) -> tuple[int, int]:
    lo, hi = ends_of(arg)
    unit = 1 if arg.type.kind is Kind.DATE else DAY
    return int(lo // unit), int(hi // unit)


def _month_end(arg: Expr) -> Ends:
    first, last = _days_of(arg)
    return first, last + 30


define("last_day", row=Row((moment,), DATE, "last_day({0})", "last_day(born)", SECTION, range=_month_end))

_LEAP = "({0} % 4 = 0 AND {0} % 100 <> 0 OR {0} % 400 = 0)"
_LENGTH = f"CASE WHEN {{1}} IN (4, 6, 9, 11) THEN 30 WHEN {{1}} <> 2 THEN 31 WHEN {_LEAP} THEN 29 ELSE 28 END"
define(
    "make_date",
    row=Row(
        (integer, integer, integer),
        DATE,
        f"CASE WHEN {{0}} BETWEEN 1 AND 9999 AND {{1}} BETWEEN 1 AND 12 AND {{2}} BETWEEN 1 AND {_LENGTH} "
        "THEN make_date({0}, {1}, {2}) END",
        "make_date(2000 + age, 1, 1)",
        SECTION,
        range=lambda *args: DATE_RANGE,
        null_when="there is no such day in the years 1 to 9999",
    ),
)


@dates("epoch_ms", example="epoch_ms(seen)", null_when="of a number: the year is not in 1 to 9999")
def epoch_ms(call: Call) -> Expr:
    """Of a date or timestamp, milliseconds since 1970; of an integer, the timestamp so many milliseconds after 1970."""
    call.need_count(1)
    if call.args[0].type.kind is Kind.INTEGER:
        return _timestamp_of(call, FROM_MILLISECONDS, 1000)
    return _since_1970(call, EPOCH_MS, 1000)


@dates("epoch_us", example="epoch_us(seen)")
def epoch_us(call: Call) -> Expr:
    call.need_count(1)
    return _since_1970(call, EPOCH_US, 1)


@dates("make_timestamp", example="make_timestamp(age * 1000000)", null_when="the year is not in 1 to 9999")
def make_timestamp(call: Call) -> Expr:
    """From microseconds since 1970."""
    call.need_count(1)
    return _timestamp_of(call, FROM_MICROSECONDS, 1)


@dates("strftime", example="strftime(born, '%Y-%m')")
def strftime(call: Call) -> Expr:
    """The format is a constant. It may stand first, as DuckDB has it."""
    call.need_count(2)
    if call.args[0].type.kind is Kind.TEXT and call.args[1].type.kind in (Kind.DATE, Kind.TIMESTAMP):
        call = replace(call, args=call.args[::-1], arg_spans=call.arg_spans[::-1])
    arg = call.need_kind(0, Kind.DATE, Kind.TIMESTAMP)
    written = call.need_constant_text(1, LONGEST_FORMAT)
    pieces = list(_FORMAT.finditer(written))
    letters = [piece[1] for piece in pieces if piece[1]]
    known = all(letter[-1] in (WITHOUT_ZERO if len(letter) == 2 else LETTERS) and letter != "-" for letter in letters)
    if not written or sum(len(piece[0]) for piece in pieces) != len(written) or not known:
        raise call.refuse(
            "F-139", "This is no format STRFTIME knows here.", hint="Write '%Y-%m-%d %H:%M:%S', '%A', '%B', '%V'.",
            arg=1,
        )  # fmt: skip
    length = sum(LETTERS[piece[1][-1]] if piece[1] else 1 for piece in pieces)
    return finish_text(call, Expr(STRFTIME, TEXT, (arg, literal(written)), nullable=arg.nullable), length)


@dates("time_bucket", example="time_bucket(INTERVAL '2 weeks', born)")
def time_bucket(call: Call) -> Expr:
    """The start of the bucket it lies in, of a constant width: months, or days and time, from DuckDB's origin."""
    call.need_count(2)
    width = call.args[0]
    parts = [part.payload for part in width.args] if width.op == SPAN else []
    if len(parts) != 3 or not all(isinstance(part, int) for part in parts):
        raise call.refuse("F-130", f"{call.name} needs a constant span of time here: INTERVAL '2 weeks'.", arg=0)
    months, days, time = (int(part) for part in parts if isinstance(part, int))
    size = months * 31 + days + -(-time // DAY)
    mixed = months != 0 and (days, time) != (0, 0)
    if mixed or min(months, days, time) < 0 or not (months or days * DAY + time > 0) or size > LONGEST_BUCKET:
        raise call.refuse(
            "F-137",
            f"{call.name} takes a width of months, or of days and time, above zero and up to a thousand years.",
            arg=0,
        )
    arg = call.need_kind(1, Kind.DATE, Kind.TIMESTAMP)
    unit = 1 if arg.type.kind is Kind.DATE else DAY
    lo, hi = ends_of(arg)
    return Expr(BUCKET, arg.type, (width, arg), nullable=arg.nullable, lo=lo - (size + 1) * unit, hi=hi)


def _since_1970(call: Call, op: str, divisor: int) -> Expr:
    arg = as_type(call, call.need_kind(0, Kind.DATE, Kind.TIMESTAMP), TIMESTAMP)
    lo, hi = (int(end) // divisor for end in ends_of(arg))
    return Expr(op, INTEGER, (arg,), nullable=arg.nullable, lo=lo, hi=hi + 1)


def _timestamp_of(call: Call, op: str, factor: int) -> Expr:
    count = call.need_kind(0, Kind.INTEGER)
    if is_wide(count):
        raise call.refuse("F-144", f"{call.name} needs integers of at most 64 bits here.", arg=0)
    first, last = (-(-TIMESTAMP_RANGE[0] // factor), TIMESTAMP_RANGE[1] // factor)
    lo, hi = ends_of(count)
    kept = count if first <= lo and hi <= last else within(count, first, last)
    lo, hi = ends_of(kept)
    return Expr(op, TIMESTAMP, (kept,), nullable=kept.nullable, lo=lo * factor, hi=hi * factor)
