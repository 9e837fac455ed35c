"""Prices: exact where they can be, never below the truth where they cannot."""

import itertools
import math
from fractions import Fraction

import pytest

from dither.accounting import (
    ComposedEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    Price,
    PureEvent,
    SelectionEvent,
    price,
    rho_of_laplace,
    rho_of_pure,
)
from dither.exact import QUANTUM

LAPLACE_CASES = [(scale, d) for scale in ("1/5", "1/2", "1", "3", "20", "100") for d in (1, 2, 3, 7, 20, 50)]


def laplace_losses(scale: Fraction, distance: int) -> list[tuple[float, float]]:
    """(probability under P, privacy loss) of discrete Laplace against itself moved by `distance`, exhaustively:
    the loss depends on min(max(k, 0), d) alone."""
    p = math.exp(-1 / scale)
    inner = [((1 - p) / (1 + p) * p**j, (distance - 2 * j) / float(scale)) for j in range(1, distance)]
    return [(1 / (1 + p), distance / float(scale)), *inner, (p**distance / (1 + p), -distance / float(scale))]


def renyi_over_alpha(losses: list[tuple[float, float]], alpha: float) -> float:
    top = max(loss for _, loss in losses)
    moment = math.fsum(mass * math.exp((alpha - 1) * (loss - top)) for mass, loss in losses)
    return (math.log(moment) / (alpha - 1) + top) / alpha


def test_laplace_prices_match_the_reference_values():
    assert float(rho_of_laplace(Fraction(1), 1)) == pytest.approx(math.tanh(0.5), abs=1e-15)
    assert round(float(rho_of_laplace(Fraction(20), 20)), 4) == 0.3681
    assert float(rho_of_laplace(Fraction(10**6), 10**6)) == pytest.approx(math.exp(-1), abs=1e-9)


@pytest.mark.parametrize(("scale", "distance"), LAPLACE_CASES)
def test_laplace_rho_is_never_below_the_divergence_of_any_order_and_is_reached_at_order_one(scale, distance):
    scale = Fraction(scale)
    losses = laplace_losses(scale, distance)
    rho = float(rho_of_laplace(scale, distance))
    orders = [1 + 10 ** (x / 4) for x in range(-8, 17)]
    assert all(renyi_over_alpha(losses, alpha) <= rho * (1 + 1e-9) for alpha in orders)
    kullback_leibler = math.fsum(mass * loss for mass, loss in losses)
    assert rho == pytest.approx(kullback_leibler, rel=1e-9)


@pytest.mark.parametrize("scale", ["1/4", "1", "7/3", "50"])
def test_one_coordinate_is_the_worst_vector_of_its_norm(scale):
    scale = Fraction(scale)
    prices = [rho_of_laplace(scale, d) for d in range(30)]
    assert all(a <= b for a, b in itertools.pairwise(prices))
    for a in range(1, 15):
        for b in range(1, 15):
            assert prices[a] + prices[b] <= prices[a + b] + 2 * QUANTUM


@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(10**9), Fraction(10**15, 7)])
@pytest.mark.parametrize("distance", [1, 1000, 10**12])
def test_extreme_scales_stay_within_the_bound_of_any_pure_event(scale, distance):
    rho = rho_of_laplace(scale, distance)
    epsilon = distance / scale
    assert 0 < rho <= rho_of_pure(epsilon)
    if 1e-5 < epsilon < 1e-2:
        assert float(rho) == pytest.approx(float(epsilon) ** 2 / 2, rel=1e-2)


@pytest.mark.parametrize("epsilon", ["1/100", "1/2", "1", "4", "20"])
def test_pure_rho_covers_randomised_response_at_every_order(epsilon):
    e = float(Fraction(epsilon))
    keep = 1 / (1 + math.exp(-e))
    losses = [(keep, e), (1 - keep, -e)]
    rho = float(rho_of_pure(Fraction(epsilon)))
    assert rho == pytest.approx(e * math.tanh(e / 2), rel=1e-12)
    assert all(renyi_over_alpha(losses, 1 + 10 ** (x / 4)) <= rho * (1 + 1e-9) for x in range(-8, 17))


def test_exact_prices_stay_exact():
    assert price(LaplaceEvent(Fraction(60), 20)).epsilon == Fraction(1, 3)
    assert price(GaussianEvent(Fraction(9), 6)) == Price(None, Fraction(1, 3))
    assert price(ExponentialEvent(Fraction(1, 3))) == Price(Fraction(1, 3), Fraction(1, 72))
    assert price(SelectionEvent(Fraction(0), Fraction(1, 10**20))) == Price(
        Fraction(0), Fraction(0), Fraction(1, 10**20)
    )


def test_an_unwieldy_price_is_rounded_up_to_the_quantum():
    epsilon = Fraction(1, 10**18 + 9)
    cost = price(PureEvent(epsilon)).epsilon
    assert epsilon < cost <= epsilon + QUANTUM


def test_prices_add_and_a_gaussian_part_has_no_epsilon():
    pure, gaussian = PureEvent(Fraction(1, 2)), GaussianEvent(Fraction(50), 1)
    total = price(ComposedEvent((pure, gaussian)))
    assert total.gaussian
    assert total.rho == rho_of_pure(Fraction(1, 2)) + Fraction(1, 100)
    assert 3 * price(pure) == price(ComposedEvent((pure, pure, pure)))
    assert 0 * price(gaussian) == Price()


def test_comparison_is_by_every_meter():
    small, large = Price(Fraction(1), Fraction(1, 2)), Price(Fraction(2), Fraction(1))
    assert small <= large and not large <= small
    assert small <= Price(None, Fraction(1)) and not Price(None, Fraction(0)) <= small
    assert not Price(Fraction(1), Fraction(2)) <= large
