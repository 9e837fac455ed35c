"""What a spend of (epsilon, delta) guarantees against every attack, in the attack's own measure.

Flow: games call these with the spend that the engine's ledger states, and set the result beside the success measured.
Relies on: nothing but math. epsilon and delta are for the change the game makes (one unit in or out; `replaced` when a
unit's rows are exchanged). Bounds are of an attacker's expected success; all are rounded up by a relative 1e-12, so
rounding never makes one too strict.  Proofs: docs/proofs/lab/bounds.md
"""

from __future__ import annotations

import math
from fractions import Fraction

from dither.errors import InvalidParameter

__all__ = [
    "accuracy",
    "advantage",
    "area",
    "concentrated_accuracy",
    "isolation",
    "isolation_baseline",
    "one_of",
    "posterior",
    "replaced",
    "true_positive_rate",
]

Amount = Fraction | float

_LARGEST = 500.0
"""Beyond this e^-epsilon is below every float next to 1: no bound but the trivial one is left."""


def accuracy(epsilon: Amount, delta: Amount = 0) -> float:
    """P(right guess of a fair bit) <= (e^epsilon + delta) / (1 + e^epsilon). Source: Kairouz, Oh, Viswanath 2015."""
    decay = _decay(epsilon)
    return _up((1 + float(delta) * decay) / (1 + decay))


def advantage(epsilon: Amount, delta: Amount = 0) -> float:
    """True less false positive rate <= (e^epsilon - 1 + 2 delta) / (e^epsilon + 1)."""
    decay = _decay(epsilon)
    return _up((1 - decay + 2 * float(delta) * decay) / (1 + decay))


def area(epsilon: Amount) -> float:
    """Area under the ROC curve, pure epsilon: <= e^epsilon / (1 + e^epsilon), the same as the accuracy.

    The region between the lines TPR = e^epsilon FPR and 1 - TPR = e^-epsilon (1 - FPR) is a kite."""
    return accuracy(epsilon)


def true_positive_rate(false_positive_rate: float, epsilon: Amount, delta: Amount = 0) -> float:
    """The largest true positive rate at a false positive rate. Source: Kairouz, Oh, Viswanath 2015, section 2."""
    decay = _decay(epsilon)
    steep = 1.0 if false_positive_rate >= decay else false_positive_rate / decay + float(delta)
    flat = 1 - decay * (1 - float(delta) - false_positive_rate)
    return _up(max(0.0, min(steep, flat)))


def posterior(prior: float, epsilon: Amount) -> float:
    """Belief after the answers <= p e^epsilon / (p e^epsilon + 1 - p), for a belief p before them; pure epsilon."""
    if not 0 <= prior <= 1:
        raise InvalidParameter("prior", expected="a probability", found=prior)
    decay = _decay(epsilon)
    return _up(prior / (prior + (1 - prior) * decay)) if prior else 0.0


def one_of(candidates: int, epsilon: Amount) -> float:
    """P(naming the right one of N equally likely values) <= e^epsilon / (e^epsilon + N - 1).
    epsilon: for exchanging one candidate value for another (see `replaced`)."""
    if candidates < 1:
        raise InvalidParameter("candidates", expected="at least 1", found=candidates)
    return _up(1 / (1 + (candidates - 1) * _decay(epsilon)))


def isolation(rows: int, weight: float, epsilon: Amount, delta: Amount = 0) -> float:
    """P(a predicate of weight <= w isolates one of n independent rows) <= n (e^epsilon w + delta).
    epsilon, delta: for exchanging one row. Says nothing near w = 1/n.  Source: Cohen, Nissim 2020."""
    exponent = float(epsilon)
    if exponent > _LARGEST:
        return 1.0
    return _up(min(1.0, rows * (math.exp(exponent) * weight + float(delta))))


def isolation_baseline(rows: int, weight: float) -> float:
    """P(a predicate of weight w, chosen without looking, isolates one of n rows) = n w (1 - w)^(n-1)."""
    return rows * weight * math.exp((rows - 1) * math.log1p(-weight))


def replaced(epsilon: Fraction) -> Fraction:
    """Exchanging a unit's rows is removing and adding: twice the epsilon of an add-or-remove ledger."""
    return 2 * epsilon


def concentrated_accuracy(rho: Amount) -> float:
    """P(right guess of a fair bit) <= (1 + V) / 2, V = min(sqrt(rho/2), sqrt(1 - e^-rho)), for a zCDP spend of rho.

    The Kullback-Leibler divergence is at most rho; V bounds the total variation by Pinsker and by Bretagnolle-Huber.
    Source: Bun, Steinke 2016, Definition 1.1; Canonne 2022, "A short note on an inequality between KL and TV"."""
    cost = float(rho)
    return _up((1 + min(math.sqrt(cost / 2), math.sqrt(-math.expm1(-cost)))) / 2)


def _decay(epsilon: Amount) -> float:
    if epsilon < 0:
        raise InvalidParameter("epsilon", expected="at least 0", found=epsilon)
    return math.exp(-float(epsilon)) if epsilon <= _LARGEST else 0.0


def _up(value: float) -> float:
    return min(1.0, value * (1 + 1e-12))
