"""What an owner declares about the data: unit, tables, columns, budget. Plain frozen data; no file, no engine.

Flow: read from TOML by `catalog.load` or built from arguments by `dither.open`; read by sql, plan, engines, ledger.
Names compare case-insensitively in ASCII; every lookup goes through `fold`.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Literal

__all__ = [
    "Analyst",
    "BudgetTerms",
    "Catalog",
    "Column",
    "ColumnType",
    "ColumnUnit",
    "DomainValue",
    "Fixtures",
    "Neighbours",
    "ReferenceUnit",
    "RowUnit",
    "Table",
    "UnitRule",
    "fold",
]

ColumnType = Literal["integer", "double", "decimal", "boolean", "text", "date", "timestamp"]
Neighbours = Literal["add_remove", "replace"]
DomainValue = int | Fraction | bool | str | dt.date | dt.datetime
"""A bound or a listed value. Numbers of double and decimal columns are Fractions; timestamps are naive, in UTC."""


@dataclass(frozen=True)
class Column:
    """One visible column. Bounds and values are enforced on read: outside bounds is clamped, outside values is NULL."""

    name: str
    type: ColumnType
    bounds: tuple[DomainValue, DomainValue] | None = None
    values: tuple[DomainValue, ...] | None = None
    scale: int | None = None
    """Digits after the point of a decimal column; None: as the engine declares it."""
    looked: bool = False
    """True while bounds come from looking at the data and the owner has not yet confirmed them."""


@dataclass(frozen=True)
class RowUnit:
    """Each row is its own unit."""


@dataclass(frozen=True)
class ColumnUnit:
    """The unit is the value of this column."""

    column: str


@dataclass(frozen=True)
class ReferenceUnit:
    """The unit is that of the row of `table` whose `key` equals this row's `column`."""

    column: str
    table: str
    key: str
    asserted: bool = False
    """True: the owner asserts that `key` is unique where the engine does not enforce it; receipts say so."""


UnitRule = RowUnit | ColumnUnit | ReferenceUnit


@dataclass(frozen=True)
class Table:
    """`unit` is None exactly for public tables. `columns` of a public table may be empty: the engine's own are used."""

    name: str
    unit: UnitRule | None
    columns: Mapping[str, Column] = field(default_factory=dict)
    """Keyed by folded name, in declared order."""
    max_rows_per_unit: int | None = None
    source_name: str | None = None
    """The table, file or glob in the source when it differs from `name`."""
    rows: int | None = None
    """A public fact the owner declares, never checked against the data."""
    rows_per_value: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Another: folded name of a column with listed values -> how many rows have each of them."""

    @property
    def is_public(self) -> bool:
        return self.unit is None

    def column(self, name: str) -> Column | None:
        return self.columns.get(fold(name))


@dataclass(frozen=True)
class BudgetTerms:
    """The data set's budget: (epsilon, delta) or, with `rho`, a zCDP budget (delta then serves private keys only)."""

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    delta_per_question: Fraction | None = None
    """None: a thousandth of the share of delta kept for key selection."""
    minimum_price: Fraction = Fraction(1, 1000)
    """Least epsilon charged to a question that reads data."""
    gaussian: bool = False
    """May `within=` choose Gaussian noise?"""
    default_epsilon: Fraction | None = None
    """The offer of a question that states none; None: such a question is refused."""

    @property
    def minimum_rho(self) -> Fraction:
        """The rho of a pure answer at the minimum price: what an offer in rho is at least."""
        return self.minimum_price**2 / 2


@dataclass(frozen=True)
class Analyst:
    """An allowance out of the budget, on the data set's own notion."""

    name: str
    epsilon: Fraction | None = None
    daily_epsilon: Fraction | None = None
    rho: Fraction | None = None


@dataclass(frozen=True)
class Fixtures:
    """Questions the owner wants answered, and refused, by `dither check`; they are rehearsed, never charged."""

    answered: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Catalog:
    name: str
    source: str
    """A path, glob folder, or URL; '' when the data came as a frame."""
    unit_name: str
    budget: BudgetTerms
    tables: Mapping[str, Table]
    """Keyed by folded name, in declared order."""
    analysts: Mapping[str, Analyst] = field(default_factory=dict)
    """Keyed by folded name."""
    neighbours: Neighbours = "add_remove"
    nulls: Literal["group", "drop"] = "group"
    ledger: str = ""
    """A path or a database URL; '' means in memory."""
    path: Path | None = None
    """The file this was read from."""
    min_units_per_key: int = 1
    csv: Mapping[str, str] = field(default_factory=dict)
    """Declared dialect of CSV sources: delimiter, quote, null."""
    fixtures: Fixtures = field(default_factory=Fixtures)

    def table(self, name: str) -> Table | None:
        return self.tables.get(fold(name))

    def analyst(self, name: str) -> Analyst | None:
        return self.analysts.get(fold(name))

    @property
    def protected(self) -> tuple[Table, ...]:
        return tuple(table for table in self.tables.values() if not table.is_public)

    def promise_digest(self) -> str:
        """Digest of what the promise rests on: units, paths, assertions, neighbours, public flags, source.
        A ledger made for one digest refuses a catalog with another until the owner says so in a logged command."""
        promise = {
            "source": self.source,
            "neighbours": self.neighbours,
            "unit": self.unit_name,
            "tables": {
                key: {"source": table.source_name or table.name, "unit": _unit_facts(table.unit)}
                for key, table in sorted(self.tables.items())
            },
        }
        return hashlib.sha256(json.dumps(promise, sort_keys=True).encode()).hexdigest()


def fold(name: str) -> str:
    """Case folded in ASCII only, as SQL identifiers compare here."""
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in name)


def _unit_facts(unit: UnitRule | None) -> object:
    match unit:
        case None:
            return "public"
        case RowUnit():
            return "row"
        case ColumnUnit(column):
            return [fold(column)]
        case ReferenceUnit(column, table, key, asserted):
            return [fold(column), fold(table), fold(key), asserted]
