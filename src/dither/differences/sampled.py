"""Sensitivity from a sample, and what exactly it promises.

When f is an opaque program and the domain is large, all neighbours cannot be tried. Draw the units of neighbouring data
sets from a *public or synthetic* population, m times, and take the largest difference seen. A further pair drawn the
same way exceeds it with probability at most 1/(m+1). Noise calibrated to it is (epsilon, gamma)-random differential
privacy (Hall, Rinaldo, Wasserman 2012), gamma = 1/(m+1): a statement about typical data, which protects no outlier and
no data set chosen by an attacker. It is not differential privacy and never converts to it.

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

__all__ = ["SampledSensitivity", "sampled_sensitivity", "samples_needed"]

T = TypeVar("T")


@dataclass(frozen=True)
class SampledSensitivity:
    """The largest difference among sampled neighbours: a lower bound of the sensitivity, with a random-DP meaning."""

    value: Fraction
    norm: Norm
    witness: tuple[Any, Any] | None
    samples: int
    gamma: Fraction
    """1/(samples+1): probability, over the sample and one further pair together, that this pair differs by more."""
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
) -> SampledSensitivity:
    """Largest ‖f(D) - f(D')‖ over `samples` pairs of neighbours whose units come from `draw`.

    size: units of the larger data set, >= 1.  REPLACE: D and D' share size-1 units and have one each of their own;
    ADD_REMOVE: D' is D without its last unit.  Proof: docs/proofs/differences/sampled_sensitivity.md"""
    units, m = whole_number(size, "size", least=1), whole_number(samples, "samples", least=1)
    if relation not in (ADD_REMOVE, REPLACE):
        raise InvalidParameter("relation", expected="ADD_REMOVE or REPLACE", found=relation)

    def pair() -> tuple[tuple[T, ...], tuple[T, ...]]:
        shared = tuple(draw() for _ in range(units - 1))
        return (*shared, draw()), (*shared, draw()) if relation == REPLACE else shared

    found = sensitivity(f, (pair() for _ in range(m)), norm=norm)
    return SampledSensitivity(found.value, norm, found.witness, m, Fraction(1, m + 1))


def samples_needed(gamma: Number) -> int:
    """The least number of samples whose gamma is at most this: 99 for 1/100.  gamma: in (0, 1)."""
    probability = exact(gamma, "gamma")
    if not 0 < probability < 1:
        raise InvalidParameter("gamma", expected="a number between 0 and 1", found=gamma)
    return math.ceil(1 / probability) - 1
