"""A3, the tracker: counts that are withheld for being small, computed from large ones.

With T a group of ordinary size, q(C) = q(C or T) + q(C or not T) - n, and n = q(T) + q(not T): four allowed counts.
Source: Denning, Denning, Schwartz, "The tracker: a threat to statistical database security", TODS 1979.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dither.lab.engines import Desk, Engine, Exact, Maker, Rounding, Suppression, dither
from dither.lab.games import Bits, Line, Scene, counted, play
from dither.lab.result import Options, Result
from dither.lab.worlds.table import Table

__all__ = ["TrackedBit", "a3", "exactly", "track"]

PEOPLE, TARGETS = 500, 300


def track(engine: Engine, condition: str) -> int | None:
    """The number of rows under `condition`, by a tracker over sex; None when a part is withheld."""
    parts = [
        engine.ask(f"SELECT COUNT(*) FROM data WHERE {where}").scalar()
        for where in (f"({condition}) OR sex = 0", f"({condition}) OR sex = 1", "sex = 0", "sex = 1")
    ]
    return None if None in parts else parts[0] + parts[1] - parts[2] - parts[3]


class TrackedBit:
    """In each of many wards: is the one patient of 80 with sex 0 in? The four counts share the budget."""

    key = "A3"
    others = 20
    _where = "SELECT trial, COUNT(*) FROM data WHERE {} GROUP BY trial"

    def scene(self, generator: np.random.Generator, trials: int) -> Scene:
        present = generator.integers(0, 2, trials) == 1
        others = trials * self.others
        targets = np.flatnonzero(present)
        columns = {
            "trial": np.concatenate([np.repeat(np.arange(trials), self.others), targets]),
            "age": np.concatenate([generator.integers(20, 80, others), np.full(len(targets), 80)]),
            "sex": np.concatenate([generator.integers(0, 2, others), np.zeros(len(targets), dtype=np.int64)]),
        }
        return Scene(Table(columns, {"trial": (0, trials - 1), "age": (20, 80), "sex": (0, 1)}), present)

    def guess(self, engine: Desk, known: Mapping[str, Any], trials: int, epsilon: Fraction) -> Bits:
        wheres = ("age = 80 OR sex = 0", "age = 80 OR sex = 1", "sex = 0", "sex = 1")
        parts = [engine.ask(self._where.format(where), epsilon / 4).column(trials) for where in wheres]
        return np.asarray(parts[0] + parts[1] - parts[2] - parts[3] > 0.5)


def a3(options: Options) -> Result:
    targets = options.times(TARGETS)
    lines = [exactly(maker, targets, options.seed) for maker in (Exact, Suppression, Rounding)]
    lines += [
        play(TrackedBit(), dither(), e, seed=options.seed, blocks=options.times(5), oracle=1.0)
        for e in options.epsilons
    ]
    return Result("A3", tuple(lines))


def exactly(maker: Maker, targets: int, seed: int) -> Line:
    """How many small counts come out exactly: each of `targets` people by age, children and ward."""
    started = time.monotonic()
    generator = np.random.default_rng(seed)
    columns = {
        "age": generator.integers(20, 80, PEOPLE),
        "sex": generator.integers(0, 2, PEOPLE),
        "children": generator.integers(0, 6, PEOPLE),
    }
    age, children = columns["age"][:targets], columns["children"][:targets]
    hits = 0
    with maker(Table(columns), Fraction(1), seed) as engine:
        for a, c in zip(age, children, strict=True):
            truth = int(np.sum((columns["age"] == a) & (columns["children"] == c)))
            hits += track(engine, f"age = {a} AND children = {c}") == truth
        asked, refused, name = engine.questions, engine.refusals, engine.name
    return counted(
        "A3", name, "no prices", "small counts exact", hits, targets, bound=None, baseline=0.0, oracle=1.0,
        questions=asked, refusals=refused, seconds=time.monotonic() - started, seed=seed,
        note="each below 10 and so withheld when asked for" if name.startswith("suppression") else "",
    )  # fmt: skip
