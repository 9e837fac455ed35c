"""Sensitivity from a sample, and what exactly it promises.

When f is an opaque program and the domain is large, all neighbours cannot be tried. Draw the units of neighbouring data
sets from a *public or synthetic* population, m times, and take the largest difference seen. A further pair drawn the
same way exceeds it with probability at most 1/(m+1), and the k-th smallest of the m with probability at most
(m+1-k)/(m+1). Noise calibrated to it is (epsilon, gamma)-random differential privacy (Hall, Rinaldo, Wasserman 2012),
gamma that probability: a statement about typical data, which protects no outlier and no data set chosen by an attacker.
It is not differential privacy and never converts to it.

Flow: beside `sensitivity`; a declared sensitivity *below* the sampled one is certainly wrong, which is its best use.
Relies on: `draw` returning independent units; drawing from the private table itself voids the statement.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from dither.differences.arithmetic import whole_number
from dither.differences.neighbours import ADD_REMOVE, REPLACE, NeighbouringRelation
from dither.differences.sensitivity import Norm, sensitivity
from dither.errors import InvalidParameter
from dither.exact import Number, exact

__all__ = ["SampledSensitivity", "gamma_of_rank", "rank_needed", "sampled_sensitivity", "samples_needed"]

T = TypeVar("T")


@dataclass(frozen=True)
class SampledSensitivity:
    """A large difference among sampled neighbours: a lower bound of the sensitivity, with a random-DP meaning."""

    value: Fraction
    norm: Norm
    witness: tuple[Any, Any] | None
    samples: int
    gamma: Fraction
    """Probability, over the sample and one further pair together, that this pair differs by more: 1/(samples+1) for
    the largest difference."""
    rank: int
    """`value` is the rank-th smallest of the differences; `samples` is the largest."""
    notion: str = "random DP"
    """The notion that noise scaled to `value` satisfies; not differential privacy."""


def sampled_sensitivity(
    f: Callable[[tuple[T, ...]], Any],
    draw: Callable[[], T],
    *,
    size: int,
    samples: int,
    relation: NeighbouringRelation,
    norm: Norm = 1,
    rank: int | None = None,
) -> SampledSensitivity:
    """Largest ‖f(D) - f(D')‖ over `samples` pairs of neighbours whose units come from `draw`; or the rank-th smallest.

    size: units of the larger data set, >= 1.  REPLACE: D and D' share size-1 units and have one each of their own;
    ADD_REMOVE: D' is D without its last unit.  rank: 1 to samples, chosen before anything is drawn.
    Raises InvalidParameter outside those.  Proof: docs/proofs/differences/sampled_sensitivity.md"""
    units, m = whole_number(size, "size", least=1), whole_number(samples, "samples", least=1)
    if relation not in (ADD_REMOVE, REPLACE):
        raise InvalidParameter("relation", expected="ADD_REMOVE or REPLACE", found=relation)

    def pair() -> tuple[tuple[T, ...], tuple[T, ...]]:
        shared = tuple(draw() for _ in range(units - 1))
        return (*shared, draw()), (*shared, draw()) if relation == REPLACE else shared

    k = m if rank is None else rank
    gamma = gamma_of_rank(k, samples=m)
    found = [sensitivity(f, [pair()], norm=norm) for _ in range(m)]
    chosen = sorted(found, key=lambda one: one.value)[k - 1]
    return SampledSensitivity(chosen.value, norm, chosen.witness, m, gamma, k)


def samples_needed(gamma: Number) -> int:
    """The least number of samples whose gamma is at most this: 99 for 1/100.  gamma: in (0, 1); raises
    InvalidParameter outside."""
    probability = exact(gamma, "gamma")
    if not 0 < probability < 1:
        raise InvalidParameter("gamma", expected="a number between 0 and 1", found=gamma)
    return math.ceil(1 / probability) - 1


def rank_needed(gamma: Number, *, samples: int) -> int:
    """The least k such that a further difference exceeds the k-th smallest of `samples` with probability at most gamma.

    With 99 samples and gamma 1/100 it is 99, the largest, which one pair decides; with 9,999 it is 9,900.
    gamma: in (0, 1).  Raises InvalidParameter for fewer samples than `samples_needed(gamma)`."""
    least, m = samples_needed(gamma), whole_number(samples, "samples", least=1)
    if m < least:
        raise InvalidParameter("samples", expected=f"at least {least} for gamma {gamma}", found=samples)
    return math.ceil((m + 1) * (1 - exact(gamma, "gamma")))


def gamma_of_rank(rank: int, *, samples: int) -> Fraction:
    """(samples + 1 - rank)/(samples + 1): the probability that a further difference exceeds the rank-th smallest, where
    no two differences are equal; at most that where some are.  rank: 1 to samples; raises InvalidParameter outside.
    Proof: docs/proofs/differences/sampled_sensitivity.md"""
    m = whole_number(samples, "samples", least=1)
    k = whole_number(rank, "rank", least=1)
    if k > m:
        raise InvalidParameter("rank", expected=f"1 to {m}", found=rank)
    return Fraction(m + 1 - k, m + 1)
