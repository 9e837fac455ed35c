"""A SELECT over rows that stays rows: projection, DISTINCT, windows and GROUP BY within one unit.

Flow: `lower.select` calls `select` for SELECTs without aggregates and `aggregate` for those grouped by the unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dither.plan import distinct_on, finish, separable, set_operations, stars, unit_rows
from dither.plan.aggregates import contains_aggregate
from dither.plan.group_keys import GroupKeys
from dither.plan.separable import Relation
from dither.sql.expressions import Expr, conjuncts
from dither.sql.names import Scope
from dither.sql.naming import item_name
from dither.sql.parse import Tree

if TYPE_CHECKING:
    from dither.plan.lower import Lowering

__all__ = ["aggregate", "is_plain", "select", "with_where_written_out"]


def is_plain(tree: Tree) -> bool:
    """No aggregate and no GROUP BY: each row in gives at most one row out."""
    if tree.data.get("group_expressions") or tree.data.get("aggregate_handling") != "STANDARD_HANDLING":
        return False
    items = [Tree(item, tree.text) for item in tree.data.get("select_list") or []]
    having = tree.data.get("having")
    return having is None and not any(contains_aggregate(item) for item in items)


def is_distinct_groups(tree: Tree, relation: Relation) -> bool:
    """SELECT DISTINCT over people's rows without the unit: not rows, but which groups there are."""
    modifiers = tree.data.get("modifiers") or []
    wants = any(m["type"] == "DISTINCT_MODIFIER" and not m.get("distinct_on_targets") for m in modifiers)
    items = [Tree(item, tree.text) for item in tree.data.get("select_list") or []]
    if not wants or not relation.protected or any(item.kind in ("STAR", "WINDOW", "SUBQUERY") for item in items):
        return False
    paths = [(list(item.data["column_names"])[-2:], item.span) for item in items if item.kind == "COLUMN_REF"]
    named = [relation.scope.resolve(path, span).expr for path, span in paths if relation.scope.knows(path)]
    return not any(relation.is_unit(expr) for expr in named)


def as_grouped(tree: Tree) -> Tree:
    """The same as GROUP BY all its columns: a group is listed when its (noisy) row count is at least 1."""
    changed = {
        "group_expressions": [{**item, "alias": ""} for item in tree.data["select_list"]],
        "group_sets": [list(range(len(tree.data["select_list"])))],
        "having": finish.some_rows(),
        "modifiers": [m for m in tree.data["modifiers"] if m["type"] != "DISTINCT_MODIFIER"],
        "where_clause": None,
        "cte_map": {"map": []},
    }
    return Tree({**tree.data, **changed, "from_table": None}, tree.text)


def select(lowering: Lowering, tree: Tree, relation: Relation) -> Relation:
    """SELECT expressions FROM rows, with windows within the unit, QUALIFY and DISTINCT."""
    for field in ("cte_map", "aggregate_handling", "group_sets", "group_expressions"):
        tree.take(field)
    tree = distinct_on.as_qualified(tree, relation)
    wants_distinct = _modifiers(tree)
    binder = unit_rows.WindowBinder(lowering, relation)
    outputs: list[tuple[str, Expr]] = []
    for item in tree.children("select_list"):
        if item.kind == "STAR":
            outputs += _star(item, binder)
            continue
        for one in stars.per_column(item, relation.shown()) if stars.holds_columns(item) else [item]:
            outputs.append((item_name(one, relation.scope.spelling), binder.bind(one)))
    qualify = tree.child("qualify")
    if qualify is not None:
        qualify = _with_aliases(qualify, tree.children("select_list"), relation.scope)
    conditions = () if qualify is None else conjuncts(binder.condition(qualify, "QUALIFY"))
    tree.done()
    for condition in conditions:
        binder.relation = separable.filter_rows(binder.relation, condition)
    projected = separable.project(binder.relation, outputs, lowering.ids)
    return set_operations.distinct(projected, tree.span) if wants_distinct else projected


