"""Operators as polynomials in the shift: identities, order, accuracy, error constants."""

from fractions import Fraction

import pytest

from dither.differences import BACKWARD, CENTRAL, FORWARD, HALF_STEP, IDENTITY, SHIFT, Operator, difference_weights
from dither.errors import InvalidParameter

HALF = Fraction(1, 2)


def test_the_named_operators_satisfy_the_textbook_identities() -> None:
    assert FORWARD == SHIFT - 1
    assert BACKWARD == 1 - SHIFT**-1 == SHIFT**-1 * FORWARD
    assert FORWARD * BACKWARD == HALF_STEP**2 == FORWARD - BACKWARD == SHIFT - 2 + SHIFT**-1
    assert CENTRAL == (FORWARD + BACKWARD) * HALF
    # The half-sum is the half-step difference averaged over its two half-shifts.
    assert CENTRAL == HALF_STEP * (SHIFT**HALF + SHIFT**-HALF) * HALF
    assert (1 + FORWARD) * (1 - BACKWARD) == IDENTITY


@pytest.mark.parametrize(
    ("operator", "order", "accuracy", "constant"),
    [
        (FORWARD, 1, 1, Fraction(1, 2)),
        (BACKWARD, 1, 1, Fraction(-1, 2)),
        (CENTRAL, 1, 2, Fraction(1, 6)),
        (HALF_STEP, 1, 2, Fraction(1, 24)),
        (FORWARD**3, 3, 1, Fraction(3, 2)),
        (CENTRAL**2, 2, 2, Fraction(1, 3)),
        (HALF_STEP**2, 2, 2, Fraction(1, 12)),
        (IDENTITY, 0, None, 0),
        (SHIFT, 0, 1, 1),
        (SHIFT - SHIFT, 0, None, 0),
    ],
)
def test_order_accuracy_and_error_constant_are_read_off_the_weights(
    operator: Operator, order: int, accuracy: int | None, constant: Fraction
) -> None:
    assert (operator.order, operator.accuracy, operator.error_constant) == (order, accuracy, constant)


def test_the_nth_difference_multiplies_noise_variance_by_the_central_binomial() -> None:
    assert [(FORWARD**n).noise_gain for n in range(6)] == [1, 2, 6, 20, 70, 252]
    assert (BACKWARD**4).noise_gain == 70


def test_the_weights_of_a_power_are_signed_binomials() -> None:
    assert difference_weights(3) == [-1, 3, -3, 1]
    for n in range(8):
        assert [w for _, w in (FORWARD**n).terms] == difference_weights(n)


def test_a_function_is_differenced_exactly_in_fractions_and_at_half_steps() -> None:
    assert FORWARD(lambda x: x * x)(Fraction(1, 3)) == Fraction(5, 3)
    assert HALF_STEP(lambda x: x * x, Fraction(1, 2))(3) == 3
    assert HALF_STEP(lambda x: x**3, 2)(1.0) == pytest.approx(8.0)


def test_only_a_bare_shift_has_negative_and_rational_powers() -> None:
    assert SHIFT**-3 * SHIFT**3 == IDENTITY
    for power in (-1, HALF):
        with pytest.raises(InvalidParameter, match="whole number"):
            FORWARD**power


def test_an_operator_combines_with_exact_numbers_only() -> None:
    with pytest.raises(InvalidParameter, match="operand"):
        SHIFT - 0.1


def test_printing_names_the_shifts() -> None:
    assert str(FORWARD) == "(1)E^(1) + (-1)E^(0)"
    assert str(FORWARD - FORWARD) == "0"
