"""Noise from a price: never more than the price, and hardly less."""

from fractions import Fraction

import pytest

from dither.accounting import laplace_scale_for_rho, rho_of_laplace
from dither.errors import InvalidParameter


@pytest.mark.parametrize("rho", ["1e-9", "1/200", "0.3", "2", "50"])
@pytest.mark.parametrize("distance", [1, 7, 20, 10**6])
def test_the_scale_costs_at_most_rho_and_one_slightly_narrower_costs_more(rho, distance):
    rho = Fraction(rho)
    scale = laplace_scale_for_rho(rho, distance)
    assert rho_of_laplace(scale, distance) <= rho
    assert rho_of_laplace(scale * (1 - Fraction(1, 10**6)), distance) > rho


def test_a_price_or_distance_of_nothing_is_refused():
    for arguments in [(Fraction(0), 1), (Fraction(1), 0)]:
        with pytest.raises(InvalidParameter):
            laplace_scale_for_rho(*arguments)
