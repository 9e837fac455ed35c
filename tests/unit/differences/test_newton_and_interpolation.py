"""Newton's series, divided differences, extrapolation."""

import math
from fractions import Fraction

import pytest

from dither.differences import (
    binomial,
    difference_table,
    divided_differences,
    extrapolation_noise_gain,
    extrapolation_weights,
    falling_factorial,
    interpolate,
    newton_extrapolate,
    newton_series,
)
from dither.errors import InvalidParameter


def test_the_difference_table_of_the_cubes() -> None:
    assert difference_table([0, 1, 8, 27, 64]) == [[0, 1, 8, 27, 64], [1, 7, 19, 37], [6, 12, 18], [6, 6], [0]]
    assert difference_table([]) == []


def test_falling_factorials_and_binomials_by_hand() -> None:
    assert falling_factorial(5, 3) == 60
    assert falling_factorial(Fraction(1, 2), 2) == Fraction(-1, 4)
    assert falling_factorial(6, 3, step=2) == 6 * 4 * 2
    assert [binomial(-1, k) for k in range(4)] == [1, -1, 1, -1]
    assert binomial(Fraction(1, 2), 2) == Fraction(-1, 8)
    assert binomial(3, 5) == 0 and falling_factorial(9, 0) == 1


def test_newtons_series_of_the_squares_has_three_terms() -> None:
    series = newton_series(lambda x: x * x, 5)
    assert series.leading == (0, 1, 2, 0, 0, 0)
    assert series.degree == 2
    assert series(-7) == 49 and series(Fraction(1, 2)) == Fraction(1, 4)
    assert series.powers()[:3] == (0, 0, 1) and not any(series.powers()[3:])


def test_the_sum_of_squares_is_an_antidifference_in_closed_form() -> None:
    total = newton_series([0, 1, 4]).antidifference()
    assert total(101) == sum(k * k for k in range(101))
    assert total(Fraction(3, 2)) == Fraction(1, 4)  # (x-1)x(2x-1)/6
    assert total.difference()(12) == 144
    assert newton_series([5]).difference()(3) == 0


def test_newtons_series_at_another_origin_and_step() -> None:
    series = newton_series(lambda x: x**3 - x, 3, origin=Fraction(1, 2), step=Fraction(-1, 3))
    assert all(series(x) == x**3 - x for x in (0, 7, Fraction(22, 7)))
    # Σ c_k (x - 1/2)^k with c_k the Taylor coefficients of x³ - x at 1/2.
    assert series.powers() == (Fraction(-3, 8), Fraction(-1, 4), Fraction(3, 2), 1)


def test_newtons_series_takes_floats() -> None:
    series = newton_series(math.exp, 12, step=0.1)
    assert series(0.55) == pytest.approx(math.exp(0.55), rel=1e-12)
    assert newton_series([0, 1, 4])(2.5) == 6.25


def test_too_few_values_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        newton_series([])
    with pytest.raises(InvalidParameter):
        newton_series([1, 2], 2)
    with pytest.raises(InvalidParameter, match="degree"):
        newton_series(math.exp)


def test_divided_differences_of_even_points_are_differences() -> None:
    points, values = [1, 3, 5, 7], [1, 27, 125, 343]
    table = difference_table(values)
    assert divided_differences(points, values) == [Fraction(table[k][0], math.factorial(k) * 2**k) for k in range(4)]


def test_interpolation_passes_through_its_points_in_any_order() -> None:
    points, values = [5, Fraction(1, 2), -3], [1, 10, 100]
    through = interpolate(points, values)
    assert [through(p) for p in points] == values
    assert through(0.0) == pytest.approx(float(through(0)))
    for wrong in (([1, 1], [2, 3]), ([], []), ([1], [1, 2])):
        with pytest.raises(InvalidParameter, match="points"):
            interpolate(*wrong)


def test_extrapolation_recovers_a_total_nobody_was_told() -> None:
    # Totals over 0, 10, 20, 30 rows of a table whose running total is cubic in the rows: the 31-row total follows,
    # though no two answers differ by fewer than ten rows.
    def total(n: int) -> int:
        return sum(3 * k * k + k for k in range(n))

    asked = [0, 10, 20, 30]
    assert newton_extrapolate(asked, [total(n) for n in asked], 31) == total(31)


def test_extrapolation_multiplies_noise_by_nearly_a_central_binomial() -> None:
    assert extrapolation_weights([0, 1, 2], 3) == [1, -3, 3]
    for k in range(1, 9):
        assert extrapolation_noise_gain(list(range(k)), k) == math.comb(2 * k, k) - 1
    assert extrapolation_weights([4, 6, 9], 6) == [0, 1, 0]
