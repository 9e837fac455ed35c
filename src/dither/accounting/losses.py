"""The privacy loss of single events, on a grid: what `pld` composes.

The loss L of an event is log P/Q at an answer drawn from P, for its worst pair of laws P, Q (a dominating pair: no
neighbours are further apart at any hockey-stick distance). A law of losses is put on the multiples of a step by
connecting the dots: the mass p of losses in a cell [u, u + h] moves to the cell's two ends such that both P's and Q's
mass stay the same. That never lowers a hockey-stick distance, and raises the variance by at most p h^2/4.
Flow: `loss_of(event)` -> a law -> `on_grid(step, tilt)` -> `pld`.
Relies on: numpy. Proofs: docs/proofs/accounting/dominating-pairs.md, docs/proofs/accounting/loss-distributions.md
Source: Zhu, Dong, Wang 2022 (dominating pairs); Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022 (connect the dots).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dither.accounting.events import Event, ExponentialEvent, GaussianEvent, LaplaceEvent, PureEvent, SelectionEvent
from dither.accounting.gdp import mu_squared_of, normal_below

__all__ = ["ContinuousLaplace", "GridLoss", "LossLaw", "NormalLoss", "loss_of"]

Floats = NDArray[np.float64]

_DEEP = 64.0
"""What weighs less than e^-64 after tilting is not kept apart: low losses are raised to where all of them would weigh
so little, high ones count as infinite (they add less than e^-64 of the Chernoff bound)."""
_FAR = 13.0
"""Standard deviations kept of a Gaussian: 6e-39 lies beyond, and is counted as infinite loss."""
_MOST_ATOMS = 2048
_WIDEST_ATOMS = 10_000
"""Variance of unit-distance Gaussian noise up to which its atoms are listed; above, `mu_squared_of` is within 0.02
%."""


@dataclass(frozen=True)
class GridLoss:
    """Masses at the losses (first + i) step, i = 0..n-1, and the mass of infinite loss. Together about 1."""

    first: int
    masses: Floats
    """(n,) float64, under P, ascending in loss."""
    beyond: float


class LossLaw(Protocol):
    """The law of the privacy loss of one event's dominating pair; the pair is its own mirror image."""

    def on_grid(self, step: float, tilt: float) -> GridLoss:
        """A law at least as far apart. Losses that weigh nothing after multiplication by exp(tilt loss) are raised to
        where the grid begins or ends.  step, tilt: above 0."""
        ...

    def span(self, tilt: float) -> float:
        """About the length of the interval of losses that `on_grid` keeps."""
        ...


@dataclass(frozen=True)
class AtomicLoss:
    """Finitely many losses."""

    losses: Floats
    """(n,) float64, nats."""
    masses: Floats
    beyond: float = 0.0

    def on_grid(self, step: float, tilt: float) -> GridLoss:
        low, high = self._kept(tilt)
        inside = self.losses <= high
        beyond = self.beyond + float(self.masses[~inside].sum())
        return _atoms(np.maximum(self.losses[inside], low), self.masses[inside], step, beyond)

    def span(self, tilt: float) -> float:
        low, high = self._kept(tilt)
        return high - low

    def _kept(self, tilt: float) -> tuple[float, float]:
        """Between which losses something weighs more than e^-64 of the heaviest atom, after tilting."""
        with np.errstate(divide="ignore"):
            weights = np.log(self.masses) + tilt * self.losses
        least = weights.max() - _DEEP
        # A mass of at most 1 at loss least/tilt would weigh e^least.
        return max(float(self.losses.min()), float(least) / tilt), float(self.losses[weights >= least].max())


