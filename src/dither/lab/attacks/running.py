"""The seed's own attack, Q5 - Q4, when all Q_i come at once as one private running total.

A prefix sum is an inverse difference, and its differences are the rows: so this asks what is left of a row in totals
whose noise was placed for the totals' sake. With five rows the noise of Q5 - Q4 is one draw at the whole price, the
optimum of A2; with more rows several nodes of a tree stand between two totals. Every trial is a release of its own.
Relies on: `mechanisms.running`, the library below the gateway; bounds are for the price of the plan's own event.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dither.lab import bounds
from dither.lab.engines import noise_source
from dither.lab.games import Line, counted
from dither.lab.result import Figure, Options, Result, bound_curve, curve
from dither.mechanisms import RunningPlan, plan_running_totals

__all__ = ["running"]

_TRIALS = 6_000
_LARGE = 1000
_BEST = "one draw at the whole price: at the bound, so its interval holds it"

Totals = Callable[[NDArray[np.int64]], NDArray[np.float64]]


def running(options: Options) -> Result:
    """Q5 - Q4 on exact totals; for epsilon on five rows, and the same at row 500 of a thousand; there for rho too."""
    five = [
        _private(options, plan_running_totals(5, epsilon=e, neighbours="add_remove"), 5, _BEST, float(e))
        for e in options.epsilons
    ]
    many = [
        _private(options, plan_running_totals(_LARGE, epsilon=e, neighbours="add_remove"), 500, "Q500 - Q499", float(e))
        for e in options.epsilons
    ]
    rhos = [
        _private(options, plan_running_totals(_LARGE, rho=e * e / 2, neighbours="add_remove"), 500, "Q500 - Q499")
        for e in options.epsilons
        if e <= 1
    ]
    hits, trials = _hits(options, 5, 5, lambda rows: np.cumsum(rows).astype(np.float64))
    exact = counted(
        "running", "exact", "no prices", "accuracy", hits, trials, baseline=0.5, bound=None, spent="no ledger",
        questions=trials, seed=options.seed, note="a difference of two totals is a row",
    )  # fmt: skip
    figure = Figure(
        "epsilon",
        (curve("Q5 - Q4, five rows", five), curve("Q500 - Q499", many), bound_curve("the price's bound", five)),
        True,
    )
    return Result("running", (exact, *five, *many, *rhos), figure)


def _private(options: Options, plan: RunningPlan, row: int, note: str, at: float | None = None) -> Line:
    started, entropy, price = time.monotonic(), noise_source(options.seed), plan.price
    hits, trials = _hits(options, plan.n, row, lambda rows: plan.release(rows, entropy=entropy).totals)
    if price.epsilon is None:
        told, bound = f"rho {float(price.rho):g}", bounds.concentrated_accuracy(price.rho)
    else:
        told, bound = f"epsilon {float(price.epsilon):g}", bounds.accuracy(price.epsilon)
    return counted(
        "running", "Dither, all totals", told, "accuracy", hits, trials, baseline=0.5, oracle=1.0, bound=bound,
        spent=told, questions=trials, seconds=time.monotonic() - started, seed=options.seed, note=note, at=at,
    )  # fmt: skip


def _hits(options: Options, rows: int, row: int, totals: Totals) -> tuple[int, int]:
    """(right guesses, trials) of a fair bit in `row`, counted from 1, by the difference of two totals."""
    generator, trials = np.random.default_rng([options.seed, rows]), options.times(_TRIALS)
    table, truth, hits = generator.integers(0, 2, rows), generator.integers(0, 2, trials), 0
    for bit in truth.tolist():
        table[row - 1] = bit
        released = totals(table)
        hits += bool(released[row - 1] - released[row - 2] > 0.5) == bool(bit)
    return hits, trials
