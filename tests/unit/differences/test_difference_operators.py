"""The named differences on functions, lists and arrays: values by hand, boundary rules, exactness, refusals."""

import math
from fractions import Fraction

import numpy as np
import pandas
import pytest

from dither.differences import (
    backward,
    central,
    central_half_step,
    difference,
    forward,
    fractional_coefficients,
    inverse,
    shift,
)
from dither.errors import InvalidParameter

SQUARES = [0, 1, 4, 9, 16, 25]
BIG = 2**53 + 1


@pytest.mark.parametrize("kind", [list, np.array, tuple])
def test_differences_of_the_squares_by_hand(kind: type) -> None:
    x = kind(SQUARES)
    assert list(forward(x)) == [1, 3, 5, 7, 9]
    assert list(forward(x, order=2)) == [2, 2, 2, 2]
    assert list(forward(x, step=2)) == [4, 8, 12, 16]
    assert list(backward(x)) == [0, 1, 3, 5, 7, 9]
    assert list(central(x)) == [2, 4, 6, 8]
    assert list(central_half_step(x, order=2)) == [2, 2, 2, 2]
    assert list(central_half_step(x, step=2)) == [4, 8, 12, 16]
    assert list(difference(x, 2, -1)) == [9, 15, 21]
    assert list(inverse(x, start=100)) == [100, 101, 105, 114, 130, 155]
    assert list(shift(x, 2)) == [4, 9, 16, 25, 0, 0]
    assert list(shift(x, -2)) == [0, 0, 0, 1, 4, 9]
    assert list(shift(x, 9)) == [0] * 6


def test_differences_of_functions_by_hand() -> None:
    def cube(x: Fraction) -> Fraction:
        return x**3

    h = Fraction(1, 3)
    assert forward(cube, step=h)(1) == Fraction(64, 27) - 1
    assert backward(cube, step=h)(1) == 1 - Fraction(8, 27)
    assert central(cube, step=h)(1) == (Fraction(64, 27) - Fraction(8, 27)) / 2
    assert central_half_step(cube, step=2 * h)(1) == Fraction(64, 27) - Fraction(8, 27)
    assert difference(cube, "1/3", 0)(1) == forward(cube, step=h)(1)
    assert difference(cube, 5, 5)(1) == 0
    assert shift(cube, h)(1) == Fraction(64, 27)
    assert forward(cube, order=0)(7) == 343
    assert [forward(cube, order=n)(0) for n in range(5)] == [0, 1, 6, 6, 0]


def test_results_keep_their_kind_and_integers_stay_integers() -> None:
    assert isinstance(forward(SQUARES), list)
    assert forward(np.array(SQUARES)).dtype == np.int64
    assert backward(np.array(SQUARES), order=-2).dtype == np.int64
    assert central(np.array(SQUARES)).dtype == np.float64
    assert all(isinstance(v, Fraction) for v in central([0, Fraction(1, 2), 3]))
    assert backward([BIG, 0], order=-1) == [BIG, BIG]
    assert list(inverse(np.array([2**53, 1, 1]))) == [2**53, 2**53 + 1, 2**53 + 2]


def test_small_unsigned_and_boolean_arrays_do_not_wrap_around() -> None:
    assert list(backward(np.array([200, 100], dtype=np.uint8))) == [200, -100]
    assert list(inverse(np.array([200, 100], dtype=np.uint8))) == [200, 300]
    assert list(backward(np.array([True, False, True]))) == [1, -1, 1]
    assert list(forward(np.array([3, 1], dtype=np.uint64))) == [-2]


def test_a_result_beyond_64_bits_is_refused_without_showing_a_value() -> None:
    for impossible in (
        lambda: inverse(np.array([2**62, 2**62])),
        lambda: inverse(np.array([-(2**62), -(2**62), -1])),
        lambda: forward(np.array([-(2**62) - 1, 2**62])),
        lambda: backward(np.array([2**63 - 1, -2])),
        lambda: inverse(np.array([2**63 - 1]), start=1),
        lambda: backward(np.array([2**63], dtype=np.uint64)),
    ):
        with pytest.raises(InvalidParameter, match="64 bits") as caught:
            impossible()
        assert not any(character.isdigit() for character in str(caught.value).split("]", 1)[1].replace("64", ""))
    assert backward(np.array([2**63 - 1, -1]))[-1] == -(2**63)
    assert inverse([2**62, 2**62])[-1] == 2**63
    assert inverse(np.array([2**62, 2**62], dtype=object))[-1] == 2**63


