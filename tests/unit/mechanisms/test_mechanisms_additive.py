"""Laplace and Gaussian mechanisms on integers: prices, exact privacy of the law, saturation without overflow."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.accounting import GaussianEvent, LaplaceEvent
from dither.errors import InvalidParameter
from dither.mechanisms import gaussian, laplace, laplace_scale, saturate
from dither.mechanisms.release import LARGEST, add_noise
from dither.noise import DiscreteLaplace, insecure_seeded
from dither.secret import Secret


class FixedNoise:
    """A law whose draws are given."""

    def __init__(self, *draws):
        self.draws = np.array(draws, dtype=np.int64)

    def sample(self, size, entropy=None):
        return self.draws[:size]


def test_laplace_charges_exactly_what_was_offered():
    release = laplace(np.array([5, 7]), sensitivity=3, epsilon="1/3", entropy=insecure_seeded(1))
    assert release.event == LaplaceEvent(Fraction(9), 3)
    assert release.price.epsilon == Fraction(1, 3)
    assert release.values.dtype == np.int64 and release.values.shape == (2,)


def test_gaussian_charges_exactly_what_was_offered():
    release = gaussian([5, 7, 9], sensitivity_squared=6, rho="1/3", entropy=insecure_seeded(1))
    assert release.event == GaussianEvent(Fraction(9), 6)
    assert release.price.rho == Fraction(1, 3) and release.price.gaussian


def test_a_secret_is_opened_only_inside_and_gives_the_same_release():
    values = np.array([[1, 2], [3, 4]])
    secret = laplace(Secret(values), sensitivity=1, epsilon=1, entropy=insecure_seeded(3))
    plain = laplace(values, sensitivity=1, epsilon=1, entropy=insecure_seeded(3))
    assert secret.values.shape == (2, 2) and np.array_equal(secret.values, plain.values)


def hockey_stick(pmf, ratio, reach):
    """Sum over k of max(0, P(k) - ratio Q(k)), Q being P moved by 1."""
    return sum(max(0, pmf(k) - ratio * pmf(k - 1)) for k in range(-reach, reach + 1))


def test_the_discrete_laplace_hockey_stick_is_17_80():
    # p = 3/5, e^epsilon = 11/10: exact up to the tail that is left out.
    p = Fraction(3, 5)
    found = hockey_stick(lambda k: (1 - p) / (1 + p) * p ** abs(k), Fraction(11, 10), 200)
    assert 0 <= Fraction(17, 80) - found < Fraction(1, 10**40)
    # The law that is drawn from, at the nearest short scale.
    law = DiscreteLaplace(Fraction(1 / math.log(5 / 3)).limit_denominator(10**14))
    drawn = hockey_stick(lambda k: law.pmf_bounds(k)[0], Fraction(11, 10), 200)
    assert float(drawn) == pytest.approx(17 / 80, abs=1e-12)


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, "1/2"), (3, "1"), (20, "2")])
def test_no_output_is_more_than_e_to_the_epsilon_likelier_on_a_neighbour(sensitivity, epsilon):
    law = DiscreteLaplace(laplace_scale(sensitivity=sensitivity, epsilon=epsilon))
    bound = Fraction(math.exp(float(Fraction(epsilon)))) * (1 + Fraction(1, 10**12))
    ratios = [
        law.pmf_bounds(k)[1] / law.pmf_bounds(k - distance)[0]
        for k in range(-60, 61)
        for distance in range(-sensitivity, sensitivity + 1)
    ]
    assert max(ratios) <= bound
    assert max(ratios) >= bound * (1 - Fraction(1, 10**9))  # all of epsilon is used


@pytest.mark.parametrize("value", [-(2**63), -LARGEST, -1, 0, 1, LARGEST, 2**63 - 1])
@pytest.mark.parametrize("noise", [-(2**62), -5, 0, 5, 2**62])
def test_a_noisy_value_never_overflows(value, noise):
    (result,) = add_noise(np.array([value]), FixedNoise(noise), None)
    clamped = max(-LARGEST, min(LARGEST, value))
    assert result == max(-LARGEST, min(LARGEST, clamped + noise))


@pytest.mark.parametrize("end", [-(2**62), 2**62])
def test_a_draw_that_met_the_samplers_end_says_nothing_of_the_value(end):
    results = {int(add_noise(np.array([v]), FixedNoise(end), None)[0]) for v in (-LARGEST, -1, 0, 17, LARGEST)}
    assert len(results) == 1


def test_saturation_takes_every_integer_and_is_one_lipschitz():
    far = [-(2**200), -LARGEST - 1, -LARGEST, 0, LARGEST, LARGEST + 1, 2**200]
    assert saturate(far).tolist() == [-LARGEST, -LARGEST, -LARGEST, 0, LARGEST, LARGEST, LARGEST]
    assert saturate(np.array([2**64 - 1, 3], dtype=np.uint64)).tolist() == [LARGEST, 3]
    near = [LARGEST - 1 + k for k in range(4)] + [-LARGEST + 1 - k for k in range(4)]
    assert all(
        abs(int(a) - int(b)) <= abs(x - y)
        for x, a in zip(near, saturate(near), strict=True)
        for y, b in zip(near, saturate(near), strict=True)
    )


@pytest.mark.parametrize("values", [[0.5], np.array([1.0]), ["1"], [None]])
def test_anything_but_integers_is_refused(values):
    with pytest.raises(InvalidParameter):
        laplace(values, sensitivity=1, epsilon=1)


@pytest.mark.parametrize("arguments", [{"sensitivity": 0}, {"sensitivity": 1.5}, {"epsilon": 0}, {"epsilon": "nan"}])
def test_a_mechanism_without_a_meaning_is_refused(arguments):
    with pytest.raises(InvalidParameter):
        laplace([1], **{"sensitivity": 1, "epsilon": 1, **arguments})
