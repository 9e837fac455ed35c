"""Exact draws of wide laws: a table over blocks of 2^m outcomes, uniform bits inside the block, a rare refusal.

Flow: `laplace`, `geometric` and `gaussian` use it when one table would be too long; it draws blocks from a `LazyTable`.
Relies on: a law that falls away from the start of its block (seen from zero), so that exp(-gamma), gamma >= 0 the
exponent gained inside the block, is a probability. Blocks are narrow against the scale, so gamma is small, and most
draws are accepted after one integer comparison of 16 bits.  Proof: docs/proofs/noise/lazy-inverse-cdf.md, part 4
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dither.noise.bounds import exp_neg
from dither.noise.entropy import Entropy, words16, words64
from dither.noise.lazy import CHUNK, LazyTable, lazily_below

__all__ = ["LARGEST", "Inside", "SplitTable"]

LARGEST = 2**62
"""Outcomes beyond +-2^62 are drawn as +-2^62. Invisible, hence free, where the noise is added to |v| <= 2^61 and the
answer is saturated to +-2^61: sat(v + clamp(X)) = sat(v + X). See part 4 of the proof note."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Inside(Protocol):
    """The exponent gamma(q, r) of a law in its block: q >= 0 the block counted from zero outwards, r the distance
    from the inner end of block q as the law sees it: offset, or offset + 1 on the negative side if `mirrored`."""

    mirrored: bool

    def cap(self, q: int) -> Fraction:
        """At least every gamma(q', r) with q' <= q."""

    def approximately(self, q: Ints, r: Ints) -> Floats:
        """gamma by +, * and one correctly rounded constant: relative error below 2^-48."""

    def exactly(self, q: int, r: int) -> Fraction: ...


class SplitTable:
    """Sampler of X = 2^shift Q + L for Q >= 0, and of its mirror -1 - (2^shift (-1-Q) + L) for Q < 0.

    margin: half-width of the band in which the float filter leaves the decision to integers; larger in tests."""

    def __init__(self, blocks: LazyTable, shift: int, inside: Inside, *, margin: float = 2.0**-40) -> None:
        self._blocks = blocks
        self._shift = shift
        self._inside = inside
        self._margin = margin

    def draw(self, size: int, entropy: Entropy) -> Ints:
        """`size` independent draws, int64, within +-2^62: each the first accepted of its proposals."""
        drawn = np.empty(size, dtype=np.int64)
        refused = self._propose_all(drawn, entropy)
        while refused.size:
            again = np.empty(refused.size, dtype=np.int64)
            refused_again = self._propose_all(again, entropy)
            drawn[refused] = again
            refused = refused[refused_again]
        return drawn

    def _propose_all(self, out: Ints, entropy: Entropy) -> Ints:
        starts = range(0, out.size, CHUNK)
        refused = [start + self._propose(out[start : start + CHUNK], entropy) for start in starts]
        return np.concatenate(refused) if refused else np.empty(0, dtype=np.int64)

    def _propose(self, out: Ints, entropy: Entropy) -> Ints:
        """Fill `out` with proposals; returns the positions of those refused."""
        self._blocks.fill(out, entropy)
        side = out >> np.int64(63)  # -1 below zero, else 0
        furthest = max(int(out.max()), -1 - int(out.min()))
        offset = self._offsets(out.size, entropy)
        prefix = words16(entropy, out.size)
        suspects = self._suspects(prefix, furthest)
        below = side[suspects]
        r = offset[suspects] - below if self._inside.mirrored else offset[suspects]
        refused = suspects[self._refusals(out[suspects] ^ below, r, prefix[suspects], entropy)]
        self._assemble(out, side, offset, furthest)
        return refused

    def _offsets(self, size: int, entropy: Entropy) -> Ints:
        if self._shift <= 16:
            return (words16(entropy, size) >> np.uint16(16 - self._shift)).astype(np.int64)
        return (words64(entropy, size) >> np.uint64(64 - self._shift)).astype(np.int64)

    def _suspects(self, prefix: NDArray[np.uint16], furthest: int) -> Ints:
        """Positions that may be refused. Refusal has probability 1 - exp(-gamma) <= gamma <= cap, and happens when a
        uniform is below it: not when that uniform's first 16 bits are already above."""
        limit = math.ceil(self._inside.cap(furthest) * 2**16)
        if limit >= 2**16:
            return np.arange(prefix.size)
        return np.flatnonzero(prefix < np.uint16(limit))

    def _refusals(self, q: Ints, r: Ints, prefix: NDArray[np.uint16], entropy: Entropy) -> NDArray[np.bool_]:
        """Whether the uniforms that start with `prefix` are below 1 - exp(-gamma(q, r)), decided exactly."""
        word = (prefix.astype(np.uint64) << np.uint64(48)) | (words64(entropy, prefix.size) >> np.uint64(16))
        gamma = self._inside.approximately(q, r)
        gap = word.astype(np.float64) * 2.0**-64 - _one_minus_exp_neg(gamma)
        refused = gap < 0
        # Only a gap wider than any rounding of these lines counts; the others, about 1 in 2^39, go to integers.
        for index in np.flatnonzero((np.abs(gap) <= self._margin) | (gamma > 0.25)):
            exponent = self._inside.exactly(int(q[index]), int(r[index]))
            refused[index] = lazily_below(int(word[index]), 64, _complement(exponent), entropy)
        return refused

    def _assemble(self, blocks: Ints, side: Ints, offset: Ints, furthest: int) -> None:
        """blocks := the outcomes. Below zero offsets count downwards, which flips their bits."""
        reach = LARGEST >> self._shift
        if furthest >= reach:
            np.clip(blocks, -reach - 1, reach, out=blocks)
        blocks <<= np.int64(self._shift)
        blocks += offset ^ (side & np.int64((1 << self._shift) - 1))
        if furthest >= reach:
            np.clip(blocks, -LARGEST, LARGEST, out=blocks)


def _one_minus_exp_neg(gamma: Floats) -> Floats:
    """1 - exp(-gamma) for 0 <= gamma <= 1/4 by 12 terms of its alternating series, error below 2^-48: the rest is at
    most 4^-13 / 13! < 2^-58, and 36 correctly rounded operations on numbers up to 1 add less than 2^-49. No library
    function is used because none states a bound that holds on every processor."""
    series = np.ones_like(gamma)
    for divisor in range(12, 1, -1):
        series = 1.0 - gamma * series / divisor
    return gamma * series


def _complement(exponent: Fraction) -> Callable[[int], tuple[int, int]]:
    def enclosure(bits: int) -> tuple[int, int]:
        low, high = exp_neg(exponent, bits)
        return (1 << bits) - high, (1 << bits) - low

    return enclosure
