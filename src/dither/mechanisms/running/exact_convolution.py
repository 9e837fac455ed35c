"""Exact integer convolutions with zero history, fast: the private side of a running total, before the noise.

Flow: `square_root` multiplies clamped counts by an integer Toeplitz matrix here; the result gets exact noise.
Relies on: a float FFT whose rounding error is below 1/2 before any data is seen, by a bound proved for NumPy's
transforms of lengths 2^a, 3 * 2^a and 5 * 2^a. Values are cut into balanced limbs of 15 bits, so that each product is
small enough; how many limbs depends on the public maximum alone, and so does the time.
Sources: C. Percival, Math. Comp. 72 (2003); Brent, Percival and Zimmermann, Math. Comp. 76 (2007).
Proof: docs/proofs/mechanisms/running-exact-convolution.md
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dither.errors import GuaranteeError, InvalidParameter
from dither.mechanisms.release import Integers
from dither.mechanisms.running.toeplitz import fast_length

__all__ = ["ExactKernel", "limbs_for", "rounding_bound"]

LIMB_BITS = 15
_SHORT = 64
"""Up to this length products are summed directly in integers."""


class ExactKernel:
    """Convolution with non-negative integers kernel[0], kernel[1], ...: y_t = sum over j <= t of kernel[t-j] x_j."""

    def __init__(self, kernel: Integers) -> None:
        self.kernel = kernel
        self.n = len(kernel)
        self._size = fast_length(2 * self.n)
        norm_squared = int(np.dot(kernel, kernel))
        bound = rounding_bound(norm_squared, self.n, self._size)
        if self.n > _SHORT and bound >= 0.25:
            raise InvalidParameter("n", expected="a length whose products can be rounded safely", found=self.n)
        self._spectrum = None if self.n <= _SHORT else np.fft.rfft(kernel.astype(np.float64), self._size)

    def convolve(self, values: Integers, largest: int) -> Integers:
        """The convolution, exactly, modulo 2^64: the caller sees to it that the true one fits in int64.
        values: (n,) int64 in [-largest, largest], a public bound."""
        if self._spectrum is None:
            return np.convolve(self.kernel, values)[: self.n]
        result = np.zeros(self.n, dtype=np.int64)
        rest = values
        for place in range(limbs_for(largest)):
            # A balanced limb: the low bits read as -2^14 .. 2^14 - 1; the rest is what is left, exactly divisible.
            limb = ((rest + (1 << (LIMB_BITS - 1))) & ((1 << LIMB_BITS) - 1)) - (1 << (LIMB_BITS - 1))
            rest = (rest - limb) >> LIMB_BITS
            result += self._limb_product(limb, self._spectrum) << (LIMB_BITS * place)
        return result

    def _limb_product(self, limb: Integers, spectrum: NDArray[np.complex128]) -> Integers:
        transformed = np.fft.rfft(limb.astype(np.float64), self._size)
        transformed *= spectrum
        product = np.fft.irfft(transformed, self._size)[: self.n]
        nearest = np.rint(product)
        # Proved impossible; a broken FFT must not decide a private integer.
        if np.abs(product - nearest, out=product).max() > 0.25:
            raise GuaranteeError("An integer convolution was not within 1/4 of whole numbers.")
        return nearest.astype(np.int64)


def limbs_for(largest: int) -> int:
    """The least number of balanced limbs that hold every integer in [-largest, largest]."""
    count = 1
    while largest > (2 ** (LIMB_BITS - 1) - 1) * (2 ** (LIMB_BITS * count) - 1) // (2**LIMB_BITS - 1):
        count += 1
    return count


def rounding_bound(kernel_norm_squared: int, n: int, size: int) -> float:
    """How far from the true integer any value of one limb's product can be.

    (30 log2 size + 200) u |kernel| |limb|, u = 2^-53, |limb| <= 2^14 sqrt(n): the note's bound for two transforms, a
    product and a transform back, rounded up."""
    roundings = 30 * math.log2(size) + 200
    return roundings * 2.0**-53 * math.sqrt(kernel_norm_squared) * 2.0 ** (LIMB_BITS - 1) * math.sqrt(n)
