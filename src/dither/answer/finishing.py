"""Run the finish of a plan over its noisy tables: public SQL over public numbers.

Flow: called by the session before the charge with empty tables (a question whose finish cannot run is refused), then
with the real ones; and by an `Answer` for the spread of derived columns.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import duckdb
import numpy as np

from dither.answer.evaluate import handed_over
from dither.answer.intervals import REPLICATES, Floats, bounds_of, total_half_widths
from dither.answer.noisy import NoisyTable, Shared, replicate
from dither.errors import QueryRefused
from dither.plan.finish import to_sql
from dither.plan.growth import joined_rows
from dither.plan.laws import RunningLaw
from dither.plan.nodes import Plan
from dither.plan.recipes import Recipe
from dither.plan.row_keys import Keyed
from dither.sql import embedded
from dither.sql.embedded import Columns

MOST_ROWS = 2**22
"""Rows of an answer: more is no table for a person, and one analyst must not fill the memory that all share."""
MOST_REPLICATED = 2**23
"""Rows of all replicates of the noisy tables together."""

IN_DOUBLES = (
    "The SQL over the sums fails in decimals on these numbers (too many digits, or a remainder by 0): "
    "all of it was computed in doubles."
)
T = TypeVar("T")

__all__ = ["Ends", "Finished", "finish", "finish_with_intervals", "may_be_large", "rehearse", "rows_of", "spread"]


@dataclass(frozen=True, eq=False)
class Finished:
    """The answer's columns in order, with their SQL types, and the closed-form interval ends of direct aggregates."""

    columns: list[Any]
    types: list[str]
    notes: tuple[str, ...] = ()
    """What its reader must know."""


class Ends(Protocol):
    """What stands beside each aggregate of a noisy table: as a rule, the ends of an interval."""

    def bounds(self, recipe: Recipe, table: NoisyTable) -> tuple[Floats, Floats]:
        """(low, high) per group."""

    def total_half(self, recipe: Recipe, table: NoisyTable) -> Floats:
        """The half-width of running totals, group by group."""


def finish(plan: Plan, tables: Sequence[NoisyTable]) -> Finished:
    """The plan's answer. Raises QueryRefused when the SQL fails on these values; paid vectors stay paid."""
    try:
        finished, doubles = _over(tables, lambda given: _finished(plan, given))
    except duckdb.InterruptException:
        raise _too_slow() from None
    except duckdb.Error:
        raise QueryRefused(
            "The expressions over the noisy numbers failed on their values (a cast, an overflow).",
            code="F-170",
            hint="What was measured is paid and kept: ask again with other expressions, for nothing.",
        ) from None
    return replace(finished, notes=(IN_DOUBLES,)) if doubles else finished


def _finished(plan: Plan, tables: Sequence[NoisyTable]) -> Finished:
    _check_rows(plan, tables)
    shown = _as_they_are(plan, tables)
    if shown is not None:
        return shown
    columns, types = _run(plan.finish_sql, tables)
    return Finished(list(columns.values()), types)


def _as_they_are(plan: Plan, tables: Sequence[NoisyTable]) -> Finished | None:
    """The answer of a finish that does nothing but show columns, without a database: most questions' own, and half of
    what such a question costs after it was read. None where there is something to do, or to convert."""
    if plan.picked is None or len(tables) != 1:
        return None
    (table,) = tables
    columns = table.columns()
    if not columns.keys() >= set(plan.picked):
        return None
    shown = [embedded.shown(columns[name], table.casts.get(name)) for name in plan.picked]
    known = [column for column in shown if column is not None]
    if len(known) < len(shown):
        return None
    return Finished([values for values, _ in known], [sql_type for _, sql_type in known])


def rows_of(finished: Finished) -> list[tuple[Any, ...]]:
    """The finished table as plain rows, for the stages of a question that build on it."""
    columns = [np.ma.asarray(column).tolist() for column in finished.columns]
    return list(zip(*columns, strict=True))


def rehearse(plan: Plan, tables: Sequence[NoisyTable]) -> None:
    """Run the finish on stand-in numbers, so that names, types and functions are checked before anything is charged."""
    try:
        _check_rows(plan, tables)
        _run(plan.finish_sql, tables)
    except duckdb.InterruptException:
        raise _too_slow().located(plan.text) from None
    except duckdb.Error as error:
        # The stand-in tables hold only public groups and zeros, so what DuckDB says of them may be shown.
        said = str(error).splitlines()[0][:200].removeprefix("Binder Error: ").removeprefix("Conversion Error: ")
        raise QueryRefused(
            f"The SQL over the aggregates does not work: {said}",
            code="F-171",
            hint="Nothing was charged: mend the name, type or ordinal it speaks of.",
        ).located(plan.text) from None


def _too_slow() -> QueryRefused:
    return QueryRefused(
        f"The SQL over the aggregates takes longer than {embedded.LONGEST_S} s.",
        code="F-175",
        hint="Join on a key; aggregate before joining.",
    )


