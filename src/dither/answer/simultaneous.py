"""Intervals that hold all together: each says where its true value is, and with 95 % none of them errs.

Flow: `Answer.simultaneous`. The noise of every vector behind the answer is held within a bound at once, in all of its
groups, shown or not (so that picking rows by their numbers changes nothing); what is computed from the vectors then
moves between the bounds. Vectors with independent noise take the level c^(1/m) each of m numbers (exact, Šidák 1967);
noise placed for running totals or shared among groupings is not independent, and takes 1 - (1 - c)/m (Bonferroni).
Proof: docs/proofs/answer/intervals.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.answer.behind import columns_behind
from dither.answer.evaluate import evaluate
from dither.answer.intervals import Floats
from dither.answer.noisy import NoisyTable
from dither.errors import InvalidParameter
from dither.plan.laws import ChoiceLaw, MarginalLaw, RunningLaw
from dither.plan.nodes import Plan
from dither.plan.recipes import Recipe

__all__ = ["Together", "hold_everything", "hold_together"]

LINEAR = ("count", "sum", "sum_from_mean")
Place = tuple[str, int]
"""Name of a measure, position of its vector."""


@dataclass(frozen=True)
class Together:
    """Bounds on noise, in steps, that hold at once."""

    steps: dict[Place, float]
    totals: dict[Place, float]
    """Of running totals."""
    measured: dict[str, str]
    """Name of a noisy table -> of the measure it is."""
    confidence: Fraction
    numbers: int
    independent: bool
    """Are the noises independent, and the level of each exact?"""

    def bounds(self, recipe: Recipe, table: NoisyTable) -> tuple[Floats, Floats]:
        """(low, high) per group; NaN where the recipe's vectors are not held."""
        halves = [self._half(table, position) for position in recipe.vectors]
        if recipe.kind not in (*LINEAR, "mean") or any(math.isnan(half) for half in halves):
            unknown = np.full(table.size, np.nan)
            return unknown, unknown
        if recipe.kind == "mean":
            return _mean(recipe, table, halves)
        weights = [1.0] if recipe.kind != "sum_from_mean" else [abs(float(recipe.center)), 1.0]
        half = sum(weight * each for weight, each in zip(weights, halves, strict=True))
        value = np.asarray(evaluate(recipe, table.vectors, table.values), dtype=np.float64)
        return value - half, value + half

    def total_half(self, recipe: Recipe, table: NoisyTable) -> Floats:
        position = recipe.vectors[0]
        half = self.totals.get((self.measured[table.name], position), math.nan)
        return np.full(table.size, half * float(table.vectors[position].step))

    def _half(self, table: NoisyTable, position: int) -> float:
        """In the unit of the data."""
        half = self.steps.get((self.measured[table.name], position), math.nan)
        return half * float(table.vectors[position].step)


def hold_together(plan: Plan, tables: Sequence[NoisyTable], confidence: Fraction) -> Together:
    """Bounds on all noise behind the counts, sums and means of the answer.
    Raises InvalidParameter [I-120] where there is none, or groups were selected by their noisy counts."""
    if not Fraction(1, 2) <= confidence < 1:
        raise InvalidParameter("confidence", expected="at least 0.5 and below 1", found=float(confidence))
    measured = {table.name: dict(plan.aliases).get(table.name, table.name) for table in tables}
    by_name = {table.name: table for table in tables}
    behind = [b for b in columns_behind(plan).values() if b.recipe.kind in (*LINEAR, "mean")]
    places = sorted({(b.measure, position) for b in behind for position in b.recipe.vectors})
    if not places:
        raise InvalidParameter(
            "simultaneous",
            expected="an answer with a count, a sum or a mean as a column of its own",
            found="none",
            code="I-120",
            hint="Intervals of computed columns and quantiles are not known well enough to hold together.",
        )
    private = {measure.name for measure in plan.measures if measure.has_private_keys}
    if any(name in private for name, _ in places):
        raise InvalidParameter(
            "simultaneous",
            expected="an answer over listed groups",
            found="groups that were selected by their noisy counts",
            code="I-120",
            hint="How many groups were not shown is private, so no bound holds for all. List the groups as `values`.",
        )
    return _held(by_name, measured, places, confidence)


def hold_everything(plan: Plan, tables: Sequence[NoisyTable], level: Fraction | None = None) -> Together:
    """Bounds on all noise in the finish's tables, for what picks among noisy numbers. None of numbers that have no
    additive noise, such as quantiles.  level: of each number; by default all of them hold together at 95 %."""
    measured = {table.name: dict(plan.aliases).get(table.name, table.name) for table in tables}
    by_name = {table.name: table for table in tables}
    places = {(measured[table.name], at) for table in tables for recipe in table.recipes for at in recipe.vectors}
    return _held(by_name, measured, sorted(places), Fraction(95, 100), level)


def _held(
    by_name: Mapping[str, NoisyTable],
    measured: dict[str, str],
    places: Sequence[Place],
    confidence: Fraction,
    level: Fraction | None = None,
) -> Together:
    laws = {place: by_name[place[0]].laws[place[1]] for place in places}
    running = [place for place, law in laws.items() if isinstance(law, RunningLaw)]
    independent = not any(isinstance(law, RunningLaw | MarginalLaw) for law in laws.values())
    additive = [name for (name, _), law in laws.items() if not isinstance(law, ChoiceLaw)]
    numbers = sum(by_name[name].size for name in additive) + sum(by_name[name].size for name, _ in running)
    if level is None:
        level = _each(confidence, max(1, numbers), independent=independent)
    steps: dict[Place, float] = {}
    totals: dict[Place, float] = {}
    for name, position in places:
        law = by_name[name].laws[position]
        match law:
            case ChoiceLaw():
                continue
            case RunningLaw():
                steps[name, position] = float(law.half_widths(math.nextafter(float(level), 1.0)).max(initial=0.0))
                totals[name, position] = float(
                    law.total_half_widths(math.nextafter(float(level), 1.0)).max(initial=0.0)
                )
            case _:
                steps[name, position] = float(law.half_width(level))
    return Together(steps, totals, measured, confidence, numbers, independent)


def _each(confidence: Fraction, numbers: int, *, independent: bool) -> Fraction:
    """The level of each number; rounded up."""
    if not independent:
        return 1 - (1 - confidence) / numbers
    root = Fraction(math.exp(math.log(confidence) / numbers)) + Fraction(1, 10**14)
    return min(root, 1 - (1 - confidence) / numbers) if numbers > 1 else confidence


def _mean(recipe: Recipe, table: NoisyTable, halves: Sequence[float]) -> tuple[Floats, Floats]:
    """Every center + total / count with both within their bounds, kept within the limits of a mean."""
    count_at, total_at = recipe.vectors
    count = table.values[count_at].astype(np.float64)
    total = table.values[total_at] * float(table.vectors[total_at].step)
    assert recipe.limits is not None
    floor, ceiling = (limit - float(recipe.center) for limit in recipe.limits)
    least, most = count - halves[0], count + halves[0]
    clear = least > 0
    corners = [
        (total + sign * halves[1]) / np.where(clear, size, 1.0) for sign in (-1.0, 1.0) for size in (least, most)
    ]
    low = np.where(clear, np.clip(np.min(corners, axis=0), floor, ceiling), floor)
    high = np.where(clear, np.clip(np.max(corners, axis=0), floor, ceiling), ceiling)
    return low + float(recipe.center), high + float(recipe.center)
