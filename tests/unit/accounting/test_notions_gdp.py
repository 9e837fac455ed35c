"""Trade-off curves and Gaussian differential privacy: reference values, inverses, and discrete noise from above."""

import math
from fractions import Fraction

import pytest

from dither.accounting import (
    GaussianEvent,
    GaussianTradeOff,
    LaplaceEvent,
    TradeOff,
    compose,
    compose_gaussian,
    delta_of_gaussian,
    epsilon_of_gaussian,
    mu_squared_of,
    mu_star,
)
from dither.accounting.gdp import continuous_mu_squared, log_normal_below, normal_below
from dither.errors import InvalidParameter

# mu, delta, epsilon: computed independently with a log-cdf from another library.
REFERENCE = [(1.0, "1e-6", 4.886554117), (2.0, "1e-6", 10.997151214), (0.1, "1e-6", 0.396856), (1.0, "1e-5", 4.377)]


@pytest.mark.parametrize(("mu", "delta", "epsilon"), REFERENCE)
def test_epsilon_of_a_gaussian_matches_the_reference_values(mu, delta, epsilon):
    found = epsilon_of_gaussian(mu, delta)
    assert float(found) == pytest.approx(epsilon, rel=1e-9 if epsilon > 4.5 else 1e-4)
    assert delta_of_gaussian(mu, float(found)) <= float(Fraction(delta)) * (1 + 1e-9)


def test_the_noise_for_epsilon_one_matches_the_reference_value():
    assert 1 / mu_star(1, "1e-6") == pytest.approx(4.2246788933, rel=1e-9)
    assert 10 / mu_star(1, "1e-6") == pytest.approx(42.246789, rel=1e-7)


@pytest.mark.parametrize(("rho", "epsilon"), [("0.005", 0.397), ("0.05", 1.368), ("0.5", 4.887), ("2", 11.00)])
def test_a_gaussian_costs_less_than_its_rho_says(rho, epsilon):
    assert float(epsilon_of_gaussian(math.sqrt(2 * Fraction(rho)), "1e-6")) == pytest.approx(epsilon, rel=1e-3)


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.3, 2.0, 33.0, 60.0])
@pytest.mark.parametrize("delta", ["1e-2", "1e-9", "1e-15"])
def test_mu_star_and_epsilon_are_inverse_of_one_another(mu, delta):
    epsilon = epsilon_of_gaussian(mu, delta)
    if epsilon > 0:
        back = mu_star(epsilon, delta)
        assert mu * (1 - 1e-6) <= back <= mu * (1 + 1e-6)


def test_narrow_noise_gives_a_large_but_finite_epsilon():
    assert float(epsilon_of_gaussian(1 / 0.03, "1e-6")) == pytest.approx(713, rel=2e-3)


def test_the_normal_tail_is_continued_where_erfc_ends():
    for x in (-29.9, -30.1):
        assert log_normal_below(x) == pytest.approx(math.log(normal_below(x)), rel=1e-12)
    assert log_normal_below(-50) == pytest.approx(-1254.8313611394, rel=1e-11)


def test_mus_compose_by_the_root_of_squares():
    assert compose_gaussian([3.0, 4.0]) == pytest.approx(5.0) and compose_gaussian([3.0, 4.0]) >= 5.0


def test_a_trade_off_curve_misses_what_its_definition_says():
    line = TradeOff(((Fraction(1), Fraction(1, 10)),))
    for alpha in (0.0, 0.05, 0.3, 0.9, 1.0):
        expected = max(0.0, 1 - 0.1 - math.e * alpha, (1 - 0.1 - alpha) / math.e)
        assert line.missed(alpha) == pytest.approx(expected, abs=1e-11) and line.missed(alpha) <= expected
    gaussian = GaussianTradeOff(1.0)
    assert gaussian.missed(0.5) == pytest.approx(normal_below(-1.0))
    assert gaussian.missed(0.0) == 1 and gaussian.missed(1.0) == 0


