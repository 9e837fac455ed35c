"""Texts of a question that stand where a date, a timestamp, a span of time or a number is meant.

Flow: comparisons, CASTs and date functions hand a text literal in; a typed literal comes out, or a refusal that points
at it. Only constants are read here, before anything is charged; a text column is never read as something else unless a
CAST says so.
"""

from __future__ import annotations

import datetime as dt
import re

from dither.sql import embedded
from dither.sql.expressions import Expr, literal
from dither.sql.functions.registry import Call
from dither.sql.types import TIMESTAMP, Kind, microseconds_of

__all__ = ["date_literal", "moment_literal", "read_as", "span_parts", "timestamp_literal"]

_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?", re.ASCII)
_OFFSET = re.compile(r"(?:Z|[+-]\d\d(?::?\d\d)?)$", re.ASCII)


def moment_literal(call: Call, text: str, index: int) -> Expr:
    """DATE or TIMESTAMP, by what the text holds; the year lies in 1 to 9999."""
    stripped = text.strip()
    if _ISO.fullmatch(stripped):
        try:
            if len(stripped) == 10:
                return literal(dt.date.fromisoformat(stripped))
            return literal(dt.datetime.fromisoformat(stripped))
        except ValueError:
            pass
    elif _ISO.match(stripped) and _OFFSET.search(stripped[16:]):
        raise call.refuse(
            "F-132", "A timestamp with an offset is not supported here.", hint="Write it in UTC.", arg=index
        )
    raise call.refuse(
        "F-132",
        "This text is not a date or a timestamp.",
        hint="Write '2024-01-31' or '2024-01-31 12:00:00'.",
        arg=index,
    )


def date_literal(call: Call, text: str, index: int, *, cut: bool) -> Expr:
    """A DATE. A time of day after midnight is cut off where a CAST asks for it (cut), and refused elsewhere: DuckDB
    drops it there, and a timestamp may well have been meant."""
    found = moment_literal(call, text, index)
    value = found.payload
    if not isinstance(value, dt.datetime):
        return found
    if not cut and value.time() != dt.time():
        raise call.refuse(
            "F-136",
            f"{call.name} has a date beside this text with a time of day.",
            hint="Write the date alone, or CAST(... AS TIMESTAMP) on the other side.",
            arg=index,
        )
    return literal(value.date())


def timestamp_literal(call: Call, text: str, index: int) -> Expr:
    """A TIMESTAMP, at midnight where the text holds a date alone."""
    found = moment_literal(call, text, index)
    value = found.payload
    if isinstance(value, dt.datetime):
        return found
    assert isinstance(value, dt.date)
    midnight = dt.datetime(value.year, value.month, value.day)
    at = microseconds_of(midnight)
    return Expr("literal", TIMESTAMP, payload=midnight, nullable=False, lo=at, hi=at)


def read_as(call: Call, kind: Kind, index: int) -> Expr:
    """The argument at `index`: a text literal is read as a date or a timestamp, another text is refused."""
    arg = call.args[index]
    if arg.type.kind is not Kind.TEXT:
        return arg
    if not arg.is_literal:
        raise call.refuse(
            "F-121", f"{call.name} compares text with a date.", hint="Write CAST(... AS DATE) where it is meant.",
            arg=index,
        )  # fmt: skip
    text = str(arg.payload)
    return (
        timestamp_literal(call, text, index) if kind is Kind.TIMESTAMP else date_literal(call, text, index, cut=False)
    )


_SPAN = "CAST(? AS INTERVAL)"
_PARTS = ", ".join(
    f"date_part('{part}', {_SPAN})" for part in ("year", "month", "day", "hour", "minute", "microsecond")
)


def span_parts(call: Call, text: str, index: int) -> tuple[int, int, int]:
    """Months, days and microseconds of INTERVAL '...', as DuckDB reads it."""
    found = embedded.evaluate(_PARTS, *[text] * 6)
    if found is None or any(value is None for value in found):
        raise call.refuse(
            "F-137", "This text is not a span of time.", hint="Write '3 days' or '1 month 2 days 03:00:00'.", arg=index
        )
    years, months, days, hours, minutes, microseconds = (int(value) for value in found)
    return years * 12 + months, days, (hours * 60 + minutes) * 60_000_000 + microseconds
