"""A text literal beside a date is a date when it is ISO, and nothing else."""

from __future__ import annotations

import datetime as dt

import pytest

from dither.errors import QueryRefused
from dither.sql.expressions import literal
from dither.sql.functions.literals import date_literal, moment_literal, span_parts, timestamp_literal
from dither.sql.functions.registry import Call
from dither.sql.types import DATE, TIMESTAMP


def call(text: str) -> Call:
    return Call("=", (literal(text),), (0, 9), ((3, 5),))


def test_a_date_and_a_time_are_told_apart() -> None:
    assert moment_literal(call(""), "2020-02-29", 0).type == DATE
    assert moment_literal(call(""), " 2020-02-29 12:30 ", 0).payload == dt.datetime(2020, 2, 29, 12, 30)
    assert moment_literal(call(""), "2020-02-29T12:30:00.5", 0).payload == dt.datetime(2020, 2, 29, 12, 30, 0, 500000)


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "20200229", "2020-W01-1", "2020-2-9", "2020-02-30", "0000-01-01", "99999-01-01", "infinity",
     "2020-02-29 12", "2020-02-29 25:00", "2020-02-29 12:00:00.1234567", "2020-02-29 12:00:00+02", "29.02.2020"],
)  # fmt: skip
def test_what_is_no_iso_date_is_refused_at_its_place(text: str) -> None:
    with pytest.raises(QueryRefused) as refusal:
        moment_literal(call(text), text, 0)
    assert refusal.value.code == "F-132"
    assert refusal.value.span == (3, 5)


def test_a_time_of_day_beside_a_date_is_not_dropped_in_silence() -> None:
    """DuckDB compares the date alone: `d < '2020-06-01 10:00:00'` would leave out 2020-06-01 itself."""
    with pytest.raises(QueryRefused) as refusal:
        date_literal(call(""), "2020-06-01 10:00:00", 0, cut=False)
    assert refusal.value.code == "F-136"
    midnight = date_literal(call(""), "2020-06-01 00:00:00", 0, cut=False)
    assert midnight.payload == dt.date(2020, 6, 1)
    assert date_literal(call(""), "2020-06-01 10:00:00", 0, cut=True).payload == dt.date(2020, 6, 1)


def test_a_date_as_a_timestamp_is_its_midnight() -> None:
    found = timestamp_literal(call(""), "2020-06-01", 0)
    assert found.type == TIMESTAMP
    assert found.payload == dt.datetime(2020, 6, 1)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("1 month 2 days 03:00:00", (1, 2, 3 * 3_600_000_000)),
        ("-1 year", (-12, 0, 0)),
        ("1.5 days", (0, 1, 12 * 3_600_000_000)),
        ("90 minutes", (0, 0, 90 * 60_000_000)),
        ("1 day ago", (0, -1, 0)),
        ("14 months", (14, 0, 0)),
        ("-0.5 seconds", (0, 0, -500_000)),
    ],
)
def test_spans_of_time_are_read_as_duckdb_reads_them(text: str, parts: tuple[int, int, int]) -> None:
    assert span_parts(call(text), text, 0) == parts


@pytest.mark.parametrize("text", ["", "a while", "P1D", "1 fortnight", "99999999999999999999 years"])
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(QueryRefused) as refusal:
        span_parts(call(text), text, 0)
    assert refusal.value.code == "F-137"
