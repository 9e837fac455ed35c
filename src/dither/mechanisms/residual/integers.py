"""The integers that are measured, and marginals from them: exact on the private side, floats only afterwards.

Flow: `release` takes tables of counts or sums in, asks here for the residuals, adds noise, and asks for marginals.
The residual of a table over the axes A is the tensor product over A of (d I - J), d the size of the axis and J all
ones, applied to the table summed over its other axes: whole numbers, each axis of which sums to zero.
Relies on: tables of at most 2^20 cells. Proof: docs/proofs/mechanisms/residuals.md
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms.release import LARGEST, saturate

__all__ = ["marginal_from", "projected", "residual_of", "whole_marginals"]

Axes = tuple[int, ...]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_LIMB = 21
"""Bits of a limb. A row of (d I - J) has absolute values of 2 (d - 1) in all: nothing leaves 2^21 2^20 2^20 = 2^61."""


def residual_of(table: Ints, axes: Axes, kept: Axes) -> Ints:
    """The residual over the axes `kept` of a table whose dimensions are `axes`; each entry saturated to +-2^61, which
    moves it no further from its neighbour's than it was. Computed in three limbs: it is exact for every table."""
    clean = saturate(table)
    mask = np.int64((1 << _LIMB) - 1)
    low, middle, high = (
        _residual(limb, axes, kept) for limb in (clean & mask, (clean >> _LIMB) & mask, clean >> (2 * _LIMB))
    )
    middle = middle + (low >> _LIMB)
    high = high + (middle >> _LIMB)
    below = ((middle & mask) << _LIMB) | (low & mask)
    # |value| < 2^61 means -2^19 <= high < 2^19, and then the shift below does not overflow.
    edge = LARGEST >> (2 * _LIMB)
    inside = (np.clip(high, -edge, edge - 1) << (2 * _LIMB)) + below
    result: Ints = np.where(high >= edge, LARGEST, np.where(high < -edge, -LARGEST, inside))
    return result


def _residual(limb: Ints, axes: Axes, kept: Axes) -> Ints:
    others = tuple(i for i, axis in enumerate(axes) if axis not in kept)
    value: Ints = np.asarray(limb.sum(axis=others, dtype=np.int64), dtype=np.int64)
    for dimension, size in enumerate(value.shape):
        value = size * value - value.sum(axis=dimension, keepdims=True)
    return value


def projected(measured: Ints) -> Floats:
    """What a noisy residual says of the table: its mean taken out along each axis, divided by the sizes of all."""
    value = measured.astype(np.float64)
    for dimension in range(value.ndim):
        value = value - value.mean(axis=dimension, keepdims=True)
    return value / math.prod(measured.shape)


def marginal_from(residuals: Mapping[Axes, Floats], axes: Axes, sizes: Sequence[int]) -> Floats:
    """The marginal over `axes`: the sum of the projected residuals of all their subsets, each spread evenly."""
    shape = tuple(sizes[axis] for axis in axes)
    total = np.zeros(shape)
    for part in _subsets(axes):
        if part not in residuals:
            continue  # An axis of size 1 has no residual.
        spread = math.prod(sizes[axis] for axis in axes if axis not in part)
        placed = residuals[part].reshape(tuple(sizes[axis] if axis in part else 1 for axis in axes))
        total += placed / spread
    return total


def whole_marginals(marginals: Mapping[Axes, Floats]) -> dict[Axes, Ints]:
    """Marginals as whole numbers that add up exactly: each table's sum over an axis is the table without that axis.
    Cumulative sums are rounded, not cells: a cell, a difference of them along each of its k axes, is then off by at
    most 2^(k-1), however large its table. marginals: with every table, all tables over fewer of its axes."""
    # Room for the differences below, which double along each axis. Beyond 2^53 a float is not known to the whole
    # number, but to a part in 2^53 of the sum of all rows, far below the noise of one of them.
    largest = 2.0 ** (61 - max(map(len, marginals)))
    rounded: dict[Axes, Ints] = {}
    for axes in sorted(marginals, key=len):
        cumulated = marginals[axes]
        for dimension in range(cumulated.ndim):
            cumulated = np.cumsum(cumulated, axis=dimension)
        table = np.asarray(np.clip(np.rint(cumulated), -largest, largest)).astype(np.int64)
        for dimension, axis in enumerate(axes):
            last = (slice(None),) * dimension + (-1,)
            table[last] = rounded[tuple(a for a in axes if a != axis)]
        rounded[axes] = table
    return {axes: _differences(table) for axes, table in rounded.items()}


def _differences(cumulated: Ints) -> Ints:
    value = cumulated
    for dimension in range(value.ndim):
        value = np.diff(value, axis=dimension, prepend=0)
    return value


def _subsets(axes: Axes) -> list[Axes]:
    return [part for size in range(len(axes) + 1) for part in itertools.combinations(axes, size)]
