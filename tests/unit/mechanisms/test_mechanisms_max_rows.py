"""The choice of rows per unit: the grid, the price, and how far from the best fixed cap it lands."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dither.accounting import LaplaceEvent, PureEvent
from dither.errors import InvalidParameter
from dither.mechanisms import choose_max_rows, row_levels
from dither.mechanisms.max_rows import _doublings
from dither.noise import insecure_seeded
from dither.secret import Secret

LEVELS = row_levels(10_000)
GROUPS, EPSILON_QUERY = 10, 0.45


def histogram(rows):
    counts = np.zeros(len(LEVELS) + 1, dtype=np.int64)
    np.add.at(counts, np.searchsorted(LEVELS, rows), 1)
    return counts


def populations(units=100_000):
    rng = np.random.default_rng(7)
    return {
        "poisson": np.maximum(1, rng.poisson(10, units)),
        "geometric": rng.geometric(0.1, units),
        "lognormal": np.maximum(1, rng.lognormal(1.5, 1.2, units).astype(np.int64)),
        "zipf": np.minimum(rng.zipf(1.8, units), 10_000),
        "all one": np.ones(units, dtype=np.int64),
        "all thirty": np.full(units, 30),
    }


def error(rows, cap):
    """Root mean squared error of COUNT per group: rows cut off evenly over the groups, and Laplace noise."""
    return math.hypot(np.maximum(rows - cap, 0).sum() / GROUPS, math.sqrt(2) * cap / EPSILON_QUERY)


# Mean error relative to the best fixed cap; the seed is fixed, so each figure is what it is.
BARS = {
    ("poisson", "0.3"): 1.15,
    ("geometric", "0.3"): 1.2,
    ("lognormal", "0.3"): 1.2,
    ("zipf", "0.3"): 1.5,
    ("all one", "0.3"): 1.1,
    ("all thirty", "0.3"): 1.1,
    ("poisson", "0.1"): 1.15,
    ("geometric", "0.1"): 1.2,
    ("lognormal", "0.1"): 1.5,
    ("zipf", "0.1"): 2.3,
}


@pytest.mark.parametrize(("name", "epsilon"), BARS)
def test_the_choice_is_close_to_the_best_cap(name, epsilon):
    rows = populations()[name]
    secret, entropy = Secret(histogram(rows)), insecure_seeded(11)
    best = min(error(rows, level) for level in LEVELS)
    found = [
        error(
            rows,
            choose_max_rows(
                secret, LEVELS, epsilon=epsilon, epsilon_query="0.45", groups=GROUPS, entropy=entropy
            ).max_rows,
        )
        for _ in range(100)
    ]
    assert np.mean(found) / best <= BARS[name, epsilon]


def test_levels_grow_by_a_tenth_and_end_at_the_maximum():
    assert LEVELS[0] == 1 and LEVELS[-1] == 10_000 and row_levels(1) == (1,)
    assert all(a < b <= max(a + 1, a * 1.1) for a, b in itertools.pairwise(LEVELS))
    assert len(LEVELS) < 100


def test_a_small_offer_pays_for_the_choice_alone():
    tuned = choose_max_rows(histogram([5] * 1000), LEVELS, epsilon="0.1", epsilon_query=1, entropy=insecure_seeded(1))
    assert tuned.events == (PureEvent(Fraction(1, 10)),)
    assert tuned.share_kept is None and tuned.price.epsilon == Fraction(1, 10)


@pytest.mark.parametrize(("neighbours", "distance"), [("add_remove", 1), ("replace", 2)])
def test_a_larger_offer_also_pays_for_the_share_of_rows_kept(neighbours, distance):
    tuned = choose_max_rows(
        histogram([5] * 1000),
        LEVELS,
        epsilon="0.4",
        epsilon_query=1,
        neighbours=neighbours,
        entropy=insecure_seeded(1),
    )
    assert tuned.events == (PureEvent(Fraction(17, 50)), LaplaceEvent(Fraction(50 * distance, 3), distance))
    assert tuned.price.epsilon == Fraction(2, 5)


def test_the_share_of_rows_kept_is_near_the_truth_when_many_units_are_cut():
    rows = np.append(np.full(50_000, 4), np.full(5_000, 400))
    tuned = choose_max_rows(
        histogram(rows), LEVELS, epsilon=2, epsilon_query="0.001", groups=10, entropy=insecure_seeded(3)
    )
    truth = np.minimum(rows, tuned.max_rows).sum() / rows.sum()
    assert tuned.max_rows == 4 and truth < 0.12
    assert tuned.share_kept == pytest.approx(truth, abs=0.05)
    assert tuned.share_kept_at_least <= truth


@pytest.mark.parametrize("chosen", [1, 7, 100, 10_000])
def test_ranges_of_levels_cover_each_level_once_and_none_crosses_the_choice(chosen):
    chosen = max(level for level in LEVELS if level <= chosen)
    ranges = _doublings(LEVELS, chosen)
    assert [cell for first, end in ranges for cell in range(first, end)] == list(range(len(LEVELS) + 1))
    assert any(LEVELS[end - 1] == chosen for _, end in ranges[:-1])


def test_one_unit_moves_every_count_above_a_level_by_at_most_one_in_one_direction():
    # Every pair of row counts of one unit, absent included: what makes the scan monotone under both relations.
    def above(rows):
        counts = histogram([] if rows is None else [rows])
        return counts[::-1].cumsum()[::-1][1:]

    for one, other in itertools.product([None, 1, 2, 5, 99, 10_000, 10**6], repeat=2):
        move = above(one) - above(other)
        assert np.abs(move).max() <= 1 and move.min() * move.max() >= 0


@pytest.mark.parametrize(
    "arguments", [{"histogram": [1, 2]}, {"groups": 0}, {"epsilon": 0}, {"levels": [3, 2, 1], "histogram": [0] * 4}]
)
def test_a_choice_without_a_meaning_is_refused(arguments):
    keywords = {"histogram": [0] * 4, "levels": [1, 2, 3], "epsilon": 1, "epsilon_query": 1, **arguments}
    with pytest.raises(InvalidParameter):
        choose_max_rows(keywords.pop("histogram"), keywords.pop("levels"), **keywords)
