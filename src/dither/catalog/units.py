"""Read whose rows a table holds: `privacy_unit`, and the paths by which a table's rows reach their unit.

Flow: per table a declared rule, then `resolve_unit` over all of them; UnitRule out. Every path ends at a table that
holds the unit's identifier itself: a circle, a step into a public table, or into rows that are their own units would
leave rows that belong to nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dither.catalog.model import ColumnUnit, ReferenceUnit, RowUnit, UnitRule, fold
from dither.catalog.reading import Unfit, at, choice, did_you_mean, flag, only, text

__all__ = ["Declared", "Reference", "read_unit", "resolve_unit"]

_CODE = "C-140"
_WAYS = 'Write privacy_unit = "patient_id" (a column), privacy_unit = "row", or public = true.'


@dataclass(frozen=True)
class Reference:
    """A step as written: `references` is "table" or "table.key", not yet looked up."""

    column: str
    references: str
    asserted: bool


Rule = RowUnit | ColumnUnit | Reference | None


@dataclass(frozen=True)
class Declared:
    """What a table says of its unit, before paths are looked up. `rule` is None for a public table."""

    table: str
    rule: Rule
    columns: frozenset[str]
    """Folded names of its visible columns."""


def read_unit(entry: Mapping[str, object]) -> Rule:
    """The rule a table declares by `privacy_unit` or `public = true`: exactly one of the two."""
    public = flag(entry, "public")
    if "privacy_unit" not in entry:
        if not public:
            raise Unfit("a privacy unit, or `public = true`", key=("privacy_unit",), code=_CODE, hint=_WAYS)
        return None
    if public:
        found = "`privacy_unit` and `public = true`"
        hint = "A public table protects nobody: keep the one that is meant."
        raise Unfit("one of the two", key=("public",), found=found, code=_CODE, hint=hint)
    with at("privacy_unit"):
        return _rule(entry["privacy_unit"])


def resolve_unit(declared: Declared, tables: Mapping[str, Declared]) -> UnitRule | None:
    """The rule with its reference looked up among `tables` (keyed by folded name), the whole path checked."""
    if not isinstance(declared.rule, Reference):
        return declared.rule
    with at("privacy_unit", "references"):
        return _look_up(declared, declared.rule, tables)


def _rule(value: object) -> Rule:
    match value:
        case "row":
            return RowUnit()
        case str() if value.strip():
            return ColumnUnit(value)
        case Mapping():
            return _written(value)
        case _:
            raise Unfit('a column, "row", or { column = ..., references = ... }', value, code=_CODE, hint=_WAYS)


def _written(value: Mapping[str, object]) -> Rule:
    only(value, ("column", "references", "unique"))
    column, references = text(value, "column"), text(value, "references")
    unique = choice(value, "unique", ("asserted",))
    if column is None:
        raise Unfit("the column that leads to the unit", key=("column",), code=_CODE)
    if references is not None:
        return Reference(column, references, asserted=unique is not None)
    if unique is not None:
        hint = "It says that the key a reference points to is unique; without `references` there is no such key."
        raise Unfit("`references` beside `unique`", key=("unique",), found="none", code=_CODE, hint=hint)
    return ColumnUnit(column)


def _look_up(declared: Declared, rule: Reference, tables: Mapping[str, Declared]) -> ReferenceUnit:
    target, key = _target(rule, tables)
    if target is None or key == "":
        hint = did_you_mean(rule.references.partition(".")[0], (table.table for table in tables.values()))
        raise Unfit('a table of this catalog, or "table.key"', rule.references, code=_CODE, hint=hint)
    _follow(declared, tables)
    return ReferenceUnit(rule.column, target.table, key or _default_key(rule, target), rule.asserted)


def _target(rule: Reference, tables: Mapping[str, Declared]) -> tuple[Declared | None, str | None]:
    """The table a reference names, and the key when it names one."""
    whole = tables.get(fold(rule.references))
    if whole is not None:
        return whole, None
    name, dot, key = rule.references.rpartition(".")
    return tables.get(fold(name)), key if dot else None


def _follow(start: Declared, tables: Mapping[str, Declared]) -> None:
    """Walk from table to table until the unit's own column."""
    path, table = [start.table], start
    while isinstance(table.rule, Reference):
        target, _ = _target(table.rule, tables)
        if target is None:
            return  # That table's own entry is refused, where the mistake stands.
        path.append(target.table)
        if target.table in path[:-1]:
            found = f"the circle {' -> '.join(path)}"
            raise Unfit("a path that ends at a table with a unit column", found=found, code=_CODE)
        table = target
    if not isinstance(table.rule, ColumnUnit):
        what = "public" if table.rule is None else 'its own unit per row (privacy_unit = "row")'
        found = f"`{table.table}`, which is {what}"
        hint = "Point it at the table that has one row per unit, or name a unit column in this table."
        raise Unfit("a path that ends at a table with a unit column", found=found, code=_CODE, hint=hint)


def _default_key(rule: Reference, target: Declared) -> str:
    """The column of the same name in the target, else the target's own unit column."""
    own = target.rule.column if isinstance(target.rule, (ColumnUnit, Reference)) else None
    if fold(rule.column) in target.columns or own is None or fold(rule.column) == fold(own):
        return rule.column
    if isinstance(target.rule, ColumnUnit):
        return own
    # The target's own column leads further on and is hardly its key: guessing here would give rows to strangers.
    expected = f'the key to match, as in "{target.table}.{rule.column}"'
    hint = f"`{target.table}` declares no column `{rule.column}`, and its own unit lies in yet another table."
    raise Unfit(expected, rule.references, code=_CODE, hint=hint)
