"""What a secret sample adds: an event that sees each unit only with probability q costs less.

This holds only for a sample that is drawn with secret randomness, fresh for each event, and never shown. TABLESAMPLE
with a seed, a fixed subset, every tenth row, or a sample used twice amplify **nothing**; so the amplified figure is
only given for a `SecretSample`, whose making is the caller's statement that these conditions hold. zCDP is not
amplified to a smaller rho, so there is no such function: use (epsilon, delta) or the curve.
Flow: for researchers and simulations; the gateway samples nothing and never calls this.
Relies on: certified exp and log; the Rényi sum is float arithmetic widened by far more than its error.
Proof: docs/proofs/accounting/subsampling.md
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.accounting.events import Event
from dither.accounting.renyi import RenyiCurve, renyi_curve
from dither.errors import InvalidParameter
from dither.exact import Number, exact, round_up
from dither.noise.bounds import exp_bounds, log_bounds

__all__ = ["SecretSample", "amplified", "amplified_renyi"]

_BITS = 128
_HIGHEST_ORDER = 256


@dataclass(frozen=True)
class SecretSample:
    """A sample of units drawn afresh for one event, from secret randomness, and never released."""

    rate: Fraction
    """q: each unit is in with this probability, independently; or m/n for m of n units without replacement."""
    neighbours: str
    """"add_remove" for independent inclusion, "replace" for m of n: the relation for which the amplified cost holds."""

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise InvalidParameter("rate", expected="above 0 and at most 1", found=self.rate)
        if self.neighbours not in ("add_remove", "replace"):
            raise InvalidParameter("neighbours", expected="add_remove or replace", found=self.neighbours)

    @classmethod
    def poisson(cls, rate: Number) -> SecretSample:
        """Each unit independently with probability `rate`; neighbours by adding or removing a unit."""
        return cls(exact(rate, "rate"), "add_remove")

    @classmethod
    def without_replacement(cls, drawn: int, of: int) -> SecretSample:
        """`drawn` units out of a public number `of`; neighbours by replacing a unit."""
        if of < 1:
            raise InvalidParameter("of", expected="1 or above", found=of)
        return cls(Fraction(drawn, of), "replace")


def amplified(epsilon: Number, delta: Number, sample: SecretSample) -> tuple[Fraction, Fraction]:
    """What an (epsilon, delta)-DP event of the sample costs the whole data: (log(1 + q(e^epsilon - 1)), q delta),
    rounded up. The event's own guarantee must be for the sample's neighbouring relation.
    Raises InvalidParameter for amounts below 0 or a delta above 1.
    Source: Balle, Barthe, Gaboardi 2018, Theorems 8 and 9."""
    e, d = exact(epsilon, "epsilon"), exact(delta, "delta")
    if e < 0 or not 0 <= d <= 1:
        raise InvalidParameter("epsilon, delta", expected="0 or above, and delta at most 1", found=(epsilon, delta))
    if e > 10_000:  # exp(epsilon) would have thousands of digits, for nothing: the sample saves about log(1/q)
        return e, sample.rate * d
    inside = 1 + sample.rate * (exp_bounds(e, _BITS)[1] - 1)
    return min(e, round_up(log_bounds(inside, _BITS)[1])), sample.rate * d


def amplified_renyi(events: Iterable[Event], sample: SecretSample, highest: int = 64) -> RenyiCurve:
    """The curve, at the whole orders 2..highest, of these events on one Poisson sample (one sample for all of them).

    log(sum over k of C(alpha, k) (1-q)^(alpha-k) q^k e^((k-1) D_k)) / (alpha - 1), D_k the events' own divergence: for
    laws that are mirror images of one another, as those of all events here are.
    Raises InvalidParameter for a sample that is not a Poisson sample, and orders out of reach.
    Source: Mironov, Talwar, Zhang 2019 (arXiv 1908.10530), section 3.3; for these events: the proof note."""
    if sample.neighbours != "add_remove":
        raise InvalidParameter("sample", expected="a Poisson sample", found=sample)
    if not 2 <= highest <= _HIGHEST_ORDER:
        raise InvalidParameter("highest", expected=f"from 2 to {_HIGHEST_ORDER}", found=highest)
    orders = np.arange(2.0, highest + 1)
    own = renyi_curve(events, orders)
    moments = [0.0, 0.0, *((orders - 1) * own.divergences)]  # log E_Q[(P/Q)^k], k = 0, 1, 2, ...
    log_q, log_rest = math.log(sample.rate), math.log1p(-float(sample.rate)) if sample.rate < 1 else -math.inf
    divergences = [
        min(_log_sum(int(alpha), moments, log_q, log_rest) / (alpha - 1) * (1 + 1e-12) + 1e-13, float(unsampled))
        for alpha, unsampled in zip(orders, own.divergences, strict=True)
    ]
    return RenyiCurve(orders, np.array(divergences), own.delta * sample.rate)


def _log_sum(alpha: int, moments: list[float], log_q: float, log_rest: float) -> float:
    """log of the sum above; k = alpha stands alone, for a rate of 1."""
    terms = [math.log(math.comb(alpha, k)) + k * log_q + (alpha - k) * log_rest + moments[k] for k in range(alpha)] + [
        alpha * log_q + moments[alpha]
    ]
    top = max(terms)
    return top + math.log(math.fsum(math.exp(term - top) for term in terms))
