"""Compare a catalog with the database it speaks of, by names and types only.

Flow: `dither check` shows the report; sessions call `ready` before the first question. Reads no row: what it says may
be shown to anyone who may read the catalog and the schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dither.catalog.model import (
    Catalog,
    Column,
    ColumnUnit,
    ReferenceUnit,
    RowUnit,
    Table,
    fold,
)
from dither.catalog.reading import did_you_mean
from dither.catalog.schema import SchemaColumn, SchemaTable, column_type, comparable, decimal_scale
from dither.errors import CatalogError

__all__ = ["CheckReport", "Problem", "check", "ready"]

Severity = Literal["error", "warning", "note"]

HIGH_DELTA = Fraction(1, 10**5)
HIGH_EPSILON = Fraction(10)


@dataclass(frozen=True)
class Problem:
    """One finding. An error stops questions; a warning weakens the promise; a note is worth knowing."""

    severity: Severity
    place: str
    """The key in the catalog: tables.visits.columns.age."""
    message: str
    way_forward: str = ""

    def __str__(self) -> str:
        tail = f"\n  {self.way_forward}" if self.way_forward else ""
        return f"{self.severity}: `{self.place}`: {self.message}{tail}"


@dataclass(frozen=True)
class CheckReport:
    problems: tuple[Problem, ...]
    """Errors first, then warnings, then notes; within each, in the order of the catalog."""

    @property
    def ok(self) -> bool:
        """True when no problem is an error."""
        return not self.errors

    @property
    def errors(self) -> tuple[Problem, ...]:
        return self.of("error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return self.of("warning")

    @property
    def notes(self) -> tuple[Problem, ...]:
        return self.of("note")

    def of(self, severity: Severity) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == severity)

    def __str__(self) -> str:
        counts = f"{len(self.errors)} errors, {len(self.warnings)} warnings, {len(self.notes)} notes"
        return "\n".join([*(str(problem) for problem in self.problems), counts])


def check(catalog: Catalog, schema: Sequence[SchemaTable]) -> CheckReport:
    """What stands between this catalog and this schema, and what of the catalog weakens its promise."""
    found = _Found(catalog, schema)
    problems = [*_budget(catalog)]
    for table in catalog.tables.values():
        problems += _table(table, found)
    problems += _unseen_tables(found)
    order: list[Severity] = ["error", "warning", "note"]
    return CheckReport(tuple(sorted(problems, key=lambda problem: order.index(problem.severity))))


def ready(catalog: Catalog) -> None:
    """Raise CatalogError while any bounds come from the data and the owner has not confirmed them."""
    looked = [
        f"tables.{table.name}.columns.{column.name}"
        for table in catalog.tables.values()
        for column in table.columns.values()
        if column.looked
    ]
    if looked:
        shown = ", ".join(f"`{place}`" for place in looked[:10]) + (", ..." if len(looked) > 10 else "")
        raise CatalogError(
            f"expected bounds that the owner has confirmed; found `looked = true` on {shown}.",
            file=None if catalog.path is None else str(catalog.path),
            key=f"{looked[0]}.looked",
            code="C-171",
            hint="Bounds read off the data reveal the data: set them from what you know, then delete `looked`.",
        )


@dataclass(frozen=True)
class _Found:
    """The schema, looked up by the catalog's names."""

    catalog: Catalog
    schema: Sequence[SchemaTable]

    def table(self, table: Table) -> SchemaTable | None:
        wanted = {fold(table.source_name or table.name), fold(table.name)}
        return next((one for one in self.schema if fold(one.name) in wanted), None)

    def column(self, table: Table | None, name: str) -> SchemaColumn | None:
        seen = None if table is None else self.table(table)
        return None if seen is None else seen.column(name)


