"""Intervals of what only rises, or only falls, with all noisy numbers: between its values where these are at their
ends.

Flow: `spread` asks for the columns that pick or count by noisy numbers, of which replicates would mislead. Bounds on
the noise that hold at once give the ends of every number; where the rows that are picked from are those of one measure,
only the numbers of one row of the answer must hold at once. And a largest number is at most one noise below the truth,
whose row does not depend on noise: its upper end needs one row's bounds, its lower end those of all (a least,
mirrored).
Proof: docs/proofs/answer/intervals.md
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from dither.answer.evaluate import handed_over
from dither.answer.finishing import run_over
from dither.answer.intervals import Floats
from dither.answer.matching import Rows, named, placed, unknown_like, values_of
from dither.answer.noisy import NoisyTable
from dither.answer.simultaneous import LINEAR, Together, hold_everything
from dither.errors import QueryRefused
from dither.plan.dependence import Dependence
from dither.plan.inputs import Inputs, inputs_of
from dither.plan.laws import ChoiceLaw
from dither.plan.nodes import Plan
from dither.plan.recipes import Recipe
from dither.sql.embedded import Columns

__all__ = ["between", "ends_at"]

Ends = dict[int, tuple[Floats, Floats]]


def between(
    plan: Plan, tables: Sequence[NoisyTable], rows: Rows, positions: Sequence[int], found: Sequence[Dependence]
) -> Ends | None:
    """Position -> (low, high), NaN where an end is not known; None where the finish fails at the ends."""
    inputs = inputs_of(rows.keyed.uncut)
    table = None if inputs is None else next((table for table in tables if table.name == inputs.table), None)
    counts = None if inputs is None or table is None else _counts(inputs, tables, rows)
    if inputs is None or table is None or counts is None:
        return ends_at(plan, tables, rows, positions, found, None)
    picked = {position: way for position, way in inputs.picked.items() if position in positions}
    # Half of what may be missed is for either end, and of symmetric noise half is on the side that would miss it. The
    # bounds on a mean need both sides.
    one_sided = all(recipe.kind in LINEAR for recipe in table.recipes)
    missed = Fraction(5, 100) if one_sided or not picked else Fraction(25, 1000)
    used = {at for recipe in table.recipes for at in recipe.vectors if not isinstance(table.laws[at], ChoiceLaw)}
    each = max(1, len(used))
    whole: Ends = {position: (np.full(rows.size, np.nan), np.full(rows.size, np.nan)) for position in positions}
    for count in np.unique(counts).tolist():
        ends = ends_at(plan, tables, rows, positions, found, 1 - missed / (count * each))
        if ends is None:
            return None
        for position, (low, high) in ends.items():
            whole[position][0][counts == count], whole[position][1][counts == count] = (
                low[counts == count],
                high[counts == count],
            )
    alone = ends_at(plan, tables, rows, list(picked), found, 1 - missed / each) if picked else None
    for position, way in picked.items():
        if alone is not None:
            low, high = whole[position]
            whole[position] = (low, alone[position][1]) if way > 0 else (alone[position][0], high)
    return whole


def ends_at(
    plan: Plan,
    tables: Sequence[NoisyTable],
    rows: Rows,
    positions: Sequence[int],
    found: Sequence[Dependence],
    level: Fraction | None,
) -> Ends | None:
    """Where the noise of each number is bounded at this level, or, where there is none, that of all at once at 95 %."""
    together = hold_everything(plan, tables, level)
    names = [f"c{position}" for position in positions]
    lower = values_of(tables, rows, names, lambda table: _columns_at(table, together, 0))
    upper = values_of(tables, rows, names, lambda table: _columns_at(table, together, 1))
    if lower is None or upper is None:
        return None
    ends: Ends = {}
    for position, name in zip(positions, names, strict=True):
        low, high = lower[name], upper[name]
        if found[position].rises == -1:
            low, high = high, low
        if found[position].zero:
            # Where no row is left of a group, its count is 0.
            low = np.nan_to_num(low)
        known = np.isfinite(low) & np.isfinite(high)
        ends[position] = np.where(known, low, np.nan), np.where(known, high, np.nan)
    return ends


def _counts(inputs: Inputs, tables: Sequence[NoisyTable], rows: Rows) -> npt.NDArray[np.int64] | None:
    """Rows behind each row of the answer, or somewhat more: on a coarse ladder, since each step of it is two runs."""
    own = [name for name in rows.names if name not in rows.keys]
    try:
        found, _ = run_over(named(inputs.counting, [*own, "n", *rows.keys]), tables)
    except (duckdb.Error, QueryRefused):
        return None
    counts = placed(found, rows, "n")
    if np.isnan(counts).any():
        return None
    ladder = 2.0 ** (np.ceil(2 * np.log2(np.maximum(counts, 1)) - 1e-9) / 2)
    return np.asarray(np.maximum(np.ceil(ladder - 1e-9), counts), dtype=np.int64)


def _columns_at(table: NoisyTable, together: Together, side: int) -> Columns:
    """The table's columns with every aggregate at the lower (0) or the upper (1) end of its interval."""
    columns = table.columns()
    for recipe in table.recipes:
        columns[recipe.id] = _end_of(recipe, table, together, side)
    return columns


def _end_of(recipe: Recipe, table: NoisyTable, together: Together, side: int) -> npt.NDArray[Any]:
    if recipe.kind in ("bool_or", "bool_and"):
        counted = replace(recipe, kind="count")
        count = together.bounds(counted, table)[side if recipe.kind == "bool_or" else 1 - side]
        return np.asarray(count >= 1 if recipe.kind == "bool_or" else count < 1)
    end = together.bounds(recipe, table)[side]
    if recipe.kind == "quantile":
        return unknown_like(handed_over(recipe, table.vectors, table.values))
    whole = recipe.whole and bool(np.isfinite(end).all()) and float(np.abs(end).max(initial=0)) < 2**62
    return np.asarray(np.rint(end), dtype=np.int64) if whole else np.asarray(end)
