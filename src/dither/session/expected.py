"""The ± of each column of an answer, as far as it is known before the question is asked.

Flow: the planner and its wishes. A count's or a sum's follows from the law of its noise, whatever the rows say; that of
a mean depends on how many rows it is of, which is known beforehand only where the owner declares it as public; that of
a variance or a computed column on the noisy numbers themselves, and a quantile has none.
Reads plan and catalog alone. The figures are those of `answer.intervals`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dither.answer.behind import columns_behind
from dither.answer.intervals import CONFIDENCE, Part, half_width_of_mix
from dither.catalog.model import Catalog
from dither.noise import DiscreteLaplace
from dither.plan.laws import ChoiceLaw, Law, MarginalLaw, RunningLaw
from dither.plan.price import PricedMeasure, PricedPlan
from dither.plan.recipes import Recipe
from dither.session.public_facts import declared_rows, fact_sentence

__all__ = ["ColumnExpectation", "expected_columns"]


@dataclass(frozen=True)
class ColumnExpectation:
    """One noisy column of the answer."""

    name: str
    mechanism: str
    """`Laplace 10`, in the unit of the data; several scales where several vectors are behind it; '' when not plain."""
    half_width: float | None
    """At 95 %, in the unit of the data; None where it is known only with the answer."""
    rests_on: str = ""
    """A declared fact it follows from, in words."""


def expected_columns(priced: PricedPlan, catalog: Catalog) -> list[ColumnExpectation]:
    """Every column of the answer that is not a group, in order."""
    plan = priced.plan
    behind = columns_behind(plan)
    measures = {measure.measure.name: measure for measure in priced.measures}
    found = []
    for position, (name, role) in enumerate(zip(plan.columns, plan.roles, strict=True)):
        if role == "key":
            continue
        if position in behind:
            recipe, measure = behind[position].recipe, measures[behind[position].measure]
            rests_on = ""
            if behind[position].is_total:
                half: float | None = _of_totals(recipe, measure)
            elif recipe.kind == "mean":
                half = _of_mean(recipe, measure, declared_rows(measure.measure, catalog))
                rests_on = "" if half is None else fact_sentence(measure.measure, catalog)
            else:
                half = _half_width(recipe, measure)
            found.append(ColumnExpectation(name, _mechanism(recipe, measure), half, rests_on))
        else:
            found.append(ColumnExpectation(name, "", None))
    return found


def _of_totals(recipe: Recipe, measure: PricedMeasure) -> float:
    """Of the least accurate total."""
    vector = measure.vectors[recipe.vectors[0]]
    assert isinstance(vector.law, RunningLaw)
    return float(vector.law.total_half_widths(CONFIDENCE).max(initial=0.0)) * float(vector.vector.step)


def _of_mean(recipe: Recipe, measure: PricedMeasure, rows: int | None) -> float | None:
    """Of a mean of so many rows, wherever within its limits it lies: none where noise may hide so few rows, or where
    its ± would be as wide as the limits. The answer's own follows from its noisy count, and is about this or less."""
    count, total = (measure.vectors[position] for position in recipe.vectors)
    if rows is None or recipe.limits is None or isinstance(count.law, ChoiceLaw) or isinstance(total.law, ChoiceLaw):
        return None
    if count.vector.kind != "rows" or count.vector.filter is not None:
        # Of different values, or of those that pass a FILTER: how many there are is private.
        return None
    farthest = max(abs(limit - float(recipe.center)) for limit in recipe.limits)
    if rows <= 2 * count.law.half_width(CONFIDENCE):
        return None
    one = np.ones(1)
    parts = [Part(one * float(total.vector.step), total.law), Part(one * farthest, count.law)]
    half = float(half_width_of_mix(parts)[0]) / rows
    return half if half < (recipe.limits[1] - recipe.limits[0]) / 2 else None


def _half_width(recipe: Recipe, measure: PricedMeasure) -> float | None:
    """As `answer.intervals.bounds_of` computes it from the same laws."""
    vectors = [measure.vectors[position] for position in recipe.vectors]
    if any(isinstance(vector.law, ChoiceLaw) for vector in vectors):
        return None
    match recipe.kind:
        case "count" | "sum":
            return vectors[0].law.half_width(CONFIDENCE) * float(vectors[0].vector.step)
        case "sum_from_mean":
            count, total = vectors
            one = np.ones(1)
            parts = [
                Part(one * float(total.vector.step), total.law),
                Part(one * abs(float(recipe.center)), count.law),
            ]
            return float(half_width_of_mix(parts)[0])
        case _:
            return None


def _mechanism(recipe: Recipe, measure: PricedMeasure) -> str:
    shown: dict[str, list[str]] = {}
    for position in recipe.vectors:
        vector = measure.vectors[position]
        name, scale = _noise(vector.law, float(vector.vector.step))
        shown.setdefault(name, []).append(scale)
    return ", ".join(f"{name} {', '.join(scales)}".strip() for name, scales in shown.items())


def _noise(law: Law, step: float) -> tuple[str, str]:
    match law:
        case ChoiceLaw():
            return "exponential mechanism", ""
        case RunningLaw(plan):
            return plan.design.name, f"{plan.noise_scale * step:.4g}"
        case MarginalLaw():
            return "residuals with Gaussian", f"{law.variance() ** 0.5 * step:.4g}"
        case DiscreteLaplace():
            return "Laplace", f"{float(law.scale) * step:.4g}"
        case _:
            return "Gaussian", f"{float(law.sigma2) ** 0.5 * step:.4g}"
