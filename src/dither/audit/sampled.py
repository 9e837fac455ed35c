"""Audit a mechanism by drawing from it: `test(mechanism, (d1, d2), claimed=epsilon, budget_calls=...)`.

Flow: draw (train, select, confirm: disjoint), fit scores, choose one event, count it on fresh draws, bound, verdict.
Relies on: `drawing`, `scorers`, `select`, `bounds`. Only the last count carries the guarantee, and it is looked at
once, for one event, so nothing before it needs to be right.

The guarantee: if the mechanism is (claimed, delta)-DP for the pair, in both directions, then `violated` is said with
probability at most 1 - confidence, over the draws of the audit.  Proof: docs/proofs/audit/bounds.md
Source of the method: Bichsel, Steffen, Bogunovic, Vechev 2021 (DP-Sniper), with the event's mass left free.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither.audit.confirm import confirmations
from dither.audit.drawing import Mechanism, Rows, Source
from dither.audit.scorers import Scorer, fit_scorers
from dither.audit.select import choose, tally, thresholds
from dither.audit.verdicts import Event, Finding
from dither.errors import InvalidParameter

__all__ = ["LARGE_SPLIT", "SMALL_SPLIT", "Split", "audit", "test"]

Progress = Callable[[str, int, int], None]
"""Called with the stage, the calls made and the calls allowed."""

_SMALL_BUDGET = 1_000_000
_LEAST_BUDGET = 200


@dataclass(frozen=True)
class Split:
    """Shares of the budget; they add up to 1."""

    train: float
    select: float
    confirm: float


SMALL_SPLIT = Split(0.1, 0.2, 0.7)
LARGE_SPLIT = Split(0.1, 0.3, 0.6)


def test(
    mechanism: Mechanism,
    pair: tuple[Any, Any],
    *,
    claimed: float,
    delta: float = 0.0,
    budget_calls: int,
    confidence: float = 0.95,
    seed: int | None = None,
    log_ratio: Callable[[Rows], Rows] | None = None,
    gaussian: bool = False,
    split: Split | None = None,
    progress: Progress | None = None,
) -> Finding:
    """Try to refute that `mechanism` is (claimed, delta)-DP for the neighbouring inputs `pair`.

    mechanism: f(data), f(data, n) or f(data, n, rng), giving numbers.  claimed: nats, >= 0.  delta: in [0, 1).
    budget_calls: outcomes drawn over both inputs, at least 200; one in a thousand may be added or saved.
    seed: of the generator given to f(data, n, rng) and of the audit's own.  log_ratio: ln p1/p2 of rows (n, k), when
    the densities are known.  gaussian: the law is declared Gaussian, so bound mu first (unsound for any other law; for
    integer noise take the claim from `bounds.discrete_gaussian_mu`).
    Raises InvalidParameter outside these ranges."""
    _check(claimed, delta, budget_calls, confidence)
    started = time.perf_counter()
    rng = np.random.default_rng(seed)
    source = Source.of(mechanism, rng)
    shares = split or (SMALL_SPLIT if budget_calls < _SMALL_BUDGET else LARGE_SPLIT)
    sizes = [max(20, round(budget_calls * share / 2)) for share in (shares.train, shares.select, shares.confirm)]
    error = 1 - confidence
    say = progress or (lambda stage, done, allowed: None)

    say("train", 0, budget_calls)
    training = source.training(pair, sizes[0])
    scorers = fit_scorers(*training)
    if log_ratio is not None:
        scorers.append(Scorer("known log ratio", log_ratio))
    cuts = [thresholds(scorer, *training) for scorer in scorers]
    say("select", 2 * sizes[0], budget_calls)
    tallies = (
        tally(scorers, cuts, source.batches(pair[0], sizes[1])),
        tally(scorers, cuts, source.batches(pair[1], sizes[1])),
    )
    choice = choose(
        scorers, cuts, tallies, confirm=sizes[2], confirmations=confirmations(error, delta, gaussian=gaussian)
    )
    say("confirm", 2 * (sizes[0] + sizes[1]), budget_calls)
    trials = choice.confirmation.trials(sizes[2], rng)
    hits = _count(source, pair, choice.event, trials)
    say("done", budget_calls, budget_calls)
    return Finding(
        claimed=float(claimed),
        delta=delta,
        confidence=confidence,
        epsilon_lower=choice.confirmation.epsilon_lower(hits, trials),
        event=choice.event,
        method=choice.confirmation.method,
        hits=hits,
        trials=trials,
        p_value=choice.confirmation.p_value(hits, trials, claimed),
        calls=2 * (sizes[0] + sizes[1]) + sum(trials),
        seconds=time.perf_counter() - started,
        points=choice.points,
    )


audit = test
"""The same function, under the name it has in `dither.audit`."""


def _count(source: Source, pair: tuple[Any, Any], event: Event, trials: tuple[int, int]) -> tuple[int, int]:
    """Hits of the event on the input where it is likelier, and on the other."""
    likelier, other = (pair[1], pair[0]) if event.swapped else pair
    return (
        sum(int(event.contains(rows).sum()) for rows in source.batches(likelier, trials[0])),
        sum(int(event.contains(rows).sum()) for rows in source.batches(other, trials[1])),
    )


def _check(claimed: float, delta: float, budget_calls: int, confidence: float) -> None:
    if not claimed >= 0:
        raise InvalidParameter("claimed", expected="an epsilon >= 0", found=claimed)
    if not 0 <= delta < 1:
        raise InvalidParameter("delta", expected="a number in [0, 1)", found=delta)
    if not 0 < confidence < 1:
        raise InvalidParameter("confidence", expected="a number above 0 and below 1", found=confidence)
    if budget_calls < _LEAST_BUDGET:
        raise InvalidParameter("budget_calls", expected=f"at least {_LEAST_BUDGET}", found=budget_calls)
