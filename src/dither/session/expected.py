"""The ± of each column of an answer, as far as it is known before the question is asked.

Flow: the planner and its wishes. A count's or a sum's follows from the law of its noise, whatever the rows say; that of
a mean, a variance or a computed column depends on the noisy numbers themselves, and a quantile has none.
Reads the plan alone. The figures are those of `answer.intervals`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither.answer.intervals import CONFIDENCE, Part, half_width_of_mix
from dither.noise import DiscreteLaplace
from dither.plan.price import ChoiceLaw, Law, PricedMeasure, PricedPlan, RunningLaw
from dither.plan.recipes import Recipe

__all__ = ["ColumnExpectation", "expected_columns"]

_LOW = re.compile(r"(a\d+)_low")
_TOTAL = re.compile(r"(a\d+)_total_half")


@dataclass(frozen=True)
class ColumnExpectation:
    """One noisy column of the answer."""

    name: str
    mechanism: str
    """`Laplace 10`, in the unit of the data; several scales where several vectors are behind it; '' when not plain."""
    half_width: float | None
    """At 95 %, in the unit of the data; None where it is known only with the answer."""


def expected_columns(priced: PricedPlan) -> list[ColumnExpectation]:
    """Every column of the answer that is not a group, in order."""
    plan = priced.plan
    behind = _recipes_behind(plan.interval_tree, priced)
    found = []
    for position, (name, role) in enumerate(zip(plan.columns, plan.roles, strict=True)):
        if role == "key":
            continue
        if position in behind:
            recipe, measure, total = behind[position]
            half = _of_totals(recipe, measure) if total else _half_width(recipe, measure)
            found.append(ColumnExpectation(name, _mechanism(recipe, measure), half))
        else:
            found.append(ColumnExpectation(name, "", None))
    return found


def _recipes_behind(
    tree: Mapping[str, Any] | None, priced: PricedPlan
) -> dict[int, tuple[Recipe, PricedMeasure, bool]]:
    """Position of a column -> the aggregate it is, the measure its vectors are of, and whether the column is the
    aggregate's running total. Empty where rows of the answer are not those of one noisy table."""
    if tree is None or tree.get("type") != "SELECT_NODE" or tree.get("from_table", {}).get("type") != "BASE_TABLE":
        return {}
    name = str(tree["from_table"].get("table_name"))
    measured = dict(priced.plan.aliases).get(name, name)
    measure = next((m for m in priced.measures if m.measure.name == measured), None)
    recipes = {recipe.id: recipe for recipe in dict(priced.plan.aggregates).get(name, ())}
    if measure is None:
        return {}
    found = {}
    for item in tree["select_list"]:
        alias = str(item.get("alias"))
        match = _LOW.fullmatch(_column(item)) or _TOTAL.fullmatch(_half_of(item))
        if match and alias.startswith("low_") and match[1] in recipes:
            found[int(alias.removeprefix("low_"))] = (recipes[match[1]], measure, match.re is _TOTAL)
    return found


def _column(item: Mapping[str, Any]) -> str:
    return str((item.get("column_names") or [""])[-1])


def _half_of(item: Mapping[str, Any]) -> str:
    """The column that is taken away in `total - half`, as `finish.plus_minus` writes it."""
    arguments = item.get("arguments") or []
    return _column(arguments[1]["expression"]) if len(arguments) == 2 else ""


def _of_totals(recipe: Recipe, measure: PricedMeasure) -> float:
    """Of the least accurate total."""
    vector = measure.vectors[recipe.vectors[0]]
    assert isinstance(vector.law, RunningLaw)
    return float(vector.law.total_half_widths(CONFIDENCE).max(initial=0.0)) * float(vector.vector.step)


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
        case DiscreteLaplace():
            return "Laplace", f"{float(law.scale) * step:.4g}"
        case _:
            return "Gaussian", f"{float(law.sigma2) ** 0.5 * step:.4g}"