def may_be_large(plan: Plan, sizes: Mapping[str, int]) -> bool:
    """Could a finish over tables of these sizes have more than MOST_ROWS rows? Only joins multiply."""
    most: int = math.prod(max(1, size) ** plan.finish_sql.count(name) for name, size in sizes.items())
    return most > MOST_ROWS


def _check_rows(plan: Plan, tables: Sequence[NoisyTable]) -> None:
    """Refuse an answer of too many rows before it is made: by the sizes of its tables where they tell, else by counting
    as far as it may go."""
    sizes = {table.name: table.size for table in tables}
    if not may_be_large(plan, sizes):
        return
    (statement,) = embedded.parse_json(plan.finish_sql)["statements"]
    tree = statement["node"]
    rows = joined_rows(tree, sizes)
    if rows is None:
        if not any(modifier["type"] == "LIMIT_MODIFIER" for modifier in tree["modifiers"]):
            # Their order does not change how many there are, and takes all of them to find.
            tree = {**tree, "modifiers": [part for part in tree["modifiers"] if part["type"] != "ORDER_MODIFIER"]}
        rows = _count_rows(to_sql(tree), MOST_ROWS + 1, tables)
    if rows > MOST_ROWS:
        raise QueryRefused(
            f"The answer would have more than {MOST_ROWS:,} rows, the most that are given.",
            code="F-174",
            hint="Join on a key, or aggregate.",
        )


def _count_rows(sql: str, most: int, tables: Sequence[NoisyTable]) -> int:
    """At most `most`: beyond that none is looked for."""
    counted = f"SELECT 1 AS one FROM ({sql}) AS finish LIMIT {most}"
    found, _ = _run(f"SELECT COUNT(*) AS n FROM ({counted}) AS counted", tables)
    return int(found["n"][0])


def _run(
    sql: str, tables: Sequence[NoisyTable], columns: Callable[[NoisyTable], Columns] = NoisyTable.columns
) -> tuple[Columns, list[str]]:
    """The columns of a finish and their types."""
    given, casts = {t.name: columns(t) for t in tables}, {t.name: t.casts for t in tables if t.casts}
    return embedded.run(sql, given, casts, exact=True)


def _over(tables: Sequence[NoisyTable], run: Callable[[Sequence[NoisyTable]], T]) -> tuple[T, bool]:
    """What `run` gives for numbers that are paid for, and was it in doubles? Where an expression of decimals has no
    room for what the noise made, all of it is computed in doubles: an overflow is no reason to get nothing."""
    try:
        return run(tables), False
    except duckdb.InterruptException:
        raise
    except duckdb.Error:
        if not any(recipe.digits for table in tables for recipe in table.recipes):
            raise
    return run([table.in_doubles() for table in tables]), True


def interval_columns(table: NoisyTable, together: Ends | None = None) -> Columns:
    """The table's columns, and a0_low, a0_high, ... beside each aggregate."""
    columns = table.columns()
    bounds, total_half = (bounds_of, total_half_widths) if together is None else (together.bounds, together.total_half)
    for recipe in table.recipes:
        low, high = bounds(recipe, table)
        columns[f"{recipe.id}_low"], columns[f"{recipe.id}_high"] = low, high
        if recipe.kind in ("count", "sum") and isinstance(table.laws[recipe.vectors[0]], RunningLaw):
            columns[f"{recipe.id}_total_half"] = total_half(recipe, table)
    return columns


def finish_with_intervals(plan: Plan, tables: Sequence[NoisyTable], together: Ends | None = None) -> Columns:
    """Columns low_<position>, high_<position> for each answer column that is an aggregate itself: each by itself, or
    all of them together."""
    if plan.interval_tree is None:
        return {}
    sql = to_sql(dict(plan.interval_tree))
    (columns, _), _ = _over(tables, lambda given: _run(sql, given, lambda table: interval_columns(table, together)))
    return columns


def spread(plan: Plan, tables: Sequence[NoisyTable], wanted: Sequence[int], finished: Finished) -> Columns:
    """Percentile intervals of derived columns, from replicates of the whole finish; rows are matched by their groups,
    shown or not.  wanted: positions of numeric columns.  Gives low_<p>, high_<p>; NaN where nothing tells rows apart,
    or the replicates would be too many rows."""
    unknown = np.full(len(finished.columns[0]), np.nan)
    nothing = {f"{end}_{position}": unknown for position in wanted for end in ("low", "high")}
    if not len(unknown) or REPLICATES * max(len(unknown), *(table.size for table in tables)) > MOST_REPLICATED:
        return nothing
    keyed = plan.keyed
    rows = None if keyed is None else _row_keys(keyed, tables, finished)
    if keyed is None or rows is None:
        return nothing
    names = _names(finished, keyed)
    most = MOST_REPLICATED // REPLICATES
    for tree in (keyed.uncut, keyed.tree):
        sql = to_sql(tree)
        try:
            if _over(tables, lambda given, sql=sql: _count_rows(sql, most + 1, given))[0] > most:  # type: ignore[misc]
                return nothing
            found, _ = _over(tables, lambda given, sql=sql: _run_replicas(sql, given, names))  # type: ignore[misc]
        except duckdb.Error:
            # A replicate, a row that was left out, or a quantile that is not known there, may fail where the answer
            # did not.
            continue
        return _percentiles(found, keyed, rows, wanted)
    return nothing


