"""Audit a whole service by running it once: many canaries, each in the data or not by a fair coin, guess which.

Flow: beside `sampled`, for systems too slow to be asked a million times: one GROUP BY over a thousand groups with a
canary in each is a thousand guesses.
Relies on: `bounds.one_run_p_value`. Source: Steinke, Nasr, Jagielski 2023, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.audit.bounds import one_run_epsilon, one_run_p_value
from dither.audit.verdicts import Verdict
from dither.errors import InvalidParameter

__all__ = ["OneRun", "one_run"]


@dataclass(frozen=True)
class OneRun:
    claimed: float
    delta: float
    confidence: float
    canaries: int
    guesses: int
    correct: int
    epsilon_lower: float
    """At least this epsilon, at `delta`, with probability `confidence`."""
    p_value: float
    """Of the claim."""

    @property
    def verdict(self) -> Verdict:
        return "violated" if self.epsilon_lower > self.claimed else "not_refuted"


def one_run(
    run: Callable[[NDArray[np.bool_]], NDArray[np.float64]],
    *,
    canaries: int,
    claimed: float,
    delta: float = 0.0,
    guesses: int | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
) -> OneRun:
    """Try to refute (claimed, delta)-DP with one call of `run`.

    run: given which of the canaries are in (bool, (canaries,)), runs the mechanism once and scores each canary, higher
    for "in".  guesses: how many to guess, the highest scores as in and the lowest as out; fixed beforehand, by default
    all. Canaries must be separate privacy units, so that each coin changes the data of one unit.
    Raises InvalidParameter if guesses is not in 2..canaries."""
    asked = canaries if guesses is None else guesses
    if not 2 <= asked <= canaries:
        raise InvalidParameter("guesses", expected=f"from 2 to {canaries}", found=guesses)
    rng = np.random.default_rng(seed)
    included = rng.random(canaries) < 0.5
    scores = np.asarray(run(included.copy()), dtype=float)
    if scores.shape != (canaries,):
        raise InvalidParameter("run", expected=f"a callable giving {canaries} scores", found=scores.shape)
    # Ties in random order, so that equal scores carry no trace of the order of canaries.
    order = np.lexsort((rng.random(canaries), scores))
    low, high = order[: asked // 2], order[canaries - (asked - asked // 2) :]
    correct = int(included[high].sum() + (~included[low]).sum())
    error = 1 - confidence
    return OneRun(
        claimed=claimed,
        delta=delta,
        confidence=confidence,
        canaries=canaries,
        guesses=asked,
        correct=correct,
        epsilon_lower=one_run_epsilon(correct=correct, guesses=asked, canaries=canaries, error=error, delta=delta),
        p_value=one_run_p_value(correct=correct, guesses=asked, canaries=canaries, epsilon=claimed, delta=delta),
    )
