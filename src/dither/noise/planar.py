"""The discrete planar Laplace law: noise for points on an integer lattice, P(z) proportional to exp(-rate ||z||).

Flow: `mechanisms.planar` adds it to places that were rounded to the lattice.
Relies on: `discrete_laplace` for proposals and `lazily_below` for doubtful coins. Two independent discrete Laplace
coordinates have weight exp(-c (|x| + |y|)); with c at most rate / sqrt(2) that is at least exp(-rate ||z||), so a
proposal is kept with probability exp(-(rate ||z|| - c (|x| + |y|))). About pi/4 of them are. A float decides a coin
only outside a proven margin; inside it the same uniform is compared with integer enclosures.
Source: the continuous law is that of Andres, Bordenabe, Chatzikokolakis, Palamidessi 2013.
Proof: docs/proofs/noise/discrete-planar.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.noise.bounds import exp_neg, sqrt_bounds
from dither.noise.draw import checked_size
from dither.noise.entropy import Entropy, system_entropy, words64
from dither.noise.laplace import DiscreteLaplace
from dither.noise.lazy import CHUNK, lazily_below

__all__ = ["DiscretePlanar"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_LEAST_RATE = Fraction(1, 2**20)
"""A coordinate beyond 2^62 steps, where the proposals end, then has probability below exp(-2^41)."""

_FAR = 64.0
"""Proposals with rate ||z|| above this are decided by integers: the float error is proven below it only."""

_CELLS = 256
"""Cells of the table of exp(-x) per unit of x."""

_PROPOSED = 1.28
"""Proposals made per point wanted: 4 / pi, and a little."""


@dataclass(frozen=True, init=False)
class DiscretePlanar:
    """P(Z = z) proportional to exp(-rate ||z||), z in Z^2, ||z|| the Euclidean length in steps."""

    rate: Fraction
    """Nats per step of the lattice."""
    proposal: DiscreteLaplace
    """The law of each coordinate of a proposal: scale at least sqrt(2) / rate."""

    def __init__(self, rate: Number) -> None:
        exact_rate = positive(rate, "rate")
        if exact_rate < _LEAST_RATE:
            raise InvalidParameter("rate", expected="at least 2^-20 per step (a coarser lattice)", found=rate)
        object.__setattr__(self, "rate", exact_rate)
        object.__setattr__(
            self, "proposal", DiscreteLaplace(_short_above(sqrt_bounds(Fraction(2), 64)[1] / exact_rate))
        )

    def sample(self, size: int, *, entropy: Entropy | None = None, margin: float = 2.0**-40) -> Ints:
        """Exact independent draws: (size, 2) int64, steps. Coordinates beyond +-2^62 become +-2^62.
        margin: half-width of the band in which the float filter leaves the decision to integers; larger in tests."""
        wanted, source = checked_size(size), entropy or system_entropy()
        drawn = np.empty((wanted, 2), dtype=np.int64)
        filled = 0
        while filled < wanted:
            count = min(int((wanted - filled) * _PROPOSED) + 16, CHUNK)
            proposals = self.proposal.sample(2 * count, entropy=source).reshape(2, count)
            kept = proposals[:, self._keeps(proposals[0], proposals[1], source, margin)][:, : wanted - filled]
            drawn[filled : filled + kept.shape[1]] = kept.T
            filled += kept.shape[1]
        return drawn

    def _keeps(self, x: Ints, y: Ints, entropy: Entropy, margin: float) -> NDArray[np.bool_]:
        """Which proposals stay: one coin each, all of 64 bits, so that the bytes read do not tell which were easy."""
        word = words64(entropy, x.size)
        across, up = np.abs(x.astype(np.float64)), np.abs(y.astype(np.float64))
        reach = float(self.rate) * np.sqrt(across * across + up * up)
        gamma = reach - float(1 / self.proposal.scale) * (across + up)
        gap = word.astype(np.float64) * 2.0**-64 - _exp_neg(gamma)
        keeps = gap < 0
        for index in np.flatnonzero((np.abs(gap) <= margin) | (reach >= _FAR)):
            enclosure = self.keeping(int(x[index]), int(y[index]))
            keeps[index] = lazily_below(int(word[index]), 64, enclosure, entropy)
        return keeps

    def keeping(self, x: int, y: int) -> Callable[[int], tuple[int, int]]:
        """Enclosures, at any number of bits, of the probability with which the proposal (x, y) is kept."""
        squared, taxicab = Fraction(x * x + y * y), (abs(x) + abs(y)) / self.proposal.scale
        spare = 4 + self.rate.numerator.bit_length()

        def enclosure(bits: int) -> tuple[int, int]:
            if squared == 0:
                return 1 << bits, 1 << bits
            near, far = (self.rate * end - taxicab for end in sqrt_bounds(squared, bits + spare))
            return exp_neg(max(far, Fraction(0)), bits)[0], exp_neg(max(near, Fraction(0)), bits)[1]

        return enclosure


def _short_above(value: Fraction) -> Fraction:
    """A rational >= value with about 20 bits: a short scale is cheap, and a millionth more loses no proposals."""
    shift = 20 - (value.numerator.bit_length() - value.denominator.bit_length())
    unit = Fraction(2) ** -shift
    return -(-value // unit) * unit


def _exp_neg(x: Floats) -> Floats:
    """exp(-x) for x up to 64, error below 2^-48; at most exp(-64) beyond, and 1 below zero.
    By a table of certified entries and five terms of the series inside a cell, with + - * / only: no library
    exponential states a bound that holds on every processor."""
    inside = np.clip(x, 0.0, _FAR)
    cell = (inside * _CELLS).astype(np.int64)
    rest = inside - cell * (1.0 / _CELLS)
    series = 1.0 - rest * 0.2
    for divisor in (4.0, 3.0, 2.0, 1.0):
        series = 1.0 - rest * series / divisor
    values: Floats = _table().take(cell) * series
    return values


@lru_cache(maxsize=1)
def _table() -> Floats:
    """exp(-n / 256), n = 0 .. 64 * 256, each within 2^-53 of the truth."""
    bits = 160
    one = 1 << bits
    ratio = exp_neg(Fraction(1, _CELLS), bits)[0]
    powers = [one]
    for _ in range(int(_FAR) * _CELLS):
        powers.append(powers[-1] * ratio >> bits)
    table = np.array([power / one for power in powers])
    table.flags.writeable = False
    return table
