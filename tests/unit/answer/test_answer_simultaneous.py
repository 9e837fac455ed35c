"""Intervals that hold together: their level, what they cover, and where none is promised."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from dither.answer.show import to_text
from dither.answer.simultaneous import hold_together
from dither.errors import InvalidParameter
from dither.noise import DiscreteLaplace
from support.clinic import clinic
from support.exactly import exact_answer
from support.worlds import World

SQL = "SELECT d, COUNT(*) AS n, SUM(age) AS s, AVG(age) AS m FROM t GROUP BY d"


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = clinic()
    yield found
    found.close()


def test_one_number_has_the_interval_it_always_had(world: World) -> None:
    answer = world.session.ask("SELECT COUNT(*) AS n FROM t", epsilon=1)
    together = answer.simultaneous(0.95)
    assert [list(end) for end in together.intervals[0]] == [list(end) for end in answer.intervals[0]]


def test_the_level_of_each_is_exact_for_independent_noise(world: World) -> None:
    """P(all of m within h) = coverage(h)^m: at least 95 %, and one step less is below it."""
    answer = world.session.ask("SELECT d, COUNT(*) AS n FROM t GROUP BY d", epsilon=1)
    found = hold_together(answer.plan, answer.tables, Fraction(95, 100))
    law, size = answer.tables[0].laws[0], answer.tables[0].size
    assert isinstance(law, DiscreteLaplace) and found.numbers == size
    (half,) = found.steps.values()
    assert law.coverage(int(half)) ** size >= 0.95 > law.coverage(int(half) - 1) ** size


def test_all_intervals_hold_at_once_in_most_answers(world: World) -> None:
    """60 fresh answers over 367 groups and three columns. Each must cover with 95 % or more; fewer than 48 of 60 has
    probability below 1e-6. Intervals of one number each would hold together in none."""
    # Of a ledger of its own: kept answers without noise would be used again.
    other = clinic()
    truth = {row[0]: row[1:] for row in exact_answer(other.session, SQL).rows()}
    other.close()
    held = apart = 0
    for attempt in range(60):
        answer = world.session.ask(SQL + f" HAVING COUNT(*) > -{10**6 + attempt}", epsilon=50 + attempt)
        held += _covers(answer.simultaneous().intervals, answer.rows(), truth)
        apart += _covers(answer.intervals, answer.rows(), truth)
    assert held >= 48 and apart <= 12


def _covers(intervals: dict[int, tuple[np.ndarray, np.ndarray]], rows: list[tuple], truth: dict) -> bool:  # type: ignore
    for position in (1, 2, 3):
        low, high = intervals[position]
        for row, (a, b) in zip(rows, zip(low, high, strict=True), strict=True):
            true = truth[row[0]][position - 1]
            if true is not None and not a - 1e-6 <= true <= b + 1e-6:
                return False
    return True


def test_running_totals_take_bonferroni(world: World) -> None:
    answer = world.session.ask("SELECT d, SUM(COUNT(*)) OVER (ORDER BY d) AS c FROM t GROUP BY d", epsilon=1)
    view = answer.simultaneous()
    assert "Bonferroni" in to_text(view)
    assert (view.intervals[1][1] - view.intervals[1][0] >= answer.intervals[1][1] - answer.intervals[1][0]).all()


def test_what_it_means_is_said(world: World) -> None:
    view = world.session.ask(SQL, epsilon=1).simultaneous("0.9")
    for text in (to_text(view), view.about()):
        assert "90 % of cases" in text
    assert "在 90 % 的情形下" in view.about("zh")
    assert "95 % of cases" not in to_text(view)
    assert "90 % of cases" in to_text(view.present(round_to=10))


@pytest.mark.parametrize(
    ("sql", "confidence"),
    [
        ("SELECT note, COUNT(*) AS n FROM t GROUP BY note", 0.95),
        ("SELECT MEDIAN(age) AS m FROM t", 0.95),
        ("SELECT COUNT(*) * 2 AS n FROM t", 0.95),
        (SQL, 1),
        (SQL, 0.3),
    ],
)
def test_where_nothing_can_hold_together_it_is_refused(world: World, sql: str, confidence: float) -> None:
    answer = world.session.ask(sql, epsilon=1)
    with pytest.raises(InvalidParameter):
        answer.simultaneous(confidence)


def test_it_comes_before_presentation(world: World) -> None:
    with pytest.raises(InvalidParameter):
        world.session.ask(SQL, epsilon=1).present(round_to=10).simultaneous()


def test_a_mean_reaches_every_corner_of_its_two_bounds(world: World) -> None:
    answer = world.session.ask("SELECT AVG(income) AS m, COUNT(income) AS n FROM t", epsilon=3)
    found = hold_together(answer.plan, answer.tables, Fraction(95, 100))
    (table,) = answer.tables
    recipe = next(recipe for recipe in table.recipes if recipe.kind == "mean")
    count_at, total_at = recipe.vectors
    step = float(table.vectors[total_at].step)
    corners = [
        float(recipe.center)
        + (table.values[total_at][0] + s * found.steps["m0", total_at])
        * step
        / (table.values[count_at][0] + c * found.steps["m0", count_at])
        for s in (-1, 1)
        for c in (-1, 1)
    ]
    low, high = answer.simultaneous().intervals[0]
    assert (low[0], high[0]) == pytest.approx((min(corners), max(corners)))
    assert len({round(corner, 9) for corner in corners}) == 4


def test_a_mean_over_a_count_near_zero_is_anywhere_in_its_bounds(world: World) -> None:
    answer = world.session.ask("SELECT AVG(income) AS m FROM t WHERE income < 0", epsilon=1)
    # At this level the noise leaves its bound with probability below 1e-9.
    assert [end[0] for end in answer.simultaneous("0.999999999").intervals[0]] == [0, 1000]