def test_a_running_total_that_comes_back_into_range_is_exact_though_its_a_priori_bound_is_not() -> None:
    steps = np.array([2**62, -(2**62), 2**62, -1])
    totals = inverse(steps)
    assert totals.dtype == np.int64
    assert list(totals) == [2**62, 0, 2**62, 2**62 - 1]
    assert list(backward(totals)) == list(steps)
    assert list(central(np.array([-(2**62), 0, 2**62]))) == [2.0**62]


def test_axes_are_independent_lines() -> None:
    x = np.arange(12).reshape(3, 4) ** 2
    for axis in (0, 1, -1):
        assert np.array_equal(forward(x, axis=axis), np.diff(x, axis=axis))
        assert np.array_equal(inverse(x, axis=axis), np.cumsum(x, axis=axis))
        by_lines = np.apply_along_axis(lambda line: backward(line, order=0.3), axis, x)
        np.testing.assert_allclose(backward(x, order=0.3, axis=axis), by_lines, rtol=1e-13)
        assert np.array_equal(shift(x, -1, axis=axis), x - backward(x, axis=axis))


def test_a_step_of_two_treats_even_and_odd_positions_apart() -> None:
    x = [Fraction(v) for v in (5, 7, 1, 2, 3, 9, 4)]
    half = backward(x, order="1/2", step=2)
    assert half[0::2] == backward(x[0::2], order="1/2")
    assert half[1::2] == backward(x[1::2], order="1/2")
    assert backward([1, 2, 3], step=5) == [1, 2, 3]


def test_arrays_too_short_give_empty_results() -> None:
    for x in ([1, 2], np.array([1, 2])):
        assert len(forward(x, order=2)) == 0
        assert len(forward(x, order=7)) == 0
    for nothing in ([], np.array([], dtype=int)):
        assert len(backward(nothing, order=-1)) == len(backward(nothing, order="1/2")) == len(inverse(nothing)) == 0


def test_object_arrays_carry_fractions_exactly_along_any_axis() -> None:
    x = np.array([[Fraction(1, 3), 2], [3, Fraction(4, 7)], [5, 6]], dtype=object)
    half = backward(x, order="1/2", axis=0)
    assert list(half[:, 0]) == backward([Fraction(1, 3), 3, 5], order="1/2")
    assert np.array_equal(backward(half, order="-1/2", axis=0), x)
    assert list(central(np.array([1, 2, 4], dtype=object))) == [Fraction(3, 2)]


def test_fractional_coefficients_are_the_binomial_series() -> None:
    half = fractional_coefficients("-1/2", 40, exact=True)
    assert half == [Fraction(math.comb(2 * k, k), 4**k) for k in range(40)]
    assert fractional_coefficients(1, 5, exact=True) == [1, -1, 0, 0, 0]
    assert fractional_coefficients(-1, 5, exact=True) == [1] * 5
    assert fractional_coefficients(-3, 4, exact=True) == [1, 3, 6, 10]
    assert fractional_coefficients(0.5, 3, exact=True) == [1, Fraction(-1, 2), Fraction(-1, 8)]
    assert fractional_coefficients(2, 0, exact=True) == [] and len(fractional_coefficients(2, 0)) == 0


def test_float_coefficients_keep_their_last_digits_over_a_million_terms() -> None:
    # C(2k,k)/4^k by its asymptotic series, good to 1e-30 at this k.
    n = 2**20
    k = n - 1
    series = 1 - 1 / (8 * k) + 1 / (128 * k**2) + 5 / (1024 * k**3)
    assert fractional_coefficients("-1/2", n)[-1] == pytest.approx(series / math.sqrt(math.pi * k), rel=2e-15)


