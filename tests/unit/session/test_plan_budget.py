"""A plan of a workload: shares add up, promises are those of `explain`, and asking then charges what was planned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser

import pandas as pd
import pytest

import dither
from dither.catalog.model import Analyst
from dither.errors import BudgetError, InvalidParameter, QueryRefused
from dither.exact import decimal_text
from dither.noise import insecure_seeded
from dither.session.session import Session
from dither.session.workload_show import to_dict, to_html, to_text
from support.clinic import clinic
from support.worlds import World, new_ledger

COUNTS = "SELECT region, COUNT(*) AS n FROM t GROUP BY region"
SUMS = "SELECT region, COUNT(*) AS n, SUM(age) AS years FROM t GROUP BY region"
MEAN = "SELECT AVG(income) AS mean FROM t"
NOTES = "SELECT note, COUNT(*) AS n FROM t GROUP BY note"
NESTED = "SELECT COUNT(*) AS above FROM t WHERE age > (SELECT AVG(age) FROM t)"
WORKLOADS = (
    f"{COUNTS}; {MEAN}",
    f"-- within 40\n{COUNTS};\n-- within n=90\n{SUMS};\n-- weight=3\n{MEAN}; {NOTES}",
    f"{NESTED}; {NESTED}; -- once more\n-- weight=5\n{SUMS}; {COUNTS}",
    f"-- within 1\n{COUNTS}; -- and\n{MEAN}",
    f"{NOTES}; {NOTES}; SELECT MEDIAN(age) AS m, COUNT(*) AS n FROM t",
    "SELECT a.region, n, total FROM (SELECT region, COUNT(*) AS n FROM t GROUP BY region) AS a JOIN "
    "(SELECT region, SUM(age) AS total FROM t GROUP BY region) AS b ON a.region = b.region",
)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = clinic()
    yield found
    found.close()


class Unmeasured:
    """The engine, without what reads protected rows."""

    def __init__(self, inner: object) -> None:
        for name in ("schema", "read_public", "refresh", "prepare"):
            setattr(self, name, getattr(inner, name))


def session(world: World, **more: object) -> Session:
    """With a ledger of its own, and noise from a seed."""
    book = new_ledger(world.catalog)
    return Session(world.catalog, world.engine, book, taus=world.session.taus, entropy=insecure_seeded(5), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("budget", ["2", "1/3", "0.07"])
def test_printed_shares_add_up_exactly_and_to_no_more_than_the_budget(world: World, workload: str, budget: str) -> None:
    plan = session(world).plan_budget(workload, epsilon=budget)
    printed = [Fraction(each["price"]["epsilon"]) for each in to_dict(plan)["questions"]]
    assert sum(printed) == plan.total == Fraction(to_dict(plan)["total"]) <= Fraction(budget)
    running = Fraction(0)
    for each in plan.questions:
        running += each.charged("epsilon")
        assert each.total == running
        assert Fraction(decimal_text(each.offer)) == each.offer


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("offer", [{"epsilon": "1.5"}, {"rho": "0.2"}])
def test_what_a_plan_promises_is_what_explain_says_and_what_asking_charges(
    world: World, workload: str, offer: dict[str, str]
) -> None:
    db = session(world)
    meter = next(iter(offer))
    plan = db.plan_budget(workload, **offer)  # type: ignore[arg-type]
    for each in plan.questions:
        own = {meter: decimal_text(each.offer)}
        said = db.explain(each.text, **own)  # type: ignore[arg-type]
        promised = [(v.what, v.mechanism, v.scale, v.half_width, v.known) for v in each.vectors]
        assert str(promised) == str([(v.what, v.mechanism, v.scale, v.half_width, v.known) for v in said.vectors])
        assert said.price == each.price
        answer = db.ask(each.text, **own)  # type: ignore[arg-type]
        assert answer.charged == each.price


def test_the_expected_interval_of_a_column_is_the_answers_own(world: World) -> None:
    db = session(world)
    columns = "COUNT(*) AS n, SUM(age) AS years, SUM(income) AS total, AVG(age) AS mean, SUM(age) / 2 AS half"
    question = f"SELECT region, {columns} FROM t GROUP BY ALL"
    plan = db.plan_budget([question], epsilon=4)
    answer = db.ask(question, epsilon=4)
    for position, column in enumerate(plan.questions[0].columns, 1):
        low, high = answer.intervals[position]
        if column.half_width is None:
            assert column.name in ("mean", "half")
        else:
            assert (high - low) / 2 == pytest.approx([column.half_width] * len(low))


def test_a_wish_is_met_with_the_least_that_meets_it(world: World) -> None:
    db = session(world)
    plan = db.plan_budget(f"-- within 40\n{COUNTS}", epsilon=100)
    (question,) = plan.questions
    assert plan.fits and question.columns[0].half_width == 40
    a_step_less = question.offer - Fraction(1, 10**4)
    assert db.explain(COUNTS, epsilon=a_step_less).vectors[0].half_width > 40
    assert plan.total == plan.enough < 100


def test_a_vector_in_two_questions_is_priced_once(world: World) -> None:
    db = session(world)
    alone = db.plan_budget([f"-- within 40\n{COUNTS}"], epsilon=100)
    twice = db.plan_budget([f"-- within 40\n{COUNTS}", f"-- within 90\n{COUNTS} ORDER BY n"], epsilon=100)
    assert twice.total == alone.total
    assert [each.found_in for each in twice.questions] == [(), (1,)]
    # The coarser first: the plan turns them round, so that the coarser one is still free.
    turned = db.plan_budget([f"-- within 90\n{COUNTS}", f"-- within 40\n{COUNTS} ORDER BY n"], epsilon=100)
    assert turned.total == alone.total
    assert [each.number for each in turned.questions] == [2, 1]
    assert "order" in to_text(turned)


def test_what_the_ledger_keeps_is_free(world: World) -> None:
    db = session(world)
    db.ask(COUNTS, epsilon=1)
    plan = db.plan_budget([f"-- within 200\n{COUNTS}"], epsilon=1)
    assert plan.total == 0 and plan.questions[0].found_in == (0,)
    assert "ledger" in to_text(plan)


def test_what_must_give_is_said_and_what_would_be_enough_is_enough(world: World) -> None:
    db = session(world)
    workload = f"-- within 20\n{COUNTS};\n-- within 20\nSELECT flag, COUNT(*) AS f FROM t GROUP BY flag; {MEAN}"
    plan = db.plan_budget(workload, epsilon="0.5")
    assert not plan.fits and plan.scaled is not None and plan.total <= Fraction(1, 2)
    shown = " ".join(to_text(plan).split())
    assert decimal_text(plan.enough) in shown and "question 1 (n) ±" in shown and "question 2 (f) ±" in shown
    assert "least there is: 3" in shown
    enough = db.plan_budget(workload, epsilon=plan.enough + Fraction(1, 10**4))
    assert enough.fits
    assert not db.plan_budget(workload, epsilon=plan.enough - Fraction(1, 10**4)).fits


def test_private_groups_use_delta_and_are_held_to_what_is_stated(world: World) -> None:
    db = session(world)
    plan = db.plan_budget([NOTES, COUNTS], epsilon=1)
    assert plan.fits and plan.delta > 0 and plan.delta == db.explain(NOTES, epsilon=1).price.delta
    assert not db.plan_budget([NOTES, COUNTS], epsilon=1, delta=plan.delta / 2).fits
    assert db.plan_budget([NOTES, COUNTS], epsilon=1, delta=plan.delta).fits


def test_a_plan_beyond_what_is_left_says_so() -> None:
    frame = pd.DataFrame({"u": range(50), "g": [i % 2 for i in range(50)]})
    db = dither.open(frame, privacy_unit="u", budget=1, max_rows_per_unit=1, bounds={"g": (0, 1)})
    assert db.plan_budget(["SELECT COUNT(*) FROM data"], epsilon=1).fits_what_remains
    plan = db.plan_budget(["SELECT COUNT(*) FROM data"], epsilon=2)
    assert not plan.fits_what_remains and "does not fit what is left" in to_text(plan)


def test_a_daily_limit_is_told_as_days(world: World) -> None:
    researcher = Analyst("ana", Fraction(5), Fraction(1, 2))
    catalog = replace(world.catalog, analysts={"ana": researcher})
    db = Session(catalog, world.engine, new_ledger(catalog), analyst="ana", taus=world.session.taus)
    plan = db.plan_budget(f"-- weight=9\n{MEAN}; {COUNTS}", epsilon="1.4")
    assert "takes 3 days" in to_text(plan) and "at once: question 1" in to_text(plan)
    assert not db.plan_budget(COUNTS, epsilon="0.5").notes


def test_a_vector_that_others_paid_for_is_charged_to_the_allowance_in_the_plan_too(world: World) -> None:
    catalog = replace(world.catalog, analysts={name: Analyst(name, Fraction(2)) for name in ("ana", "bo")})
    book = new_ledger(catalog)
    ana, bo = (
        Session(catalog, world.engine, book, analyst=name, taus=world.session.taus, entropy=insecure_seeded(2))
        for name in ("ana", "bo")
    )
    ana.ask(COUNTS, epsilon="0.25")
    bo.ask("SELECT region, SUM(age) AS years FROM t GROUP BY region", epsilon="0.25")
    # A share of two vectors that is below what the stored one has, under an offer that pays for it: the other is bo's.
    workload = f"-- within n=200\n{SUMS};\n-- within n=200\n{SUMS} ORDER BY n;\n{MEAN}"
    plan = bo.plan_budget(workload, epsilon="0.8")
    assert plan.total <= Fraction(8, 10)
    found = {each.number: each.found_in for each in plan.questions}
    assert found[1] == (0,) and found[2] == (0,)
    before, own = book.spent().epsilon, book.spent("bo").epsilon
    for each in plan.questions:
        bo.ask(each.text, epsilon=each.offer)
    assert book.spent("bo").epsilon - own == plan.total
    assert book.spent().epsilon - before == plan.total - Fraction(1, 4)


def test_planning_reads_no_protected_row_and_charges_nothing(world: World) -> None:
    db = session(world)
    db.engine = Unmeasured(world.engine)  # type: ignore[assignment]
    for workload in WORKLOADS:
        db.plan_budget(workload, epsilon=1)
    assert db.ledger.spent().epsilon == 0 and not db.ledger.entries()


def test_a_plan_shows_itself_in_a_notebook_without_trusting_its_texts(world: World) -> None:
    question = "SELECT region, COUNT(*) AS \"<script>\" FROM t WHERE note <> '<b>' GROUP BY region"
    plan = session(world).plan_budget([question], epsilon=1)
    page = to_html(plan)
    HTMLParser().feed(page)
    assert page == plan._repr_html_() and "<script>" not in page and "&lt;script&gt;" in page and "<b>'" not in page
    assert repr(plan) == to_text(plan)


@pytest.mark.parametrize(
    ("workload", "offer", "error", "says"),
    [
        (COUNTS, {}, InvalidParameter, "offer"),
        (COUNTS, {"epsilon": 1, "rho": 1}, InvalidParameter, "both"),
        (COUNTS, {"epsilon": 0}, InvalidParameter, "above 0"),
        (COUNTS, {"epsilon": "1", "delta": 1}, InvalidParameter, "delta"),
        (COUNTS, {"epsilon": "0.0001"}, BudgetError, "cannot pay"),
        (f"{COUNTS}; SELECT * FROM t", {"epsilon": 1}, QueryRefused, "Question 2"),
        (f"-- within 5\n{MEAN}", {"epsilon": 1}, InvalidParameter, "a weight"),
        (f"-- within m=5\n{COUNTS}", {"epsilon": 1}, InvalidParameter, r"known beforehand \(n\)"),
        ("-- within 1e-9\nSELECT SUM(income) AS s FROM t", {"rho": 1}, InvalidParameter, "reaches"),
        ("SELECT 1;" * 201, {"epsilon": 1}, InvalidParameter, "at most 200"),
    ],
)
def test_wrong_input_is_one_clear_error(
    world: World, workload: str, offer: dict[str, object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        session(world).plan_budget(workload, **offer)  # type: ignore[arg-type]


def test_columns_whose_rows_are_not_those_of_one_table_have_no_expectation(world: World) -> None:
    db = session(world)
    for question in (WORKLOADS[-1], f"{COUNTS} UNION ALL {COUNTS}"):
        priced = db.plan_budget([question], epsilon=1).questions[0]
        assert all(column.half_width is None for column in priced.columns)
