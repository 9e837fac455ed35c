"""What a picture of an answer shows: bars, a line, a histogram with its running count, or boxes, by what it is.

Flow: `Answer.plot()`, `dither ask --plot`. This file decides and works out; `drawing` makes the SVG. Nothing is drawn
that the answer does not hold: bands are its 95 % intervals, and where none is known there is none.

    quantiles of one expression          boxes, one for each row
    a key computed from numbers          bars side by side, and the count up to each with its own band
    a key of numbers or days             a line with a band
    other groups                         bars with a mark for each interval
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dither.answer.behind import columns_behind
from dither.answer.combined import half_width_of_sum
from dither.answer.drawing import Box, Charts, Panel, Point
from dither.answer.numbers import in_doubles, plain
from dither.errors import InvalidParameter
from dither.noise import DiscreteGaussian, DiscreteLaplace
from dither.plan.recipes import Recipe

if TYPE_CHECKING:
    from dither.answer.answer import Answer

__all__ = ["plot"]

MOST_BARS = 60
MOST_PANELS = 8
_HALF = Fraction(1, 2)
_LARGEST = 1e300
Ordered = int | float | dt.date | dt.datetime


def plot(answer: Answer) -> Charts:
    """See `Answer.plot`. Raises InvalidParameter [I-124] for an answer that has no picture."""
    page = _Page(answer)
    panels = page.boxes()
    drawn = {position for position, _ in page.quantile_columns} if panels else set()
    left = [p for p in page.numbers if p not in drawn]
    if left and page.keys and len(answer):
        panels += [panel for panel in page.panels(left) if panel.points]
    if not panels:
        raise _nothing(
            "none of them" if len(answer) else "no rows",
            "Draw an answer with groups and numbers, or with quantiles around the median.",
        )
    if len(panels) > MOST_PANELS:
        raise _nothing(f"{len(panels)} pictures", f"Ask for {MOST_PANELS} numbers at most.")
    return Charts(tuple(panels), tuple(page.caption()))


class _Page:
    """One answer, with its columns told apart."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        rows = zip(*answer.rows(), strict=True)
        self.columns = [[in_doubles(value) for value in column] for column in rows] or [[] for _ in answer.columns]
        for position, row in answer.hidden:
            self.columns[position][row] = None
        roles = answer.plan.roles
        self.keys = [p for p, role in enumerate(roles) if role == "key"]
        self.numbers = [p for p, role in enumerate(roles) if role != "key" and _all_numbers(self.columns[p])]
        self.quantile_columns = _quantile_columns(answer)
        self.left_out = False

    def boxes(self) -> list[Panel]:
        """A box for each row, where quantiles of one expression reach to both sides of its median."""
        by_vector: dict[Any, list[tuple[int, Sequence[Recipe]]]] = {}
        for position, recipes in self.quantile_columns:
            by_vector.setdefault((recipes[0].vectors[0], type(self.columns[position])), []).append((position, recipes))
        panels = []
        for listed in by_vector.values():
            shares = {recipe.quantile for _, recipes in listed for recipe in recipes}
            if _HALF not in shares or min(shares) >= _HALF or max(shares) <= _HALF or not len(self.answer):
                continue
            boxes = [self._box(listed, row) for row in range(len(self.answer))]
            if len(boxes) > MOST_BARS:
                raise _too_many(len(boxes))
            name = ", ".join(self.answer.columns[position] for position, _ in listed)
            lower, upper = _hinges(shares)
            note = (
                f"Box: quantiles {float(lower):.4g} to {float(upper):.4g}, its line the median; "
                f"whiskers: {float(min(shares)):.4g} and {float(max(shares)):.4g}."
            )
            panels.append(Panel("box", name, self._across(), boxes=tuple(b for b in boxes if b is not None), note=note))
        return [panel for panel in panels if panel.boxes]

    def _box(self, listed: Sequence[tuple[int, Sequence[Recipe]]], row: int) -> Box | None:
        found: dict[Fraction, Any] = {}
        for position, recipes in listed:
            value = self.columns[position][row]
            values = value if isinstance(value, list) else [value]
            if value is None or any(v is None for v in values):
                return None
            found |= {recipe.quantile: v for recipe, v in zip(recipes, values, strict=True)}
        lower, upper = _hinges(found)
        ends = [found[q] for q in (min(found), lower, _HALF, upper, max(found))]
        least, first, middle, third, most = (_number(value) for value in ends)
        return Box(self._label(row), least, first, middle, third, most, is_time=isinstance(ends[0], dt.date))

    def panels(self, numbers: Sequence[int]) -> list[Panel]:
        """A picture for each of the numeric columns, by what the key is."""
        if len(self.keys) == 1 and all(_is_ordered(v) for v in self.columns[self.keys[0]] if v is not None):
            return [panel for position in numbers for panel in self._along(position)]
        if len(self.answer) > MOST_BARS:
            raise _too_many(len(self.answer))
        return [self._bars(position) for position in numbers]

    def _along(self, position: int) -> list[Panel]:
        """Over a key with an order: a line, or for counts of bins a histogram and what it adds up to."""
        keys = self.columns[self.keys[0]]
        order = sorted((row for row in range(len(keys)) if keys[row] is not None), key=lambda row: keys[row])
        self.left_out |= len(order) < len(keys)
        if len(order) < 2 or len({keys[row] for row in order}) < len(order):
            return [self._bars(position)]
        points = [self._point(position, row) for row in order]
        name, across = self.answer.columns[position], self._across()
        behind = columns_behind(self.answer.plan).get(position)
        if behind is None or behind.is_total or behind.recipe.kind != "count" or not self._is_binned():
            return [Panel("line", name, across, points=tuple(p for p in points if p is not None))]
        histogram = Panel("histogram", name, across, points=tuple(p for p in points if p is not None))
        running = self._running(position, order, behind.table, behind.recipe)
        return [histogram, *([running] if running is not None else [])]

    def _running(self, position: int, order: Sequence[int], table_name: str, recipe: Recipe) -> Panel | None:
        """The count up to each bin and with it; None where bins are missing, or their noises are not independent."""
        table = next(table for table in self.answer.tables if table.name == table_name)
        law = table.laws[recipe.vectors[0]]
        measures = {m.name: m for m in self.answer.plan.measures}
        measure = measures.get(dict(self.answer.plan.aliases).get(table_name, table_name))
        whole = measure is not None and not measure.has_private_keys and table.size == len(self.answer)
        if not whole or not isinstance(law, DiscreteLaplace | DiscreteGaussian) or self.answer.presented():
            return None
        step, total, points = float(table.vectors[recipe.vectors[0]].step), 0.0, []
        for number, row in enumerate(order, start=1):
            total += float(self.columns[position][row])
            half = half_width_of_sum(law, number, Fraction(95, 100)) * step
            points.append(self._placed(row, total, total - half, total + half))
        note = "Each total holds the noise of all bins up to its own; its band is a bound on their sum."
        return Panel(
            "cdf", f"{self.answer.columns[position]}, up to and with", self._across(), tuple(points), note=note
        )

    def _bars(self, position: int) -> Panel:
        rows = range(len(self.answer))
        points = tuple(p for p in (self._point(position, row) for row in rows) if p is not None)
        return Panel("bars", self.answer.columns[position], self._across(), points=points)

    def _point(self, position: int, row: int) -> Point | None:
        value = self.columns[position][row]
        if value is None or not _has_place(value):
            return None
        ends = self.answer.intervals.get(position)
        low, high = (math.nan, math.nan) if ends is None else (float(ends[0][row]), float(ends[1][row]))
        if not (_has_place(low) and _has_place(high)):
            low = high = math.nan
        return self._placed(row, float(value), low, high)

    def _placed(self, row: int, value: float, low: float, high: float) -> Point:
        key = self.columns[self.keys[0]][row]
        at = _number(key) if _is_ordered(key) else float(row)
        return Point(self._label(row), at, value, low, high, is_time=isinstance(key, dt.date))

    def _label(self, row: int) -> str:
        return " / ".join(plain(self.columns[p][row]).value for p in self.keys)

    def _across(self) -> str:
        return ", ".join(self.answer.columns[p] for p in self.keys)

    def _is_binned(self) -> bool:
        """Is the one key computed from a column of numbers, as FLOOR(age / 10) * 10 is?"""
        if any(isinstance(value, dt.date) for value in self.columns[self.keys[0]]):
            return False
        exprs = [key.expr for measure in self.answer.plan.measures for key in measure.keys]
        return bool(exprs) and not any(expr.is_column or expr.op in ("read", "unit") for expr in exprs)

    def caption(self) -> list[str]:
        from dither.answer.show import INVENTED_BANNER, caption

        lines = [*([INVENTED_BANNER] if self.answer.invented else []), *caption(self.answer)]
        if self.left_out:
            lines.append("The group NULL has no place on the axis and is not drawn.")
        return lines


