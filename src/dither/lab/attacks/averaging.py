"""A4, averaging: the same question in many spellings, so that fresh noise averages out.

The mean of k answers of epsilon each has noise of standard deviation sqrt(2/k)/epsilon: the true price of k answers is
k epsilon. A ledger books it; noise without a ledger gives it away.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dither.lab import bounds
from dither.lab.attacks.differencing import SingleCount
from dither.lab.engines import Desk, Exact, Noisy, dither
from dither.lab.games import Bits, play
from dither.lab.result import Figure, Options, Result, Series, curve

__all__ = ["Averaging", "a4"]

PER_QUESTION = Fraction(1, 10)


class Averaging(SingleCount):
    """k spellings at `per_question` each, as far as the engine answers; the mean decides."""

    key = "A4"

    def __init__(self, spellings: int, per_question: Fraction = PER_QUESTION) -> None:
        self.spellings = spellings
        self.per_question = per_question

    def guess(self, engine: Desk, known: Mapping[str, Any], trials: int, epsilon: Fraction) -> Bits:
        price = min(self.per_question, epsilon)
        total, answered = np.zeros(trials), 0
        for k in range(self.spellings):
            # Another text each time, and the same rows.
            reply = engine.ask(f"SELECT trial, COUNT(*) FROM data WHERE visits > {-k} - 1 GROUP BY trial", price)
            if reply.answered:
                total, answered = total + reply.column(trials), answered + 1
        return total / max(answered, 1) - self.others > 0.5


def a4(options: Options) -> Result:
    seed = options.seed
    exact = play(Averaging(1), Exact, PER_QUESTION, seed=seed, blocks=1)
    bare = [
        play(Averaging(k), Noisy, PER_QUESTION, seed=seed, blocks=max(1, options.times(min(20, 1000 // k))), oracle=1.0,
             note=f"questions: {k:,}; the true price is epsilon {float(k * PER_QUESTION):g}", at=k)
        for k in (1, 10, 100, 1000)
    ]  # fmt: skip
    kept = [
        play(Averaging(k), dither(), PER_QUESTION, seed=seed, blocks=options.times(10), oracle=1.0, at=k,
             note=f"budget 0.1, {k} tried: it pays for the first")
        for k in (1, 10, 100)
    ]  # fmt: skip
    ten = play(
        Averaging(20), dither(), Fraction(1), seed=seed, blocks=options.times(4), oracle=1.0, at=20,
        note="budget 1, 20 tried: it pays for ten",
    )  # fmt: skip
    limit = bounds.accuracy(PER_QUESTION)
    figure = Figure(
        "spellings of one question",
        (
            curve("no ledger", bare),
            curve("Dither, budget 0.1", kept),
            Series("bound for epsilon 0.1", ((1, limit), (1000, limit)), is_bound=True),
        ),
        True,
    )
    return Result("A4", (exact, *bare, *kept, ten), figure)
