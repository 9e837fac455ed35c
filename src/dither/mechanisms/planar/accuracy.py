"""How far planar noise moves a place, in metres: by the law, and measured on fresh draws.

Flow: summaries and pages show both side by side. Nothing here ever looks at a raw place: a measured figure is of fresh
noise about public places, since the distance between one raw place and its noisy one would give the raw one away.
Relies on: the continuous law. The discrete one's mean is that up to about rate^3 / 18 of it, rate in nats per step
(Poisson summation): less than 1e-9 of it at the steps that `choose_step` chooses for factors up to 4.
Proof: docs/proofs/mechanisms/planar.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter

__all__ = ["Displacement", "displacement", "measured", "quantile"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Displacement:
    """Distances between a place and what is shown for it, metres."""

    mean_m: float
    median_m: float
    within_95_m: float
    """95 % of the places are shown at most this far away."""


def displacement(epsilon: Fraction) -> Displacement:
    """By the law: the distance is Gamma(2, 1/epsilon). Mean 2/epsilon, median 1.678/epsilon, 95 % within 4.744/epsilon.
    epsilon: nats per metre."""
    rate = float(epsilon)
    return Displacement(2 / rate, quantile(0.5) / rate, quantile(0.95) / rate)


def measured(shown: Floats, places: Floats) -> Displacement:
    """Of noisy points about places that are public. Both (n, 2) metres, n > 0."""
    apart = np.hypot(*(shown - places).T)
    return Displacement(float(apart.mean()), float(np.median(apart)), float(np.quantile(apart, 0.95)))


def quantile(share: float) -> float:
    """The t with 1 - (1 + t) e^-t = share: the radius, times epsilon, that holds this share of the noise."""
    if not 0 <= share < 1:
        raise InvalidParameter("share", expected="in [0, 1)", found=share)
    low, high = 0.0, 800.0
    for _ in range(200):
        middle = (low + high) / 2
        if -math.expm1(math.log1p(middle) - middle) < share:
            low = middle
        else:
            high = middle
    return high