@pytest.mark.parametrize("alpha", [1e-12, 0.01, 0.2, 0.5, 0.95])
def test_the_lines_of_a_gaussian_touch_its_curve_from_below(alpha):
    mu = 1.3
    lines = TradeOff(tuple((Fraction(e), Fraction(delta_of_gaussian(mu, e))) for e in [k / 50 for k in range(400)]))
    assert lines.missed(alpha) <= GaussianTradeOff(mu).missed(alpha) + 1e-12
    assert lines.missed(alpha) == pytest.approx(GaussianTradeOff(mu).missed(alpha), abs=1e-4)


def test_advantage_is_delta_at_epsilon_zero():
    assert float(GaussianTradeOff(1.0).advantage()) == pytest.approx(delta_of_gaussian(1.0, 0.0))
    assert float(TradeOff(((Fraction(1), Fraction(0)),)).advantage()) == pytest.approx(math.tanh(0.5))
    pair = TradeOff(((Fraction(1), Fraction(1, 100)),))
    assert float(pair.advantage()) == pytest.approx((math.e - 1 + 0.02) / (math.e + 1))
    assert TradeOff(()).advantage() == 1


def test_the_trade_off_curve_of_a_composition_is_above_nothing_it_cannot_promise():
    curve = compose([LaplaceEvent(Fraction(1), 1)]).trade_off()
    # Discrete Laplace at e^epsilon = e: the best test misses with exactly 1 - e alpha while alpha is small.
    assert curve.missed(0.01) == pytest.approx(1 - math.e * 0.01, abs=1e-9)


def discrete_gaussian_delta(variance: float, vector: tuple[int, ...], epsilon: float) -> float:
    """Hockey-stick of discrete Gaussian noise at a shift, by enumeration."""
    reach = math.ceil(12 * math.sqrt(variance)) + max(vector)
    line = range(-reach, reach + 1)
    weight = {k: math.exp(-k * k / (2 * variance)) for k in range(-reach - 9, reach + 10)}
    total = math.fsum(weight[k] for k in line)
    points: list[tuple[float, float]] = [(1.0, 1.0)]
    for shift in vector:
        points = [(p * weight[k] / total, q * weight[k - shift] / total) for p, q in points for k in line]
    return math.fsum(max(0.0, p - math.exp(epsilon) * q) for p, q in points)


@pytest.mark.parametrize(
    ("variance", "vector"), [("6", (1, 1)), ("7", (2, 1)), ("12", (3,)), ("40", (2,)), ("6", (1,))]
)
@pytest.mark.parametrize("delta", ["1e-2", "1e-5"])
def test_discrete_noise_is_within_the_mu_that_is_charged(variance, vector, delta):
    event = GaussianEvent(Fraction(variance), sum(shift * shift for shift in vector))
    mu_squared = mu_squared_of(event)
    assert mu_squared > continuous_mu_squared(event)
    epsilon = float(epsilon_of_gaussian(math.sqrt(mu_squared), delta))
    assert discrete_gaussian_delta(float(variance), vector, epsilon) <= float(Fraction(delta))


def test_continuous_noise_would_not_bound_discrete_noise():
    # Why mu_squared_of exists: at some epsilon, discrete noise is further apart than continuous noise of its variance.
    gaps = [
        discrete_gaussian_delta(2.0, (1,), e / 40) - delta_of_gaussian(math.sqrt(0.5), e / 40) for e in range(1, 80)
    ]
    assert max(gaps) > 1e-3


def test_narrow_or_unusual_noise_has_no_mu():
    assert mu_squared_of(GaussianEvent(Fraction(4), 1)) is None
    assert mu_squared_of(GaussianEvent(Fraction(400), Fraction(1, 2))) is None
    assert mu_squared_of(LaplaceEvent(Fraction(1), 1)) is None


@pytest.mark.parametrize("call", [lambda: GaussianTradeOff(-1.0), lambda: GaussianTradeOff(1.0).missed(1.5),
                                  lambda: epsilon_of_gaussian(1.0, 0), lambda: epsilon_of_gaussian(-1.0, "1e-6"),
                                  lambda: TradeOff(((Fraction(-1), Fraction(0)),))])  # fmt: skip
def test_what_means_nothing_is_refused(call):
    with pytest.raises(InvalidParameter):
        call()
