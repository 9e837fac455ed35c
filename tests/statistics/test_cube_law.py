"""Groupings measured together, from the question to the answer's rows: exactly the law that follows from the mechanism.

Noise so small that every outcome counts: two groups and their total at a large rho. The law of (total, first group) is
enumerated from the discrete Gaussians on the measured integers and the rounding of cumulative sums; with noise on the
counts, a forgotten projection or a rounding of cells it is another.  Fixed seeds; sizes and error rates say what the
same test would do with other seeds.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dither
from dither.noise import DiscreteGaussian, insecure_seeded
from dither.plan.laws import MarginalLaw

COLUMNS = 40
ASKS = 50
FALSE_ALARM = 1e-9


def open_session(frame: pd.DataFrame, seed: int):  # type: ignore[no-untyped-def]
    return dither.open(
        frame,
        privacy_unit="row",
        budget=10**6,
        delta=1e-6,
        bounds={"x": (0, 1000), "g": (0, 1), "h": (0, 2)},
        entropy=insecure_seeded(seed),
    )


def probabilities(law: MarginalLaw) -> dict[tuple[int, int], float]:
    """Of (error of the total, error of the first of three groups), for a table with groups 0, 1 and NULL."""
    reach = 9
    total, group = (law.errors.laws[part] for part in ((), (0,)))

    def weights(one: DiscreteGaussian) -> np.ndarray:
        k = np.arange(-reach, reach + 1)
        found = np.exp(-(k**2) / (2 * float(one.sigma2)))
        return found / found.sum()

    # Of the three measured integers of the groups only 2 z_0 - z_1 - z_2 counts for the first.
    a = weights(group)
    contrast: dict[int, float] = defaultdict(float)
    for (i, p), (j, q), (k, r) in itertools.product(enumerate(a, -reach), repeat=3):
        contrast[2 * i - j - k] += p * q * r
    found: dict[tuple[int, int], float] = defaultdict(float)
    for z, p in enumerate(weights(total), -reach):
        for c, q in contrast.items():
            # The first group: a third of the total, and (2 z_0 - z_1 - z_2) / 3 / 3. The truth is whole.
            first = Fraction(z, 3) + Fraction(c, 9)
            found[z, round(first)] += p * q
    return found


def test_released_numbers_have_the_enumerated_law() -> None:
    """n = 2,000 pairs. False alarm 1e-9; a variance wrong by a quarter, noise on the counts instead of the residuals,
    or cells rounded one by one would be seen."""
    rows = 300
    frame = pd.DataFrame({"x": np.arange(rows), "g": np.arange(rows) % 2, "h": 0})
    wanted = ", ".join(f"COUNT(*) FILTER (WHERE x >= {i}) AS n{i}" for i in range(COLUMNS))
    pairs: Counter[tuple[int, int]] = Counter()
    with open_session(frame, 5) as session:
        for ask in range(ASKS):
            answer = session.ask(
                f"SELECT GROUPING(g) AS level, g, {wanted} FROM data WHERE x >= {-ask - 1} "
                "GROUP BY GROUPING SETS ((g), ())",
                rho=3 * COLUMNS,
            )
            shown = {(row[0], row[1]): row[2:] for row in answer.rows()}
            law = next(law for table in answer.tables for law in table.laws if law.axes)
            for i in range(COLUMNS):
                truth = rows - i
                first = int((frame.x[frame.g == 0] >= i).sum())
                pairs[shown[1, None][i] - truth, shown[0, 0][i] - first] += 1
    assert isinstance(law, MarginalLaw)
    assert float(law.errors.laws[()].sigma2) < 1
    expected = probabilities(law)
    count = COLUMNS * ASKS
    common = [pair for pair, p in expected.items() if p * count >= 8]
    observed = [pairs[pair] for pair in common] + [count - sum(pairs[pair] for pair in common)]
    wanted_counts = [expected[pair] * count for pair in common]
    wanted_counts.append(count - sum(wanted_counts))
    assert stats.chisquare(observed, wanted_counts).pvalue > FALSE_ALARM


@pytest.mark.parametrize("rho", [0.05, 2.0])
def test_intervals_of_every_grouping_cover(rho: float) -> None:
    """n = 60 asks of 6 counts at two noises, of 20 that are released. Whole numbers may cover more, never much less:
    below 90 % with probability below 1e-6, were all of them independent."""
    generator = np.random.default_rng(3)
    rows = 5000
    frame = pd.DataFrame(
        {
            "x": generator.integers(0, 1000, rows),
            "g": generator.integers(0, 2, rows),
            "h": generator.integers(0, 3, rows),
        }
    )
    inside: list[bool] = []
    with open_session(frame, 6) as session:
        for ask in range(60):
            answer = session.ask(
                f"SELECT g, h, COUNT(*) AS n, SUM(x) AS s FROM data WHERE x >= {-ask - 1} GROUP BY CUBE (g, h)", rho=rho
            )
            low, high = answer.intervals[2]
            rows_shown = answer.rows()
            assert all(isinstance(law, MarginalLaw) for table in answer.tables for law in table.laws)
            for (g, h, _, _), left, right in zip(rows_shown, low, high, strict=True):
                if g is not None and h is not None:
                    truth = int(((frame.g == g) & (frame.h == h)).sum())
                    inside.append(left <= truth <= right)
    assert np.mean(inside) > 0.9
    # Where numbers are small whole ones, no interval covers 95 % and not more.
    assert rho > 1 or np.mean(inside) < 0.985
