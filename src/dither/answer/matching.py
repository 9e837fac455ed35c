"""The rows of an answer, found again in other runs of its finish: over replicates, or over the ends of intervals.

Flow: `spread` and `between` match by what tells rows apart, shown or not (`plan.row_keys`).
Proof: docs/proofs/answer/intervals.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from dither.answer.complete import places_in
from dither.answer.finishing import Finished, count_rows, over, run_over
from dither.answer.intervals import Floats
from dither.answer.noisy import NoisyTable
from dither.errors import QueryRefused
from dither.plan.finish import to_sql
from dither.plan.row_keys import Keyed
from dither.sql.embedded import Columns

__all__ = ["Rows", "floats", "named", "placed", "rows_of", "unknown_like", "values_of"]

MOST_ROWS = 2**18
"""Of a run at the ends."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rows:
    """What tells the rows of the answer apart."""

    keyed: Keyed
    names: list[str]
    columns: Columns
    """By name, those of the answer and of its keys, as the finish gives them."""
    size: int
    alone: npt.NDArray[np.bool_]
    """Is a row the only one of its groups? Others cannot be told apart in another order, as replicates may have."""

    @property
    def keys(self) -> Columns:
        return {name: self.columns[name] for name in self.names if name[0] == "k"}

    def places(self, found: Columns) -> Ints:
        """For each row found its place among those of the answer, or -1."""
        keys = {name: found[name] for name in self.keys}
        size = len(next(iter(found.values())))
        place = places_in(keys, self.keys, self.size, size)
        return np.asarray(np.where(self.alone[place], place, -1), dtype=np.int64)


def rows_of(keyed: Keyed, tables: Sequence[NoisyTable], finished: Finished) -> Rows | None:
    """None where the rows of the answer could not be found again."""
    own = [f"c{i}" for i in range(len(finished.columns))]
    names = own + [f"k{i}" for i in range(len(keyed.columns))]
    try:
        (found, _), _ = over(tables, lambda given: run_over(named(keyed.tree, names), given))
    except (duckdb.Error, QueryRefused):
        # What tells rows apart may be one level, or one expression, too much.
        return None
    # Without an order of its own a table has one by habit only.
    if any(repr(found[name].tolist()) != repr(c.tolist()) for name, c in zip(own, finished.columns, strict=True)):
        return None
    size = len(finished.columns[0])
    keys = {name: found[name] for name in names[len(own) :]}
    place = places_in(keys, keys, size, size)
    alone = np.bincount(place[place >= 0], minlength=size) == 1
    return Rows(keyed, names, found, size, np.append(alone, False))


def named(tree: Any, names: Sequence[str]) -> str:
    return f"SELECT * FROM ({to_sql(tree)}) AS finish({', '.join(names)})"


def values_of(
    tables: Sequence[NoisyTable],
    rows: Rows,
    names: Sequence[str],
    columns: Callable[[NoisyTable], Columns],
) -> dict[str, Floats] | None:
    """Columns of the finish (c0, c1, ...) where its tables hold other columns, row by row of the answer; NaN where a
    row is not there. None where that run fails."""
    given = [table.in_doubles() for table in tables]
    for tree in (rows.keyed.uncut, rows.keyed.tree):
        try:
            # Without its LIMIT a join may be more rows than anybody can look at.
            if count_rows(to_sql(tree), MOST_ROWS + 1, given) > MOST_ROWS:
                continue
            found, _ = run_over(named(tree, rows.names), given, columns)
        except (duckdb.Error, QueryRefused):
            continue
        return {name: placed(found, rows, name) for name in names}
    return None


def placed(found: Columns, rows: Rows, name: str) -> Floats:
    """One column of a run, row by row of the answer."""
    place = rows.places(found)
    known = place >= 0
    values = np.full(rows.size, np.nan)
    values[place[known]] = floats(found[name])[known]
    several = np.bincount(place[known], minlength=rows.size) > 1
    return np.where(several, np.nan, values)


def floats(column: Any) -> Floats:
    return np.ma.filled(np.ma.asarray(column).astype(np.float64), np.nan)


def unknown_like(like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.full(like.shape, "NaT", like.dtype) if like.dtype.kind == "M" else like * np.nan
