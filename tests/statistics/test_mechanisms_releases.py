"""Mechanisms against their exact laws, end to end, at fixed seeds.

Each test states its size, its false-alarm rate (over the choice of the seed) and a fault it catches."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dither.mechanisms import exponential, first_at_or_below, gaussian, laplace, laplace_sum, optimal_selection
from dither.mechanisms.keys import selection_table
from dither.noise import insecure_seeded

FALSE_ALARM = 1e-9


def assert_follows(found: np.ndarray, expected: np.ndarray) -> None:
    """Chi-square of counts against probabilities, cells with few expected merged into one."""
    wanted = expected * found.sum()
    large = wanted >= 10
    cells, means = np.append(found[large], found[~large].sum()), np.append(wanted[large], wanted[~large].sum())
    keep = means > 0
    statistic = ((cells[keep] - means[keep]) ** 2 / means[keep]).sum()
    assert stats.chi2.sf(statistic, keep.sum() - 1) > FALSE_ALARM


def test_laplace_noise_has_the_scale_of_the_price():
    # n=200_000; false alarm 1e-9; catches a scale wrong by 3 %.
    release = laplace(np.full(200_000, 1000), sensitivity=3, epsilon="0.6", entropy=insecure_seeded(1))
    found = np.bincount(np.clip(release.values - 900, 0, 200), minlength=201)
    reach = np.arange(-100, 101)

    def at(scale):
        p = math.exp(-1 / scale)
        return (1 - p) / (1 + p) * p ** np.abs(reach)

    assert_follows(found, at(5.0))
    with pytest.raises(AssertionError):
        assert_follows(found, at(5.0 * 1.03))


def test_gaussian_noise_has_the_variance_of_the_price():
    # n=200_000; false alarm 1e-9; catches a sigma wrong by 3 %.
    release = gaussian(np.full(200_000, -7), sensitivity_squared=8, rho="0.25", entropy=insecure_seeded(2))
    found = np.bincount(np.clip(release.values + 47, 0, 80), minlength=81)
    reach = np.arange(-40, 41)

    def at(variance):
        weight = np.exp(-(reach**2) / (2 * variance))
        return weight / weight.sum()

    assert_follows(found, at(16.0))
    with pytest.raises(AssertionError):
        assert_follows(found, at(16.0 * 1.03**2))


def test_intervals_cover_as_often_as_the_law_says():
    # n=100_000; false alarm < 1e-9 each side; catches a half-width that is one step short.
    release = laplace(np.zeros(100_000, dtype=np.int64), sensitivity=1, epsilon="0.5", entropy=insecure_seeded(3))
    half = release.half_width(0.95)
    covered = int((np.abs(release.values) <= half).sum())
    truth = release.law.coverage(half)
    assert truth >= 0.95
    assert stats.binomtest(covered, 100_000, truth).pvalue > FALSE_ALARM
    short = int((np.abs(release.values) <= half - 1).sum())
    assert stats.binomtest(short, 100_000, truth).pvalue < FALSE_ALARM


def test_intervals_of_float_sums_cover_the_clamped_sum():
    # 400 sums; misses are at most Binomial(400, .05): false alarm < 1e-9; catches intervals of half the length.
    values, entropy = np.random.default_rng(4).exponential(30, 500), insecure_seeded(5)
    truth = float(np.clip(values, 0, 100).sum())
    misses = short = 0
    for _ in range(400):
        estimate = laplace_sum(values, bounds=(0, 100), epsilon=1, entropy=entropy)
        misses += not estimate.low <= truth <= estimate.high
        short += abs(estimate.value - truth) > 0.5 * (estimate.high - estimate.value)
    assert misses <= 52 < short


def test_the_exponential_mechanism_chooses_by_its_law():
    # n=20_000; false alarm 1e-9; catches a forgotten factor 2 in the exponent.
    scores, entropy = np.array([5, 3, 3, 0, -4]), insecure_seeded(6)
    chosen = [exponential(scores, sensitivity=2, epsilon=1, entropy=entropy).index for _ in range(20_000)]
    found = np.bincount(chosen, minlength=5)
    law = lambda unit: np.exp(unit * scores) / np.exp(unit * scores).sum()  # noqa: E731
    assert_follows(found, law(0.25))
    with pytest.raises(AssertionError):
        assert_follows(found, law(0.5))


def test_above_threshold_stops_by_its_law():
    # n=20_000; false alarm 1e-9; catches noise renewed on the threshold, query noise of half the scale, noise to both
    # sides.
    counts, threshold, entropy = [9, 6, 4, 2, 1], 3, insecure_seeded(7)
    stops = [first_at_or_below(np.array(counts), threshold, epsilon="0.8", entropy=entropy) for _ in range(20_000)]
    found = np.bincount([len(counts) if stop is None else stop for stop in stops], minlength=len(counts) + 1)
    # Two thirds of epsilon for the threshold, a third for the counts.
    scales = 1.5 / 0.8, 3 / 0.8
    assert_follows(found, _stopping(counts, threshold, *scales))
    for wrong in (
        _stopping(counts, threshold, scales[0], scales[1] / 2),
        _stopping(counts, threshold, *scales, renewed=True),
        _stopping(counts, threshold, *scales, two_sided=True),
    ):
        with pytest.raises(AssertionError):
            assert_follows(found, wrong)


def test_optimal_selection_shows_keys_as_often_as_its_table_says():
    # n=50_000 keys per count; false alarm 1e-9 each; catches a count that is one too high.
    table = selection_table(Fraction(1), Fraction(1, 1000))
    entropy = insecure_seeded(8)
    for units in (5, 7, 9):
        shown = int(optimal_selection(np.full(50_000, units), epsilon=1, delta="1e-3", entropy=entropy).sum())
        assert stats.binomtest(shown, 50_000, table[units] / 2**128).pvalue > FALSE_ALARM
        assert stats.binomtest(shown, 50_000, table[units - 1] / 2**128).pvalue < FALSE_ALARM


def _stopping(counts, threshold, threshold_scale, noise_scale, *, renewed=False, two_sided=False):
    """Chance of stopping at each count, and nowhere: count - v <= threshold - r with geometric (or Laplace) r and v."""
    reach = np.arange(-150 if two_sided else 0, 151)
    p, q = math.exp(-1 / threshold_scale), math.exp(-1 / noise_scale)
    weight = (1 - p) / (1 + p if two_sided else 1) * p ** np.abs(reach)

    def stop(count):
        k = threshold - reach - count
        if two_sided:
            chance = np.where(k >= 0, 1 - q ** (np.abs(k) + 1.0) / (1 + q), q ** np.abs(k) / (1 + q))
        else:
            chance = q ** np.maximum(-k, 0.0)
        return np.full(len(reach), (weight * chance).sum()) if renewed else chance

    law, going = [], weight.copy()
    for count in counts:
        law.append((going * stop(count)).sum())
        going = going * (1 - stop(count))
    return np.array([*law, going.sum()])
