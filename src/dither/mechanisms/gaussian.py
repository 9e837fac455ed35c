"""The Gaussian mechanism on integers: exact discrete Gaussian noise of variance sensitivity^2 / (2 rho).

Flow: clamped, truncated, summed integers in; a Release out. Relies on: the caller's squared L2 sensitivity.
Proof: docs/proofs/mechanisms/gaussian.md
"""

from __future__ import annotations

from fractions import Fraction

from dither.accounting.events import GaussianEvent
from dither.exact import Number, positive
from dither.mechanisms.release import Release, Values, add_noise
from dither.noise import DiscreteGaussian, Entropy

__all__ = ["gaussian", "gaussian_variance"]


def gaussian(
    values: Values, *, sensitivity_squared: Fraction | int, rho: Number, entropy: Entropy | None = None
) -> Release:
    """Release integers under rho-zCDP.
    values: integers, an array of any shape; the release has the same shape, int64.
    sensitivity_squared: largest squared L2 distance between the whole vectors of neighbours, in squared steps, > 0.
    rho: > 0.  Raises InvalidParameter outside these, and for anything but integers.
    For all neighbours D, D' and every alpha > 1: the Renyi divergence of order alpha is at most rho alpha.
    Source: Canonne, Kamath, Steinke 2020."""
    variance = gaussian_variance(sensitivity_squared=sensitivity_squared, rho=rho)
    law = DiscreteGaussian(variance)
    squared = positive(sensitivity_squared, "sensitivity_squared")
    return Release(add_noise(values, law, entropy), law, GaussianEvent(variance, squared))


def gaussian_variance(*, sensitivity_squared: Fraction | int, rho: Number) -> Fraction:
    """The parameter sigma squared, in squared steps, at which discrete Gaussian noise is rho-zCDP. Exact.
    sensitivity_squared: L2 squared, in squared steps, > 0.  rho: > 0.  Raises InvalidParameter outside these."""
    return positive(sensitivity_squared, "sensitivity_squared") / (2 * positive(rho, "rho"))
