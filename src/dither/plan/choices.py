"""What a question rests on that nobody declared: rows kept per unit, and bounds of columns.

Flow: lowering looks here when the catalog says nothing. What was chosen before (privately, hence released) is used;
what was not is noted with a stand-in, so that the rest of the question can be checked before the choice is paid for
(`session.decide`), or refused where nobody offered to choose.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dither.catalog.model import Column
from dither.plan.reads import read_column
from dither.sql.expressions import Expr
from dither.sql.types import Kind

__all__ = ["LARGEST_CHOICE", "STAND_IN_BOUNDS", "Choices", "with_bounds"]

Place = tuple[str, str]
"""A folded table name and a folded column name."""
Bounds = tuple[float, float]

LARGEST_CHOICE = 10_000
"""Rows per unit that a private choice looks up to; also its stand-in: what is possible with so many is possible."""
STAND_IN_BOUNDS: Bounds = (-float(2**31), float(2**31))
"""The bounds that ask most of a plan: of whole numbers, as many steps as one contribution may have, centred or not (of
others every bound has as many). What can be priced with these and LARGEST_CHOICE rows can be with whatever is chosen:
nothing is paid for and then refused."""


@dataclass
class Choices:
    taus: Mapping[str, int]
    """Folded table name -> rows kept per unit, declared or chosen."""
    protected: frozenset[str] = frozenset()
    """Tables whose columns' bounds may be chosen: a public table's are looked up and declared by its owner."""
    bounds: Mapping[Place, Bounds] = field(default_factory=dict)
    """Chosen bounds of columns without declared ones."""
    open: bool = False
    """True: what is not known is noted below and stood in for; False: the caller refuses."""
    tables: dict[str, None] = field(default_factory=dict)
    columns: dict[Place, None] = field(default_factory=dict)

    @property
    def pending(self) -> bool:
        return bool(self.tables or self.columns)

    def rows_kept(self, table: str) -> int | None:
        known = self.taus.get(table)
        if known is None and self.open:
            self.tables[table] = None
            return LARGEST_CHOICE
        return known

    def bounds_of(self, place: Place) -> Bounds | None:
        known = self.bounds.get(place)
        if known is None and self.open and place[0] in self.protected:
            self.columns[place] = None
            return STAND_IN_BOUNDS
        return known


def with_bounds(expr: Expr, bounds: Bounds) -> Expr:
    """A read column kept within bounds of the choice, in the column's own kind of number."""
    assert isinstance(expr.payload, tuple)
    column, engine_type = expr.payload
    assert isinstance(column, Column) and isinstance(engine_type, str)
    lo, hi = (Fraction(str(end)) for end in bounds)
    if expr.type.kind is Kind.INTEGER:
        # Outward: a level between two whole numbers would clamp the larger one.
        lo, hi = Fraction(math.floor(lo)), Fraction(math.ceil(hi))
    ends = (int(lo), int(hi)) if expr.type.kind is Kind.INTEGER else (lo, hi)
    required = not expr.nullable
    return read_column(replace(column, bounds=ends), engine_type, str(expr.args[0].payload), required=required)
