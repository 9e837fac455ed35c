"""An exact choice among many candidates: index i with probability proportional to weights[i] exp(-steps[i] unit).

Flow: the exponential mechanism (quantiles, choices of bounds) calls it with one score per candidate.
Relies on: `uniform` for draws below sums, `lazy` for one exact coin. Integer upper bounds of all the weights are
computed at once; a candidate is drawn by them, and kept with the ratio of its true weight to its bound, which is
enclosed for that one candidate only. No weight is ever needed exactly.  Proof: docs/proofs/noise/categorical.md
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import GuaranteeError, InvalidParameter
from dither.exact import Number, exact
from dither.noise.bounds import ceil_shift, exp_neg
from dither.noise.entropy import Entropy, system_entropy, words64
from dither.noise.lazy import lazily_below
from dither.noise.uniform import uniform_below, uniform_below_each

__all__ = ["bernoulli_exp_each", "categorical_exp", "categorical_exp_by_group"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_SLACK = 1.0 + 2.0**-40
"""Lifts a float product above the true one: 18 roundings cost less than 2^-48."""

_TABLE_BITS = 192


def categorical_exp(steps: Ints, unit: Number, weights: Ints | None = None, *, entropy: Entropy | None = None) -> int:
    """One exact draw of i with probability weights[i] exp(-steps[i] unit) / sum.

    steps: (n,) integers, the exponents in units; only their differences matter. unit: rational >= 0.
    weights: (n,) integers in 0 .. 2^53, not all 0; None means all 1.
    The time taken depends on the largest difference of steps (one table per 8 bits) and, at most once in
    2^58 / n^2 draws, on a repeated draw. Raises InvalidParameter for arrays of another kind or shape."""
    chosen_unit = exact(unit, "unit")
    if chosen_unit < 0:
        raise InvalidParameter("unit", expected="a number >= 0", found=unit)
    excess, positive_weights = _checked(steps, weights)
    source = entropy or system_entropy()
    bounds, exponent = _upper_bounds(excess, chosen_unit, positive_weights)
    return _draw(bounds, exponent, excess, chosen_unit, positive_weights, source)


def categorical_exp_by_group(
    steps: Ints, unit: Number, weights: Ints, starts: Ints, *, entropy: Entropy | None = None
) -> Ints:
    """One exact draw for each group, independently: positions in `steps`. Group g is starts[g] .. starts[g + 1] - 1.

    steps, weights: (n,) as for `categorical_exp`, weights above 0 here. starts: (groups + 1,) ascending, from 0 to n,
    no group empty. All groups draw at once, each as a single one does; a coin that its first 64 bits do not decide for
    certain is enclosed by itself.
    Raises InvalidParameter where these are not so."""
    chosen_unit = exact(unit, "unit")
    if chosen_unit < 0:
        raise InvalidParameter("unit", expected="a number >= 0", found=unit)
    sizes = np.diff(starts)
    if len(sizes) and (sizes.min() < 1 or starts[0] != 0 or starts[-1] != len(steps)):
        raise InvalidParameter("starts", expected="0 .. n ascending, no group empty", found="others")
    if len(steps) and (weights.min() < 1 or weights.max() > 2**53):
        raise InvalidParameter("weights", expected="integers in 1 .. 2^53", found="others")
    source = entropy or system_entropy()
    if not len(sizes):
        return np.empty(0, dtype=np.int64)
    excess = (steps - np.repeat(np.minimum.reduceat(steps, starts[:-1]), sizes)).view(np.uint64)
    values = _exponentials(excess, chosen_unit) * weights
    exponents = _exponents(np.maximum.reduceat(values, starts[:-1]), sizes)
    bounds = np.ldexp(values * _SLACK, np.repeat(exponents, sizes)).astype(np.int64) + 1
    # Sums of all groups leave 64 bits and wrap around; what is left of them inside one group, below 2^62, does not.
    running = np.cumsum(bounds.view(np.uint64))
    before = np.concatenate([np.zeros(1, dtype=np.uint64), running])[starts[:-1]]
    sums = (running[starts[1:] - 1] - before).astype(np.int64)
    chosen = np.empty(len(sizes), dtype=np.int64)
    waiting = np.arange(len(sizes))
    while waiting.size:
        points = uniform_below_each(sums[waiting], entropy=source).astype(np.uint64)
        at = _places(running, before[waiting], starts[waiting], starts[waiting + 1] - 1, points)
        words = words64(source, at.size)
        kept = words < _surely_kept(bounds[at])
        for i in np.flatnonzero(~kept).tolist():
            share = Fraction(int(weights[at[i]])) * Fraction(2) ** int(exponents[waiting[i]]) / int(bounds[at[i]])
            kept[i] = lazily_below(int(words[i]), 64, _Ratio(share, int(excess[at[i]]) * chosen_unit), source)
        chosen[waiting[kept]] = at[kept]
        waiting = waiting[~kept]
    return chosen


def bernoulli_exp_each(steps: Ints, unit: Fraction, *, entropy: Entropy | None = None) -> NDArray[np.bool_]:
    """Exact independent coins: True at i with probability exp(-steps[i] unit). steps: (n,) int64 >= 0.  unit: >= 0.
    Raises InvalidParameter below."""
    if unit < 0 or (steps.size and int(steps.min()) < 0):
        raise InvalidParameter("steps", expected="integers and a unit, >= 0", found="others")
    source = entropy or system_entropy()
    heads: NDArray[np.bool_] = steps == 0
    open_ = np.flatnonzero(~heads)
    if not open_.size:
        return heads
    excess = steps[open_].astype(np.uint64)
    surely, never = _coin_words(excess, unit)
    words = words64(source, open_.size)
    heads[open_] = words < surely
    for i in np.flatnonzero((words >= surely) & (words < never)).tolist():
        x = int(excess[i]) * unit
        heads[open_[i]] = lazily_below(int(words[i]), 64, lambda bits, x=x: exp_neg(x, bits), source)  # type: ignore[misc]
    return heads


def _coin_words(excess: NDArray[np.uint64], unit: Fraction) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """(surely, never): words below the first are below 2^64 exp(-excess unit), those from the second on are not."""
    most = _exponentials(excess, unit) * (1.0 + 2.0**-39)
    # Tables of far smaller numbers are bounds from above alone.
    least = np.where(most > 2.0**-100, most * (1.0 - 2.0**-37), 0.0)
    above = np.where(most < 1, np.ceil(np.ldexp(np.minimum(most, 1.0 - 2.0**-53), 64)), 2.0**64 - 2.0**11)
    never = np.where(most < 1, above.astype(np.uint64), np.uint64(2**64 - 1))
    return np.ldexp(least, 64).astype(np.uint64), never


def _places(running: NDArray[np.uint64], before: NDArray[np.uint64], first: Ints, last: Ints, points: Any) -> Ints:
    """For each group the first of its positions whose running sum inside the group is above its point."""
    while np.any(first < last):
        middle = (first + last) // 2
        above = running[middle] - before > points
        first, last = np.where(above, first, middle + 1), np.where(above, middle, last)
    return first


def _surely_kept(bounds: Ints) -> NDArray[np.uint64]:
    """Words below these are below 2^64 times the ratio of the true weight to its bound, whatever that is exactly: it is
    at least 1 - 1 / bound - 2^-39. Proof: docs/proofs/noise/categorical.md, part 6."""
    top = np.uint64(2**64 - 1)
    part = top // np.maximum(bounds, 2).astype(np.uint64) + np.uint64(1)
    return np.where(bounds < 2, np.uint64(0), top - np.uint64(2**25) - part)


def _exponents(largest: Floats, sizes: Ints) -> Ints:
    """As in `_upper_bounds`, for each group: frexp of a size, a whole number below 2^53, gives its bit length."""
    return np.asarray(60 - np.frexp(sizes.astype(np.float64))[1] - np.frexp(largest)[1], dtype=np.int64)


def _draw(
    bounds: Ints, exponent: int, excess: NDArray[np.uint64], unit: Fraction, weights: Ints | None, source: Entropy
) -> int:
    """A candidate by its bound, kept with the ratio of its true weight to the bound, else drawn anew."""
    running = np.cumsum(bounds)
    while True:
        point = uniform_below(int(running[-1]), entropy=source)
        index = int(np.searchsorted(running, point, side="right"))
        weight = 1 if weights is None else int(weights[index])
        share = Fraction(weight) * Fraction(2) ** exponent / int(bounds[index])
        word = int.from_bytes(source.read(8), "little")
        if lazily_below(word, 64, _Ratio(share, int(excess[index]) * unit), source):
            return index


class _Ratio:
    """Enclosures of share exp(-x), a probability, for `lazily_below`."""

    def __init__(self, share: Fraction, x: Fraction) -> None:
        self._share = share
        self._x = x

    def __call__(self, bits: int) -> tuple[int, int]:
        # share may be above 1 where exp(-x) is small: as many spare bits as it has before the point.
        spare = 8 + math.ceil(self._share).bit_length()
        low, high = exp_neg(self._x, bits + spare)
        least, most = math.floor(low * self._share) >> spare, ceil_shift(math.ceil(high * self._share), spare)
        if least > 1 << bits:
            raise GuaranteeError("The upper bound of a candidate's weight is below the weight.")
        return least, most


def _checked(steps: Ints, weights: Ints | None) -> tuple[NDArray[np.uint64], Ints | None]:
    """steps above their minimum over candidates with a weight (0 where there is none), and the weights."""
    levels = np.asarray(steps)
    if levels.ndim != 1 or levels.size == 0 or levels.dtype.kind not in "iu":
        raise InvalidParameter("steps", expected="a non-empty one-dimensional array of integers", found=levels.shape)
    levels = levels.astype(np.int64, copy=False)
    if weights is None:
        return (levels - levels.min()).view(np.uint64), None
    counts = np.asarray(weights)
    if counts.shape != levels.shape or counts.dtype.kind not in "iu":
        raise InvalidParameter("weights", expected="integers, one per step", found=counts.shape)
    if counts.min() < 0 or counts.max() > 2**53 or not counts.any():
        raise InvalidParameter("weights", expected="integers in 0 .. 2^53, not all 0", found="others")
    least = levels[counts > 0].min()
    return (np.maximum(levels, least) - least).view(np.uint64), counts.astype(np.int64, copy=False)


def _upper_bounds(excess: NDArray[np.uint64], unit: Fraction, weights: Ints | None) -> tuple[Ints, int]:
    """Integers c and an exponent e with 2^e weights exp(-excess unit) <= c (0 where the weight is 0), sum below 2^62.
    c is within a factor 1 + 2^-39, plus 1, of the true value, so nearly every draw is kept."""
    values = _exponentials(excess, unit)
    if weights is not None:
        values = values * weights
    # The largest value is at least 1: a candidate of least steps has weight >= 1.
    exponent = 60 - excess.size.bit_length() - math.frexp(float(values.max()))[1]
    bounds = np.ldexp(values * _SLACK, exponent).astype(np.int64) + 1
    if weights is not None:
        bounds[weights == 0] = 0
    return bounds, exponent


def _exponentials(excess: NDArray[np.uint64], unit: Fraction) -> Floats:
    """exp(-excess unit) by products over base-256 digits of certified table entries: each entry is above the true
    value or rounds it to nearest, so at most 8 entries and 7 products are under it by a factor 1 - 2^-48 at most."""
    values = np.ones(excess.size)
    place = 0
    top = int(excess.max())
    while unit and top >> place:
        digits = ((excess >> np.uint64(place)) & np.uint64(255)).astype(np.intp)
        values *= _powers(unit * (1 << place)).take(digits)
        place += 8
    return values


@lru_cache(maxsize=64)
def _powers(exponent: Fraction) -> Floats:
    """exp(-d exponent), d = 0 .. 255, from above, each rounded to nearest."""
    one = 1 << _TABLE_BITS
    ratio = exp_neg(exponent, _TABLE_BITS)[1]
    powers = [one]
    for _ in range(255):
        powers.append(min((powers[-1] * ratio >> _TABLE_BITS) + 1, one))
    table = np.array([power / one for power in powers])
    table.flags.writeable = False  # shared by every later choice with this unit
    return table
