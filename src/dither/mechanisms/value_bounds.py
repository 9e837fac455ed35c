"""Between which bounds to keep a column's values: a private choice that balances what is clamped against the noise.

Flow: the engine counts kept rows per level of a public x1.25 grid of sizes, on either side of zero; `choose_bounds`
adds noise to the counts, finds the last level that rows are seen in, and looks a little beyond it; the session
remembers the bounds.
Relies on: discrete Laplace noise. A row is in one level, and a unit holds at most max_rows rows.
A scan by AboveThreshold, as for rows per unit, ran past all values in one of a few hundred choices, and left five times
as many rows beyond the bounds: it pays for noise on its threshold, and for either side by itself.
Proof: docs/proofs/mechanisms/value-bounds.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from dither.accounting.events import LaplaceEvent
from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.mechanisms.laplace import laplace
from dither.mechanisms.release import Integers, Neighbours, Values, saturate
from dither.noise import Entropy

__all__ = ["BELOW_ONE", "LEVELS", "RATIO", "ChosenBounds", "bounds_event", "choose_bounds", "level"]

RATIO = 1.25
BELOW_ONE = 42
"""Levels below 1: the smallest is 1.25^-41, about 0.0001."""
LEVELS = 240
"""Per side; the largest is 1.25^198, about 10^19."""

_FALSE_SIGHT = 1e-5
"""Chance that an empty level anywhere passes for one with rows."""
_WIDTHS = (1, 2, 4, 8, 16, 32)
_FARTHEST = 9
"""Levels beyond the last one seen, at most: a factor of 8."""
_FITTED = 6
"""Levels that say how counts fall."""
_SLOWEST = 0.8
"""The least that counts are taken to fall by from one level to the next: else nobody knows where they end."""
_CLIFF = 0.4
"""A level with less than this part of what the two before it let expect is taken for the end of the values."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ChosenBounds:
    """Released: values are to be kept within [lo, hi], which holds 0; both are 0 when no row could be seen."""

    lo: float
    hi: float
    event: LaplaceEvent


def level(number: int) -> float:
    """The size that level `number` (from 0) ends at: 0, then 1.25^-41, each a quarter larger, to three digits."""
    return 0.0 if number == 0 else float(f"{RATIO ** (number - BELOW_ONE):.3g}")


def choose_bounds(
    histogram: Values,
    *,
    epsilon: Number,
    epsilon_query: Number,
    max_rows: int = 1,
    groups: int = 1,
    neighbours: Neighbours = "add_remove",
    entropy: Entropy | None = None,
) -> ChosenBounds:
    """Choose bounds under epsilon-DP.
    histogram: (2 * LEVELS + 1,) counts of kept rows, by level from the largest negative over zero to the largest
    positive; level k holds sizes in (level(k - 1), level(k)], the last all above.
    epsilon_query: what the sums over these bounds will typically spend.  groups: how many public groups they have.

    A bound one unit wider adds sqrt(2) max_rows / epsilon_query of noise to each group and saves one unit of each row
    beyond: so the best bound is where groups * sqrt(2) * max_rows / epsilon_query rows are beyond."""
    query = positive(epsilon_query, "epsilon_query")
    counts = _checked(histogram, max_rows, groups)
    event = bounds_event(epsilon, max_rows=max_rows, neighbours=neighbours)
    release = laplace(counts, sensitivity=event.distance, epsilon=epsilon, entropy=entropy)
    noisy = np.asarray(release.values, dtype=np.float64)
    wanted = groups * math.sqrt(2) * max_rows / float(query)
    sides = (noisy[LEVELS - 1 :: -1], noisy[LEVELS + 1 :])
    below, over = (_end(side, float(event.scale), wanted) for side in sides)
    # No negative zero.
    return ChosenBounds(0.0 - level(below), level(over), event)


def bounds_event(epsilon: Number, *, max_rows: int, neighbours: Neighbours) -> LaplaceEvent:
    """What a choice costs: noise on all counts at once. A unit moves them by its rows; replaced, by twice as many."""
    distance = max_rows * (2 if neighbours == "replace" else 1)
    return LaplaceEvent(distance / positive(epsilon, "epsilon"), distance)