def _quantile_columns(answer: Answer) -> list[tuple[int, Sequence[Recipe]]]:
    """Columns that are a quantile, or a list of them, with the recipes behind."""
    found: list[tuple[int, Sequence[Recipe]]] = [
        (position, [behind.recipe])
        for position, behind in columns_behind(answer.plan).items()
        if behind.recipe.kind == "quantile"
    ]
    tree = answer.plan.interval_tree
    recipes = {recipe.id: recipe for _, listed in answer.plan.aggregates for recipe in listed}
    for position, item in enumerate((tree or {}).get("select_list", [])[: len(answer.columns)]):
        if item.get("function_name") == "list_value":
            names = [argument["expression"].get("column_names", [""])[0] for argument in item["arguments"]]
            if names and all(name in recipes and recipes[name].kind == "quantile" for name in names):
                found.append((position, [recipes[name] for name in names]))
    return sorted(found, key=lambda each: each[0])


def _hinges(shares: Any) -> tuple[Fraction, Fraction]:
    """The quantiles nearest a quarter and three quarters on their side of the median."""
    below = [q for q in shares if q < _HALF]
    above = [q for q in shares if q > _HALF]
    # Of two that are as near, the outer one, on both sides.
    lower = min(below, key=lambda q: (abs(q - _HALF / 2), q))
    return lower, min(above, key=lambda q: (abs(q - 3 * _HALF / 2), -q))


def _all_numbers(column: Sequence[Any]) -> bool:
    present = [value for value in column if value is not None]
    numbers = all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in present)
    return numbers and any(_has_place(value) for value in present)


def _has_place(value: Any) -> bool:
    """Whether a number can be drawn: neither infinite nor NaN (of a division by 0), and its axis is finite too."""
    return abs(float(value)) < _LARGEST


def _is_ordered(value: Any) -> bool:
    return isinstance(value, Ordered) and not isinstance(value, bool)


def _number(value: Any) -> float:
    """A place on an axis: days and moments in seconds."""
    match value:
        case dt.datetime():
            return value.replace(tzinfo=dt.UTC).timestamp()
        case dt.date():
            return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC).timestamp()
    return float(value)


def _too_many(count: int) -> InvalidParameter:
    return _nothing(f"{count:,} groups", f"Up to {MOST_BARS} can be told apart: group by something coarser, or LIMIT.")


def _nothing(found: str, hint: str) -> InvalidParameter:
    return InvalidParameter(
        "plot",
        expected="an answer with groups and a number for each, or with quantiles on both sides of a median",
        found=found,
        code="I-124",
        hint=f"The answer itself is paid and there: print it. {hint}",
    )
