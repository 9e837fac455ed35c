"""What every row of a relation has met: the conditions it passed, and the public tables it looked into.

Flow: `listing` shortens a list of groups by it. Reads the plan alone.
Proof: docs/proofs/plan/keys.md
"""

from __future__ import annotations

import itertools

from dither.plan import nodes
from dither.plan.separable import Relation
from dither.sql.expressions import Expr, conjuncts

__all__ = ["filters_of", "left_joins_of", "tables_of"]


def tables_of(relation: Relation) -> dict[str, str]:
    """Column id of a public table, or of one written in the question -> that table, by the id of its first column."""
    found: dict[str, str] = {}
    for node in nodes.walk_rows(relation.node):
        if isinstance(node, nodes.PublicScan | nodes.Given):
            ids = [column.id for column in node.columns]
            known = [i for i in ids if i in (relation.written if isinstance(node, nodes.Given) else relation.sources)]
            found |= dict.fromkeys(known, ids[0]) if known else {}
    return found


def filters_of(node: nodes.Rows) -> list[Expr]:
    """Conditions that every row of the node has passed: those above any side an outer join could fill with NULLs."""
    match node:
        case nodes.Filter(input, condition):
            return [*conjuncts(condition), *filters_of(input)]
        case nodes.Project(input) | nodes.UnitAggregate(input) | nodes.UnitWindow(input) | nodes.Distinct(input):
            return filters_of(input)
        case nodes.SemiJoin(left):
            return filters_of(left)
        case nodes.Join(_, _, kind, condition):
            own = conjuncts(condition) if kind == "inner" else ()
            return [*own, *itertools.chain.from_iterable(filters_of(side) for side in _kept_sides(node))]
        case _:
            return []


def left_joins_of(node: nodes.Rows) -> list[tuple[str, Expr]]:
    """Left joins with one whole public table above any side an outer join could fill with NULLs: the id of the table's
    first column, and the condition; inner ones first."""
    match node:
        case (
            nodes.Filter(input)
            | nodes.Project(input)
            | nodes.UnitAggregate(input)
            | nodes.UnitWindow(input)
            | nodes.Distinct(input)
            | nodes.SemiJoin(input)
        ):
            return left_joins_of(input)
        case nodes.Join(_, right, kind, condition):
            found = list(itertools.chain.from_iterable(left_joins_of(side) for side in _kept_sides(node)))
            while isinstance(right, nodes.Project):
                right = right.input
            whole = isinstance(right, nodes.PublicScan) or (isinstance(right, nodes.Given) and right.rows is not None)
            if kind == "left" and whole and condition is not None:
                assert isinstance(right, nodes.PublicScan | nodes.Given)
                found.append((right.columns[0].id, condition))
            return found
        case _:
            return []


def _kept_sides(join: nodes.Join) -> list[nodes.Rows]:
    """The sides of which no row is made of NULLs."""
    if join.kind == "full":
        return []
    return [side for side, weak in ((join.left, "right"), (join.right, "left")) if join.kind != weak]
