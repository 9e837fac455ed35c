"""Grids: how values become the integers that are measured, and how many steps wide a contribution is.

Flow: `sums`, `powers` and `quantiles` choose one for each sum and histogram; engines print it (`engines.emit`,
`engines.double_sums`).
Integers keep step 1 while they fit, decimals their last digit; others get a power of two.
Proof: docs/proofs/mechanisms/grid-sums.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dither.plan.decimals import whole_steps
from dither.sql.expressions import Expr
from dither.sql.types import Kind

__all__ = ["LARGEST_RUNNING", "MOST_CELLS", "Grid", "cells_of", "grid_of", "largest_contribution"]

MOST_CELLS = 2**20
"""Of a histogram."""


@dataclass(frozen=True)
class Grid:
    """Values as integers: round(value / step) - center, within [lo, hi]."""

    step: Fraction
    center: int
    lo: int
    hi: int


# A contribution has at most this many steps, so that two billion of the largest fit a 64-bit sum.
LARGEST_CONTRIBUTION = 2**31
# Of a number that is not whole: 2^25 of the largest are exact in doubles, which engines add fastest
# (docs/decisions/0027-clamped-sums-in-doubles.md).
LARGEST_FRACTION = 2**28
# Totals are exact products of at most 2^61: a running sum gets fewer steps a row, and so more rows a group.
LARGEST_RUNNING = 2**12


def largest_contribution(tau: int) -> int:
    """Steps of a row's largest contribution where a unit has up to tau rows: noise is tau times as large, so beyond 512
    rows steps may be tau times as wide, and the scale of the noise stays within what can be drawn exactly.
    Rounding n rows is then off by at most n tau / 2^40 of the largest value (n / 2^28 where 2^28 steps are the most),
    noise at epsilon by tau sqrt(2) / epsilon."""
    return 1 << max(10, min(31, 40 - (max(tau, 1) - 1).bit_length()))


def grid_of(expr: Expr, *, centered: bool, most: int = LARGEST_CONTRIBUTION) -> Grid:
    """The grid of a bounded numeric expression. Integers keep step 1 while they fit, decimals their last digit; others
    get 2^k with 27 bits of resolution, so that rounding is far below any noise. Proof:
    docs/proofs/mechanisms/grid-sums.md.  most: steps of the largest contribution, a power of two."""
    assert expr.lo is not None and expr.hi is not None
    if expr.type.kind is Kind.DECIMAL:
        lo, hi = Fraction(expr.lo), Fraction(expr.hi)
        return Grid(*whole_steps(expr, max(abs(lo), abs(hi)) / most, (lo + hi) / 2 if centered else Fraction(0)))
    largest = max(abs(Fraction(expr.lo)), abs(Fraction(expr.hi)), Fraction(1, 2**40))
    if expr.type.kind is Kind.INTEGER:
        step = Fraction(1)
        while largest / step > most:
            step *= 2
    else:
        most = min(most, LARGEST_FRACTION)
        step = Fraction(2) ** (math.ceil(math.log2(largest)) - most.bit_length() + 1)
        while largest / step > most:
            step *= 2
    middle = (Fraction(expr.lo) + Fraction(expr.hi)) / 2 if centered else Fraction(0)
    center = round(middle / step)
    return Grid(step, center, _to_step(expr, expr.lo, step, center), _to_step(expr, expr.hi, step, center))


def cells_of(expr: Expr) -> Grid:
    """Cells for a histogram: of width 1 for integers and days while they fit, of one last digit for decimals, else 2^k,
    at most a million of them."""
    assert expr.lo is not None and expr.hi is not None
    if expr.type.kind is Kind.DECIMAL:
        lo, hi = Fraction(expr.lo), Fraction(expr.hi)
        return Grid(*whole_steps(expr, (hi - lo) / MOST_CELLS, (lo + hi) / 2))
    span = max(Fraction(expr.hi) - Fraction(expr.lo), Fraction(1, 2**40))
    whole = expr.type.kind in (Kind.INTEGER, Kind.DATE, Kind.TIMESTAMP)
    step = Fraction(1) if whole else Fraction(2) ** (math.ceil(math.log2(span)) - 20)
    while span / step > MOST_CELLS:
        step *= 2
    center = round((Fraction(expr.lo) + Fraction(expr.hi)) / 2 / step)
    return Grid(step, center, _to_step(expr, expr.lo, step, center), _to_step(expr, expr.hi, step, center))


def _to_step(expr: Expr, value: int | float | Fraction, step: Fraction, center: int) -> int:
    """The end point as the engine computes it: in integers for integers and moments, else in doubles."""
    if expr.type.kind in (Kind.INTEGER, Kind.DATE, Kind.TIMESTAMP):
        return math.floor(Fraction(value) / step + Fraction(1, 2)) - center
    exact_end = round(float(value) * float(1 / step)) - center
    if expr.op == "read" and expr.type.kind is Kind.DOUBLE:
        return exact_end
    # Expressions and decimals pass through the engine's own floating-point functions: one step of room at either end
    # covers relative errors far above theirs, and costs a part in 2^27 of the noise.
    return exact_end + (1 if value == expr.hi else -1)
