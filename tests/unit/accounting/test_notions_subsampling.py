"""Amplification by secret samples: closed forms, exact enumeration, and what is not amplified."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.accounting import (
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    SecretSample,
    SelectionEvent,
    amplified,
    amplified_renyi,
    renyi_curve,
)
from dither.errors import InvalidParameter

TENTH = SecretSample.poisson("0.1")


@pytest.mark.parametrize(("epsilon", "rate"), [("1", "0.1"), ("0.01", "0.5"), ("8", "0.001"), ("1", "1")])
def test_epsilon_is_amplified_by_the_closed_form_from_above(epsilon, rate):
    found, delta = amplified(epsilon, "1e-6", SecretSample.poisson(rate))
    truth = math.log1p(float(Fraction(rate)) * math.expm1(float(epsilon)))
    assert truth * (1 - 1e-12) <= float(found) <= min(float(epsilon), truth * (1 + 1e-12))
    assert delta == Fraction(rate) / 10**6


def test_a_fixed_size_sample_is_for_replaced_neighbours():
    sample = SecretSample.without_replacement(10, 100)
    assert sample.rate == Fraction(1, 10) and sample.neighbours == "replace"
    assert amplified(1, 0, sample) == amplified(1, 0, TENTH)
    with pytest.raises(InvalidParameter):
        amplified_renyi([PureEvent(Fraction(1))], sample)


def test_a_sampled_randomised_response_is_exactly_as_private_as_said():
    # One unit's bit is answered by randomised response when it is in the sample, by a fair coin when it is not there.
    keep, q = math.e / (1 + math.e), 0.1
    coin = 1 / (1 + math.e)
    absent = coin
    present = q * keep + (1 - q) * coin
    bound = float(amplified(1, 0, TENTH)[0])
    assert math.log(present / absent) == pytest.approx(bound, rel=1e-12)


def divergence(p: np.ndarray, q: np.ndarray, alpha: float) -> float:
    return math.log(float(np.sum(np.exp(alpha * np.log(p) + (1 - alpha) * np.log(q))))) / (alpha - 1)


@pytest.mark.parametrize("rate", ["0.01", "0.3", "1"])
@pytest.mark.parametrize("kind", ["laplace", "gaussian", "response"])
def test_the_sampled_curve_bounds_both_directions_by_enumeration(rate, kind):
    k = np.arange(-100, 103)
    q = float(Fraction(rate))
    if kind == "laplace":
        event, weight = LaplaceEvent(Fraction(5), 2), lambda x: np.exp(-np.abs(x) / 5)
    elif kind == "gaussian":
        event, weight = GaussianEvent(Fraction(20), 4), lambda x: np.exp(-(x**2) / 40)
    else:
        event, k, weight = PureEvent(Fraction(2)), np.array([0, 2]), lambda x: np.exp(-np.abs(x))
    absent = weight(k) / weight(k).sum()
    present = weight(k - 2) / weight(k - 2).sum()
    mixed = (1 - q) * absent + q * present
    curve = amplified_renyi([event], SecretSample.poisson(rate), highest=16)
    for alpha, bound in zip(curve.orders, curve.divergences, strict=True):
        one, other = divergence(mixed, absent, alpha), divergence(absent, mixed, alpha)
        assert other <= one + 1e-12 <= bound + 2e-12
        if kind != "gaussian" or rate == "1":
            assert bound <= one * (1 + 1e-6) + 1e-9


def test_a_sample_of_everything_changes_nothing_and_a_small_one_helps():
    events = [GaussianEvent(Fraction(4), 1)]
    everything = amplified_renyi(events, SecretSample.poisson(1))
    plain = renyi_curve(events, everything.orders)
    assert everything.divergences == pytest.approx(plain.divergences)
    small = amplified_renyi(events * 100, SecretSample.poisson("0.01"))
    assert np.all(small.divergences <= renyi_curve(events * 100, small.orders).divergences)
    assert amplified_renyi(events, SecretSample.poisson("0.01")).divergences[0] < 1e-3 * plain.divergences[0]


def test_failure_mass_is_amplified_too():
    curve = amplified_renyi([SelectionEvent(Fraction(1), Fraction(1, 1000))], TENTH)
    assert curve.delta == Fraction(1, 10_000)


@pytest.mark.parametrize("make", [lambda: SecretSample.poisson(0), lambda: SecretSample.poisson("1.1"),
                                  lambda: SecretSample.without_replacement(11, 10), lambda: amplified(-1, 0, TENTH),
                                  lambda: SecretSample(Fraction(1, 2), "either"),
                                  lambda: amplified_renyi([], TENTH, highest=1)])  # fmt: skip
def test_what_is_no_sample_is_refused(make):
    with pytest.raises(InvalidParameter):
        make()


def test_there_is_no_amplified_rho():
    import dither.accounting.subsampling as module

    assert not [name for name in module.__all__ if "rho" in name or "zcdp" in name]
