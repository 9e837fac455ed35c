"""Intervals of computed columns: from replicates of the whole finish, or between its values at the ends of its numbers.

Flow: an `Answer` asks when somebody looks. How a column depends on noise (`plan.noisy_columns`) decides: sums, smooth
functions and ratios have percentiles of replicates; what picks or counts by noisy numbers, but only rises or only falls
with all of them, lies between its values where all are at their lower and at their upper ends; anything else has no
interval, and a reason. Rows are matched by what they are groups of, shown or not (`plan.row_keys`).
Proof: docs/proofs/answer/intervals.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from dither.answer.between import between
from dither.answer.evaluate import handed_over
from dither.answer.finishing import Finished, count_rows, over
from dither.answer.intervals import REPLICATES, Floats
from dither.answer.matching import Rows, floats, rows_of, unknown_like, values_of
from dither.answer.noisy import NoisyTable, Shared, replicate
from dither.errors import QueryRefused
from dither.plan.dependence import Dependence, Shape, Why
from dither.plan.finish import to_sql
from dither.plan.nodes import Plan
from dither.plan.noisy_columns import columns_of
from dither.sql import embedded
from dither.sql.embedded import Columns

__all__ = ["Spread", "spread"]

MOST_REPLICATED = 2**23
"""Rows of all replicates of the noisy tables together."""
MOST_LEANING = 0.3
"""Standard deviations by which the middle of replicates may lie beside the number: beyond that the correction for it
reaches into the last two of them."""
NEAR = 0.99
"""Noise beyond this level shows hardly any group that is further below the threshold."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Spread:
    """By position of a column. Columns without noise are in neither."""

    ends: dict[int, tuple[Floats, Floats]] = field(default_factory=dict)
    """(low, high), NaN where nothing is known."""
    why: dict[int, Why] = field(default_factory=dict)
    """Why some end of it is not known."""
    of_shown: list[int] = field(default_factory=list)
    """Columns that add up groups as far as these are shown."""


def spread(plan: Plan, tables: Sequence[NoisyTable], wanted: Sequence[int], finished: Finished) -> Spread:
    """Intervals of the columns at these positions, numbers all, or the reason why there is none."""
    keyed = plan.keyed
    tree = embedded.parse_json(plan.finish_sql)["statements"][0]["node"] if keyed is None else keyed.tree
    found, shown = columns_of(tree, plan)
    noisy = [position for position in wanted if found[position].hidden or not found[position].is_public]
    result = Spread()
    if not noisy:
        return result
    result.of_shown.extend(position for position in noisy if found[position].hidden)
    size = len(finished.columns[0])
    unknown = np.full(size, np.nan)
    result.ends.update(dict.fromkeys(noisy, (unknown, unknown)))
    for position in noisy:
        if not found[position].is_known:
            result.why[position] = found[position].why or Why.FOLDS
        elif found[position].hidden and found[position].shape in (Shape.PUBLIC, Shape.FOLDED):
            result.why[position] = Why.HIDDEN
    keys = found[len(finished.columns) :]
    by_noise = next((key.why or Why.GROUPS for key in keys if not key.is_public), None)
    rows = None if keyed is None or by_noise is not None or not size else rows_of(keyed, tables, finished)
    if keyed is None or rows is None:
        merges = keyed is None and not shown.is_public
        why = by_noise or (Why.ROWS if merges else Why.UNMATCHED)
        result.why.update({position: why for position in noisy if position not in result.why and size})
        return result
    still = [position for position in noisy if position not in result.why]
    folded = [position for position in still if found[position].shape is Shape.FOLDED]
    # In some replicates, or at some end, a row of the answer could be left out again: those left would be one-sided.
    trees = [tree for tree in (keyed.uncut, keyed.tree) if columns_of(tree, plan)[1].is_public]
    matched = _Matched(plan, tables, rows, trees, result)
    matched.between(folded, found)
    matched.replicated([position for position in still if position not in folded], found)
    return result


