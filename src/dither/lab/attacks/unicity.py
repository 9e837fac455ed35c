"""A11, unicity: how few points of a trace, place and time, are in nobody else's.

Unicity(p) is the share of people of whose points p random ones are contained in no other trace; the mean over draws,
not the worst case over all sets of p. Where places were moved, the trace that lies nearest to the points is taken.
Source: de Montjoye, Hidalgo, Verleysen, Blondel 2013.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dither.lab.attacks.closest import closest, rows_refused
from dither.lab.attacks.moved import METRIC, found_by_place, moved_places
from dither.lab.games import Line, counted
from dither.lab.result import Figure, Options, Result, Series
from dither.lab.worlds.mobility import Traces, traces

__all__ = ["a11", "unicity"]

Ints = NDArray[np.int64]

POINTS = (1, 2, 3, 4, 5, 8)
TARGETS = 400
_MOVED = (0.02, 0.1)
"""Half of the mean distance: with 300 antennas the next one is 0.03 away."""
_COARSER: tuple[tuple[str, int | None, int], ...] = (
    ("antenna, hour", None, 1),
    ("antenna, half day", None, 12),
    ("8 x 8 squares, half day", 8, 12),
    ("3 x 3 squares, half day", 3, 12),
    ("3 x 3 squares, day", 3, 24),
)


def a11(options: Options) -> Result:
    generator = np.random.default_rng(options.seed)
    world = traces(generator)
    targets = generator.choice(world.people, options.times(TARGETS), replace=False)
    lines, series = [], []
    for name, grid, hours in _COARSER:
        found = unicity(world, world.points(grid=grid, hours=hours), targets, POINTS, generator)
        series.append(Series(name, tuple((p, hits / len(targets)) for p, hits in zip(POINTS, found, strict=True))))
        kind = "coarsened rows" if grid else "pseudonymised rows"
        lines += [
            counted("A11", kind, name, f"alone with {p} points", hits, len(targets), bound=None,
                    baseline=1 / world.people, seed=options.seed, at=p)
            for p, hits in zip(POINTS, found, strict=True) if p in (2, 4)
        ]  # fmt: skip
    lines += [_moved(world, targets, scale, generator, options) for scale in _MOVED]
    note = f"rows: {rows_refused('*', options)} Instead, the game of A2: a count by antenna and hour"
    lines += closest("A11", options, note, others=10)
    return Result("A11", tuple(lines), Figure("points known", tuple(series)))


def _moved(world: Traces, targets: Ints, scale: float, generator: np.random.Generator, options: Options) -> Line:
    shown = moved_places(world, scale, options.seed)
    hits = found_by_place(world, shown, targets, 4, 12, generator)
    return counted(
        "A11", METRIC, f"places moved by {2 * scale:g}, half day", "found by 4 points", hits, len(targets), bound=None,
        baseline=1 / world.people, seed=options.seed, note="on average; the map is 1 wide",
    )  # fmt: skip


def unicity(
    world: Traces, points: Ints, targets: Ints, sizes: Sequence[int], generator: np.random.Generator
) -> list[int]:
    """For each p of `sizes`: how many targets are the only ones who have p random points of theirs.
    A target with fewer than p points is known by all of them."""
    order = np.argsort(points, kind="stable")
    by_point, people = points[order], world.person[order]
    starts = np.searchsorted(world.person, np.arange(world.people + 1))
    alone = [0] * len(sizes)
    for target in targets:
        own = generator.permutation(np.unique(points[starts[target] : starts[target + 1]]))
        for i, p in enumerate(sizes):
            alone[i] += _holders(own[:p], by_point, people) == 1
    return alone


def _holders(wanted: Ints, by_point: Ints, people: Ints) -> int:
    """How many people have all the wanted points."""
    left = None
    for point in wanted:
        low, high = np.searchsorted(by_point, [point, point + 1])
        here = np.unique(people[low:high])
        left = here if left is None else left[np.isin(left, here, assume_unique=True)]
        if len(left) == 1:
            return 1
    return 0 if left is None else len(left)
