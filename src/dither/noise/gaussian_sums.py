"""Certified sums of exp(-k^2 / (2 sigma2)): tails for the sampler, coverage and probabilities for intervals.

Flow: `gaussian` calls it. Relies on `bounds`. Narrow laws are summed term by term; wide ones use Poisson summation
for the whole sum and the Euler-Maclaurin formula with an explicit remainder for a tail.
Proof: docs/proofs/noise/discrete-gaussian.md, parts 2 and 3
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from dither.noise.bounds import exp_neg, pi_bounds, sqrt_bounds
from dither.noise.interval import Bounds
from dither.noise.lazy import Tails

__all__ = ["gaussian_pmf_bounds", "gaussian_tail_bounds", "gaussian_tails"]

_GUARD = 64
"""Spare bits of the sums. After n terms a weight is off by under n^2 units, a sum by under n^3, n < 2^17."""

_WIDE = 10_000
"""sigma2 from which whole sums and tails come from formulas instead of being added up."""


def gaussian_tails(sigma2: Fraction, bits: int, *, halves: bool = False) -> Tails:
    """Tails of P(k) proportional to exp(-k^2 / (2 sigma2)) on the integers; with `halves`, of P(Q) proportional to
    exp(-q^2 / (2 sigma2)) where q = Q for Q >= 0 and q = -1-Q below zero."""
    work = bits + _GUARD
    low, high, rest = _weights(sigma2, work)
    # sums[k] encloses the weight of all i >= k, the unlisted ones included.
    sum_low = list(accumulate(reversed(low)))[::-1]
    sum_high = list(accumulate(reversed(high), initial=rest))[:0:-1]
    total_low, total_high = 2 * sum_low[0], 2 * sum_high[0]
    if not halves:
        total_low, total_high = total_low - high[0], total_high - low[0]
    # One division each way: 2^(2 work) / total, rounded outward.
    per_low, per_high = (1 << 2 * work) // total_high, (1 << 2 * work) // total_low + 1
    down = 2 * work - bits
    tail_low = [s * per_low >> down for s in sum_low]
    tail_high = [(s * per_high >> down) + 1 for s in sum_high]
    tail_low.append(0)
    tail_high.append((rest * per_high >> down) + 1)
    right_low, right_high = tail_low[1:], tail_high[1:]
    if not halves:
        return Tails(bits, right_low, right_high, right_low, right_high)
    half = 1 << (bits - 1)
    return Tails(bits, [half, *right_low], [half, *right_high], right_low, right_high)


def gaussian_tail_bounds(sigma2: Fraction, half_width: int, bits: int) -> Bounds:
    """low <= P(|X| > half_width) <= high; width about 2^-bits below sigma2 = 10^4, above it limited by the remainder
    of the formula: position known to .001 (1 + z^2) / sigma steps, z = half_width / sigma."""
    if sigma2 < _WIDE:
        lows, highs = _listed_tails(sigma2, bits)
        if half_width >= len(lows):
            return Fraction(0), Fraction(2 * highs[-1], 1 << bits)
        return Fraction(2 * lows[half_width], 1 << bits), Fraction(2 * highs[half_width], 1 << bits)
    tail_low, tail_high = _wide_tail(sigma2, half_width, bits)
    total_low, total_high = _wide_total(sigma2, bits)
    return max(2 * tail_low / total_high, Fraction(0)), min(2 * tail_high / total_low, Fraction(1))


def gaussian_pmf_bounds(sigma2: Fraction, k: int) -> Bounds:
    """low <= P(X = k) <= high; relative width below 2^-60 while the probability is above 2^-1500."""
    exponent = Fraction(k * k) / (2 * sigma2)
    bits = 128 + min(math.ceil(exponent * 3 / 2), 1600)
    low, high = (Fraction(end, 1 << bits) for end in exp_neg(exponent, bits))
    total_low, total_high = _wide_total(sigma2, bits) if sigma2 >= _WIDE else _listed_total(sigma2, bits)
    return low / total_high, min(high / total_low, Fraction(1))


def _weights(sigma2: Fraction, work: int) -> tuple[list[int], list[int], int]:
    """Enclosures (low, high) at 2^work of w_k = exp(-k^2 / (2 sigma2)), k = 0 .. n, until they vanish, and a bound of
    the sum of all later ones. w_(k+1) = w_k s_k and s_(k+1) = s_k exp(-1 / sigma2)."""
    step_low, step_high = exp_neg(1 / (2 * sigma2), work)
    fall_low, fall_high = exp_neg(1 / sigma2, work)
    low = high = 1 << work
    lows, highs = [low], [high]
    # Below 2^(_GUARD - 16) the later weights, at most 2^17 times this one, move no cut by a whole unit.
    while high >> (_GUARD - 16):
        low = low * step_low >> work
        high = (high * step_high >> work) + 1
        step_low = step_low * fall_low >> work
        step_high = (step_high * fall_high >> work) + 1
        lows.append(low)
        highs.append(high)
    # Ratios fall, so later weights are under a geometric series with the present ratio step_high < 1.
    rest = high * step_high // ((1 << work) - step_high) + 1
    return lows, highs, rest


@lru_cache(maxsize=32)
def _listed_tails(sigma2: Fraction, bits: int) -> tuple[list[int], list[int]]:
    tails = gaussian_tails(sigma2, bits)
    return tails.right_low, tails.right_high


@lru_cache(maxsize=32)
def _listed_total(sigma2: Fraction, bits: int) -> Bounds:
    lows, highs, rest = _weights(sigma2, bits + _GUARD)
    scale = 1 << (bits + _GUARD)
    return Fraction(2 * sum(lows) - lows[0], scale), Fraction(2 * (sum(highs) + rest) - highs[0], scale)


@lru_cache(maxsize=32)
def _wide_total(sigma2: Fraction, bits: int) -> Bounds:
    """Sum over all integers: sigma sqrt(2 pi) (1 + 2 sum_j exp(-2 pi^2 sigma2 j^2)) (Poisson), where for sigma2 >= 10^4
    the bracket is below 1 + 2^-bits for every bits asked here (2 pi^2 10^4 > 197,000)."""
    low, high = _root_of_pi_times(2 * sigma2, bits)
    return low, high * (1 + Fraction(1, 1 << bits))


def _root_of_pi_times(factor: Fraction, bits: int) -> Bounds:
    pi_low, pi_high = pi_bounds(bits + 16)
    return sqrt_bounds(pi_low * factor, bits)[0], sqrt_bounds(pi_high * factor, bits)[1]


def _wide_tail(sigma2: Fraction, h: int, bits: int) -> Bounds:
    """Sum of f(k), k > h >= 0, f(x) = exp(-x^2 / (2 sigma2)), by Euler-Maclaurin to the third order:
    integral from h on, - f(h)/2 - f'(h)/12 + R, |R| <= sqrt(3)/216 times the variation of f'' on [h, infinity):
    f'' rises from -1/sigma2 at 0 to 2 e^(-3/2) / sigma2 at sqrt(3) sigma, then falls to 0."""
    work = bits + 32
    squared = Fraction(h * h) / sigma2
    f_low, f_high = (Fraction(end, 1 << work) for end in exp_neg(squared / 2, work))
    inner_low, inner_high = _inner_integral(h, squared, f_low, f_high, work)
    whole_low, whole_high = _root_of_pi_times(sigma2 / 2, work)
    slope = Fraction(h) / (12 * sigma2) - Fraction(1, 2)
    variation = (squared - 1) * f_high / sigma2 if squared >= 3 else Fraction(19, 10) / sigma2
    rest = Fraction(81, 10_000) * variation
    ends = (slope * f_low, slope * f_high)
    return whole_low - inner_high + min(ends) - rest, whole_high - inner_low + max(ends) + rest


def _inner_integral(h: int, squared: Fraction, f_low: Fraction, f_high: Fraction, work: int) -> Bounds:
    """Integral of f from 0 to h: h f(h) times the sum over n of (h^2/sigma2)^n / (1 3 5 ... (2n+1)). All terms are
    positive; once 2n+3 >= 2 squared, the rest is below the last term."""
    down = (squared.numerator << work) // squared.denominator
    up = down + 1
    low = high = sum_low = sum_high = 1 << work
    n = 0
    while high > 2 or 2 * n + 3 < 2 * squared:
        n += 1
        low = (low * down >> work) // (2 * n + 1)
        high = (high * up >> work) // (2 * n + 1) + 1
        sum_low += low
        sum_high += high
    scale = 1 << work
    return h * f_low * Fraction(sum_low, scale), h * f_high * Fraction(sum_high + high, scale)
