"""From places in metres to a lattice and back: rounding that is exact, and what it costs the guarantee.

Flow: `release.perturb` rounds every point before noise. Relies on: steps that are powers of two, so that dividing by
one is exact in floating point and the nearest lattice point is really the nearest.
A rounded point has moved by at most step / sqrt(2), two of them by sqrt(2) step against each other: a loss of
epsilon per metre on the lattice is at most epsilon (d + sqrt(2) step) for raw points d apart.
Proof: docs/proofs/mechanisms/planar.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.accounting.metric import MetricLoss
from dither.errors import InvalidParameter
from dither.exact import Number, exact, positive, round_down
from dither.noise.bounds import sqrt_bounds

__all__ = ["METRIC", "Lattice", "choose_step", "loss_within", "radius_of"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

METRIC = "metres in the plane"
"""The metric of every loss here: Euclidean distance between plane coordinates, in metres."""

_SHARE = 1000
"""Rounding is let move two points by a thousandth of the radius against each other, so it costs 0.1 % of accuracy."""

_FARTHEST = 2**45
"""Coordinates, in steps: whole numbers well inside a float, with room for the noise."""

_FINEST, _COARSEST = -20, 20


@dataclass(frozen=True)
class Lattice:
    """The points (i step, j step) for whole i, j."""

    step: Fraction
    """Metres, a power of two from 2^-20 to 2^20."""

    def __post_init__(self) -> None:
        ends = (self.step.numerator, self.step.denominator)
        if self.step <= 0 or any(end & (end - 1) for end in ends) or max(ends) > 1 << _COARSEST:
            raise InvalidParameter(
                "step", expected="a power of two in metres, such as 1, 1/2 or 1/8", found=str(self.step),
                hint="Dividing by a power of two is exact, so every point is rounded to its nearest lattice point.",
            )  # fmt: skip

    @property
    def slack(self) -> Fraction:
        """sqrt(2) step, metres, rounded up: what rounding may add to a distance."""
        return sqrt_bounds(Fraction(2), 64)[1] * self.step

    def nearest(self, points: Floats) -> Ints:
        """The nearest lattice points, in steps; ties go to even. points: (n, 2) metres, finite, within 2^45 steps."""
        # Exact: a float over a power of two is a float, and rint rounds it correctly.
        scaled = points / float(self.step)
        if not np.all(np.abs(scaled) <= _FARTHEST):
            raise InvalidParameter("points", expected="finite, and within 2^45 steps of the origin", found="others")
        steps: Ints = np.rint(scaled).astype(np.int64)
        return steps

    def metres(self, steps: Ints) -> Floats:
        """(n, 2) float64, exact up to 2^53 steps."""
        places: Floats = steps.astype(np.float64) * float(self.step)
        return places


def radius_of(radius: Number) -> Fraction:
    """`radius` as an exact number of metres, from a millimetre to 1,000 km."""
    metres = positive(radius, "radius")
    if not Fraction(1, 1000) <= metres <= 1_000_000:
        raise InvalidParameter("radius", expected="from 0.001 to 1,000,000 metres", found=radius)
    return metres


def choose_step(radius: Number) -> Fraction:
    """The largest power of two, metres, at which rounding adds at most a thousandth of `radius` (metres) to a distance:
    1/8 for 200. Finer only makes scales longer; coarser makes the words "within the radius" cost accuracy."""
    wanted = radius_of(radius) / (_SHARE * sqrt_bounds(Fraction(2), 64)[1])
    shift = math.floor(math.log2(wanted)) + 1
    while Fraction(2) ** shift > wanted:
        shift -= 1
    return Fraction(2) ** min(max(shift, _FINEST), _COARSEST)


def loss_within(radius: Number, *, factor: Number, lattice: Lattice) -> MetricLoss:
    """The loss of one point at which the odds of any two raw places within `radius` metres of one another change by at
    most `factor`, their rounding to the lattice included: log(factor) / (radius + sqrt(2) step) per metre.
    factor: 4 for the level `ln 4`; above 1. Rounded down to what a ledger keeps exactly, so that two releases at ln 4
    fit an allowance of ln 16. Raises InvalidParameter for a radius outside 0.001 .. 1,000,000 metres or a factor of 1
    or below."""
    metres = radius_of(radius)
    if exact(factor, "factor") <= 1:
        raise InvalidParameter("factor", expected="above 1", found=factor)
    wanted = MetricLoss.within(metres + lattice.slack, factor=factor, metric=METRIC)
    return MetricLoss(round_down(wanted.epsilon), METRIC)
