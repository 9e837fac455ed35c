"""Small neighbouring databases made from a catalog: what strains every rule that keeps one unit's share small.

Flow: `sensitivity` and `channels` load both sides of each Pair. No row of the owner's data is read.
Rows carry their owner, so that a database without one unit is the same rows less that owner's. In it there are heavy
units, units with as many rows as are kept, rows without a unit, dangling references, duplicates, ties, values at,
beyond and far beyond the bounds, NaN, infinities, signed zeros, unlisted groups, and groups of one unit alone.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from dither.audit.pipeline.world import DEFAULT_TAU, Tables, column_names, kind_of
from dither.catalog.model import Catalog, Column, ColumnUnit, ReferenceUnit, RowUnit, Table, fold

__all__ = ["Pair", "pairs"]

UNITS = (1, 2, 3, 4)
_NOBODY = 0
"""Owner of rows whose unit is NULL or resolves to nothing: they may not move anything."""
_DANGLING = 77
_ORDER = (0.1, 0.2, 0.3)
"""Doubles whose sum depends on their order."""

Owned = list[tuple[int, tuple[Any, ...]]]
Chooser = Callable[[Table, Column], Any]


@dataclass(frozen=True)
class Pair:
    """Two databases, and whether one unit may move what is measured between them."""

    name: str
    before: Tables
    after: Tables
    free: bool = False
    """True: they hold the same units' rows, so nothing at all may move."""


def pairs(catalog: Catalog, *, seed: int, rounds: int, public: Tables) -> Iterator[Pair]:
    """Named pairs first, then `rounds` random databases less one unit each (or with one unit's rows replaced).
    public: the rows of the public tables, the same in every database."""
    maker = _Maker(catalog, random.Random(seed))
    replaced = catalog.neighbours == "replace"
    for name, rows in maker.straining():
        other = maker.random() if replaced else None
        yield Pair(name, maker.tables(rows, public), maker.tables(maker.less(rows, 1, other), public))
    if replaced:
        ends = dict(maker.straining())
        upper, lower = (ends[f"a full unit at the {word} ends"] for word in ("upper", "lower"))
        after = maker.less(upper, 1, lower)
        yield Pair("a full unit from end to end", maker.tables(upper, public), maker.tables(after, public))
    rows = maker.random(stray=False)
    stray = {key: own + maker.stray(key) for key, own in rows.items()}
    yield Pair("rows of nobody", maker.tables(rows, public), maker.tables(stray, public), free=True)
    orders = {
        "the order of rows": maker.random(),
        "the order of heavy units' rows": maker.ties(),
        "the order of what is added up": maker.summands(),
    }
    for name, ordered in orders.items():
        turned = {key: own[::-1] for key, own in ordered.items()}
        yield Pair(name, maker.tables(ordered, public), maker.tables(turned, public), free=True)
    for number in range(rounds):
        rows, unit = maker.random(), UNITS[number % len(UNITS)]
        other = maker.random() if replaced else None
        name = f"random database {number}, unit {unit}"
        yield Pair(name, maker.tables(rows, public), maker.tables(maker.less(rows, unit, other), public))


