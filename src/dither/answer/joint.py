"""Everything a question measures, with its noise: measures by themselves, and groupings that were planned together.

Flow: the session says what is wanted, has the engine read `to_read`, hands the tables in; nothing private leaves.
Of a cube only the finest groupings are read: the others are sums over them.
Proof: docs/proofs/plan/cubes.md
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dither.answer.complete import complete
from dither.answer.release import release
from dither.catalog.model import Neighbours
from dither.engines.base import MeasuredTable
from dither.mechanisms.residual import MarginalRelease
from dither.noise import Entropy
from dither.plan.cubes import cell_places
from dither.plan.keys import Domain
from dither.plan.nodes import Grouping
from dither.plan.price import Place, PricedCube, PricedPlan
from dither.sql.embedded import Columns

__all__ = ["Noisy", "release_all", "to_read"]

Ints = npt.NDArray[np.int64]
Noisy = dict[Place, tuple[Columns, Ints]]
"""(measure, vector) -> the shown keys (none for public lists) and the noisy vector over them."""


def to_read(priced: PricedPlan, wanted: Iterable[Place]) -> list[tuple[int, list[int]]]:
    """What the engine must be asked for to measure `wanted`: measures, each with the positions of its vectors."""
    places = set(wanted)
    for cube in _cubes(priced, places):
        places -= set(cube.places) - set(cube.read.values())
    return [(m, sorted(p for other, p in places if other == m)) for m in sorted({m for m, _ in places})]


def release_all(
    priced: PricedPlan,
    wanted: Collection[Place],
    tables: Sequence[MeasuredTable],
    neighbours: Neighbours,
    entropy: Entropy,
) -> Noisy:
    """Every wanted vector over all its groups, with noise of its law. tables: what `to_read` gave, as it was read."""
    cubes = _cubes(priced, set(wanted))
    together = {place for cube in cubes for place in cube.places}
    found: Noisy = {}
    exact: dict[Place, Ints] = {}
    for (m, places), table in zip(to_read(priced, wanted), tables, strict=True):
        shared = [p for p in places if (m, p) in together]
        if shared:
            vectors = complete(table, priced.measures[m].measure.domain)
            exact |= {(m, p): vectors[places.index(p)] for p in shared}
        alone = [p for p in places if p not in shared]
        if alone:
            keys, noisy = release(priced.measures[m], alone, _only(table, places, alone), neighbours, entropy)
            found |= {(m, p): (keys, values) for p, values in zip(alone, noisy, strict=True)}
    for cube in cubes:
        found |= {place: ({}, values) for place, values in _release_cube(priced, cube, exact, entropy).items()}
    return found


def _release_cube(
    priced: PricedPlan, cube: PricedCube, exact: Mapping[Place, Ints], entropy: Entropy
) -> dict[Place, Ints]:
    groupings = {grouping.place: grouping for grouping in cube.cube.groupings}
    tables = {}
    for axes, place in cube.read.items():
        table = np.zeros(cube.plan.shape(axes), dtype=np.int64)
        table[_cells(groupings[place], priced)] = exact[place]
        tables[axes] = table
    released: MarginalRelease = cube.plan.release(tables, entropy=entropy)
    return {place: released.whole(g.axes)[_cells(g, priced)].reshape(-1) for place, g in groupings.items()}


def _cells(grouping: Grouping, priced: PricedPlan) -> tuple[Ints, ...]:
    """The index of every listed group into the table of its grouping."""
    measure = priced.measures[grouping.place[0]].measure
    domain: Domain = measure.domain
    columns = [[domain.columns[measure.keys[key].id] for key in keys] for keys in grouping.keys]
    places, _ = cell_places(columns, domain.size)
    return tuple(places.T)


def _cubes(priced: PricedPlan, places: Collection[Place]) -> list[PricedCube]:
    return [cube for cube in priced.cubes if cube.places[0] in places]


def _only(table: MeasuredTable, places: Sequence[int], kept: Sequence[int]) -> MeasuredTable:
    """The table with the vectors of some of its places."""
    at = [places.index(p) for p in kept]
    histograms = {at.index(i): cells for i, cells in table.histograms.items() if i in at}
    return replace(table, vectors=tuple(table.vectors[i] for i in at), histograms=histograms)
