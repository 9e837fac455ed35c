"""The only step of many marginals that reads data: residuals, noise, and every wanted marginal made of them.

Flow: a `MarginalPlan` and the tables (arrays or Secrets) in; a `MarginalRelease` out, which is safe to show.
Proof: docs/proofs/mechanisms/residuals.md
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dither.accounting.events import ComposedEvent
from dither.accounting.price import Price
from dither.errors import InvalidParameter
from dither.exact import Number
from dither.mechanisms.release import Values, add_noise, opened, saturate
from dither.mechanisms.residual.design import Axes, MarginalPlan, parts_of
from dither.mechanisms.residual.errors_of import CellErrors
from dither.mechanisms.residual.integers import marginal_from, projected, residual_of, whole_marginals
from dither.noise import Entropy

if TYPE_CHECKING:
    from dither.mechanisms.residual.projection import Nonnegative

__all__ = ["CellDifference", "MarginalRelease", "release_marginals"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CellDifference:
    """One cell less another, with its own error: less than that of two unrelated numbers where they share noise."""

    value: int
    variance: float
    """Before rounding to whole numbers."""
    half_width: int
    confidence: Number


@dataclass(frozen=True, eq=False)
class MarginalRelease:
    """Noisy residuals, safe to show, and what follows from them."""

    plan: MarginalPlan
    residuals: Mapping[Axes, Ints]
    """Each part's noisy integers, in the shape of its axes."""

    @property
    def event(self) -> ComposedEvent:
        return self.plan.event

    @property
    def price(self) -> Price:
        return self.plan.price

    @cached_property
    def errors(self) -> CellErrors:
        return CellErrors.of(self.plan)

    def table(self, axes: Iterable[int]) -> Floats:
        """The marginal over `axes` (wanted, or part of a wanted one): unbiased, float64. Sums over an axis agree with
        the marginal without it to float accuracy."""
        own = self._axes(axes)
        return marginal_from(self._projected, own, self.plan.sizes)

    def whole(self, axes: Iterable[int]) -> Ints:
        """The same as whole numbers: sums over an axis are exactly the marginal without it, in whole numbers too."""
        own = self._axes(axes)
        moving = tuple(axis for axis in own if self.plan.sizes[axis] > 1)
        return self._whole[moving].reshape(self.plan.shape(own))

    def variance(self, axes: Iterable[int]) -> float:
        """Of each cell of `table(axes)`, in squared steps."""
        return self.errors.variance(self._axes(axes))

    def half_width(self, axes: Iterable[int], confidence: Number = 0.95) -> int:
        """Each cell of `whole(axes)` lies within this of the truth with about this probability."""
        return self.errors.half_width(self._axes(axes), confidence)

    def difference(
        self,
        axes: Iterable[int],
        cell: tuple[int, ...],
        other_axes: Iterable[int],
        other: tuple[int, ...],
        confidence: Number = 0.95,
    ) -> CellDifference:
        """A cell of `whole(axes)` less a cell of `whole(other_axes)`. A cell is its places along the axes, in ascending
        order of the axes."""
        first, second = self._axes(axes), self._axes(other_axes)
        variance = self.errors.variance_of_difference(first, cell, second, other)
        value = int(self.whole(first)[cell]) - int(self.whole(second)[other])
        half = self.errors.half_width_of_difference(first, cell, second, other, confidence)
        return CellDifference(value, variance, half, confidence)

    def nonnegative(self, axes: Iterable[int]) -> Nonnegative:
        """The marginal without negative cells, and what that costs in bias; see `nonnegative`."""
        from dither.mechanisms.residual.projection import nonnegative

        return nonnegative(self, self._axes(axes))

    @cached_property
    def _projected(self) -> dict[Axes, Floats]:
        return {axes: projected(measured) for axes, measured in self.residuals.items()}

    @cached_property
    def _whole(self) -> dict[Axes, Ints]:
        parts = {axes: marginal_from(self._projected, axes, self.plan.sizes) for axes in self.residuals}
        return whole_marginals(parts)

    def _axes(self, axes: Iterable[int]) -> Axes:
        own = tuple(sorted(axes))
        if not any(set(own) <= set(wanted) for wanted in self.plan.wanted):
            raise InvalidParameter("axes", expected="a planned marginal, or a part of one", found=own)
        return own


def release_marginals(
    plan: MarginalPlan, tables: Mapping[Axes, Values], *, entropy: Entropy | None = None
) -> MarginalRelease:
    """Noisy marginals of one table. tables: for each of `plan.maximal` an integer array of its shape; they are
    marginals of the same rows (a residual that several of them hold is taken from the first)."""
    clean: dict[Axes, Ints] = {}
    for axes in plan.maximal:
        if axes not in tables or opened(tables[axes]).shape != plan.shape(axes):
            raise InvalidParameter(
                "tables",
                expected=f"integers of the shape {plan.shape(axes)} for {axes}",
                found="none, or another shape",
            )
        clean[axes] = saturate(tables[axes])
    noisy: dict[Axes, Ints] = {}
    for axes, table in clean.items():
        for part in parts_of([axes], plan.sizes):
            if part not in noisy:
                exact = residual_of(table, axes, part).reshape(plan.shape(part))
                noisy[part] = add_noise(exact, plan.by_axes[part].law, entropy)
    return MarginalRelease(plan, {part.axes: noisy[part.axes] for part in plan.parts})
