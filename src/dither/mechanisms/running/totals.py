"""Running totals of private counts: plan them from public facts, then release them all at once.

Flow: `plan_running_totals` chooses the mechanism for an offer and prices it without data; its `release` takes the
counts (an array or a Secret). `running_totals` does both. `stream` is for counts that arrive day by day.
An offer of rho buys the normalised square root with Gaussian noise, an offer of epsilon a balanced tree with Laplace
noise. Each measures whole numbers exactly, adds exact noise, and makes totals afterwards.
Relies on: the caller's limit on rows per unit; `square_root`, `tree`; the additive mechanisms' noise.
Proofs: docs/proofs/mechanisms/running-square-root.md, docs/proofs/mechanisms/running-tree.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.accounting.events import GaussianEvent, LaplaceEvent
from dither.accounting.price import Price, price
from dither.errors import InvalidParameter
from dither.exact import Number
from dither.mechanisms.gaussian import gaussian_variance
from dither.mechanisms.laplace import laplace_scale
from dither.mechanisms.release import Neighbours, Values, add_noise, opened, saturate
from dither.mechanisms.running.bounds import binary_tree_largest_variance, least_largest_variance
from dither.mechanisms.running.laplace_sums import half_width_of_sum
from dither.mechanisms.running.normal_sums import grid_step, normal_half_widths, on_grid
from dither.mechanisms.running.square_root import SquareRoot, square_root_for
from dither.mechanisms.running.tree import BalancedTree, choose_tree
from dither.noise import DiscreteGaussian, DiscreteLaplace, Entropy

__all__ = [
    "LARGEST_COUNT",
    "RangeTotal",
    "RunningPlan",
    "RunningRelease",
    "most_countable",
    "plan_running_totals",
    "running_totals",
]

Floats = NDArray[np.float64]

LARGEST_COUNT = 2**27
"""Default public maximum of one count; larger ones count as this many."""


@dataclass(frozen=True)
class RunningPlan:
    """What running totals would be and cost, from public facts alone. Positions are numbered from 0."""

    n: int
    design: SquareRoot | BalancedTree
    law: DiscreteGaussian | DiscreteLaplace
    event: GaussianEvent | LaplaceEvent
    largest_count: int

    @property
    def price(self) -> Price:
        return price(self.event)

    @property
    def variances(self) -> Floats:
        """(n,) float64, squared counts: the variance of each total. The first use at a new length takes a while from
        100,000 positions on (2 s at a million, square root)."""
        return self.design.gains[: self.n] * self.law.variance()

    @property
    def noise_scale(self) -> float:
        """In counts: Laplace's b of a node, or Gaussian sigma of what one position adds."""
        if isinstance(self.law, DiscreteLaplace):
            return float(self.law.scale)
        assert isinstance(self.design, SquareRoot)
        return math.sqrt(self.law.variance() / float(self.design.column_squared))

    @property
    def largest_variance(self) -> float:
        return float(self.variances.max(initial=0.0))

    @property
    def reason(self) -> str:
        """Why this mechanism, in one sentence, with its largest variance beside what else could be had."""
        return _why_tree(self, self.design) if isinstance(self.design, BalancedTree) else _why_root(self, self.design)

    def half_widths(self, confidence: Number = Fraction(95, 100)) -> Floats:
        """(n,) float64, counts: each total is within this of the truth with at least this probability."""
        gains, place = np.unique(self.design.gains[: self.n], return_inverse=True)
        if isinstance(self.law, DiscreteGaussian):
            return normal_half_widths(gains * self.law.variance(), confidence)[place] + self.rounding
        widths = [half_width_of_sum(((self.law, int(nodes)),), confidence) for nodes in gains]
        return np.array(widths, dtype=np.float64)[place]

    @property
    def step_variances(self) -> Floats:
        """(n,) float64, squared counts: the variance of each single count, as the difference of two totals."""
        return self.design.step_gains[: self.n] * self.law.variance()

    def step_half_widths(self, confidence: Number = Fraction(95, 100)) -> Floats:
        """(n,) float64, counts: each single count is within this of the truth with at least this probability."""
        gains, place = np.unique(self.design.step_gains[: self.n], return_inverse=True)
        if isinstance(self.law, DiscreteGaussian):
            return normal_half_widths(gains * self.law.variance(), confidence)[place] + 2 * self.rounding
        widths = [half_width_of_sum(((self.law, int(nodes)),), confidence) for nodes in gains]
        return np.array(widths, dtype=np.float64)[place]

    def variance_between(self, first: int, last: int) -> float:
        """The variance of the sum of the counts at positions first..last, both included."""
        return self.design.gain_between(*self._range(first, last)) * self.law.variance()

    def half_width_between(self, first: int, last: int, confidence: Number = Fraction(95, 100)) -> float:
        gain = self.design.gain_between(*self._range(first, last))
        if isinstance(self.law, DiscreteLaplace):
            return float(half_width_of_sum(((self.law, int(gain)),), confidence))
        width = normal_half_widths(np.array([gain * self.law.variance()]), confidence)
        return float(width[0]) + 2 * self.rounding

    @property
    def rounding(self) -> float:
        """Totals from the square root are whole multiples of this power of two, at most 1/4000 of one position's noise:
        then steps are differences of totals, and totals sums of steps, to the last bit. 0 for whole numbers."""
        if isinstance(self.design, BalancedTree):
            return 0.0
        return grid_step(self.noise_scale)

    def release(self, counts: Values, *, entropy: Entropy | None = None) -> RunningRelease:
        """The noisy totals of counts (n,): the only step that reads data."""
        if opened(counts).shape != (self.n,):
            raise InvalidParameter("counts", expected=f"{self.n} integers in a row", found="another shape")
        if self.n == 0:
            return RunningRelease(self, np.zeros(0))
        clean = np.clip(saturate(counts), -self.largest_count, self.largest_count)
        noisy = add_noise(self.design.measure(clean, self.largest_count), self.law, entropy)
        return RunningRelease(self, on_grid(self.design.totals(noisy), self.rounding))

    def _range(self, first: int, last: int) -> tuple[int, int]:
        if not 0 <= first <= last < self.n:
            raise InvalidParameter("range", expected=f"0 <= first <= last < {self.n}", found=(first, last))
        return first, last


