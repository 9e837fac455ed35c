"""Quantiles of every shown group, and the ends of their intervals, out of the histograms an engine measured.

Flow: `release` hands in a vector's cells and which group each belongs to; what comes out is public. Groups without rows
get values as well. Values are places, FINE to a cell, cells centred: quantile after quantile, group after group.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dither.catalog.model import Neighbours
from dither.engines.base import Histogram
from dither.mechanisms.histograms import Histograms
from dither.mechanisms.quantile import choose_quantile_of_each
from dither.mechanisms.quantile_ends import choose_end_of_each
from dither.mechanisms.quantiles import PARTS, choose_quantiles
from dither.noise import Entropy, uniform_below
from dither.plan.decimals import is_one_value
from dither.plan.laws import ChoiceLaw
from dither.plan.nodes import Vector
from dither.plan.price import PricedVector
from dither.plan.quantiles import FINE

__all__ = ["choose"]

Ints = npt.NDArray[np.int64]


def choose(
    vector: PricedVector, tau: int, found: Histogram, group: Ints, size: int, neighbours: Neighbours, entropy: Entropy
) -> Ints:
    """(quantiles * size,) int64: the vector's quantiles, or ends, in each of `size` groups.
    group: (n,) of each cell in `found`, below 0 where it belongs to none that is shown."""
    spec, law = vector.vector, vector.law
    assert isinstance(law, ChoiceLaw)
    order = np.lexsort((found.cells, group))
    group, cells, counts = group[order], found.cells[order], found.counts[order]
    first = int(np.searchsorted(group, 0))
    starts = np.searchsorted(group, np.arange(size + 1)) - first
    rows = Histograms(cells[first:], counts[first:], starts.astype(np.int64), spec.lo, spec.hi)
    if spec.end:
        return _ends(spec, law, rows, tau, neighbours, entropy)
    if len(spec.quantiles) == 1:
        return _one(spec, law, rows, tau, neighbours, entropy)
    places = choose_quantiles(
        rows, spec.quantiles, epsilon=law.epsilon, max_rows=tau, neighbours=neighbours, entropy=entropy
    )
    inner = 0 if _is_whole(spec) else places % PARTS * FINE // PARTS - FINE // 2
    return np.asarray((spec.lo + places // PARTS) * FINE + inner).reshape(-1)


def _one(spec: Vector, law: ChoiceLaw, rows: Histograms, tau: int, neighbours: Neighbours, entropy: Entropy) -> Ints:
    cells = choose_quantile_of_each(
        rows,
        quantile=spec.quantiles[0],
        epsilon=law.epsilon,
        max_rows=tau,
        neighbours=neighbours,
        entropy=entropy,
    )
    inner = 0 if _is_whole(spec) else uniform_below(FINE, rows.groups, entropy=entropy) - FINE // 2
    return np.asarray(cells * FINE + inner)


def _ends(spec: Vector, law: ChoiceLaw, rows: Histograms, tau: int, neighbours: Neighbours, entropy: Entropy) -> Ints:
    """The outer edges of the cells chosen; the edge of the bounds where nothing else can be said."""
    assert spec.end != 0
    edge = 0 if _is_whole(spec) else spec.end * FINE // 2
    found = [
        choose_end_of_each(
            rows,
            quantile=quantile,
            side=spec.end,
            epsilon=law.epsilon,
            max_rows=tau,
            neighbours=neighbours,
            entropy=entropy,
        )
        for quantile in spec.quantiles
    ]
    return np.concatenate([cells * FINE + edge for cells, _ in found])


def _is_whole(spec: Vector) -> bool:
    """Is a cell one value?"""
    return spec.expr is not None and is_one_value(spec.expr.type, spec.step)
