"""Rényi curves: exact values by enumeration, from above; conversion; addition."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.accounting import (
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    SelectionEvent,
    epsilon_of,
    price,
    renyi_curve,
)
from dither.errors import InvalidParameter

ALPHAS = np.array([1.001, 1.1, 1.5, 2, 3, 8, 32, 200])


def divergence(losses: list[tuple[float, float]], alpha: float) -> float:
    """D_alpha from (loss, mass) pairs, by the definition."""
    a = alpha - 1
    top = max(a * loss for loss, _ in losses)
    return (top + math.log(math.fsum(mass * math.exp(a * loss - top) for loss, mass in losses))) / a


def laplace_losses(scale: float, distance: int) -> list[tuple[float, float]]:
    """Losses over the whole integer line, not folded, as an independent route."""
    p = math.exp(-1 / scale)
    reach = distance + math.ceil(60 * scale)
    return [((abs(k - distance) - abs(k)) / scale, (1 - p) / (1 + p) * p ** abs(k)) for k in range(-reach, reach + 1)]


@pytest.mark.parametrize(("scale", "distance"), [("1/2", 1), ("1", 1), ("3", 2), ("10", 1), ("10", 37), ("1", 30)])
def test_the_curve_of_laplace_noise_is_the_one_of_its_law(scale, distance):
    curve = renyi_curve([LaplaceEvent(Fraction(scale), distance)], ALPHAS)
    losses = laplace_losses(float(Fraction(scale)), distance)
    for alpha, bound in zip(ALPHAS, curve.divergences, strict=True):
        truth = divergence(losses, float(alpha))
        assert truth * (1 - 1e-9) <= bound <= truth * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "5", "40"])
def test_the_curve_of_a_pure_event_is_that_of_randomised_response(epsilon):
    e = float(Fraction(epsilon))
    keep = 1 / (1 + math.exp(-e))
    curve = renyi_curve([PureEvent(Fraction(epsilon))], ALPHAS)
    for alpha, bound in zip(ALPHAS, curve.divergences, strict=True):
        truth = divergence([(e, keep), (-e, 1 - keep)], float(alpha))
        # The tolerance is absolute as well: a tiny divergence drowns in the rounding of this test's own logarithm.
        assert truth - 1e-12 <= bound <= truth * (1 + 1e-6) + 1e-12


def test_gaussian_noise_has_a_straight_curve_and_a_choice_never_costs_more_than_a_pure_event():
    gaussian = renyi_curve([GaussianEvent(Fraction(50), 1)], ALPHAS)
    assert gaussian.divergences == pytest.approx(ALPHAS / 100, rel=1e-9)
    assert np.all(gaussian.divergences >= ALPHAS / 100)
    choice, pure = (renyi_curve([kind(Fraction(1))], ALPHAS).divergences for kind in (ExponentialEvent, PureEvent))
    assert np.all(choice <= pure) and choice[2] == pytest.approx(1.5 / 8, rel=1e-9)


def test_no_curve_is_above_its_zcdp_line_or_its_epsilon():
    for event in (LaplaceEvent(Fraction(10**20), 1), LaplaceEvent(Fraction(7), 10**25), PureEvent(Fraction(1, 10**9))):
        cost = price(event)
        curve = renyi_curve([event])
        assert np.all(curve.divergences <= np.minimum(curve.orders * float(cost.rho), float(cost.epsilon)) * (1 + 1e-9))


def test_the_conversion_agrees_with_the_one_for_zcdp():
    # Half a rho at 1e-6: 5.2215, and 100 pure events of epsilon .1: 5.2191 by zCDP, less by their own curve.
    half = renyi_curve([GaussianEvent(Fraction(1), 1)]).epsilon("1e-6")
    assert half >= epsilon_of("0.5", "1e-6") and float(half) == pytest.approx(5.2215, rel=1e-3)
    pure = renyi_curve([PureEvent(Fraction(1, 10))] * 100)
    assert 4.7746 < float(pure.epsilon("1e-6")) <= 5.2191


def test_listed_orders_are_dense_enough():
    events = [LaplaceEvent(Fraction(10), 1)] * 100 + [GaussianEvent(Fraction(30), 2)] * 3
    dense = 1 + np.exp2(np.arange(-640, 900) / 64)
    for delta in ("1e-12", "1e-6", "1e-2"):
        assert renyi_curve(events).epsilon(delta) <= renyi_curve(events, dense).epsilon(delta) * Fraction(1001, 1000)


def test_curves_add_up_and_keep_their_failure_mass():
    one, selection = (
        renyi_curve([PureEvent(Fraction(1))]),
        renyi_curve([SelectionEvent(Fraction(1), Fraction(1, 10**7))]),
    )
    both = one + selection
    assert both.delta == Fraction(1, 10**7)
    assert both.divergences == pytest.approx(2 * one.divergences) and (one * 2).divergences == pytest.approx(
        both.divergences
    )
    assert both.epsilon("1e-6") > (one * 2).epsilon("1e-6")
    with pytest.raises(InvalidParameter):
        both.epsilon("1e-7")
    with pytest.raises(InvalidParameter):
        one + renyi_curve([PureEvent(Fraction(1))], ALPHAS)


def test_an_order_between_two_listed_ones_takes_the_upper():
    curve = renyi_curve([GaussianEvent(Fraction(1, 2), 1)], np.array([2.0, 4.0]))
    assert curve.at(3) == curve.at(4) >= 4 and curve.at(5) == math.inf


@pytest.mark.parametrize("orders", [[1.0, 2.0], [3.0, 2.0]])
def test_orders_that_mean_nothing_are_refused(orders):
    with pytest.raises(InvalidParameter):
        renyi_curve([], np.array(orders))
