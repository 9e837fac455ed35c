"""On which grid, with which tilt, the losses of events are added up.

Flow: `pld.privacy_loss` asks for the laws of its events (`merged`), a grid for all of them (`plan`), and each law
tilted onto it (`tilted`). Nothing here decides whether a bound holds: a poor grid costs tightness or time only.
Relies on: numpy, `losses`; `renyi` for the moments. Proof: docs/proofs/accounting/loss-distributions.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.accounting.events import Event
from dither.accounting.gdp import mu_squared_of
from dither.accounting.losses import AtomicLoss, GridLoss, LossLaw, NormalLoss, loss_of
from dither.accounting.renyi import ORDERS
from dither.errors import InvalidParameter

__all__ = ["Grid", "law_of", "merged", "plan", "tilted"]

Floats = NDArray[np.float64]

_TIGHTNESS = 2e-4
"""Aim of the grid: connecting the dots raises epsilon by about this share of it."""
_LEAST_BITS = 12
_MOST_POINTS = 2**16
_FEW = 64
_MOST_POINTS_FOR_FEW = 2**18
"""The grid has at least 2^12 points; at most 2^18 for up to `_FEW` distinct events, 2^16 for more, to stay quick."""


@dataclass(frozen=True)
class Grid:
    step: float
    """Nats; few significant bits, so that multiples are exact."""
    points: int
    tilt: float


def merged(counted: Mapping[Event, int]) -> list[tuple[LossLaw, int]]:
    """One law per distinct event, and one for all Gaussian noise together: normal losses add up to a normal loss."""
    laws: list[tuple[LossLaw, int]] = []
    squares = Fraction(0)
    for event, count in counted.items():
        law = law_of(event)
        if isinstance(law, NormalLoss):
            squares += count * (mu_squared_of(event) or 0)
        elif not (isinstance(law, AtomicLoss) and not law.losses.any()):
            laws.append((law, count))
    return [*laws, (NormalLoss(math.sqrt(float(squares)) * (1 + 1e-15)), 1)] if squares else laws


def plan(moments: Floats, laws: list[tuple[LossLaw, int]], delta: float, octaves: int) -> Grid:
    """The tilt that gives the best Rényi bound at this delta, halved so many times; a window of 20 of its standard
    deviations, and a step that raises epsilon by `_TIGHTNESS`: tilt (variance added)/2 <= `_TIGHTNESS` epsilon."""
    a = ORDERS - 1
    bounds = (moments + a * np.log(a / ORDERS) - math.log(delta) - np.log(ORDERS)) / a
    best = max(int(np.argmin(bounds)) - 8 * octaves, 0)
    tilt, epsilon = float(a[best]), max(float(bounds[best]), 1e-6)
    variance = max(float(np.gradient(np.gradient(moments, a), a)[best]), 0.0)
    count = max(1, sum(count for _, count in laws))
    span = sum(law.span(tilt) * count for law, count in laws)
    window = min(max(20 * math.sqrt(variance), 60 / tilt), 1.01 * span + 1e-9)
    fine = math.sqrt(8 * _TIGHTNESS * epsilon / (count * tilt))
    most = _MOST_POINTS_FOR_FEW if len(laws) <= _FEW else _MOST_POINTS
    points = min(1 << max(math.ceil(math.log2(window / fine)), _LEAST_BITS), most)
    return Grid(_short(window / (points - 16)), points, tilt)


def tilted(loss: GridLoss, grid: Grid) -> tuple[Floats, float]:
    """The tilted masses, of sum 1, and the log-moment that undoes it."""
    last = loss.first + len(loss.masses) - 1
    weights = loss.masses * np.exp(grid.tilt * grid.step * (np.arange(len(loss.masses)) - len(loss.masses) + 1))
    total = float(weights.sum())
    return weights / total, math.log(total) + grid.tilt * grid.step * last


def law_of(event: Event) -> LossLaw:
    law = loss_of(event)
    if law is None:
        raise InvalidParameter("event", expected="an event with a known privacy-loss distribution", found=event)
    return law


def _short(value: float) -> float:
    """`value` rounded up to 12 significant bits."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.ceil(mantissa * 4096) / 4096, exponent)