def test_long_arrays_by_fft_agree_with_exact_arithmetic() -> None:
    # n = 400 > 64, so FFT; the exact route is a convolution of Fractions.
    x = np.random.default_rng(5).integers(-1000, 1000, 400)
    for order in ("1/2", "-1/2", "7/3", "-5/3"):
        exact = np.array([float(v) for v in backward([int(v) for v in x], order=order)])
        np.testing.assert_allclose(backward(x, order=order), exact, rtol=0, atol=1e-13 * np.abs(exact).max())


def test_real_orders_are_accurate_to_1e_14_of_the_largest_result_over_a_million_values() -> None:
    # Against sums in extended precision; catches -3/2 done as order -2 followed by order 1/2 (1e-13).
    n = 2**20
    x = np.random.default_rng(0).normal(size=n)
    for order in (-1.5, 0.7):
        result = backward(x, order=order)
        c = fractional_coefficients(order, n).astype(np.longdouble)
        for t in (0, 100, n // 3, n - 1):
            expected = np.dot(c[: t + 1], x[t::-1].astype(np.longdouble))
            assert abs(result[t] - expected) <= 2e-14 * np.abs(result).max()


def test_half_a_running_total_twice_is_the_running_total_at_length() -> None:
    x = np.random.default_rng(7).normal(size=(2**16, 2))
    twice = backward(backward(x, order=-0.5, axis=0), order=-0.5, axis=0)
    np.testing.assert_allclose(twice, np.cumsum(x, axis=0), atol=1e-9)


def test_an_antidifference_of_a_function_works_on_both_sides_of_its_origin() -> None:
    total = inverse(lambda j: j, start=10)
    assert [total(k) for k in range(-3, 5)] == [16, 13, 11, 10, 10, 11, 13, 16]
    twice = inverse(lambda j: 6 * j, order=2, origin=1, step=Fraction(1, 2), start=3)
    for k in range(-6, 7):
        x = 1 + Fraction(k, 2)
        assert forward(twice, order=2, step=Fraction(1, 2))(x) == 6 * x
    assert twice(1) == 3 and forward(twice, step=Fraction(1, 2))(1) == 0


def test_an_antidifference_is_refused_between_its_steps() -> None:
    with pytest.raises(InvalidParameter, match="whole number of steps"):
        inverse(lambda j: j)(Fraction(1, 2))
    with pytest.raises(InvalidParameter, match="whole number of steps"):
        inverse(lambda j: j, step=0.1)(0.05)
    assert inverse(lambda j: 1.0, step=0.1)(0.3) == 3.0


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: forward([1, 2], order=-1), "order"),
        (lambda: forward([1, 2], order="1/2"), "order"),
        (lambda: backward(abs, order="1/2"), "order"),
        (lambda: inverse(abs, order=0), "order"),
        (lambda: backward([1, 2], step=0), "step"),
        (lambda: backward([1, 2], step=0.5), "step"),
        (lambda: forward(np.arange(3), step=True), "step"),
        (lambda: central_half_step([1, 2, 3]), "step"),
        (lambda: difference([1, 2, 3], "1/2", 0), "step"),
        (lambda: shift([1, 2], 0.5), "a"),
        (lambda: backward([1, 2], order=math.nan), "order"),
        (lambda: forward("abc"), "f"),
        (lambda: forward(7), "f"),
        (lambda: forward(np.array(7)), "values"),
        (lambda: forward(np.array(["a"])), "values"),
        (lambda: backward(np.array([1.0, math.nan]), order=0.5), "values"),
        (lambda: fractional_coefficients("x", 3), "order"),
        (lambda: fractional_coefficients(1, -3), "n"),
    ],
)
def test_a_wrong_argument_is_named(call: object, name: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        call()
    assert caught.value.name == name


def test_other_columns_come_in_as_arrays() -> None:
    assert list(backward(pandas.Series([1, 4, 9]))) == [1, 3, 5]
