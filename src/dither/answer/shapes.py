"""Regression lines, skewness and kurtosis from noisy sums of centred powers, as DuckDB computes them.

Flow: `evaluate` calls these with the noisy sums in the units of the data, arrays of (n_groups,) or (n_replicates,
n_groups). Where a noisy spread is zero or below, the result is NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["kurtosis", "regression", "skewness"]

Floats = npt.NDArray[np.float64]


def regression(
    kind: str, count: Floats, sums: Sequence[Floats], squares: Sequence[Floats], centers: tuple[float, float]
) -> npt.NDArray[Any]:
    """kind: regr_slope, ... of (y, x).  sums: of y, x and x y, each about its centre.  squares: those that the kind
    needs: of y and x for regr_r2, else the one of its side.  centers: of y and x."""
    empty = count <= 0
    safe = np.where(empty, 1.0, count)
    y, x, xy = sums
    shared = xy - x * y / safe
    if kind == "regr_sxy":
        return np.ma.MaskedArray(shared, empty)
    if kind == "regr_r2":
        of_y, of_x = (np.maximum(squares[i] - first * first / safe, 0) for i, first in enumerate((y, x)))
        flat = empty | (of_x <= 0)
        ratio = np.clip(shared**2 / np.where(flat | (of_y <= 0), 1, of_x * of_y), 0, 1)
        return np.ma.MaskedArray(np.where(of_y <= 0, 1.0, ratio), flat)
    first = y if kind == "regr_syy" else x
    spread = np.maximum(squares[0] - first * first / safe, 0)
    if kind in ("regr_sxx", "regr_syy"):
        return np.ma.MaskedArray(spread, empty)
    flat = empty | (spread <= 0)
    slope = shared / np.where(flat, 1, spread)
    if kind == "regr_slope":
        return np.ma.MaskedArray(slope, flat)
    return np.ma.MaskedArray(centers[0] + y / safe - slope * (centers[1] + x / safe), flat)


def skewness(count: Floats, powers: Sequence[Floats]) -> npt.NDArray[Any]:
    """Of a sample: the third central moment over the spread's cube, with sqrt(n (n - 1)) / (n - 2) before it.
    powers: sums of x - c, its square and its cube."""
    few = count <= 2
    n = np.where(few, 3.0, count)
    mean, second, third = (power / n for power in powers)
    spread = second - mean**2
    flat = few | (spread <= 0)
    moment = third - 3 * second * mean + 2 * mean**3
    raw = moment / np.where(flat, 1, spread) ** 1.5
    return np.ma.MaskedArray(np.sqrt(n * (n - 1)) / (n - 2) * raw, flat)


def kurtosis(count: Floats, powers: Sequence[Floats], *, sample: bool) -> npt.NDArray[Any]:
    """Excess kurtosis, of a sample or of a population. powers: sums of x - c up to its fourth power."""
    few = count <= (3 if sample else 1)
    n = np.where(few, 4.0, count)
    mean, second, third, fourth = (power / n for power in powers)
    spread = second - mean**2
    flat = few | (spread <= 0)
    moment = fourth - 4 * third * mean + 6 * second * mean**2 - 3 * mean**4
    raw = moment / np.where(flat, 1, spread) ** 2
    if not sample:
        return np.ma.MaskedArray(raw - 3, flat)
    return np.ma.MaskedArray((n - 1) * ((n + 1) * raw - 3 * (n - 1)) / ((n - 2) * (n - 3)), flat)
