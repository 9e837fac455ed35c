"""How many rows to keep per unit: a private choice that balances the rows cut off against the noise they would cost.

Flow: the engine counts units per level of a public x1.1 grid; `choose_max_rows` scans it upward and stops at the first
level that few enough units exceed; the session stores the level, and prices every later question with it.
Relies on: AboveThreshold. One unit adds 1 to one level of the histogram, so it moves every "units above this level" by
at most 1, and all in one direction: under both neighbouring relations the counts are monotone with sensitivity 1.
Proof: docs/proofs/mechanisms/max-rows.md
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.accounting.events import ComposedEvent, Event, PureEvent
from dither.accounting.price import Price, price
from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.mechanisms.above_threshold import first_at_or_below
from dither.mechanisms.laplace import laplace
from dither.mechanisms.release import Integers, Neighbours, Release, Values, saturate
from dither.noise import Entropy

__all__ = ["TunedCap", "choose_max_rows", "row_levels"]

MARGIN = 7
"""In units of 1 / epsilon: how far the threshold stays above nothing. A scan runs on past every unit where the
threshold's noise is larger than that and than the noise of each empty level; at 5, one choice in a few hundred went on
for ten levels and more."""

SHARE_FROM = Fraction(3, 10)
"""From this epsilon on, three twentieths of it measure the share of rows kept."""
_SHARE_OF_EPSILON = Fraction(3, 20)
_SEEN = 2
"""A doubling of levels counts as seen when its noisy count passes this many 95 % half-widths."""
_MOST_UNITS = 2**50


@dataclass(frozen=True)
class TunedCap:
    """A chosen number of rows per unit; everything in it is released."""

    max_rows: int
    share_kept: float | None
    """About which share of rows stays, from the levels whose units could be seen; None when it was not paid for.
    Rows of a unit beyond the last level do not count in either share."""
    share_kept_at_least: float | None
    """The same with every level as full of large units as its interval allows: low where a few unseen units might hold
    many rows."""
    events: tuple[Event, ...]

    @property
    def price(self) -> Price:
        return price(ComposedEvent(self.events))


def row_levels(maximum: int) -> tuple[int, ...]:
    """The public grid: 1, 2, 3, ... growing by a tenth, ending at `maximum`, >= 1. Raises InvalidParameter below."""
    if maximum < 1:
        raise InvalidParameter("maximum", expected="at least 1", found=maximum)
    levels = [1]
    while levels[-1] < maximum:
        levels.append(min(maximum, max(levels[-1] + 1, levels[-1] * 11 // 10)))
    return tuple(levels)


def choose_max_rows(
    histogram: Values,
    levels: Sequence[int],
    *,
    epsilon: Number,
    epsilon_query: Number,
    groups: int = 1,
    margin: int = MARGIN,
    neighbours: Neighbours = "add_remove",
    entropy: Entropy | None = None,
) -> TunedCap:
    """Choose a level of `levels` as the most rows kept per unit, under epsilon-DP.
    histogram: (len(levels) + 1,) counts of units: rows in (levels[i-1], levels[i]], the last one above all levels.
    epsilon_query: what later questions typically spend.  groups: how many public groups they have; the number of keys
    found in the data is private and must not be used here.

    One more row per unit adds sqrt(2) / epsilon_query of noise to each group and saves the rows of the units above: so
    the best level is where groups * sqrt(2) / epsilon_query units are above. The threshold never drops below
    margin / epsilon, where the scan could not tell units from its own noise."""
    total, query = positive(epsilon, "epsilon"), positive(epsilon_query, "epsilon_query")
    counts = _checked(histogram, levels, groups)
    share_epsilon = total * _SHARE_OF_EPSILON if total >= SHARE_FROM else Fraction(0)
    choice_epsilon = total - share_epsilon
    threshold = math.ceil(max(groups * math.sqrt(2) / float(query), margin / float(choice_epsilon)))
    above = counts[::-1].cumsum()[::-1][1:]
    index = first_at_or_below(above, threshold, epsilon=choice_epsilon, entropy=entropy)
    chosen = levels[-1] if index is None else levels[index]
    scan = PureEvent(choice_epsilon)
    if share_epsilon == 0:
        return TunedCap(chosen, None, None, (scan,))
    ranges = _doublings(levels, chosen)
    coarse = np.array([counts[first:end].sum() for first, end in ranges], dtype=np.int64)
    sensitivity = 2 if neighbours == "replace" else 1
    release = laplace(coarse, sensitivity=sensitivity, epsilon=share_epsilon, entropy=entropy)
    return TunedCap(chosen, *_shares(release, levels, ranges, chosen), (scan, release.event))


def _doublings(levels: Sequence[int], chosen: int) -> list[tuple[int, int]]:
    """Ranges [first, end) of histogram cells, each about a doubling of rows, none across the chosen level; the cell
    above all levels stands alone."""
    ranges, first = [], 0
    for index, level in enumerate(levels):
        if level == chosen or index + 1 == len(levels) or levels[index + 1] > 2 * levels[first]:
            ranges.append((first, index + 1))
            first = index + 1
    return [*ranges, (len(levels), len(levels) + 1)]


def _shares(
    release: Release, levels: Sequence[int], ranges: Sequence[tuple[int, int]], chosen: int
) -> tuple[float, float]:
    """Share of rows kept from the ranges that were seen, and from counts at the ends of their intervals.
    Post-processing of the released counts. Units above the last level count as being on it."""
    ends = np.array([levels[min(end, len(levels)) - 1] for _, end in ranges], dtype=np.float64)
    starts = np.array([levels[first - 1] + 1 if first else 1 for first, _ in ranges], dtype=np.float64)
    typical = (np.minimum(starts, ends) + ends) / 2
    kept = np.minimum(typical, chosen)
    counts = release.values.astype(np.float64)
    half_width = release.half_width(0.95)
    seen = np.where(counts > _SEEN * half_width, counts, 0.0)
    fewest, fullest = np.maximum(counts - half_width, 0.0), np.maximum(counts + half_width, 0.0)
    about = _share(float(seen @ kept), float(seen @ (typical - kept)))
    least = _share(float(fewest @ kept), float(fullest @ np.maximum(ends - chosen, 0.0)))
    return about, min(about, least)


def _share(kept: float, cut: float) -> float:
    return kept / (kept + cut) if kept > 0 else 0.0


def _checked(histogram: Values, levels: Sequence[int], groups: int) -> Integers:
    counts = saturate(histogram).reshape(-1)
    if len(counts) != len(levels) + 1:
        raise InvalidParameter("histogram", expected=f"{len(levels) + 1} counts", found=f"{len(counts)} counts")
    if any(a >= b for a, b in itertools.pairwise(levels)) or levels[0] < 1:
        raise InvalidParameter("levels", expected="whole numbers from 1, growing", found=tuple(levels)[:5])
    if groups < 1:
        raise InvalidParameter("groups", expected="at least 1", found=groups)
    # So that running sums over the levels stay inside int64 whatever came in; 1-Lipschitz, as saturation is.
    return np.minimum(counts, _MOST_UNITS)
