"""The conversion between zCDP and (epsilon, delta): reference values, rounding directions, inverse of one another."""

import math
from fractions import Fraction

import pytest

from dither.accounting import delta_of, epsilon_of, rho_star
from dither.errors import InvalidParameter
from dither.exact import QUANTUM

# Measured with an independent implementation of the same formula, delta = 1e-6.
REFERENCE = [("0.005", 0.430), ("0.05", 1.472), ("0.5", 5.222), ("2", 11.69)]


@pytest.mark.parametrize(("rho", "epsilon"), REFERENCE)
def test_epsilon_of_rho_matches_the_reference_values(rho, epsilon):
    assert float(epsilon_of(rho, "1e-6")) == pytest.approx(epsilon, abs=6e-4 * max(1, epsilon))


def test_half_a_rho_costs_5_2215():
    assert round(float(epsilon_of("0.5", "1e-6")), 4) == 5.2215


def test_the_budget_of_the_example_catalog_holds_one_eighth_of_a_rho():
    assert round(float(rho_star(3, "1e-9")), 4) == 0.1206
    assert round(float(rho_star(3, "9e-10")), 4) == 0.1199


@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "1", "3", "20", "300"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-9", "1e-25"])
def test_rho_star_keeps_its_promise_and_a_little_more_breaks_it(epsilon, delta):
    rho = rho_star(epsilon, delta)
    assert epsilon_of(rho, delta) <= Fraction(epsilon) + Fraction(1, 10**9)
    assert epsilon_of(rho * Fraction(1001, 1000), delta) > Fraction(epsilon)
    if Fraction(delta) > Fraction(1, 10**20):
        assert delta_of(rho, epsilon) == pytest.approx(Fraction(delta), rel=1e-6)


def test_no_order_does_better_than_the_chosen_one():
    rho, epsilon = 0.05, 1.0
    delta = float(delta_of("0.05", "1"))
    for step in range(1, 4000):
        a = step / 40
        other = math.exp(a * ((a + 1) * rho - epsilon)) / (a + 1) * (a / (a + 1)) ** a
        assert delta <= other * (1 + 1e-9)


def test_rounding_goes_outwards():
    assert rho_star(1, "1e-6") % QUANTUM == 0
    assert epsilon_of("0.1", "1e-6") % QUANTUM == 0
    assert delta_of(1000, 1) == 1
    assert delta_of(0, 1) == 0 and epsilon_of(0, "1e-9") == 0
    assert 0 < delta_of("1e-12", 5) <= Fraction(1, 10**30)


def test_it_is_never_looser_than_the_simple_form_nor_better_than_the_gaussian():
    for rho in (0.01, 0.1, 1.0):
        simple = rho + 2 * math.sqrt(rho * math.log(1e6))
        assert float(epsilon_of(str(rho), "1e-6")) < simple
        # Gaussian noise of this rho: its exact delta at the epsilon found must be below the converted one.
        mu, epsilon = math.sqrt(2 * rho), float(epsilon_of(str(rho), "1e-6"))
        phi = lambda x: math.erfc(-x / math.sqrt(2)) / 2  # noqa: E731
        exact = phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)
        assert exact < 1e-6


@pytest.mark.parametrize("delta", [0, 1, -1, "nan"])
def test_a_delta_that_is_no_probability_is_refused(delta):
    with pytest.raises(InvalidParameter):
        rho_star(1, delta)


def test_a_float_means_its_shortest_decimal_even_after_its_binary_value_was_asked():
    assert rho_star(Fraction(1000.1), "1e-6") != rho_star(1000.1, "1e-6") == rho_star("1000.1", "1e-6")
