"""Rows released with every value moved a little, which is metric privacy: near values look alike, far ones do not.

    P(x is shown as z) <= e^(d(x, y)/scale) P(y is shown as z)      d: days, or distance on the map

What is promised is about one value. A row has many, each moved on its own, and who knows several of them looks for the
row that fits them best: so A9 to A11 are played against such rows too, by the nearest fit.
Flow: `linkage`, `scoreboard` and `unicity` move their rows here.
Source: Andrés, Bordenabe, Chatzikokolakis, Palamidessi 2013, "Geo-indistinguishability" (places);
Chatzikokolakis, Andrés, Bordenabe, Palamidessi 2013 (metrics).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.lab.engines import noise_source, world_generator
from dither.lab.worlds.hospital import Town
from dither.lab.worlds.mobility import Traces
from dither.noise import discrete_laplace

__all__ = ["METRIC", "found_by_place", "moved_days", "moved_places", "named_by_nearest"]

Ints = NDArray[np.int64]

METRIC = "metric privacy"


def moved_days(days: NDArray[np.integer], scale: int, seed: int) -> Ints:
    """Whole numbers, each moved by integer Laplace noise of its own: by `scale` on average, about."""
    noise = discrete_laplace(Fraction(scale), days.size, entropy=noise_source(seed))
    return np.asarray(days.astype(np.int64) + noise.astype(np.int64).reshape(days.shape))


def named_by_nearest(town: Town, shown: Ints) -> tuple[int, int]:
    """(right names, patients): each patient gets the name of the voter of their ZIP and sex whose birth date is nearest
    to the one shown."""
    group, wide = town.zip_code * 2 + town.sex, np.int64(1) << 40
    voters, patients = np.flatnonzero(town.voter), np.flatnonzero(town.admitted)
    order = voters[np.lexsort((town.birth_day[voters], group[voters]))]
    places = group[order] * wide + town.birth_day[order]
    wanted = group[patients] * wide + shown[patients]
    after = np.searchsorted(places, wanted)
    candidates = np.stack([np.maximum(after - 1, 0), np.minimum(after, len(order) - 1)])
    # Somebody of another group is farther than everybody of this one.
    nearest = candidates[np.argmin(np.abs(places[candidates] - wanted), axis=0), np.arange(len(patients))]
    return int(np.sum(order[nearest] == patients)), len(patients)


def moved_places(world: Traces, scale: float, seed: int) -> Ints:
    """(n,) the antenna nearest to where each entry was moved: by planar Laplace noise, 2 * `scale` far on average."""
    generator = world_generator(seed, 11)
    far = generator.gamma(2, scale, len(world.person))
    turn = generator.uniform(0, 2 * np.pi, len(world.person))
    x, y = world.x[world.antenna] + far * np.cos(turn), world.y[world.antenna] + far * np.sin(turn)
    found = np.empty(len(x), dtype=np.int64)
    # In parts: all distances at once would take a gigabyte.
    for start in range(0, len(x), 20_000):
        part = slice(start, start + 20_000)
        found[part] = np.argmin((x[part, None] - world.x) ** 2 + (y[part, None] - world.y) ** 2, axis=1)
    return found


def found_by_place(
    world: Traces, shown: Ints, targets: Ints, size: int, hours: int, generator: np.random.Generator
) -> int:
    """How many targets have the trace that lies nearest to `size` true points of theirs, place and time; and no other
    trace lies as near. shown: (n,) antennas as released."""
    time = world.hour // hours
    order = np.argsort(time, kind="stable")
    starts = np.searchsorted(time[order], np.arange(time.max() + 2))
    own = np.searchsorted(world.person, np.arange(world.people + 1))
    found = 0
    for target in targets:
        entries = np.arange(own[target], own[target + 1])
        far = np.zeros(world.people)
        for entry in generator.choice(entries, min(size, len(entries)), replace=False):
            there = order[starts[time[entry]] : starts[time[entry] + 1]]
            antenna, place = shown[there], world.antenna[entry]
            # Who was not seen then is as far as the map is wide.
            least = np.full(world.people, np.sqrt(2.0))
            distance = np.hypot(world.x[antenna] - world.x[place], world.y[antenna] - world.y[place])
            np.minimum.at(least, world.person[there], distance)
            far += least
        best = np.flatnonzero(far == far.min())
        found += len(best) == 1 and best[0] == target
    return found
