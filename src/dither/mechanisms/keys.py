"""Which private keys may appear: thresholds on noisy counts, and the optimal selection of one key per unit.

Flow: candidates are keys with a kept row; their counts get noise; those at or above an integer threshold appear.
Relies on: certified tails of the exact noise laws, so that the failure mass is at most delta, not about delta.
A key held by one unit alone must appear with total probability at most delta, however that unit's tau rows are split
over such keys. Tails of both laws are convex, so the worst split is one key with all tau rows, or tau keys with one
each.
Proofs: docs/proofs/mechanisms/key-thresholds.md, docs/proofs/mechanisms/optimal-selection.md
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dither.accounting.events import SelectionEvent
from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.mechanisms.release import Neighbours, Values, saturate
from dither.noise import DiscreteGaussian, DiscreteLaplace, Entropy, exp_bounds, system_entropy

__all__ = ["gaussian_threshold", "laplace_threshold", "optimal_selection", "selection_event", "selection_table"]

_BITS = 128
_LONGEST_TABLE = 1_000_000


def laplace_threshold(
    scale: Fraction, max_rows: int, delta: Number, *, most_per_key: int | None = None, min_units_per_key: int = 1
) -> int:
    """The least T such that showing the keys with count + discrete Laplace noise >= T shows a key of one unit alone
    with probability at most delta.
    scale: b of the counts, in rows.  max_rows: tau, rows one unit holds over all keys.
    most_per_key: how much one unit adds to one key's count at most: tau for rows (default), 1 for distinct units.
    min_units_per_key: k raises T by k - 1, so that k units count as little as one did.
    The same T serves both neighbouring relations; the scale already has the distance of the one meant."""
    return _threshold(DiscreteLaplace(scale), max_rows, delta, most_per_key, min_units_per_key)


def gaussian_threshold(
    variance: Fraction, max_rows: int, delta: Number, *, most_per_key: int | None = None, min_units_per_key: int = 1
) -> int:
    """As `laplace_threshold`, for counts with discrete Gaussian noise of this variance parameter."""
    return _threshold(DiscreteGaussian(variance), max_rows, delta, most_per_key, min_units_per_key)


def optimal_selection(
    counts: Values,
    *,
    epsilon: Number,
    delta: Number,
    min_units_per_key: int = 1,
    entropy: Entropy | None = None,
) -> npt.NDArray[np.bool_]:
    """Which keys appear, one coin per key, by the selection that shows the most.
    counts: units per key; a unit may hold **one** key only.  No count is released.
    For all neighbours that differ by adding one unit: (epsilon, delta)-DP; see `selection_event` for both relations.
    Source: Desfontaines, Voss, Gipson, Mandayam 2022, Theorem 1."""
    table = selection_table(positive(epsilon, "epsilon"), positive(delta, "delta"))
    clean = saturate(counts).reshape(-1) - (min_units_per_key - 1)
    coins = _wide_uniforms(entropy or system_entropy(), clean.size)
    last = len(table) - 1
    # Every key throws its coin, certain or not, so that the bytes read do not tell which were certain.
    shown = [coin < table[min(max(count, 0), last)] for coin, count in zip(coins, clean.tolist(), strict=True)]
    return np.array(shown, dtype=np.bool_)


def selection_event(epsilon: Number, delta: Number, neighbours: Neighbours = "add_remove") -> SelectionEvent:
    """The event of `optimal_selection` at this epsilon and delta. Replacing a unit moves two keys by one: both halves
    are paid."""
    e, d = positive(epsilon, "epsilon"), positive(delta, "delta")
    return SelectionEvent(2 * e, 2 * d - d * d) if neighbours == "replace" else SelectionEvent(e, d)


@lru_cache(maxsize=64)
def selection_table(epsilon: Fraction, delta: Fraction) -> tuple[int, ...]:
    """pi_n * 2^128 for n = 0, 1, ..., up to the first n that is always shown.
    e^epsilon is replaced by a rational r below it and each pi_n is rounded down: the two inequalities that make the
    selection private then hold exactly, at an epsilon' <= epsilon."""
    if not Fraction(1, 2 ** (_BITS - 28)) <= delta < 1:
        raise InvalidParameter("delta", expected="at least 2^-100 and below 1", found=delta)
    one = 1 << _BITS
    low = exp_bounds(epsilon, _BITS)[0]
    r = math.floor(low * one)
    step = math.floor(delta * one)
    table = [0]
    while table[-1] < one:
        before = table[-1]
        growing = before * r // one + step
        # 1 - (1 - before - delta)/r, rounded down by rounding the quotient up.
        shrinking = one - -(-(one - before - step) * one // r)
        table.append(max(before, min(growing, shrinking, one)))
        if len(table) > _LONGEST_TABLE:
            raise InvalidParameter("epsilon", expected="large enough to show any key of a million units", found=epsilon)
    return tuple(table)


def _threshold(
    law: DiscreteLaplace | DiscreteGaussian, max_rows: int, delta: Number, most_per_key: int | None, min_units: int
) -> int:
    mass = positive(delta, "delta")
    largest = max_rows if most_per_key is None else min(most_per_key, max_rows)
    if mass >= Fraction(1, 2):
        raise InvalidParameter("delta", expected="below 1/2", found=delta)
    for name, number in (("max_rows", max_rows), ("most_per_key", largest), ("min_units_per_key", min_units)):
        if number < 1:
            raise InvalidParameter(name, expected="at least 1", found=number)
    # By convexity of the tail these two cover every split of max_rows into parts of at most `largest`.
    whole = largest + _rare(law, mass * largest / max_rows)
    single = 1 + _rare(law, mass / max_rows)
    return max(whole, single) + min_units - 1


def _rare(law: DiscreteLaplace | DiscreteGaussian, tail: Fraction) -> int:
    """The least k >= 1 with Pr[noise >= k] <= tail, certified: by symmetry, Pr[|noise| > k - 1] <= 2 tail."""
    return law.half_width(1 - 2 * tail) + 1


def _wide_uniforms(source: Entropy, count: int) -> Iterator[int]:
    """`count` uniform integers below 2^128."""
    size_bytes = _BITS // 8
    tape = source.read(size_bytes * count)
    return (int.from_bytes(tape[at : at + size_bytes], "big") for at in range(0, len(tape), size_bytes))
