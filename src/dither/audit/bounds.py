"""What counts prove: lower bounds on a probability, a ratio, an epsilon, a delta, a mu, each with a stated error.

Flow: `sampled` turns its counts into verdicts here; the attack laboratory uses the same functions for its games.
Relies on: SciPy's beta quantiles, imported on use. Every bound is moved outward by a relative 1e-9, more than the
quantiles are off, and `error` is always the probability that the bound, computed on fresh draws, is wrong.
Counts may be integers or arrays of them; arrays give arrays.  Proofs: docs/proofs/audit/bounds.md
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter

__all__ = [
    "Counts",
    "Numbers",
    "binomial_tail",
    "delta_below",
    "discrete_gaussian_mu",
    "epsilon_below",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu_below",
    "one_run_epsilon",
    "one_run_p_value",
    "probability_above",
    "probability_below",
    "ratio_below",
    "ratio_p_value",
]

Counts = Any
"""An integer or an array of integers."""
Numbers = NDArray[np.float64]

_OUTWARD = 1e-9


def probability_below(hits: Counts, trials: Counts, error: float) -> Numbers:
    """p_low with P(p_low > p) <= error for hits ~ Bin(trials, p); 0 when there are no hits.
    Source: Clopper, Pearson 1934."""
    from scipy.special import betaincinv

    hits, trials = _counts(hits, trials, error)
    bound = betaincinv(np.maximum(hits, 1), trials - hits + 1, error) * (1 - _OUTWARD)
    return np.where(hits > 0, bound, 0.0)


def probability_above(hits: Counts, trials: Counts, error: float) -> Numbers:
    """p_high with P(p_high < p) <= error for hits ~ Bin(trials, p); 1 when every trial is a hit."""
    from scipy.special import betainccinv

    hits, trials = _counts(hits, trials, error)
    bound = betainccinv(hits + 1, np.maximum(trials - hits, 1), error) * (1 + _OUTWARD)
    return np.where(hits < trials, np.minimum(bound, 1.0), 1.0)


def epsilon_below(
    hits1: Counts, trials1: Counts, hits2: Counts, trials2: Counts, *, error: float, delta: float = 0.0
) -> Numbers:
    """epsilon_low with P(p1 <= e^epsilon_low p2 + delta) <= error is false at most: ln((p1_low - delta) / p2_high), the
    error split evenly. -inf when p1_low <= delta: such counts prove nothing.
    If M is (epsilon, delta)-DP then epsilon_low <= epsilon, except with probability `error`."""
    gain = probability_below(hits1, trials1, error / 2) - delta
    with np.errstate(divide="ignore"):
        return np.where(gain > 0, np.log(np.maximum(gain, 0.0)), -np.inf) - np.log(
            probability_above(hits2, trials2, error / 2)
        )


def delta_below(
    hits1: Counts, trials1: Counts, hits2: Counts, trials2: Counts, *, error: float, epsilon: float
) -> Numbers:
    """delta_low = max(0, p1_low - e^epsilon p2_high), wrong with probability at most `error`."""
    spread = math.exp(epsilon) * probability_above(hits2, trials2, error / 2)
    return np.maximum(probability_below(hits1, trials1, error / 2) - spread, 0.0)


def ratio_below(hits1: Counts, hits2: Counts, error: float) -> Numbers:
    """ln of r_low with P(r_low > m1/m2) <= error, for independent hits1 ~ Poisson(m1), hits2 ~ Poisson(m2).

    Given hits1 + hits2 = K, hits1 ~ Bin(K, r/(1+r)) with r = m1/m2, so r_low = B/(1-B), B the lower bound of that
    probability. Counts are Poisson when the number of trials is: draw Poisson(n) trials on each side, not n. For fixed
    numbers of trials this would be an approximation.  Source: Przyborowski, Wilenski 1940."""
    share = probability_below(hits1, np.add(hits1, hits2), error)
    with np.errstate(divide="ignore"):
        return np.log(share) - np.log1p(-share)


def ratio_p_value(hits1: int, hits2: int, ratio: float) -> float:
    """P(Bin(hits1 + hits2, ratio/(1+ratio)) >= hits1): exact p-value of m1 <= ratio m2 for Poisson counts."""
    return binomial_tail(hits1, hits1 + hits2, ratio / (1 + ratio))


def binomial_tail(hits: int, trials: int, probability: float) -> float:
    """P(Bin(trials, probability) >= hits), rounded up."""
    from scipy.special import betainc

    if hits <= 0:
        return 1.0
    return min(1.0, float(betainc(hits, trials - hits + 1, probability)) * (1 + _OUTWARD))


def gdp_mu_below(
    false_positives: Counts, negatives: Counts, false_negatives: Counts, positives: Counts, *, error: float
) -> Numbers:
    """mu_low = Phi^-1(1 - FPR_high) - Phi^-1(FNR_high), at least 0: the claim of mu-GDP, mu < mu_low, is refuted.

    Says nothing about a mechanism that is not Gaussian: only for one whose law is declared to be. Integer noise of the
    discrete Gaussian law is not shift/sigma-GDP: the mu to hold against it is `discrete_gaussian_mu`.
    Source: Dong, Roth, Su 2022, section 2.2; Nasr et al. 2023, section 3."""
    from scipy.special import ndtri

    false_positive_rate = probability_above(false_positives, negatives, error / 2)
    false_negative_rate = probability_above(false_negatives, positives, error / 2)
    mu = -ndtri(false_positive_rate) - ndtri(false_negative_rate)
    return np.maximum(np.where(np.isfinite(mu), mu, 0.0) - _OUTWARD, 0.0)


def discrete_gaussian_mu(*, variance: float, shift: int) -> float:
    """The least mu for which x + discrete Gaussian noise, at x = 0 against x = shift, is mu-GDP; rounded up by 1e-9.

    A little above shift / sqrt(variance): rounding to integers puts some thresholds where they tell more. The
    likelihood ratio is monotone, so the trade-off curve has its corners at thresholds, with chords between them; those
    within 35 standard deviations are tried. inf where there are none.  variance > 0, shift >= 1.
    Proof: docs/proofs/audit/bounds.md, 4"""
    from scipy.special import ndtri

    if not variance > 0 or shift < 1:
        raise InvalidParameter("variance, shift", expected="variance > 0 and shift >= 1", found=(variance, shift))
    furthest = math.ceil(35 * math.sqrt(variance)) + shift
    reach = math.ceil(40 * math.sqrt(variance)) + shift
    weights = np.exp(-(np.arange(reach + 1, dtype=float) ** 2) / (2 * variance))
    # Upper tails P(X >= t), t = 0 ... reach, summed from the small end: each right to a few units in the last place.
    tails = np.cumsum(weights[::-1])[::-1] / (weights[0] + 2 * weights[1:].sum())
    # Corners t and shift + 1 - t are mirror images, so t from the middle up is all.
    corners = np.arange((shift + 2) // 2, furthest + 1)
    corners = corners[tails[corners] > 1e-290]
    misses = np.where(corners <= shift, -ndtri(tails[np.maximum(shift + 1 - corners, 0)]), 0.0)
    found = np.where(corners > shift, ndtri(tails[np.maximum(corners - shift, 0)]), misses)
    return float(np.max(found - ndtri(tails[corners]), initial=-math.inf if len(corners) else math.inf)) + _OUTWARD


def gdp_delta(mu: float, epsilon: float) -> float:
    """delta(epsilon) of a mu-GDP mechanism: Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).
    Source: Dong, Roth, Su 2022, Corollary 2.13; Balle, Wang 2018, Theorem 8."""
    from scipy.special import log_ndtr, ndtr

    if mu <= 0:
        return 0.0
    return max(0.0, float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon + float(log_ndtr(-mu / 2 - epsilon / mu)))))


def gdp_epsilon(mu: float, delta: float) -> float:
    """The least epsilon >= 0 with gdp_delta(mu, epsilon) <= delta, rounded down to 1e-9."""
    if gdp_delta(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, mu * mu / 2 + mu * 40
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if gdp_delta(mu, middle) > delta else (low, middle)
    return low


def one_run_p_value(*, correct: int, guesses: int, canaries: int, epsilon: float, delta: float = 0.0) -> float:
    """P(at least `correct` right guesses) at most, over every (epsilon, delta)-DP mechanism, in one run where each of
    `canaries` independent records was in by a fair coin and `guesses` of them were guessed.
    Source: Steinke, Nasr, Jagielski 2023, Theorem 5.2 (pure: Corollary 4.4)."""
    from scipy.stats import binom

    if not 0 <= correct <= guesses <= canaries:
        raise InvalidParameter(
            "correct, guesses, canaries", expected="0 <= correct <= guesses <= canaries", found=(correct, guesses)
        )
    right = 1 / (1 + math.exp(-epsilon))
    tail = binomial_tail(correct, guesses, right)
    if delta == 0 or correct == 0:
        return tail
    below = np.cumsum(binom.pmf(np.arange(correct - 1, -1, -1), guesses, right))
    worst = float(np.max(below / np.arange(1, correct + 1)))
    return min(1.0, tail + 2 * canaries * delta * worst)


def one_run_epsilon(
    *, correct: int, guesses: int, canaries: int | None = None, error: float, delta: float = 0.0
) -> float:
    """The largest epsilon refuted at level `error` by one run (see `one_run_p_value`), rounded down to 1e-6; 0 if none.
    canaries: by default as many as guesses."""
    pool = guesses if canaries is None else canaries

    def refuted(epsilon: float) -> bool:
        return one_run_p_value(correct=correct, guesses=guesses, canaries=pool, epsilon=epsilon, delta=delta) <= error

    if not refuted(0.0):
        return 0.0
    low, high = 0.0, 50.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def _counts(hits: Counts, trials: Counts, error: float) -> tuple[Numbers, Numbers]:
    if not 0 < error < 1:
        raise InvalidParameter("error", expected="a probability above 0 and below 1", found=error)
    hits, trials = np.asarray(hits, dtype=float), np.asarray(trials, dtype=float)
    if np.any(hits < 0) or np.any(hits > trials):
        raise InvalidParameter("hits", expected="counts from 0 to the number of trials", found="others")
    return hits, trials
