"""A table of invented people, and the public facts its owner declares about it.

Flow: worlds make one, engines open it. Columns are NumPy arrays of one length; text is an array of objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Columns", "Table"]

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Table:
    """Named `data` in every question."""

    columns: Columns
    bounds: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    values: Mapping[str, list[Any]] = field(default_factory=dict)
    unit: str = "row"
    """The privacy unit: a column, or "row"."""
    max_rows_per_unit: int | None = None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def only(self, keep: NDArray[np.bool_]) -> Table:
        """The same table with these rows alone."""
        return Table(
            {name: column[keep] for name, column in self.columns.items()},
            self.bounds,
            self.values,
            self.unit,
            self.max_rows_per_unit,
        )
