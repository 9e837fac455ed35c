"""What a question is wanted for is read from its comments, or refused; it is never dropped."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dither.errors import InvalidParameter
from dither.session.wishes import Wish, read_questions, read_wishes


def wish_of(comment: str) -> Wish:
    (wanted,) = read_questions(f"{comment}\nSELECT COUNT(*) FROM t")
    return wanted.wish


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("-- within 50", Wish(Fraction(50))),
        ("-- within=50", Wish(Fraction(50))),
        ("/* within = 2.5 */", Wish(Fraction(5, 2))),
        ("-- WITHIN 1_000", Wish(Fraction(1000))),
        ("-- within n=50, total=2000", Wish(None, {"n": Fraction(50), "total": Fraction(2000)})),
        ('-- within "N, all"=5', Wish(None, {"n, all": Fraction(5)})),
        ("-- within 50; within n=10", Wish(Fraction(50), {"n": Fraction(10)})),
        ("-- within 50\n-- within N=10", Wish(Fraction(50), {"n": Fraction(10)})),
        ("-- weight=2", Wish(weight=Fraction(2))),
        ("-- weight 1/3", Wish(weight=Fraction(1, 3))),
        ("-- the yearly count", Wish()),
        ("-- withinside weights", Wish()),
    ],
)
def test_a_wish_is_read(comment: str, expected: Wish) -> None:
    assert wish_of(comment) == expected


@pytest.mark.parametrize(
    "comment",
    [
        "-- within fifty",
        "-- within",
        "-- within 0",
        "-- within -3",
        "-- within nan",
        "-- within 50 people",
        "-- within n=50 total=20",
        "-- within n=50, n=60",
        "-- within 50; within 60",
        "-- weight",
        "-- weight=1; weight=2",
        "-- weight=0",
        "-- within 50; weight=2",
        "-- within the last year only",
    ],
)
def test_a_wish_that_is_not_clear_is_refused(comment: str) -> None:
    with pytest.raises(InvalidParameter, match="wish in line 1"):
        wish_of(comment)


@pytest.mark.parametrize(
    "written",
    [
        "SELECT COUNT(*) FROM t -- within 50",
        "SELECT COUNT(*) /* within 50 */ FROM t",
        "SELECT COUNT(*) FROM t; -- within 50",
        "SELECT COUNT(*) FROM t; -- within 50\nSELECT 2",
        "SELECT COUNT(*) FROM t;\n-- within 50",
    ],
)
def test_a_wish_that_could_be_another_questions_is_refused(written: str) -> None:
    with pytest.raises(InvalidParameter, match="above its question"):
        read_questions(written)


def test_questions_are_numbered_through_all_texts() -> None:
    found = read_questions(["SELECT 1; SELECT 2", "-- weight=3\nSELECT 3"])
    assert [(each.number, each.text) for each in found] == [(1, "SELECT 1"), (2, "SELECT 2"), (3, "SELECT 3")]
    assert found[2].wish.weight == 3


def test_wishes_of_a_file_belong_to_questions_by_number() -> None:
    wishes = read_wishes("# for the report\n1: within 50\n\n3: weight=2  # less urgent\n")
    assert wishes == {1: "within 50", 3: "weight=2"}
    found = read_questions("SELECT 1; SELECT 2; SELECT 3", wishes)
    assert [each.wish for each in found] == [Wish(Fraction(50)), Wish(), Wish(weight=Fraction(2))]


@pytest.mark.parametrize("line", ["within 50", "1 within 50", "1:", "x: within 50", "1: within 5\n1: within 6"])
def test_a_file_of_wishes_that_is_not_clear_is_refused(line: str) -> None:
    with pytest.raises(InvalidParameter, match="of the wishes"):
        read_wishes(line)


def test_a_question_has_one_wish_and_a_wish_has_a_question() -> None:
    with pytest.raises(InvalidParameter, match="one wish for question 1"):
        read_questions("-- weight=1\nSELECT 1", {1: "weight=2"})
    with pytest.raises(InvalidParameter, match="questions 1 to 1"):
        read_questions("SELECT 1", {2: "weight=2"})
    with pytest.raises(InvalidParameter, match="wish of question 1"):
        read_questions("SELECT 1", {1: "wide"})
    with pytest.raises(InvalidParameter, match="at least one question"):
        read_questions("-- nothing")
    with pytest.raises(InvalidParameter, match="texts of SQL"):
        read_questions([1])  # type: ignore[list-item]
