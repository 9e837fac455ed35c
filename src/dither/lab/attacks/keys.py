"""A14, key existence: the list of groups tells that somebody with a rare value is there, before any number does.

A GROUP BY shows a group because it has rows. With one person in it, the name of the group is the secret, and noise on
its count does not hide it. A pure budget refuses groups known only from data; with a delta, a group shows only above a
threshold that one person reaches with probability delta at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dither.lab.engines import Desk, Exact, Noisy, dither
from dither.lab.games import Bits, Scene, play
from dither.lab.result import Options, Result
from dither.lab.worlds.table import Table

__all__ = ["KeyExistence", "a14"]


class KeyExistence:
    """A thousand rare diagnoses, each of one patient or of none, beside a common one."""

    key = "A14"
    common = 500

    def scene(self, generator: np.random.Generator, trials: int) -> Scene:
        present = generator.integers(0, 2, trials) == 1
        rare = [f"rare {i}" for i in np.flatnonzero(present)]
        names = np.array(["common"] * self.common + rare, dtype=object)
        return Scene(Table({"diagnosis": names}), present)

    def guess(self, engine: Desk, known: Mapping[str, Any], trials: int, epsilon: Fraction) -> Bits:
        reply = engine.ask("SELECT diagnosis, COUNT(*) FROM data GROUP BY diagnosis", epsilon)
        shown = {row[0] for row in reply.rows}
        return np.array([f"rare {i}" in shown for i in range(trials)])


def a14(options: Options) -> Result:
    attack, seed = KeyExistence(), options.seed
    blocks = options.times(5)
    cases = [
        (Exact, Fraction(1), "the list is the answer"),
        (Noisy, Fraction(1), "noise on counts, the list is bare"),
        (dither(), Fraction(1), "refused: no delta to choose groups with"),
        *((dither(delta="1e-6"), e, "rare groups stay below the threshold") for e in options.epsilons),
    ]
    lines = [play(attack, maker, e, seed=seed, blocks=blocks, oracle=1.0, note=note) for maker, e, note in cases]
    return Result("A14", tuple(lines))
