"""95 % intervals for the aggregates of a noisy table.

Flow: an `Answer` asks for them when it is looked at. Counts and sums of one vector: the exact law's own half-width.
Ratios and two-vector sums: the set of values that the noise of both vectors could explain (Fieller's construction, with
the laws' own tails). The rest: percentiles of replicates, approximate. See docs/explanation/intervals.md.
Proof: docs/proofs/answer/intervals.md
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dither.answer.evaluate import evaluate
from dither.answer.noisy import NoisyTable, replicate
from dither.noise import DiscreteLaplace
from dither.plan.laws import Law, RunningLaw
from dither.plan.recipes import Recipe

__all__ = ["CONFIDENCE", "REPLICATES", "Part", "bounds_of", "half_width_of_mix", "total_half_widths"]

CONFIDENCE = 0.95
REPLICATES = 399
LOWER, UPPER = 9, 389
"""Positions, from 0, of the order statistics 10 and 390 of 399: they hold 95 % between them."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """One noisy vector's share in a sum: its weight in units of the answer per step, and its law."""

    weight: Floats
    law: Law


def bounds_of(recipe: Recipe, table: NoisyTable) -> tuple[Floats, Floats]:
    """(low, high) per group; NaN where nothing can be said."""
    match recipe.kind:
        case "count" | "sum":
            return _around_one(recipe, table)
        case "sum_from_mean":
            return _around_two(recipe, table)
        case "mean":
            return _ratio(recipe, table)
        case "quantile":
            return _bought(recipe, table)
        case _:
            return _replicated(recipe, table)


def _bought(recipe: Recipe, table: NoisyTable) -> tuple[Floats, Floats]:
    """Of a quantile: the ends that were bought as two more of them; unknown where none were. The value is within."""
    if len(recipe.vectors) == 1:
        unknown = np.full(table.size, np.nan)
        return unknown, unknown
    value, low, high = (
        np.asarray(evaluate(replace(recipe, vectors=(position,)), table.vectors, table.values), dtype=np.float64)
        for position in recipe.vectors
    )
    return np.minimum(low, value), np.maximum(high, value)


def _around_one(recipe: Recipe, table: NoisyTable) -> tuple[Floats, Floats]:
    position = recipe.vectors[0]
    half = _half_widths(table, position) * float(table.vectors[position].step)
    value = np.asarray(evaluate(recipe, table.vectors, table.values), dtype=np.float64)
    return value - half, value + half


def _half_widths(table: NoisyTable, position: int) -> Floats | float:
    """In steps: one for all groups, or, where noise is placed for running totals, each group's own."""
    law = table.laws[position]
    if not isinstance(law, RunningLaw):
        return law.half_width(CONFIDENCE)
    return law.half_widths(CONFIDENCE)[table.axis(position).place]


def total_half_widths(recipe: Recipe, table: NoisyTable) -> Floats:
    """Of the running totals of an aggregate whose noise was placed for them, group by group."""
    position = recipe.vectors[0]
    law = table.laws[position]
    assert isinstance(law, RunningLaw)
    half = law.total_half_widths(CONFIDENCE)[table.axis(position).place]
    return np.asarray(half * float(table.vectors[position].step))


def _around_two(recipe: Recipe, table: NoisyTable) -> tuple[Floats, Floats]:
    count, total = recipe.vectors
    size = np.ones(table.size)
    half = half_width_of_mix(
        [
            Part(size * float(table.vectors[total].step), table.laws[total]),
            Part(size * abs(float(recipe.center)), table.laws[count]),
        ]
    )
    value = np.asarray(evaluate(recipe, table.vectors, table.values), dtype=np.float64)
    return value - half, value + half


def _ratio(recipe: Recipe, table: NoisyTable) -> tuple[Floats, Floats]:
    """All theta with |total - theta·count| no larger than the noise of total - theta·count allows at 95 %."""
    count_at, total_at = recipe.vectors
    step = float(table.vectors[total_at].step)
    count = table.values[count_at].astype(np.float64)
    total = table.values[total_at] * step
    assert recipe.limits is not None
    center = float(recipe.center)
    floor, ceiling = recipe.limits[0] - center, recipe.limits[1] - center
    ends = []
    for sign in (-1.0, 1.0):
        theta = np.clip(total / np.where(count > 0, count, 1), floor, ceiling)
        # The half-width grows slowly with theta, so this settles in a few steps where the count is clear of zero.
        for _ in range(30):
            half = half_width_of_mix(
                [Part(np.full(len(theta), step), table.laws[total_at]), Part(np.abs(theta), table.laws[count_at])]
            )
            theta = np.clip((total + sign * half) / np.where(count > 0, count, 1), floor, ceiling)
        ends.append(theta)
    unclear = count <= table.laws[count_at].half_width(CONFIDENCE)
    low = np.where(unclear, floor, ends[0]) + center
    high = np.where(unclear, ceiling, ends[1]) + center
    return low, high


def half_width_of_mix(parts: Sequence[Part]) -> Floats:
    """t with P(|sum of weighted noises| <= t) = 95 %: closed form for two (continuous) Laplace parts, else normal."""
    first, second = parts
    if isinstance(first.law, DiscreteLaplace) and isinstance(second.law, DiscreteLaplace):
        return _two_laplace(first.weight * float(first.law.scale), second.weight * float(second.law.scale))
    variance = sum(part.weight**2 * part.law.variance() for part in parts)
    return np.asarray(1.959963984540054 * np.sqrt(variance))


def _two_laplace(a: Floats, b: Floats) -> Floats:
    """Solve (a² e^{-t/a} - b² e^{-t/b}) / (a² - b²) = 5 % for t, by bisection on all groups at once."""
    big, small = np.maximum(a, b), np.maximum(np.minimum(a, b), 1e-300)
    # Near-equal scales make the quotient 0/0: move them apart by a part in 10^6, which moves t by as little.
    big = np.where(big - small < 1e-6 * big, small * (1 + 1e-6), big)
    low, high = np.zeros_like(big), 40.0 * big
    for _ in range(60):
        middle = (low + high) / 2
        tail = (big**2 * np.exp(-middle / big) - small**2 * np.exp(-middle / small)) / (big**2 - small**2)
        above = tail > 1 - CONFIDENCE
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(high)


def _replicated(recipe: Recipe, table: NoisyTable) -> tuple[Floats, Floats]:
    generator = np.random.default_rng(_seed_of(table))
    values = np.ma.filled(
        np.ma.asarray(evaluate(recipe, table.vectors, replicate(table, REPLICATES, generator))).astype(np.float64),
        np.nan,
    )
    ordered = np.sort(values, axis=0)
    return ordered[LOWER], ordered[UPPER]


def _seed_of(table: NoisyTable) -> list[int]:
    """Replicates are a function of the released values, so looking twice shows the same interval."""
    return [int(v) & 0xFFFFFFFF for values in table.values for v in values[:8]] or [0]
