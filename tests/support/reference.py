"""Truncation in plain Python, given the order in which the engine ranks a heavy unit's rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from dither.engines import relations
from dither.plan import nodes
from support.worlds import World

__all__ = ["kept_rows", "ranked_rows"]

Rows = list[tuple[Any, ...]]


def ranked_rows(world: World, scan: nodes.Scan, places: Sequence[int]) -> dict[Any, Rows]:
    """Each heavy unit's rows, in the order in which they are kept.
    places: for each column of the scan, where it stands in a stored row."""
    ranked: dict[Any, Rows] = defaultdict(list)
    query = relations.heavy_query(scan, world.engine._emission())
    for *values, unit, _ in world.run(f"SELECT * FROM ({query}) AS heavy ORDER BY u, r"):
        row: list[Any] = [None] * len(places)
        for place, value in zip(places, values, strict=True):
            row[place] = value
        ranked[unit].append(tuple(row))
    return dict(ranked)


def kept_rows(rows: Rows, ranked: dict[Any, Rows], tau: int, *, known: frozenset[Any] | None = None) -> Rows:
    """The rows that stay, of a table whose unit is its first column: none without a unit (or with one that is not
    `known`), all rows of light units, the first tau of each heavy unit's."""
    by_unit: dict[Any, Rows] = defaultdict(list)
    for row in rows:
        if row[0] is not None and (known is None or row[0] in known):
            by_unit[row[0]].append(row)
    kept: Rows = []
    for unit, own in by_unit.items():
        kept += own if len(own) <= tau else ranked[unit][:tau]
    return kept
