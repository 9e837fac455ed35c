"""Vectors over the list of all public groups: a group without people is there too, with zeros.

Flow: between the engine and the noise. Works inside a Secret; the positions of groups never leave it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dither.engines.base import MeasuredTable
from dither.plan.keys import Domain
from dither.sql.embedded import Columns

__all__ = ["complete", "places_in"]


def complete(table: MeasuredTable, domain: Domain) -> tuple[npt.NDArray[np.int64], ...]:
    """The table's vectors in the order of the domain. Groups outside the list cannot come out of an engine whose SQL
    enforces it; should one come, it is dropped, because an error here would tell of a row."""
    if not table.keys:
        return tuple(_single(vector) for vector in table.vectors)
    place = places_in(table.keys, domain.columns, domain.size, len(next(iter(table.keys.values()))))
    known = place >= 0
    result = []
    for vector in table.vectors:
        full = np.zeros(domain.size, dtype=np.int64)
        # Added, not assigned: should two rows ever name one group, neither is lost and neither overwrites the other.
        np.add.at(full, place[known], vector[known])
        result.append(full)
    return tuple(result)


def places_in(found: Columns, listed: Columns, size: int, count: int) -> npt.NDArray[np.int64]:
    """For each of `count` found groups its place among the `size` listed ones, -1 where it is none of them."""
    if not listed:
        return np.zeros(count, dtype=np.int64)
    codes_listed, codes_found = _codes(listed, found, size)
    if size == 0:
        return np.full(count, -1, dtype=np.int64)
    order = np.argsort(codes_listed, kind="stable")
    place = np.searchsorted(codes_listed, codes_found, sorter=order)
    place = order[np.minimum(place, size - 1)]
    return np.where(codes_listed[place] == codes_found, place, -1)


def _single(vector: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return vector.astype(np.int64) if vector.size else np.zeros(1, dtype=np.int64)


def _codes(listed: Columns, found: Columns, size: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """One integer per group, equal for equal groups of both tables."""
    (first, *others) = listed
    left, right, _ = _column_codes(listed[first], found[first])
    for name in others:
        a, b, count = _column_codes(listed[name], found[name])
        # Keep the numbers small: as many as there are different groups.
        _, inverse = np.unique(np.concatenate([left * count + a, right * count + b]), return_inverse=True)
        left, right = inverse[:size].astype(np.int64), inverse[size:].astype(np.int64)
    return left, right


def _column_codes(listed: Any, found: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
    if listed.dtype == found.dtype and listed.dtype.kind in "iuM":
        # Whole numbers and dates: NumPy compares them itself, as they are.
        values = np.concatenate([np.ma.getdata(listed), np.ma.getdata(found)])
        nulls = np.concatenate([np.ma.getmaskarray(listed), np.ma.getmaskarray(found)])
        different, inverse = np.unique(values, return_inverse=True)
        codes = np.where(nulls, len(different), inverse)
        return codes[: len(listed)], codes[len(listed) :], len(different) + 1
    index: dict[Any, int] = {}
    left, right = (
        np.fromiter((index.setdefault(v, len(index)) for v in column.tolist()), dtype=np.int64, count=len(column))
        for column in (listed, found)
    )
    return left, right, max(len(index), 1)
