"""Subqueries in conditions over rows: [NOT] IN, [NOT] EXISTS, and scalar subqueries matched on the unit.

Flow: `lower` takes WHERE apart by `and_parts` and `has_subquery`; `lower.condition` and window binding call the rest. A
subquery becomes a semi-join, an anti-join, or a left join of a per-unit aggregate. A scalar subquery over other
people's rows is a question of its own (see `phases`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dither.plan import finish, joins, phases, rows, separable, stars, unit_rows
from dither.plan.aggregates import contains_aggregate
from dither.plan.from_clause import from_clause
from dither.plan.separable import Relation
from dither.plan.unit_hints import unit_hint
from dither.plan.with_clause import Environment, with_clause
from dither.sql import embedded, row_values
from dither.sql.bind import Binder, call_of
from dither.sql.expressions import Expr, and_all, columns_of, conjuncts, literal
from dither.sql.functions import logic
from dither.sql.names import NamedColumn, Scope
from dither.sql.parse import Tree
from dither.sql.types import BOOLEAN

if TYPE_CHECKING:
    from dither.plan.lower import Lowering

__all__ = ["and_parts", "as_semi_join", "bind", "has_subquery", "scalar"]


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
            return joins.semi_join(relation, inner, condition or _true(), anti=negated, span=tree.span)
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

    expr = Binder(relation.scope, special=special, now=lowering.now).condition(tree)
    return expr, current[0]


def scalar(
    lowering: Lowering, relation: Relation, tree: Tree, environment: Environment | None = None
) -> tuple[Expr, Relation]:
    """A subquery that gives one value: over noisy results (or across people, which makes them) a phase; matched on the
    unit, a per-unit aggregate joined on."""
    if str(tree.data["subquery_type"]) != "SCALAR":
        return _found(lowering, relation, tree, environment or Environment())
    tree.take("subquery_type")
    body = Tree({**tree.take("subquery"), "type": "STATEMENT"}, tree.text)
    select = body.need_child("node")
    tree.take("comparison_type")
    tree.done()
    if _is_correlated(lowering, relation, select):
        return _per_unit(lowering, relation, select, environment or Environment())
    whole = lowering.query(select, environment or Environment())
    if isinstance(whole, Relation):
        raise tree.refuse("S-124", "A subquery used as a value must aggregate.", hint="Write (SELECT AVG(x) FROM ...).")
    return phases.as_value(lowering, whole, tree), relation


def and_parts(tree: Tree) -> list[Tree]:
    """The parts of a top-level AND, as trees."""
    if tree.kind == "CONJUNCTION" and tree.type == "CONJUNCTION_AND":
        children = tree.children("children")
        tree.done()
        return [part for child in children for part in and_parts(child)]
    return [tree]


def has_subquery(tree: Tree) -> bool:
    """Is a subquery anywhere below this node?"""
    stack: list[object] = [tree.data]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if item.get("class") == "SUBQUERY":
                return True
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False


def _found(lowering: Lowering, relation: Relation, tree: Tree, environment: Environment) -> tuple[Expr, Relation]:
    """EXISTS and IN as a value, in OR or CASE: whether the unit has any row inside, by a count joined on. Neither side
    of a match on units is ever NULL, so the value is never unknown."""
    kind = str(tree.take("subquery_type"))
    subject = tree.child("child")
    outer = None if subject is None else Binder(relation.scope, now=lowering.now).bind(subject)
    inner, condition, outputs = _correlated(lowering, relation, tree, environment)
    if (
        kind == "ANY"
        and tree.data.get("comparison_type") == "COMPARE_EQUAL"
        and condition is None
        and len(outputs) == 1
    ):
        assert outer is not None
        condition = logic.compare(call_of(tree, "IN", outer, outputs[0]), "=")
    elif kind not in ("EXISTS", "NOT_EXISTS"):
        condition = None
    if not inner.protected or condition is None or not _is_unit_match(condition, relation, inner):
        raise tree.refuse(
            "S-160",
            "This kind of subquery cannot stand here.",
            hint="Use it as a condition of its own in WHERE, or match it on the unit alone; x > ALL (SELECT y ...) is "
            "NOT EXISTS (SELECT 1 ... AND NOT x > y).",
        )
    tree.take("comparison_type")
    tree.done()
    counted = embedded.parse_json("SELECT count(*)")["statements"][0]["node"]["select_list"][0]
    count, joined = unit_rows.joined_aggregate(lowering, relation, inner, Tree(counted, tree.text))
    symbol = "=" if kind == "NOT_EXISTS" else ">"
    return logic.compare(call_of(tree, symbol, count, literal(0)), symbol), joined


def _is_correlated(lowering: Lowering, relation: Relation, select: Tree) -> bool:
    """Does the subquery name a column of the outer rows by its table's name, or one its own tables do not have?"""
    outer = {(c.qualifier.lower(), c.name.lower()) for c in relation.columns}
    own = set(_table_names(select.data))
    stack: list[object] = [select.data.get("where_clause")]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, dict):
            path = [str(p).lower() for p in item.get("column_names") or []] if item.get("class") == "COLUMN_REF" else []
            if len(path) == 2 and (path[0], path[1]) in outer and path[0] not in own:
                return True
            stack.extend(item.values())
    return False