class _Maker:
    def __init__(self, catalog: Catalog, generator: random.Random) -> None:
        self.catalog = catalog
        self.generator = generator
        self.protected = {key: table for key, table in catalog.tables.items() if not table.is_public}
        self.keys = 1000

    def random(self, *, stray: bool = True) -> dict[str, Owned]:
        """A few rows of every unit, with duplicates, and with `stray` some of nobody."""

        def count(table: Table) -> int:
            return self.generator.randint(0, self._tau(table) + 2)

        rows = self._rows(lambda table, column: self.generator.choice(pool_of(column)), count, UNITS)
        for key, own in rows.items():
            own += [self.generator.choice(own) for _ in range(len(own) // 3) if not self._keys_of(self.protected[key])]
            own += self.stray(key) if stray else []
            self.generator.shuffle(own)
        return rows

    def straining(self) -> Iterator[tuple[str, dict[str, Owned]]]:
        """Databases about unit 1: heavy at either end of every range, full, varied, and alone in its groups."""

        def over(table: Table) -> int:
            return self._tau(table) + 3

        def just_over(table: Table) -> int:
            return self._tau(table) + 1

        full = self._tau
        for word, end in (("upper", 1), ("lower", 0)):
            for size, count in (("a heavy unit", over), ("a full unit", full)):
                yield f"{size} at the {word} ends", self._one(partial(_at, end_of, end), count)
            yield f"a heavy unit beyond the {word} ends", self._one(partial(_at, beyond, end), over)
        yield "a unit with one row more than is kept", self._one(partial(_at, end_of, 1), just_over)
        for size, count in (("a heavy unit", over), ("a full unit", full)):
            turn: dict[str, int] = {}
            yield f"{size} of different rows", self._one(self._cycling(turn), count)
        yield "a unit alone in its groups", self._one(lambda t, c: lonely(c), full)

    def ties(self) -> dict[str, Owned]:
        """Heavy units whose rows differ, and agree in each column with others of the same unit."""
        turn: dict[str, int] = {}
        return self._rows(self._cycling(turn), lambda table: 3 * self._tau(table), UNITS)

    def summands(self) -> dict[str, Owned]:
        turn: dict[str, int] = {}

        def choose(table: Table, column: Column) -> Any:
            if column.type == "double":
                turn[column.name] = turn.get(column.name, -1) + 1
                return _ORDER[turn[column.name] % len(_ORDER)]
            return end_of(column, 1)

        return self._rows(choose, lambda table: min(len(_ORDER), self._tau(table)), (1,))

    def less(self, rows: Mapping[str, Owned], unit: int, other: Mapping[str, Owned] | None) -> dict[str, Owned]:
        """The rows without a unit's; with those it has in `other` instead, under `neighbours = "replace"`."""
        kept = {key: [row for row in own if row[0] != unit] for key, own in rows.items()}
        if other is None:
            return kept
        new = {key: [row for row in own if row[0] == unit] for key, own in other.items()}
        # A unit that is nowhere in the table others refer to resolves nothing: keep what it had there.
        for key, own in new.items():
            kept[key] += own or [row for row in rows[key] if row[0] == unit][:1]
        return kept

    def stray(self, key: str) -> Owned:
        """Rows whose unit is NULL, and rows that refer to nobody."""
        table = self.protected[key]
        if isinstance(table.unit, RowUnit):
            return []
        values = self._values(table, lambda t, column: end_of(column, 1))
        found: Owned = []
        dangling = self._named(table, self._unit_column(table), _DANGLING)
        for owner in (None, dangling) if isinstance(table.unit, ReferenceUnit) else (None,):
            found += [(_NOBODY, self._row(table, {**values, self._unit_column(table): owner}))] * 4
        return found

    def tables(self, rows: Mapping[str, Owned], public: Tables) -> Tables:
        return {**public, **{key: tuple(row for _, row in own) for key, own in rows.items()}}

    def _one(self, choose: Chooser, count: Callable[[Table], int]) -> dict[str, Owned]:
        """Unit 1 with `count` rows of chosen values; unit 2 with one row of harmless ones, on which nothing fails."""
        rows = self._rows(choose, count, (1,))
        other = self._rows(lambda table, column: tame(column), lambda table: 1, (2,))
        return {key: own + other[key] for key, own in rows.items()}

    def _rows(self, choose: Chooser, count: Callable[[Table], int], units: Sequence[int]) -> dict[str, Owned]:
        """Rows of every protected table, those referred to first."""
        made: dict[str, Owned] = {}
        keyed: dict[str, list[tuple[int, Any]]] = {}
        for key, table in self._in_order():
            own: Owned = []
            for unit in units:
                for _ in range(max(1, count(table)) if self._is_referred(key) else count(table)):
                    values = self._values(table, choose)
                    if not self._resolve(table, unit, values, keyed):
                        continue
                    own.append((unit, self._row(table, values)))
                    keyed.setdefault(key, []).append((unit, values))
            made[key] = own
        return made

    def _resolve(
        self, table: Table, unit: int, values: dict[str, Any], keyed: dict[str, list[tuple[int, Any]]]
    ) -> bool:
        """Write the unit, or a key of the unit's rows in the table referred to, into a row; False when it has none."""
        match table.unit:
            case ColumnUnit(column):
                values[fold(column)] = self._named(table, fold(column), unit)
            case ReferenceUnit(column, target, key, _):
                rows = [found for owner, found in keyed.get(fold(target), ()) if owner == unit]
                if not rows:
                    return False
                values[fold(column)] = self.generator.choice(rows)[fold(key)]
            case _:
                pass
        return True

    def _values(self, table: Table, choose: Chooser) -> dict[str, Any]:
        """One value per column. Keys that others refer to are numbered: the owner promises that they are unique."""
        values: dict[str, Any] = {}
        for name in column_names(self.catalog, table):
            column = table.column(name)
            if column is None or name in self._keys_of(table):
                self.keys += 1
                values[name] = self._named(table, name, self.keys)
            else:
                values[name] = choose(table, column)
        return values

    def _keys_of(self, table: Table) -> set[str]:
        """Columns of a table that others refer to, but for its unit's."""
        unit = fold(table.unit.column) if isinstance(table.unit, ColumnUnit) else ""
        others = (other.unit for other in self.protected.values())
        ends = {fold(to.key) for to in others if isinstance(to, ReferenceUnit) and fold(to.table) == fold(table.name)}
        return ends - {unit}

    def _row(self, table: Table, values: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(values[name] for name in column_names(self.catalog, table))

    def _named(self, table: Table, column: str, number: int) -> Any:
        """A unit or a key by its number, in the type of its column."""
        return f"u{number}" if kind_of(self.catalog, table, column) == "text" else number

    def _unit_column(self, table: Table) -> str:
        assert isinstance(table.unit, ColumnUnit | ReferenceUnit)
        return fold(table.unit.column)

    def _tau(self, table: Table) -> int:
        return 1 if isinstance(table.unit, RowUnit) else table.max_rows_per_unit or DEFAULT_TAU

    def _is_referred(self, key: str) -> bool:
        return any(
            isinstance(table.unit, ReferenceUnit) and fold(table.unit.table) == key for table in self.protected.values()
        )

    def _in_order(self) -> list[tuple[str, Table]]:
        """Tables behind those they refer to."""
        done: dict[str, Table] = {}
        while len(done) < len(self.protected):
            for key, table in self.protected.items():
                if key not in done and (not isinstance(table.unit, ReferenceUnit) or fold(table.unit.table) in done):
                    done[key] = table
        return list(done.items())

    def _cycling(self, turn: dict[str, int]) -> Chooser:
        def choose(table: Table, column: Column) -> Any:
            name = f"{table.name}.{column.name}"
            turn[name] = turn.get(name, -1) + 1
            inside = [end_of(column, 1), *(column.values or ()), *_steps(column)]
            return _stored(column, inside[turn[name] % len(inside)])

        return choose


def _at(ends: Callable[[Column, int], Any], end: int, table: Table, column: Column) -> Any:
    return ends(column, end)


def pool_of(column: Column) -> list[Any]:
    """Values a stored column may hold, most of them nasty; few, so that duplicates and ties are common."""
    ends = [end_of(column, 0), end_of(column, 1), beyond(column, 0), beyond(column, 1), None]
    match column.type:
        case "double":
            return [*ends, math.nan, math.inf, -math.inf, 0.0, -0.0, *_ORDER, 1e308]
        case "integer":
            return [*ends, 0, 3, 2**31]
        case "text":
            listed = [str(value) for value in column.values or ("a", "b")]
            return [*listed, listed[0].upper(), listed[0].lower(), "", "not listed", None]
        case "boolean":
            return [True, False, None]
        case _:
            return ends


def end_of(column: Column, end: int) -> Any:
    """A value at the lower (0) or upper (1) end of what the column declares."""
    if column.values:
        return _stored(column, column.values[-1 if end else 0])
    if column.bounds is not None:
        return _stored(column, column.bounds[end])
    plain: dict[str, tuple[Any, Any]] = {
        "integer": (0, 100),
        "double": (0.0, 100.0),
        "decimal": (Decimal(0), Decimal(100)),
        "boolean": (False, True),
        "text": ("a", "b"),
        "date": (dt.date(2020, 1, 1), dt.date(2024, 12, 31)),
        "timestamp": (dt.datetime(2020, 1, 1), dt.datetime(2024, 12, 31)),
    }
    return plain[column.type][end]


def beyond(column: Column, end: int) -> Any:
    """A value far outside at that end."""
    far: dict[str, tuple[Any, Any]] = {
        "integer": (-(2**62), 2**62),
        "double": (-math.inf, math.inf),
        "decimal": (Decimal(-(10**12)), Decimal(10**12)),
        "boolean": (False, True),
        "text": ("", "zz"),
        "date": (dt.date(1, 1, 1), dt.date(9999, 12, 31)),
        "timestamp": (dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)),
    }
    return far[column.type][end]


def tame(column: Column) -> Any:
    """A value that every cast and function takes."""
    return "1" if column.type == "text" and not column.values else end_of(column, 0)


def lonely(column: Column) -> Any:
    """A value of a group that nobody else is in."""
    return "only mine" if column.type == "text" and not column.values else end_of(column, 1)


def _steps(column: Column) -> list[Any]:
    """A few values next to the upper end, for rows that differ."""
    top = end_of(column, 1)
    match column.type:
        case "integer":
            return [top - i for i in range(1, 8)]
        case "double" | "decimal":
            return [top - type(top)(i) / 8 for i in range(1, 8)]
        case "date" | "timestamp":
            return [top - dt.timedelta(days=i) for i in range(1, 8)]
        case "boolean":
            return [False]
        case _:
            return [] if column.values else [f"n{i}" for i in range(7)]


def _stored(column: Column, value: Any) -> Any:
    """A catalog's value as a driver takes it."""
    if column.type == "double":
        return float(value)
    if column.type == "decimal":
        exact = Fraction(value)
        return Decimal(exact.numerator) / Decimal(exact.denominator)
    return value
