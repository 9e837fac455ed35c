"""A noisy table: the groups and noisy vectors of one measure, and the columns a finish reads from it.

Flow: the session builds these from fresh or reused vectors; `finish` runs over their columns; `intervals` widens them.
Everything in here is public.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.answer.evaluate import handed_over
from dither.plan.cubes import cell_places
from dither.plan.laws import ChoiceLaw, Law, MarginalLaw, RunningLaw
from dither.plan.nodes import Vector
from dither.plan.recipes import Recipe
from dither.plan.running import Axis, axis_of
from dither.sql.embedded import Columns

__all__ = ["NoisyTable", "replicate"]


@dataclass(frozen=True, eq=False)
class NoisyTable:
    name: str
    keys: Columns
    vectors: tuple[Vector, ...]
    values: tuple[npt.NDArray[np.int64], ...]
    """(n_groups,) int64, in steps; one per vector. Of several quantiles: (quantiles * n_groups,), one after another."""
    laws: tuple[Law, ...]
    """The noise in each vector, in steps."""
    recipes: tuple[Recipe, ...]
    sql_types: Mapping[str, str] = field(default_factory=dict)
    """Column -> SQL type, where its array alone may not tell (dates; texts of no rows)."""
    sources: tuple[str, ...] = ()
    """Names the measurement each vector is: vectors of one name, in whichever tables, have the same noise."""
    selected_by: tuple[int, int] | None = None
    """Of groups that are not listed: the vector whose noisy value selected them, and the least that did."""

    @property
    def size(self) -> int:
        if not self.values:
            return len(next(iter(self.keys.values())))
        return len(self.values[0]) // max(1, len(self.vectors[0].quantiles))

    def axis(self, position: int) -> Axis:
        """Where the groups stand along the key that a vector is summed up over."""
        running = self.vectors[position].running
        assert running is not None
        return axis_of(running, self.keys)

    def cells(self, law: MarginalLaw) -> npt.NDArray[np.int64]:
        """(n_groups, n_axes): where the groups stand in the table that several groupings were measured from."""
        columns = list(self.keys.values())
        places, _ = cell_places([[columns[key] for key in keys] for keys in law.keys], self.size)
        return places

    def columns(self) -> Columns:
        """Keys k0, k1, ... and aggregates a0, a1, ... as the finish reads them."""
        found: Columns = dict(self.keys)
        for recipe in self.recipes:
            found[recipe.id] = handed_over(recipe, self.vectors, self.values)
        return found

    @property
    def casts(self) -> dict[str, str]:
        """Column -> its SQL type, or how it comes from whole numbers, where its array alone does not tell."""
        return {**self.sql_types, **{r.id: r.digits.sql() for r in self.recipes if r.digits is not None}}

    def in_doubles(self) -> NoisyTable:
        """The same table with doubles for decimals."""
        return replace(self, recipes=tuple(replace(recipe, digits=None) for recipe in self.recipes))


Shared = dict[tuple[str, tuple[int, ...] | None], npt.NDArray[Any]]
"""Replicates of noise that several tables have: (measurement, part) of groupings measured together, (source, None) of a
vector that stands in more than one table."""


def replicate(
    table: NoisyTable, count: int, generator: np.random.Generator, shared: Shared | None = None
) -> tuple[npt.NDArray[Any], ...]:
    """The vectors with fresh noise of the same laws added, (count, n_groups): what might as well have come out.
    An ordinary generator serves: nothing private is hidden by this noise. shared: handed from table to table, so that
    what they have in common is drawn once."""
    common: Shared = {} if shared is None else shared
    found = []
    for position, values in enumerate(table.values):
        if not table.sources:
            found.append(values + _noise(table, position, count, generator, common))
            continue
        key = (table.sources[position], None)
        if key not in common:
            common[key] = _noise(table, position, count, generator, common)
        found.append(values + common[key])
    return tuple(found)


def _noise(
    table: NoisyTable, position: int, count: int, generator: np.random.Generator, shared: Shared
) -> npt.NDArray[Any]:
    law = table.laws[position]
    if isinstance(law, RunningLaw):
        return _draw_running(law, table.axis(position), count, generator)
    if isinstance(law, MarginalLaw):
        return _draw_marginal(law, table.cells(law), count, generator, shared)
    return _draw(law, (count, len(table.values[position])), generator)


def _draw_marginal(
    law: MarginalLaw, cells: npt.NDArray[np.int64], count: int, generator: np.random.Generator, shared: Shared
) -> npt.NDArray[Any]:
    """Noise of a grouping: that of its parts, each spread over the axes it does not have."""
    sizes = law.errors.sizes
    noise = np.zeros((count, len(cells)))
    for part, own in law.errors.laws.items():
        if (law.shared, part) not in shared:
            drawn = _draw(own, (count, math.prod(sizes[axis] for axis in part)), generator)
            drawn = drawn.reshape(count, *(sizes[axis] for axis in part))
            for dimension in range(1, drawn.ndim):
                drawn = drawn - drawn.mean(axis=dimension, keepdims=True)
            shared[law.shared, part] = drawn / math.prod(sizes[axis] for axis in part)
        flat = shared[law.shared, part].reshape(count, -1)
        place = np.zeros(len(cells), dtype=np.int64)
        for axis in part:
            place = place * sizes[axis] + cells[:, law.axes.index(axis)]
        noise += flat[:, place] / math.prod(sizes[axis] for axis in law.axes if axis not in part)
    return np.rint(noise)


def _draw_running(law: RunningLaw, axis: Axis, count: int, generator: np.random.Generator) -> npt.NDArray[Any]:
    """Noise of steps: differences of the noise of totals, group after group of each line."""
    design = law.plan.design
    coordinates = len(design.measure(np.zeros(law.plan.n, dtype=np.int64), 0))
    noise = np.empty((count, len(axis.place)))
    order = np.lexsort((axis.place, axis.line))
    line, place = axis.line[order], axis.place[order]
    begins = np.concatenate([[True], line[1:] != line[:-1]])
    for replica in range(count):
        drawn = _draw(law.plan.law, (axis.lines, coordinates), generator).astype(np.int64)
        totals = np.stack([np.rint(design.totals(one)) for one in drawn])[line, place]
        noise[replica, order] = totals - np.where(begins, 0, np.concatenate([[0], totals[:-1]]))
    return noise


def _draw(law: Law, shape: tuple[int, int], generator: np.random.Generator) -> npt.NDArray[Any]:
    """Approximate draws: the difference of two geometrics for Laplace, a rounded normal for Gaussian."""
    if isinstance(law, ChoiceLaw):
        # A chosen value has no additive noise: derived columns keep it as it is.
        return np.zeros(shape)
    scale = getattr(law, "scale", None)
    if scale is None:
        return np.rint(generator.normal(scale=np.sqrt(float(law.variance())), size=shape))
    success = -np.expm1(-1.0 / float(scale))
    if success <= 0 or float(scale) > 1e15:
        return np.rint(generator.laplace(scale=float(scale), size=shape))
    return np.asarray(generator.geometric(success, shape) - generator.geometric(success, shape), dtype=np.float64)
