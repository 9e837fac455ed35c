"""Goodness of fit of planar noise, with fixed seeds, false alarm 1e-9 a test, and the faults each must catch."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dither.mechanisms import planar
from dither.noise import DiscretePlanar, insecure_seeded

FALSE_ALARM = 1e-9
SIZE = 1_000_000


def probabilities(rate, reach):
    """P(z) for |x|, |y| <= reach, from the formula in floats."""
    steps = np.arange(-reach, reach + 1)
    weights = np.exp(-rate * np.hypot(steps[:, None], steps[None, :]))
    return weights / weights.sum()


def p_value(drawn, rate, reach):
    """Pearson's chi-square of single lattice points; those expected fewer than 50 times are one cell."""
    expected = probabilities(rate, reach) * len(drawn)
    inside = np.all(np.abs(drawn) <= reach, axis=1)
    places = (drawn[inside] + reach) @ np.array([2 * reach + 1, 1])
    found = np.bincount(places, minlength=expected.size).reshape(expected.shape)
    many = expected >= 50
    cells = np.append(found[many], len(drawn) - found[many].sum())
    wanted = np.append(expected[many], len(drawn) - expected[many].sum())
    return stats.chi2.sf(((cells - wanted) ** 2 / wanted).sum(), len(cells) - 1)


@pytest.mark.parametrize(("rate", "reach"), [("3", 20), ("1", 60), ("1/4", 200), ("1/12", 600)])
def test_lattice_points_have_the_stated_law(rate, reach):
    # n = 1,000,000, false alarm < 1e-9; catches a scale wrong by 2 % and a side lost in a tenth of draws.
    drawn = DiscretePlanar(rate).sample(SIZE, entropy=insecure_seeded(11))
    wanted = float(Fraction(rate))
    assert p_value(drawn, wanted, reach) > FALSE_ALARM
    assert p_value(drawn, wanted * 1.02, reach) < FALSE_ALARM
    assert p_value(drawn, wanted / 1.02, reach) < FALSE_ALARM
    folded = drawn.copy()
    folded[:100_000, 0] = np.abs(folded[:100_000, 0])
    assert p_value(folded, wanted, reach) < FALSE_ALARM


def test_coins_thrown_by_integers_alone_give_the_same_law():
    # n = 40,000, false alarm < 1e-9: every coin takes the rare path.
    drawn = DiscretePlanar(1).sample(40_000, entropy=insecure_seeded(12), margin=2.0)
    assert p_value(drawn, 1.0, 60) > FALSE_ALARM


def test_the_radius_is_gamma_and_the_direction_uniform_at_practical_scales():
    # n = 1,000,000 at ln 4 within 200 m; Kolmogorov-Smirnov, false alarm < 1e-9; catches a scale wrong by 2 %.
    noise = planar.PlanarNoise.within(200, factor=4)
    points = noise.add_to(np.zeros((SIZE, 2)), entropy=insecure_seeded(13))
    radius, angle = np.hypot(*points.T) * float(noise.epsilon), np.arctan2(points[:, 1], points[:, 0])
    assert stats.kstest(radius, stats.gamma(2).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(radius * 1.02, stats.gamma(2).cdf).pvalue < FALSE_ALARM
    assert stats.kstest(angle, stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("step", [None, 1, "1/64"])
def test_mean_median_and_95_percent_are_those_of_the_law(step):
    # Standard error of the mean: 0.07 %; the bar is 1 %.
    noise = planar.PlanarNoise.within(200, factor=4, step=step)
    places = np.random.default_rng(1).uniform(-5000, 5000, size=(SIZE, 2))
    found = planar.measured(noise.add_to(places, entropy=insecure_seeded(14)), places)
    law = noise.expected()
    assert law.mean_m == pytest.approx(2 / float(noise.epsilon))
    assert law.within_95_m * float(noise.epsilon) == pytest.approx(4.744, abs=1e-3)
    assert law.median_m * float(noise.epsilon) == pytest.approx(1.678, abs=1e-3)
    for name in ("mean_m", "median_m", "within_95_m"):
        assert getattr(found, name) == pytest.approx(getattr(law, name), rel=0.01)
