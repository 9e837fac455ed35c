"""Occupied cells of many groups on one public grid, and the candidates they make: the cells and the gaps between them.

Flow: an engine's `GROUP BY group, cell` in, candidates of every group out; `quantile`, `quantile_ends` and `quantiles`
choose among them. All groups are worked on at once: each is the same few integer steps.
Proof: docs/proofs/mechanisms/quantile.md, candidates
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

__all__ = ["Candidates", "Histograms"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Histograms:
    """Occupied cells of several groups. cells, counts: (n,) int64, group after group, ascending inside each, in
    [lo, hi], counts above 0.  starts: (groups + 1,) int64: group g is starts[g] .. starts[g + 1] - 1, maybe empty."""

    cells: Ints
    counts: Ints
    starts: Ints
    lo: int
    hi: int

    @classmethod
    def of_one(cls, cells: Ints, counts: Ints, lo: int, hi: int) -> Histograms:
        """Of one group."""
        return cls(cells.astype(np.int64), counts.astype(np.int64), np.array([0, len(cells)], dtype=np.int64), lo, hi)

    @property
    def groups(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def totals(self) -> Ints:
        """(groups,) rows of each."""
        above = np.concatenate([[0], np.cumsum(self.counts)])
        return np.asarray(np.diff(above[self.starts]), dtype=np.int64)

    def candidates(self) -> Candidates:
        """Occupied cells and the gaps around them, in each group. A gap between two cells that touch is none."""
        groups = np.arange(self.groups, dtype=np.int64)
        owner = np.repeat(groups, np.diff(self.starts))
        above = np.cumsum(self.counts) - (np.cumsum(self.totals) - self.totals)[owner]
        # Every group has one gap more than cells: before its first cell, between them, after its last.
        gaps = len(owner) + self.groups
        before = np.arange(len(owner), dtype=np.int64) + owner
        begin, end, rank = np.full(gaps, self.lo), np.full(gaps, self.hi + 1), np.zeros(gaps, dtype=np.int64)
        begin[before + 1], end[before], rank[before + 1] = self.cells + 1, self.cells, above
        # Most are of no width where most cells are occupied: they go before everything is put in order.
        wide = np.flatnonzero(end > begin)
        begin, rank = begin[wide], rank[wide]
        gap_owner = np.searchsorted(self.starts[1:] + groups, wide).astype(np.int64)
        return Candidates.in_order(
            np.concatenate([owner, gap_owner]),
            np.concatenate([self.cells, begin]),
            np.concatenate([np.ones_like(owner), end[wide] - begin]),
            np.concatenate([above - self.counts, rank]),
            np.concatenate([above, rank]),
            self.groups,
        )


@dataclass(frozen=True)
class Candidates:
    """Runs of neighbouring cells that share their ranks, group after group. owner, cells (the first of each run),
    widths (how many, above 0), low, high (rows below, and up to and with): (n,) int64.
    starts: (groups + 1,) int64; no group is empty."""

    owner: Ints
    cells: Ints
    widths: Ints
    low: Ints
    high: Ints
    starts: Ints

    @classmethod
    def in_order(cls, owner: Ints, cells: Ints, widths: Ints, low: Ints, high: Ints, groups: int) -> Candidates:
        """Sorted by group. In one group all are in order already."""
        if groups > 1:
            order = np.argsort(owner, kind="stable")
            owner, cells, widths, low, high = owner[order], cells[order], widths[order], low[order], high[order]
        starts = np.searchsorted(owner, np.arange(groups + 1)).astype(np.int64)
        return cls(owner, cells, widths, low, high, starts)

    def distances(self, aim: Ints, scale: int) -> Ints:
        """From each group's aim, a rank times `scale`, to the ranks that a candidate covers."""
        own = aim[self.owner]
        return np.asarray(np.maximum(np.maximum(self.low * scale - own, own - self.high * scale), 0))
