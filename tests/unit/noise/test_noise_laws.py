"""The laws' numbers (probabilities, coverage, half-widths) against mpmath, and the range of parameters."""

from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    discrete_gaussian,
    discrete_laplace,
    geometric,
    insecure_seeded,
)
from dither.noise.geometric import geometric_table
from dither.noise.split import LARGEST

mpmath.mp.prec = 400

EXTREME_SCALES = ["1e-8", "1/1000", "1/2", 1, Fraction(10, 3), 127.5, 128, 129, 10**6, 10**9, 10**12, 2**56]


def mp(x: Fraction):
    return mpmath.mpf(x.numerator) / x.denominator


def laplace_tail(scale: Fraction, h: int):
    p = mpmath.exp(-1 / mp(scale))
    return 2 * p ** (h + 1) / (1 + p)


def gaussian_sum(sigma2: Fraction, start: int):
    """Sum of exp(-k^2 / (2 sigma2)) over k >= start >= 0, term by term."""
    reach = start + int(30 * mpmath.sqrt(mp(sigma2))) + 60
    return mpmath.fsum(mpmath.exp(-mpmath.mpf(k * k) / (2 * mp(sigma2))) for k in range(start, reach))


def gaussian_tail(sigma2: Fraction, h: int):
    return 2 * gaussian_sum(sigma2, h + 1) / (2 * gaussian_sum(sigma2, 0) - 1)


CONFIDENCES = [0, 0.5, 0.9, 0.95, Fraction(999, 1000), "0.999999999", 1 - Fraction(1, 10**30)]


@pytest.mark.parametrize("scale", EXTREME_SCALES)
@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_the_laplace_half_width_is_the_least_that_covers(scale, confidence):
    law = DiscreteLaplace(scale)
    h = law.half_width(confidence)
    miss = 1 - mp(Fraction(str(confidence)))
    assert laplace_tail(law.scale, h) <= miss
    assert h == 0 or laplace_tail(law.scale, h - 1) > miss


@pytest.mark.parametrize("sigma2", ["1e-16", "1/10", 1, Fraction(25, 3), 9_999, 10_001, 250_000])
def test_the_gaussian_half_width_is_the_least_that_covers(sigma2):
    law = DiscreteGaussian(sigma2)
    reach = int(16 * mpmath.sqrt(mp(law.sigma2))) + 60
    weights = [mpmath.exp(-mpmath.mpf(k * k) / (2 * mp(law.sigma2))) for k in range(reach)]
    total = 2 * mpmath.fsum(weights) - 1
    for confidence in CONFIDENCES:
        h = law.half_width(confidence)
        miss = 1 - mp(Fraction(str(confidence)))
        assert 2 * mpmath.fsum(weights[h + 1 :]) / total <= miss
        assert h == 0 or 2 * mpmath.fsum(weights[h:]) / total > miss


@pytest.mark.parametrize("sigma", [10**6, 10**12])
def test_half_widths_of_wide_gaussians_are_those_of_the_normal_law(sigma):
    """P(|X| <= h) of the discrete law is erf((h + 1/2) / (sigma sqrt 2)) up to 1/sigma^2 relative to its density."""
    h = DiscreteGaussian(sigma**2).half_width(0.95)
    z = mpmath.sqrt(2) * mpmath.erfinv(mpmath.mpf(95) / 100)
    assert abs(h - (z * sigma - mpmath.mpf(1) / 2)) <= 1


@pytest.mark.parametrize("h", [0, 1, 7, 40, 200])
def test_coverage_is_never_above_the_truth_and_hardly_below(h):
    for law, tail, slack in [
        (DiscreteLaplace("10/3"), laplace_tail(Fraction(10, 3), h), 1e-15),
        (DiscreteGaussian(50), gaussian_tail(Fraction(50), h), 1e-15),
        # The remainder of the tail formula, which falls with sigma cubed.
        (DiscreteGaussian(10_001), gaussian_tail(Fraction(10_001), h), 2e-8),
    ]:
        assert 1 - tail - slack <= mpmath.mpf(law.coverage(h)) <= 1 - tail


def test_nothing_is_covered_by_a_negative_half_width():
    assert DiscreteLaplace(3).coverage(-1) == DiscreteGaussian(3).coverage(-1) == 0.0


@pytest.mark.parametrize("k", [0, 1, -1, 5, -90, 700])
@pytest.mark.parametrize("scale", ["1/100", "10/3", 10**6])
def test_laplace_probabilities_are_enclosed(scale, k):
    law = DiscreteLaplace(scale)
    p = mpmath.exp(-1 / mp(law.scale))
    low, high = law.pmf_bounds(k)
    assert mp(low) <= (1 - p) / (1 + p) * p ** abs(k) <= mp(high)
    assert low == 0 or high - low < low / 2**60


@pytest.mark.parametrize("k", [0, 1, -1, 5, -90, 700])
@pytest.mark.parametrize("sigma2", ["1/100", 25, 9_999, 10_001])
def test_gaussian_probabilities_are_enclosed(sigma2, k):
    law = DiscreteGaussian(sigma2)
    total = 2 * gaussian_sum(law.sigma2, 0) - 1
    low, high = law.pmf_bounds(k)
    assert mp(low) <= mpmath.exp(-mpmath.mpf(k * k) / (2 * mp(law.sigma2))) / total <= mp(high)
    assert low == 0 or high - low < low / 2**60


