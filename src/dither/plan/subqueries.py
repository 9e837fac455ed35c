"""Subqueries in conditions over rows: [NOT] IN, [NOT] EXISTS, and scalar subqueries matched on the unit.

Flow: `lower.condition` and window binding call these; a subquery becomes a semi-join, an anti-join, or a left join of
a per-unit aggregate. A scalar subquery over other people's rows is a question of its own (see `phases`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dither.plan import separable
from dither.plan.separable import Relation
from dither.sql.bind import Binder, call_of
from dither.sql.expressions import Expr, columns_of
from dither.sql.functions import logic
from dither.sql.names import NamedColumn, Scope
from dither.sql.parse import Tree
from dither.sql.types import BOOLEAN

if TYPE_CHECKING:
    from dither.plan.lower import Environment, Lowering

__all__ = ["as_semi_join", "bind", "scalar"]


def as_semi_join(lowering: Lowering, relation: Relation, tree: Tree, environment: Environment) -> Relation | None:
    """The relation after a condition that is itself [NOT] EXISTS or [NOT] IN; None for any other condition."""
    negated = False
    node = tree
    while node.kind == "OPERATOR" and node.type == "OPERATOR_NOT":
        child = Tree(node.data["children"][0], node.text)
        if child.kind not in ("SUBQUERY", "OPERATOR"):
            return None
        negated, node = not negated, child
    if node.kind != "SUBQUERY":
        return None
    match str(node.data.get("subquery_type")):
        case "EXISTS" | "NOT_EXISTS":
            negated = negated != (node.data["subquery_type"] == "NOT_EXISTS")
            inner, condition, _ = _correlated(lowering, relation, node, environment)
            return separable.semi_join(relation, inner, condition or _true(), anti=negated, span=tree.span)
        case "ANY" if node.data.get("comparison_type") == "COMPARE_EQUAL":
            return _in(lowering, relation, node, environment, negated)
    return None


def bind(lowering: Lowering, relation: Relation, tree: Tree, environment: Environment) -> tuple[Expr, Relation]:
    """A condition in which scalar subqueries stand: each matched on the unit becomes a column of the relation."""
    current = [relation]

    def special(node: Tree) -> Expr | None:
        if node.kind != "SUBQUERY":
            return None
        expr, current[0] = scalar(lowering, current[0], node, environment)
        return expr

    expr = Binder(relation.scope, special=special, now=lowering.now).bind(tree)
    return expr, current[0]


def scalar(
    lowering: Lowering, relation: Relation, tree: Tree, environment: Environment | None = None
) -> tuple[Expr, Relation]:
    raise tree.refuse(
        "S-122",
        "A subquery that gives one value is not supported here.",
        hint="Aggregate per unit in a subquery in FROM and join it on the unit.",
    )


def _in(lowering: Lowering, relation: Relation, tree: Tree, environment: Environment, negated: bool) -> Relation:
    """x [NOT] IN (SELECT y ...). NOT IN is false or unknown as soon as x or some y is NULL, unless nothing is there."""
    subject = Binder(relation.scope, now=lowering.now).bind(tree.need_child("child"))
    inner, condition, outputs = _correlated(lowering, relation, tree, environment)
    tree.take("comparison_type")
    if len(outputs) != 1:
        raise tree.refuse("P-125", f"IN takes a subquery with one column; this one has {len(outputs)}.")
    equal = logic.compare(call_of(tree, "IN", subject, outputs[0]), "=")
    if negated:
        for side in (subject, outputs[0]):
            if side.nullable:
                missing = Expr(logic.IS_NULL, BOOLEAN, (side,), nullable=False)
                equal = Expr(logic.OR, BOOLEAN, (equal, missing), nullable=True)
    full = equal if condition is None else Expr(logic.AND, BOOLEAN, (equal, condition), nullable=True)
    return separable.semi_join(relation, inner, full, anti=negated, span=tree.span)


def _correlated(
    lowering: Lowering, relation: Relation, tree: Tree, environment: Environment
) -> tuple[Relation, Expr | None, list[Expr]]:
    """The inner relation without its correlated conditions, those conditions together, and the inner SELECT list."""
    body = Tree({**tree.take("subquery"), "type": "STATEMENT"}, tree.text)
    select = body.need_child("node")
    if select.type != "SELECT_NODE" or select.data.get("modifiers") or not _is_rows(select):
        inner = lowering.query(select, environment)
        if not isinstance(inner, Relation):
            raise tree.refuse("S-123", "A subquery over noisy results is not supported in this place.")
        return inner, None, [column.expr for column in inner.columns]
    inner_environment = lowering._with_ctes(select, environment)
    source = lowering.from_clause(select.need_child("from_table"), inner_environment)
    if not isinstance(source, list):
        raise tree.refuse("S-123", "A subquery over noisy results is not supported in this place.")
    inner, parts = lowering.combine(source, _without_where(select), inner_environment)
    del parts
    where = select.child("where_clause")
    both = Scope((*inner.columns, *_shadowed(relation, inner)))
    correlated: list[Expr] = []
    from dither.plan.lower import _and_parts, _has_subquery

    for part in _and_parts(where) if where is not None else []:
        if _has_subquery(part):
            inner = lowering.condition(inner, part, inner_environment, None)
            continue
        expr = Binder(both, now=lowering.now).bind(part)
        if columns_of(expr) & (relation.ids() - inner.ids()):
            correlated.append(expr)
        else:
            inner = separable.filter_rows(inner, expr)
    outputs = [
        Binder(inner.scope, now=lowering.now).bind(item)
        for item in select.children("select_list")
        if item.kind != "STAR"
    ]
    condition = None
    for expr in correlated:
        condition = expr if condition is None else Expr(logic.AND, BOOLEAN, (condition, expr), nullable=True)
    return inner, condition, outputs


def _is_rows(select: Tree) -> bool:
    from dither.plan import rows

    return rows.is_plain(select) and select.data.get("qualify") is None


def _without_where(select: Tree) -> Tree:
    return Tree({**select.data, "where_clause": None}, select.text)


def _shadowed(outer: Relation, inner: Relation) -> list[NamedColumn]:
    """Outer columns that an inner name does not hide."""
    hidden = {(c.qualifier.lower(), c.name.lower()) for c in inner.columns}
    names = {c.name.lower() for c in inner.columns}
    result = []
    for column in outer.columns:
        if (column.qualifier.lower(), column.name.lower()) in hidden:
            continue
        result.append(replace(column, hidden=column.hidden or column.name.lower() in names))
    return result


def _true() -> Expr:
    return Expr("literal", BOOLEAN, payload=True, nullable=False)
