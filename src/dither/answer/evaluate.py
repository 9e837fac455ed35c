"""From noisy integer vectors to the numbers a question asked for: public arithmetic.

Flow: the session has noisy vectors; recipes turn them into the columns of a noisy table, which the finish reads. The
same function serves the released vectors (n_groups,) and their replicates (n_replicates, n_groups).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.answer import shapes
from dither.errors import GuaranteeError
from dither.plan.nodes import Vector
from dither.plan.quantiles import FINE
from dither.plan.recipes import Recipe
from dither.sql.types import Kind

__all__ = ["evaluate", "handed_over", "one_of"]

Floats = npt.NDArray[np.float64]


def evaluate(recipe: Recipe, vectors: tuple[Vector, ...], values: tuple[npt.NDArray[Any], ...]) -> npt.NDArray[Any]:
    """The aggregate's values; NULL (masked) where it is undefined, as a mean over a count of zero or less."""
    steps = [float(vectors[i].step) for i in recipe.vectors]
    arrays = [values[i] for i in recipe.vectors]
    match recipe.kind:
        case "count":
            return arrays[0]
        case "sum":
            return arrays[0] if recipe.whole else _scaled(arrays[0], vectors[recipe.vectors[0]].step)
        case "sum_from_mean":
            center = recipe.center
            if recipe.whole and center.denominator == 1:
                return np.asarray(arrays[1] + int(center) * arrays[0])
            return np.asarray(_scaled(arrays[1], vectors[recipe.vectors[1]].step) + float(center) * arrays[0])
        case "mean":
            total = _scaled(arrays[1], vectors[recipe.vectors[1]].step)
            return _masked_ratio(total, arrays[0], float(recipe.center), recipe.limits)
        case "var_pop" | "var_samp" | "stddev_pop" | "stddev_samp" | "sem":
            return _moments(recipe, steps, arrays)
        case "geomean":
            total = _scaled(arrays[1], vectors[recipe.vectors[1]].step)
            return np.ma.exp(_masked_ratio(total, arrays[0], float(recipe.center), recipe.limits))  # type: ignore[no-any-return]
        case "skewness" | "kurtosis" | "kurtosis_pop":
            count, *powers = _in_units(steps, arrays)
            if recipe.kind == "skewness":
                return shapes.skewness(count, powers)
            return shapes.kurtosis(count, powers, sample=recipe.kind == "kurtosis")
        case "regr_slope" | "regr_intercept" | "regr_r2" | "regr_sxx" | "regr_syy" | "regr_sxy":
            count, *sums = _in_units(steps, arrays)
            centers = float(recipe.center), float(recipe.other_center)
            return shapes.regression(recipe.kind, count, sums[:3], sums[3:], centers)
        case "covar_pop" | "covar_samp" | "corr":
            return _covariance(recipe, steps, arrays)
        case "bool_or":
            return np.asarray(arrays[0] >= 1)
        case "bool_and":
            return np.asarray(arrays[0] < 1)
        case "quantile":
            return _chosen(recipe, steps[0], one_of(recipe, vectors[recipe.vectors[0]], arrays[0]))


def _in_units(steps: list[float], arrays: list[npt.NDArray[Any]]) -> list[Floats]:
    """The count and the sums, in the units of the data."""
    return [np.asarray(array, dtype=np.float64) * step for array, step in zip(arrays, steps, strict=True)]


def handed_over(recipe: Recipe, vectors: tuple[Vector, ...], values: tuple[npt.NDArray[Any], ...]) -> npt.NDArray[Any]:
    """The aggregate as the finish reads it: of decimals, whole numbers of the recipe's unit; else its values."""
    if recipe.digits is None:
        return evaluate(recipe, vectors, values)
    arrays = [values[i] for i in recipe.vectors]
    match recipe.kind:
        case "sum":
            return _as_integers(arrays[0])
        case "sum_from_mean":
            # In Python's integers where 64 bits may not do.
            count, total = (_as_integers(array) for array in arrays)
            center = int(recipe.center / recipe.digits.unit)
            if abs(center) * int(np.abs(count.astype(np.float64)).max(initial=0)) < 2**61:
                return np.asarray(np.clip(total, -(2**62), 2**62) + center * count)
            mixed = total.astype(object) + center * count.astype(object)
            return np.asarray(np.clip(mixed, -(2**62), 2**62), dtype=np.int64)
        case "quantile":
            return _chosen_whole(recipe, vectors[recipe.vectors[0]], arrays[0])
    raise GuaranteeError(f"No decimal comes from a recipe of kind {recipe.kind}.")


