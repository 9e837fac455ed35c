"""Tables written out in the question itself: VALUES, range, generate_series and unnest of a list of constants.

Flow: `from_clause` asks for them. Their rows follow from the question's text alone, so they are public tables of known
rows: they join with people's rows as the catalog's public tables do, and their values list groups.
Proof: docs/proofs/plan/written-tables.md
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from dither.plan import nodes, phases
from dither.plan.separable import Relation
from dither.sql import embedded
from dither.sql.bind import Binder, display_name
from dither.sql.expressions import Payload, make_column
from dither.sql.names import NamedColumn, Scope
from dither.sql.parse import Tree
from dither.sql.types import INT64, Kind, Type, days_of, microseconds_of

if TYPE_CHECKING:
    from dither.plan.lower import Lowering

__all__ = ["MOST_ROWS", "function_table", "values_table"]

MOST_ROWS = 10_000
FUNCTIONS = ("range", "generate_series", "unnest")


def values_table(lowering: Lowering, tree: Tree) -> Relation:
    """VALUES (1, 'a'), (2, 'b'): columns col0, col1."""
    rows = tree.take("values") or []
    for row in rows:
        for value in row:
            _check_constant(lowering, Tree(value, tree.text))
    for field in ("expected_names", "expected_types"):
        tree.take(field)
    node = copy.deepcopy(tree.data)
    tree.done()
    if len(rows) > MOST_ROWS:
        raise _too_long(tree)
    return _relation(lowering, tree, node, [f"col{number}" for number in range(len(rows[0]))])


def function_table(lowering: Lowering, tree: Tree, alias: str) -> Relation:
    """range(3), generate_series(DATE '2024-01-01', ...), unnest([1, 2]): one column, called as the table is."""
    function = tree.need_child("function")
    name = str(function.data.get("function_name")).lower()
    if name not in FUNCTIONS:
        raise tree.refuse(
            "P-123",
            f"The table function {display_name(name)} is not supported in FROM.",
            hint="Name a table of the catalog; range, generate_series and unnest of constants are known too.",
        )
    function.take("function_name")
    for argument in function.arguments():
        _check_constant(lowering, argument, lists=name == "unnest")
    function.done()
    node = copy.deepcopy(tree.data)
    node["column_name_alias"] = []
    tree.done()
    return _relation(lowering, tree, node, [alias or name])


def _check_constant(lowering: Lowering, tree: Tree, *, lists: bool = False) -> None:
    """Only what may stand over people's rows may stand here, and no column may."""
    if lists and tree.kind == "FUNCTION" and tree.data.get("function_name") == "list_value":
        tree.take("function_name")
        for part in tree.arguments():
            _check_constant(lowering, part)
        tree.done()
        return
    if tree.kind == "FUNCTION" and str(tree.data.get("function_name")).startswith("to_"):
        # INTERVAL 1 MONTH as the step of a series.
        tree.take("function_name")
        for part in tree.arguments():
            Binder(Scope(()), now=lowering.now).bind(part)
        tree.done()
        return
    Binder(Scope(()), now=lowering.now).bind(tree)


def _relation(lowering: Lowering, tree: Tree, node: dict[str, Any], names: Sequence[str]) -> Relation:
    shell = copy.deepcopy(embedded.parse_json("SELECT * FROM x"))
    shell["statements"][0]["node"]["from_table"] = {**node, "alias": "written"}
    printed = embedded.print_tree(shell).rstrip(";")
    try:
        found, sql_types = embedded.run(f"SELECT * FROM ({printed}) LIMIT {MOST_ROWS + 1}", {}, exact=True)
    except duckdb.Error:
        raise tree.refuse("P-131", "The rows written here cannot be read as a table.") from None
    types = [phases.type_of(sql_type) for sql_type in sql_types]
    columns = [_plain(column) for column in found.values()]
    if any(type is None for type in types) or len(names) != len(columns):
        raise tree.refuse(
            "P-131",
            "The rows written here cannot be read as a table.",
            hint="Write constants of one type in each column: numbers, texts, dates.",
        )
    if columns and len(columns[0]) > MOST_ROWS:
        raise _too_long(tree)
    if any(isinstance(v, Decimal) or (type(v) is int and not INT64[0] <= v <= INT64[1]) for c in columns for v in c):
        raise tree.refuse(
            "P-131",
            "A number written here has more digits than are told apart: at most 15, or whole numbers of 64 bits.",
            hint="Write fewer digits, or texts.",
        )
    known = [type for type in types if type is not None]
    rows = tuple(zip(*([phases.clean(v, t) for v in c] for c, t in zip(columns, known, strict=True)), strict=True))
    return _of_rows(lowering, names, known, rows)


def _of_rows(
    lowering: Lowering, names: Sequence[str], types: Sequence[Type], rows: tuple[tuple[Payload, ...], ...]
) -> Relation:
    number = lowering.ids.scan()
    columns = tuple(nodes.ScanColumn(f"s{number}_{i}", name) for i, name in enumerate(names))
    node = nodes.Given("written", columns, tuple(types), rows)
    written = {column.id: tuple(row[i] for row in rows) for i, column in enumerate(columns)}
    named = tuple(
        NamedColumn("", column.name, _column(column.id, type, written[column.id]))
        for column, type in zip(columns, types, strict=True)
    )
    return Relation(node, named, protected=False, written=written)


def _column(identifier: str, type: Type, values: tuple[Any, ...]) -> Any:
    present = [value for value in values if value is not None]
    lo = hi = None
    if type.has_range:
        units = [_units(value, type) for value in present] or [0]
        lo, hi = min(units), max(units)
        if type.kind is Kind.DOUBLE:
            lo, hi = float(lo), float(hi)
    length = max((len(value) for value in present), default=0) if type.kind is Kind.TEXT else 0
    return make_column(identifier, type, nullable=len(present) < len(values), lo=lo, hi=hi, length=length)


def _units(value: Any, type: Type) -> Any:
    if type.kind is Kind.DATE:
        return days_of(value)
    return microseconds_of(value) if type.kind is Kind.TIMESTAMP else value


def _plain(column: Any) -> list[Any]:
    values: Any = np.ma.asarray(column)
    if values.dtype.kind == "M":
        values = values.astype("datetime64[us]")
    return list(values.tolist())


def _too_long(tree: Tree) -> Any:
    return tree.refuse("P-131", f"A table written in a question has at most {MOST_ROWS:,} rows.")