@dataclass(frozen=True)
class ContinuousLaplace:
    """Losses between -epsilon and epsilon with density top exp((L - epsilon)/2), and atoms at both ends.

    Laplace noise: top 1/4, upper atom 1/2, lower atom exp(-epsilon)/2. Bounded range, the exponential mechanism:
    top 1/(2 (1 - exp(-epsilon))) and no atoms."""

    epsilon: float
    bounded_range: bool = False

    def on_grid(self, step: float, tilt: float) -> GridLoss:
        lowest = max(-self.epsilon, self.epsilon - _DEEP / tilt)
        first, last = math.floor(lowest / step), math.ceil(self.epsilon / step)
        edges = np.clip(np.arange(first, last + 1) * step, lowest, self.epsilon)
        low, high = edges[:-1], edges[1:]
        index = np.arange(first, last)
        base = index * step
        top = 1 / (-2 * math.expm1(-self.epsilon)) if self.bounded_range else 0.25
        half = np.exp((low - self.epsilon) / 2)
        width = (high - low) / 2
        p = 2 * top * half * np.expm1(width)
        # Q has the density exp(-L) p: its mass in the cell, times exp(base), is p's formula with exp(-width).
        q = -2 * top * half * np.exp(base - low) * np.expm1(-width)
        ends = 0.0 if self.bounded_range else 0.5
        # All mass below the lowest kept loss is raised to it.
        below = 2 * top * (math.exp((lowest - self.epsilon) / 2) - math.exp(-self.epsilon)) + ends * math.exp(
            -self.epsilon
        )
        atoms = _atoms(np.array([self.epsilon, lowest]), np.array([ends, below]), step, 0.0)
        return _sum(atoms, _connect(index, p, _share(p, q, step), 0.0))

    def span(self, tilt: float) -> float:
        return min(2 * self.epsilon, _DEEP / tilt)


@dataclass(frozen=True)
class NormalLoss:
    """The loss of N(0, 1) against N(mu, 1): normal, mean mu^2/2, standard deviation mu."""

    mu: float

    def on_grid(self, step: float, tilt: float) -> GridLoss:
        # Tilted, the mean moves up by tilt mu^2.
        middle = self.mu * self.mu / 2
        first = math.floor((middle - _FAR * self.mu) / step)
        first = max(first, math.floor((middle + (tilt * self.mu - _FAR) * self.mu) / step))
        last = math.ceil((middle + (tilt * self.mu + _FAR) * self.mu) / step)
        edges = np.arange(first, last + 1) * step
        p = _normal_cells((edges - middle) / self.mu)
        q = _normal_cells((edges + middle) / self.mu) * np.exp(np.minimum(edges[:-1], 700.0))
        below = normal_below((edges[0] - middle) / self.mu)
        beyond = normal_below(-(edges[-1] - middle) / self.mu)
        cells = _connect(np.arange(first, last), p, _share(p, q, step), beyond)
        cells.masses[0] += below
        return cells

    def span(self, tilt: float) -> float:
        return 2 * _FAR * self.mu


def loss_of(event: Event) -> LossLaw | None:
    """The loss of an event outside its failure mass; None where no dominating pair is known here (narrow discrete
    Gaussian noise on vectors). A free event loses nothing: an atom at 0."""
    match event:
        case LaplaceEvent(scale, distance):
            return _laplace(scale, distance)
        case GaussianEvent(variance, 1) if variance <= _WIDEST_ATOMS:
            return _unit_gaussian(float(variance))
        case GaussianEvent():
            squared = mu_squared_of(event)
            return None if squared is None else _free() if squared == 0 else NormalLoss(_root_up(squared))
        case ExponentialEvent(epsilon):
            return ContinuousLaplace(_up(epsilon), bounded_range=True) if epsilon else _free()
        case PureEvent(epsilon) | SelectionEvent(epsilon, _):
            return _randomised_response(_up(epsilon))
        case _:
            return None


def _laplace(scale: Fraction, distance: int) -> LossLaw:
    """Discrete Laplace noise: losses (d - 2j)/b. With many of them, continuous Laplace noise of epsilon' = d/b +
    2 log cosh(1/(2b)) is above it, by less than 1/(4 b d) of epsilon."""
    b, epsilon = float(scale), _up(distance / scale)
    if distance > _MOST_ATOMS:
        return ContinuousLaplace((epsilon + 2 * math.log(math.cosh(min(1 / (2 * b), 700.0)))) * (1 + 1e-15))
    if distance == 0:
        return _free()
    j = np.arange(distance + 1)
    masses = -np.expm1(-1 / b) * np.exp(-j / b)
    masses[0], masses[-1] = 1.0, math.exp(-distance / b)
    return AtomicLoss((distance - 2 * j) / distance * epsilon, masses / (1 + math.exp(-1 / b)))


