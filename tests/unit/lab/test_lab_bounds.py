"""Bounds against what they claim to be: the most over every test, found by enumeration and by exact laws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.lab import bounds

epsilons = st.floats(0.01, 12)
rates = st.floats(0, 1)


def geometric_law(epsilon: float, shift: int, reach: int) -> np.ndarray:
    """P(shift + noise = k) for k from -reach to reach, the tails put on the ends: still private."""
    p = math.exp(-epsilon)
    ks = np.arange(-reach, reach + 1)
    law = (1 - p) / (1 + p) * p ** np.abs(ks - shift)
    law[0], law[-1] = p ** (reach + shift) / (1 + p), p ** (reach - shift) / (1 + p)
    return law


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 10])
def test_the_accuracy_bound_is_what_the_best_guess_on_a_geometric_count_reaches(epsilon: float) -> None:
    absent, present = geometric_law(epsilon, 0, 60), geometric_law(epsilon, 1, 60)
    assert absent.sum() == pytest.approx(1)
    best = float(np.maximum(absent, present).sum() / 2)
    assert best == pytest.approx(bounds.accuracy(epsilon), rel=1e-9)
    assert best <= bounds.accuracy(epsilon)


@pytest.mark.parametrize(("epsilon", "expected"), [(0.1, 0.5250), (1, 0.7311), (10, 0.99995)])
def test_published_figures_of_the_accuracy_bound(epsilon: float, expected: float) -> None:
    assert bounds.accuracy(epsilon) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(("epsilon", "expected"), [(0.1, 0.050), (0.5, 0.245), (1, 0.462), (2, 0.762)])
def test_published_figures_of_the_advantage_bound(epsilon: float, expected: float) -> None:
    assert bounds.advantage(epsilon) == pytest.approx(expected, abs=5e-4)


@given(epsilons, rates)
def test_no_event_of_randomised_response_passes_the_trade_off(epsilon: float, share: float) -> None:
    # Randomised response, then a coin of weight `share`: every test of it.
    keep = 1 / (1 + math.exp(-epsilon))
    for one, zero in itertools.product((0.0, share, 1.0), repeat=2):
        true_rate = keep * one + (1 - keep) * zero
        false_rate = (1 - keep) * one + keep * zero
        assert true_rate <= bounds.true_positive_rate(false_rate, epsilon) + 1e-9


@given(epsilons, st.floats(0, 0.2))
def test_the_advantage_is_the_largest_gap_of_the_trade_off(epsilon: float, delta: float) -> None:
    rates = np.linspace(0, 1, 2001)
    gaps = [bounds.true_positive_rate(float(r), epsilon, delta) - r for r in rates]
    assert max(gaps) <= min(1.0, bounds.advantage(epsilon, delta)) + 1e-9
    assert max(gaps) >= bounds.advantage(epsilon, delta) - math.exp(epsilon) / 2000 - 1e-9
    assert bounds.accuracy(epsilon, delta) == pytest.approx((1 + bounds.advantage(epsilon, delta)) / 2, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_the_area_bound_is_the_area_under_the_trade_off(epsilon: float) -> None:
    rates = np.linspace(0, 1, 200_001)
    curve = [bounds.true_positive_rate(float(r), epsilon) for r in rates]
    assert np.trapezoid(curve, rates) == pytest.approx(bounds.area(epsilon), abs=1e-5)


@pytest.mark.parametrize("candidates", [2, 5, 20])
def test_naming_one_of_n_reaches_its_bound_by_randomised_response(candidates: int) -> None:
    # N-ary randomised response says the truth with probability e/(e + N - 1): every value exchanged costs epsilon.
    epsilon = 1.3
    truth = math.exp(epsilon) / (math.exp(epsilon) + candidates - 1)
    assert bounds.one_of(candidates, epsilon) == pytest.approx(truth, rel=1e-9)
    assert bounds.one_of(2, epsilon) == pytest.approx(bounds.accuracy(epsilon), rel=1e-9)


@given(st.floats(0.001, 0.999), epsilons)
def test_the_posterior_is_bayes_on_randomised_response(prior: float, epsilon: float) -> None:
    odds = prior / (1 - prior) * math.exp(epsilon)
    assert bounds.posterior(prior, epsilon) == pytest.approx(odds / (1 + odds), rel=1e-9)


def test_isolation_is_at_least_what_chance_gives_and_says_nothing_for_large_epsilon() -> None:
    for weight in (1e-6, 1e-4, 1e-3):
        assert bounds.isolation(200, weight, 0) >= bounds.isolation_baseline(200, weight)
    assert bounds.isolation_baseline(1000, 1 / 1000) == pytest.approx(1 / math.e, abs=1e-3)
    assert bounds.isolation(200, 1e-4, 1000) == 1


def test_isolation_bounds_every_predicate_of_a_noisy_minimum_by_enumeration() -> None:
    # 2 rows from {0..7}; the exponential mechanism on rank, epsilon for one row exchanged; the condition is its value.
    epsilon, size = 1.0, 8
    hit = 0.0
    for rows in itertools.product(range(size), repeat=2):
        ranks = np.array([abs(sum(r < v for r in rows)) for v in range(size)])
        weights = np.exp(-epsilon * ranks / 2)
        isolated = np.array([rows.count(v) == 1 for v in range(size)])
        hit += float((weights / weights.sum()) @ isolated) / size**2
    assert hit <= bounds.isolation(2, 1 / size, epsilon)


@pytest.mark.parametrize("rho", [0.005, 0.1, 0.5, 2, 10])
def test_the_concentrated_bound_covers_gaussian_noise(rho: float) -> None:
    # The best guess on a Gaussian count at rho = 1/(2 sigma²) is right with probability Phi(sqrt(2 rho)/2).
    best = 0.5 * math.erfc(-math.sqrt(2 * rho) / (2 * math.sqrt(2)))
    assert best <= bounds.concentrated_accuracy(rho) <= 1


def test_an_exchange_costs_twice_and_bad_arguments_are_named() -> None:
    assert bounds.replaced(Fraction(1, 3)) == Fraction(2, 3)
    with pytest.raises(InvalidParameter, match="epsilon"):
        bounds.accuracy(-1)
    with pytest.raises(InvalidParameter, match="prior"):
        bounds.posterior(1.2, 1)
    with pytest.raises(InvalidParameter, match="candidates"):
        bounds.one_of(0, 1)