@dataclass(frozen=True, eq=False)
class _Matched:
    """One answer whose rows can be found again in other runs of its finish."""

    plan: Plan
    tables: Sequence[NoisyTable]
    rows: Rows
    trees: Sequence[Any]
    """The finish, first without what leaves rows out, if the rows of the answer are there whatever the noise is."""
    result: Spread

    def between(self, positions: Sequence[int], found: Sequence[Dependence]) -> None:
        """The ends of what picks or counts by noisy numbers, and only rises or only falls with them."""
        ends = between(self.plan, self.tables, self.rows, positions, found) if positions else {}
        for position in positions:
            if ends is None:
                self.result.why[position] = Why.FAILS
            else:
                self._put(position, *ends[position], Why.FOLDS)

    def replicated(self, positions: Sequence[int], found: Sequence[Dependence]) -> None:
        """Percentiles of the same rows in replicates of the finish."""
        if not positions:
            return
        seen = self._replicas()
        if isinstance(seen, Why):
            self.result.why.update(dict.fromkeys(positions, seen))
            return
        place, replica = self.rows.places(seen), np.asarray(seen["r"], dtype=np.int64)
        known = place >= 0
        cells, times = np.unique(replica[known] * self.rows.size + place[known], return_counts=True)
        several = np.unique(cells[times > 1] % self.rows.size)
        by_luck = self._by_luck([position for position in positions if found[position].hidden])
        for position in positions:
            # A group that some replicates leave out all the same is judged by those that have it.
            grid = np.full((REPLICATES, self.rows.size), np.nan)
            grid[replica[known], place[known]] = floats(seen[f"c{position}"])[known]
            grid[:, several] = np.nan
            value = floats(self.rows.columns[f"c{position}"])
            match found[position].shape:
                case Shape.LINEAR:
                    low, high, leaning = *_around(grid, value), False
                case Shape.SMOOTH:
                    low, high, leaning = _percentiles(grid, value)
                case _:
                    low, high, leaning = _percentiles(grid, None)
            moved = by_luck.get(position, np.zeros(self.rows.size))
            low, high = low + np.minimum(moved, 0), high + np.maximum(moved, 0)
            self._put(position, low, high, Why.LEANS if leaning else Why.UNMATCHED)

    def _replicas(self) -> Columns | Why:
        """r, and the columns of the finish, in every replicate of its tables."""
        if REPLICATES * max(self.rows.size, *(table.size for table in self.tables)) > MOST_REPLICATED:
            return Why.LARGE
        most = MOST_REPLICATED // REPLICATES
        for tree in self.trees:
            try:
                sql = to_sql(tree)
                if over(self.tables, lambda given, sql=sql: count_rows(sql, most + 1, given))[0] > most:  # type: ignore[misc]
                    return Why.LARGE
                names = self.rows.names
                return over(self.tables, lambda given, sql=sql, names=names: _run_replicas(sql, given, names))[0]  # type: ignore[misc]
            except (duckdb.Error, QueryRefused):
                # A replicate, a row that was left out, or a quantile that is not known there, may fail where the
                # answer did not.
                continue
        return Why.FAILS if self.trees else Why.ROWS

    def _by_luck(self, positions: Sequence[int]) -> Mapping[int, Floats]:
        """How far groups that noise may have lifted over the threshold could move what adds them up."""
        if not positions:
            return {}
        lowered = {table.name: _lowered(table) for table in self.tables}
        names = [f"c{position}" for position in positions]
        moved = values_of(self.tables, self.rows, names, lambda table: lowered[table.name].in_doubles().columns())
        values = values_of(self.tables, self.rows, names, NoisyTable.columns)
        if moved is None or values is None:
            return {position: np.full(self.rows.size, np.nan) for position in positions}
        return {position: moved[f"c{position}"] - values[f"c{position}"] for position in positions}

    def _put(self, position: int, low: Floats, high: Floats, why: Why) -> None:
        self.result.ends[position] = low, high
        shown = np.isfinite(floats(self.rows.columns[f"c{position}"]))
        if bool((np.isnan(low) & shown).any()):
            self.result.why[position] = why


def _around(grid: Floats, value: Floats) -> tuple[Floats, Floats]:
    """The distance from the number within which 95 % of replicates are, to both sides: of sums of symmetric noises."""
    with np.errstate(invalid="ignore"):
        distances = np.sort(np.abs(grid - value), axis=0)
    count = (~np.isnan(distances)).sum(axis=0)
    last = np.minimum(np.ceil(0.95 * (count + 1) - 1e-9), count) - 1
    half = distances[np.maximum(last, 0).astype(np.int64), np.arange(len(value))]
    return value - half, value + half


