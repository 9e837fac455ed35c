"""The ends of an interval around a quantile: two more quantiles, each so many ranks to its side that it is beyond the
true one in 97.5 % of cases, whatever the data are.

Flow: occupied cells and counts in, one cell out, or None for no end but the bound. Relies on: `noise.categorical_exp`.
Beyond the last cell stands one candidate more, for all ranks that no row has: near the extremes and for few rows the
end is then the bound, and is never wrong.  Proof: docs/proofs/mechanisms/quantile-ends.md
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from dither.errors import InvalidParameter
from dither.mechanisms.quantile import candidates, check_digits, rank_sensitivity
from dither.mechanisms.release import Neighbours
from dither.noise import Entropy, categorical_exp, uniform_below

__all__ = ["Side", "choose_end", "ranks_aside"]

Ints = npt.NDArray[np.int64]
Side = Literal[-1, 1]
MISS = Fraction(1, 40)
"""How often one end may be on the wrong side: both together 5 %."""
_MOST_RANKS = 2**40
"""No table has more rows: an end that would aim further aside is the bound."""


def ranks_aside(cells: int, epsilon_per_rank: Fraction) -> int:
    """How many ranks from the quantile's own an end aims. cells: on the grid.
    epsilon_per_rank: epsilon over sensitivity and rows per unit."""
    # One rank for the ways to define a quantile between two rows, one part in 10^9 for the logarithm's rounding.
    return math.ceil(2 * math.log(float(cells / MISS)) / float(epsilon_per_rank) * (1 + 1e-9)) + 1


def choose_end(
    cells: Ints,
    counts: Ints,
    *,
    lo: int,
    hi: int,
    quantile: Fraction,
    side: Side,
    epsilon: Fraction,
    max_rows: int,
    neighbours: Neighbours = "add_remove",
    entropy: Entropy | None = None,
) -> int | None:
    """A cell that is at most the quantile's (side -1) or at least it (side 1) in 97.5 % of cases; None: only the bound
    can be said. epsilon-DP, epsilon-bounded-range, for units of at most `max_rows` rows.
    cells: (n,) int64, ascending, different, in [lo, hi].  counts: (n,) int64, rows per cell, above 0.
    Raises InvalidParameter for bounds, epsilon or max_rows out of range."""
    if hi < lo or max_rows < 1 or epsilon <= 0:
        raise InvalidParameter(
            "bounds", expected="lo <= hi, max_rows >= 1, epsilon > 0", found=(lo, hi, max_rows, epsilon)
        )
    check_digits([quantile])
    per_rank = epsilon / (rank_sensitivity(quantile, neighbours) * max_rows)
    aside = ranks_aside(hi - lo + 1, per_rank)
    if aside > _MOST_RANKS:
        # Whatever the rows are, from public facts alone; ranks beyond would not fit into 64 bits.
        return None
    starts, widths, low_ranks, high_ranks = candidates(cells, counts, lo, hi)
    total = int(counts.sum())
    aim = quantile * total + side * aside
    scale = aim.denominator
    distance = np.maximum(np.maximum(low_ranks * scale - aim.numerator, aim.numerator - high_ranks * scale), 0)
    # The candidate beyond: ranks up to 0 below the first cell, ranks from n on above the last.
    beyond = max(aim.numerator, 0) if side < 0 else max(total * scale - aim.numerator, 0)
    steps = np.concatenate([distance, [beyond]]).astype(np.int64)
    chosen = categorical_exp(steps, per_rank / (2 * scale), np.concatenate([widths, [1]]), entropy=entropy)
    if chosen == len(starts):
        return None
    return int(starts[chosen]) + int(uniform_below(int(widths[chosen]), entropy=entropy))
