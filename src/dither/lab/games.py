"""One protocol for every attack: play many independent trials, count, and set the count beside the ledger's bound.

    world (truth, hidden) ─▶ engine (fresh ledger) ─▶ adversary: questions, replies ─▶ guesses ─▶ verdict

Flow: each attack of `attacks` builds worlds and guesses; here trials are run and judged. The adversary is handed a desk
that takes questions, and what is publicly known, never the truth. Trials are disjoint public groups, a thousand to one
question: one person is in one group, so a question costs each of them its own epsilon.
Relies on: `engines` for what an analyst sees, `audit.bounds` for Clopper-Pearson intervals.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dither.audit.bounds import probability_above, probability_below
from dither.lab import bounds
from dither.lab.engines import Desk, Maker, Spend
from dither.lab.worlds.table import Table

__all__ = [
    "ABOVE",
    "BELOW",
    "INCONCLUSIVE",
    "BitAttack",
    "Bits",
    "Line",
    "Verdict",
    "counted",
    "judge",
    "play",
    "score_threshold",
    "setting_of",
    "spend_bound",
    "tuned_threshold",
    "valued",
]

Bits = NDArray[np.bool_]
Floats = NDArray[np.float64]
Verdict = Literal["below bound", "ABOVE BOUND", "inconclusive", ""]

BELOW: Verdict = "below bound"
ABOVE: Verdict = "ABOVE BOUND"
INCONCLUSIVE: Verdict = "inconclusive"

_INTERVAL_ERROR = 0.05
"""Of the two-sided interval that is shown."""
_ALARM_ERROR = 0.05 / 100
"""Of ABOVE BOUND, one-sided: a run has fewer than a hundred lines with a bound, which together err once in 20 runs."""


@dataclass(frozen=True)
class Line:
    """One line of the table: an attack on an engine under one setting."""

    attack: str
    engine: str
    setting: str
    measure: str
    value: float
    """The success measured, in `measure`."""
    low: float | None = None
    high: float | None = None
    """95 % interval (Clopper-Pearson), where the success is a count of trials."""
    hits: int | None = None
    trials: int | None = None
    baseline: float | None = None
    """What a guesser who asks nothing reaches."""
    oracle: float | None = None
    """What the same attack reaches on an engine without any defence."""
    bound: float | None = None
    """The most that any attack can reach in expectation, by the spend in the engine's own ledger, or by its budget
    where more was spent than that: a ledger that does not end breaks its promise too."""
    spent: str = ""
    verdict: Verdict = ""
    questions: int = 0
    refusals: int = 0
    seconds: float = 0.0
    seed: int = 0
    note: str = ""
    at: float | None = None
    """Where the line stands in the attack's figure (epsilon, answers averaged, points known)."""


@dataclass(frozen=True)
class Scene:
    """One world of `trials` groups: what the engine holds, what everybody knows, and the hidden bits."""

    table: Table
    truth: Bits
    known: Mapping[str, Any] = field(default_factory=dict)


class BitAttack(Protocol):
    """An attack that guesses one fair bit in each of many groups."""

    @property
    def key(self) -> str: ...

    def scene(self, generator: np.random.Generator, trials: int) -> Scene: ...

    def guess(self, engine: Desk, known: Mapping[str, Any], trials: int, epsilon: Fraction) -> Bits:
        """One guess per group, from replies and common knowledge; at most epsilon is to be spent in all."""
        ...


