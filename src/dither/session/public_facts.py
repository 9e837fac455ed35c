"""What the owner declares as publicly known, used where accuracy is foreseen: how many rows a table, or each listed
group, has. Never compared with the data, and never part of an answer.

Flow: `session.expected` asks how many rows a mean will rest on. A question that filters, joins or computes rows has as
many as the data say, which is private: nothing is foreseen of it. Reads plan and catalog alone.
"""

from __future__ import annotations

from dither.catalog.model import Catalog, Column, fold
from dither.plan import nodes
from dither.sql.expressions import Expr

__all__ = ["declared_rows", "fact_sentence"]


def declared_rows(measure: nodes.Measure, catalog: Catalog) -> int | None:
    """Rows of the measure's smallest group, as declared; None where it is not, or where not every row is read."""
    scan = _whole_table(measure.input)
    if scan is None:
        return None
    table = catalog.tables[scan.table]
    if not measure.keys:
        return table.rows
    if len(measure.keys) > 1:
        return None
    column = _column_of(measure.keys[0].expr, measure.input)
    listed = None if column is None else table.rows_per_value.get(fold(column.name))
    return None if listed is None else min(listed)


def fact_sentence(measure: nodes.Measure, catalog: Catalog) -> str:
    """What an expectation of this measure rests on."""
    scan = _whole_table(measure.input)
    assert scan is not None
    table = catalog.tables[scan.table]
    if not measure.keys:
        what = f"{table.name} has {table.rows:,} rows"
    else:
        column = _column_of(measure.keys[0].expr, measure.input)
        assert column is not None
        counts = table.rows_per_value[fold(column.name)]
        what = f"the groups of {table.name}.{column.name} have {min(counts):,} rows and more"
    return f"Declared as public, and never checked: {what}. The ± of means is what they give if all of them count."


def _whole_table(node: nodes.Rows) -> nodes.Scan | None:
    """The scan whose every row is one row of this node."""
    while isinstance(node, nodes.Project):
        node = node.input
    return node if isinstance(node, nodes.Scan) else None


def _column_of(expr: Expr, node: nodes.Rows) -> Column | None:
    """The column an expression is, as the catalog declares it."""
    while expr.is_column and isinstance(node, nodes.Project):
        inner = next((output.expr for output in node.outputs if output.id == expr.payload), None)
        if inner is None:
            return None
        expr, node = inner, node.input
    if expr.op != "read":
        return None
    assert isinstance(expr.payload, tuple)
    column = expr.payload[0]
    return column if isinstance(column, Column) else None