@dataclass(frozen=True)
class RangeTotal:
    """The sum of the counts at positions first..last, both included."""

    first: int
    last: int
    value: float
    variance: float
    half_width: float
    confidence: Number


@dataclass(frozen=True)
class RunningRelease:
    """Noisy running totals, safe to show; what was planned holds for them."""

    plan: RunningPlan
    totals: Floats
    """(n,) float64: totals[t] estimates the sum of the counts at positions 0..t."""

    @property
    def steps(self) -> Floats:
        """(n,) float64: ∇ totals, the estimated counts; exactly the differences of the totals."""
        return np.diff(self.totals, prepend=0.0)

    @property
    def event(self) -> GaussianEvent | LaplaceEvent:
        return self.plan.event

    @property
    def price(self) -> Price:
        return self.plan.price

    @property
    def variances(self) -> Floats:
        return self.plan.variances

    def half_widths(self, confidence: Number = Fraction(95, 100)) -> Floats:
        return self.plan.half_widths(confidence)

    def between(self, first: int, last: int, confidence: Number = Fraction(95, 100)) -> RangeTotal:
        """The sum over any range, with its own error: less than that of two unrelated totals. Costs nothing more."""
        variance = self.plan.variance_between(first, last)
        value = float(self.totals[last] - (self.totals[first - 1] if first else 0.0))
        return RangeTotal(
            first, last, value, variance, self.plan.half_width_between(first, last, confidence), confidence
        )


def running_totals(
    counts: Values,
    *,
    neighbours: Neighbours,
    rho: Number | None = None,
    epsilon: Number | None = None,
    max_rows_per_unit: int = 1,
    largest_step: int = 1,
    signed: bool = True,
    largest_count: int = LARGEST_COUNT,
    entropy: Entropy | None = None,
) -> RunningRelease:
    """Release all running totals of private counts, under rho-zCDP or epsilon-DP: exactly one of the two is offered.
    counts: (n,) integers; the totals are (n,).  Precondition and arguments: as `plan_running_totals`. How many counts
    there are is public."""
    plan = plan_running_totals(
        len(np.atleast_1d(opened(counts))),
        neighbours=neighbours,
        rho=rho,
        epsilon=epsilon,
        max_rows_per_unit=max_rows_per_unit,
        largest_step=largest_step,
        signed=signed,
        largest_count=largest_count,
    )
    return plan.release(counts, entropy=entropy)


