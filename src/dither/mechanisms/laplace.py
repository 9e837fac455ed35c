"""The Laplace mechanism on integers: exact discrete Laplace noise of scale sensitivity / epsilon.

Flow: clamped, truncated, summed integers in; a Release out.
Relies on: the caller's sensitivity (rows per unit times the largest step of one row).
Proof: docs/proofs/mechanisms/laplace.md
"""

from __future__ import annotations

from fractions import Fraction

from dither.accounting.events import LaplaceEvent
from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.mechanisms.release import Release, Values, add_noise
from dither.noise import DiscreteLaplace, Entropy

__all__ = ["laplace", "laplace_scale"]


def laplace(values: Values, *, sensitivity: int, epsilon: Number, entropy: Entropy | None = None) -> Release:
    """Release integers under epsilon-DP.
    values: integers, an array of any shape; the release has the same shape, int64.
    sensitivity: largest L1 distance between the whole vectors of neighbours, in steps, >= 1.  epsilon: nats, > 0.
    Raises InvalidParameter outside these, and for anything but integers.
    For all neighbours D, D' and every set S: Pr[values in S] <= e^epsilon Pr'[values in S].
    Source: Dwork, McSherry, Nissim, Smith 2006; discrete form Ghosh, Roughgarden, Sundararajan 2009."""
    scale = laplace_scale(sensitivity=sensitivity, epsilon=epsilon)
    law = DiscreteLaplace(scale)
    return Release(add_noise(values, law, entropy), law, LaplaceEvent(scale, sensitivity))


def laplace_scale(*, sensitivity: int, epsilon: Number) -> Fraction:
    """Scale b, in steps, at which discrete Laplace noise is epsilon-DP. Exact, no rounding.
    sensitivity: L1, in steps, >= 1.  epsilon: nats, > 0.  Raises InvalidParameter outside these."""
    if not isinstance(sensitivity, int) or isinstance(sensitivity, bool) or sensitivity < 1:
        raise InvalidParameter("sensitivity", expected="a whole number of steps, at least 1", found=sensitivity)
    return sensitivity / positive(epsilon, "epsilon")
