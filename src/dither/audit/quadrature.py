"""Integrals over one shared noise, with an error bound: the probabilities of sparse vector and noisy maximum.

Flow: `families` describes an outcome as a product of one-query factors given the shared noise r; this integrates it
against the density of r and returns an enclosure for `exact`.
Relies on: NumPy's Gauss-Legendre nodes.  Proof: docs/proofs/audit/quadrature.md

Between breakpoints every factor is a sum of exponentials in r with rates at most `rate`, so with 12 nodes on panels of
width 1/rate the rule is off by less than 1e-37 times 2^k. What remains is the tails beyond 60 scales, and rounding: all
terms are positive, so it is at most a few units in the last place for each factor and node.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dither.audit.exact import Bounds

__all__ = ["Law", "Values", "exponential_law", "integrals", "laplace_law"]

Values = NDArray[np.float64]

_NODES = 12
_REACH_SCALES = 60.0
_UNIT = 2.0**-52


@dataclass(frozen=True)
class Law:
    """A noise law of one scale: density, P(X <= x), P(X > x)."""

    scale: float
    lowest: float
    """In scales: where the integration starts."""
    density: Callable[[Values], Values]
    below: Callable[[Values], Values]
    above: Callable[[Values], Values]


def laplace_law(scale: float) -> Law:
    """Density exp(-|x|/scale) / (2 scale); each tail computed where it is small, so without cancellation."""

    def below(x: Values) -> Values:
        half = np.exp(-np.abs(x) / scale) / 2
        return np.where(x < 0, half, 1 - half)

    return Law(
        scale,
        -_REACH_SCALES,
        lambda x: np.exp(-np.abs(x) / scale) / (2 * scale),
        below,
        lambda x: below(-x),
    )


def exponential_law(scale: float) -> Law:
    """Density exp(-x/scale) / scale on x >= 0."""

    def above(x: Values) -> Values:
        return np.exp(-np.maximum(x, 0.0) / scale)

    return Law(
        scale,
        0.0,
        lambda x: np.where(x < 0, 0.0, np.exp(-np.maximum(x, 0.0) / scale) / scale),
        lambda x: -np.expm1(-np.maximum(x, 0.0) / scale),
        above,
    )


def integrals(
    law: Law,
    integrand: Callable[[Values], Values],
    *,
    breakpoints: Sequence[float],
    fastest_scale: float,
    factors: int,
    loose: float = 0.0,
) -> list[Bounds]:
    """Enclosures of the integral of law.density(r) * integrand(r)[outcome] over r, for every outcome.

    integrand: (nodes,) -> (outcomes, nodes), values in [0, 1], each a product of at most `factors` factors that are,
    between breakpoints, sums of exponentials of scale >= fastest_scale whose sizes add up to 2 at most.
    loose: units in the last place by which a product may be off besides, where factors are not right to 8 of them."""
    rate = 1 / law.scale + factors / fastest_scale
    nodes, weights = _panels(law, sorted(breakpoints), rate)
    values = integrand(nodes) @ (weights * law.density(nodes))
    rule = _rule_error() * 2.0**factors * math.e
    tails = 2 * math.exp(-_REACH_SCALES)
    rounding = (len(nodes) + 8 * (factors + 2) + loose) * _UNIT
    return [_enclosure(float(value), rule + tails, rounding) for value in values]


def _panels(law: Law, breakpoints: Sequence[float], rate: float) -> tuple[Values, Values]:
    """Nodes and weights on panels no wider than 1/rate, none of which has a breakpoint inside."""
    start, end = law.lowest * law.scale, _REACH_SCALES * law.scale
    marks = np.unique([start, end, *(max(start, 0.0),), *(each for each in breakpoints if start < each < end)])
    borders = [np.linspace(low, high, math.ceil((high - low) * rate) + 1)[:-1] for low, high in pairwise(marks)]
    lefts = np.concatenate(borders)
    widths = np.diff(np.append(lefts, end))
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    nodes = lefts[:, None] + widths[:, None] * (points + 1) / 2
    return nodes.ravel(), (widths[:, None] * weights / 2).ravel()


def _rule_error() -> float:
    """Of Gauss-Legendre with n nodes on a unit panel, per unit of the 2n-th derivative: (n!)^4 / ((2n+1) ((2n)!)^3).
    Source: Abramowitz, Stegun 25.4.30."""
    n = _NODES
    return math.factorial(n) ** 4 / ((2 * n + 1) * math.factorial(2 * n) ** 3)


def _enclosure(value: float, absolute: float, relative: float) -> Bounds:
    slack = abs(value) * relative + absolute
    return Fraction(max(0.0, value - slack)), Fraction(min(1.0, value + slack))
