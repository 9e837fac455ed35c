"""The closest thing to a release of rows that Dither allows: counts over the same attributes.

Linkage, scoreboards and unicity need rows, and Dither refuses rows. That is no measure of success, so the same
adversary is given what is answered: one count over the attributes they know, and guesses whether their target is in it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dither.lab.attacks.differencing import SingleCount
from dither.lab.engines import dither
from dither.lab.games import Line, play
from dither.lab.result import Options

__all__ = ["closest", "rows_refused"]


def closest(key: str, options: Options, note: str, *, others: int = 0) -> tuple[Line, ...]:
    """One line per epsilon. others: people who share the attributes, and are known."""
    attack = SingleCount()
    attack.key, attack.others = key, others
    # Draws of their own: the same game under three names would otherwise show the same luck three times.
    seed = options.seed + 100 * int(key[1:])
    return tuple(
        play(attack, dither(), e, seed=seed, blocks=options.times(4), oracle=1.0, note="" if position else note)
        for position, e in enumerate(options.epsilons)
    )


def rows_refused(columns: str, options: Options) -> str:
    """The first line of what Dither says to a question for rows."""
    scene = SingleCount().scene(np.random.default_rng(options.seed), 10)
    with dither()(scene.table, Fraction(1), options.seed) as engine:
        return engine.ask(f"SELECT {columns} FROM data").refusal.partition("\n")[0]