def _percentiles(grid: Floats, value: Floats | None) -> tuple[Floats, Floats, bool]:
    """The ends that hold 95 % of each column, outward to whole replicates. value: the released numbers, where
    replicates may lean to one side of them: their middle then lies off the number as far as the number lies off the
    truth, and the ends are moved twice as far back (Efron's bias-corrected percentiles). Third: did some lean too far
    for that?"""
    ordered = np.sort(grid, axis=0)
    count = (~np.isnan(ordered)).sum(axis=0)
    least, most = np.full(len(count), 0.025), np.full(len(count), 0.975)
    leaning = np.zeros(len(count), dtype=bool)
    if value is not None:
        with np.errstate(invalid="ignore"):
            below = (grid < value).sum(axis=0) + (grid == value).sum(axis=0) / 2
        for column, share in enumerate(below / np.maximum(count, 1)):
            least[column], most[column], leaning[column] = _corrected(float(share))
        leaning &= count > 0
    last = np.maximum(count - 1, 0)
    columns = np.arange(len(count))
    low = ordered[np.floor(least * last + 1e-9).astype(np.int64), columns]
    high = ordered[np.ceil(most * last - 1e-9).astype(np.int64), columns]
    nothing = (count == 0) | leaning | np.isinf(low) | np.isinf(high)
    return np.where(nothing, np.nan, low), np.where(nothing, np.nan, high), bool((leaning | nothing).any())


@lru_cache(maxsize=1024)
def _corrected(share: float) -> tuple[float, float, bool]:
    """Shares of replicates to end at, where this share of them is below the number; and is it too far from half?"""
    normal = NormalDist()
    if not 0 < share < 1:
        return 0.025, 0.975, True
    lean = normal.inv_cdf(share)
    end = normal.inv_cdf(0.975)
    return normal.cdf(2 * lean - end), normal.cdf(2 * lean + end), abs(lean) > MOST_LEANING


def _run_replicas(sql: str, tables: Sequence[NoisyTable], names: Sequence[str]) -> Columns:
    """A finish over every replicate of its tables: r, and its columns under these names."""
    generator = np.random.default_rng(
        [int(v) & 0xFFFFFFFF for t in tables for values in t.values for v in values[:8]] or [0]
    )
    replicas: dict[str, Columns] = {}
    shadows = []
    shared: Shared = {}
    for table in tables:
        columns = _replicas_of(table, generator, shared)
        replicas[f"{table.name}_replicas"] = columns
        listed = ", ".join(embedded.typed_column(n, table.casts) for n in columns if n != "replica")
        shadows.append(f"{table.name} AS (SELECT {listed} FROM {table.name}_replicas WHERE replica = r.r)")
    replicated = (
        f"SELECT r.r AS r, f.* FROM (SELECT unnest(range({REPLICATES})) AS r) AS r, "
        f"LATERAL (WITH {', '.join(shadows)} SELECT * FROM ({sql}) AS finish({', '.join(names)})) AS f"
    )
    return embedded.run(replicated, replicas)[0]


def _replicas_of(table: NoisyTable, generator: np.random.Generator, shared: Shared) -> Columns:
    values = replicate(table, REPLICATES, generator, shared)
    columns: Columns = {"replica": np.repeat(np.arange(REPLICATES), table.size)}
    for name, key in table.keys.items():
        masked = isinstance(key, np.ma.MaskedArray)
        columns[name] = np.ma.concatenate([key] * REPLICATES) if masked else np.tile(key, REPLICATES)  # type: ignore
    for recipe in table.recipes:
        flat = handed_over(recipe, table.vectors, values).reshape(-1)
        if recipe.kind == "quantile":
            # No law says how a chosen value might have come out else: what is computed from it is not known either.
            columns[recipe.id] = np.ma.MaskedArray(flat, True) if recipe.digits is not None else unknown_like(flat)
            continue
        columns[recipe.id] = flat.astype(np.int64) if recipe.whole else flat
    return columns


def _lowered(table: NoisyTable) -> NoisyTable:
    """The table with the counts of groups that noise may have lifted over the threshold as much smaller: by what noise
    hardly reaches within two scales of the threshold, and less by a factor of e with each scale beyond."""
    if table.selected_by is None:
        return table
    position, threshold = table.selected_by
    law, counts = table.laws[position], table.values[position]
    above = (counts - threshold) / math.sqrt(float(law.variance()) / 2)
    lifted = np.rint(float(np.max(law.half_width(NEAR))) * np.minimum(1.0, 8 * np.exp(-np.maximum(above, 0.0))))
    values = list(table.values)
    values[position] = counts - lifted.astype(np.int64)
    return replace(table, values=tuple(values))
