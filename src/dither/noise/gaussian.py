"""The discrete Gaussian law: zCDP noise on integers.

Flow: mechanisms add `discrete_gaussian` to integer answers; intervals and audits ask `DiscreteGaussian` for numbers.
Relies on: `gaussian_sums` for tails and coverage, `lazy` and `split` for exact draws.
P(k) proportional to exp(-k^2 / (2 variance)), variance in squared steps of the grid: for integer vectors at
differences d_i, adding it to each coordinate is rho-zCDP with rho = sum of d_i^2 / (2 variance), exactly.
Source: Canonne, Kamath, Steinke 2020 (arXiv 2004.00010).  Proof: docs/proofs/noise/discrete-gaussian.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import overload

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.noise.draw import Sampler
from dither.noise.entropy import Entropy
from dither.noise.gaussian_sums import gaussian_pmf_bounds, gaussian_tail_bounds, gaussian_tails
from dither.noise.interval import Bounds, confidence_of, float_below
from dither.noise.lazy import LazyTable
from dither.noise.split import SplitTable

__all__ = ["DiscreteGaussian", "discrete_gaussian", "gaussian_table"]

LARGEST_VARIANCE = 2**112
"""sigma up to 2^56: P(|X| > 2^62) is below exp(-2000)."""

_WIDEST_TABLE = 1024
"""sigma (in blocks) up to here is drawn from one table of 64-bit cuts, 9.5 sigma on each side."""

_MOST_BITS = 2048

Ints = NDArray[np.int64]


@overload
def discrete_gaussian(variance: Number, size: None = None, *, entropy: Entropy | None = None) -> int: ...
@overload
def discrete_gaussian(variance: Number, size: int, *, entropy: Entropy | None = None) -> Ints: ...
def discrete_gaussian(variance: Number, size: int | None = None, *, entropy: Entropy | None = None) -> int | Ints:
    """Exact draws of P(k) proportional to exp(-k^2 / (2 variance)): an int, or an int64 array of `size`.
    variance: in squared steps, above 0, at most 2^112; a float means its shortest decimal. Draws beyond +-2^62
    become +-2^62."""
    return _sampler(_variance(variance)).draw(size, entropy)


@dataclass(frozen=True, init=False)
class DiscreteGaussian:
    """P(X = k) proportional to exp(-k^2 / (2 sigma2)); `sigma2` is the parameter, `variance()` the law's own
    variance, which is a little smaller below sigma2 = 1."""

    sigma2: Fraction

    def __init__(self, variance: Number) -> None:
        object.__setattr__(self, "sigma2", variance_of(variance))

    @overload
    def sample(self, size: None = None, *, entropy: Entropy | None = None) -> int: ...
    @overload
    def sample(self, size: int, *, entropy: Entropy | None = None) -> Ints: ...
    def sample(self, size: int | None = None, *, entropy: Entropy | None = None) -> int | Ints:
        """Exact draws, as `discrete_gaussian`."""
        return _sampler(self.sigma2).draw(size, entropy)

    def variance(self) -> float:
        """The sum of k^2 P(k), to float accuracy; it is sigma2 up to exp(-2 pi^2 sigma2) (Poisson summation)."""
        if self.sigma2 >= 9:
            return float(self.sigma2)
        inverse = float(min(1 / self.sigma2, Fraction(10_000)))  # beyond that no other weight is left in floats
        weights = [math.exp(-0.5 * k * k * inverse) for k in range(1, 128)]
        return 2 * sum(k * k * w for k, w in enumerate(weights, 1)) / (1 + 2 * sum(weights))

    def half_width(self, confidence: Number) -> int:
        """The least h with P(|X| <= h) >= confidence; certified. confidence: in [0, 1)."""
        miss = 1 - confidence_of(confidence)
        guess = -NormalDist().inv_cdf(max(float(miss), 1e-300) / 2) * math.sqrt(self.sigma2)
        low, high = -1, max(math.ceil(guess), 0)
        step = 1
        while not self._covers(high, miss):
            low, high, step = high, high + step, 2 * step
        step = 1
        while high - step > low and self._covers(high - step, miss):
            high, step = high - step, 2 * step
        low = max(low, high - step)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._covers(middle, miss) else (middle, high)
        return high

    def coverage(self, half_width: int) -> float:
        """P(|X| <= half_width), rounded down."""
        return 0.0 if half_width < 0 else float_below(1 - gaussian_tail_bounds(self.sigma2, half_width, 192)[1])

    def pmf_bounds(self, k: int) -> Bounds:
        """Rationals low <= P(X = k) <= high; relative width below 2^-60 while P(X = k) > 2^-1500."""
        return gaussian_pmf_bounds(self.sigma2, k)

    def _covers(self, half_width: int, miss: Fraction) -> bool:
        """P(|X| > half_width) <= miss. Undecided even at the last precision counts as no: the wider interval."""
        bits = 128 + miss.denominator.bit_length()
        while True:
            low, high = gaussian_tail_bounds(self.sigma2, half_width, bits)
            if high <= miss or low > miss or bits > _MOST_BITS:
                return high <= miss
            bits *= 4


def variance_of(variance: Number) -> Fraction:
    """`variance` as an exact rational in (0, 2^112]; raises InvalidParameter outside."""
    exact_variance = positive(variance, "variance")
    if exact_variance > LARGEST_VARIANCE:
        raise InvalidParameter("variance", expected="at most 2^112 squared steps", found=variance)
    return exact_variance


def gaussian_table(sigma2: Fraction) -> LazyTable | SplitTable:
    """Exact sampler of P(k) proportional to exp(-k^2 / (2 sigma2)), k in the integers."""
    shift = 0
    while sigma2 > _WIDEST_TABLE**2 * 4**shift:
        shift += 1
    if shift == 0:
        return LazyTable(lambda bits: gaussian_tails(sigma2, bits))
    return split_table(sigma2, shift)


def split_table(sigma2: Fraction, shift: int) -> SplitTable:
    """The same law over blocks of 2^shift outcomes: blocks with weight exp(-(2^shift q)^2 / (2 sigma2)), q >= 0 the
    block counted outwards on either side."""
    blocks = LazyTable(lambda bits: gaussian_tails(sigma2 / 4**shift, bits, halves=True))
    return SplitTable(blocks, shift, _Inside(sigma2, 1 << shift))


@dataclass(frozen=True)
class _Inside:
    """|X| = block q + r, so the exponent gained inside block q is ((block q + r)^2 - (block q)^2) / (2 sigma2).
    Below zero |X| = block q + offset + 1: the law is mirrored."""

    sigma2: Fraction
    block: int
    mirrored = True

    def cap(self, q: int) -> Fraction:
        return Fraction((2 * q + 1) * self.block**2) / (2 * self.sigma2)

    def approximately(self, q: Ints, r: Ints) -> NDArray[np.float64]:
        distance = r.astype(np.float64)
        return (q * (2.0 * self.block) + distance) * distance * float(1 / (2 * self.sigma2))

    def exactly(self, q: int, r: int) -> Fraction:
        return Fraction((2 * self.block * q + r) * r) / (2 * self.sigma2)


@lru_cache(maxsize=256, typed=True)
def _variance(variance: Number) -> Fraction:
    return variance_of(variance)


@lru_cache(maxsize=32)
def _sampler(sigma2: Fraction) -> Sampler:
    return Sampler(gaussian_table(sigma2))
