"""The list itself: names, templates, refusals, and what a row must say."""

from __future__ import annotations

import re

import pytest

from dither.errors import GuaranteeError, QueryRefused
from dither.sql.functions import BUILDERS, FUNCTIONS, TEMPLATES
from dither.sql.functions.ranges import loosened, outward, round_half_away, round_half_even, truncate_to
from dither.sql.functions.refused import REFUSED
from dither.sql.functions.registry import builder, template
from dither.sql.types import Kind
from support.edges import EdgeTable


@pytest.fixture(scope="module")
def table() -> EdgeTable:
    return EdgeTable()


def test_no_name_and_no_operation_is_registered_twice() -> None:
    with pytest.raises(GuaranteeError):
        builder("sin", example="sin(x)", section="")(lambda call: call.args[0])
    with pytest.raises(GuaranteeError):
        template("sin", "sin({0})")


def test_what_is_refused_by_name_is_not_on_the_list() -> None:
    assert not REFUSED.keys() & BUILDERS.keys()


def test_no_template_guards_by_try() -> None:
    """TRY raises and catches for each row that fails, which takes 100 times as long: a loud channel. TRY_CAST of a
    text does not raise, and is all there is of the kind."""
    trying = {op for op, text in TEMPLATES.items() if re.search(r"\btry", text, re.IGNORECASE)}
    assert all(re.fullmatch(r"CAST\(TRY_CAST\(\{0\} AS \w+\) AS \w+\)", TEMPLATES[op]) for op in trying)
    assert all(op.startswith("text_to_") for op in trying)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_without_arguments_or_with_too_many_is_refused_and_never_fails(table: EdgeTable, name: str) -> None:
    if not re.fullmatch(r"\w+", name):
        return
    for arguments in (
        "",
        ", ".join(["k"] * 101),
        "NULL",
        "NULL, NULL",
        "NULL, NULL, NULL",
        "b",
        "us - e",
        "s, s, s, s",
    ):
        if not (name == "pi" and arguments == ""):
            try:
                table.bind(f"{name}({arguments})")
            except QueryRefused as refusal:
                assert refusal.code[:2] in ("F-", "P-"), refusal


def test_ends_move_outward_and_zero_stays() -> None:
    assert outward((0, 1)) == (0.0, 1.0000000000000002)
    lo, hi = loosened(-1.0, 5e-324)
    assert lo < -1.0
    assert hi > 5e-324


def test_rounding_of_ends_is_that_of_the_functions() -> None:
    assert [round_half_away(n, 10) for n in (14, 15, -15, -14, 25)] == [10, 20, -20, -10, 30]
    assert [round_half_even(n, 10) for n in (15, 25, -25, 35)] == [20, 20, -20, 40]
    assert [truncate_to(n, 10) for n in (19, -19)] == [10, -10]


def test_ranges_are_as_narrow_as_people_expect(table: EdgeTable) -> None:
    """What a sum costs hangs on these: a wider range is more noise."""
    for text, lo, hi in (
        ("floor(n / 10)", 0, 12),
        ("n % 7", 0, 7),
        ("n & 3", 0, 3),
        ("n >> 2", 0, 30),
        ("round(n, -1)", 0, 120),
        ("year(e)", 2019, 2021),
        ("sign(n)", 0, 1),
        ("date_diff('day', DATE '2019-01-01', e)", 0, 822),
        ("bit_count(n)", 0, 7),
        ("ln(n + 1)", 0, 4.8),
        ("md5_number_lower(s) % 10", 0, 10),
        ("sqrt(n)", 0, 10.96),
        ("e - e", -791, 791),
    ):
        expr = table.bind(text)
        assert expr.lo is not None and expr.hi is not None
        assert lo <= expr.lo + 1e-9 and expr.hi <= hi, f"{text}: {expr.lo} to {expr.hi}"


def test_a_span_is_counted_where_it_can_be_named(table: EdgeTable) -> None:
    assert table.bind("us - e").type.kind is Kind.INTERVAL
    assert table.bind("us - us > INTERVAL '1 day'").type.kind is Kind.BOOLEAN


@pytest.mark.parametrize(
    ("text", "way"),
    [("levenshtein(s, t)", "LOWER(TRIM(x))"), ("hash(s)", "MD5_NUMBER_LOWER"), ("age(us)", "DATE_SUB"),
     ("isnan(x)", "IS NULL"), ("us AT TIME ZONE 'UTC'", "UTC")],
)  # fmt: skip
def test_a_known_function_is_refused_with_the_way_forward(table: EdgeTable, text: str, way: str) -> None:
    with pytest.raises(QueryRefused) as refusal:
        table.bind(text)
    assert refusal.value.code == "F-103"
    assert way in str(refusal.value.hint)
