"""For any workload, wishes and budget: printed prices add up to no more than the budget, a plan that fits keeps every
wish, one that does not fit says an epsilon that would, and each promised ± is what `explain` says."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dither.errors import BudgetError
from dither.session.workload_show import to_dict
from support.clinic import clinic
from support.worlds import World

QUESTIONS = (
    ("SELECT region, COUNT(*) AS n FROM t GROUP BY region", True),
    ("SELECT region, COUNT(*) AS n, SUM(age) AS s FROM t GROUP BY region", True),
    ("SELECT COUNT(*) AS n FROM o WHERE amt > (SELECT AVG(amt) FROM o)", True),
    ("SELECT AVG(amt) AS m, COUNT(*) AS n FROM o", True),
    ("SELECT note, COUNT(*) AS n FROM t GROUP BY note", True),
    ("SELECT MEDIAN(age) AS m FROM t", False),
)
ASKED = st.tuples(
    st.sampled_from(QUESTIONS), st.one_of(st.none(), st.integers(1, 400).map(str)), st.integers(1, 5)
).map(lambda drawn: _written(*drawn))


def _written(question: tuple[str, bool], within: str | None, weight: int) -> str:
    text, has_counts = question
    return f"-- within n={within}\n{text}" if within is not None and has_counts else f"-- weight={weight}\n{text}"


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = clinic()
    yield found
    found.close()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    workload=st.lists(ASKED, min_size=1, max_size=4),
    budget=st.fractions(Fraction(1, 500), 8, max_denominator=997),
    meter=st.sampled_from(["epsilon", "rho"]),
)
def test_a_plan_keeps_its_word(world: World, workload: list[str], budget: Fraction, meter: str) -> None:
    db = world.session
    try:
        plan = db.plan_budget(workload, **{meter: budget})  # type: ignore[arg-type]
    except BudgetError:
        assert budget < Fraction(len(workload) * 3, 1000)
        return
    printed = [Fraction(each["price"][meter]) for each in to_dict(plan)["questions"]]
    assert sum(printed) == plan.total <= budget
    short = [column for each in plan.questions for column in each.columns if column.falls_short]
    assert not short if plan.scaled is None else plan.enough > budget
    for each in plan.questions:
        said = db.explain(each.text, **{meter: each.offer})  # type: ignore[arg-type]
        widths = [vector.half_width for vector in said.vectors]
        assert [vector.half_width for vector in each.vectors] == pytest.approx(widths, rel=0, abs=0, nan_ok=True)
    if plan.scaled is not None:
        assert db.plan_budget(workload, **{meter: plan.enough * Fraction(1001, 1000)}).scaled is None  # type: ignore
