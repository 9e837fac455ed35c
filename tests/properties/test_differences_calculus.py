"""Laws of the calculus of differences, on random polynomials, sequences and operators, in exact arithmetic."""

import math
from fractions import Fraction

import numpy as np
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.differences import (
    BACKWARD,
    CENTRAL,
    FORWARD,
    HALF_STEP,
    SHIFT,
    DifferenceEquation,
    Operator,
    backward,
    central,
    difference_weights,
    divided_differences,
    forward,
    fractional_coefficients,
    interpolate,
    inverse,
    newton_extrapolate,
    newton_series,
    shift,
    taylor_by_differences,
)

rationals = st.fractions(min_value=-20, max_value=20, max_denominator=12)
steps = rationals.filter(bool)
orders = st.fractions(min_value=-3, max_value=3, max_denominator=6)
sequences = st.lists(st.one_of(st.integers(-(2**70), 2**70), rationals), max_size=12)
polynomials = st.lists(rationals, min_size=1, max_size=6)
operators = st.dictionaries(
    st.fractions(min_value=-3, max_value=3, max_denominator=2), st.integers(-5, 5), max_size=4
).map(Operator.of)


def function(coefficients: list[Fraction]):
    return lambda x: sum((c * x**k for k, c in enumerate(coefficients)), Fraction(0))


@settings(deadline=None)
@given(polynomials, polynomials, rationals, rationals, rationals, steps, operators)
def test_every_operator_is_linear(p, q, a, b, x, h, operator) -> None:
    f, g = function(p), function(q)
    assert operator(lambda t: a * f(t) + b * g(t), h)(x) == a * operator(f, h)(x) + b * operator(g, h)(x)


@settings(deadline=None)
@given(polynomials, rationals, steps, operators, operators)
def test_products_of_operators_are_compositions_and_commute(p, x, h, first, second) -> None:
    f = function(p)
    assert (first * second)(f, h)(x) == first(second(f, h), h)(x)
    assert first * second == second * first
    assert first * (second + 1) == first * second + first


@settings(deadline=None)
@given(polynomials, steps, st.sampled_from([FORWARD, BACKWARD, CENTRAL, HALF_STEP]))
def test_a_difference_lowers_the_degree_of_a_polynomial_by_exactly_one(p, h, operator) -> None:
    differenced = newton_series(operator(function(p), h), 6)
    degree = max((k for k, c in enumerate(p) if c), default=0)
    assert differenced.degree == max(degree - 1, 0)
    # The leading coefficient is that of h f'.
    if degree:
        assert differenced.powers()[degree - 1] == h * degree * p[degree]


@settings(deadline=None)
@given(polynomials, st.integers(0, 7), rationals, steps)
def test_the_explicit_formula_of_the_nth_difference_equals_iteration(p, n, x, h) -> None:
    f = function(p)
    iterated = f
    for _ in range(n):
        iterated = forward(iterated, step=h)
    explicit = sum(w * f(x + k * h) for k, w in enumerate(difference_weights(n)))
    assert forward(f, step=h, order=n)(x) == iterated(x) == explicit


@settings(deadline=None)
@given(polynomials, polynomials, rationals, steps)
def test_the_product_rule(p, q, x, h) -> None:
    f, g = function(p), function(q)
    product = forward(lambda t: f(t) * g(t), step=h)(x)
    df, dg = forward(f, step=h), forward(g, step=h)
    assert product == f(x) * dg(x) + df(x) * g(x + h) == f(x) * dg(x) + g(x) * df(x) + df(x) * dg(x)


@settings(deadline=None)
@given(polynomials, polynomials, st.integers(-6, 6), st.integers(0, 8))
def test_summation_by_parts(p, q, start, length) -> None:
    f, g = function(p), function(q)
    df, dg = forward(f), forward(g)
    end = start + length
    left = inverse(lambda t: f(t) * dg(t), origin=start)(end)
    right = inverse(lambda t: g(t + 1) * df(t), origin=start)(end)
    assert left == f(end) * g(end) - f(start) * g(start) - right


@settings(deadline=None)
@given(polynomials, st.integers(1, 4), steps, rationals, st.integers(-8, 8), rationals)
def test_the_antidifference_of_a_function_is_a_right_inverse_everywhere(p, n, h, origin, k, start) -> None:
    f = function(p)
    total = inverse(f, order=n, step=h, origin=origin, start=start)
    x = origin + k * h
    assert forward(total, step=h, order=n)(x) == f(x)
    assert total(origin) == start


@settings(deadline=None)
@given(polynomials, st.integers(-8, 8))
def test_the_antidifference_of_a_difference_telescopes(p, k) -> None:
    f = function(p)
    assert inverse(forward(f), start=f(0))(k) == f(k)


@settings(deadline=None)
@given(sequences, orders, orders, st.integers(1, 4))
def test_real_orders_of_the_backward_difference_add(x, a, b, h) -> None:
    assert backward(backward(x, order=a, step=h), order=b, step=h) == backward(x, order=a + b, step=h)


@settings(deadline=None)
@given(sequences, orders, st.integers(1, 4))
def test_the_inverse_difference_of_data_is_a_two_sided_inverse(x, a, h) -> None:
    assert inverse(backward(x, order=a, step=h), order=a, step=h) == x
    assert backward(inverse(x, order=a, step=h), order=a, step=h) == x


