"""Floats on a dyadic grid: values are clamped, rounded to multiples of 2^k, and summed as integers.

Flow: bounds and a noise size choose the grid; rows become whole steps; `laplace_sum` is the whole path for floats.
Relies on: each row's number of steps depends on that row alone and is clamped *after* rounding, so that no rounding of
a float can push it past the steps the sensitivity was computed from.  Proof: docs/proofs/mechanisms/grid-sums.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.accounting.price import Price
from dither.errors import InvalidParameter
from dither.exact import Number, exact, positive
from dither.mechanisms.laplace import laplace
from dither.mechanisms.release import LARGEST, Integers, Neighbours, Release, Values, opened
from dither.noise import Entropy

__all__ = ["Grid", "SumEstimate", "choose_grid", "laplace_sum", "row_steps", "sum_steps"]

ROUNDING_SHARE = Fraction(1, 100)
"""Rounding of all rows together stays below this share of the noise, where the range of integers allows it."""
_LEAST_EXPONENT, _LARGEST_EXPONENT = -1000, 1000


@dataclass(frozen=True)
class Grid:
    """The multiples of 2^exponent."""

    exponent: int

    @property
    def step(self) -> Fraction:
        return Fraction(2) ** self.exponent

    def to_steps(self, value: Number) -> int:
        """The nearest whole number of steps, halves upwards."""
        return math.floor(exact(value) / self.step + Fraction(1, 2))

    def value(self, steps: int) -> Fraction:
        return steps * self.step

    def rounding_bound(self, rows: int) -> Fraction:
        """How far rounding can move a sum of this many rows, at worst."""
        return rows * self.step / 2


def choose_grid(low: Number, high: Number, noise_scale: Number, rows: int, *, whole: bool = False) -> Grid:
    """The coarsest grid on which rounding `rows` values moves their sum by at most 1 % of `noise_scale`; coarser still
    when sums could otherwise pass 2^60 (`rounding_bound` then says the bias). All arguments are public.
    noise_scale: in units of the answer.  rows: public maximum.  whole: values are integers, no step below 1.
    Raises InvalidParameter for fewer than 1 row or a noise that is not above 0."""
    largest = max(abs(exact(low, "low")), abs(exact(high, "high")))
    if rows < 1:
        raise InvalidParameter("rows", expected="at least 1", found=rows)
    exponent = _floor_log2(2 * ROUNDING_SHARE * positive(noise_scale, "noise_scale") / rows)
    if whole:
        # Integers lie on every grid of step 1 or finer: rounding costs nothing there.
        exponent = 0
    if largest > 0:
        # One step is left for the rounding of the end points.
        exponent = max(exponent, _floor_log2(largest * rows / (LARGEST // 2)) + 1)
    return Grid(max(_LEAST_EXPONENT, min(_LARGEST_EXPONENT, exponent)))


def row_steps(bounds: tuple[int, int], neighbours: Neighbours = "add_remove") -> int:
    """How far one row can move a sum, in steps; `bounds` are the rounded, clamped end points.
    Raises InvalidParameter for bounds whose low end is above the high one."""
    low, high = bounds
    if low > high:
        raise InvalidParameter("bounds", expected="low <= high", found=bounds)
    return max(0, high) - min(0, low) if neighbours == "replace" else max(abs(low), abs(high))


def sum_steps(values: npt.NDArray[Any], grid: Grid, bounds: tuple[Number, Number]) -> int:
    """The exact sum, in steps, of the clamped and rounded values. NaN counts as a missing value: it adds 0.
    values: (n,) floats, at most 2^31 of them.  bounds: (low, high), in units of the values, within 2^61 steps; raises
    InvalidParameter beyond."""
    low, high = grid.to_steps(bounds[0]), grid.to_steps(bounds[1])
    steps = _to_steps(values, grid, low, high)
    # Two halves of 32 bits: each sum is exact in int64 for up to 2^31 rows.
    return (int((steps >> 32).sum(dtype=np.int64)) << 32) + int((steps & 0xFFFFFFFF).sum(dtype=np.int64))


@dataclass(frozen=True)
class SumEstimate:
    """A noisy sum with an interval that holds the clamped sum with at least `confidence`."""

    value: float
    low: float
    high: float
    confidence: float
    grid: Grid
    release: Release

    @property
    def price(self) -> Price:
        return self.release.price


def laplace_sum(
    values: Values,
    *,
    bounds: tuple[Number, Number],
    epsilon: Number,
    max_rows_per_unit: int = 1,
    neighbours: Neighbours = "add_remove",
    most_rows: int = 2**24,
    confidence: float = 0.95,
    entropy: Entropy | None = None,
) -> SumEstimate:
    """An epsilon-DP sum of floats, each clamped to `bounds`.
    values: (n,) floats; NaN counts as missing.  bounds: public, low <= high, not both 0.  epsilon: nats, > 0.
    Precondition: one unit holds at most `max_rows_per_unit` of the rows.
    most_rows: a public maximum that sets how fine the grid is; more rows stay private, with more rounding than the
    interval allows for.  Raises InvalidParameter outside these."""
    low, high = exact(bounds[0], "bounds"), exact(bounds[1], "bounds")
    if low > high or low == high == 0:
        raise InvalidParameter("bounds", expected="low <= high, not both 0", found=bounds)
    price = positive(epsilon, "epsilon")
    reach = max(high, Fraction(0)) - min(low, Fraction(0)) if neighbours == "replace" else max(abs(low), abs(high))
    grid = choose_grid(low, high, max_rows_per_unit * reach / price, most_rows)
    sensitivity = max_rows_per_unit * row_steps((grid.to_steps(low), grid.to_steps(high)), neighbours)
    total = sum_steps(opened(values), grid, (low, high))
    release = laplace(total, sensitivity=sensitivity, epsilon=price, entropy=entropy)
    centre, half = int(release.values), release.half_width(confidence)
    # The interval is for the clamped sum, so rounding of most_rows values widens it.
    slack = grid.rounding_bound(most_rows)
    ends = (grid.value(centre - half) - slack, grid.value(centre + half) + slack)
    return SumEstimate(float(grid.value(centre)), float(ends[0]), float(ends[1]), confidence, grid, release)


def _to_steps(values: npt.NDArray[Any], grid: Grid, low: int, high: int) -> Integers:
    if not -LARGEST <= low <= high <= LARGEST:
        raise InvalidParameter("bounds", expected="within 2^61 steps of the grid", found=(low, high))
    floats = np.asarray(values, dtype=np.float64)
    missing = np.isnan(floats)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.floor(np.ldexp(np.where(missing, 0.0, floats), -grid.exponent) + 0.5)
    inside = np.clip(scaled, float(-LARGEST), float(LARGEST)).astype(np.int64)
    return np.where(missing, 0, np.clip(inside, low, high))


def _floor_log2(value: Fraction) -> int:
    """The largest k with 2^k <= value, for value > 0."""
    k = value.numerator.bit_length() - value.denominator.bit_length()
    return k if Fraction(2) ** k <= value else k - 1
