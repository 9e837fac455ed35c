"""What an engine does for the rest: say its schema, read public tables, measure private vectors.

Flow: the session calls `measure` once per stage, after the charge is durable. Everything private leaves as a Secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dither.catalog.schema import SchemaTable
from dither.plan import nodes
from dither.secret import Secret
from dither.sql.embedded import Columns

__all__ = ["Engine", "Histogram", "MeasuredTable"]


@dataclass(frozen=True, eq=False)
class Histogram:
    """The occupied cells of all groups: keys, cell and row count side by side (n_cells,)."""

    keys: Columns
    cells: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MeasuredTable:
    """What one measure read: its groups, and int64 vectors over them (n_groups,). Only ever inside a Secret."""

    keys: Columns
    vectors: tuple[npt.NDArray[np.int64], ...]
    histograms: Mapping[int, Histogram] = field(default_factory=dict)
    """Position of a histogram vector -> its occupied cells."""


class Engine(Protocol):
    """A database that holds the tables of one catalog."""

    def schema(self) -> Sequence[SchemaTable]:
        """Names and types of the tables the catalog can name; reads no row."""

    def read_public(self, node: nodes.Rows, select: str, suffix: str = "") -> Columns:
        """`select` FROM the relation `suffix`; GuaranteeError if a protected table is in it.
        From then on `measure` fails when the source has changed since: plans rest on what was read here."""

    def refresh(self) -> bool:
        """True when the source has changed since public tables were read: what was read of them is to be forgotten."""

    def prepare(self, measures: Sequence[nodes.Measure]) -> None:
        """Have the database bind the SQL of the measures without running it. Raises GuaranteeError where it does not
        work: that is our fault, and shows before anything is charged."""

    def measure(self, measures: Sequence[nodes.Measure]) -> Secret[list[MeasuredTable]]:
        """All measures in one snapshot. Raises EngineError with a fixed text, whatever the database said."""

    def rows_per_unit(self, table: str, levels: Sequence[int]) -> Secret[npt.NDArray[np.int64]]:
        """For each level t of a public ascending grid: how many units have more than t rows in the table."""

    def values_per_level(self, table: str, column: str, tau: int) -> Secret[npt.NDArray[np.int64]]:
        """Kept rows by the level of a number's size (`mechanisms.value_bounds`): (2 * LEVELS + 1,) counts, from the
        largest negative over zero to the largest positive; NULL and NaN in none."""

    def one_row_each(self, table: str, columns: Sequence[str]) -> Secret[Columns]:
        """One row of each unit of a protected table, its columns as questions read them (in their bounds, of their
        listed values), by the catalog's names.  columns: folded names of columns the catalog declares.
        Raises EngineError with a fixed text, whatever the database said."""

    def store_kept(self, table: str, tau: int) -> None:
        """Keep the rows that count (at most tau a unit) where only the owner can read them, for faster questions."""

    def close(self) -> None:
        """Let go of the database."""