def _budget(catalog: Catalog) -> Iterator[Problem]:
    budget = catalog.budget
    if budget.delta > HIGH_DELTA:
        message = f"{float(budget.delta):g} is above 1e-05: each unit may be exposed outright with that probability"
        yield Problem("warning", "budget.delta", message, "Advised: at most 1/n² for n units, such as 1e-9.")
    if budget.epsilon is not None and budget.epsilon > HIGH_EPSILON:
        message = f"{float(budget.epsilon):g} is above 10: the promise on paper says little at that size"
        yield Problem("warning", "budget.epsilon", message, "Most published data sets stay below 10.")
    for analyst in catalog.analysts.values():
        pairs = ((analyst.epsilon, budget.epsilon), (analyst.rho, budget.rho))
        if any(own is not None and total is not None and own > total for own, total in pairs):
            message = "the allowance is above the whole budget, so the budget ends first"
            yield Problem("warning", f"analysts.{analyst.name}", message)
    unlisted = [column for table in catalog.protected for column in table.columns.values() if _is_private_group(column)]
    if budget.delta == 0 and unlisted:
        shown = ", ".join(f"`{column.name}`" for column in unlisted[:5]) + (", ..." if len(unlisted) > 5 else "")
        message = f"without delta no question can group by {shown}: text without listed values makes private groups"
        yield Problem(
            "note", "budget.delta", message, "List `values` on these columns, or declare delta, such as 1e-9."
        )


def _is_private_group(column: Column) -> bool:
    return column.type == "text" and column.values is None


def _table(table: Table, found: _Found) -> Iterator[Problem]:
    place = f"tables.{table.name}"
    seen = found.table(table)
    if seen is None:
        name = table.source_name or table.name
        hint = did_you_mean(name, (one.name for one in found.schema)) or "Correct the name, or set `source`."
        yield Problem("error", place, f"the source has no table `{name}`", hint)
        return
    for column in table.columns.values():
        yield from _column(f"{place}.columns.{column.name}", column, seen)
    yield from _unit(place, table, seen, found)
    yield from _unseen_columns(place, table, seen)
    if table.is_public or isinstance(table.unit, RowUnit):
        return
    own = found.column(table, table.unit.column) if table.unit else None
    if table.max_rows_per_unit is None and not (own and own.unique and isinstance(table.unit, ColumnUnit)):
        message = "no `max_rows_per_unit`: the first question spends up to 18.75 % of its offer to choose one"
        yield Problem("note", place, message, f"Run `dither tune {table.name}` once, or declare it.")


def _column(place: str, column: Column, table: SchemaTable) -> Iterator[Problem]:
    seen = table.column(column.name)
    if seen is None:
        close = did_you_mean(column.name, (one.name for one in table.columns))
        hint = table.hint_for(column.name) or close or "Remove it, or correct the name."
        yield Problem("error", place, f"the source's table `{table.name}` has no column `{column.name}`", hint)
        return
    if sum(fold(one.name) == fold(column.name) for one in table.columns) > 1 and seen.name != column.name:
        message = "the source has several columns that differ from this name in upper and lower case only"
        yield Problem("error", place, message, "Write the name exactly as the source does.")
    if table.typed:
        yield from _type(place, column, seen)
    if column.looked:
        message = "the bounds come from looking at the data; questions are refused"
        yield Problem("error", f"{place}.looked", message, "Confirm them from what you know, then delete `looked`.")
    if column.type in ("integer", "double", "decimal") and column.bounds is None and column.values is None:
        message = "no bounds: sums and averages spend a quarter of their share to choose them"
        yield Problem("note", place, message, "Declare `bounds = [low, high]` from what you know.")


def _type(place: str, column: Column, seen: SchemaColumn) -> Iterator[Problem]:
    kind, shown = column_type(seen.engine_type), seen.engine_type[:80]
    if kind is None:
        message = f"declared {column.type}, but the source's type is {shown}, which questions cannot see"
        way = "Remove the column, or give the source a view that reads it by TRY_CAST."
        yield Problem("error", f"{place}.type", message, way)
    elif kind != column.type:
        message = f"declared {column.type}, but the source's type is now {shown}, which is read as {kind}"
        yield Problem("error", f"{place}.type", message, f'Write type = "{kind}" and review bounds and values.')
    elif kind == "decimal":
        yield from _scale(place, column, decimal_scale(seen.engine_type), shown)


def _scale(place: str, column: Column, scale: int | None, shown: str) -> Iterator[Problem]:
    if scale is None:
        return
    if column.scale not in (None, scale):
        message = f"declared scale {column.scale}, but the source's type is now {shown}"
        yield Problem("error", f"{place}.scale", message, f"Write scale = {scale}.")
    # The engine would round such a bound, outwards too: the clamp would then be wider than priced.
    finer = [b for b in column.bounds or () if isinstance(b, Fraction) and (b * 10**scale).denominator != 1]
    if finer:
        message = f"the source's type is {shown}; a bound has more than {scale} digits after the point"
        yield Problem("error", f"{place}.bounds", message, "Round the bounds to the digits of the type.")


