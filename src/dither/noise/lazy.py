"""Exact draws by a lazy inverse distribution function: read a uniform bit by bit until it names one outcome.

Flow: a law gives certified tail masses (`Tails`) at any precision; `LazyTable` turns them into a 16-bit guide, a list
of 64-bit cuts, and a last resort of any length; `split` and the laws draw from it.
Relies on: enclosures from `bounds`; uniform bytes from `entropy`. The outcome is that of an infinitely long uniform
number: nothing is rounded, more bits are read when those at hand leave a doubt.
Proof: docs/proofs/noise/lazy-inverse-cdf.md
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dither.errors import GuaranteeError
from dither.noise.entropy import Entropy, words16, words64

__all__ = ["CHUNK", "LazyTable", "Tails", "lazily_below"]

CHUNK = 65_536
"""Draws made at once: the working arrays of a chunk stay in the processor's cache."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Tails:
    """Certified tail masses of a law on the integers, as integers at 2^bits.

    left_low[j] <= 2^bits P(X <= -1-j) <= left_high[j], right_low[j] <= 2^bits P(X > j) <= right_high[j], for
    j = 0, 1, ...; all four lists fall. A side ends where the support ends, or with a low of 0. Every mass listed is
    below 1, every high >= 1."""

    bits: int
    left_low: list[int]
    left_high: list[int]
    right_low: list[int]
    right_high: list[int]

    def cuts(self) -> tuple[list[int], list[int]]:
        """(first, last): the words w of `bits` bits that leave cut number r of the distribution function in doubt are
        first[r] <= w <= last[r]. Below first[r] the uniform is under the cut, above last[r] it is not."""
        top = 1 << self.bits
        first = self.left_low[::-1] + [top - high for high in self.right_high]
        last = [high - 1 for high in reversed(self.left_high)] + [top - 1 - low for low in self.right_low]
        return first, last


class LazyTable:
    """Exact sampler of the law whose tails `tails_at(bits)` gives.

    prefix_bits, word_bits: 16 and 64; smaller in tests, which so force the rare paths on every draw. An instance
    holds no randomness, and nothing changes in it but a cache of refined cuts: threads may share it."""

    def __init__(self, tails_at: Callable[[int], Tails], *, prefix_bits: int = 16, word_bits: int = 64) -> None:
        self._tails_at = tails_at
        self._prefix_bits = prefix_bits
        self._word_bits = word_bits
        self._refined: dict[int, tuple[list[int], list[int], int]] = {}
        tails = tails_at(word_bits)
        self.lowest = -len(tails.left_low)
        first, last = (np.array(cuts, dtype=np.uint64) for cuts in tails.cuts())
        if np.any(first[1:] < first[:-1]) or np.any(last[1:] < last[:-1]):
            raise GuaranteeError("The cuts of a noise table are out of order.")
        self._count = len(first)
        never = np.array([2**64 - 1], dtype=np.uint64)  # so that index `count` can be looked up
        self._first = np.concatenate([first, never])
        self._last = np.concatenate([last, never])
        self._start, self.guide = self._prefixes()

    def draw(self, size: int, entropy: Entropy) -> Ints:
        """`size` independent draws, int64."""
        drawn = np.empty(size, dtype=np.int64)
        for start in range(0, size, CHUNK):
            self.fill(drawn[start : start + CHUNK], entropy)
        return drawn

    def fill(self, out: Ints, entropy: Entropy) -> None:
        """Overwrite `out`, at most CHUNK long, with independent draws."""
        prefix = words16(entropy, out.size) >> np.uint16(16 - self._prefix_bits)
        values = self.guide.take(prefix, mode="clip")
        out[:] = values
        unknown = np.flatnonzero(values == self.unknown)
        if unknown.size:
            out[unknown] = self._resolve(prefix[unknown], entropy)

    @property
    def unknown(self) -> int:
        """The mark of a prefix that does not name one outcome."""
        return int(np.iinfo(self.guide.dtype).min)

    def _prefixes(self) -> tuple[NDArray[np.int32], NDArray[np.int16] | NDArray[np.int32]]:
        """For each prefix: how many cuts lie surely below all its words; and its outcome, or `unknown`."""
        buckets = 1 << self._prefix_bits
        shift = np.uint64(self._word_bits - self._prefix_bits)
        first, last = (cuts[: self._count] >> shift for cuts in (self._first, self._last))
        start = np.zeros(buckets, dtype=np.int32)
        np.cumsum(np.bincount(last.astype(np.int64), minlength=buckets)[:-1], out=start[1:])
        end = np.cumsum(np.bincount(first.astype(np.int64), minlength=buckets), dtype=np.int32)
        outcome = start + np.int32(self.lowest)
        if max(-self.lowest, self._count) < 2**15 - 1:  # the smaller guide stays in a faster cache
            return start, np.where(start == end, outcome, np.iinfo(np.int16).min).astype(np.int16)
        return start, np.where(start == end, outcome, np.iinfo(np.int32).min).astype(np.int32)

    def _resolve(self, prefix: NDArray[np.uint16], entropy: Entropy) -> Ints:
        """Outcomes of doubtful prefixes: the rest of the word is read and compared with the cuts."""
        more = self._word_bits - self._prefix_bits
        rest = words64(entropy, prefix.size) >> np.uint64(64 - more)
        word = (prefix.astype(np.uint64) << np.uint64(more)) | rest
        passed = self._start[prefix].astype(np.int64)
        passed += self._last[passed] < word  # enough where a prefix holds one cut, which most do
        crowded = np.flatnonzero(self._last[passed] < word)
        if crowded.size:
            passed[crowded] = np.searchsorted(self._last[: self._count], word[crowded], side="left")
        for index in np.flatnonzero(self._first[passed] <= word):
            passed[index] = self._refine(int(word[index]), entropy)
        return passed + self.lowest

    def _refine(self, word: int, entropy: Entropy) -> int:
        """How many cuts the uniform that starts with `word` passes; reads on while in doubt."""
        bits = self._word_bits
        while True:
            first, last, lowest = self._cuts(bits)
            passed = bisect_left(last, word)
            if passed == bisect_right(first, word):
                # Finer tails may reach further out on the left: count from where this table starts.
                return passed + lowest - self.lowest
            word = (word << self._word_bits) | _bits(entropy, self._word_bits)
            bits += self._word_bits

    def _cuts(self, bits: int) -> tuple[list[int], list[int], int]:
        if bits not in self._refined:
            tails = self._tails_at(bits)
            first, last = tails.cuts()
            if any(a > b for cuts in (first, last) for a, b in pairwise(cuts)):
                raise GuaranteeError("The refined cuts of a noise table are out of order.")
            self._refined[bits] = (first, last, -len(tails.left_low))
        return self._refined[bits]


def lazily_below(word: int, bits: int, enclosure: Callable[[int], tuple[int, int]], entropy: Entropy) -> bool:
    """Whether the uniform whose first `bits` bits are `word` is below theta; reads 64 more bits while in doubt.
    enclosure(bits): integers low <= 2^bits theta <= high."""
    while True:
        low, high = enclosure(bits)
        if word < low:  # (word + 1) / 2^bits <= theta
            return True
        if word >= high:
            return False
        word = (word << 64) | _bits(entropy, 64)
        bits += 64


def _bits(entropy: Entropy, count: int) -> int:
    return int.from_bytes(entropy.read(8), "little") >> (64 - count)
