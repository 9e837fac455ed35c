"""What counts prove: published values, exact coverage by enumeration, and directions."""

import math

import numpy as np
import pytest
from scipy import stats

from dither.audit.bounds import (
    binomial_tail,
    delta_below,
    discrete_gaussian_mu,
    epsilon_below,
    gdp_delta,
    gdp_epsilon,
    gdp_mu_below,
    one_run_epsilon,
    one_run_p_value,
    probability_above,
    probability_below,
    ratio_below,
    ratio_p_value,
)
from dither.errors import InvalidParameter


@pytest.mark.parametrize("probability", [0.001, 0.02, 0.3, 0.5, 0.97])
def test_a_binomial_bound_is_wrong_as_seldom_as_it_says(probability):
    trials, error = 60, 0.05
    hits = np.arange(trials + 1)
    chance = stats.binom.pmf(hits, trials, probability)
    assert chance[probability_below(hits, trials, error) > probability].sum() <= error
    assert chance[probability_above(hits, trials, error) < probability].sum() <= error


def test_no_hits_bound_nothing_from_below_and_all_hits_nothing_from_above():
    assert probability_below(0, 10, 0.05) == 0.0
    assert probability_above(10, 10, 0.05) == 1.0
    # The rule of three: no hit in n trials, p <= 1 - 0.05^(1/n).
    assert float(probability_above(0, 1000, 0.05)) == pytest.approx(1 - 0.05 ** (1 / 1000), rel=1e-8)


@pytest.mark.parametrize(("mean1", "mean2"), [(3.0, 3.0), (8.0, 2.0), (20.0, 11.0)])
def test_the_ratio_bound_of_poisson_counts_is_wrong_as_seldom_as_it_says(mean1, mean2):
    counts = np.arange(80)
    one, two = np.meshgrid(counts, counts, indexing="ij")
    chance = stats.poisson.pmf(one, mean1) * stats.poisson.pmf(two, mean2)
    wrong = ratio_below(one, two, 0.05) > math.log(mean1 / mean2)
    assert 0.0 < chance[wrong].sum() <= 0.05


def test_the_ratio_bound_is_tighter_than_two_binomial_bounds_on_rare_events():
    # n = 10^6, p = .0111 against .01, error .1: 0.0866 against 0.0724.
    assert float(ratio_below(11_100, 10_000, 0.1)) == pytest.approx(0.0866, abs=2e-4)
    assert float(epsilon_below(11_100, 10**6, 10_000, 10**6, error=0.1)) == pytest.approx(0.0724, abs=2e-4)


def test_epsilon_grows_when_the_other_side_is_never_hit():
    assert float(epsilon_below(27_000, 100_000, 0, 100_000, error=0.05)) == pytest.approx(8.9, abs=0.05)


def test_delta_is_subtracted_before_the_ratio():
    assert epsilon_below(50, 1000, 10, 1000, error=0.05, delta=0.2) == -np.inf
    without = float(epsilon_below(500, 1000, 10, 1000, error=0.05))
    assert float(epsilon_below(500, 1000, 10, 1000, error=0.05, delta=0.1)) < without
    assert 0 < float(delta_below(500, 1000, 10, 1000, error=0.05, epsilon=1.0)) < 0.5
    assert float(delta_below(5, 1000, 10, 1000, error=0.05, epsilon=1.0)) == 0.0


def test_p_values_are_tails():
    assert binomial_tail(0, 5, 0.5) == 1.0
    assert binomial_tail(4, 5, 0.5) == pytest.approx(6 / 32)
    assert ratio_p_value(9, 1, 1.0) == pytest.approx(11 / 1024)


@pytest.mark.parametrize(("draws", "least"), [(1000, 0.75), (100_000, 0.97)])
def test_mu_is_found_and_not_exceeded(draws, least):
    miss = stats.norm.cdf(-0.5)  # mu = 1, threshold in the middle
    found = float(gdp_mu_below(round(draws * miss), draws, round(draws * miss), draws, error=0.05))
    assert least < found < 1.0


def test_gaussian_epsilon_is_the_published_one():
    assert gdp_epsilon(1.0, 1e-5) == pytest.approx(4.377, abs=1e-3)
    assert gdp_delta(1.0, gdp_epsilon(1.0, 1e-5)) == pytest.approx(1e-5, rel=1e-6)
    assert gdp_epsilon(0.0, 1e-5) == 0.0


@pytest.mark.parametrize(("variance", "shift"), [(4.0, 2), (1.0, 1), (0.25, 1), (16.0, 5), (2.0, 1)])
def test_integer_gaussian_noise_is_held_to_its_own_mu(variance, shift):
    """To call it shift/sigma-GDP, as it was, is to call a right mechanism violated once there are draws enough."""
    k = np.arange(-300, 301)
    weights = np.exp(-(k**2) / (2 * variance)) / np.exp(-(k**2) / (2 * variance)).sum()
    mu = discrete_gaussian_mu(variance=variance, shift=shift)
    draws, found = 10**15, []
    for threshold in range(-2, shift + 4):
        alarm, caught = weights[k >= threshold].sum(), weights[k >= threshold - shift].sum()
        hits = round(draws * alarm), round(draws * (1 - caught))
        found.append(float(gdp_mu_below(hits[0], draws, hits[1], draws, error=0.05)))
    assert shift / math.sqrt(variance) < max(found) <= mu
    assert mu == pytest.approx(max(found), abs=1e-6)


def test_fine_integer_gaussian_noise_is_as_good_as_continuous():
    assert 0 <= discrete_gaussian_mu(variance=1e8, shift=10_000) - 1 < 1e-8
    with pytest.raises(InvalidParameter):
        discrete_gaussian_mu(variance=0.0, shift=1)


@pytest.mark.parametrize(
    ("guesses", "correct", "epsilon"), [(100, 90, 1.63), (1000, 800, 1.25), (1000, 1000, 5.81), (10_000, 7311, 0.963)]
)
def test_one_run_gives_the_published_values(guesses, correct, epsilon):
    assert one_run_epsilon(correct=correct, guesses=guesses, error=0.05) == pytest.approx(epsilon, abs=6e-3)


def test_one_run_pays_for_delta_and_for_unused_canaries():
    plain = one_run_p_value(correct=90, guesses=100, canaries=100, epsilon=1.5)
    with_delta = one_run_p_value(correct=90, guesses=100, canaries=100, epsilon=1.5, delta=1e-4)
    many = one_run_p_value(correct=90, guesses=100, canaries=1000, epsilon=1.5, delta=1e-4)
    assert plain < with_delta < many
    # The definition, summed by hand.
    right = 1 / (1 + math.exp(-1.5))
    pmf = stats.binom.pmf
    worst = max(sum(pmf(90 - j, 100, right) for j in range(1, i + 1)) / i for i in range(1, 91))
    assert many == pytest.approx(plain + 2 * 1000 * 1e-4 * worst, rel=1e-6)


def test_counts_and_errors_out_of_range_are_refused():
    with pytest.raises(InvalidParameter):
        probability_below(5, 4, 0.05)
    with pytest.raises(InvalidParameter):
        probability_above(1, 4, 0.0)
    with pytest.raises(InvalidParameter):
        one_run_p_value(correct=5, guesses=4, canaries=4, epsilon=1.0)
