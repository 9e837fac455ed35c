"""Quantiles by the exponential mechanism over a histogram on a public grid.

Flow: occupied cells and their row counts in; one cell out, for one group or for many at once. Works on any engine's
`GROUP BY cell`. Relies on: `noise.categorical_exp_by_group` for exact choices. A gap between occupied cells is one
candidate, weighed by the number of its cells: ties give width 0, never NaN.
Source: Smith 2011; bounded range and its zCDP price: Dong, Durfee, Rogers 2020; Cesar, Rogers 2021.
Proof: docs/proofs/mechanisms/quantile.md
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dither.errors import InvalidParameter
from dither.mechanisms.histograms import Histograms
from dither.mechanisms.release import Neighbours
from dither.noise import Entropy, categorical_exp_by_group, system_entropy, uniform_below_each

__all__ = [
    "MOST_DIGITS",
    "check_digits",
    "choose_quantile",
    "choose_quantile_of_each",
    "inside_extreme",
    "rank_sensitivity",
]

Ints = npt.NDArray[np.int64]

MOST_DIGITS = 10**6
"""Largest (common) denominator of quantiles: ranks of 2^40 rows times it fit into 64 bits."""


def check_digits(quantiles: Iterable[Fraction]) -> None:
    """Raises InvalidParameter where ranks times the common denominator might not fit into 64 bits: what wraps around
    has no bounded sensitivity, and an error would depend on how many rows there are."""
    listed = list(quantiles)
    if math.lcm(*(q.denominator for q in listed)) > MOST_DIGITS:
        raise InvalidParameter("quantiles", expected="at most six digits each", found=[str(q) for q in listed])


def rank_sensitivity(quantile: Fraction, neighbours: Neighbours) -> Fraction:
    """How far one row can move the distance between a value's ranks and the target rank.
    Adding a row moves the target by q and a rank by 0 or 1: max(q, 1-q). At 0 and 1 the target is kept half a rank
    inside, where it may stand still: 1. Replacing a row is two such steps."""
    extreme = quantile in (0, 1)
    one = Fraction(1) if extreme else max(quantile, 1 - quantile)
    return 2 * one if neighbours == "replace" else one


def inside_extreme(cells: int, epsilon_per_rank: Fraction) -> Fraction:
    """How many ranks inside the first or last row MIN and MAX aim, a multiple of 1/2: so many that the empty cells
    beyond, of which there are at most `cells`, do not win together. Public quantities alone."""
    return Fraction(max(1, round(4 * math.log(max(cells, 2)) / float(epsilon_per_rank))), 2)


def choose_quantile(
    cells: Ints,
    counts: Ints,
    *,
    lo: int,
    hi: int,
    quantile: Fraction,
    epsilon: Fraction,
    max_rows: int,
    neighbours: Neighbours = "add_remove",
    entropy: Entropy | None = None,
) -> int:
    """A cell in [lo, hi] whose ranks are near the quantile's, epsilon-DP for units of at most `max_rows` rows.
    cells: (n,) int64, ascending, different, in [lo, hi].  counts: (n,) int64, rows per cell, above 0.
    The score of a cell with `below` rows under it and `inside` rows in it is minus the distance of the target from
    [below, below + inside]; P(cell) is proportional to exp(epsilon score / (2 sensitivity max_rows)).
    Raises InvalidParameter for bounds, epsilon or max_rows out of range, and for a quantile of too many digits."""
    rows = Histograms.of_one(cells, counts, lo, hi)
    chosen = choose_quantile_of_each(
        rows, quantile=quantile, epsilon=epsilon, max_rows=max_rows, neighbours=neighbours, entropy=entropy
    )
    return int(chosen[0])


def choose_quantile_of_each(
    rows: Histograms,
    *,
    quantile: Fraction,
    epsilon: Fraction,
    max_rows: int,
    neighbours: Neighbours = "add_remove",
    entropy: Entropy | None = None,
) -> Ints:
    """(groups,) int64: a cell for each group, by independent choices as `choose_quantile` makes them.
    epsilon-DP as a whole, for units of at most `max_rows` rows in all groups together. Raises as it does."""
    if rows.hi < rows.lo or max_rows < 1 or epsilon <= 0:
        raise InvalidParameter(
            "bounds", expected="lo <= hi, max_rows >= 1, epsilon > 0", found=(rows.lo, rows.hi, max_rows, epsilon)
        )
    check_digits([quantile])
    source = entropy or system_entropy()
    sensitivity = rank_sensitivity(quantile, neighbours)
    aims, scale = _aims(quantile, rows.totals, rows.hi - rows.lo + 1, epsilon / (sensitivity * max_rows))
    each = rows.candidates()
    # Scores times the denominator of the aims, so that they are integers.
    unit = epsilon / (2 * sensitivity * max_rows * scale)
    chosen = categorical_exp_by_group(each.distances(aims, scale), unit, each.widths, each.starts, entropy=source)
    return np.asarray(each.cells[chosen] + uniform_below_each(each.widths[chosen], entropy=source))


def _aims(quantile: Fraction, totals: Ints, cells: int, epsilon_per_rank: Fraction) -> tuple[Ints, int]:
    """The ranks aimed at, times a common denominator, and that: q·n; for the extremes, as far inside as keeps the empty
    cells beyond from winning. Beyond the last row all cells tie, so aiming at n itself would land anywhere up to the
    bound."""
    if quantile not in (0, 1):
        return np.asarray(quantile.numerator * totals), quantile.denominator
    inside = min(int(2 * inside_extreme(cells, epsilon_per_rank)), 2**62)
    at = np.minimum(inside, np.maximum(2 * totals - 1, 1))
    return np.asarray(at if quantile == 0 else 2 * totals - at), 2
