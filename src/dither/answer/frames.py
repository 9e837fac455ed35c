"""Answers as data frames: the one place that imports pandas, Polars and pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
    frame = pandas.DataFrame(dict(enumerate(values for _, values in data)))
    frame.columns = [name for name, _ in data]
    return frame


def to_polars(data: Data) -> polars.DataFrame:
    try:
        import polars
    except ImportError:
        raise _missing("polars") from None
    return polars.DataFrame(dict(_unique(data)), strict=False)


def to_arrow(data: Data) -> pyarrow.Table:
    try:
        import pyarrow
    except ImportError:
        raise _missing("arrow") from None
    return pyarrow.table([pyarrow.array(values) for _, values in data], names=[name for name, _ in data])


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