@pytest.mark.parametrize("sigma2", [0.05, 0.5, 1, 4, 8.9, 9.1, 400])
def test_variances_are_those_of_the_discrete_laws(sigma2):
    exact_sigma2 = Fraction(str(sigma2))
    reach = range(1, 700)
    weights = [mpmath.exp(-mpmath.mpf(k * k) / (2 * mp(exact_sigma2))) for k in reach]
    second = 2 * sum(k * k * w for k, w in zip(reach, weights, strict=True)) / (1 + 2 * sum(weights))
    assert DiscreteGaussian(sigma2).variance() == pytest.approx(float(second), rel=1e-12)
    p = mpmath.exp(-1 / mp(exact_sigma2))
    assert DiscreteLaplace(sigma2).variance() == pytest.approx(float(2 * p / (1 - p) ** 2), rel=1e-12)


@pytest.mark.parametrize("scale", EXTREME_SCALES)
def test_every_scale_terminates_and_spreads_as_it_should(scale):
    """20,000 draws a law: the mean of |X| within 6 standard errors (false alarm < 1e-8 each)."""
    wanted = 1 / np.sinh(min(1 / float(Fraction(scale)), 700.0))  # E|X| = 2p / (1 - p^2) = 1 / sinh(1/scale)
    drawn = discrete_laplace(scale, 20_000, entropy=insecure_seeded(11))
    spread = np.sqrt(DiscreteLaplace(scale).variance())
    assert drawn.dtype == np.int64
    assert abs(np.abs(drawn.astype(float)).mean() - wanted) <= 6 * spread / np.sqrt(20_000) + 1e-300
    normal = discrete_gaussian(Fraction(scale) ** 2, 20_000, entropy=insecure_seeded(12))
    sigma = np.sqrt(DiscreteGaussian(Fraction(scale) ** 2).variance())
    if sigma >= 1:
        assert abs(np.square(normal / sigma).mean() - 1) <= 6 * (2 / 20_000) ** 0.5
    assert abs(normal.mean()) <= 6 * sigma / np.sqrt(20_000)
    one_sided = geometric(scale, 20_000, entropy=insecure_seeded(13))
    mean = 1 / np.expm1(min(1 / float(Fraction(scale)), 700.0))
    assert one_sided.min() >= 0
    assert abs(one_sided.mean() - mean) <= 6 * np.sqrt(mean * (mean + 1) / 20_000) + 1e-300


def test_at_the_largest_scale_draws_stay_within_the_saturation_bounds():
    drawn = geometric_table(Fraction(2**61), two_sided=True).draw(50_000, insecure_seeded(3))
    assert drawn.min() == -LARGEST
    assert drawn.max() == LARGEST
    # P(|X| >= 2^62) = exp(-2) at scale 2^61; 50,000 draws, 6 standard errors.
    share = np.count_nonzero(np.abs(drawn) == LARGEST) / drawn.size
    assert abs(share - np.exp(-2.0)) < 6 * np.sqrt(np.exp(-2.0) / 50_000)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, None, "x", 2**120])
@pytest.mark.parametrize("draw", [discrete_laplace, discrete_gaussian, geometric, DiscreteLaplace, DiscreteGaussian])
def test_parameters_that_are_no_positive_number_in_range_are_refused(draw, value):
    with pytest.raises(InvalidParameter):
        draw(value)


@pytest.mark.parametrize("size", [-1, 2.0, True, "3"])
def test_sizes_that_are_no_whole_number_are_refused(size):
    with pytest.raises(InvalidParameter):
        discrete_laplace(1, size)


@pytest.mark.parametrize("confidence", [1, 1.5, -0.1, float("nan")])
def test_confidences_outside_zero_to_one_are_refused(confidence):
    for law in (DiscreteLaplace(1), DiscreteGaussian(1)):
        with pytest.raises(InvalidParameter):
            law.half_width(confidence)


def test_a_float_means_its_shortest_decimal_even_beside_an_equal_fraction():
    assert DiscreteLaplace(0.1) == DiscreteLaplace("1/10") == DiscreteLaplace(Decimal("0.1"))
    assert DiscreteLaplace(Fraction(0.1)) != DiscreteLaplace(0.1)


def test_laws_are_values():
    law = DiscreteGaussian(4)
    with pytest.raises(FrozenInstanceError):
        law.sigma2 = Fraction(1)
    assert law == DiscreteGaussian("4") and hash(law) == hash(DiscreteGaussian(4.0))
    assert repr(DiscreteLaplace(3)) == "DiscreteLaplace(scale=Fraction(3, 1))"


def test_sizes_zero_none_and_one_give_what_they_say():
    assert discrete_laplace(2, 0).shape == (0,)
    assert discrete_laplace(10**6, 0).shape == (0,)
    assert isinstance(discrete_laplace(2), int)
    assert isinstance(discrete_gaussian(10**12), int)
    assert discrete_gaussian(10**12, 1).shape == (1,)
