"""What an audit says: the event it found, what was counted, and one of two words.

Flow: `sampled` builds a Finding, `report` prints it. `violated` is a statement with an error rate; `not_refuted` says
that this audit, with these draws, did not refute the claim. No verdict here says that a mechanism is private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dither.audit.drawing import Rows
from dither.audit.scorers import Scorer

__all__ = ["Event", "Finding", "Method", "Point", "Verdict"]

Verdict = Literal["violated", "not_refuted"]
Method = Literal["clopper-pearson", "conditional", "gdp"]
Point = tuple[float, float]
"""(false positive rate, false negative rate) of a test that guesses the first input when the event occurs."""


@dataclass(frozen=True)
class Event:
    """A set of outcomes: those whose score is at least (or below) a threshold, and the input that makes it likelier."""

    scorer: Scorer
    threshold: float
    upper: bool
    swapped: bool
    """False: likelier on the first input; True: on the second."""

    def contains(self, rows: Rows) -> NDArray[np.bool_]:
        inside = self.scorer.score(rows) >= self.threshold
        return inside if self.upper else ~inside

    def __str__(self) -> str:
        return f"{self.scorer.name} {'>=' if self.upper else '<'} {self.threshold:.6g}"


@dataclass(frozen=True)
class Finding:
    """The outcome of one audit. P1 is the law on the input where the event is likelier, P2 on the other."""

    claimed: float
    delta: float
    confidence: float
    epsilon_lower: float
    """At least this epsilon, at `delta`, with probability `confidence`; at least 0."""
    event: Event
    method: Method
    hits: tuple[int, int]
    trials: tuple[int, int]
    p_value: float
    """Of the claim, for the confirmed event; the mechanism of a true claim falls below x with probability at most x."""
    calls: int
    seconds: float
    points: tuple[Point, ...] = ()
    """The best events tried on the select share: estimates, for a picture."""

    @property
    def verdict(self) -> Verdict:
        return "violated" if self.epsilon_lower > self.claimed else "not_refuted"

    @property
    def epsilon_estimate(self) -> float:
        """ln((p1 - delta) / p2) of the confirmed frequencies, no guarantee; inf when the other side was never hit."""
        gain = self.hits[0] / self.trials[0] - self.delta
        other = self.hits[1] / self.trials[1]
        if gain <= 0:
            return 0.0
        return math.inf if other == 0 else max(0.0, math.log(gain / other))

    def __str__(self) -> str:
        order = "second input against the first" if self.event.swapped else "first input against the second"
        return (
            f"{self.verdict}: epsilon >= {self.epsilon_lower:.4f} at {self.confidence:.1%} confidence"
            f" (claimed {self.claimed:g}, delta {self.delta:g})\n"
            f"  event   {self.event}, {order}\n"
            f"  counts  {self.hits[0]:,} of {self.trials[0]:,} against {self.hits[1]:,} of {self.trials[1]:,}"
            f" ({self.method}, p-value {self.p_value:.3g})\n"
            f"  cost    {self.calls:,} calls, {self.seconds:.1f} s"
        )