def play(
    attack: BitAttack,
    maker: Maker,
    epsilon: Fraction,
    *,
    seed: int,
    blocks: int = 20,
    trials: int = 1000,
    bound_of: Callable[[Spend], float] | None = None,
    oracle: float | None = None,
    note: str = "",
    at: float | None = None,
) -> Line:
    """Run `blocks` worlds, each with a fresh ledger, and judge the guesses of all of them together."""
    started = time.monotonic()
    hits = asked = refused = 0
    spend = Spend()
    for block in range(blocks):
        scene = attack.scene(np.random.default_rng([seed, block]), trials)
        with maker(scene.table, epsilon, seed * 1000 + block) as engine:
            guesses = attack.guess(Desk(engine), scene.known, trials, epsilon)
            hits += int(np.sum(guesses == scene.truth))
            asked, refused = asked + engine.questions, refused + engine.refusals
            spend = spend.most(engine.spend())
            name = engine.name
    found = (bound_of or spend_bound)(spend.at_most(epsilon)) if spend.has_ledger else None
    setting = setting_of(epsilon, spend)
    return counted(
        attack.key, name, setting, "accuracy", hits, blocks * trials,
        baseline=0.5, oracle=oracle, bound=found, spent=str(spend), questions=asked, refusals=refused,
        seconds=time.monotonic() - started, seed=seed, note=note, at=float(epsilon) if at is None else at,
    )  # fmt: skip


def setting_of(epsilon: Fraction, spend: Spend) -> str:
    return f"epsilon {float(epsilon):g}" if spend.has_ledger else "no prices"


def spend_bound(spend: Spend) -> float:
    """The accuracy that a ledger's spend allows on a fair bit of one unit in or out.
    Where Gaussian noise was bought only rho bounds the whole."""
    if spend.rho is not None:
        return bounds.concentrated_accuracy(spend.rho)
    return bounds.accuracy(spend.epsilon, spend.delta)


def counted(
    attack: str, engine: str, setting: str, measure: str, hits: int, trials: int, *, bound: float | None, **rest: Any
) -> Line:
    """A line whose success is `hits` of `trials`, with interval and verdict."""
    # NumPy's integers have no JSON.
    hits, trials = int(hits), int(trials)
    low = float(probability_below(hits, trials, _INTERVAL_ERROR / 2))
    high = float(probability_above(hits, trials, _INTERVAL_ERROR / 2))
    return Line(
        attack, engine, setting, measure, hits / trials, low, high, hits, trials, bound=bound,
        verdict=judge(hits, trials, bound), **rest,
    )  # fmt: skip


def valued(attack: str, engine: str, setting: str, measure: str, value: float, **rest: Any) -> Line:
    """A line whose success is not a count of independent trials: shown without interval and verdict."""
    return Line(attack, engine, setting, measure, value, **rest)


def judge(hits: int, trials: int, bound: float | None) -> Verdict:
    """`ABOVE BOUND` when the success is above the bound beyond chance, `below bound` when its 95 % interval is,
    `inconclusive` when the interval holds the bound: what the best attack on exactly enough noise looks like."""
    if bound is None:
        return ""
    if float(probability_below(hits, trials, _ALARM_ERROR)) > bound:
        return ABOVE
    if float(probability_above(hits, trials, _INTERVAL_ERROR / 2)) <= bound:
        return BELOW
    return INCONCLUSIVE


def tuned_threshold(scores: Floats, truth: Bits) -> float:
    """The threshold with the best accuracy of `score > threshold` on these trials: for tuning only. Scored on the same
    trials it overstates: the best of 800 thresholds always found some luck."""
    order = np.argsort(scores, kind="stable")
    ranked, bits = scores[order], truth[order]
    # Cut after position i: below are the first i scores, guessed 0; above the others, guessed 1.
    right = np.concatenate([[0], np.cumsum(~bits)]) + np.sum(bits) - np.concatenate([[0], np.cumsum(bits)])
    cuts = np.concatenate([[ranked[0] - 1], (ranked[1:] + ranked[:-1]) / 2, [ranked[-1] + 1]])
    # Equal scores cannot be parted.
    allowed = np.concatenate([[True], ranked[1:] > ranked[:-1], [True]])
    return float(cuts[np.argmax(np.where(allowed, right, -1))])


def score_threshold(scores: Floats, truth: Bits) -> tuple[int, int]:
    """(hits, trials): tune on the first half of the trials, count on the other."""
    half = len(scores) // 2
    threshold = tuned_threshold(scores[:half], truth[:half])
    return int(np.sum((scores[half:] > threshold) == truth[half:])), len(scores) - half
