"""What is shown of totals with Gaussian noise: widths of intervals, and a grid on which steps and totals agree.

Flow: `totals` and `stream` ask after the noise was drawn.
Relies on: noise with thousands of steps of standard deviation, of which a weighted sum is normal to far below a float.
Proof: docs/proofs/mechanisms/running-square-root.md, part 3
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number
from dither.noise.interval import confidence_of

__all__ = ["grid_step", "normal_half_widths", "on_grid"]

Floats = NDArray[np.float64]


def normal_half_widths(variances: Floats, confidence: Number) -> Floats:
    """(n,) float64: for each variance, h with P(|noise| <= h) = confidence."""
    level = float(confidence_of(confidence))
    return NormalDist().inv_cdf((1 + level) / 2) * np.sqrt(variances)


def grid_step(deviation: float) -> float:
    """The power of two whose multiples totals are: at most 1/4000 of one position's noise deviation."""
    return math.ldexp(1.0, math.frexp(deviation)[1] - 13)


def on_grid(totals: Floats, step: float) -> Floats:
    """Totals as whole multiples of `step`, or of a larger power of two where 52 bits would not hold them."""
    if step == 0.0:
        return totals
    largest = float(np.abs(totals).max())
    step = max(step, math.ldexp(1.0, math.frexp(largest)[1] - 52))
    # + 0.0: no negative zeros in a table.
    return np.rint(totals / step) * step + 0.0
