"""Run the finish of a plan over its noisy tables: public SQL over public numbers.

Flow: called by the session before the charge with empty tables (a question whose finish cannot run is refused), then
with the real ones; and by an `Answer` for the spread of derived columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np

from dither.answer.evaluate import evaluate
from dither.answer.intervals import REPLICATES, bounds_of, total_half_widths
from dither.answer.noisy import NoisyTable, replicate
from dither.answer.simultaneous import Together
from dither.errors import QueryRefused
from dither.plan.finish import to_sql
from dither.plan.nodes import Plan
from dither.plan.price import RunningLaw
from dither.sql import embedded
from dither.sql.embedded import Columns
from dither.sql.printing import quote_name

__all__ = ["Finished", "finish", "finish_with_intervals", "rehearse", "rows_of", "spread"]


@dataclass(frozen=True, eq=False)
class Finished:
    """The answer's columns in order, with their SQL types, and the closed-form interval ends of direct aggregates."""

    columns: list[Any]
    types: list[str]


def finish(plan: Plan, tables: Sequence[NoisyTable]) -> Finished:
    """The plan's answer. Raises QueryRefused when the SQL fails on these values; paid vectors stay paid."""
    try:
        columns, types = _run(plan.finish_sql, tables)
    except duckdb.Error:
        raise QueryRefused(
            "The expressions over the noisy numbers failed on their values (a cast, an overflow).",
            code="F-170",
            hint="What was measured is paid and kept: ask again with other expressions, for nothing.",
        ) from None
    return Finished(list(columns.values()), types)


def rows_of(finished: Finished) -> list[tuple[Any, ...]]:
    """The finished table as plain rows, for the stages of a question that build on it."""
    columns = [np.ma.asarray(column).tolist() for column in finished.columns]
    return list(zip(*columns, strict=True))


def rehearse(plan: Plan, tables: Sequence[NoisyTable]) -> None:
    """Run the finish on stand-in numbers, so that names, types and functions are checked before anything is charged."""
    try:
        _run(plan.finish_sql, tables)
    except duckdb.Error as error:
        # The stand-in tables hold only public groups and zeros, so what DuckDB says of them may be shown.
        said = str(error).splitlines()[0][:200].removeprefix("Binder Error: ").removeprefix("Conversion Error: ")
        raise QueryRefused(f"The SQL over the aggregates does not work: {said}", code="F-171").located(
            plan.text
        ) from None


def _run(
    sql: str, tables: Sequence[NoisyTable], columns: Callable[[NoisyTable], Columns] = NoisyTable.columns
) -> tuple[Columns, list[str]]:
    return embedded.run(sql, {t.name: columns(t) for t in tables}, {t.name: t.sql_types for t in tables if t.sql_types})


def interval_columns(table: NoisyTable, together: Together | None = None) -> Columns:
    """The table's columns, and a0_low, a0_high, ... beside each aggregate."""
    columns = table.columns()
    bounds, total_half = (bounds_of, total_half_widths) if together is None else (together.bounds, together.total_half)
    for recipe in table.recipes:
        low, high = bounds(recipe, table)
        columns[f"{recipe.id}_low"], columns[f"{recipe.id}_high"] = low, high
        if recipe.kind in ("count", "sum") and isinstance(table.laws[recipe.vectors[0]], RunningLaw):
            columns[f"{recipe.id}_total_half"] = total_half(recipe, table)
    return columns


def finish_with_intervals(plan: Plan, tables: Sequence[NoisyTable], together: Together | None = None) -> Columns:
    """Columns low_<position>, high_<position> for each answer column that is an aggregate itself: each by itself, or
    all of them together."""
    if plan.interval_tree is None:
        return {}
    columns, _ = _run(to_sql(dict(plan.interval_tree)), tables, lambda table: interval_columns(table, together))
    return columns


def spread(
    plan: Plan, tables: Sequence[NoisyTable], keys: Sequence[int], wanted: Sequence[int], finished: Finished
) -> Columns:
    """Percentile intervals of derived columns, from replicates of the whole finish; rows are matched by their groups.
    keys: positions of the group columns.  wanted: positions of numeric columns.  Gives low_<p>, high_<p>."""
    generator = np.random.default_rng(
        [int(v) & 0xFFFFFFFF for t in tables for values in t.values for v in values[:8]] or [0]
    )
    replicas: dict[str, Columns] = {}
    shadows = []
    for table in tables:
        columns = _replicas(table, generator)
        replicas[f"{table.name}_replicas"] = columns
        casts = table.sql_types
        names = ", ".join(
            f"CAST({quote_name(n)} AS {casts[n]}) AS {quote_name(n)}" if n in casts else quote_name(n)
            for n in columns
            if n != "replica"
        )
        shadows.append(f"{table.name} AS (SELECT {names} FROM {table.name}_replicas WHERE replica = r.r)")
    inner = ", ".join(f"c{i}" for i in range(len(finished.columns)))
    sql = (
        f"SELECT r.r AS r, f.* FROM (SELECT unnest(range({REPLICATES})) AS r) AS r, "
        f"LATERAL (WITH {', '.join(shadows)} SELECT * FROM ({plan.finish_sql}) AS finish({inner})) AS f"
    )
    found, _ = embedded.run(sql, replicas)
    return _percentiles(found, keys, wanted, finished)


def _replicas(table: NoisyTable, generator: np.random.Generator) -> Columns:
    values = replicate(table, REPLICATES, generator)
    columns: Columns = {"replica": np.repeat(np.arange(REPLICATES), table.size)}
    for name, key in table.keys.items():
        masked = isinstance(key, np.ma.MaskedArray)
        columns[name] = np.ma.concatenate([key] * REPLICATES) if masked else np.tile(key, REPLICATES)  # type: ignore
    for recipe in table.recipes:
        computed = evaluate(recipe, table.vectors, values)
        flat = computed.reshape(-1)
        columns[recipe.id] = flat.astype(np.int64) if recipe.whole else flat
    return columns


def _percentiles(found: Columns, keys: Sequence[int], wanted: Sequence[int], finished: Finished) -> Columns:
    rows = list(zip(*(finished.columns[k].tolist() for k in keys), strict=True)) or [()] * len(finished.columns[0])
    if not rows:
        # HAVING or LIMIT left none: nothing has an interval, and there are no percentiles of nothing.
        return {f"{end}_{position}": np.empty(0) for position in wanted for end in ("low", "high")}
    place = {row: i for i, row in enumerate(rows)}
    seen = list(zip(*(found[f"c{k}"].tolist() for k in keys), strict=True)) or [()] * len(found["r"])
    index = np.array([place.get(row, -1) for row in seen], dtype=np.int64)
    replica = np.asarray(found["r"], dtype=np.int64)
    known = index >= 0
    result: Columns = {}
    for position in wanted:
        # A group that some replicates leave out (HAVING, LIMIT) is judged by those that have it.
        values = np.ma.filled(np.ma.asarray(found[f"c{position}"]).astype(np.float64), np.nan)
        grid = np.full((REPLICATES, len(rows)), np.nan)
        grid[replica[known], index[known]] = values[known]
        result[f"low_{position}"], result[f"high_{position}"] = np.nanpercentile(grid, [2.5, 97.5], axis=0)
    return result
