"""Released vectors that look alike and are not, numbers used twice; offers and sizes of several questions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dither
from dither.errors import DitherError, InvalidParameter, QueryRefused
from dither.noise import insecure_seeded
from dither.session import many
from dither.session.session import Session

ROWS = 3_000
BY_CITY = "SELECT city, COUNT(*) AS n, SUM(x) AS s FROM data GROUP BY city"
COUNT_BY_CITY = "SELECT city, COUNT(*) AS n FROM data GROUP BY city"
TOTAL, BY_K = "SELECT COUNT(*) AS n FROM data WHERE h = {}", "SELECT k, COUNT(*) AS n FROM data WHERE h = {} GROUP BY k"


def opened(seed: int = 3) -> Session:
    generator = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "city": [f"c{v}" for v in generator.geometric(0.03, ROWS)],
            "k": generator.integers(0, 30, ROWS),
            "x": generator.integers(0, 10, ROWS),
            "h": generator.integers(0, 2, ROWS),
        }
    )
    bounds = {"x": (0, 9), "k": (0, 29), "h": (0, 1)}
    return dither.open(
        frame, privacy_unit="row", budget=10_000, delta=1e-6, bounds=bounds, entropy=insecure_seeded(seed)
    )


@pytest.mark.parametrize("questions", [[BY_CITY, COUNT_BY_CITY], [COUNT_BY_CITY, BY_CITY]])
@pytest.mark.parametrize("seed", range(4))
def test_vectors_of_two_selections_of_the_same_groups_are_not_mixed(questions: list[str], seed: int) -> None:
    # A count over the groups that one measure selected once stood beside a sum over those of the other: an error where
    # there were more of them, and numbers of other groups where there were as many.
    with opened(seed) as session:
        first = dict(zip(questions, session.ask_many(questions, epsilon=1), strict=True))
        again = session.ask(BY_CITY, epsilon="0.01")
        assert again.charged.rho == 0
        assert again.rows() == first[BY_CITY].rows()


def test_the_same_plan_of_other_rows_has_noise_of_its_own() -> None:
    # Both cubes have the same name, sizes and noise: their difference was said to be known without any error.
    with opened() as session:
        halves = []
        for h in (0, 1):
            total, _ = session.ask_many([TOTAL.format(h), BY_K.format(h)], rho="0.001")
            low, high = total.intervals[0]
            halves.append(float(high[0] - low[0]) / 2)
        asked = f"SELECT a.n - b.n AS d FROM ({TOTAL.format(1)}) AS a CROSS JOIN ({TOTAL.format(0)}) AS b"
        difference = session.ask(asked, rho="0.0001")
        assert difference.charged.rho == 0
        low, high = difference.intervals[0]
        assert float(high[0] - low[0]) / 2 == pytest.approx(math.hypot(*halves), rel=0.2)


def test_a_number_used_twice_has_its_noise_twice() -> None:
    with opened() as session:
        once = session.ask(TOTAL.format(1), rho="0.001")
        pair = f"({TOTAL.format(1)}) a CROSS JOIN ({TOTAL.format(1)}) b"
        twice = session.ask(f"SELECT a.n + b.n AS t FROM {pair}", rho="0.01")
        none = session.ask(f"SELECT a.n - b.n AS t FROM {pair}", rho="0.01")
        assert twice.rows() != [(2 * once.scalar(),)] or twice.charged.rho == 0
        exactly = session.ask(TOTAL.format(1), rho="0.0001")
        (low,), (high,) = exactly.intervals[0]
        (least,), (most,) = twice.intervals[0]
        assert most - least == pytest.approx(2 * (high - low), rel=0.2)
        assert none.rows() == [(0,)] and none.intervals[0][0] == none.intervals[0][1] == 0


@pytest.mark.parametrize("rows", [20, 31, 1_000])
@pytest.mark.parametrize("share", ["0.333333333333333333", "0.3333333", "1e-17"])
@pytest.mark.parametrize("intervals", [False, True])
def test_one_share_has_six_digits_at_most(rows: int, share: str, intervals: bool) -> None:
    # Ranks times its denominator wrapped around 64 bits; and from 28 rows on, not from fewer, the question failed.
    frame = pd.DataFrame({"x": np.arange(rows) % 100})
    with dither.open(frame, privacy_unit="row", budget=100, bounds={"x": (0, 99)}) as session:
        with pytest.raises(QueryRefused, match="A-107"):
            session.ask(f"SELECT QUANTILE_CONT(x, {share}) AS q FROM data", epsilon=1, quantile_intervals=intervals)
        assert not session.ledger.entries()


def test_odd_weights_and_offers_never_add_up_to_more() -> None:
    # Prices of shares that a ledger cannot count exactly were rounded up: a broken invariant stopped the question.
    questions = [
        BY_K.format(0),
        COUNT_BY_CITY,
        "SELECT MEDIAN(x), MIN(x), MAX(x) FROM data",
        "SELECT COUNT(*) AS n FROM data WHERE x > (SELECT AVG(x) FROM data)",
        "SELECT h, SUM(x) AS s, AVG(x) AS a FROM data GROUP BY h",
    ]
    known = ["0.3913235182862943", "0.1", "0.27860031930097895", "0.1", 3]
    generator = np.random.default_rng(5)
    with opened() as session:
        offer = Fraction("0.25667403575752856")
        spent = session.ask_many(questions, weights=known, epsilon=offer).charged.epsilon
        assert spent is not None and spent <= offer
        for _ in range(10):
            weights = [float(w) for w in generator.uniform(0.05, 7, len(questions))]
            pure = generator.uniform(0.1, 1)
            spent = session.ask_many(questions, weights=weights, epsilon=pure).charged.epsilon
            assert spent is not None and spent <= Fraction(str(pure))
            rho = Fraction(10**19 + 3, 3 * 10**20)
            assert session.explain_many(questions, weights=weights, rho=rho).price.rho <= rho


@pytest.mark.parametrize("weights", [[1, "1e-300"], [1e300, 1], [1, "1e-7"]])
def test_weights_too_far_apart_are_refused(weights: list[object]) -> None:
    with opened() as session, pytest.raises(InvalidParameter, match="weights"):
        session.ask_many([COUNT_BY_CITY, BY_K.format(0)], epsilon=1, weights=weights)  # type: ignore[arg-type]


def test_questions_may_come_one_by_one_and_must_be_questions() -> None:
    with opened() as session:
        assert len(session.ask_many((TOTAL.format(h) for h in (0, 1)), epsilon=1)) == 2  # type: ignore[arg-type]
        for wrong in (None, 5):
            with pytest.raises(DitherError, match="questions"):
                session.ask_many(wrong, epsilon=1)  # type: ignore[arg-type]


def test_one_release_has_so_many_groupings_and_groups_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    cube = "SELECT k, x, h, COUNT(*) AS n FROM data WHERE x <> {} GROUP BY CUBE(k, x, h)"
    with opened() as session:
        for name, most, what in (("MOST_GROUPINGS", 15, "groupings"), ("MOST_GROUPS", 1_500, "listed groups")):
            with monkeypatch.context() as patched:
                patched.setattr(many, name, most)
                assert session.explain_many([cube.format(1)], rho=1).price.rho > 0
                with pytest.raises(InvalidParameter, match=what):
                    session.explain_many([cube.format(1), cube.format(2)], rho=1)


def test_rows_that_share_what_is_shown_of_their_groups_have_intervals_of_their_own() -> None:
    # The rows of one h are ordered by their noise: the last of an answer was judged by the least of each replicate.
    with opened() as session:
        shuffled = session.ask("SELECT h, COUNT(*) * 1.0 AS t FROM data GROUP BY h, k ORDER BY t DESC", epsilon="0.5")
        (low, high), value = shuffled.intervals[1], np.asarray(shuffled.finished.columns[1], dtype=float)
        assert np.all((value - low > 2) & (high - value > 2))
        told_apart = session.ask("SELECT h, k, COUNT(*) * 1.0 AS t FROM data GROUP BY h, k ORDER BY t", epsilon="0.5")
        assert sorted(told_apart.intervals[2][0]) == sorted(low)