def _as_integers(array: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Steps as 64-bit integers; replicates of them are whole doubles."""
    if array.dtype == np.int64:
        return array
    return np.asarray(np.clip(np.rint(array), -(2.0**62), 2.0**62), dtype=np.int64)


def _chosen_whole(recipe: Recipe, vector: Vector, array: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Of a quantile: its place as a whole number of last digits, rounded where cells are wider, within the bounds."""
    assert recipe.digits is not None and vector.expr is not None
    assert vector.expr.lo is not None and vector.expr.hi is not None
    unit = recipe.digits.unit
    width, center = int(vector.step / unit), int(recipe.center / unit)
    # Cells are 2^20 at most of FINE places: the product with all the digits of a 64-bit range stays within 80 bits.
    places = _as_integers(one_of(recipe, vector, array)).astype(object if width > 2**30 else np.int64)
    value = (places * width + FINE // 2) // FINE + center
    lo, hi = math.floor(Fraction(vector.expr.lo) / unit), math.ceil(Fraction(vector.expr.hi) / unit)
    return np.asarray(np.clip(value, lo, hi), dtype=np.int64)


def one_of(recipe: Recipe, vector: Vector, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(..., n_groups): the recipe's quantile out of those of the vector, which stand one after the other."""
    count = len(vector.quantiles)
    apart = array.reshape(*array.shape[:-1], count, array.shape[-1] // count)
    return np.asarray(apart[..., vector.quantiles.index(recipe.quantile), :])


def _chosen(recipe: Recipe, step: float, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The value at a place inside a cell (FINE places a cell, cells centred), in the column's own type."""
    value = array / FINE * step + float(recipe.center)
    if recipe.limits is not None:
        value = np.clip(value, *recipe.limits)
    match recipe.type.kind:
        case Kind.INTEGER:
            return np.asarray(np.rint(value), dtype=np.int64)
        case Kind.DATE:
            return np.asarray(np.rint(value), dtype=np.int64) * 86_400_000_000 * np.timedelta64(1, "us") + EPOCH
        case Kind.TIMESTAMP:
            return np.asarray(np.rint(value), dtype=np.int64) * np.timedelta64(1, "us") + EPOCH
    return np.asarray(value)


EPOCH = np.datetime64("1970-01-01", "us")


def _scaled(array: npt.NDArray[Any], step: Fraction) -> npt.NDArray[Any]:
    """array * step. Seven hundredths are 7 / 100 and not 7 * 0.01, which is another double."""
    if step.denominator & (step.denominator - 1):
        return np.asarray(array * float(step.numerator) / float(step.denominator))
    return np.asarray(array * float(step))


def _masked_ratio(
    total: Floats, count: npt.NDArray[Any], offset: float, limits: tuple[float, float] | None
) -> npt.NDArray[Any]:
    """offset + total / count, kept within the limits; NULL where the count is not positive."""
    empty = np.asarray(count) <= 0
    ratio = offset + total / np.where(empty, 1, count)
    if limits is not None:
        ratio = np.clip(ratio, *limits)
    return np.ma.MaskedArray(ratio, empty)


def _moments(recipe: Recipe, steps: list[float], arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Variance from centred moments: E[(x-c)²] - E[x-c]², with n or n-1 below."""
    sample = recipe.kind.endswith("samp")
    count = np.asarray(arrays[0], dtype=np.float64)
    divisor = count - 1 if sample else count
    empty = divisor <= 0
    safe_count, safe_divisor = np.where(count <= 0, 1, count), np.where(empty, 1, divisor)
    first, second = arrays[1] * steps[1], arrays[2] * steps[2]
    spread = np.maximum((second - first * first / safe_count) / safe_divisor, 0)
    if recipe.kind.startswith("stddev"):
        spread = np.sqrt(spread)
    elif recipe.kind == "sem":
        return np.ma.MaskedArray(np.sqrt(spread / safe_count), empty)
    assert recipe.limits is not None
    # n / (n - 1) lets a sample variance pass the population's greatest value.
    most = recipe.limits[1] * (2.0 if sample else 1.0)
    return np.ma.MaskedArray(np.minimum(spread, most), empty)


def _covariance(recipe: Recipe, steps: list[float], arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    count = np.asarray(arrays[0], dtype=np.float64)
    divisor = count - 1 if recipe.kind == "covar_samp" else count
    empty = divisor <= 0
    safe_count, safe_divisor = np.where(count <= 0, 1, count), np.where(empty, 1, divisor)
    x, y, xy = (array * step for array, step in zip(arrays[1:4], steps[1:4], strict=True))
    shared = (xy - x * y / safe_count) / safe_divisor
    if recipe.kind != "corr":
        return np.ma.MaskedArray(shared, empty)
    spreads = [
        np.maximum(arrays[4 + i] * steps[4 + i] - first * first / safe_count, 0) / safe_divisor
        for i, first in enumerate((x, y))
    ]
    product = np.sqrt(spreads[0] * spreads[1])
    flat = empty | (product <= 0)
    return np.ma.MaskedArray(np.clip(shared / np.where(flat, 1, product), -1, 1), flat)
