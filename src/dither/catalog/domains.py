"""Read a column: its type, bounds and listed values, each checked against the type.

Flow: plain values in, Column out; used by load and arguments. Bounds and values become promises enforced on read, so
a bound that the engine could not compare exactly (beyond int64, finer than a decimal's scale) is refused here.
"""

from __future__ import annotations

import datetime as dt
import numbers
import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import get_args

from dither.catalog.model import Column, ColumnType, DomainValue
from dither.catalog.reading import Unfit, at, choice, describe, flag, number, only, whole
from dither.exact import exact

__all__ = ["COLUMN_TYPES", "INT64", "LARGEST_DOUBLE", "MOST_VALUES", "largest_decimal", "read_column"]

COLUMN_TYPES: tuple[ColumnType, ...] = get_args(ColumnType)
INT64 = (-(2**63), 2**63 - 1)
LARGEST_DOUBLE = exact(sys.float_info.max)
MOST_DECIMAL_DIGITS = 38
MOST_VALUES = 10**6
"""More listed values than this are private groups' work."""

_EXAMPLES: dict[ColumnType, tuple[str, str]] = {
    "integer": ("a whole number", "[0, 110]"),
    "double": ("a number", "[0.0, 500.0]"),
    "decimal": ("a number", "[0, 500.00]"),
    "date": ("a date such as 2026-01-31, without quotes", "[2020-01-01, 2029-12-31]"),
    "timestamp": (
        "a timestamp such as 2026-01-31 08:00:00, without quotes",
        "[2020-01-01 00:00:00, 2029-12-31 23:59:59]",
    ),
    "text": ("a text in quotes", '["F", "M", "X"]'),
    "boolean": ("true or false", "[true, false]"),
}


def read_column(name: str, entry: object) -> Column:
    """The column that `entry`, a table such as { type = "integer", bounds = [0, 110] }, declares."""
    if not isinstance(entry, Mapping):
        hint = f'Write {name} = {{ type = "{entry}" }}.' if entry in COLUMN_TYPES else None
        raise Unfit('a table such as { type = "integer", bounds = [0, 110] }', entry, hint=hint)
    only(entry, ("type", "bounds", "values", "scale", "looked", "rows"))
    kind = _type(entry)
    scale = _scale(kind, entry)
    bounds = _bounds(kind, scale, entry["bounds"]) if "bounds" in entry else None
    values = _values(kind, scale, bounds, entry["values"]) if "values" in entry else None
    looked = flag(entry, "looked")
    if looked and bounds is None:
        raise Unfit(
            "`bounds` beside `looked = true`",
            key=("looked",),
            found="none",
            hint="Remove `looked`, or write the bounds.",
        )
    return Column(name, kind, bounds, values, scale, looked)


def largest_decimal(scale: int) -> Fraction:
    """The greatest number of 38 digits of which `scale` stand after the point."""
    return Fraction(10**MOST_DECIMAL_DIGITS - 1, 10**scale)


def _type(entry: Mapping[str, object]) -> ColumnType:
    kind = choice(entry, "type", COLUMN_TYPES)
    for known in COLUMN_TYPES:
        if kind == known:
            return known
    raise Unfit("a column type", key=("type",), hint=f"The types are {', '.join(COLUMN_TYPES)}.")


def _scale(kind: ColumnType, entry: Mapping[str, object]) -> int | None:
    scale = whole(entry, "scale", 0, MOST_DECIMAL_DIGITS)
    if scale is not None and kind != "decimal":
        raise Unfit(f"no `scale` on a column of type {kind}", scale, key=("scale",), hint="Only decimals have a scale.")
    return scale


def _bounds(kind: ColumnType, scale: int | None, pair: object) -> tuple[DomainValue, DomainValue]:
    example = _EXAMPLES[kind][1]
    with at("bounds"):
        if kind in ("text", "boolean"):
            hint = f"List the values instead: values = {example}." if kind == "text" else "A boolean needs neither."
            raise Unfit(f"no bounds on a column of type {kind}", pair, code="C-130", hint=hint)
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise Unfit(f"two bounds, low and high, such as {example}", pair, code="C-130")
        low, high = (_value(kind, scale, item, index) for index, item in enumerate(pair))
        if _less(high, low):
            hint = f"Write bounds = [{_bare(pair[1])}, {_bare(pair[0])}]."
            raise Unfit("the low bound first, then the high", pair, code="C-130", hint=hint)
    return low, high


