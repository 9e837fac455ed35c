"""Public tables in the finish: their rows, written out beside the noisy tables they are joined with.

Flow: `from_clause` asks for one where a FROM joins aggregated tables with public ones only, as in a table of labels.
Nothing here is private; the finish stays a function of released values and public facts.
Proof: docs/proofs/plan/finish.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.plan import finish
from dither.plan.rewriting import FinishTree
from dither.plan.separable import Relation
from dither.sql import embedded
from dither.sql.names import NamedColumn
from dither.sql.parse import Tree
from dither.sql.printing import quote_name, quote_text, sql_type
from dither.sql.types import Type

if TYPE_CHECKING:
    from dither.plan.from_clause import Source
    from dither.plan.lower import Lowering

__all__ = ["MOST_ROWS", "as_noisy", "as_select"]

MOST_ROWS = 2_000
"""Rows of a public table that are written into a finish."""


def as_noisy(lowering: Lowering, source: Source, tree: Tree) -> finish.NoisySource:
    """The source, with its public tables as the finish reads them."""
    if isinstance(source, finish.NoisySource):
        return source
    found = [_written(lowering, relation, tree) for relation in source]
    whole = found[0]
    for other in found[1:]:
        whole = finish.cross_noisy(whole, other)
    return whole


def as_select(lowering: Lowering, relation: Relation, tree: Tree) -> FinishTree:
    """Public rows as a SELECT of the finish, to be combined with aggregated ones."""
    body, columns, _ = _rows_sql(lowering, relation, tree)
    node = embedded.parse_json(body)["statements"][0]["node"]
    return FinishTree(node, tuple(c.name for c in columns), ("derived",) * len(columns), frozenset())


def _written(lowering: Lowering, relation: Relation, tree: Tree) -> finish.NoisySource:
    body, columns, different = _rows_sql(lowering, relation, tree)
    return finish.public_table(body, columns[0].qualifier, [column.name for column in columns], different=different)


def _rows_sql(lowering: Lowering, relation: Relation, tree: Tree) -> tuple[str, list[NamedColumn], bool]:
    """A SELECT that gives the rows, its columns, and whether no two rows are alike."""
    count = lowering.facts.count(relation.node)
    if count > MOST_ROWS:
        raise tree.refuse(
            "S-117",
            f"A public table of {count:,} rows is too large beside an aggregated one; at most {MOST_ROWS:,}.",
            hint="Join it below the aggregate, with people's rows.",
        )
    columns = [column for column in relation.columns if not column.hidden]
    rows = lowering.facts.rows(relation.node, tuple(column.expr for column in columns))
    names = ", ".join(quote_name(column.name) for column in columns)
    types = [column.expr.type for column in columns]
    if rows:
        listed = ", ".join(f"({', '.join(map(_text, row, types))})" for row in rows)
        body = f"SELECT {names} FROM (VALUES {listed}) AS v({names})"
    else:
        nulls = ", ".join(f"CAST(NULL AS {sql_type(type)})" for type in types)
        body = f"SELECT {names} FROM (VALUES ({nulls})) AS v({names}) WHERE FALSE"
    return body, columns, len(set(rows)) == len(rows)


def _text(value: object, type: Type) -> str:
    """A value of a public table as SQL of its type."""
    if value is None:
        return f"CAST(NULL AS {sql_type(type)})"
    return f"CAST({quote_text(str(value))} AS {sql_type(type)})"