def _row_keys(keyed: Keyed, tables: Sequence[NoisyTable], finished: Finished) -> list[tuple[Any, ...]] | None:
    """What tells the rows of the answer apart, row by row; None where the rows could not be found again."""
    names = _names(finished, keyed)
    sql = f"SELECT * FROM ({to_sql(keyed.tree)}) AS finish({', '.join(names)})"
    try:
        (found, _), _ = _over(tables, lambda given: _run(sql, given))
    except duckdb.Error:
        return None
    own = len(finished.columns)
    # Without an order of its own a table has one by habit only.
    if any(repr(found[n].tolist()) != repr(c.tolist()) for n, c in zip(names[:own], finished.columns, strict=True)):
        return None
    return _tuples(found, names[own:])


def _names(finished: Finished, keyed: Keyed) -> list[str]:
    return [f"c{i}" for i in range(len(finished.columns))] + [f"k{i}" for i in range(len(keyed.columns))]


def _tuples(columns: Columns, names: Sequence[str]) -> list[tuple[Any, ...]]:
    size = len(next(iter(columns.values())))
    return list(zip(*(columns[name].tolist() for name in names), strict=True)) if names else [()] * size


def _run_replicas(sql: str, tables: Sequence[NoisyTable], names: Sequence[str]) -> Columns:
    """A finish over every replicate of its tables: r, and its columns under these names."""
    generator = np.random.default_rng(
        [int(v) & 0xFFFFFFFF for t in tables for values in t.values for v in values[:8]] or [0]
    )
    replicas: dict[str, Columns] = {}
    shadows = []
    shared: Shared = {}
    for table in tables:
        columns = _replicas(table, generator, shared)
        replicas[f"{table.name}_replicas"] = columns
        listed = ", ".join(embedded.typed_column(n, table.casts) for n in columns if n != "replica")
        shadows.append(f"{table.name} AS (SELECT {listed} FROM {table.name}_replicas WHERE replica = r.r)")
    replicated = (
        f"SELECT r.r AS r, f.* FROM (SELECT unnest(range({REPLICATES})) AS r) AS r, "
        f"LATERAL (WITH {', '.join(shadows)} SELECT * FROM ({sql}) AS finish({', '.join(names)})) AS f"
    )
    return embedded.run(replicated, replicas)[0]


def _replicas(table: NoisyTable, generator: np.random.Generator, shared: Shared) -> Columns:
    values = replicate(table, REPLICATES, generator, shared)
    columns: Columns = {"replica": np.repeat(np.arange(REPLICATES), table.size)}
    for name, key in table.keys.items():
        masked = isinstance(key, np.ma.MaskedArray)
        columns[name] = np.ma.concatenate([key] * REPLICATES) if masked else np.tile(key, REPLICATES)  # type: ignore
    for recipe in table.recipes:
        computed = handed_over(recipe, table.vectors, values)
        flat = computed.reshape(-1)
        if recipe.kind == "quantile":
            # No law says how a chosen value might have come out else: what is computed from it is not known either.
            if recipe.digits is not None:
                columns[recipe.id] = np.ma.MaskedArray(flat, True)
                continue
            columns[recipe.id] = np.full(flat.shape, "NaT", flat.dtype) if flat.dtype.kind == "M" else flat * np.nan
            continue
        columns[recipe.id] = flat.astype(np.int64) if recipe.whole else flat
    return columns


def _percentiles(found: Columns, keyed: Keyed, rows: Sequence[tuple[Any, ...]], wanted: Sequence[int]) -> Columns:
    # Rows of the same groups cannot be told apart in another order, as the replicates may have: nothing is known.
    times = Counter(rows)
    place = {row: i for i, row in enumerate(rows) if times[row] == 1}
    seen = _tuples(found, [f"k{i}" for i in range(len(keyed.columns))])
    index = np.array([place.get(row, -1) for row in seen], dtype=np.int64)
    replica = np.asarray(found["r"], dtype=np.int64)
    known = index >= 0
    cells, found_there = np.unique(replica[known] * len(rows) + index[known], return_counts=True)
    several = np.unique(cells[found_there > 1] % len(rows))
    result: Columns = {}
    for position in wanted:
        # A group that some replicates leave out all the same is judged by those that have it.
        values = np.ma.filled(np.ma.asarray(found[f"c{position}"]).astype(np.float64), np.nan)
        grid = np.full((REPLICATES, len(rows)), np.nan)
        grid[replica[known], index[known]] = values[known]
        grid[:, several] = np.nan
        with warnings.catch_warnings():
            # A row without any number in it: its ends are not known.
            warnings.simplefilter("ignore", RuntimeWarning)
            result[f"low_{position}"], result[f"high_{position}"] = np.nanpercentile(grid, [2.5, 97.5], axis=0)
    return result