def with_where_written_out(tree: Tree, scope: Scope) -> Tree:
    """The SELECT, its FROM read, with aliases of its list written out in WHERE, where no column has their name, as in
    DuckDB."""
    where = tree.data.get("where_clause")
    items = [Tree(item, tree.text) for item in tree.data.get("select_list") or []]
    if not where or not any(item.alias for item in items):
        return tree
    plain = [item for item in items if not contains_aggregate(item)]
    aggregates = {item.alias.lower() for item in items} - {item.alias.lower() for item in plain}
    for part in _names_in(where):
        path = [str(name) for name in part["column_names"]]
        if len(path) == 1 and path[0].lower() in aggregates and not scope.knows(path):
            raise Tree(part, tree.text).refuse(
                "A-101",
                f"`{path[0]}` is an aggregate; WHERE looks at one row by itself.",
                hint="Write the condition in HAVING.",
            )
    condition = _with_aliases(Tree(where, tree.text), plain, scope).data
    changed = Tree({**tree.data, "where_clause": condition}, tree.text)
    for field in ("from_table", "sample"):
        changed.take(field)
    return changed


def _names_in(data: Any) -> list[dict[str, Any]]:
    """The columns an expression names, those of subqueries left out."""
    if isinstance(data, list):
        return [part for item in data for part in _names_in(item)]
    if not isinstance(data, dict) or data.get("class") == "SUBQUERY":
        return []
    if data.get("class") == "COLUMN_REF":
        return [data]
    return [part for value in data.values() for part in _names_in(value)]


def _with_aliases(condition: Tree, items: list[Tree], scope: Scope) -> Tree:
    """The condition with aliases of the SELECT list written out; a column of the table hides an alias of its name.
    Inside a subquery names are its own tables' first: an alias is not written out there."""
    named = {item.alias.lower(): item.data for item in items if item.alias}

    def written_out(data: Any) -> Any:
        if isinstance(data, list):
            return [written_out(item) for item in data]
        if not isinstance(data, dict):
            return data
        if data.get("class") == "SUBQUERY":
            return {**data, "child": written_out(data["child"])}
        path = data.get("column_names") if data.get("class") == "COLUMN_REF" else None
        if path and len(path) == 1 and path[0].lower() in named and not scope.knows(path):
            return {**named[path[0].lower()], "alias": ""}
        return {key: written_out(value) for key, value in data.items()}

    return Tree(written_out(condition.data), condition.text)


def aggregate(lowering: Lowering, tree: Tree, relation: Relation, keys: GroupKeys) -> Relation:
    """SELECT ... GROUP BY unit, ...: one row per unit (and other keys), which is a relation like any other."""
    if len(keys.sets) > 1:
        raise tree.refuse("S-131", "Grouping sets within one unit are not supported.")
    return unit_rows.aggregate(lowering, tree, relation, keys)


def _modifiers(tree: Tree) -> bool:
    """DISTINCT or nothing: an order of rows means nothing here, and a limit would cut by it."""
    wants_distinct = False
    for modifier in tree.children("modifiers"):
        match modifier.type:
            case "DISTINCT_MODIFIER" if not modifier.take("distinct_on_targets"):
                wants_distinct = True
            case "ORDER_MODIFIER":
                modifier.take("orders")
            case "LIMIT_MODIFIER":
                raise tree.refuse(
                    "S-153",
                    "LIMIT picks rows by storage order, which depends on everybody's rows.",
                    hint="Use LIMIT after aggregating, or ROW_NUMBER() OVER (PARTITION BY unit ORDER BY ...).",
                )
            case other:
                raise tree.refuse("P-126", f"This modifier ({other.lower()}) is not supported.")
        modifier.done()
    return wants_distinct


def _star(item: Tree, binder: unit_rows.WindowBinder) -> list[tuple[str, Expr]]:
    """`*`, `table.*` and COLUMNS(...): all visible columns, or those that are named."""
    visible = [column for column in binder.relation.columns if not column.hidden]
    return [
        (shown.name, visible[shown.place].expr if shown.replaced is None else binder.bind(shown.replaced))
        for shown in stars.expand(item, binder.relation.shown())
    ]
