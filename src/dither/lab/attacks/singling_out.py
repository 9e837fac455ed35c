"""A12, singling out: a condition so narrow that hardly anybody meets it, made from answers so that exactly one does.

Asking for the maximum gives `x = maximum`. The condition must be narrow (weight w far below 1/n), else it isolates
somebody by chance alone: with probability n w (1-w)^(n-1), at w = 1/n more than a third.
Source: Cohen, Nissim 2020, "Towards formalizing the GDPR's notion of singling out".
"""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np

from dither.lab import bounds
from dither.lab.engines import Exact, Maker, Rounding, dither
from dither.lab.games import Line, counted, setting_of
from dither.lab.result import Options, Result
from dither.lab.worlds.table import Table

__all__ = ["a12"]

PEOPLE, TRIALS = 200, 500
INCOMES = 10**6
WIDTH = 100
"""Values in the condition: a weight of 1/10,000, fifty times below 1/n."""
_WEIGHT = WIDTH / INCOMES


def a12(options: Options) -> Result:
    lines = [_played(maker, Fraction(1), options) for maker in (Exact, Rounding)]
    lines += [_played(dither(), epsilon, options) for epsilon in options.epsilons]
    return Result("A12", tuple(lines))


def _played(maker: Maker, epsilon: Fraction, options: Options) -> Line:
    started = time.monotonic()
    trials = options.times(TRIALS)
    incomes = np.random.default_rng(options.seed).integers(0, INCOMES, (trials, PEOPLE))
    columns = {"trial": np.repeat(np.arange(trials), PEOPLE), "income": incomes.ravel()}
    table = Table(columns, {"trial": (0, trials - 1), "income": (0, INCOMES - 1)})
    with maker(table, epsilon, options.seed) as engine:
        reply = engine.ask("SELECT trial, MAX(income) FROM data GROUP BY trial", epsilon)
        spend, name = engine.spend(), engine.name
    top = np.floor(reply.column(trials)).astype(np.int64)[:, None]
    # The condition: within WIDTH values, the answer in their middle.
    inside = (incomes > top - WIDTH // 2) & (incomes <= top + WIDTH // 2)
    hits = int(np.sum(inside.sum(axis=1) == 1))
    bound = None
    if spend.has_ledger:
        bound = bounds.isolation(PEOPLE, _WEIGHT, bounds.replaced(spend.epsilon), spend.delta)
    return counted(
        "A12", name, setting_of(epsilon, spend), "one person isolated", hits,
        trials, bound=bound, baseline=bounds.isolation_baseline(PEOPLE, _WEIGHT), oracle=1.0, spent=str(spend),
        questions=1, refusals=int(not reply.answered), seconds=time.monotonic() - started, seed=options.seed,
        at=float(epsilon), note="MAX(income), then `income` within 100 of it; a row exchanged counts twice epsilon",
    )  # fmt: skip
