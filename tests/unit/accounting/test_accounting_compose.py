"""The least known epsilon of several events, and why."""

import math
from fractions import Fraction

import pytest

from dither.accounting import ComposedEvent, GaussianEvent, PureEvent, SelectionEvent, compose, epsilon_of
from dither.errors import InvalidParameter

TENTH = PureEvent(Fraction(1, 10))

# count, epsilon each, optimal epsilon at delta 1e-6: Kairouz, Oh, Viswanath 2015, computed independently.
OPTIMAL = [(100, "0.1", 4.7746), (10, "0.1", 0.999), (1000, "0.01", 1.365), (100, "1", 83.5)]


@pytest.mark.parametrize(("count", "each", "expected"), OPTIMAL)
def test_equal_pure_events_cost_the_optimal_composition(count, each, expected):
    bound = compose([PureEvent(Fraction(each))] * count).epsilon("1e-6")
    assert float(bound.epsilon) == pytest.approx(expected, rel=5e-4)
    assert "Kairouz" in bound.because


def test_basic_and_zcdp_match_the_reference_values():
    composition = compose([TENTH] * 100)
    assert composition.epsilon(0).epsilon == 10 and "sum" in composition.epsilon(0).because
    assert float(epsilon_of(composition.price.rho, "1e-6")) == pytest.approx(5.2191, abs=1e-4)


@pytest.mark.parametrize(("count", "each"), [(1, 1.0), (2, 0.3), (5, 0.5), (12, 0.2)])
def test_the_optimal_bound_is_the_hockey_stick_of_randomised_responses(count, each):
    delta = 1e-3
    epsilon = float(compose([PureEvent(Fraction(str(each)))] * count).epsilon(str(delta)).epsilon)
    keep = 1 / (1 + math.exp(-each))
    truth = math.fsum(
        math.comb(count, l)
        * max(0.0, keep ** (count - l) * (1 - keep) ** l - math.exp(epsilon) * keep**l * (1 - keep) ** (count - l))
        for l in range(count + 1)
    )
    assert truth <= delta
    if epsilon < count * each:
        assert truth == pytest.approx(delta, rel=1e-5)


def test_mixed_events_take_the_sum_or_the_privacy_loss_distribution():
    few = compose([TENTH, PureEvent(Fraction(1, 5))]).epsilon("1e-9")
    assert few.epsilon == Fraction(3, 10) and "sum" in few.because
    gaussian = compose([TENTH, GaussianEvent(Fraction(100), 1)])
    assert gaussian.epsilon(0).epsilon is None
    assert "privacy-loss" in gaussian.epsilon("1e-9").because
    # Below 1e-10 the distribution is not asked, and discrete noise this narrow leaves zCDP and the Rényi curve.
    assert any(name in gaussian.epsilon("1e-30").because for name in ("zCDP", "Rényi"))


def test_selection_is_paid_out_of_delta_first():
    selection = SelectionEvent(Fraction(0), Fraction(1, 10**7))
    with_it = compose([ComposedEvent((TENTH,) * 50), ComposedEvent((TENTH,) * 50 + (selection,))])
    assert len(with_it.events) == 101
    assert with_it.epsilon("1e-6").epsilon > compose([TENTH] * 100).epsilon("1e-6").epsilon
    with pytest.raises(InvalidParameter):
        with_it.epsilon("1e-8")
