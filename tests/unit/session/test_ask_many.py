"""Several questions in one release: one charge, one receipt, answers that agree."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import duckdb
import pytest

from dither.errors import InvalidParameter, QueryRefused
from dither.plan.laws import MarginalLaw
from support.clinic import clinic
from support.exactly import assert_same, noise_off, plain_answer
from support.worlds import World

BY_REGION = "SELECT region, COUNT(*) AS n FROM t GROUP BY region"
BY_BOTH = "SELECT flag, region, COUNT(*) AS n, SUM(age) AS s FROM t GROUP BY flag, region"
BY_FLAG = "SELECT flag, SUM(age) AS s FROM t GROUP BY flag ORDER BY s DESC"
OTHERS = (
    "SELECT MEDIAN(age) FROM t",
    "SELECT note, COUNT(*) AS n FROM t GROUP BY note",
    "SELECT COUNT(*) AS n FROM t WHERE age > (SELECT AVG(age) FROM t)",
    "SELECT kind, COUNT(*) AS n FROM o GROUP BY kind",
)


@pytest.fixture
def world() -> Iterator[World]:
    found = clinic()
    yield found
    found.close()


def test_one_charge_one_entry_one_receipt_and_answers_in_order(world: World) -> None:
    entries = len(world.ledger.entries())
    answers = world.session.ask_many([BY_REGION, BY_BOTH, BY_FLAG], rho="0.1")
    assert [answer.columns for answer in answers] == [("region", "n"), ("flag", "region", "n", "s"), ("flag", "s")]
    assert len(world.ledger.entries()) == entries + 1
    assert world.ledger.spent().rho == answers.charged.rho <= Fraction("0.1")
    assert answers.charged.rho > Fraction("0.0999999")
    assert {answer.receipt.entry for answer in answers} == {answers.receipt.entry} != {None}
    assert answers.receipt.rho == "0.1" or answers.receipt.rho.startswith("0.09999999")
    assert len(answers) == 3
    assert answers[1:][0] is answers[1]
    assert "Asked with 2 other question(s)" in repr(answers)


def test_answers_agree_exactly(world: World) -> None:
    by_region, by_both, by_flag = (a.rows() for a in world.session.ask_many([BY_REGION, BY_BOTH, BY_FLAG], rho="0.1"))
    for region, n in by_region:
        assert n == sum(row[2] for row in by_both if row[1] == region)
    for flag, s in by_flag:
        assert s == sum(row[3] for row in by_both if row[0] == flag)


def test_what_explain_names_is_charged_and_asking_again_is_free(world: World) -> None:
    questions = [BY_REGION, BY_BOTH, *OTHERS]
    explained = world.session.explain_many(questions, rho="0.3")
    answers = world.session.ask_many(questions, rho="0.3")
    assert explained.price == answers.charged
    again = world.session.ask_many(questions, rho="0.3")
    assert again.charged.rho == 0
    assert [a.rows() for a in again] == [a.rows() for a in answers]
    assert world.session.ask(BY_REGION + " ORDER BY n", rho="0.01").charged.rho == 0


@pytest.mark.parametrize("offer", [{"epsilon": 1000}, {"rho": 1000}])
def test_without_noise_every_answer_equals_plain_duckdb(world: World, offer: dict[str, int]) -> None:
    plain: duckdb.DuckDBPyConnection = world.plain()
    questions = [BY_REGION, BY_BOTH, BY_FLAG, OTHERS[1], OTHERS[3], BY_BOTH.replace("COUNT(*)", "COUNT(age)")]
    with noise_off():
        answers = world.session.ask_many(questions, **offer)
    for sql, answer in zip(questions, answers, strict=True):
        assert_same(answer.rows(), plain_answer(plain, sql), sql)


def test_explain_says_which_questions_share_with_none_and_why(world: World) -> None:
    notes = world.session.explain_many([BY_REGION, BY_BOTH, *OTHERS], rho="0.1").notes
    assert any("2 groupings of COUNT(*) are measured together" in note for note in notes)
    said = {note.split(" is ")[0]: note for note in notes if note.startswith("Question")}
    assert set(said) == {"Question 3", "Question 4", "Question 5", "Question 6"}
    assert "do not add up" in said["Question 3"]
    assert "private" in said["Question 4"]
    assert "no other question" in said["Question 6"]
    pure = world.session.explain_many([BY_REGION, BY_BOTH], epsilon=1)
    assert any("one by one" in note and "rho=" in note for note in pure.notes)


def test_together_is_more_accurate_than_one_by_one(world: World) -> None:
    pairs = [f"SELECT {a}, {b}, COUNT(*) AS n FROM t GROUP BY {a}, {b}" for a, b in
             (("region", "flag"), ("region", "age"), ("flag", "age"))]  # fmt: skip
    together = world.session.explain_many(pairs, rho="0.03").vectors
    alone = [world.session.explain(sql, rho="0.01").vectors[0] for sql in pairs]
    assert all(one.scale < other.scale for one, other in zip(together, alone, strict=True))
    assert sum(one.scale**2 for one in together) < 0.95 * sum(other.scale**2 for other in alone)


def test_weights_go_to_questions_and_never_above_the_offer(world: World) -> None:
    questions = [BY_REGION, "SELECT flag, COUNT(*) AS n FROM t GROUP BY flag"]
    for offer in ({"rho": Fraction(1, 10)}, {"epsilon": Fraction(1)}):
        even = world.session.explain_many(questions, **offer)
        odd = world.session.explain_many(questions, weights=["3.7", "1.1"], **offer)
        assert odd.vectors[0].scale < even.vectors[0].scale
        assert odd.vectors[1].scale > even.vectors[1].scale
        (meter, most), *_ = offer.items()
        assert getattr(odd.price, meter) <= most
    commented = f"-- weight=3.7\n{questions[0]};\n-- weight=1.1\n{questions[1]}"
    assert world.session.explain_many(commented, rho="0.1").vectors[0].scale == pytest.approx(
        world.session.explain_many(questions, rho="0.1", weights=["3.7", "1.1"]).vectors[0].scale
    )


def test_the_same_number_asked_twice_is_measured_once(world: World) -> None:
    explained = world.session.explain_many([BY_FLAG, BY_FLAG.replace(" DESC", ""), BY_FLAG], epsilon=1)
    assert len(explained.vectors) == len(world.session.explain(BY_FLAG, epsilon=1).vectors)
    answers = world.session.ask_many([BY_FLAG, "SELECT flag, SUM(age) AS total FROM t GROUP BY flag"], epsilon=1)
    assert sorted(map(str, answers[0].rows())) == sorted(map(str, answers[1].rows()))


SAME_ROWS = [
    "SELECT {key}, COUNT(*) AS n, SUM(age) AS s FROM t WHERE age > 20 GROUP BY {key}",
    "SELECT {key}, AVG(income) AS m, COUNT(*) AS n, COUNT_IF(flag) AS f FROM t WHERE age > 20 GROUP BY {key}",
    "SELECT {key}, SUM(income) AS i, COUNT(age) AS a FROM t WHERE age > 20 GROUP BY {key}",
    "SELECT {key} FROM t WHERE age > 20 GROUP BY {key}",
]


@pytest.mark.parametrize("key", ["region", "note"])
@pytest.mark.parametrize("offer", [{"epsilon": 1000}, {"rho": 1000}])
def test_a_number_beside_different_others_is_measured_once(world: World, key: str, offer: dict[str, int]) -> None:
    # COUNT(*) beside SUM(age) and beside AVG(income) was two vectors, each with half the offer's share.
    questions = [sql.format(key=key) for sql in SAME_ROWS]
    explained = world.session.explain_many(questions[:2], **offer)
    assert [vector.what.split(" by")[0] for vector in explained.vectors].count("COUNT(*)") == 1
    plain = world.plain()
    with noise_off():
        answers = world.session.ask_many(questions, **offer)
    for sql, answer in zip(questions, answers, strict=True):
        assert_same(answer.rows(), plain_answer(plain, sql), sql)
    names = [vector.identity for vector in world.ledger.vectors_in(str(answers.receipt.entry))]
    assert len(names) == len(set(names)) > 3


@pytest.mark.parametrize("offer", [{"epsilon": Fraction(1)}, {"rho": Fraction(1)}])
def test_a_number_that_several_want_has_the_share_of_who_wants_it_most(
    world: World, offer: dict[str, Fraction]
) -> None:
    questions = [sql.format(key="region") for sql in SAME_ROWS[:2]]
    heavy, light = (
        {v.what.split(" by")[0]: v.scale for v in world.session.explain_many(questions, weights=w, **offer).vectors}
        for w in ([1, 3], [1, 1])
    )
    sums = [what for what in heavy if what.startswith("SUM(age)")]
    assert heavy["COUNT(*)"] < light["COUNT(*)"] and all(heavy[what] > light[what] for what in sums) and sums
    (meter, most), *_ = offer.items()
    assert getattr(world.session.explain_many(questions, weights=[1, 3], **offer).price, meter) <= most


def test_parts_of_one_question_over_the_same_rows_measure_once_too(world: World) -> None:
    parts = [
        "(SELECT region, SUM(age) AS s, COUNT(*) AS n FROM t GROUP BY region)",
        "(SELECT region, SUM(income) AS s, COUNT(*) AS n FROM t GROUP BY region)",
    ]
    joined = f"{parts[0]} AS a JOIN {parts[1]} AS b ON a.region = b.region"
    sql = f"SELECT a.region, a.s / b.s AS r, a.n - b.n AS d FROM {joined}"
    explained = world.session.explain(sql, epsilon=1)
    assert [vector.what.split(" by")[0] for vector in explained.vectors].count("COUNT(*)") == 1 and len(
        explained.vectors
    ) == 3
    answer = world.session.ask(sql, epsilon=1)
    assert all(row[2] == 0 for row in answer.rows())
    low, high = answer.intervals[2]
    assert list(low) == list(high) == [0.0] * len(answer)
    with noise_off():
        assert_same(world.session.ask(sql, epsilon=1000).rows(), plain_answer(world.plain(), sql), sql)


def test_intervals_of_merged_questions_are_those_of_their_own_numbers(world: World) -> None:
    questions = [sql.format(key="region") for sql in SAME_ROWS[:3]]
    answers = world.session.ask_many(questions, epsilon=3)
    for answer in answers:
        together = answer.simultaneous()
        for place, (low, high) in answer.intervals.items():
            value = [float(row[place]) for row in answer.rows()]
            assert all(a < v < b for a, v, b in zip(low, value, high, strict=True))
            assert all(together.intervals[place][0] <= low)
        assert answer.about()


def test_intervals_receipts_and_words_are_each_question_s_own(world: World) -> None:
    answers = world.session.ask_many([BY_REGION, BY_BOTH], rho="0.1")
    assert answers[0].intervals[1][0].shape == (4,)
    assert isinstance(answers[0].tables[0].laws[0], MarginalLaw)
    assert answers[1].plan.text == BY_BOTH
    assert BY_BOTH in answers[1].about()
    assert BY_REGION in answers.receipt.question
    assert BY_BOTH in answers.receipt.question


def test_refusals_name_the_question_and_cost_nothing(world: World) -> None:
    for questions, word in (
        ([BY_REGION, "SELECT nope FROM t"], "Question 2"),
        ([BY_REGION, "/* epsilon=1 */ SELECT COUNT(*) FROM t"], ""),
        ([BY_REGION, "SELECT CAST('x' AS INTEGER) + COUNT(*) FROM t"], "Question 2"),
    ):
        with pytest.raises((QueryRefused, InvalidParameter)) as refused:
            world.session.ask_many(questions, rho="0.1")
        assert word in str(refused.value)
    for wrong in (
        {"questions": []},
        {"questions": [BY_REGION], "weights": [1, 2]},
        {"questions": [BY_REGION], "weights": [-1]},
        {"questions": "-- within 50\n" + BY_REGION},
        {"questions": "-- weight=2\n" + BY_REGION, "weights": [1]},
        {"questions": [BY_REGION] * 201},
    ):
        with pytest.raises(InvalidParameter):
            world.session.ask_many(**wrong, rho="0.1")
    with pytest.raises(InvalidParameter):
        world.session.ask_many([BY_REGION])
    assert world.ledger.spent().rho == 0


def test_many_two_way_tables_of_a_wide_table_are_planned_quickly() -> None:
    """All pairs of seven columns, 21 questions: one read, one entry."""
    import time

    import pandas as pd

    import dither

    columns = {f"c{i}": [j % (i + 2) for j in range(2000)] for i in range(7)}
    bounds = {f"c{i}": (0, i + 1) for i in range(7)}
    names = list(columns)
    pairs = [f"SELECT {a}, {b}, COUNT(*) AS n FROM data GROUP BY {a}, {b}"
             for i, a in enumerate(names) for b in names[i + 1 :]]  # fmt: skip
    with dither.open(pd.DataFrame(columns), privacy_unit="row", budget=3, delta=1e-9, bounds=bounds) as session:
        began = time.process_time()
        answers = session.ask_many(pairs, rho="0.01")
        assert time.process_time() - began < 20
        ones = {name: {} for name in names}
        for answer in answers:
            for place in (0, 1):
                sums: dict = {}
                for row in answer.rows():
                    sums[row[place]] = sums.get(row[place], 0) + row[2]
                assert ones[answer.columns[place]] in ({}, sums)
                ones[answer.columns[place]] = sums
