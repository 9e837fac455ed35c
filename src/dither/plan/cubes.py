"""Which vectors of a plan are marginals of one table, so that they can be measured together.

Flow: lowering asks once per plan; `price` measures a cube's vectors together where the offer buys Gaussian noise; the
answer layer asks for the places of groups in the table.
Groupings are marginals of one table when they read the same rows, list all combinations of the same values of their
axes, and every row is in one group of each. Keys that are always grouped by together are one axis.
Proof: docs/proofs/plan/cubes.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.catalog.model import Catalog
from dither.errors import InvalidParameter
from dither.mechanisms.residual import MOST_CELLS
from dither.mechanisms.residual.design import parts_of
from dither.plan.fingerprint import expression_digest, rows_digest
from dither.plan.nodes import Cube, Grouping, Measure, Vector
from dither.plan.running import codes_of

__all__ = ["cell_places", "find_cubes"]

Ints = npt.NDArray[np.int64]

ROOM = 2**30
"""Rows of the largest value whose residuals must fit into 2^61."""


def find_cubes(measures: Sequence[Measure], catalog: Catalog) -> tuple[tuple[Cube, ...], tuple[str, ...]]:
    """The cubes of a plan, and why groupings of the same rows are in none."""
    same_rows: dict[str, list[int]] = {}
    if sum(bool(_additive(measure)) for measure in measures) > 1:
        for m, measure in enumerate(measures):
            if _additive(measure):
                same_rows.setdefault(rows_digest(measure, catalog), []).append(m)
    cubes: list[Cube] = []
    reasons: list[str] = []
    for together in same_rows.values():
        if len(together) > 1:
            found, reason = _of_same_rows({m: measures[m] for m in together}, catalog)
            cubes += found
            reasons += [reason] if reason else []
    return tuple(cubes), tuple(dict.fromkeys(reasons))


def cell_places(keys: Sequence[Sequence[Any]], size: int) -> tuple[Ints, tuple[int, ...]]:
    """Where groups stand in a table: (size, n_axes) the rank of each group's value on each axis, and how many values
    each axis has. keys: for each axis the columns of its keys. Tables with the same values rank them alike."""
    places = np.zeros((size, len(keys)), dtype=np.int64)
    sizes = []
    for axis, columns in enumerate(keys):
        rank, count = np.zeros(size, dtype=np.int64), 1
        for number, column in enumerate(columns):
            codes, values = codes_of(column, nulls_first=False)
            rank, count = rank * values + codes, count * values
            if number:
                # Ranked anew at each column: the product of many columns' values leaves 64 bits.
                seen, rank = np.unique(rank, return_inverse=True)
                count = len(seen)
        places[:, axis] = rank
        sizes.append(count)
    return places, tuple(sizes)


@dataclass(frozen=True)
class _Axis:
    """Keys that are always grouped by together, by digest."""

    keys: tuple[str, ...]
    size: int


def _additive(measure: Measure) -> list[int]:
    """Vectors whose numbers over finer groups add up to those over coarser ones."""
    if measure.domain is None:
        return []
    return [p for p, vector in enumerate(measure.vectors) if _adds_up(vector)]


def _adds_up(vector: Vector) -> bool:
    return vector.kind in ("rows", "sum") and not vector.distinct and vector.running is None


def _of_same_rows(measures: Mapping[int, Measure], catalog: Catalog) -> tuple[list[Cube], str]:
    digests = {m: [expression_digest(key.expr, measure) for key in measure.keys] for m, measure in measures.items()}
    if len({frozenset(own) for own in digests.values()}) < 2:
        return [], ""
    if catalog.nulls == "drop" and any(key.expr.nullable for measure in measures.values() for key in measure.keys):
        return [], 'rows without a group are left out of some groupings and not of others (`nulls = "drop"`)'
    axes, kept = _axes(measures, digests)
    reason = "" if len(kept) == len(measures) else "their groups are not all combinations of the same values"
    cubes, refused = _cubes({m: measures[m] for m in kept}, {m: digests[m] for m in kept}, axes)
    return cubes, refused or reason


def _axes(measures: Mapping[int, Measure], digests: Mapping[int, list[str]]) -> tuple[list[_Axis], list[int]]:
    """The axes, and the measures that list all combinations of them. Where one does not, the others are tried."""
    kept = [m for m, measure in measures.items() if measure.domain.size <= MOST_CELLS]
    looked_at: dict[tuple[int, tuple[str, ...]], frozenset[Any]] = {}
    while True:
        holders: dict[str, tuple[int, ...]] = {}
        for m in kept:
            for digest in digests[m]:
                holders[digest] = (*(h for h in holders.get(digest, ()) if h != m), m)
        classes: dict[tuple[int, ...], list[str]] = {}
        for digest, among in holders.items():
            classes.setdefault(among, []).append(digest)
        values: dict[tuple[str, ...], frozenset[Any]] = {}
        odd = None
        for m in kept:
            size = 1
            for own in classes.values():
                if own[0] in digests[m]:
                    if (m, tuple(own)) not in looked_at:
                        looked_at[m, tuple(own)] = _values(measures[m], digests[m], own)
                    listed = looked_at[m, tuple(own)]
                    if values.setdefault(tuple(own), listed) != listed:
                        odd = m
                    size *= len(listed)
            if size != measures[m].domain.size:
                odd = m
            if odd is not None:
                break
        if odd is None:
            return [_Axis(own, len(listed)) for own, listed in values.items()], kept
        kept.remove(odd)


def _values(measure: Measure, digests: Sequence[str], keys: Sequence[str]) -> frozenset[Any]:
    columns = [measure.domain.columns[measure.keys[digests.index(key)].id] for key in keys]
    return frozenset(zip(*(np.ma.asarray(column).tolist() for column in columns), strict=True))


def _cubes(
    measures: Mapping[int, Measure], digests: Mapping[int, list[str]], axes: Sequence[_Axis]
) -> tuple[list[Cube], str]:
    by_vector: dict[str, list[tuple[int, int]]] = {}
    for m, measure in measures.items():
        for p in _additive(measure):
            by_vector.setdefault(expression_digest(measure.vectors[p], measure), []).append((m, p))
    cubes, reason = [], ""
    sizes = tuple(axis.size for axis in axes)
    for places in by_vector.values():
        groupings = tuple(_grouping(place, digests[place[0]], axes) for place in places)
        if len({grouping.axes for grouping in groupings}) < 2:
            continue
        m, p = places[0]
        refused = _too_large(sizes, groupings, measures[m].vectors[p])
        reason = reason or refused
        if not refused:
            cubes.append(Cube(sizes, groupings))
    return cubes, reason


def _grouping(place: tuple[int, int], digests: Sequence[str], axes: Sequence[_Axis]) -> Grouping:
    own = [number for number, axis in enumerate(axes) if axis.keys[0] in digests]
    return Grouping(place, tuple(own), tuple(tuple(digests.index(key) for key in axes[a].keys) for a in own))


def _too_large(sizes: Sequence[int], groupings: Sequence[Grouping], vector: Vector) -> str:
    """Why these cannot be measured together, if so."""
    try:
        parts_of([grouping.axes for grouping in groupings], sizes)
    except InvalidParameter:
        return "they are too many"
    cells = max(math.prod(sizes[axis] for axis in grouping.axes) for grouping in groupings)
    if max(1, vector.largest) * ROOM * cells > 2**61:
        return "their sums are too large, times the number of groups, for 61 bits"
    return ""
