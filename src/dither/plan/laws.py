"""The noise of a vector: what may stand in it, and how far from the truth it then is. In steps, whole ones.

Flow: `price` chooses laws, mechanisms draw from them, the ledger keeps their facts, `answer` makes intervals of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dither.exact import Number, exact
from dither.mechanisms.residual import CellErrors
from dither.mechanisms.running import RunningPlan
from dither.noise import DiscreteGaussian, DiscreteLaplace

__all__ = ["ChoiceLaw", "Law", "MarginalLaw", "RunningLaw"]


@dataclass(frozen=True)
class ChoiceLaw:
    """The exponential mechanism: values chosen, not noise added."""

    epsilon: Fraction
    """Of one choice."""
    quantiles: tuple[Fraction, ...] = ()
    """What was chosen, in order."""
    levels: int = 1
    """Choices that one row takes part in, one upon the other's result."""

    def variance(self) -> float:
        """For comparing accuracies only: a choice at a larger epsilon is the better one, and errors of choices that
        rest on others add up."""
        return float(self.levels / self.epsilon**2)

    def half_width(self, confidence: float = 0.95) -> int:
        """Nothing in steps can be said without the data: quantiles have no interval of this kind."""
        del confidence
        return 0


@dataclass(frozen=True)
class RunningLaw:
    """Noise placed so that totals along a key stay accurate: each group's own is the difference of two totals'."""

    plan: RunningPlan

    def variance(self) -> float:
        """Of the least accurate group."""
        return float(self.plan.step_variances.max(initial=0.0))

    def half_width(self, confidence: float = 0.95) -> float:
        """Of the least accurate group: see `half_widths` for each."""
        return float(self.plan.step_half_widths(exact(confidence, "confidence")).max(initial=0.0)) + self._whole

    def half_widths(self, confidence: float = 0.95) -> npt.NDArray[np.float64]:
        """(n,) in steps, per position: of the group's own number."""
        return self.plan.step_half_widths(exact(confidence, "confidence")) + self._whole

    def total_half_widths(self, confidence: float = 0.95) -> npt.NDArray[np.float64]:
        """(n,) in steps, per position: of the total up to and with it."""
        return self.plan.half_widths(exact(confidence, "confidence")) + self._whole / 2

    @property
    def _whole(self) -> float:
        """Totals are released as whole steps: each is half a step off at most, and a difference of two one step."""
        return 0.0 if self.plan.rounding == 0 else 1.0


@dataclass(frozen=True)
class MarginalLaw:
    """Noise of one of several groupings that were measured together, in whole steps. Its groups' errors are correlated,
    and those of other groupings of the same measurement with them."""

    errors: CellErrors
    """Of the axes of this grouping, and the parts it is made of."""
    axes: tuple[int, ...]
    keys: tuple[tuple[int, ...], ...]
    """For each axis the positions of its keys in the measure."""
    shared: str
    """Names the measurement: laws of the same name share the noise of their parts."""

    def variance(self) -> float:
        """Of each group, its rounding counted."""
        return self.errors.variance_of_whole(self.axes)

    def half_width(self, confidence: Number = 0.95) -> int:
        return self.errors.half_width(self.axes, confidence)


Law = DiscreteLaplace | DiscreteGaussian | ChoiceLaw | RunningLaw | MarginalLaw
