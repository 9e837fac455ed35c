"""Uniform integers below n, and coins that fall heads with probability exp(-x): the two plain draws.

Flow: `categorical` and mechanisms (keys, quantiles) call them. Relies on: `entropy`, and `lazy` for the coin.
Proof: uniform, below; coins, docs/proofs/noise/lazy-inverse-cdf.md with one cut.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import overload

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, exact
from dither.noise.bounds import exp_neg
from dither.noise.draw import Sampler, checked_size
from dither.noise.entropy import Entropy, system_entropy, words64
from dither.noise.lazy import CHUNK, LazyTable, Tails

__all__ = ["bernoulli_exp", "uniform_below", "uniform_below_each"]

Ints = NDArray[np.int64]


@overload
def uniform_below(n: int, size: None = None, *, entropy: Entropy | None = None) -> int: ...
@overload
def uniform_below(n: int, size: int, *, entropy: Entropy | None = None) -> Ints: ...
def uniform_below(n: int, size: int | None = None, *, entropy: Entropy | None = None) -> int | Ints:
    """Exact uniform draws from 0 .. n-1: an int, or an int64 array of `size`. n: > 0, for arrays at most 2^63.
    As many bits as n - 1 has are read; a number >= n is thrown away and drawn again, so all n stay equally likely.
    Raises InvalidParameter for other n."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n <= 0:
        raise InvalidParameter("n", expected="a whole number above 0", found=n)
    source = entropy or system_entropy()
    if size is None:
        return _one_below(int(n), source)
    if n > 2**63:
        raise InvalidParameter("n", expected="at most 2^63 for an array", found=n)
    return _many_below(int(n), checked_size(size), source)


def uniform_below_each(n: Ints, *, entropy: Entropy | None = None) -> Ints:
    """Exact independent uniform draws, from 0 .. n[i] - 1 for each i. n: (k,) int64, above 0.
    A number >= n[i] is thrown away and drawn again, as by `uniform_below`. Raises InvalidParameter for other n."""
    if n.size and int(n.min()) <= 0:
        raise InvalidParameter("n", expected="whole numbers above 0", found=int(n.min()))
    source = entropy or system_entropy()
    # The exponent of a float is that of the integer, or one more where it was rounded up: never too few bits.
    bits = np.frexp((n - 1).astype(np.float64))[1].astype(np.uint64)
    drawn = np.zeros(n.size, dtype=np.int64)
    waiting = np.flatnonzero(bits)
    while waiting.size:
        words = words64(source, waiting.size) >> (np.uint64(64) - bits[waiting])
        kept = words < n[waiting].astype(np.uint64)
        drawn[waiting[kept]] = words[kept]
        waiting = waiting[~kept]
    return drawn


@overload
def bernoulli_exp(x: Number, size: None = None, *, entropy: Entropy | None = None) -> bool: ...
@overload
def bernoulli_exp(x: Number, size: int, *, entropy: Entropy | None = None) -> NDArray[np.bool_]: ...
def bernoulli_exp(x: Number, size: int | None = None, *, entropy: Entropy | None = None) -> bool | NDArray[np.bool_]:
    """Exact draws that are True with probability exp(-x): a bool, or a bool array of `size`. x: rational, >= 0.
    Raises InvalidParameter below."""
    exponent = exact(x, "x")
    if exponent < 0:
        raise InvalidParameter("x", expected="a number >= 0", found=x)
    if exponent == 0:  # surely heads: there is no cut to compare with
        return True if size is None else np.ones(checked_size(size), dtype=np.bool_)
    sampler = _coin(exponent)
    return bool(sampler.one(entropy)) if size is None else sampler.array(size, entropy).astype(np.bool_)


def _one_below(n: int, source: Entropy) -> int:
    bits = (n - 1).bit_length()
    size_bytes = (bits + 7) // 8
    while True:
        value = int.from_bytes(source.read(size_bytes), "little") >> (8 * size_bytes - bits)
        if value < n:
            return value


def _many_below(n: int, size: int, source: Entropy) -> Ints:
    bits = (n - 1).bit_length()
    if bits == 0:
        return np.zeros(size, dtype=np.int64)
    drawn = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        words = words64(source, min(size - filled, CHUNK)) >> np.uint64(64 - bits)
        kept = words[words < np.uint64(n)]
        drawn[filled : filled + kept.size] = kept
        filled += kept.size
    return drawn


@lru_cache(maxsize=32)
def _coin(x: Fraction) -> Sampler:
    def tails_at(bits: int) -> Tails:
        low, high = exp_neg(x, bits)
        return Tails(bits, [], [], [low], [high])

    return Sampler(LazyTable(tails_at))
