"""The normalised square root of the running total: noise put half-way, between two inverse differences of order 1/2.

Flow: counts in, exact integers C x out to the Gaussian mechanism, noisy integers back in, totals out.
A = ∇^-1 = B C with C = T diag(w): T Toeplitz with the coefficients of ∇^(-1/2), w making all columns equally long. Both
are rounded to whole multiples of 2^-12, T and w each by itself: so C x is a whole number, a convolution of T with w x,
and the column norms are those of the rounded C, exactly. B = A C^-1 works in floating point, after the noise.
Relies on: `exact_convolution` before the noise, `toeplitz` and `gains` after it.
Sources: Fichtenberger, Henzinger and Upadhyay 2023 (square root); Henzinger, Kalinin and Upadhyay 2025 (normalised).
Proof: docs/proofs/mechanisms/running-square-root.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from dither.differences import fractional_coefficients
from dither.errors import GuaranteeError, InvalidParameter
from dither.mechanisms.release import LARGEST, Integers
from dither.mechanisms.running.exact_convolution import ExactKernel
from dither.mechanisms.running.gains import row_norms_squared
from dither.mechanisms.running.toeplitz import Filter, series_inverse

__all__ = ["SquareRoot", "square_root", "square_root_for"]

Floats = NDArray[np.float64]

KERNEL_BITS = 12
WEIGHT_BITS = 12
_FEWEST_WEIGHT_BITS = 8
"""With 8 bits the largest variance is 2 % above that with 12; below, rounding shows."""

_FREE = 2048
_PIECES_PER_OCTAVE = 4
"""The last 2048 weights are free; before them, weights are equal within a quarter of an octave counted from the end.
It costs under 1 % of variance, and makes the variances of all totals computable."""

LONGEST = 2**22
"""Positions, at most: memory, at 70 bytes each, and seconds."""


class SquareRoot:
    """One factorization of the running total of n numbers, made once and shared. Units: C in steps of
    2^-(12 + weight_bits), noise in these steps, totals in counts."""

    name = "normalised square root"

    def __init__(self, n: int, weight_bits: int) -> None:
        exact_series = fractional_coefficients("-1/2", n)
        self.n = n
        kernel = np.rint(np.ldexp(exact_series, KERNEL_BITS)).astype(np.int64)
        self.weights = _weights(exact_series, weight_bits)
        self.kernel = kernel
        self._product = ExactKernel(kernel)
        column_squares = self.weights**2 * np.cumsum(kernel * kernel)[::-1]
        self.column_squared = int(column_squares.max())
        """The largest squared length of a column of C, exactly, in squared steps."""
        # Weights rise along the columns and nothing is negative: the last row of C has the largest sum.
        self.largest_count = LARGEST // int(np.dot(kernel, self.weights[::-1]))
        """With counts up to this no coordinate of C x leaves +-2^61."""
        self._inverse = Filter(series_inverse(kernel.astype(np.float64)))
        self._unweigh = 1.0 / self.weights

    def measure(self, counts: Integers, largest: int) -> Integers:
        """C x, exactly. counts: (n,) int64 within +-largest, largest <= self.largest_count."""
        if largest > self.largest_count:
            raise GuaranteeError("Counts were too large for an exact product.")
        return self._product.convolve(self.weights * counts, largest * int(self.weights.max()))

    def column(self, position: int, rows: int) -> list[int]:
        """The first `rows` entries of a column of C from its diagonal down: what one count adds, to its own position
        and to those after it."""
        entries: list[int] = (self.kernel[:rows] * self.weights[position]).tolist()
        return entries

    def next_count(self, noisy: int, before: Sequence[float]) -> float:
        """The count at position len(before), estimated from its noisy coordinate and the estimates before it: a row of
        C u = y, solved for its last unknown. Counts and totals so found are those of `totals`, up to rounding."""
        position = len(before)
        earlier = np.dot(self.kernel[position:0:-1].astype(np.float64), self.weights[:position] * np.asarray(before))
        return float((_finite(noisy) - earlier) / (float(self.kernel[0]) * float(self.weights[position])))

    def totals(self, noisy: Integers) -> Floats:
        """B y = A diag(1/w) T^-1 y: the running totals, unbiased, in counts."""
        return np.cumsum(self._inverse.apply(noisy.astype(np.float64)) * self._unweigh)

    @cached_property
    def gains(self) -> Floats:
        """(n,) float64: the variance of each total, in squared counts, per unit of noise variance in squared steps."""
        return row_norms_squared(self._unweigh, self._inverse.series, max(0, self.n - _FREE))

    @cached_property
    def step_gains(self) -> Floats:
        """(n,) float64: the same for each single count: a row of C^-1."""
        series = self._inverse.series
        return np.cumsum(series * series) * self._unweigh**2

    def gain_between(self, first: int, last: int) -> float:
        """The same for the sum of counts first..last."""
        steps = np.zeros(self.n)
        steps[first : last + 1] = self._unweigh[first : last + 1]
        row = self._inverse.apply_transposed(steps)
        return float(np.dot(row, row))


@lru_cache(maxsize=4)
def square_root(n: int, weight_bits: int = WEIGHT_BITS) -> SquareRoot:
    """The factorization for n numbers, n >= 1; about 70 bytes a number are kept for the four lengths used last."""
    if not 1 <= n <= LONGEST:
        raise InvalidParameter("counts", expected=f"1 to {LONGEST:,} positions", found=n)
    return SquareRoot(n, weight_bits)


def square_root_for(n: int, largest: int) -> SquareRoot:
    """The finest factorization whose products fit for counts up to `largest`, a public bound."""
    finest = square_root(n)
    if largest <= finest.largest_count:
        return finest
    missing = max(1, (largest // finest.largest_count).bit_length())
    for bits in range(WEIGHT_BITS - missing, _FEWEST_WEIGHT_BITS - 1, -1):
        coarser = square_root(n, bits)
        if largest <= coarser.largest_count:
            return coarser
    limit = square_root(n, _FEWEST_WEIGHT_BITS).largest_count
    raise InvalidParameter("largest_count", expected=f"at most {limit:,} for {n:,} positions", found=largest)


def _weights(series: Floats, bits: int) -> Integers:
    """(n,) int64: 1 over the length of each column of ∇^(-1/2), in multiples of 2^-bits.

    Column j has n - j entries. Within a piece all have the weight of the longest, so none gets longer than 1."""
    n = len(series)
    ends = [min(n, _FREE)]
    while ends[-1] < n:
        ends.append(min(n, math.floor(_FREE * 2.0 ** (len(ends) / _PIECES_PER_OCTAVE))))
    longest = np.concatenate([np.arange(1, ends[0] + 1), np.repeat(np.array(ends[1:], dtype=np.int64), np.diff(ends))])
    lengths = np.sqrt(np.cumsum(series * series))[longest - 1]
    weights: Integers = np.rint(np.ldexp(1.0 / lengths[::-1], bits)).astype(np.int64)
    return weights


def _finite(noisy: int) -> float:
    """As a float; what no float can hold becomes a very large one."""
    largest = 1 << 900
    return float(max(-largest, min(largest, noisy)))