def _unit_gaussian(variance: float) -> LossLaw:
    """Discrete Gaussian noise at distance 1, at which only one coordinate can differ: losses (1 + 2k)/(2 variance)."""
    reach = math.ceil(_FAR * math.sqrt(variance)) + 3
    # Tilting moves the law of k by the tilt, in steps: far enough for every tilt that `pld` proposes at delta 1e-10.
    k = np.arange(-reach, 2 * reach + 1)
    weights = np.exp(-(k**2) / (2 * variance))
    # The two tails that are left out are each below the weight of one standard deviation at the cut.
    beyond = 3 * math.exp(-(reach**2) / (2 * variance)) * math.sqrt(variance + 1)
    return AtomicLoss((1 + 2 * k) / (2 * variance), weights / weights.sum(), beyond)


def _randomised_response(epsilon: float) -> LossLaw:
    keep = 1 / (1 + math.exp(-epsilon))
    return AtomicLoss(np.array([epsilon, -epsilon]), np.array([keep, math.exp(-epsilon) * keep]))


def _free() -> LossLaw:
    return AtomicLoss(np.zeros(1), np.ones(1))


def _normal_cells(edges: NDArray[np.floating[Any]]) -> Floats:
    """Phi between neighbouring edges, from the tail on which it is smaller."""
    lower = np.array([normal_below(x) for x in edges.tolist()])
    upper = np.array([normal_below(-x) for x in edges.tolist()])
    cells: Floats = np.where(edges[:-1] < 0, np.diff(lower), -np.diff(upper))
    return np.maximum(cells, 0.0)


def _atoms(losses: Floats, masses: Floats, step: float, beyond: float) -> GridLoss:
    """Split atoms: of one at u + x, u on the grid, the share (1 - exp(-x))/(1 - exp(-step)) goes to u + step."""
    index = np.floor(losses / step).astype(np.int64)
    upper = np.expm1(-(losses - index * step)) / math.expm1(-step)
    return _connect(index, masses, np.clip(upper, 0.0, 1.0), beyond)


def _share(p: Floats, q: Floats, step: float) -> Floats:
    """Of a cell's mass, the share that goes to its upper end: (p - q)/(1 - exp(-step)), q being Q's mass times
    exp(lower end), keeps the masses of both laws. Rounding moves mass between neighbours only."""
    with np.errstate(invalid="ignore", divide="ignore"):
        upper = (p - q) / p / -math.expm1(-step)
    return np.clip(np.nan_to_num(upper, nan=1.0), 0.0, 1.0)


def _connect(index: NDArray[np.int64], masses: Floats, upper: Floats, beyond: float) -> GridLoss:
    """Put each mass on the grid points `index` and, for its upper share, `index` + 1."""
    first = int(index.min())
    length = int(index.max()) - first + 2
    total = np.zeros(length)
    total += np.bincount(index - first, masses * (1 - upper), length)
    total += np.bincount(index - first + 1, masses * upper, length)
    return GridLoss(first, total, beyond)


def _sum(one: GridLoss, other: GridLoss) -> GridLoss:
    first = min(one.first, other.first)
    last = max(one.first + len(one.masses), other.first + len(other.masses))
    total = np.zeros(last - first)
    for part in (one, other):
        total[part.first - first : part.first - first + len(part.masses)] += part.masses
    return GridLoss(first, total, one.beyond + other.beyond)


def _up(value: Fraction) -> float:
    return math.nextafter(float(value), math.inf) if value else 0.0


def _root_up(value: Fraction) -> float:
    return math.sqrt(float(value)) * (1 + 1e-15)
