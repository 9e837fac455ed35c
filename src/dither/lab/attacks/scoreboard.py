"""A10, Scoreboard-RH: a viewer found among released ratings from a handful of remembered ones, some of them wrong.

    score(r) = sum over remembered films i of  wt(i) (exp(-|stars - stars'|/1.5) + exp(-|day - day'|/30)),
    wt(i) = 1/ln(viewers who rated i);  the best record is named if it leads the second by 1.5 standard deviations.
Invented ratings; those of MovieLens instead, where the user has them. A viewer who is not named and one who is named
wrongly are told apart, and so is whose record merely scores highest.
Source: Narayanan, Shmatikov 2008, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dither.lab.attacks.closest import closest, rows_refused
from dither.lab.attacks.moved import METRIC, moved_days
from dither.lab.games import Line, counted
from dither.lab.result import Options, Result
from dither.lab.worlds.movielens import may_be_sought
from dither.lab.worlds.ratings import DAYS, Ratings, ratings

__all__ = ["Memory", "a10", "found_in_given", "identify"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_STARS_SCALE, _DAYS_SCALE, _LEAD = 1.5, 30.0, 1.5
TARGETS = 300
_COARSE = "liked or not, and the year: "
_MOVED_DAYS, _MOVED_STARS = 30, 1
_MOVED = f"dates moved by {_MOVED_DAYS} days, stars by {_MOVED_STARS}, or so: "


@dataclass(frozen=True)
class Memory:
    """What the adversary remembers: films, how many of them wrongly, how well the dates (None: not at all)."""

    films: int
    wrong: int
    days: int | None

    def __str__(self) -> str:
        dates = "no dates" if self.days is None else f"dates to {self.days} days"
        return f"{self.films} ratings, {self.wrong} wrong, {dates}"


MEMORIES = (Memory(8, 2, 14), Memory(8, 2, None), Memory(4, 0, 14), Memory(2, 0, 3), Memory(2, 0, 14))


def a10(options: Options) -> Result:
    generator = np.random.default_rng(options.seed)
    world = ratings(generator)
    targets = generator.choice(len(world.stars), options.times(TARGETS), replace=False)
    lines = [_played(world, targets, memory, generator, options, "pseudonymised rows") for memory in MEMORIES]
    coarse = Ratings(
        np.where(world.stars > 0, np.where(world.stars > 3, 4, 2), 0).astype(np.int8), world.day // 365 * 365
    )
    lines.append(
        _played(coarse, targets, MEMORIES[0], generator, options, "coarsened rows", truth=world, words=_COARSE)
    )
    noisy = _moved(world, options)
    lines.append(_played(noisy, targets, MEMORIES[0], generator, options, METRIC, truth=world, words=_MOVED))
    if isinstance(options.given, Ratings):
        lines += found_in_given(options.given, options)
    note = f"rows: {rows_refused('*', options)} Instead, the game of A2: a count of who rated a film that day"
    return Result("A10", (*lines, *closest("A10", options, note, others=20)))


def found_in_given(world: Ratings, options: Options) -> list[Line]:
    """The same adversary among ratings of real people."""
    generator = np.random.default_rng([options.seed, 10])
    able = may_be_sought(world)
    targets = generator.choice(able, min(len(able), options.times(TARGETS)), replace=False)
    days = int(world.day.max()) + 1
    viewers, films = world.stars.shape
    lines = [_played(world, targets, memory, generator, options, "MovieLens rows", days=days) for memory in MEMORIES]
    told = f"{viewers:,} viewers, {films:,} films; GroupLens, for research: check its terms before passing it on"
    return [replace(lines[0], note=f"{lines[0].note}; {told}"), *lines[1:]]


def identify(world: Ratings, films: Ints, stars: Floats | Ints, days: Ints | None) -> tuple[int, bool]:
    """The viewer whose record fits the remembered ratings best, and whether it stands out enough to be named."""
    supports = np.sum(world.stars[:, films] > 0, axis=0)
    # A film with one viewer would weigh 1/ln 1: as much as one with two is plenty.
    weights = 1 / np.log(np.maximum(supports, 2))
    likeness = np.exp(-np.abs(world.stars[:, films].astype(float) - stars) / _STARS_SCALE)
    if days is not None:
        likeness += np.exp(-np.abs(world.day[:, films].astype(float) - days) / _DAYS_SCALE)
    scores = np.where(world.stars[:, films] > 0, likeness, 0) @ weights
    second, best = np.partition(scores, -2)[-2:]
    return int(np.argmax(scores)), bool(best - second >= _LEAD * scores.std())


def _played(
    released: Ratings, targets: Ints, memory: Memory, generator: np.random.Generator, options: Options, engine: str,
    truth: Ratings | None = None, days: int = DAYS, words: str = "",
) -> Line:  # fmt: skip
    found = [identify(released, *_remember(truth or released, target, memory, generator, days)) for target in targets]
    first = [best == target for (best, _), target in zip(found, targets, strict=True)]
    named = [leads for _, leads in found]
    right = sum(one and other for one, other in zip(first, named, strict=True))
    wrong, silent = sum(named) - right, len(targets) - sum(named)
    return counted(
        "A10", engine, str(memory), "viewers found", right, len(targets), bound=None, baseline=1 / len(released.stars),
        seed=options.seed, note=f"{words}{wrong} wrongly named, {silent} not named; {sum(first)} score highest",
    )  # fmt: skip


def _moved(world: Ratings, options: Options) -> Ratings:
    stars = np.clip(moved_days(world.stars.astype(np.int64), _MOVED_STARS, options.seed * 1000 + 1), 1, 5)
    day = np.clip(moved_days(world.day.astype(np.int64), _MOVED_DAYS, options.seed * 1000 + 2), 0, DAYS - 1)
    return Ratings(np.where(world.stars > 0, stars, 0).astype(np.int8), day.astype(np.int16))


def _remember(
    world: Ratings, viewer: int, memory: Memory, generator: np.random.Generator, days: int
) -> tuple[Ints, Floats, Ints | None]:
    """Films, stars and days: the wrong ones are other films with random stars and days."""
    own = np.flatnonzero(world.stars[viewer])
    others = np.flatnonzero(world.stars[viewer] == 0)
    right = generator.choice(own, memory.films - memory.wrong, replace=False)
    films = np.concatenate([right, generator.choice(others, memory.wrong, replace=False)])
    stars = np.concatenate([world.stars[viewer, right].astype(float), generator.integers(1, 6, memory.wrong)])
    if memory.days is None:
        return films, stars, None
    near = world.day[viewer, right] + generator.integers(-memory.days, memory.days + 1, len(right))
    return films, stars, np.concatenate([near, generator.integers(0, days, memory.wrong)])
