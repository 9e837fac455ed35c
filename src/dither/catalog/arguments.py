"""Build a catalog from the arguments of `dither.open(frame_or_file, privacy_unit=..., budget=...)`.

Flow: one table's schema and plain Python values in, Catalog out, by the same readers as a file. Every column of a
known type is visible; unit and budget have no default, because only the owner knows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from dither.catalog.domains import read_column
from dither.catalog.model import BudgetTerms, Catalog, Column, ColumnUnit, Neighbours, RowUnit, Table, UnitRule, fold
from dither.catalog.reading import Key, Unfit, at, choice, did_you_mean, whole
from dither.catalog.schema import SchemaTable, column_type, decimal_scale
from dither.catalog.sections import MOST_ROWS_PER_UNIT
from dither.catalog.terms import read_budget
from dither.errors import InvalidParameter
from dither.exact import Number, exact

__all__ = ["from_arguments"]

_BUDGET_HINT = "Decide it once for all questions together: budget=1.0, or budget={'epsilon': 1.0, 'delta': 1e-9}."


def from_arguments(
    schema: SchemaTable,
    *,
    privacy_unit: str | None,
    budget: Number | Mapping[str, object] | None,
    delta: Number | None = None,
    bounds: Mapping[str, Sequence[object]] | None = None,
    values: Mapping[str, Sequence[object]] | None = None,
    max_rows_per_unit: int | None = None,
    neighbours: Neighbours = "add_remove",
    source: str = "",
    ledger: str = "",
) -> Catalog:
    """The catalog of one table in which every column of a known type is visible.

    privacy_unit: a column of the schema, or "row".  budget: epsilon in nats, or the terms of a [budget] section.
    bounds, values: per column.  Raises InvalidParameter, naming the argument."""
    try:
        unit = _unit(schema, privacy_unit)
        terms = _budget(budget, delta)
        columns = _columns(schema, bounds or {}, values or {})
        limit = whole({"max_rows_per_unit": max_rows_per_unit}, "max_rows_per_unit", 1, MOST_ROWS_PER_UNIT)
        choice({"neighbours": neighbours}, "neighbours", get_args(Neighbours))
        if limit is not None and isinstance(unit, RowUnit):
            raise Unfit('None where each row is its own unit (privacy_unit="row")', limit, key=("max_rows_per_unit",))
    except Unfit as unfit:
        name = _argument(unfit.key)
        raise InvalidParameter(name, expected=unfit.expected, found=unfit.value, hint=unfit.hint) from None
    table = Table(schema.name, unit, columns, limit)
    return Catalog(
        name=schema.name,
        source=source,
        unit_name=_word(unit),
        budget=terms,
        tables={fold(schema.name): table},
        neighbours=neighbours,
        ledger=ledger,
    )


def _unit(schema: SchemaTable, privacy_unit: object) -> UnitRule:
    names = [column.name for column in schema.columns]
    with at("privacy_unit"):
        if privacy_unit == "row":
            return RowUnit()
        if not isinstance(privacy_unit, str):
            hint = f"Whom does the answer protect? Columns: {', '.join(names[:20])}."
            raise Unfit('the column that identifies a person, or "row"', privacy_unit, hint=hint)
        column = schema.column(privacy_unit)
        if column is None:
            raise Unfit(
                f'a column of {schema.name}, or "row"',
                privacy_unit,
                hint=schema.hint_for(privacy_unit) or did_you_mean(privacy_unit, names),
            )
    return ColumnUnit(column.name)


def _budget(budget: object, delta: Number | None) -> BudgetTerms:
    if budget is None or isinstance(budget, bool) or not isinstance(budget, (Mapping, Number)):
        raise Unfit("an epsilon, or a dict of budget terms", budget, key=("budget",), hint=_BUDGET_HINT)
    terms: dict[str, object] = dict(budget) if isinstance(budget, Mapping) else {"epsilon": budget}
    if delta is not None:
        if "delta" in terms:
            raise Unfit("given once, here or in the budget", delta, key=("delta",))
        terms["delta"] = delta
    unnamed = next((key for key in terms if not isinstance(key, str)), None)
    if unnamed is not None:
        raise Unfit("a dict keyed by the names of budget terms", unnamed, key=("budget",), hint=_BUDGET_HINT)
    with at("budget"):
        return read_budget({key: _spelled(value) for key, value in terms.items()})


def _spelled(value: object) -> object:
    """A number given as text ('1/3', '1e-9') as its rational; anything else is left to the reader."""
    try:
        return exact(value) if isinstance(value, str) else value
    except InvalidParameter:
        return value


def _columns(
    schema: SchemaTable, bounds: Mapping[str, Sequence[object]], values: Mapping[str, Sequence[object]]
) -> dict[str, Column]:
    declared = {"bounds": _by_column(schema, "bounds", bounds), "values": _by_column(schema, "values", values)}
    columns: dict[str, Column] = {}
    for column in schema.columns:
        kind = column_type(column.engine_type)
        given = {name: pairs[fold(column.name)] for name, pairs in declared.items() if fold(column.name) in pairs}
        if kind is None or fold(column.name) in columns:
            if given:
                key, found = (next(iter(given)), column.name), column.engine_type
                raise Unfit("for a column of a type that questions can see", found, key=key)
            continue
        entry: dict[str, object] = {"type": kind, **given}
        scale = decimal_scale(column.engine_type) if kind == "decimal" else None
        try:
            columns[fold(column.name)] = read_column(column.name, entry if scale is None else {**entry, "scale": scale})
        except Unfit as unfit:
            unfit.key = (str(unfit.key[0]), column.name, *unfit.key[1:])
            raise
    return columns


def _by_column(schema: SchemaTable, argument: str, given: object) -> dict[str, object]:
    if not isinstance(given, Mapping):
        raise Unfit("a dict by column, such as {'age': (0, 110)}", given, key=(argument,))
    names = [column.name for column in schema.columns]
    for name in given:
        if not isinstance(name, str) or schema.column(name) is None:
            hint = schema.hint_for(str(name)) or did_you_mean(str(name), names)
            raise Unfit(f"keyed by columns of {schema.name}", name, key=(argument,), hint=hint)
    return {fold(name): list(value) if isinstance(value, Sequence) else value for name, value in given.items()}


def _argument(key: Key) -> str:
    """bounds['age'][1]; what stands in the budget keeps its own name."""
    parts = key[1:] if key[0] == "budget" and len(key) > 1 else key
    return str(parts[0]) + "".join(f"[{part!r}]" for part in parts[1:])


def _word(unit: UnitRule) -> str:
    """What messages call the unit: patient for patient_id."""
    if not isinstance(unit, ColumnUnit):
        return "row"
    words = fold(unit.column).replace("_", " ").strip()
    return words.removesuffix(" id").strip() or "unit"
