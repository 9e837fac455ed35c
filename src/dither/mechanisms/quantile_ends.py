"""The ends of an interval around a quantile: two more quantiles, each so many ranks to its side that it is beyond the
true one in 97.5 % of cases, whatever the data are.

Flow: occupied cells and counts in, one cell out, or None for no end but the bound; for one group or for many at once.
Relies on: `noise.categorical_exp_by_group`.
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
from dither.mechanisms.histograms import Histograms
from dither.mechanisms.quantile import check_digits, rank_sensitivity
from dither.mechanisms.release import Neighbours
from dither.noise import Entropy, categorical_exp_by_group, system_entropy, uniform_below_each

__all__ = ["Side", "choose_end", "choose_end_of_each", "ranks_aside"]

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
    rows = Histograms.of_one(cells, counts, lo, hi)
    chosen, known = choose_end_of_each(
        rows, quantile=quantile, side=side, epsilon=epsilon, max_rows=max_rows, neighbours=neighbours, entropy=entropy
    )
    return int(chosen[0]) if known[0] else None


def choose_end_of_each(
    rows: Histograms,
    *,
    quantile: Fraction,
    side: Side,
    epsilon: Fraction,
    max_rows: int,
    neighbours: Neighbours = "add_remove",
    entropy: Entropy | None = None,
) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """(groups,) int64 and bool: a cell for each group, by independent choices as `choose_end` makes them, and whether
    it says more than the bound, which stands there where it does not.
    epsilon-DP as a whole, for units of at most `max_rows` rows in all groups together. Raises as it does."""
    if rows.hi < rows.lo or max_rows < 1 or epsilon <= 0:
        raise InvalidParameter(
            "bounds", expected="lo <= hi, max_rows >= 1, epsilon > 0", found=(rows.lo, rows.hi, max_rows, epsilon)
        )
    check_digits([quantile])
    source = entropy or system_entropy()
    bound = rows.lo if side < 0 else rows.hi
    per_rank = epsilon / (rank_sensitivity(quantile, neighbours) * max_rows)
    aside = ranks_aside(rows.hi - rows.lo + 1, per_rank)
    if aside > _MOST_RANKS:
        # Whatever the rows are, from public facts alone; ranks beyond would not fit into 64 bits.
        return np.full(rows.groups, bound), np.zeros(rows.groups, dtype=bool)
    each, scale = rows.candidates(), quantile.denominator
    aims = quantile.numerator * rows.totals + side * aside * scale
    # The candidate beyond: ranks up to 0 below the first cell, ranks from n on above the last. It stands first.
    beyond = np.maximum(aims, 0) if side < 0 else np.maximum(rows.totals * scale - aims, 0)
    first = each.starts[:-1]
    starts = each.starts + np.arange(rows.groups + 1)
    chosen = categorical_exp_by_group(
        np.insert(each.distances(aims, scale), first, beyond),
        per_rank / (2 * scale),
        np.insert(each.widths, first, 1),
        starts,
        entropy=source,
    )
    known = chosen > starts[:-1]
    at = (chosen - np.arange(rows.groups) - 1)[known]
    found = np.full(rows.groups, bound)
    found[known] = each.cells[at] + uniform_below_each(each.widths[at], entropy=source)
    return found, known
