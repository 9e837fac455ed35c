"""What printing SQL takes besides the plan's nodes: how tables are read, what is stored of them, how large they are.

Flow: the engine fills an `Emission` in; `relations`, `emit` and `double_sums` print by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dither.catalog.model import Column
from dither.plan import nodes

__all__ = ["Emission", "Extent", "TableSource"]


@dataclass(frozen=True)
class TableSource:
    """How a table is read: a FROM clause, and SQL over it for each column and for the unit."""

    from_sql: str
    unit_sql: str | None
    column_sql: Callable[[str], str]
    unit_column: str | None
    """Folded name of the unit's column where that is one of the table, of whole numbers of at most 64 bits."""


@dataclass(frozen=True)
class Extent:
    """What an engine knows of a stored table without reading its rows. It may decide how a sum is computed, and so how
    long that takes; never what it is."""

    rows: int
    """No more rows than this."""
    ends: Mapping[str, tuple[float, float]]
    """Folded name of a numeric column -> no value lies outside, none is NaN. Not named: unknown."""


@dataclass(frozen=True)
class Emission:
    """What the printer needs besides the nodes."""

    tables: Callable[[str], TableSource]
    kept: Callable[[nodes.Scan], str | None]
    """The stored table of a scan's kept rows (`engines.stored`), where there is one that is true now."""
    salt: Callable[[str], int]
    declared: Callable[[str, str], Column | None]
    """(table, column) -> the column as the catalog declares it: stored steps are those of its bounds."""
    extent: Callable[[str], Extent | None]
