"""Sums on a dyadic grid: how fine, how sensitive (by brute force), and exact."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.mechanisms import Grid, choose_grid, laplace_sum, row_steps, sum_steps
from dither.noise import insecure_seeded

AWKWARD = [-math.inf, -1e300, -7.5, -0.5, -0.0, 1e-320, 0.49999999999999994, 0.5, 2.5, 1e17, math.inf, math.nan]


def test_the_nearest_step_is_exact_and_rounds_halves_up():
    grid = Grid(-3)
    assert grid.step == Fraction(1, 8)
    assert [grid.to_steps(x) for x in ("1/16", "-1/16", "0.3", "-0.3", 2)] == [1, 0, 2, -2, 16]
    assert grid.value(5) == Fraction(5, 8)


@pytest.mark.parametrize(
    ("low", "high", "noise", "rows"), [(0, 100, 50, 10**6), (-3, "0.5", 1, 10**7), (0, 1, 10**9, 1)]
)
def test_rounding_stays_under_one_percent_of_the_noise_and_no_grid_is_finer_than_needed(low, high, noise, rows):
    grid = choose_grid(low, high, noise, rows)
    assert grid.rounding_bound(rows) <= Fraction(str(noise)) / 100
    assert Grid(grid.exponent + 1).rounding_bound(rows) > Fraction(str(noise)) / 100


def test_a_sum_that_could_pass_the_integers_gets_a_coarser_grid_and_says_the_bias():
    grid = choose_grid(0, 10**12, "1e-9", 10**9)
    assert grid.to_steps(10**12) * 10**9 <= 2**61
    assert grid.rounding_bound(10**9) > Fraction(1, 10**11)


def test_whole_numbers_are_not_rounded():
    assert choose_grid(0, 500, 1000, 10**6, whole=True) == Grid(0)
    assert choose_grid(0, 2**50, 10**6, 2**20, whole=True).exponent > 0


@pytest.mark.parametrize("exponent", [-2, 0, 1])
@pytest.mark.parametrize("bounds", [(0, 3), (-3, 1), (1, 4), (-5, -2)])
def test_no_row_moves_a_sum_by_more_than_its_steps(exponent, bounds):
    # Every database of at most two rows, every row added, removed or replaced.
    grid = Grid(exponent)
    ends = (grid.to_steps(bounds[0]), grid.to_steps(bounds[1]))

    def total(rows):
        return sum_steps(np.array(rows, dtype=np.float64), grid, bounds)

    added, replaced = 0, 0
    for rest in [(), *((value,) for value in AWKWARD)]:
        for new, old in itertools.product(AWKWARD, repeat=2):
            added = max(added, abs(total((*rest, new)) - total(rest)))
            replaced = max(replaced, abs(total((*rest, new)) - total((*rest, old))))
    assert added == row_steps(ends) and replaced <= row_steps(ends, "replace")
    # NaN is a missing value, so replacing reaches 0 as well as both ends.
    assert replaced == row_steps(ends, "replace")


def test_the_sum_is_exact_where_a_float_sum_loses_rows():
    values = np.array([2.0**53, *([1.0] * 1000)])
    assert float(np.cumsum(values)[-1]) == 2.0**53  # the fault: one large row hides a thousand
    assert sum_steps(values, Grid(0), (0, 2**54)) == 2**53 + 1000


def test_the_order_of_rows_does_not_matter():
    values = np.random.default_rng(5).normal(0, 1e6, 10_000)
    assert sum_steps(values, Grid(-20), (-(10**7), 10**7)) == sum_steps(
        values[::-1].copy(), Grid(-20), (-(10**7), 10**7)
    )


def test_a_sum_of_floats_costs_its_offer_and_its_interval_holds_the_clamped_sum():
    values = np.append(np.random.default_rng(1).uniform(-5, 120, 5000), [math.nan, math.inf])
    estimate = laplace_sum(values, bounds=(0, 100), epsilon="0.5", max_rows_per_unit=3, entropy=insecure_seeded(4))
    truth = float(np.clip(values[:-2], 0, 100).sum()) + 100
    assert estimate.price.epsilon == Fraction(1, 2)
    assert estimate.low <= truth <= estimate.high
    assert estimate.high - estimate.low == pytest.approx(2 * 3 * 100 / 0.5 * math.log(20), rel=0.02)


def test_bounds_without_a_sensitivity_are_refused():
    for bounds in [(1, 0), (0, 0)]:
        with pytest.raises(InvalidParameter):
            laplace_sum(np.ones(3), bounds=bounds, epsilon=1)