def _unit(place: str, table: Table, seen: SchemaTable, found: _Found) -> Iterator[Problem]:
    match table.unit:
        case None:
            return
        case RowUnit():
            if any(not isinstance(other.unit, (RowUnit, type(None))) for other in found.catalog.protected):
                message = f"each row is its own unit here, while other tables protect a {found.catalog.unit_name}"
                hint = "One with several rows here is protected row by row only; name a unit column if there is one."
                yield Problem("warning", f"{place}.privacy_unit", message, hint)
        case ColumnUnit(column) | ReferenceUnit(column):
            held = seen.column(column)
            if held is None:
                close = did_you_mean(column, (one.name for one in seen.columns))
                hint = seen.hint_for(column) or close or "Name the column of the unit."
                message = f"the source's table `{seen.name}` has no column `{column}`"
                yield Problem("error", f"{place}.privacy_unit", message, hint)
            elif isinstance(table.unit, ReferenceUnit):
                yield from _reference(f"{place}.privacy_unit", table.unit, held, seen.typed, found)
            else:
                yield from _same_identifier(f"{place}.privacy_unit", table, held, found)


def _reference(place: str, unit: ReferenceUnit, held: SchemaColumn, typed: bool, found: _Found) -> Iterator[Problem]:
    target = found.catalog.table(unit.table)
    key = found.column(target, unit.key)
    shown = f"`{unit.table}.{unit.key}`"
    if key is None:
        yield Problem("error", place, f"the source has no {shown}", 'Name the key: references = "table.key".')
        return
    if typed and not comparable(key.engine_type, held.engine_type):
        message = f"`{held.name}` is {held.engine_type[:40]} and {shown} is {key.engine_type[:40]}: they cannot match"
        if column_type(key.engine_type) == column_type(held.engine_type):
            message = f"{message} exactly"
        yield Problem(
            "error",
            place,
            message,
            "Reference a key of the same type, or give the source a view that casts one by TRY_CAST.",
        )
    if not key.unique and not unit.asserted:
        message = f"the source does not enforce that {shown} is unique, so a row could belong to two units"
        hint = 'Add a primary key or unique index, or assert it: unique = "asserted" (receipts will say so).'
        yield Problem("error", place, message, hint)
    elif not key.unique:
        message = f"you assert that {shown} is unique; the source does not enforce it, and receipts say so"
        yield Problem("note", place, message)


def _same_identifier(place: str, table: Table, held: SchemaColumn, found: _Found) -> Iterator[Problem]:
    """All tables' units are one identifier: its type must be one too, or rows of one unit would never meet."""
    for other in found.catalog.protected:
        if other is table:
            return
        column = found.column(other, other.unit.column) if isinstance(other.unit, ColumnUnit) else None
        if column is None or comparable(column.engine_type, held.engine_type):
            continue
        message = f"`{held.name}` is {held.engine_type[:40]}, of another type than the unit column of `{other.name}`"
        if column_type(column.engine_type) == column_type(held.engine_type):
            message = f"{message} ({column.engine_type[:40]}), and the two cannot match exactly"
        hint = f"All units are one identifier: use a column that holds the same values as that of `{other.name}`."
        yield Problem("error", place, message, hint)
        return


def _unseen_columns(place: str, table: Table, seen: SchemaTable) -> Iterator[Problem]:
    if table.is_public and not table.columns:
        return
    own = {fold(table.unit.column)} if isinstance(table.unit, (ColumnUnit, ReferenceUnit)) else set()
    unseen = [one.name for one in seen.columns if fold(one.name) not in {*table.columns, *own}]
    if unseen:
        message = f"not named, so not visible: {_some(unseen)}"
        yield Problem("note", f"{place}.columns", message)


def _unseen_tables(found: _Found) -> Iterator[Problem]:
    named = [found.table(table) for table in found.catalog.tables.values()]
    unseen = [one.name for one in found.schema if one not in named]
    if unseen:
        yield Problem("note", "tables", f"not named, so not visible: {_some(unseen)}")


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name[:60]}`" for name in names[:8])
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown
