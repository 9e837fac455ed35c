"""Enclosures against 2,000-bit arithmetic of mpmath, which shares no code with ours."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.noise import exp_bounds, exp_neg, log_bounds, pi_bounds, sqrt_bounds, tanh_bounds

CONTEXT = mpmath.mp.clone()
CONTEXT.prec = 2000

POSITIVE = st.fractions(min_value=Fraction(1, 10**6), max_value=10**4, max_denominator=10**9)
BITS = st.sampled_from([1, 8, 64, 200, 500])


def real(x: Fraction):
    return CONTEXT.mpf(x.numerator) / x.denominator


def holds(low: Fraction, value, high: Fraction) -> bool:
    return real(low) <= value <= real(high)


@pytest.mark.parametrize("bits", [1, 8, 64, 128, 700])
@pytest.mark.parametrize("x", ["1e-30", "1e-6", "1/3", "1", "7/2", "255", "1000/3", "1e8", "1e40"])
def test_exp_neg_encloses_within_two_units(x, bits):
    value = Fraction(x)
    low, high = exp_neg(value, bits)
    assert low <= CONTEXT.exp(-real(value)) * CONTEXT.mpf(2) ** bits <= high
    assert 0 <= low <= high <= low + 2


def test_exp_neg_of_zero_is_exactly_one():
    assert exp_neg(Fraction(0), 64) == (2**64, 2**64)


@settings(max_examples=200, deadline=None)
@given(x=POSITIVE, bits=BITS)
def test_every_enclosure_holds_and_is_as_narrow_as_asked(x, bits):
    low, high = exp_neg(x, bits)
    assert low <= CONTEXT.exp(-real(x)) * CONTEXT.mpf(2) ** bits <= high <= low + 2
    for bounds, truth in [
        (log_bounds(x, bits), CONTEXT.log(real(x))),
        (tanh_bounds(x, bits), CONTEXT.tanh(real(x))),
        (tanh_bounds(-x, bits), -CONTEXT.tanh(real(x))),
        (sqrt_bounds(x, bits), CONTEXT.sqrt(real(x))),
        (pi_bounds(bits), CONTEXT.pi),
    ]:
        assert holds(bounds[0], truth, bounds[1])
        assert bounds[1] - bounds[0] <= Fraction(1, 2**bits)


@settings(max_examples=100, deadline=None)
@given(x=st.fractions(min_value=-300, max_value=300, max_denominator=10**6), bits=BITS)
def test_exp_bounds_are_relatively_narrow_on_both_sides_of_zero(x, bits):
    low, high = exp_bounds(x, bits)
    assert holds(low, CONTEXT.exp(real(x)), high)
    assert high - low <= low / 2**bits


def test_an_enclosure_moved_by_two_units_is_noticed():
    """The comparison above can fail: exp(-1/3) at 64 bits, moved by 2 units, is outside."""
    low, high = exp_neg(Fraction(1, 3), 64)
    truth = CONTEXT.exp(-real(Fraction(1, 3))) * CONTEXT.mpf(2) ** 64
    assert not low + 2 <= truth
    assert not truth <= high - 2


@pytest.mark.parametrize(
    ("function", "argument"), [(exp_neg, Fraction(-1)), (log_bounds, Fraction(0)), (log_bounds, Fraction(-2))]
)
def test_arguments_outside_the_domain_are_refused(function, argument):
    with pytest.raises(InvalidParameter):
        function(argument, 64)
