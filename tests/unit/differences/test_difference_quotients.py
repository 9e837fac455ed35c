"""Derivatives by differences, their accuracy, Taylor's polynomial and its remainder."""

import math
from fractions import Fraction

import pytest

from dither.differences import (
    BACKWARD,
    CENTRAL,
    FORWARD,
    HALF_STEP,
    accuracy,
    derivative,
    error_table,
    remainder_bound,
    taylor_by_differences,
)
from dither.differences.derivatives import Scheme
from dither.errors import InvalidParameter

SCHEMES: list[tuple[Scheme, int]] = [("forward", 1), ("backward", 1), ("central", 2), ("central_half_step", 2)]


@pytest.mark.parametrize(("scheme", "order_of_accuracy"), SCHEMES)
def test_the_error_shrinks_with_the_stated_power_of_the_step(scheme: Scheme, order_of_accuracy: int) -> None:
    for order, true in ((1, math.cos(1)), (2, -math.sin(1)), (3, -math.cos(1))):
        rows = error_table(math.sin, true, 1.0, steps=[2.0**-k for k in range(3, 8)], scheme=scheme, order=order)
        assert accuracy(scheme, order=order) == order_of_accuracy
        assert rows[0].observed_accuracy is None
        assert rows[-1].observed_accuracy == pytest.approx(order_of_accuracy, abs=0.1)
        assert abs(rows[-1].error) < abs(rows[0].error)


def test_the_leading_error_is_the_operators_error_constant() -> None:
    operators = {"forward": FORWARD, "backward": BACKWARD, "central": CENTRAL, "central_half_step": HALF_STEP}
    for scheme, order_of_accuracy in SCHEMES:
        # All derivatives of exp at 0 are 1, so error / h^p tends to the constant itself.
        row = error_table(math.exp, 1.0, 0.0, steps=[2.0**-7], scheme=scheme, order=2)[0]
        constant = float((operators[scheme] ** 2).error_constant)
        assert row.error / row.step**order_of_accuracy == pytest.approx(constant, rel=0.02)


def test_rounding_takes_over_when_the_step_is_too_small() -> None:
    rows = error_table(math.exp, 1.0, 0.0, steps=[1e-5, 1e-13])
    assert abs(rows[1].error) > 1e3 * abs(rows[0].error)


def test_estimates_are_exact_for_polynomials_of_low_degree() -> None:
    h = Fraction(1, 7)
    assert derivative(lambda x: x * x, 3, step=h) == 6
    assert derivative(lambda x: x**3, Fraction(2), step=h, order=3, scheme="forward") == 6
    rows = error_table(lambda x: x * x, 6, 3, steps=[h, h / 2])
    assert [row.error for row in rows] == [0, 0] and rows[1].observed_accuracy is None


def test_taylor_by_differences_of_a_polynomial_is_its_taylor_polynomial() -> None:
    taylor = taylor_by_differences(lambda x: 2 * x**3 - 5 * x + 1, 3, at=1, step=Fraction(1, 2))
    assert taylor.coefficients == (-2, 1, 6, 2)
    assert taylor.derivative(2) == 12 and taylor.derivative(9) == 0
    assert taylor(4) == 2 * 64 - 20 + 1


def test_taylor_by_differences_stays_within_its_remainder_and_tends_to_taylor() -> None:
    # All derivatives of exp on [-1, 1] are at most e.
    bound = Fraction(272, 100)
    previous = None
    for step in (0.25, 0.1, 0.01):
        taylor = taylor_by_differences(math.exp, 3, step=step)
        for x in (-1.0, -0.3, 0.05, 0.7, 1.0):
            allowed = remainder_bound(x, degree=3, step=step, derivative_bound=float(bound))
            assert abs(taylor(x) - math.exp(x)) <= allowed + 1e-8
        error = abs(taylor.coefficients[3] - 1 / 6)
        assert previous is None or error < previous
        previous = error
    assert taylor.coefficients == pytest.approx((1, 1, 1 / 2, 1 / 6), abs=4e-3)


def test_with_step_zero_the_remainder_is_taylors_own() -> None:
    assert remainder_bound(3, degree=2, at=1, step=0, derivative_bound=5) == Fraction(5 * 2**3, 6)
    assert remainder_bound(3, degree=1, at=0, step=1, derivative_bound=2) == 6


@pytest.mark.parametrize(
    "call",
    [
        lambda: derivative(math.sin, 0, step=0),
        lambda: derivative(math.sin, 0, step=1, order=0),
        lambda: derivative(math.sin, 0, step=1, scheme="sideways"),
        lambda: remainder_bound(1, degree=1, step=1, derivative_bound=-1),
        lambda: remainder_bound(1, degree=-1, step=1, derivative_bound=1),
    ],
)
def test_wrong_arguments_are_refused(call: object) -> None:
    with pytest.raises(InvalidParameter):
        call()
