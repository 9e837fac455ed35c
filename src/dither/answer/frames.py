"""Answers as data frames: the one place that imports pandas, Polars and pyarrow.

Decimals stay decimals in Polars and Arrow; in pandas, which has no type for them, they are doubles, as DuckDB gives
them to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dither.answer.numbers import in_doubles
from dither.errors import InvalidParameter

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["to_arrow", "to_pandas", "to_polars"]

Data = Sequence[tuple[str, list[Any]]]


def to_pandas(data: Data) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError:
        raise _missing("pandas") from None
    frame = pandas.DataFrame(dict(enumerate([in_doubles(value) for value in values] for _, values in data)))
    frame.columns = [name for name, _ in data]
    return frame


def to_polars(data: Data) -> polars.DataFrame:
    try:
        import polars
    except ImportError:
        raise _missing("polars") from None
    columns: dict[str, Any] = {}
    for name, values in _unique(data):
        scale = _scale(values)
        columns[name] = values if scale is None else polars.Series(values, dtype=polars.Decimal(_DIGITS, scale))
    return polars.DataFrame(columns, strict=False)


def to_arrow(data: Data) -> pyarrow.Table:
    try:
        import pyarrow
    except ImportError:
        raise _missing("arrow") from None
    arrays = []
    for _, values in data:
        scale = _scale(values)
        arrays.append(pyarrow.array(values, None if scale is None else pyarrow.decimal128(_DIGITS, scale)))
    return pyarrow.table(arrays, names=[name for name, _ in data])


_DIGITS = 38


def _scale(values: list[Any]) -> int | None:
    """Digits after the point of a column of decimals, all of which have the same; None of any other column."""
    first = next((value for value in values if value is not None), None)
    return -int(first.as_tuple().exponent) if isinstance(first, Decimal) else None


def _unique(data: Data) -> list[tuple[str, list[Any]]]:
    """Polars wants different names: a repeated one gets a number."""
    seen: dict[str, int] = {}
    result = []
    for name, values in data:
        seen[name] = seen.get(name, 0) + 1
        result.append((name if seen[name] == 1 else f"{name}_{seen[name]}", values))
    return result


def _missing(extra: str) -> InvalidParameter:
    return InvalidParameter(
        "format", expected=f"one whose library is installed: pip install 'dither[{extra}]'", found=f"no {extra}"
    )
