"""SELECT DISTINCT ON (keys) ... ORDER BY ...: the first row of each group, written as QUALIFY ROW_NUMBER() ... = 1.

Flow: `rows` writes it out before it reads a SELECT over people's rows. What follows decides: the window must hold the
unit in its partition, so DISTINCT ON (unit, ...) is a question about each unit by itself and any other is refused.
"""

from __future__ import annotations

import copy
import functools
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
    targets = [Tree(target, tree.text) for target in found["distinct_on_targets"]]
    if relation.protected and not any(_is_unit(target, relation) for target in targets):
        raise targets[0].refuse(
            "S-154",
            "DISTINCT ON without the unit among its keys picks one row out of many people's.",
            hint="Add the unit's column to DISTINCT ON (...), or write GROUP BY with an aggregate.",
        )
    orders = [order for m in modifiers if m["type"] == "ORDER_MODIFIER" for order in m["orders"]]
    if not orders:
        raise tree.refuse(
            "S-154",
            "DISTINCT ON without ORDER BY picks rows by storage order, which depends on everybody's rows.",
            hint="Add ORDER BY the same expressions, and then what decides which row comes first.",
        )
    qualify = copy.deepcopy(_first_of_each())
    qualify["left"] = {**qualify["left"], "partitions": found["distinct_on_targets"], "orders": orders}
    kept = [m for m in modifiers if m is not found and m["type"] != "ORDER_MODIFIER"]
    changed = Tree({**tree.data, "modifiers": kept, "qualify": qualify}, tree.text)
    for field in ("cte_map", "aggregate_handling", "group_sets", "group_expressions", "from_table", "where_clause",
                  "sample"):  # fmt: skip
        changed.take(field)
    return changed


def _is_unit(target: Tree, relation: Relation) -> bool:
    path = [str(name) for name in target.data.get("column_names") or []] if target.kind == "COLUMN_REF" else []
    if not path or not relation.scope.knows(path):
        return False
    expr = relation.scope.resolve(path, target.span).expr
    return expr.is_column and expr.payload in relation.total


@functools.lru_cache(maxsize=1)
def _first_of_each() -> Json:
    """The condition as this version of DuckDB writes it."""
    node = embedded.parse_json("SELECT row_number() OVER () = 1")["statements"][0]["node"]
    condition: Json = node["select_list"][0]
    return condition
