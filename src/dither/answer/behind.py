"""Which aggregate a column of the answer is, read off the plan alone.

Flow: the ± of a column before it is asked (`session.expected`), and the options of presentation, which treat counts and
sums differently from computed columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dither.plan.nodes import Plan
from dither.plan.recipes import Recipe

__all__ = ["Behind", "columns_behind"]

_LOW = re.compile(r"(a\d+)_low")
_TOTAL = re.compile(r"(a\d+)_total_half")


@dataclass(frozen=True)
class Behind:
    """`table`: the name under which the finish reads the noisy table; `measure`: of the measure it is."""

    table: str
    measure: str
    recipe: Recipe
    is_total: bool
    """The column is the aggregate's running total."""


def columns_behind(plan: Plan) -> dict[int, Behind]:
    """Position of a column -> the aggregate it is. Empty where rows of the answer are not those of one noisy table."""
    tree = plan.interval_tree
    if tree is None or tree.get("type") != "SELECT_NODE" or tree.get("from_table", {}).get("type") != "BASE_TABLE":
        return {}
    name = str(tree["from_table"].get("table_name"))
    measured = dict(plan.aliases).get(name, name)
    if measured not in {measure.name for measure in plan.measures}:
        return {}
    recipes = {recipe.id: recipe for recipe in dict(plan.aggregates).get(name, ())}
    found = {}
    for item in tree["select_list"]:
        alias = str(item.get("alias"))
        match = _LOW.fullmatch(_column(item)) or _TOTAL.fullmatch(_half_of(item))
        if match and alias.startswith("low_") and match[1] in recipes:
            position = int(alias.removeprefix("low_"))
            found[position] = Behind(name, measured, recipes[match[1]], match.re is _TOTAL)
    return found


def _column(item: Mapping[str, Any]) -> str:
    return str((item.get("column_names") or [""])[-1])


def _half_of(item: Mapping[str, Any]) -> str:
    """The column that is taken away in `total - half`, as `finish.plus_minus` writes it."""
    arguments = item.get("arguments") or []
    return _column(arguments[1]["expression"]) if len(arguments) == 2 else ""
