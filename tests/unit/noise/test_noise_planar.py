"""The discrete planar Laplace law: proposals times coins are the law, floats decide nothing, edges are refused."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.noise import ByteTape, DiscretePlanar, exp_bounds, insecure_seeded, sqrt_bounds
from dither.noise.planar import _exp_neg

RATES = [Fraction(1, 10), Fraction(2, 3), Fraction(3)]


def weight(rate, x, y):
    """low, high of exp(-rate ||(x, y)||)."""
    near, far = sqrt_bounds(Fraction(x * x + y * y), 128)
    return exp_bounds(-rate * far, 128)[0], exp_bounds(-rate * near, 128)[1]


@pytest.mark.parametrize("rate", RATES)
def test_a_proposal_times_its_coin_is_the_law_up_to_one_constant(rate):
    law = DiscretePlanar(rate)
    middle = law.proposal.pmf_bounds(0)
    for x, y in product(range(-7, 8), repeat=2):
        (a, b), (c, d) = law.proposal.pmf_bounds(x), law.proposal.pmf_bounds(y)
        low, high = (Fraction(end, 2**128) for end in law.keeping(x, y)(128))
        least, most = a * c * low / middle[1] ** 2, b * d * high / middle[0] ** 2
        wanted_low, wanted_high = weight(rate, x, y)
        assert least <= wanted_high and wanted_low <= most
        assert most - least <= Fraction(1, 2**50) * wanted_high  # narrow: it pins the law


@pytest.mark.parametrize("rate", RATES)
def test_coins_are_probabilities_and_only_the_origin_is_sure(rate):
    law = DiscretePlanar(rate)
    assert 1 / law.proposal.scale <= rate * Fraction(math.isqrt(2**127), 2**64)  # c <= rate / sqrt(2)
    assert law.keeping(0, 0)(64) == (2**64, 2**64)
    for x, y in product(range(12), repeat=2):
        low, high = law.keeping(x, y)(96)
        assert 0 <= low <= high <= 2**96
        assert (x, y) == (0, 0) or high < 2**96


@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(2, 3), Fraction(3), Fraction(70)])
def test_integers_alone_decide_as_floats_and_integers_do(rate):
    # With this margin every coin is thrown by enclosures: the same bytes must give the same points.
    law = DiscretePlanar(rate)
    filtered = law.sample(4000, entropy=insecure_seeded(3))
    exact = law.sample(4000, entropy=insecure_seeded(3), margin=2.0)
    assert np.array_equal(filtered, exact)


def test_the_float_filter_is_within_its_proven_error():
    law = DiscretePlanar(Fraction(1, 97))
    points = np.random.default_rng(5).integers(-2000, 2000, size=(400, 2))
    for x, y in points.tolist():
        reach = float(law.rate) * math.sqrt(x * x + y * y)
        if reach >= 64:
            continue
        gamma = reach - float(1 / law.proposal.scale) * (abs(x) + abs(y))
        low, high = law.keeping(x, y)(128)
        found = Fraction(float(_exp_neg(np.array([gamma]))[0]))
        assert Fraction(low, 2**128) - Fraction(1, 2**42) <= found <= Fraction(high, 2**128) + Fraction(1, 2**42)


def test_the_tabled_exponential_is_right_to_the_last_bits():
    x = np.linspace(0, 64, 100_003)
    assert np.max(np.abs(_exp_neg(x) - np.exp(-x))) < 2.0**-48
    assert _exp_neg(np.array([-1e-18, 1e9])).tolist() == [1.0, pytest.approx(math.exp(-64))]


def test_a_tape_gives_the_same_points_again_and_ends_with_an_error():
    tape = bytes(range(256)) * 40
    law = DiscretePlanar(1)
    assert np.array_equal(law.sample(50, entropy=ByteTape(tape)), law.sample(50, entropy=ByteTape(tape)))
    with pytest.raises(InvalidParameter):
        law.sample(5000, entropy=ByteTape(tape))


def test_shapes_and_empty_draws():
    law = DiscretePlanar("1/3")
    assert law.sample(0).shape == (0, 2) and law.sample(7).shape == (7, 2) and law.sample(7).dtype == np.int64


@pytest.mark.parametrize("rate", [0, -1, Fraction(1, 2**21), math.nan, "a", True])
def test_rates_out_of_range_are_refused(rate):
    with pytest.raises(InvalidParameter):
        DiscretePlanar(rate)
