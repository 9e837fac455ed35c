"""Floating-point convolutions with zero history: the public side of a running total, after the noise.

Flow: `square_root` inverts its kernel and turns noisy integers into totals; `gains` adds up variances.
Relies on: NumPy's FFT. Nothing here touches a value before its noise, so rounding here costs accuracy only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Filter", "fast_length", "series_inverse"]

Floats = NDArray[np.float64]


def fast_length(least: int) -> int:
    """The smallest of 2^a, 3 * 2^a and 5 * 2^a that is >= least: lengths with short, accurate transforms."""
    power = 1 << max(least - 1, 0).bit_length()
    return min(size for size in (power, power // 8 * 5, power // 4 * 3) if size >= least)


class Filter:
    """The lower-triangular Toeplitz matrix M[t, j] = series[t-j], with its spectrum kept."""

    def __init__(self, series: Floats) -> None:
        self.series = series
        self.n = len(series)
        self._size = fast_length(2 * self.n)
        self._spectrum = np.fft.rfft(series, self._size)

    def apply(self, values: Floats) -> Floats:
        """M values, for (n,) or shorter values."""
        product = np.fft.irfft(np.fft.rfft(values, self._size) * self._spectrum, self._size)
        return product[: self.n]

    def apply_transposed(self, values: Floats) -> Floats:
        """M' values: y_k = sum over j >= k of series[j-k] values[j]."""
        product = np.fft.irfft(np.fft.rfft(values, self._size) * np.conj(self._spectrum), self._size)
        return product[: self.n]


def series_inverse(series: Floats) -> Floats:
    """The first n coefficients of 1 / (series[0] + series[1] z + ...), by Newton's iteration r <- r (2 - series r).

    From m right coefficients to 2m. The cyclic products of length >= 2m wrap only onto the first m - 1 places, where
    series * r is known to be 1, 0, 0, ...: so no longer transform is needed."""
    n = len(series)
    inverse = np.array([1.0 / series[0]])
    while len(inverse) < n:
        done, more = len(inverse), min(2 * len(inverse), n)
        size = fast_length(more)
        spectrum = np.fft.rfft(inverse, size)
        error = np.fft.irfft(np.fft.rfft(series[:more], size) * spectrum, size)
        error[:done] = 0.0
        error[more:] = 0.0
        correction = np.fft.irfft(np.fft.rfft(error, size) * spectrum, size)[done:more]
        inverse = np.concatenate([inverse, -correction])
    return inverse
