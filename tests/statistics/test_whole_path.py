"""Noise that came the whole way, from the question to the answer's rows, has exactly the stated law.

The truth is known, so each answer less the truth is a draw. Fixed seeds: a failure is a fault, not bad luck; sizes and
error rates say what the same test would do with other seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats

import dither
from dither.noise import DiscreteLaplace, insecure_seeded
from dither.session.session import Session

KEYS = 999
"""Groups 0 to 998, and NULL."""
ROWS = 60_000
ASKS = 20
FEWER = 5
FALSE_ALARM = 1e-9
Draws = npt.NDArray[np.int64]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    generator = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "k": generator.integers(0, KEYS, ROWS),
            "u": generator.integers(0, 100, ROWS),
            "x": np.round(generator.gamma(2.0, 10.0, ROWS).clip(0, 100), 3),
        }
    )


def open_session(frame: pd.DataFrame, seed: int) -> Session:
    return dither.open(
        frame,
        privacy_unit="row",
        budget=10**6,
        bounds={"k": (0, KEYS - 1), "u": (0, 99), "x": (0, 100)},
        entropy=insecure_seeded(seed),
    )


@pytest.fixture
def session(frame: pd.DataFrame) -> Iterator[Session]:
    with open_session(frame, 11) as found:
        yield found


def chi_square(draws: Draws, law: DiscreteLaplace) -> float:
    """p-value of the draws against the law, over cells that the law expects at least 25 draws in, tails merged."""
    p = math.exp(-1 / law.scale)
    reach = 0
    while (1 - p) / (1 + p) * p ** (reach + 1) * draws.size > 25 and reach < 400:
        reach += 1
    inner = np.arange(-reach, reach + 1)
    expected = (1 - p) / (1 + p) * p ** np.abs(inner)
    tail = p ** (reach + 1) / (1 + p)
    observed = np.array([np.sum(draws < -reach), *(np.sum(draws == k) for k in inner), np.sum(draws > reach)])
    return float(stats.chisquare(observed, np.array([tail, *expected, tail]) * draws.size).pvalue)


def size_test(draws: Draws, law: DiscreteLaplace) -> float:
    """p-value of the mean absolute draw: the best test against a wrong scale."""
    p = math.exp(-1 / law.scale)
    mean = 2 * p / (1 - p**2)
    second = 2 * p / (1 - p) ** 2
    z = (np.mean(np.abs(draws)) - mean) / math.sqrt((second - mean**2) / draws.size)
    return float(2 * stats.norm.sf(abs(z)))


def grouped_draws(session: Session, frame: pd.DataFrame, vectors: int) -> tuple[Draws, Draws, int]:
    """Noise of `vectors` counts per group and ask; for each whether its interval held the truth; the half-width."""
    counts = ", ".join(f"COUNT(*) FILTER (WHERE u > {i}) AS c{i}" for i in range(vectors))
    truth = np.zeros((vectors, KEYS + 1), dtype=np.int64)
    for i in range(vectors):
        kept = frame[frame.u > i].groupby("k").size()
        truth[i, kept.index.to_numpy()] = kept.to_numpy()
    draws, covered = [], []
    for ask in range(ASKS):
        # Always true, and another question each time: a question asked before would be answered as it was.
        answer = session.ask(
            f"SELECT k, {counts} FROM data WHERE u >= {-ask} GROUP BY k", epsilon=Fraction(vectors, 10)
        )
        place = [KEYS if key is None else key for key, *_ in answer.rows()]
        for i in range(vectors):
            found = np.array([row[1 + i] for row in answer.rows()], dtype=np.int64)
            low, high = answer.intervals[1 + i]
            draws.append(found - truth[i, place])
            covered.append((low <= truth[i, place]) & (truth[i, place] <= high))
    (half,) = {round(float((high - low)[0] / 2)) for low, high in [answer.intervals[1]]}
    return np.concatenate(draws), np.concatenate(covered), half


def test_noise_over_a_thousand_groups_has_the_law_and_the_intervals_its_coverage(
    session: Session, frame: pd.DataFrame
) -> None:
    # n = 20 asks x 1,000 groups x 10 vectors = 200,000; false alarm 1e-9 each. A scale wrong by 2 % moves the mean
    # absolute draw by 8.9 standard errors, where 6.1 are the limit: missed once in 400.
    law = DiscreteLaplace(Fraction(10))
    draws, covered, half = grouped_draws(session, frame, 10)
    assert draws.size == 200_000
    assert chi_square(draws, law) > FALSE_ALARM
    assert size_test(draws, law) > FALSE_ALARM
    for wrong in (Fraction(98, 100), Fraction(102, 100)):
        assert size_test(draws, DiscreteLaplace(law.scale * wrong)) < FALSE_ALARM
    # 95 % and the law's own: an integer half-width cannot be narrower.
    p = math.exp(-1 / law.scale)
    own = 1 - 2 * p ** (half + 1) / (1 + p)
    assert own >= 0.95
    assert abs(covered.mean() - own) < 0.01
    assert covered.mean() >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / covered.size)


def test_draws_of_one_answer_and_of_different_answers_are_not_related(session: Session, frame: pd.DataFrame) -> None:
    # n = 20,000 pairs; false alarm 1e-9; catches a correlation of 5 %, and noise that is used twice.
    draws, _, _ = grouped_draws(session, frame, 2)
    table = draws.reshape(ASKS, 2, KEYS + 1)
    limit = 6.2 / math.sqrt(ASKS * KEYS)
    first, second = table[:, 0].ravel(), table[:, 1].ravel()
    assert abs(np.corrcoef(first, second)[0, 1]) < limit
    assert abs(np.corrcoef(table[:-1].ravel(), table[1:].ravel())[0, 1]) < limit
    assert abs(np.corrcoef(table[:, :, :-1].ravel(), table[:, :, 1:].ravel())[0, 1]) < limit


def scalar_draws(session: Session, count: int) -> Draws:
    draws = [
        session.ask(f"SELECT COUNT(*) FROM data WHERE u >= {-ask}", epsilon="0.5").scalar() - ROWS
        for ask in range(count)
    ]
    return np.array(draws, dtype=np.int64)


def test_noise_of_single_counts_has_the_law(session: Session) -> None:
    # n = 300; false alarm 1e-9; catches a scale wrong by half: 6.1 standard errors are 35 %.
    law = DiscreteLaplace(Fraction(2))
    draws = scalar_draws(session, 300)
    assert chi_square(draws, law) > FALSE_ALARM
    assert size_test(draws, law) > FALSE_ALARM
    for wrong in (Fraction(1, 2), Fraction(2)):
        assert size_test(draws, DiscreteLaplace(law.scale * wrong)) < FALSE_ALARM


@pytest.mark.long
def test_noise_of_twenty_thousand_single_counts_has_the_law(frame: pd.DataFrame) -> None:
    # n = 20,000; false alarm 1e-9; catches a scale wrong by 7 %.
    law = DiscreteLaplace(Fraction(2))
    with open_session(frame, 12) as session:
        draws = scalar_draws(session, 20_000)
    assert chi_square(draws, law) > FALSE_ALARM
    assert size_test(draws, law) > FALSE_ALARM
    for wrong in (Fraction(93, 100), Fraction(107, 100)):
        assert size_test(draws, DiscreteLaplace(law.scale * wrong)) < FALSE_ALARM


@pytest.mark.parametrize(
    ("column", "epsilon"),
    [("AVG(x)", 2), ("SUM(x) / COUNT(*)", 2), ("AVG(x) + 1", 2), ("COUNT(*) * 3", 1)],
)
def test_intervals_of_means_and_ratios_hold_the_truth_95_times_in_100(
    frame: pd.DataFrame, column: str, epsilon: int
) -> None:
    # n = 5 asks x 999 groups of 60 rows; a coverage of 95 % comes out within 1 % with probability 99.8 %.
    grouped = frame.groupby("k")
    truth = {
        "AVG(x)": grouped.x.mean(),
        "SUM(x) / COUNT(*)": grouped.x.mean(),
        "AVG(x) + 1": grouped.x.mean() + 1,
        "COUNT(*) * 3": grouped.size() * 3,
    }[column].to_numpy()
    hits = []
    with open_session(frame, 13) as session:
        for ask in range(FEWER):
            sql = f"SELECT k, {column} AS m FROM data WHERE u >= {-ask} AND k IS NOT NULL GROUP BY k ORDER BY k"
            answer = session.ask(sql, epsilon=epsilon)
            low, high = answer.intervals[1]
            assert len(low) == KEYS
            hits.append((low <= truth) & (truth <= high))
    coverage = float(np.mean(hits))
    if column.startswith("COUNT"):
        assert coverage >= 0.94
    else:
        assert abs(coverage - 0.95) < 0.01


def test_sums_and_two_vector_sums_are_covered_as_stated(frame: pd.DataFrame) -> None:
    # n = 5 asks x 999 groups; the sum alone, and the sum that is computed from the mean's two vectors.
    truth = frame.groupby("k").x.sum().to_numpy()
    for columns, position in (("SUM(x) AS s", 1), ("AVG(x) AS m, SUM(x) AS s", 2)):
        hits = []
        with open_session(frame, 14) as session:
            for ask in range(FEWER):
                sql = f"SELECT k, {columns} FROM data WHERE u >= {-ask} AND k IS NOT NULL GROUP BY k ORDER BY k"
                low, high = session.ask(sql, epsilon=1).intervals[position]
                hits.append((low <= truth) & (truth <= high))
        assert abs(float(np.mean(hits)) - 0.95) < 0.01
