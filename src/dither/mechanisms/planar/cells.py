"""Raw places shown as cells of a public list, by the optimal mechanism on those cells.

Flow: as `release.PlanarNoise`, whose place it takes where at most 50 cells matter.
Relies on: `optimal` for the table. A place counts as its nearest cell and may be at most `reach` from it, so two places
d metres apart count as cells at most d + 2 reach apart: the exponent is epsilon (d + 2 reach).
Proof: docs/proofs/mechanisms/planar-optimal.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.accounting.metric import MetricLoss
from dither.errors import InvalidParameter
from dither.exact import Number, exact, positive, round_down
from dither.mechanisms.planar.accuracy import Displacement
from dither.mechanisms.planar.lattice import METRIC, radius_of
from dither.mechanisms.planar.optimal import WHOLE, OptimalMechanism, plan_optimal
from dither.mechanisms.planar.release import checked_points
from dither.mechanisms.release import Values
from dither.noise import Entropy

__all__ = ["CellNoise"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CellNoise:
    """How places are shown as cells: a table, and how far a place may be from its cell."""

    mechanism: OptimalMechanism
    reach: Fraction
    """Metres, above 0."""

    @classmethod
    def within(
        cls,
        radius: Number,
        *,
        factor: Number,
        cells: npt.ArrayLike,
        prior: npt.ArrayLike,
        reach: Number,
        progress: Callable[[str], None] | None = None,
    ) -> CellNoise:
        """The optimal table at which the odds of raw places within `radius` metres change by at most `factor`, what
        their cells add included: epsilon is log(factor) / (radius + 2 reach). Arguments as for `plan_optimal`."""
        far = positive(reach, "reach")
        if exact(factor, "factor") <= 1:
            raise InvalidParameter("factor", expected="above 1", found=factor)
        wanted = MetricLoss.within(radius_of(radius) + 2 * far, factor=factor, metric=METRIC)
        epsilon = round_down(wanted.epsilon)
        return cls(plan_optimal(cells, prior, epsilon=epsilon, progress=progress), far)

    @property
    def epsilon(self) -> Fraction:
        """Nats per metre, of one point."""
        return self.mechanism.epsilon

    @property
    def point_loss(self) -> MetricLoss:
        return self.mechanism.loss

    @property
    def slack(self) -> Fraction:
        """What counting as a cell may add to a distance, metres."""
        return 2 * self.reach

    def expected(self) -> Displacement:
        """How far the cell shown is from the true one, over the prior, by the table."""
        cells = self.mechanism.cells
        apart = np.hypot(cells[:, None, 0] - cells[None, :, 0], cells[:, None, 1] - cells[None, :, 1]).ravel()
        shares = (self.mechanism.prior[:, None] * (self.mechanism.table / float(WHOLE))).ravel()
        order = np.argsort(apart)
        running = np.cumsum(shares[order])
        # The last of the running sums may be a little under 1.
        middle, most = np.minimum(np.searchsorted(running, [0.5, 0.95]), len(order) - 1).tolist()
        return Displacement(float(shares @ apart), float(apart[order[middle]]), float(apart[order[most]]))

    def check(self, points: Values | npt.NDArray[Any]) -> None:
        """Raises InvalidParameter if a place is beyond reach of every cell, naming none: before anything is charged."""
        self.mechanism.nearest(checked_points(points), reach_m=float(self.reach))

    def add_to(
        self,
        points: Values | npt.NDArray[Any],
        *,
        entropy: Entropy | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Floats:
        """The cells shown, (n, 2) metres. Raises InvalidParameter as `check` does."""
        clean = checked_points(points)
        shown = self.mechanism.perturb(clean, reach_m=float(self.reach), entropy=entropy)
        if progress is not None:
            progress(len(clean))
        return shown
