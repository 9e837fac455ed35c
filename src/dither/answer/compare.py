"""Two numbers of one column against each other: their difference, with a ± of its own.

Flow: `Answer.compare`. Numbers with noise of their own are as uncertain together as both; groupings that were measured
together share noise, so that two of their groups may be told apart where each by itself is unsure, or not: the exact
covariance says. Closed form; reads released numbers and laws alone.
Proofs: docs/proofs/mechanisms/residuals.md, part 4; docs/proofs/answer/intervals.md
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dither.answer.finishing import finish_with_intervals
from dither.answer.intervals import Part, half_width_of_mix
from dither.answer.noisy import NoisyTable
from dither.errors import InvalidParameter
from dither.mechanisms.residual import CellErrors
from dither.mechanisms.residual.errors_of import ROUNDING
from dither.noise import DiscreteGaussian, DiscreteLaplace
from dither.plan.laws import MarginalLaw
from dither.plan.recipes import Recipe

if TYPE_CHECKING:
    from dither.answer.answer import Answer

__all__ = ["Comparison", "compare"]

Z = 1.959963984540054
_LOW = re.compile(r"(a\d+)_low")


@dataclass(frozen=True)
class Comparison:
    """`difference`: the first number less the second; the true one lies within `half_width` of it in 95 of 100 cases,
    for two rows chosen before their numbers were seen."""

    column: str
    difference: float
    half_width: float

    @property
    def low(self) -> float:
        return self.difference - self.half_width

    @property
    def high(self) -> float:
        return self.difference + self.half_width

    @property
    def is_clear(self) -> bool:
        """Is it larger than its noise would explain?"""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        clear = "clear" if self.is_clear else "not clear: noise alone could make it"
        return f"{self.column}: {self.difference:,g} ± {self.half_width:,.4g} ({clear})"


@dataclass(frozen=True)
class _Number:
    """A number of the answer as it was measured: a group of a noisy table."""

    table: NoisyTable
    recipe: Recipe
    group: int

    def weights(self) -> list[tuple[int, float]]:
        """(vector, its weight in units of the answer per step)."""
        own = [float(self.table.vectors[position].step) for position in self.recipe.vectors]
        if self.recipe.kind == "sum_from_mean":
            own[0] = float(self.recipe.center)
        return list(zip(self.recipe.vectors, own, strict=True))


def compare(answer: Answer, row: int, other: int, column: str | int | None = None) -> Comparison:
    """See `Answer.compare`."""
    position = _column(answer, column)
    first, second = _numbers(answer, position, (row, other))
    values = [answer.rows()[r][position] for r in (row, other)]
    name = answer.columns[position]
    if any(value is None for value in values):
        raise InvalidParameter("row", expected="two rows with a number", found=f"NULL in {name}")
    pairs = list(zip(first.weights(), second.weights(), strict=True))
    return Comparison(name, float(values[0] - values[1]), _half_width(first, second, pairs))


def _column(answer: Answer, column: str | int | None) -> int:
    """The position of a column that is a count or a sum by itself."""
    fit = [position for position in _recipes(answer) if answer.plan.roles[position] == "aggregate"]
    names = [answer.columns[position].lower() for position in fit]
    if column is None and len(fit) == 1:
        return fit[0]
    if isinstance(column, int) and column in fit:
        return column
    if isinstance(column, str) and names.count(column.lower()) == 1:
        return fit[names.index(column.lower())]
    listed = ", ".join(answer.columns[position] for position in fit) or "none here"
    raise InvalidParameter("column", expected=f"a column that is a count or a sum by itself ({listed})", found=column)


def _recipes(answer: Answer) -> dict[int, str]:
    """Position of a column -> the aggregate it is."""
    tree = answer.plan.interval_tree
    found = {}
    for item in [] if tree is None or tree.get("type") != "SELECT_NODE" else tree["select_list"]:
        alias, path = str(item.get("alias")), item.get("column_names") or [""]
        match = _LOW.fullmatch(str(path[-1]))
        if match and alias.startswith("low_"):
            found[int(alias.removeprefix("low_"))] = match[1]
    kinds = {recipe.id: recipe.kind for table in answer.tables for recipe in table.recipes}
    return {position: id for position, id in found.items() if kinds.get(id) in ("count", "sum", "sum_from_mean")}


class _Places:
    """In the place of the ends of an interval: which group of which table a number is."""

    def __init__(self, tables: Sequence[NoisyTable]) -> None:
        sizes = np.cumsum([0, *(table.size for table in tables)])
        self.starts = {table.name: int(start) for table, start in zip(tables, sizes, strict=False)}

    def bounds(self, recipe: Recipe, table: NoisyTable) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        del recipe
        numbers = self.starts[table.name] + np.arange(table.size, dtype=np.float64)
        return numbers, numbers

    def total_half(self, recipe: Recipe, table: NoisyTable) -> npt.NDArray[np.float64]:
        del recipe
        return np.full(table.size, np.nan)


def _numbers(answer: Answer, position: int, rows: Sequence[int]) -> list[_Number]:
    places = _Places(answer.tables)
    ends = finish_with_intervals(answer.plan, answer.tables, places)
    found: Any = ends[f"low_{position}"]
    id = _recipes(answer)[position]
    numbers = []
    for row in rows:
        if not 0 <= row < len(answer):
            raise InvalidParameter("row", expected=f"the number of a row, from 0 to {len(answer) - 1}", found=row)
        place = int(found[row])
        table = max((t for t in answer.tables if places.starts[t.name] <= place), key=lambda t: places.starts[t.name])
        recipe = next(recipe for recipe in table.recipes if recipe.id == id)
        numbers.append(_Number(table, recipe, place - places.starts[table.name]))
    return numbers


def _half_width(first: _Number, second: _Number, pairs: Sequence[tuple[tuple[int, float], tuple[int, float]]]) -> float:
    variance = 0.0
    for (p, weight), (q, weighs) in pairs:
        variance += _variance(first, p, weight, second, q, weighs)
    laws = [first.table.laws[pairs[0][0][0]], second.table.laws[pairs[0][1][0]]]
    if len(pairs) == 1 and variance > 0 and all(isinstance(law, DiscreteLaplace) for law in laws):
        parts = [Part(np.full(1, abs(own[1])), law) for own, law in zip(pairs[0], laws, strict=True)]
        return float(half_width_of_mix(parts)[0])
    return Z * math.sqrt(variance)


def _source(number: _Number, position: int) -> object:
    """What the measurement of a vector is known by: its name, or, where tables have none, its array."""
    table = number.table
    return table.sources[position] if table.sources else id(table.values[position])


def _variance(first: _Number, p: int, weight: float, second: _Number, q: int, weighs: float) -> float:
    """Of a vector of the first number less the same vector of the second, in squared units of the answer."""
    one, two = first.table.laws[p], second.table.laws[q]
    if _source(first, p) == _source(second, q) and first.group == second.group:
        return 0.0
    apart = weight**2 * one.variance() + weighs**2 * two.variance()
    if isinstance(one, MarginalLaw) and isinstance(two, MarginalLaw):
        if one.shared != two.shared:
            return apart
        errors = CellErrors({**one.errors.sizes, **two.errors.sizes}, {**one.errors.laws, **two.errors.laws})
        cells = [
            [int(place) for place in number.table.cells(law)[number.group]]
            for number, law in ((first, one), (second, two))
        ]
        common = errors.covariance(one.axes, cells[0], two.axes, cells[1])
        # Never below what rounding alone leaves of it.
        floor = ROUNDING * (weight**2 * errors.rounding(one.axes) + weighs**2 * errors.rounding(two.axes))
        return max(apart - 2 * weight * weighs * common, floor)
    if not all(isinstance(law, DiscreteLaplace | DiscreteGaussian | MarginalLaw) for law in (one, two)):
        raise InvalidParameter(
            "column",
            expected="numbers with noise of their own, or measured together",
            found="noise placed for running totals, or a chosen value",
        )
    return apart
