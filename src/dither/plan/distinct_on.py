"""SELECT DISTINCT ON (keys) ... ORDER BY ...: the first row of each group, written as QUALIFY ROW_NUMBER() ... = 1.

Flow: `rows` writes it out before it reads a SELECT over people's rows. What follows decides: the window must hold the
unit in its partition, so DISTINCT ON (unit, ...) is a question about each unit by itself and any other is refused.
"""

from __future__ import annotations

from typing import Any

from dither.plan.separable import Relation
from dither.sql import embedded
from dither.sql.parse import Tree

__all__ = ["as_qualified"]

Json = dict[str, Any]


def as_qualified(tree: Tree, relation: Relation) -> Tree:
    """The same SELECT over this relation without DISTINCT ON; as it is where it has none."""
    modifiers = tree.data.get("modifiers") or []
    found = next((m for m in modifiers if m["type"] == "DISTINCT_MODIFIER" and m.get("distinct_on_targets")), None)
    if found is None:
        return tree
    if tree.data.get("qualify") is not None:
        raise tree.refuse(
            "S-154", "DISTINCT ON beside QUALIFY is not supported.", hint="Use one of them, in a subquery of its own."
        )
    targets = [Tree(_meant(target, tree), tree.text) for target in found["distinct_on_targets"]]
    if relation.protected and not any(_is_unit(target, relation) for target in targets):
        raise targets[0].refuse(
            "S-154",
            "DISTINCT ON without the unit among its keys picks one row out of many people's.",
            hint="Add the unit's column to DISTINCT ON (...), or write GROUP BY with an aggregate.",
        )
    orders = [
        {**order, "expression": _meant(order["expression"], tree)}
        for m in modifiers
        if m["type"] == "ORDER_MODIFIER"
        for order in m["orders"]
    ]
    if not orders:
        raise tree.refuse(
            "S-154",
            "DISTINCT ON without ORDER BY picks rows by storage order, which depends on everybody's rows.",
            hint="Add ORDER BY the same expressions, and then what decides which row comes first.",
        )
    qualify = embedded.expression("row_number() OVER () = 1")
    qualify["left"] = {**qualify["left"], "partitions": [t.data for t in targets], "orders": orders}
    kept = [m for m in modifiers if m is not found and m["type"] != "ORDER_MODIFIER"]
    changed = Tree({**tree.data, "modifiers": kept, "qualify": qualify}, tree.text)
    for field in ("cte_map", "aggregate_handling", "group_sets", "group_expressions", "from_table", "where_clause",
                  "sample"):  # fmt: skip
        changed.take(field)
    return changed


def _meant(expression: Json, tree: Tree) -> Json:
    """What an expression of DISTINCT ON or ORDER BY means: an ordinal or an alias stands for its item of the SELECT
    list. In a window it would be a constant, or a column of the table."""
    items = [Tree(item, tree.text) for item in tree.data["select_list"]]
    here = Tree(expression, tree.text)
    if here.kind == "CONSTANT" and here.data["literal"]["kind"] == "INTEGER":
        number = int(here.data["literal"]["text"])
        if any(item.kind == "STAR" for item in items) or not 1 <= number <= len(items):
            raise here.refuse("S-154", "This ordinal names no item of the SELECT list.", hint="Write the column.")
        return {**items[number - 1].data, "alias": ""}
    named = {item.alias.lower(): item for item in items if item.alias}
    if here.kind == "COLUMN_REF" and len(here.data["column_names"]) == 1:
        item = named.get(str(here.data["column_names"][0]).lower())
        return expression if item is None else {**item.data, "alias": ""}
    if here.kind in ("STAR", "CONSTANT") or any(name in named for name in _names_in(expression)):
        raise here.refuse(
            "S-154",
            "ORDER BY of DISTINCT ON takes columns, ordinals, aliases, and expressions that name no alias here.",
            hint="Give the expression a name in a subquery below.",
        )
    return expression


def _names_in(data: Any) -> list[str]:
    if isinstance(data, list):
        return [name for part in data for name in _names_in(part)]
    if not isinstance(data, dict):
        return []
    if data.get("class") == "COLUMN_REF":
        return [str(data["column_names"][-1]).lower()]
    return [name for value in data.values() for name in _names_in(value)]


def _is_unit(target: Tree, relation: Relation) -> bool:
    path = [str(name) for name in target.data.get("column_names") or []] if target.kind == "COLUMN_REF" else []
    if not path or not relation.scope.knows(path):
        return False
    return relation.is_unit(relation.scope.resolve(path, target.span).expr)
