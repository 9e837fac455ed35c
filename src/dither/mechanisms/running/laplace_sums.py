"""How wide an interval must be for a sum of independent discrete Laplace draws.

Flow: totals from a tree ask here; one draw alone has a certified width in `noise`.
Relies on: the characteristic function of the sum, inverted by an FFT: probabilities to about 1e-13, so confidences up
to 1 - 1e-9. Wide laws are looked at on a coarser scale and the width rounded up, by under one part in 90.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number
from dither.noise import DiscreteLaplace
from dither.noise.interval import confidence_of

__all__ = ["Parts", "half_width_of_sum"]

Parts = tuple[tuple[DiscreteLaplace, int], ...]
"""Laws, and how many independent draws of each are added or taken away."""

_COARSEST = 64
"""Scales above this are measured in multiples of scale / 64."""

_LEAST_MISS = Fraction(1, 10**9)
_FLOAT_ERROR = 1e-12


def half_width_of_sum(parts: Parts, confidence: Number) -> int:
    """h with P(|sum| <= h) >= confidence, the least one while no scale is above 64."""
    kept = tuple((law, draws) for law, draws in parts if draws)
    level = confidence_of(confidence)
    if not kept:
        return 0
    if len(kept) == 1 and kept[0][1] == 1:
        return kept[0][0].half_width(level)
    if 1 - level < _LEAST_MISS:
        raise InvalidParameter("confidence", expected="at most 1 - 1e-9 for a sum of draws", found=confidence)
    return _half_width(kept, level)


@lru_cache(maxsize=4096)
def _half_width(parts: Parts, confidence: Fraction) -> int:
    widest = max(law.scale for law, _ in parts)
    unit = max(widest / _COARSEST, Fraction(1))
    deviation = math.sqrt(sum(2 * draws * (float(law.scale / unit) + 1) ** 2 for law, draws in parts))
    # A sum of n unit Laplace draws is beyond x with probability at most 2 e^(1 - x / sqrt(n + 1)): at 48 deviations
    # what the finite transform folds back is below 1e-20.
    size = 1 << math.ceil(math.log2(2 * 48 * deviation + 2))
    angles = np.linspace(0.0, math.pi, size // 2 + 1)
    log_transform = np.zeros(len(angles))
    for law, draws in parts:
        p = math.exp(-float(unit / law.scale))
        log_transform += draws * (2 * math.log1p(-p) - np.log((1 - p) ** 2 + 4 * p * np.sin(angles / 2) ** 2))
    probabilities = np.fft.irfft(np.exp(log_transform), size)[: size // 2]
    covered = np.cumsum(probabilities) * 2 - probabilities[0]
    h = int(np.searchsorted(covered, float(confidence) + _FLOAT_ERROR))
    return h if unit == 1 else math.ceil((h + 1) * unit)