def plan_running_totals(
    n: int,
    *,
    neighbours: Neighbours,
    rho: Number | None = None,
    epsilon: Number | None = None,
    max_rows_per_unit: int = 1,
    largest_step: int = 1,
    signed: bool = True,
    largest_count: int = LARGEST_COUNT,
) -> RunningPlan:
    """The mechanism that an offer buys for n counts.
    Precondition: a unit has at most max_rows_per_unit rows, each adding at most largest_step to one count, in size.
    signed: False promises that no row adds less than 0, which halves the variance under `replace` and rho.
    largest_count: public; counts beyond are taken as this many.  An empty range (n = 0) costs nothing.
    rho: > 0, buys Gaussian noise; or epsilon: nats, > 0, Laplace noise. Raises InvalidParameter for both or neither,
    and for anything below these."""
    for name, value in (("n", n + 1), ("max_rows_per_unit", max_rows_per_unit), ("largest_step", largest_step)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidParameter(name, expected="a whole number, at least 1 (n: 0)", found=value)
    if neighbours not in ("add_remove", "replace"):
        raise InvalidParameter("neighbours", expected="add_remove or replace", found=neighbours)
    moved = max_rows_per_unit * largest_step
    if rho is None and epsilon is not None:
        return _plan_tree(n, epsilon, moved * (2 if neighbours == "replace" else 1), largest_count)
    if rho is None or epsilon is not None:
        raise InvalidParameter("offer", expected="rho or epsilon, one of them", found="both" if rho else "neither")
    # Columns of C have no negative entries: what a replaced unit takes away and what it adds are at right angles or
    # nearer, so their squares add up; signed steps may point the same way.
    replaced = (4 if signed else 2) if neighbours == "replace" else 1
    return _plan_square_root(n, rho, replaced * moved**2, largest_count)


def most_countable(n: int, *, pure: bool) -> int:
    """The largest count that n positions can be planned with, whole power of two, at the finest weights: for epsilon
    (pure) or rho. Public: what lies beyond counts as this many."""
    limit = choose_tree(max(n, 1)).largest_count if pure else square_root_for(max(n, 1), 1).largest_count
    return 1 << (min(limit, 2**50).bit_length() - 1)


def _plan_square_root(n: int, rho: Number, moved_squared: int, largest_count: int) -> RunningPlan:
    design = square_root_for(max(n, 1), largest_count)
    distance = moved_squared * design.column_squared
    variance = gaussian_variance(sensitivity_squared=distance, rho=rho)
    event = GaussianEvent(variance, distance if n else 0)
    return RunningPlan(n, design, DiscreteGaussian(variance), event, largest_count)


def _plan_tree(n: int, epsilon: Number, moved: int, largest_count: int) -> RunningPlan:
    design = choose_tree(max(n, 1))
    if largest_count > design.largest_count:
        raise InvalidParameter("largest_count", expected=f"at most {design.largest_count:,}", found=largest_count)
    distance = moved * design.levels
    scale = laplace_scale(sensitivity=distance, epsilon=epsilon)
    return RunningPlan(n, design, DiscreteLaplace(scale), LaplaceEvent(scale, distance if n else 0), largest_count)


def _why_tree(plan: RunningPlan, tree: BalancedTree) -> str:
    n = tree.n
    if tree.levels == 1:
        return f"One noisy count per position, summed up: for {n:,} positions no tree has a smaller largest variance."
    unit = plan.law.variance() / tree.levels**2
    return (
        f"An offer of epsilon buys a {tree.name} of {tree.levels} levels with subtraction: largest variance "
        f"{plan.largest_variance:,.4g}, against {n * unit:,.4g} for noisy counts summed up and "
        f"{binary_tree_largest_variance(n, pure=True) / 2 * unit:,.4g} for a binary tree."
    )


def _why_root(plan: RunningPlan, root: SquareRoot) -> str:
    unit = plan.law.variance() / root.column_squared
    return (
        f"An offer of rho buys the {root.name} with Gaussian noise: largest variance {plan.largest_variance:,.4g}, "
        f"against {root.n * unit:,.4g} for noisy counts summed up; no linear mechanism has less than "
        f"{least_largest_variance(root.n) * unit:,.4g}."
    )
