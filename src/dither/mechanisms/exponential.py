"""The exponential mechanism over integer scores: one index, higher scores likelier by exact powers of e.

Flow: integer scores in, an index and its event out. Relies on: `noise.categorical_exp`, which draws from the exact law
with no float; scores are used as integers, so equal scores are exactly equally likely.
Proof: docs/proofs/mechanisms/exponential.md
"""

from __future__ import annotations

from dataclasses import dataclass

from dither.accounting.events import ExponentialEvent
from dither.accounting.price import Price, price
from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.mechanisms.release import Integers, Values, saturate
from dither.noise import Entropy, categorical_exp

__all__ = ["Choice", "exponential"]


@dataclass(frozen=True)
class Choice:
    """The chosen index, released."""

    index: int
    event: ExponentialEvent

    @property
    def price(self) -> Price:
        return price(self.event)


def exponential(
    scores: Values,
    *,
    sensitivity: int,
    epsilon: Number,
    monotone: bool = False,
    weights: Integers | None = None,
    entropy: Entropy | None = None,
) -> Choice:
    """Choose index i with probability proportional to weights[i] exp(unit * scores[i]): unit is
    epsilon / (2 sensitivity), or epsilon / sensitivity when one unit moves all scores in one direction (`monotone`).
    scores: (n,) integers, n >= 1.  sensitivity: how far neighbours can move any one score, >= 1.
    weights: (n,) public, whole, not all 0.  epsilon: nats, > 0.  Raises InvalidParameter outside these.
    For all neighbours: the privacy losses of all indices lie in an interval of length epsilon (bounded range), hence
    epsilon-DP and epsilon^2/8-zCDP.
    Source: McSherry and Talwar 2007; Cesar and Rogers 2021."""
    if not isinstance(sensitivity, int) or isinstance(sensitivity, bool) or sensitivity < 1:
        raise InvalidParameter("sensitivity", expected="a whole number, at least 1", found=sensitivity)
    price_of_choice = positive(epsilon, "epsilon")
    clean = saturate(scores).reshape(-1)
    if clean.size == 0:
        raise InvalidParameter("scores", expected="at least one", found="none")
    unit = price_of_choice / (sensitivity if monotone else 2 * sensitivity)
    # How far each score lies below the best: within 2^62, since scores lie within +-2^61.
    below: Integers = clean.max() - clean
    index = categorical_exp(below, unit, weights, entropy=entropy)
    return Choice(index, ExponentialEvent(price_of_choice))
