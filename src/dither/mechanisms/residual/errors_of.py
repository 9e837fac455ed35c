"""How sure a cell of a marginal is, and any two cells together: exact variances and covariances in closed form.

Flow: a plan or a stored law asks; intervals and comparisons of cells are made from it.
With sigma_A^2 the variance of part A's noise over the square of its sizes' product, cells a of S and b of T have the
covariance: sum over A in both of sigma_A^2 times the product over A of ([a_i = b_i] - 1/d_i) over the sizes of S and of
T outside A. Variance is a = b, S = T.  Proof: docs/proofs/mechanisms/residuals.md, part 4
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from dither.exact import Number
from dither.mechanisms.residual.design import Axes, MarginalPlan
from dither.noise import DiscreteGaussian
from dither.noise.interval import confidence_of

__all__ = ["CellErrors", "half_width_of"]

ROUNDING = 1 / 12
"""Variance of what one rounded cumulative sum is off by."""


@dataclass(frozen=True)
class CellErrors:
    """The errors of marginals made of these parts, in squared steps. `laws`: of the noise on each part's integers."""

    sizes: Mapping[int, int]
    """Axis -> how many values it has."""
    laws: Mapping[Axes, DiscreteGaussian]

    @classmethod
    def of(cls, plan: MarginalPlan) -> CellErrors:
        return cls(dict(enumerate(plan.sizes)), {part.axes: part.law for part in plan.parts})

    def variance(self, axes: Axes) -> float:
        """Of every cell of a marginal: all have the same."""
        return self.covariance(axes, (0,) * len(axes), axes, (0,) * len(axes))

    def variance_of_whole(self, axes: Axes) -> float:
        """Of every cell of a marginal in whole numbers, its rounding counted."""
        return self.variance(axes) + self.rounding(axes) * ROUNDING

    def covariance(self, first: Axes, cell: Sequence[int], second: Axes, other: Sequence[int]) -> float:
        """Between a cell of the marginal `first` and one of `second`; a cell is its place along each axis."""
        mine, theirs = dict(zip(first, cell, strict=True)), dict(zip(second, other, strict=True))
        total = 0.0
        for axes, law in self.laws.items():
            if all(axis in mine and axis in theirs for axis in axes):
                meeting = math.prod((mine[axis] == theirs[axis]) - 1 / self.sizes[axis] for axis in axes)
                spread = math.prod(self.sizes[a] for s in (first, second) for a in s if a not in axes)
                total += law.variance() / math.prod(self.sizes[a] for a in axes) ** 2 * meeting / spread
        return total

    def variance_of_difference(self, first: Axes, cell: Sequence[int], second: Axes, other: Sequence[int]) -> float:
        """Of one cell less another."""
        apart = self.variance(first) + self.variance(second)
        return max(0.0, apart - 2 * self.covariance(first, cell, second, other))

    def half_width_of_difference(
        self, first: Axes, cell: Sequence[int], second: Axes, other: Sequence[int], confidence: Number
    ) -> int:
        """h: one whole cell less another lies within h of the true difference with about this probability."""
        if (first, tuple(cell)) == (second, tuple(other)):
            return 0
        variance = self.variance_of_difference(first, cell, second, other)
        return half_width_of(variance, self.rounding(first) + self.rounding(second), confidence)

    def half_width(self, axes: Axes, confidence: Number) -> int:
        """h: a whole cell lies within h of the truth with about this probability, its rounding counted."""
        return half_width_of(self.variance(axes), self.rounding(axes), confidence)

    def rounding(self, axes: Axes) -> int:
        """How many rounded sums one whole cell is made of; without axes the measured number is whole by itself."""
        moving = sum(1 for axis in axes if self.sizes[axis] > 1)
        return 2**moving if moving else 0


def half_width_of(variance: float, roundings: int, confidence: Number) -> int:
    """Of a whole number whose noise is a sum of many discrete Gaussians, and which is made of `roundings` rounded sums:
    normal, and half a step more below a variance of one, where a lattice shows."""
    deviation = math.sqrt(variance + roundings * ROUNDING)
    width = NormalDist().inv_cdf((1 + float(confidence_of(confidence))) / 2) * deviation
    return max(0, math.ceil(width if variance < 1 else width - 0.5))