def _values(
    kind: ColumnType, scale: int | None, bounds: tuple[DomainValue, DomainValue] | None, listed: object
) -> tuple[DomainValue, ...]:
    with at("values"):
        if not isinstance(listed, (list, tuple)) or not listed:
            raise Unfit(f"a list of values such as values = {_EXAMPLES[kind][1]}", listed, code="C-130")
        if len(listed) > MOST_VALUES:
            hint = "Leave `values` out: the groups are then private and selected with noise (this needs delta > 0)."
            raise Unfit(f"at most {MOST_VALUES} values", found=f"{len(listed)}", code="C-130", hint=hint)
        seen: dict[DomainValue, None] = {}
        for index, item in enumerate(listed):
            value = _value(kind, scale, item, index)
            if value in seen:
                raise Unfit("each value once", key=(index,), found=f"{describe(item)} again", code="C-130")
            if bounds is not None and (_less(value, bounds[0]) or _less(bounds[1], value)):
                raise Unfit("values inside the bounds of the column", item, key=(index,), code="C-130")
            seen[value] = None
    return tuple(seen)


def _value(kind: ColumnType, scale: int | None, item: object, index: int) -> DomainValue:
    expected = _EXAMPLES[kind][0]
    with at(index):
        match kind:
            case "integer":
                return _integer(item, expected)
            case "double" | "decimal":
                return _fraction(kind, scale, number(item, expected), item)
            case "text" if isinstance(item, str):
                return _text(item)
            case "boolean" if isinstance(item, bool):
                return item
            case "date" if isinstance(item, dt.date) and not isinstance(item, dt.datetime):
                return item
            case "timestamp" if isinstance(item, dt.datetime):
                return _utc(item)
            case _:
                raise Unfit(expected, item, code="C-130")


def _integer(item: object, expected: str) -> int:
    if isinstance(item, bool) or not isinstance(item, numbers.Integral):
        raise Unfit(f"{expected}, as the column is of type integer", item, code="C-130")
    if not INT64[0] <= int(item) <= INT64[1]:
        raise Unfit(f"a whole number from {INT64[0]} to {INT64[1]} (64 bits)", item, code="C-130")
    return int(item)


def _fraction(kind: ColumnType, scale: int | None, value: Fraction, item: object) -> Fraction:
    if kind == "double" and abs(value) > LARGEST_DOUBLE:
        raise Unfit("a number that a double can hold (up to 1.7976931348623157e308)", item, code="C-130")
    if kind == "decimal" and abs(value) > largest_decimal(scale or 0):
        raise Unfit(f"a number that a decimal can hold ({MOST_DECIMAL_DIGITS} digits in all)", item, code="C-130")
    # An engine would round such a bound to the scale, outwards too: the clamp would then be wider than priced.
    if kind == "decimal" and scale is not None and (value * 10**scale).denominator != 1:
        raise Unfit(f"a number with at most {scale} digits after the point (`scale`)", item, code="C-130")
    return value


def _text(item: str) -> str:
    if "\0" in item:
        raise Unfit("a text without NUL characters, which databases cannot hold", item, code="C-130")
    return item


def _utc(item: dt.datetime) -> dt.datetime:
    """Naive, in UTC, to the microsecond; a timestamp with an offset is converted."""
    try:
        offset = item.utcoffset()
        moved = item if offset is None else item.replace(tzinfo=None) - offset
        return dt.datetime(*moved.timetuple()[:6], moved.microsecond)
    except (OverflowError, ValueError):
        raise Unfit("a timestamp of the years 1 to 9999 in UTC", item, code="C-130") from None


def _less(left: DomainValue, right: DomainValue) -> bool:
    return left < right  # type: ignore[operator]


def _bare(item: object) -> str:
    return describe(item).removeprefix("the date ").removeprefix("the timestamp ")
