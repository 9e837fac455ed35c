"""Invented people: rows made from the catalog alone, for trying questions without touching the data or the budget.

Flow: `dither try` and `open_rehearsal`. Seeded by the catalog's own text, so everybody sees the same inventions.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from fractions import Fraction
from typing import Any

import numpy as np

from dither.catalog.model import Catalog, Column, ColumnUnit, ReferenceUnit, Table, fold
from dither.engines.duckdb import DuckDBEngine
from dither.engines.sources import Inventions
from dither.sql import embedded

__all__ = ["invented_engine", "invented_rows", "tables_named"]

UNITS = 200
ROWS_EACH = 3


def invented_engine(catalog: Catalog) -> DuckDBEngine:
    """An engine over invented rows of every table of the catalog."""
    return DuckDBEngine(catalog, Inventions(invented_rows(catalog)), kept_path=None)


def invented_rows(catalog: Catalog) -> dict[str, list[dict[str, Any]]]:
    """Folded table name -> its invented rows, the same at every call. They may be shown to anyone."""
    seed = int.from_bytes(hashlib.sha256(repr(sorted(catalog.tables)).encode()).digest()[:8], "big")
    generator = np.random.default_rng(seed)
    return {key: _rows(table, generator) for key, table in catalog.tables.items()}


def tables_named(catalog: Catalog, question: str) -> list[str]:
    """Folded names of the catalog's tables that a question reads, in the order of the catalog."""
    named = set()
    stack: list[object] = [embedded.parse_json(question)]
    while stack:
        found = stack.pop()
        if isinstance(found, dict):
            named.add(fold(str(found.get("table_name", ""))))
            stack += found.values()
        elif isinstance(found, list):
            stack += found
    return [key for key in catalog.tables if key in named]


def _rows(table: Table, generator: np.random.Generator) -> list[dict[str, Any]]:
    each = 1 if table.is_public else min(ROWS_EACH, table.max_rows_per_unit or ROWS_EACH)
    unit = _unit_column(table)
    rows = []
    for number in range(1, (20 if table.is_public else UNITS) + 1):
        for _ in range(int(generator.integers(1, each + 1))):
            row = {column.name: _value(column, number, generator) for column in table.columns.values()}
            if unit is not None:
                row = {**{name: value for name, value in row.items() if fold(name) != fold(unit)}, unit: number}
            rows.append(row)
    return rows


def _unit_column(table: Table) -> str | None:
    match table.unit:
        case ColumnUnit(column) | ReferenceUnit(column, _, _, _):
            declared = table.column(column)
            return declared.name if declared is not None else column
        case _:
            return None


def _value(column: Column, number: int, generator: np.random.Generator) -> Any:
    if column.values:
        return _plain(column.values[int(generator.integers(0, len(column.values)))])
    ends: Any = column.bounds
    match column.type:
        case "integer":
            lo, hi = ends or (0, 100)
            return int(generator.integers(int(lo), int(hi) + 1))
        case "double" | "decimal":
            lo, hi = ends or (0, 100)
            return round(float(generator.uniform(float(lo), float(hi))), 2)
        case "boolean":
            return bool(generator.integers(0, 2))
        case "date" | "timestamp":
            first, last = ends or (dt.date(2020, 1, 1), dt.date(2024, 12, 31))
            return first + dt.timedelta(days=int(generator.integers(0, (last - first).days + 1)))
        case _:
            return f"{column.name} {number % 10}"


def _plain(value: object) -> Any:
    return float(value) if isinstance(value, Fraction) else value
