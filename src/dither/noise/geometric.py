"""The geometric law, and the two-sided geometric tails that it shares with the discrete Laplace law.

Flow: `laplace` builds on `geometric_table`; mechanisms use `geometric` for one-sided noise.
Relies on: `lazy`, `split`. P(k) = (1 - p) p^k for k >= 0, p = exp(-1 / scale).
Proof: docs/proofs/noise/discrete-laplace.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import overload

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.noise.bounds import exp_neg
from dither.noise.draw import Sampler
from dither.noise.entropy import Entropy
from dither.noise.lazy import LazyTable, Tails
from dither.noise.split import SplitTable

__all__ = ["LARGEST_SCALE", "geometric", "geometric_table", "scale_of"]

LARGEST_SCALE = 2**56
"""P(|X| > 2^62) is below exp(-64) up to here; larger scales would mostly draw the saturated value, and are refused."""

_WIDEST_TABLE = 128
"""Scales up to here (in blocks) are drawn from one table of 64-bit cuts, 45 x scale on each side."""

_GUARD = 48
"""Spare bits while tails are multiplied up: their error grows by one unit a step, over less than 2^20 steps."""

Ints = NDArray[np.int64]


@overload
def geometric(scale: Number, size: None = None, *, entropy: Entropy | None = None) -> int: ...
@overload
def geometric(scale: Number, size: int, *, entropy: Entropy | None = None) -> Ints: ...
def geometric(scale: Number, size: int | None = None, *, entropy: Entropy | None = None) -> int | Ints:
    """Exact draws of P(k) = (1-p) p^k, k >= 0, p = exp(-1/scale): an int, or an int64 array of `size`.
    scale: in steps, above 0, at most 2^56; a float means its shortest decimal. Draws beyond 2^62 become 2^62."""
    return _sampler(scale_of(scale)).draw(size, entropy)


def scale_of(scale: Number) -> Fraction:
    """`scale` as an exact rational in (0, 2^56]; raises InvalidParameter outside."""
    exact_scale = positive(scale, "scale")
    if exact_scale > LARGEST_SCALE:
        raise InvalidParameter("scale", expected="at most 2^56 steps", found=scale)
    return exact_scale


def geometric_table(scale: Fraction, *, two_sided: bool) -> LazyTable | SplitTable:
    """Exact sampler of P(k) = (1-p) p^k, k >= 0, or of the two-sided P(k) = (1-p)/(1+p) p^|k|; p = exp(-1/scale)."""
    shift = max(0, math.ceil(scale / _WIDEST_TABLE) - 1).bit_length()
    table = LazyTable(lambda bits: geometric_tails(scale, 1 << shift, bits, two_sided=two_sided))
    return table if shift == 0 else SplitTable(table, shift, _Inside(scale, 1 << shift))


def geometric_tails(scale: Fraction, block: int, bits: int, *, two_sided: bool) -> Tails:
    """Tails of Q = floor(X / block), X two-sided geometric (with p = exp(-1/scale)) or geometric:
    P(Q > q) = c exp(-block (q+1) / scale) and, two-sided, P(Q <= -1-q) = c exp(-(1 + block q) / scale);
    c = 1 / (1+p) two-sided, else 1."""
    work = bits + _GUARD
    ratio = exp_neg(block / scale, work)
    if not two_sided:
        return Tails(bits, [], [], *_falling(ratio, ratio, bits))
    p_low, p_high = exp_neg(1 / scale, work)
    one = 1 << work
    first_right = (ratio[0] << work) // (one + p_high), (ratio[1] << work) // (one + p_low) + 1
    right = _falling(first_right, ratio, bits)
    if block == 1:
        return Tails(bits, *right, *right)
    first_left = (p_low << work) // (one + p_high), (p_high << work) // (one + p_low) + 1
    return Tails(bits, *_falling(first_left, ratio, bits), *right)


def _falling(first: tuple[int, int], ratio: tuple[int, int], bits: int) -> tuple[list[int], list[int]]:
    """Enclosures at 2^bits of first, first ratio, first ratio^2, ... down to a low of 0; the arguments have _GUARD
    more bits."""
    work = bits + _GUARD
    (low, high), (ratio_low, ratio_high) = first, ratio
    lows, highs = [low >> _GUARD], [(high >> _GUARD) + 1]
    while lows[-1]:
        low = low * ratio_low >> work
        high = (high * ratio_high >> work) + 1
        lows.append(low >> _GUARD)
        highs.append((high >> _GUARD) + 1)
    return lows, highs


@lru_cache(maxsize=32)
def _sampler(scale: Fraction) -> Sampler:
    return Sampler(geometric_table(scale, two_sided=False))


@dataclass(frozen=True)
class _Inside:
    """Inside a block of `block` outcomes the weight falls by exp(-r / scale), the same in every block."""

    scale: Fraction
    block: int
    mirrored = False

    def cap(self, q: int) -> Fraction:
        return self.block / self.scale

    def approximately(self, q: Ints, r: Ints) -> NDArray[np.float64]:
        return r.astype(np.float64) * float(1 / self.scale)

    def exactly(self, q: int, r: int) -> Fraction:
        return r / self.scale
