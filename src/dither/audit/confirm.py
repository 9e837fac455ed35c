"""Three ways to turn the hits of one event into a proven epsilon.

Flow: `select` asks each what it would prove, `sampled` draws what the chosen one wants and applies it once.
Relies on: `bounds`.

    clopper-pearson   two one-sided binomial bounds at error/2 each; any delta
    conditional       the ratio of two Poisson counts; delta = 0. Draws Poisson(n) outcomes a side, which makes counts
                      Poisson exactly. Run at error/5: it is exact where the other is slack, so at the full error it
                      would alarm oftener; at a fifth it still proves more on rare events
    gdp               mu of Gaussian differential privacy, then its epsilon at delta; for laws declared Gaussian only
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither.audit.bounds import Numbers, epsilon_below, gdp_epsilon, gdp_mu_below, ratio_below
from dither.audit.verdicts import Method

__all__ = ["Confirmation", "confirmations"]

_CONDITIONAL_SHARE = 0.2
_LEAST_P = 1e-300


@dataclass(frozen=True)
class Confirmation:
    """One method at one error rate: its bound on epsilon at `delta` is wrong with probability at most `error`."""

    method: Method
    error: float
    delta: float

    def rank(self, hits1: Numbers, hits2: Numbers, trials: Any) -> Numbers:
        """Grows with the epsilon these hits of `trials` a side would prove (for gdp: mu, of which it is a function)."""
        match self.method:
            case "clopper-pearson":
                return epsilon_below(hits1, trials, hits2, trials, error=self.error, delta=self.delta)
            case "conditional":
                return ratio_below(hits1, hits2, self.error * _CONDITIONAL_SHARE)
            case "gdp":
                return gdp_mu_below(hits2, trials, trials - hits1, trials, error=self.error)

    def trials(self, size: int, rng: np.random.Generator) -> tuple[int, int]:
        """Outcomes to draw on the two inputs, `size` each on average."""
        if self.method != "conditional":
            return size, size
        return int(rng.poisson(size)), int(rng.poisson(size))

    def epsilon_lower(self, hits: tuple[int, int], trials: tuple[int, int]) -> float:
        """The proven epsilon, at least 0."""
        match self.method:
            case "clopper-pearson":
                bound = float(epsilon_below(hits[0], trials[0], hits[1], trials[1], error=self.error, delta=self.delta))
            case "conditional":
                bound = float(ratio_below(hits[0], hits[1], self.error * _CONDITIONAL_SHARE))
            case "gdp":
                mu = gdp_mu_below(hits[1], trials[1], trials[0] - hits[0], trials[0], error=self.error)
                bound = gdp_epsilon(float(mu), self.delta)
        return max(0.0, bound)

    def p_value(self, hits: tuple[int, int], trials: tuple[int, int], claimed: float) -> float:
        """The least error at which these counts refute `claimed`, rounded up to 0.1 %; at least 1e-300."""
        low, high = math.log(_LEAST_P), 0.0
        while high - low > 1e-3:
            middle = (low + high) / 2
            at = Confirmation(self.method, math.exp(middle), self.delta)
            refuted = at.epsilon_lower(hits, trials) > claimed
            low, high = (low, middle) if refuted else (middle, high)
        return math.exp(high)


def confirmations(error: float, delta: float, *, gaussian: bool) -> list[Confirmation]:
    """The methods that apply."""
    if gaussian:
        return [Confirmation("gdp", error, delta)]
    general = Confirmation("clopper-pearson", error, delta)
    return [general] if delta > 0 else [general, Confirmation("conditional", error, delta)]
