"""A marginal without negative cells: post-processing that costs no budget, but bias; the bias is shown beside it.

Flow: `MarginalRelease.nonnegative`. The projection is onto the tables with no cell below 0 and the same total: the
nearest such table. Its bias is estimated from the released numbers alone: the projected table is taken for the truth,
noise of the same law is added to it and projected, many times.
Proof: docs/proofs/mechanisms/residuals.md, part 6
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms.residual.design import Axes
from dither.mechanisms.residual.integers import marginal_from, projected
from dither.mechanisms.residual.release import MarginalRelease

__all__ = ["Nonnegative", "nonnegative", "onto_simplex"]

Floats = NDArray[np.float64]

REPLICATES = 99


@dataclass(frozen=True, eq=False)
class Nonnegative:
    """`values`: in the shape of the marginal, none below 0, adding up to its total (0 where that is negative).
    `bias`: estimated, per cell: how far values are from the truth on average. Small cells are too large, large ones
    too small. Tables projected one by one no longer agree with one another."""

    values: Floats
    bias: Floats

    @property
    def mean_bias(self) -> float:
        """The mean size of the cells' biases."""
        return float(np.abs(self.bias).mean())


def nonnegative(release: MarginalRelease, axes: Axes) -> Nonnegative:
    """The projection of `release.table(axes)`; see the module."""
    unbiased = release.table(axes)
    values = onto_simplex(unbiased, max(float(unbiased.sum()), 0.0))
    # A function of released values: looking twice shows the same bias.
    generator = np.random.default_rng([int(v) & 0xFFFFFFFF for v in unbiased.reshape(-1)[:8]])
    moved = np.zeros_like(values)
    for _ in range(REPLICATES):
        again = values + _noise(release, axes, generator)
        moved += onto_simplex(again, max(float(again.sum()), 0.0)) - values
    return Nonnegative(values, moved / REPLICATES)


def onto_simplex(table: Floats, total: float) -> Floats:
    """The nearest table (in squares) whose cells are at least 0 and add up to `total` >= 0: every cell less one number,
    those below it 0."""
    flat = np.sort(table.reshape(-1))[::-1]
    excess = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    kept = int(np.count_nonzero(flat > excess))
    less = excess[kept - 1] if kept else flat[0]
    return np.asarray(np.maximum(table - less, 0.0))


def _noise(release: MarginalRelease, axes: Axes, generator: np.random.Generator) -> Floats:
    drawn = {
        part.axes: projected(
            np.rint(generator.normal(scale=np.sqrt(part.law.variance()), size=release.plan.shape(part.axes))).astype(
                np.int64
            )
        )
        for part in release.plan.below(axes)
    }
    return marginal_from(drawn, axes, release.plan.sizes)
