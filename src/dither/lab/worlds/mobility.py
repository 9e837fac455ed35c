"""Phones at antennas, hour by hour: people explore new places ever less and return to old ones by habit.

Model: exploration and preferential return. With S places known, a new one is visited with probability rho S^-gamma
(rho = 0.6, gamma = 0.21), else an old one, in proportion to earlier visits. Source: Song, Koren, Wang, Barabási 2010.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Traces", "traces"]

Ints = NDArray[np.int64]

ANTENNAS = 300
HOURS = 720
"""Thirty days."""
_RHO, _GAMMA = 0.6, 0.21


@dataclass(frozen=True, eq=False)
class Traces:
    """One entry per person and hour with a signal: (n,) arrays; and where antennas stand: (ANTENNAS,) in [0, 1)."""

    person: Ints
    antenna: Ints
    hour: Ints
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    people: int

    def points(self, *, grid: int | None = None, hours: int = 1) -> Ints:
        """(n,) int64: place and time of each entry as one number, places by antenna or by a grid of grid x grid."""
        cells = np.arange(ANTENNAS)
        if grid is not None:
            cells = np.floor(self.x * grid).astype(np.int64) * grid + np.floor(self.y * grid).astype(np.int64)
        return cells[self.antenna] * HOURS + self.hour // hours


def traces(generator: np.random.Generator, people: int = 3000, hours_each: float = 114) -> Traces:
    """Each person is seen in about `hours_each` of the hours."""
    seen = np.clip(generator.poisson(hours_each, people), 10, HOURS)
    steps = int(seen.max())
    visits = _walk(generator, people, steps)
    hours = np.sort(np.argsort(generator.random((people, HOURS)), axis=1)[:, :steps], axis=1)
    # Who is seen less keeps a random part of their hours, in order.
    kept = np.argsort(np.argsort(generator.random((people, steps)), axis=1), axis=1) < seen[:, None]
    person = np.broadcast_to(np.arange(people)[:, None], kept.shape)
    x, y = generator.random(ANTENNAS), generator.random(ANTENNAS)
    return Traces(person[kept], visits[kept], hours[kept], x, y, people)


def _walk(generator: np.random.Generator, people: int, steps: int) -> Ints:
    """(people, steps) antennas visited one after the other."""
    weights = np.arange(1, ANTENNAS + 1) ** -0.8
    cumulated = np.cumsum(weights / weights.sum())
    visits = np.empty((people, steps), dtype=np.int64)
    visits[:, 0] = np.searchsorted(cumulated[:-1], generator.random(people))
    known = np.ones(people)
    everybody = np.arange(people)
    for step in range(1, steps):
        explores = generator.random(people) < _RHO * known**-_GAMMA
        fresh = np.searchsorted(cumulated[:-1], generator.random(people))
        habit = visits[everybody, generator.integers(0, step, people)]
        visits[:, step] = np.where(explores, fresh, habit)
        known += ~np.any(visits[:, :step] == visits[:, step, None], axis=1)
    return visits
