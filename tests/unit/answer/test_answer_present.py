"""Presentation after the noise: what each option does, that intervals still hold, and what stays untouched."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from dither.answer.combined import half_width_of_sum
from dither.answer.files import to_csv
from dither.answer.present import Presented
from dither.answer.presentation import letter_of
from dither.answer.show import to_html, to_text
from dither.errors import InvalidParameter
from dither.noise import DiscreteGaussian, DiscreteLaplace
from support.clinic import clinic
from support.worlds import World

COUNTS = "SELECT region, COUNT(*) AS n, SUM(age) AS s FROM t WHERE d < '2020-03-01' GROUP BY region"


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = clinic()
    yield found
    found.close()


def test_rounding_goes_to_the_nearest_multiple_and_intervals_outward(world: World) -> None:
    answer = world.session.ask(COUNTS, epsilon=3)
    view = answer.present(round_to=10)
    for (_, raw, _), (_, shown, _) in zip(answer.rows(), view.rows(), strict=True):
        assert isinstance(shown, int) and shown % 10 == 0 and abs(shown - raw) <= 5
    for (low, high), (wide_low, wide_high) in zip(
        zip(*answer.intervals[1], strict=True), zip(*view.intervals[1], strict=True), strict=True
    ):
        assert wide_low <= low and high <= wide_high and wide_low % 10 == 0 == wide_high % 10
        assert wide_high - wide_low < high - low + 20


def test_halves_are_rounded_away_from_zero(world: World) -> None:
    view = world.session.ask("SELECT COUNT(*) AS n FROM t", epsilon=3)
    view.finished.columns[0][:] = -25
    assert view.present(round_to=50).scalar() == -50 and view.present(round_to="0.5").scalar() == -25.0


def test_a_small_count_hides_every_noisy_number_of_its_row(world: World) -> None:
    answer = world.session.ask(COUNTS.replace("SUM(age) AS s", "SUM(age) AS s, COUNT(*) / 2 AS h"), epsilon=3)
    limit = sorted(row[1] for row in answer.rows())[1]
    view = answer.present(suppress_below=limit)
    for row, (_, n, *rest) in enumerate(answer.rows()):
        hidden = n < limit
        assert [value is None for value in view.rows()[row][1:]] == [hidden] * 3
        assert math.isnan(view.intervals[1][0][row]) == hidden and rest
    assert f"< {limit}" in to_text(view) and "suppress_below" in to_text(view)
    assert f"&lt; {limit}" in to_html(view)
    assert to_csv(view, intervals=True).count(b",,,,,") >= 1


def test_small_rows_become_one_whose_interval_holds_their_sum(world: World) -> None:
    answer = world.session.ask(COUNTS, epsilon=3)
    rows = answer.rows()
    limit = max(row[1] for row in rows) + 1
    view = answer.present(suppress_below=limit, other="all others")
    small = [row for row in rows if row[1] < limit]
    assert view.rows()[-1] == ("all others", sum(r[1] for r in small), sum(r[2] for r in small))
    assert len(view) == 1 and len(small) == 4
    law = answer.tables[0].laws[0]
    assert isinstance(law, DiscreteLaplace)
    half = (view.intervals[1][1][-1] - view.intervals[1][0][-1]) / 2
    assert law.half_width(0.95) < half <= 4 * law.half_width(1 - Fraction(5, 400))


@pytest.mark.parametrize("law", [DiscreteLaplace(Fraction(20)), DiscreteLaplace("0.4"), DiscreteGaussian(900)])
@pytest.mark.parametrize("count", [2, 7, 40])
def test_a_sum_of_noises_lies_within_its_bound(law: DiscreteLaplace | DiscreteGaussian, count: int) -> None:
    """n = 20,000 sums; a bound that covers 95 % fails below 94 % with probability under 1e-9. Catches a bound of one
    noise used for several, and one without its square root: it must also be below the union bound for 40."""
    drawn = law.sample(20_000 * count).reshape(20_000, count).sum(axis=1)
    bound = half_width_of_sum(law, count, Fraction(95, 100))
    assert (np.abs(drawn) <= bound).mean() > 0.94
    if count == 40:
        assert bound < count * law.half_width(1 - Fraction(5, 100) / count) / 2


def test_negative_numbers_are_cut_only_where_the_truth_cannot_be_below_zero(world: World) -> None:
    """367 groups without people: that noise leads none of them below zero has probability 2^-367."""
    sql = "SELECT d, COUNT(*) AS n, SUM(age) AS s, SUM(age - 24) AS c FROM t WHERE age < 0 GROUP BY d"
    answer = world.session.ask(sql, epsilon="0.01")
    view = answer.present(nonnegative=True)
    for (_, n, s, c), shown in zip(answer.rows(), view.rows(), strict=True):
        assert shown[1:] == (max(n, 0), max(s, 0), c)
    assert any(row[1] < 0 for row in answer.rows()) and any(row[2] < 0 for row in answer.rows())
    assert (view.intervals[1][0] >= 0).all() and (view.intervals[3][0] < 0).any()


@pytest.mark.parametrize(
    ("share", "letter"), [(0.05, "A"), (0.051, "B"), (0.2, "C"), (0.33, "D"), (0.67, "E"), (0.68, "F")]
)
def test_letters_follow_the_half_width(share: float, letter: str) -> None:
    assert letter_of(share * 1000, 1000) == letter_of(share * 1000, -1000) == letter


def test_a_number_of_zero_is_never_reliable() -> None:
    assert letter_of(0.0, 0) == letter_of(1.0, 0) == "F"


def test_letters_stand_beside_their_numbers_and_are_those_of_the_raw_ones(world: World) -> None:
    answer = world.session.ask(COUNTS, epsilon=3)
    view = answer.present(reliability=True, round_to=1000)
    assert view.columns == ("region", "n", "n_reliability", "s", "s_reliability")
    half = answer.intervals[1][1] - [row[1] for row in answer.rows()]
    assert [row[2] for row in view.rows()] == [letter_of(h, row[1]) for h, row in zip(half, answer.rows(), strict=True)]
    assert list(view.df(intervals=True).columns)[:5] == ["region", "n", "n_low", "n_high", "n_reliability"]


def test_the_released_numbers_and_the_receipt_stay(world: World) -> None:
    answer = world.session.ask(COUNTS, epsilon=3)
    before = answer.rows()
    view = answer.present(round_to=50, nonnegative=True, suppress_below=100, reliability=True)
    assert isinstance(view, Presented) and view.raw is answer and view.receipt is answer.receipt
    assert answer.rows() == before and "round_to" not in to_text(answer)
    for name in ("round_to=50", "nonnegative", "suppress_below=100", "reliability"):
        assert name in view.about() and name in view.about("zh") and name in " ".join(view.notes)


@pytest.mark.parametrize(
    ("sql", "options"),
    [
        (COUNTS, {}),
        (COUNTS, {"round_to": 0}),
        (COUNTS, {"suppress_below": -1}),
        (COUNTS, {"other": "x"}),
        (COUNTS, {"suppress_below": 10**6, "other": "R0"}),
        ("SELECT AVG(age) AS m FROM t", {"suppress_below": 5}),
        ("SELECT AVG(age) AS m FROM t", {"round_to": 5}),
        ("SELECT SUM(age - 24) AS s FROM t", {"nonnegative": True}),
        ("SELECT MEDIAN(age) AS m FROM t", {"reliability": True}),
        ("SELECT region, COUNT(*) AS n, AVG(age) AS m FROM t GROUP BY region", {"suppress_below": 10**6, "other": "x"}),
    ],
)
def test_an_option_with_nothing_to_work_on_is_refused(world: World, sql: str, options: dict[str, object]) -> None:
    answer = world.session.ask(sql, epsilon=3)
    with pytest.raises(InvalidParameter):
        answer.present(**options)  # type: ignore[arg-type]


def test_options_are_given_at_once(world: World) -> None:
    with pytest.raises(InvalidParameter):
        world.session.ask(COUNTS, epsilon=3).present(round_to=10).present(nonnegative=True)
