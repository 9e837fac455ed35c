"""Run the finish of a plan over its noisy tables: public SQL over public numbers.

Flow: called by the session before the charge with empty tables (a question whose finish cannot run is refused), then
with the real ones. `spread` runs it again, over replicates, for the intervals of computed columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import duckdb
import numpy as np

from dither.answer.intervals import Floats, bounds_of, total_half_widths
from dither.answer.noisy import NoisyTable
from dither.errors import QueryRefused
from dither.plan.finish import to_sql
from dither.plan.growth import joined_rows
from dither.plan.laws import RunningLaw
from dither.plan.nodes import Plan
from dither.plan.recipes import Recipe
from dither.sql import embedded
from dither.sql.embedded import Columns

MOST_ROWS = 2**22
"""Rows of an answer: more is no table for a person, and one analyst must not fill the memory that all share."""

IN_DOUBLES = (
    "The SQL over the sums fails in decimals on these numbers (too many digits, or a remainder by 0): "
    "all of it was computed in doubles."
)
T = TypeVar("T")

__all__ = [
    "Ends",
    "Finished",
    "count_rows",
    "finish",
    "finish_with_intervals",
    "may_be_large",
    "over",
    "rehearse",
    "rows_of",
    "run_over",
]


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
        finished, doubles = over(tables, lambda given: _finished(plan, given))
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
    columns, types = run_over(plan.finish_sql, tables)
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
        run_over(plan.finish_sql, tables)
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
        rows = count_rows(to_sql(tree), MOST_ROWS + 1, tables)
    if rows > MOST_ROWS:
        raise QueryRefused(
            f"The answer would have more than {MOST_ROWS:,} rows, the most that are given.",
            code="F-174",
            hint="Join on a key, or aggregate.",
        )


def count_rows(sql: str, most: int, tables: Sequence[NoisyTable]) -> int:
    """At most `most`: beyond that none is looked for."""
    counted = f"SELECT 1 AS one FROM ({sql}) AS finish LIMIT {most}"
    found, _ = run_over(f"SELECT COUNT(*) AS n FROM ({counted}) AS counted", tables)
    return int(found["n"][0])


def run_over(
    sql: str, tables: Sequence[NoisyTable], columns: Callable[[NoisyTable], Columns] = NoisyTable.columns
) -> tuple[Columns, list[str]]:
    """The columns of a finish and their types."""
    given, casts = {t.name: columns(t) for t in tables}, {t.name: t.casts for t in tables if t.casts}
    return embedded.run(sql, given, casts, exact=True)


def over(tables: Sequence[NoisyTable], run: Callable[[Sequence[NoisyTable]], T]) -> tuple[T, bool]:
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
    (columns, _), _ = over(tables, lambda given: run_over(sql, given, lambda table: interval_columns(table, together)))
    # By position: the columns of the answer may have names that repeat.
    return {
        item["alias"]: found for item, found in zip(plan.interval_tree["select_list"], columns.values(), strict=True)
    }
