"""Running totals from a balanced k-ary tree with subtraction: few noisy nodes a total, for pure epsilon.

Flow: counts in, node counts out to the Laplace mechanism, noisy nodes back in, totals out; streams walk the same tree.
A prefix of length t is written in base k, k odd, with digits from -(k-1)/2 to (k-1)/2: digit d at level i adds (or
takes away) |d| nodes of k^i positions each. h levels put every row into h nodes, so the L1 distance of one row is h,
and a total has the variance of sum |d| draws. With one level the nodes are the counts, and totals their noisy sum.
Nodes that begin after the last position are publicly empty: they have no noise and are not counted.
Source: Andersson, Pagh, Steiner and Torkamani, FORC 2025 (arXiv 2408.07021).
Proof: docs/proofs/mechanisms/running-tree.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from dither.errors import GuaranteeError
from dither.mechanisms.release import LARGEST, Integers

__all__ = ["BalancedTree", "balanced_digits", "choose_tree", "most_nodes"]


@dataclass(frozen=True)
class BalancedTree:
    n: int
    """Positions, >= 1."""
    k: int
    """Children of a node, odd, >= 3."""
    levels: int
    """h, with (k^h - 1)/2 >= n: then h balanced digits reach every prefix."""

    def __post_init__(self) -> None:
        if self.n < 1 or self.k < 3 or self.k % 2 == 0 or (self.k**self.levels - 1) // 2 < self.n:
            raise GuaranteeError("A tree does not reach its last position.")

    @property
    def name(self) -> str:
        return f"balanced {self.k}-ary tree" if self.levels > 1 else "one noisy count per position"

    @property
    def largest_count(self) -> int:
        """With counts up to this no node and no total leaves +-2^61."""
        return LARGEST // self.n

    def nodes(self, level: int) -> int:
        """How many nodes of k^level positions begin before the end."""
        return -(-self.n // int(self.k**level))

    def measure(self, counts: Integers, largest: int) -> Integers:
        """The counts of all nodes, level 0 (single positions) first. counts: (n,) int64 within +-largest."""
        if largest > self.largest_count:
            raise GuaranteeError("Counts were too large for an exact sum.")
        found = [counts]
        for level in range(1, self.levels):
            padded = np.zeros(self.nodes(level) * self.k, dtype=np.int64)
            padded[: len(found[-1])] = found[-1]
            found.append(padded.reshape(-1, self.k).sum(axis=1))
        return np.concatenate(found)

    def totals(self, noisy: Integers) -> NDArray[np.float64]:
        """The running totals of noisy node counts, unbiased; whole numbers, exact below 2^53."""
        totals = np.zeros(self.n, dtype=np.int64)
        begin = 0
        for level in range(self.levels):
            sums = np.concatenate([[0], np.cumsum(noisy[begin : begin + self.nodes(level)])])
            start, stop = self._run(level, np.arange(1, self.n + 1))
            totals += sums[stop] - sums[start]
            begin += self.nodes(level)
        return totals.astype(np.float64)

    @cached_property
    def gains(self) -> NDArray[np.float64]:
        """(n,) float64: how many noisy nodes each total adds up, each with weight 1 or -1."""
        used = np.zeros(self.n, dtype=np.int64)
        for level in range(self.levels):
            start, stop = self._run(level, np.arange(1, self.n + 1))
            used += np.abs(stop - start)
        return used.astype(np.float64)

    def gain_between(self, first: int, last: int) -> float:
        """The same for the sum of counts first..last: nodes that both totals use cancel."""
        return float(self._differing(np.array([first]), np.array([last + 1]))[0])

    @cached_property
    def step_gains(self) -> NDArray[np.float64]:
        """(n,) float64: the same for each single count."""
        lengths = np.arange(self.n)
        return self._differing(lengths, lengths + 1).astype(np.float64)

    def _differing(self, earlier: Integers, later: Integers) -> Integers:
        """Nodes whose weights in two prefixes differ, by 1: 1 and -1 never meet in one node."""
        used = np.zeros(len(later), dtype=np.int64)
        for level in range(self.levels):
            runs = (*self._run(level, later), *self._run(level, earlier))
            ends = np.stack(runs, axis=1)
            order = np.argsort(ends, axis=1, kind="stable")
            weights = np.cumsum(np.array([1, -1, -1, 1])[order], axis=1)
            used += (np.abs(weights[:, :-1]) * np.diff(np.take_along_axis(ends, order, axis=1), axis=1)).sum(axis=1)
        return used

    def _run(self, level: int, lengths: Integers) -> tuple[Integers, Integers]:
        """For prefixes of these lengths, the nodes of one level from `start` to `stop`: added when stop > start, taken
        away when below. start is the multiple of k^(level+1) nearest the length, stop the nearest of k^level."""
        start = self._nearest(level + 1, lengths) * self.k
        return np.minimum(start, self.nodes(level)), np.minimum(self._nearest(level, lengths), self.nodes(level))

    def _nearest(self, level: int, lengths: Integers) -> Integers:
        size = self.k**level
        # The top pointer stands at 0, for every length: the top digit is never negative.
        nearest: Integers = (lengths + (size - 1) // 2) // size if level < self.levels else np.zeros_like(lengths)
        return nearest


@lru_cache(maxsize=64)
def choose_tree(n: int) -> BalancedTree:
    """The tree for n positions with the least largest variance, levels^2 times the most nodes in a total."""
    best, least, levels = BalancedTree(n, 2 * n + 1, 1), n, 1
    while best.levels == levels or _smallest_k(n, levels) > 3:
        levels += 1
        k = _smallest_k(n, levels)
        # A wider tree of as many levels can win by its top digit: n fills more of it.
        for wider in range(k, k + 21, 2):
            error = levels**2 * most_nodes(n, wider)
            if error < least:
                best, least = BalancedTree(n, wider, levels), error
    return best


def most_nodes(n: int, k: int) -> int:
    """The largest sum of |balanced digits| in base k over all prefixes of length 1..n."""
    digits, half = balanced_digits(n, k), (k - 1) // 2
    top = len(digits) - 1
    # Digits above i as in n, digit i smaller, digits below i free; or n itself. (Signs are free: t and -t have the
    # same sum, so that a negative number below n stands for a positive one.)
    best, above = sum(map(abs, digits)), 0
    for i in range(top, -1, -1):
        smaller = digits[i] - 1 if i == top else half
        if i == top or digits[i] > -half:
            best = max(best, above + smaller + i * half)
        above += abs(digits[i])
    return best


def balanced_digits(t: int, k: int) -> list[int]:
    """Digits of t >= 0 in base k from -(k-1)/2 to (k-1)/2, lowest first; [] for 0."""
    digits, half = [], (k - 1) // 2
    while t:
        digit = (t + half) % k - half
        digits.append(digit)
        t = (t - digit) // k
    return digits


def _smallest_k(n: int, levels: int) -> int:
    """The smallest odd k >= 3 with (k^levels - 1)/2 >= n."""
    k = max(3, round(math.pow(2 * n + 1, 1 / levels)) // 2 * 2 - 3)
    while (k**levels - 1) // 2 < n:
        k += 2
    return k