def _end(noisy: Floats, scale: float, wanted: float) -> int:
    """The level to end a side at. noisy: its counts, smallest sizes first. 0: nobody is seen on this side.

    Beyond the last level seen, counts are taken to fall as they did before it, and ever faster (as those of densities
    without a second hump do): the end is where no more rows than wanted are then beyond."""
    top, width = _last_seen(noisy, scale)
    if top == 0 or width != 1:
        # Too few rows a level to see how they fall; a run of levels ends beyond most of its rows anyway.
        return top
    floor = scale * _sight(1) / 4
    seen = np.array([max(float(noisy[max(top - 1 - i, 0)]), floor) for i in range(_FITTED)])
    expected = _falling(seen)
    steps = next((j for j in range(_FARTHEST) if expected[j:].sum() <= wanted), _FARTHEST)
    return min(top + steps, LEVELS)


def _falling(seen: Floats) -> Floats:
    """Counts of the 60 levels beyond those seen, of which `seen` has the last first: a parabola through the logarithms
    of them all, where the last fits it. Where it does not (counts rise up to the end, which is a cliff
    or a hump of its own), only the last three say how counts fall."""
    last, before = seen[0] / seen[1], min(seen[1] / seen[2], 1.5)
    beyond = np.arange(1.0, 61.0)
    if before > 1 or not _CLIFF * before <= last <= 1:
        ratio = min(last, _SLOWEST)
        change = min(1.0, ratio / max(before, 0.05))
        return np.asarray(seen[0] * ratio**beyond * change ** (beyond * (beyond + 1) / 2))
    places = -np.arange(float(_FITTED))
    # A logarithm is noisy inversely as its count; without a limit, the fullest levels would say how the last fall.
    weights = np.minimum(seen, 20 * seen[0])
    bend, slope, start = _fitted(places, np.log(seen), weights, 2)
    if bend > 0:
        bend, (slope, start) = 0.0, _fitted(places, np.log(seen), weights, 1)
    return np.asarray(np.exp(start + min(slope, math.log(_SLOWEST)) * beyond + bend * beyond**2))


def _fitted(places: Floats, values: Floats, weights: Floats, degree: int) -> list[float]:
    """Coefficients of the weighted least-squares polynomial, highest degree first."""
    columns = np.vander(places, degree + 1) * weights[:, None]
    return [float(c) for c in np.linalg.lstsq(columns, values * weights, rcond=None)[0]]


def _last_seen(noisy: Floats, scale: float) -> tuple[int, int]:
    """(level, width): the last single level that rows are seen in; where none is, half a run beyond the fullest run of
    2, 4, ... levels, of the shortest runs that show any."""
    for width in _WIDTHS:
        sums = np.convolve(noisy, np.ones(width), "valid")
        seen = np.flatnonzero(sums > scale * _sight(width))
        if len(seen):
            last = int(seen[-1]) + 1 if width == 1 else int(np.argmax(sums)) + width + width // 2
            return min(last, LEVELS), width
    return 0, 1


@cache
def _sight(width: int) -> float:
    """In noise scales: a sum of `width` noises is above this with at most a chance of its share of _FALSE_SIGHT, of
    which half is for single levels. Chernoff: P(sum > t) <= (1 - s²)^-width e^(-s t) for every s in (0, 1)."""
    chance = _FALSE_SIGHT / (4 * LEVELS)
    if width == 1:
        return -math.log(2 * chance)
    s = np.linspace(0.005, 0.995, 199)
    return float(((-math.log(chance / (len(_WIDTHS) - 1)) - width * np.log(1 - s * s)) / s).min())


def _checked(histogram: Values, max_rows: int, groups: int) -> Integers:
    counts = saturate(histogram)
    for name, value in (("max_rows", max_rows), ("groups", groups)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidParameter(name, expected="a whole number, at least 1", found=value)
    if counts.shape != (2 * LEVELS + 1,):
        raise InvalidParameter("histogram", expected=f"{2 * LEVELS + 1} counts", found="another shape")
    return counts
