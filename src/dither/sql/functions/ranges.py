"""Interval arithmetic, rounded outward: the range of a result from the ranges of its arguments.

Flow: builders ask here for the ends of what they build. Every end lies on the safe side: a value the engine computes is
never outside, by whichever correctly working mathematical library it computes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

from dither.sql.expressions import Expr
from dither.sql.types import Bound

__all__ = [
    "WHOLE_LINE",
    "Ends",
    "combine",
    "ends_of",
    "float_ends",
    "loosened",
    "outward",
    "round_half_away",
    "round_half_even",
    "truncate_to",
]

Ends = tuple[Bound, Bound]

WHOLE_LINE: tuple[float, float] = (-math.inf, math.inf)
LIBRARY_ERROR = 8
"""Units in the last place by which mathematical libraries may differ from the true value; most promise 1 or 2."""


def ends_of(expr: Expr) -> Ends:
    assert expr.lo is not None and expr.hi is not None, expr
    return expr.lo, expr.hi


def float_ends(expr: Expr) -> tuple[float, float]:
    lo, hi = ends_of(expr)
    return float(lo), float(hi)


def combine(left: Expr, right: Expr, compute: Callable[[Bound, Bound], Bound]) -> Ends:
    """The range of a function that is monotone in each argument: its extremes lie at the corners."""
    corners = []
    for a, b in itertools.product(ends_of(left), ends_of(right)):
        try:
            value = compute(a, b)
        except OverflowError:
            value = math.inf
        corners.append(value)
    if any(isinstance(value, float) and math.isnan(value) for value in corners):
        return WHOLE_LINE
    return min(corners), max(corners)


def outward(ends: Ends) -> tuple[float, float]:
    """One float further out at either end: the rounding of one arithmetic operation."""
    return _moved(float(ends[0]), -1), _moved(float(ends[1]), 1)


def loosened(lo: float, hi: float) -> tuple[float, float]:
    """Further out by what a mathematical library may err."""
    return _moved(lo, -LIBRARY_ERROR), _moved(hi, LIBRARY_ERROR)


def _moved(value: float, ulps: int) -> float:
    """Zero stays: all these errors are relative, so what is never below zero is never computed to be."""
    if value == 0 or math.isinf(value) or math.isnan(value):
        return value
    return value + ulps * math.ulp(value)


def round_half_away(value: Bound, step: int) -> int:
    """To the nearest multiple of `step`, half-way cases away from zero."""
    exact = Fraction(value) / step
    nearest = math.floor(abs(exact) + Fraction(1, 2))
    return step * (nearest if exact >= 0 else -nearest)


def round_half_even(value: Bound, step: int) -> int:
    return step * round(Fraction(value) / step)


def truncate_to(value: Bound, step: int) -> int:
    """To a multiple of `step`, towards zero."""
    return step * math.trunc(Fraction(value) / step)
