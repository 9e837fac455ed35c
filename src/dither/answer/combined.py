"""How far the sum of several independent noises can lie from zero: for rows that are added up.

Flow: `present(other=...)`. An upper bound, not the exact law: the least of Chernoff's bound over many rates and of the
union bound. For t > 0, P(|S| >= t) <= 2 exp(-rate t) M(rate)^k, with M the moment generating function of one noise:
that of the discrete Laplace law is (1-p)^2 / ((1 - p e^rate)(1 - p e^-rate)), that of the discrete Gaussian at most
exp(rate^2 sigma2 / 2).  Proof: docs/proofs/answer/intervals.md
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dither.noise import DiscreteGaussian, DiscreteLaplace

__all__ = ["half_width_of_sum"]


def half_width_of_sum(law: DiscreteLaplace | DiscreteGaussian, count: int, confidence: Fraction) -> float:
    """In steps: at least `confidence` of the sums of `count` independent noises lie within it."""
    if count <= 1:
        return float(law.half_width(confidence)) * count
    union = float(count * law.half_width(1 - (1 - confidence) / count))
    miss = float(1 - confidence)
    if isinstance(law, DiscreteGaussian):
        return min(union, math.sqrt(2 * count * float(law.sigma2) * math.log(2 / miss)))
    scale = float(law.scale)
    # Rates below 1/scale, where the Laplace law has exponential moments; any of them gives a valid bound.
    rates = np.linspace(0.001, 0.999, 999) / scale
    # log M = 2 log(1-p) - log(1 - p e^r) - log(1 - p e^-r), p = exp(-1/scale).
    logs = 2 * np.log(-np.expm1(-1 / scale))
    logs = logs - np.log(-np.expm1(rates - 1 / scale)) - np.log(-np.expm1(-rates - 1 / scale))
    bounds = (math.log(2 / miss) + count * logs) / rates
    return min(union, float(bounds.min()) * (1 + 1e-9))
