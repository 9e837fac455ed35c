"""What a catalog says so far, finished or not: enough to choose its budget.

Flow: `dither choose` reads a draft with it, whose TODOs `load` refuses. Nothing is checked here but what is to change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dither.catalog.load import TODO, parse, read_file
from dither.catalog.locations import resolve_place
from dither.catalog.reading import Unfit, at
from dither.catalog.terms import read_analysts, read_budget
from dither.errors import CatalogError, InvalidParameter

__all__ = ["Outline", "check_changed", "outline", "unit_literal"]

_MARK = "\ufeff"


@dataclass(frozen=True)
class Outline:
    path: Path
    raw: str
    """The file as it is; `text` is it without `mark`, a byte-order mark or nothing."""
    mark: str
    text: str
    dataset: str
    ledger: str
    """Where its ledger is or would be."""
    unit: str | None
    """None where it is not decided."""
    replace: bool
    max_rows: int | None
    """The most rows of one unit that count in any table, where all declare it."""

    @property
    def shown(self) -> str:
        return str(self.path)


def outline(path: Path) -> Outline:
    """Raises CatalogError where there is no such file, or it is not TOML."""
    raw = read_file(path)
    mark = _MARK if raw.startswith(_MARK) else ""
    text = raw.removeprefix(mark)
    values = parse(text, str(path))
    dataset, unit = _section(values, "dataset"), _section(values, "unit").get("name")
    return Outline(
        path,
        raw,
        mark,
        text,
        str(dataset.get("name", path.stem)),
        resolve_place(str(dataset.get("ledger", f"{path.stem}.ledger")), path),
        unit if isinstance(unit, str) and unit != TODO else None,
        dataset.get("neighbours") == "replace",
        _max_rows(_section(values, "tables")),
    )


def unit_literal(unit: str) -> str:
    """The word as TOML writes it. Raises InvalidParameter for what the catalog would refuse."""
    if not unit or len(unit) > 60 or not unit.isprintable() or unit == TODO:
        raise InvalidParameter("--unit", expected="a word of up to 60 characters", found=unit)
    return json.dumps(unit, ensure_ascii=False)


def check_changed(text: str, found: Outline) -> None:
    """Raises CatalogError when the budget does not go with what else the catalog says of it, such as allowances."""
    values = parse(text, found.shown)
    try:
        with at("budget"):
            budget = read_budget(_section(values, "budget"))
        with at("analysts"):
            read_analysts(_section(values, "analysts"), budget)
    except Unfit as unfit:
        key = ".".join(str(part) for part in unfit.key)
        message = f"with this budget, expected {unfit.expected}; found {unfit.found}. Nothing was written."
        raise CatalogError(message, file=found.shown, key=key, code=unfit.code, hint=unfit.hint) from None


def _section(values: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = values.get(name)
    return found if isinstance(found, Mapping) else {}


def _max_rows(tables: Mapping[str, object]) -> int | None:
    limits: list[int] = []
    for table in tables.values():
        if not isinstance(table, Mapping) or table.get("public") is True:
            continue
        limit = 1 if table.get("privacy_unit") == "row" else table.get("max_rows_per_unit")
        if not isinstance(limit, int):
            return None
        limits.append(limit)
    return max(limits, default=None)