def _table_names(data: object) -> list[str]:
    """Aliases and names of the tables in a FROM clause."""
    found: list[str] = []
    stack: list[object] = [data.get("from_table") if isinstance(data, dict) else None]
    while stack:
        item = stack.pop()
        if not isinstance(item, dict):
            continue
        if item.get("type") in ("BASE_TABLE", "SUBQUERY"):
            found.append(str(item.get("alias") or item.get("table_name") or "").lower())
        stack.extend(item.get(side) for side in ("left", "right"))
    return found


def _per_unit(lowering: Lowering, relation: Relation, select: Tree, environment: Environment) -> tuple[Expr, Relation]:
    """(SELECT COUNT(*) FROM o WHERE o.unit = t.unit AND ...): a left join of o's aggregate per unit."""
    items = select.children("select_list")
    if len(items) != 1 or select.data.get("group_expressions") or select.data.get("having"):
        raise select.refuse("S-122", "A correlated subquery gives one aggregate, without GROUP BY.")
    source = from_clause(lowering, select.need_child("from_table"), environment)
    if not isinstance(source, list):
        raise select.refuse("S-123", "A subquery over noisy results is not supported in this place.")
    inner, _ = lowering.combine(source, _without_where(select), environment)
    inner, condition = _split_where(lowering, relation, inner, select, environment)
    if not inner.protected and condition is not None and not contains_aggregate(items[0]):
        for field in ("aggregate_handling", "group_sets", "group_expressions", "cte_map"):
            select.take(field)
        select.done()
        return _looked_up(lowering, relation, inner, condition, items[0])
    if not inner.protected or condition is None or not _is_unit_match(condition, relation, inner):
        raise items[0].refuse(
            "S-122",
            "A correlated subquery must match on the unit, and on nothing else of the outer row.",
            hint=unit_hint(conjuncts(condition), relation, inner)
            or "Write WHERE inner.unit = outer.unit; or join with a subquery that is grouped: FROM t JOIN (SELECT g, "
            "AVG(x) AS m FROM t GROUP BY g) AS a ON a.g = t.g.",
        )
    for field in ("aggregate_handling", "group_sets", "group_expressions", "cte_map"):
        select.take(field)
    select.done()
    return unit_rows.joined_aggregate(lowering, relation, inner, items[0])


def _looked_up(
    lowering: Lowering, relation: Relation, inner: Relation, condition: Expr, item: Tree
) -> tuple[Expr, Relation]:
    """(SELECT d.label FROM d WHERE d.key = t.key) of a public table: a left join, where no key is there twice."""
    value = Binder(inner.scope, now=lowering.now).bind(item)
    if not value.is_column and value.op != "read":
        # Where no row is found the value is NULL. The join would compute it, of NULLs.
        raise item.refuse(
            "S-126",
            "A value looked up in a public table is one of its columns, as it is.",
            hint="Compute with what is found: write the expression around the subquery.",
        )
    if joins.public_copies(inner, conjuncts(condition), lowering.facts) > 1:
        raise item.refuse(
            "S-125",
            "This subquery could give several rows, and it is used as one value.",
            hint="Match it on columns of which the public table has no value twice, or join the table.",
        )
    joined = joins.join(relation, inner, "left", condition, lowering.ids, lowering.facts, item.span)
    visible = replace(joined, columns=joined.columns[: len(relation.columns)])
    return joins.nullable(value), visible


def _is_unit_match(condition: Expr, outer: Relation, inner: Relation) -> bool:
    if condition.op != "equal" or not all(arg.is_column for arg in condition.args):
        return False
    names = {str(arg.payload) for arg in condition.args}
    return bool(names & inner.total) and bool(names & outer.total)


