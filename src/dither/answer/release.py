"""From private integers to noisy vectors over the groups that may be shown.

Flow: the session hands in what the engine measured; mechanisms draw; nothing private leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.answer.chosen import choose
from dither.answer.complete import complete, places_in
from dither.catalog.model import Neighbours
from dither.engines.base import MeasuredTable
from dither.mechanisms.release import add_noise
from dither.mechanisms.running import RunningPlan
from dither.noise import Entropy
from dither.plan.keys import Domain
from dither.plan.laws import ChoiceLaw, MarginalLaw, RunningLaw
from dither.plan.price import PricedMeasure, PricedVector
from dither.plan.running import Axis, axis_of
from dither.sql.embedded import Columns

__all__ = ["release"]

Ints = npt.NDArray[np.int64]


def release(
    priced: PricedMeasure, places: Sequence[int], table: MeasuredTable, neighbours: Neighbours, entropy: Entropy
) -> tuple[Columns, list[Ints]]:
    """Noise for each vector at `places` of the measure; over private groups, for those whose noisy selecting count
    passes the threshold. Gives the shown keys (none for public lists, which are derived anew) and the vectors."""
    vectors = [priced.vectors[p] for p in places]
    domain = priced.measure.domain
    if domain is not None:
        listed, size, keys = domain.columns, domain.size, {}
        exact = complete(table, domain)
        noisy = [_over_list(v, values, domain, entropy) for v, values in zip(vectors, exact, strict=True)]
    else:
        assert priced.selecting is not None
        noisy = [_noisy(v, values, entropy) for v, values in zip(vectors, table.vectors, strict=True)]
        shown = np.flatnonzero(noisy[places.index(priced.selecting)] >= priced.threshold)
        listed = {name: column[shown] for name, column in table.keys.items()}
        # By the groups' own order: the engine's could tell how rows are stored.
        order = _order_of(listed)
        listed = {name: column[order] for name, column in listed.items()}
        noisy = [values[shown][order] for values in noisy]
        size, keys = len(order), listed
    for position, vector in enumerate(vectors):
        if isinstance(vector.law, ChoiceLaw):
            cells = table.histograms[position]
            group = places_in(cells.keys, listed, size, len(cells.cells))
            noisy[position] = choose(vector, priced.measure.tau, cells, group, size, neighbours, entropy)
    return keys, noisy


def _noisy(vector: PricedVector, values: Ints, entropy: Entropy) -> Ints:
    if isinstance(vector.law, ChoiceLaw):
        return values
    assert not isinstance(vector.law, RunningLaw | MarginalLaw)
    return add_noise(values, vector.law, entropy)


def _over_list(vector: PricedVector, values: Ints, domain: Domain, entropy: Entropy) -> Ints:
    if not isinstance(vector.law, RunningLaw):
        return _noisy(vector, values, entropy)
    assert vector.vector.running is not None
    return _running_steps(vector.law.plan, values, axis_of(vector.vector.running, domain.columns), entropy)


def _running_steps(plan: RunningPlan, values: Ints, axis: Axis, entropy: Entropy) -> Ints:
    """Totals of every line, released; each group's number is its total less that of the group before it."""
    whole = np.zeros((axis.lines, plan.n), dtype=np.int64)
    whole[axis.line, axis.place] = values
    totals = [np.rint(plan.release(line, entropy=entropy).totals).astype(np.int64) for line in whole]
    order = np.lexsort((axis.place, axis.line))
    line, ordered = axis.line[order], np.stack(totals)[axis.line[order], axis.place[order]]
    before = np.concatenate([[0], np.where(line[1:] == line[:-1], ordered[:-1], 0)]) if len(order) else ordered
    steps = np.empty(len(values), dtype=np.int64)
    steps[order] = ordered - before
    return steps


def _order_of(columns: Columns) -> Any:
    rows = list(zip(*(np.ma.asarray(column).tolist() for column in columns.values()), strict=True))
    return np.array(sorted(range(len(rows)), key=lambda i: [(v is None, v) for v in rows[i]]), dtype=np.int64)
