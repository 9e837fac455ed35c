"""Where neighbours are drawn from: a public or synthetic source of rows, with the name its losses go by.

Flow: given to `sampled_noise`, which draws n + 1 rows for each pair. Relies on: rows drawn independently of each other,
all from one distribution, and never from the protected data. None of this can be checked here.
Proof: docs/proofs/mechanisms/sampled-statistic.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither.errors import InvalidParameter
from dither.mechanisms.sampled.table import Rows, count_rows, table_of

__all__ = ["Population"]


@dataclass(frozen=True)
class Population:
    """A distribution of rows that is public.

    name: 1 to 200 printable characters, said wherever a release over it is.
    draw: a function of a count that gives that many rows, drawn independently: columns by name, or a data frame."""

    name: str
    draw: Callable[[int], Any]

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and 0 < len(self.name) <= 200 and self.name.isprintable()):
            raise InvalidParameter("population", expected="a name of 1 to 200 printable characters", found=self.name)
        if not callable(self.draw):
            raise InvalidParameter("draw", expected="a function of a number of rows", found=self.draw)

    @classmethod
    def of_table(cls, name: str, table: Any, *, seed: int | None = None) -> Population:
        """Rows of a public table, drawn with replacement: the distribution is the table's own.

        table: columns by name, or a pandas or Polars table, with at least one row.  seed: for tests and papers; None
        takes one from the operating system. The sample is public, so that a plain generator does."""
        rows = table_of(table)
        size = count_rows(rows)
        if size == 0:
            raise InvalidParameter("table", expected="at least one row", found="none")
        generator = np.random.default_rng(seed)

        def draw(count: int) -> Rows:
            places = generator.integers(0, size, count)
            return {column: values[places] for column, values in rows.items()}

        return cls(name, draw)

    def rows(self, count: int) -> Rows:
        """`count` fresh rows. Raises InvalidParameter when `draw` gives another number of them."""
        drawn = table_of(self.draw(count))
        if count_rows(drawn) != count:
            raise InvalidParameter("draw", expected=f"{count} rows when asked for {count}", found=count_rows(drawn))
        return drawn
