"""The discrete Laplace law (two-sided geometric): pure epsilon-DP noise on integers.

Flow: mechanisms add `discrete_laplace` to integer answers; intervals and audits ask `DiscreteLaplace` for its numbers.
Relies on: `geometric` for tails and tables. P(k) = (1-p)/(1+p) p^|k|, p = exp(-1/scale), scale in steps of the grid:
for integer vectors at L1 distance d, adding it to each coordinate is (d / scale)-DP, exactly.
Source: Ghosh, Roughgarden, Sundararajan 2009.  Proof: docs/proofs/noise/discrete-laplace.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import overload

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number
from dither.noise.bounds import exp_neg, log_bounds
from dither.noise.draw import Sampler
from dither.noise.entropy import Entropy
from dither.noise.geometric import geometric_table, scale_of
from dither.noise.interval import Bounds, confidence_of, float_below

__all__ = ["DiscreteLaplace", "discrete_laplace"]

Ints = NDArray[np.int64]

_MOST_BITS = 4096


@overload
def discrete_laplace(scale: Number, size: None = None, *, entropy: Entropy | None = None) -> int: ...
@overload
def discrete_laplace(scale: Number, size: int, *, entropy: Entropy | None = None) -> Ints: ...
def discrete_laplace(scale: Number, size: int | None = None, *, entropy: Entropy | None = None) -> int | Ints:
    """Exact draws of P(k) = (1-p)/(1+p) p^|k|, p = exp(-1/scale): an int, or an int64 array of `size`.
    scale: in steps, above 0, at most 2^56; a float means its shortest decimal. Draws beyond +-2^62 become +-2^62."""
    return _sampler(_scale(scale)).draw(size, entropy)


@dataclass(frozen=True, init=False)
class DiscreteLaplace:
    """P(X = k) = (1-p)/(1+p) p^|k|, p = exp(-1/scale)."""

    scale: Fraction

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", scale_of(scale))

    @overload
    def sample(self, size: None = None, *, entropy: Entropy | None = None) -> int: ...
    @overload
    def sample(self, size: int, *, entropy: Entropy | None = None) -> Ints: ...
    def sample(self, size: int | None = None, *, entropy: Entropy | None = None) -> int | Ints:
        """Exact draws, as `discrete_laplace`."""
        return _sampler(self.scale).draw(size, entropy)

    def variance(self) -> float:
        """2p / (1-p)^2, to float accuracy."""
        x = float(min(1 / self.scale, Fraction(10_000)))  # beyond that it is zero in floats
        return 2.0 * math.exp(-x) / math.expm1(-x) ** 2

    def half_width(self, confidence: Number) -> int:
        """The least h with P(|X| <= h) >= confidence; certified. confidence: in [0, 1).
        P(|X| > h) = 2 p^(h+1) / (1+p) <= 1 - confidence is (h+1) / scale >= ln(2 / ((1+p) (1-confidence)))."""
        miss = 1 - confidence_of(confidence)
        bits = 64 + math.ceil(self.scale).bit_length()
        while True:
            p_low, p_high = self._p(bits)
            low = math.ceil(self.scale * log_bounds(2 / ((1 + p_high) * miss), bits)[0])
            high = math.ceil(self.scale * log_bounds(2 / ((1 + p_low) * miss), bits)[1])
            # Equality would be an equation in p with rational coefficients; p is transcendental: more bits settle it.
            if low == high or bits > _MOST_BITS:
                return max(high - 1, 0)
            bits *= 2

    def coverage(self, half_width: int) -> float:
        """P(|X| <= half_width), rounded down."""
        if half_width < 0:
            return 0.0
        x = (half_width + 1) / self.scale
        bits = 128
        p_low = self._p(bits)[0]
        return float_below(1 - 2 * Fraction(exp_neg(x, bits)[1], 1 << bits) / (1 + p_low))

    def pmf_bounds(self, k: int) -> Bounds:
        """Rationals low <= P(X = k) <= high; relative width below 2^-60 while P(X = k) > 2^-2000."""
        x = abs(k) / self.scale
        bits = 96 + 2 * math.ceil(self.scale).bit_length() + min(math.ceil(x * 3 / 2), _MOST_BITS)
        p_low, p_high = self._p(bits)
        low, high = (Fraction(end, 1 << bits) for end in exp_neg(x, bits))
        return (1 - p_high) / (1 + p_high) * low, min((1 - p_low) / (1 + p_low) * high, Fraction(1))

    def _p(self, bits: int) -> Bounds:
        low, high = exp_neg(1 / self.scale, bits)
        return Fraction(low, 1 << bits), Fraction(high, 1 << bits)


# Keyed by type too: 0.1 and Fraction(0.1) are equal in Python, and mean different scales here.
@lru_cache(maxsize=256, typed=True)
def _scale(scale: Number) -> Fraction:
    return scale_of(scale)


@lru_cache(maxsize=32)
def _sampler(scale: Fraction) -> Sampler:
    return Sampler(geometric_table(scale, two_sided=True))