@settings(deadline=None)
@given(sequences, orders)
def test_a_real_order_is_the_convolution_with_its_coefficients(x, a) -> None:
    c = fractional_coefficients(a, len(x), exact=True)
    assert backward(x, order=a) == [sum(c[k] * x[t - k] for k in range(t + 1)) for t in range(len(x))]


@settings(deadline=None)
@given(orders, orders, st.integers(0, 25))
def test_coefficients_multiply_as_power_series(a, b, n) -> None:
    left, right = (fractional_coefficients(order, n, exact=True) for order in (a, b))
    product = [sum(left[i] * right[k - i] for i in range(k + 1)) for k in range(n)]
    assert product == fractional_coefficients(a + b, n, exact=True)


@settings(deadline=None)
@given(st.integers(0, 60))
def test_order_minus_one_half_has_the_central_binomials(n) -> None:
    expected = [Fraction(math.comb(2 * k, k), 4**k) for k in range(n)]
    assert fractional_coefficients("-1/2", n, exact=True) == expected
    assert np.allclose(fractional_coefficients("-1/2", n), [float(c) for c in expected], rtol=4e-16, atol=0)


@settings(deadline=None)
@given(st.lists(st.integers(-(2**40), 2**40), max_size=150), st.integers(-2, 3), st.integers(1, 3))
def test_integer_arrays_are_exact_and_agree_with_lists(x, order, h) -> None:
    array = np.array(x, dtype=np.int64)
    assert backward(array, order=order, step=h).tolist() == backward(x, order=order, step=h)
    assert shift(array, order).tolist() == shift(x, order)
    if order >= 0:
        assert forward(array, order=order, step=h).tolist() == forward(x, order=order, step=h)
        assert central(array, order=order, step=h).tolist() == [float(v) for v in central(x, order=order, step=h)]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 300), orders, st.integers(0, 2**32 - 1))
def test_float_arrays_agree_with_exact_arithmetic(n, order, seed) -> None:
    x = np.random.default_rng(seed).integers(-50, 50, n)
    expected = np.array([float(v) for v in backward(x.tolist(), order=order)])
    scale = np.abs(np.array([float(c) for c in fractional_coefficients(order, n, exact=True)])).sum() * 50
    assert np.abs(backward(x, order=order) - expected).max() <= 1e-13 * scale


@settings(deadline=None)
@given(polynomials, rationals, steps, rationals)
def test_newtons_series_is_exact_on_polynomials_from_degree_plus_one_values(p, origin, h, x) -> None:
    f = function(p)
    series = newton_series(f, len(p) - 1, origin=origin, step=h)
    assert series(x) == f(x)
    assert taylor_by_differences(f, len(p) - 1, at=origin, step=h)(x) == f(x)


@settings(deadline=None)
@given(polynomials, rationals, steps, rationals, rationals)
def test_difference_and_antidifference_of_a_series_are_those_of_its_function(p, origin, h, x, start) -> None:
    series = newton_series(p, origin=origin, step=h)
    assert series.difference()(x) == forward(series, step=h)(x)
    total = series.antidifference(start)
    assert forward(total, step=h)(x) == series(x) and total(origin) == start


@settings(deadline=None)
@given(polynomials, st.lists(rationals, min_size=6, max_size=6, unique=True), rationals)
def test_interpolation_and_extrapolation_are_exact_on_polynomials(p, points, x) -> None:
    f = function(p)
    values = [f(point) for point in points]
    assert interpolate(points, values)(x) == newton_extrapolate(points, values, x) == f(x)
    assert divided_differences(points, values) == [
        divided_differences(points[: k + 1][::-1], values[: k + 1][::-1])[-1] for k in range(6)
    ]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=4), st.integers(1, 12))
def test_sums_of_polynomials_agree_with_sympy(p, upper) -> None:
    n = sympy.Symbol("n")
    symbolic = sympy.summation(sum(c * n**k for k, c in enumerate(p)), (n, 0, upper - 1))
    assert newton_series(function([Fraction(c) for c in p]), len(p) - 1).antidifference()(upper) == int(symbolic)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.fractions(min_value=-2, max_value=2, max_denominator=3), min_size=1, max_size=4),
    st.lists(rationals, min_size=4, max_size=4),
)
def test_an_equation_with_rational_roots_is_solved_exactly(roots, initial) -> None:
    polynomial = [Fraction(1)]
    for root in roots:
        polynomial = [a - root * b for a, b in zip([Fraction(0), *polynomial], [*polynomial, Fraction(0)], strict=True)]
    coefficients = tuple(-c for c in reversed(polynomial[:-1]))
    equation = DifferenceEquation(coefficients, tuple(initial[: len(roots)]), initial[-1])
    solution = equation.solve()
    assert solution.exact
    assert [solution(t) for t in range(12)] == equation.iterate(12)


@settings(deadline=None)
@given(operators, st.integers(-4, 4))
def test_a_bare_shift_moves_any_operator(operator, k) -> None:
    f = function([Fraction(1), Fraction(2), Fraction(-1), Fraction(3)])
    assert (SHIFT**k * operator)(f)(Fraction(1, 3)) == operator(f)(Fraction(1, 3) + k)
