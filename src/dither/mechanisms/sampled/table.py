"""Rows as columns of arrays: the one shape a statistic is given, whether rows are public or private.

Flow: populations and engines hand in columns; `table_of` makes them the same everywhere; `in_order` sorts them.
Relies on: sorting by the contents of whole rows. Whatever an opaque function does with the order of rows, it does the
same for every storage order, so it is a function of the rows alone and every row stands at every place alike.
Proof: docs/proofs/mechanisms/sampled-statistic.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dither.errors import InvalidParameter

__all__ = ["Kind", "Rows", "Shape", "count_rows", "in_order", "shape_of", "table_of", "take"]

Rows: TypeAlias = Mapping[str, npt.NDArray[Any]]
"""Column name -> its values, one per row: numbers and booleans are float64 (NULL is NaN), days and times
datetime64[us] (NULL is NaT), texts str (NULL is None). All columns are equally long."""
Kind = Literal["number", "time", "text"]
Shape: TypeAlias = Mapping[str, Kind]
"""Column name -> kind."""


def table_of(columns: Any) -> Rows:
    """Rows from a mapping of columns, or from a pandas or Polars table; each column an array or a sequence.
    Raises InvalidParameter for anything else, and for columns that are not equally long."""
    names = list(columns.keys()) if isinstance(columns, Mapping) else list(getattr(columns, "columns", []))
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidParameter("rows", expected="columns by name", found=type(columns).__name__)
    table = {name: _column(columns[name], name) for name in names}
    if len({len(column) for column in table.values()}) > 1:
        raise InvalidParameter("rows", expected="columns of one length", found={n: len(c) for n, c in table.items()})
    return table


def shape_of(rows: Rows) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {"f": "number", "M": "time", "O": "text"}
    return {name: kinds[column.dtype.kind] for name, column in rows.items()}


def count_rows(rows: Rows) -> int:
    return len(next(iter(rows.values())))


def take(rows: Rows, places: npt.NDArray[np.int64]) -> Rows:
    """The rows at these places, copied: whoever is given them may change them."""
    return {name: column[places] for name, column in rows.items()}


def in_order(rows: Rows) -> Rows:
    """The rows sorted by their contents, first column first; NULLs come last. A copy."""
    keys: list[npt.NDArray[Any]] = []
    for column in rows.values():
        if column.dtype.kind == "O":
            # Not as an array of texts: NumPy takes a zero character at the end for none.
            different = sorted({value for value in column if value is not None})
            place = {value: number for number, value in enumerate(different)} | {None: len(different)}
            keys.append(np.array([place[value] for value in column], dtype=np.int64))
        else:
            keys.append(column)
    # lexsort takes the last key first.
    return take(rows, np.lexsort(keys[::-1]).astype(np.int64))


def _column(values: Any, name: str) -> npt.NDArray[Any]:
    # A list as it is: as an array of NumPy's choice, a number among texts would become one.
    given = np.array(values, dtype=object) if isinstance(values, list | tuple) else values
    array = np.ma.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given)
    missing = np.ma.getmaskarray(array)
    data = np.asarray(array.data)
    if data.ndim != 1:
        raise InvalidParameter("rows", expected=f"one value for each row in column {name!r}", found=data.shape)
    if data.dtype.kind in "biuf":
        # -0.0 and the many NaNs are made one each: equal values must not be told apart by an order.
        numbers = np.where(missing, np.nan, data.astype(np.float64)) + 0.0
        return np.where(np.isnan(numbers), np.nan, numbers)
    if data.dtype.kind == "M":
        times = data.astype("datetime64[us]")
        times[missing] = np.datetime64("NaT")
        return times
    return _objects(data, missing, name)


def _objects(data: npt.NDArray[Any], missing: npt.NDArray[np.bool_], name: str) -> npt.NDArray[Any]:
    values = [None if gone or _is_nothing(v) else v for v, gone in zip(data.tolist(), missing, strict=True)]
    there = [value for value in values if value is not None]
    if all(isinstance(value, str) for value in there):
        texts = np.empty(len(values), dtype=object)
        texts[:] = values
        return texts
    if any(isinstance(value, str) for value in there):
        raise InvalidParameter("rows", expected=f"values of one kind in column {name!r}", found="texts and others")
    try:
        numbers = np.array([np.nan if value is None else float(value) for value in values])
        return np.where(np.isnan(numbers), np.nan, numbers + 0.0)
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        return np.array(values, dtype="datetime64[us]")
    except (TypeError, ValueError):
        raise InvalidParameter(
            "rows", expected=f"numbers, times or texts in column {name!r}", found=data.dtype
        ) from None


def _is_nothing(value: Any) -> bool:
    # By their names: pandas is not to be loaded for it.
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )
