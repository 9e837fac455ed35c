"""Running totals in the finish: which sums over a window are totals along a listed key, and where each group stands.

Flow: `grouped` looks for them once the SELECT is rewritten, and marks the vectors they add up; such a vector's noise is
placed so that its totals stay accurate (`mechanisms.running`), and its groups are the steps of those totals.
    SUM(COUNT(*)) OVER ([PARTITION BY other keys] ORDER BY one key)   from the first group to the current one
Anything else over noisy counts is ordinary SQL over numbers with independent noise.
Proof: docs/proofs/plan/running-totals.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.plan.nodes import Running

__all__ = ["Axis", "axis_of", "codes_of", "renamed_columns", "running_windows", "total_of"]

Ints = npt.NDArray[np.int64]
Json = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Axis:
    """Where groups stand: `line` (n_groups,) tells the run of totals, `place` (n_groups,) which of its n positions."""

    line: Ints
    place: Ints
    lines: int
    n: int


def axis_of(running: Running, keys: Mapping[str, Any]) -> Axis:
    """Positions of listed groups. A position is a value of the ordered key that any group has: positions without a
    group in some line are publicly empty there."""
    line = np.zeros(len(keys[running.key]), dtype=np.int64)
    lines = 1
    for name, column in keys.items():
        if name != running.key:
            codes, size = codes_of(column, nulls_first=False)
            line, lines = line * size + codes, lines * size
    # Combinations that no group has are no lines.
    seen, line = np.unique(line, return_inverse=True)
    place, n = codes_of(keys[running.key], nulls_first=running.nulls_first != running.descending)
    if running.descending:
        place = n - 1 - place
    return Axis(line.astype(np.int64), place, len(seen), n)


def codes_of(column: Any, *, nulls_first: bool) -> tuple[Ints, int]:
    """Ranks from 0 of a column's values, NULL as one value at an end; and how many there are."""
    hidden = np.ma.getmaskarray(np.ma.asarray(column))
    data = np.ma.getdata(column)
    if data.dtype == object:
        hidden = hidden | np.array([value is None for value in data.tolist()], dtype=bool)
    codes = np.zeros(len(data), dtype=np.int64)
    values, ranks = np.unique(data[~hidden], return_inverse=True)
    codes[~hidden] = ranks + (1 if nulls_first and hidden.any() else 0)
    codes[hidden] = 0 if nulls_first else len(values)
    return codes, len(values) + int(hidden.any())


def running_windows(
    trees: Sequence[Any], keys: Sequence[str], names: Mapping[str, str] | None = None
) -> dict[str, Running]:
    """Aggregate column -> how it is summed up, for windows over these keys; the first way found counts.
    names: what the trees call the columns of the noisy table, where they call them otherwise."""
    found: dict[str, Running] = {}
    for window in _windows(trees):
        total = total_of(window, keys, names)
        if total is not None:
            found.setdefault(*total)
    return found


def renamed_columns(outer: Json, inner: Json) -> dict[str, str] | None:
    """What a SELECT over a SELECT calls the columns of the noisy table; None where it does not read all its groups."""
    if inner["type"] != "SELECT_NODE":
        return None
    if outer["where_clause"] or outer["group_expressions"] or inner["where_clause"] or inner["qualify"]:
        return None
    if any(modifier["type"] != "ORDER_MODIFIER" for modifier in inner["modifiers"]):
        return None
    named = [(item["alias"].lower(), _column(item)) for item in inner["select_list"]]
    return {alias: column for alias, column in named if column is not None}


def total_of(tree: Json, keys: Sequence[str], names: Mapping[str, str] | None = None) -> tuple[str, Running] | None:
    """(aggregate column, how) when the expression is a running total over all of these keys."""
    if tree.get("class") != "WINDOW" or tree["function_name"].lower() != "sum":
        return None
    plain = not (tree["distinct"] or tree["filter_expr"] or tree["arg_orders"] or tree["ignore_nulls"])
    frame = (tree["start"], tree["end"].rsplit("_", 1)[0], tree["exclude_clause"])
    if not plain or frame != ("UNBOUNDED_PRECEDING", "CURRENT_ROW", "NO_OTHER"):
        return None
    partitions = [_column(part, names) for part in tree["partitions"]]
    arguments = [_column(argument["expression"], names) for argument in tree["arguments"]]
    if len(tree["orders"]) != 1 or len(arguments) != 1:
        return None
    order = tree["orders"][0]
    key, argument = _column(order["expression"], names), arguments[0]
    if argument is None or not argument.startswith("a") or key is None or None in partitions:
        return None
    if len(partitions) + 1 != len(keys) or {key, *partitions} != set(keys):
        return None
    # Unless said otherwise NULL comes last, whichever the direction.
    return argument, Running(key, order["type"] == "DESCENDING", order["null_order"].replace(" ", "_") == "NULLS_FIRST")


def _windows(trees: Any) -> Iterator[Json]:
    stack = [trees]
    while stack:
        item = stack.pop()
        if isinstance(item, list | tuple):
            stack.extend(item)
        elif isinstance(item, dict):
            if item.get("class") == "WINDOW":
                yield item
            stack.extend(item.values())


def _column(tree: Json, names: Mapping[str, str] | None = None) -> str | None:
    if tree.get("class") != "COLUMN_REF":
        return None
    path = tree["column_names"]
    return names.get(path[-1].lower()) if names is not None else path[0] if len(path) == 1 else None