def _in(lowering: Lowering, relation: Relation, tree: Tree, environment: Environment, negated: bool) -> Relation:
    """x [NOT] IN (SELECT y ...). NOT IN is false or unknown as soon as x or some y is NULL, unless nothing is there."""
    child = tree.need_child("child")
    parts = row_values.parts_of(child) if row_values.is_row(child) else [child]
    subjects = [Binder(relation.scope, now=lowering.now).bind(part) for part in parts]
    inner, condition, outputs = _correlated(lowering, relation, tree, environment)
    tree.take("comparison_type")
    if len(outputs) != len(subjects):
        raise tree.refuse(
            "P-125",
            f"IN takes a subquery with {'one column' if len(subjects) == 1 else f'{len(subjects)} columns'}; this one "
            f"has {len(outputs)}.",
        )
    if negated and len(subjects) > 1:
        raise tree.refuse(
            "S-123",
            "NOT IN of a row and a subquery is not supported.",
            hint="Write NOT EXISTS (SELECT 1 FROM ... WHERE inner.a = outer.a AND inner.b = outer.b).",
        )
    same = [logic.compare(call_of(tree, "IN", s, o), "=") for s, o in zip(subjects, outputs, strict=True)]
    equal = and_all(same) or _true()
    if negated:
        for side in equal.args:
            if side.nullable:
                missing = Expr(logic.IS_NULL, BOOLEAN, (side,), nullable=False)
                equal = Expr(logic.OR, BOOLEAN, (equal, missing), nullable=True)
    full = equal if condition is None else Expr(logic.AND, BOOLEAN, (equal, condition), nullable=True)
    return joins.semi_join(relation, inner, full, anti=negated, span=tree.span)


def _correlated(
    lowering: Lowering, relation: Relation, tree: Tree, environment: Environment
) -> tuple[Relation, Expr | None, list[Expr]]:
    """The inner relation without its correlated conditions, those conditions together, and the inner SELECT list."""
    body = Tree({**tree.take("subquery"), "type": "STATEMENT"}, tree.text)
    select = body.need_child("node")
    if select.type != "SELECT_NODE" or select.data.get("modifiers") or not _is_rows(select):
        lowered = lowering.query(select, environment)
        if not isinstance(lowered, Relation):
            (lowered,) = phases.as_rows(lowering, finish.as_table(lowered, "subquery"), tree)
        inner = lowered
        return inner, None, [column.expr for column in inner.columns]
    inner_environment = with_clause(select, environment)
    source = from_clause(lowering, select.need_child("from_table"), inner_environment)
    if not isinstance(source, list):
        raise tree.refuse("S-123", "A subquery over noisy results is not supported in this place.")
    inner, _ = lowering.combine(source, _without_where(select), inner_environment)
    inner, condition = _split_where(lowering, relation, inner, select, inner_environment)
    binder = Binder(inner.scope, now=lowering.now)
    outputs = []
    for item in select.children("select_list"):
        outputs += _all_columns(item, inner) if item.kind == "STAR" else [binder.bind(item)]
    for part in ("aggregate_handling", "group_sets", "group_expressions", "cte_map"):
        select.take(part)
    select.done()
    body.take("named_param_map")
    body.done()
    return inner, condition, outputs


def _all_columns(star: Tree, inner: Relation) -> list[Expr]:
    visible = [column.expr for column in inner.columns if not column.hidden]
    shown = stars.expand(star, inner.shown())
    if any(one.replaced is not None for one in shown):
        raise star.refuse("P-129", "REPLACE is not supported in a subquery of a condition.", hint="Name its column.")
    return [visible[one.place] for one in shown]


def _split_where(
    lowering: Lowering, outer: Relation, inner: Relation, select: Tree, environment: Environment
) -> tuple[Relation, Expr | None]:
    """Apply the inner conditions that are about the inner rows alone; give the rest, ANDed."""
    where = select.child("where_clause")
    both = Scope((*inner.columns, *_shadowed(outer, inner)))
    condition: Expr | None = None
    for part in and_parts(where) if where is not None else []:
        if has_subquery(part):
            inner = lowering.condition(inner, part, environment, None)
            continue
        expr = Binder(both, now=lowering.now).condition(part)
        if not columns_of(expr) & (outer.ids() - inner.ids()):
            inner = separable.filter_rows(inner, expr)
        else:
            condition = expr if condition is None else Expr(logic.AND, BOOLEAN, (condition, expr), nullable=True)
    return inner, condition


def _is_rows(select: Tree) -> bool:
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
