"""How many noisy numbers are behind one row of a grouped finish, where that is plain.

Flow: `answer.between` bounds the noise of these together, and not that of all numbers of a question.
Proof: docs/proofs/answer/intervals.md
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dither.plan.row_keys import holds, is_aggregate, is_window
from dither.sql import embedded

__all__ = ["Inputs", "inputs_of"]

Json = dict[str, Any]


@dataclass(frozen=True)
class Inputs:
    table: str
    """The noisy table whose rows are picked from; each row of it makes at most one."""
    counting: Json
    """The finish with the number of such rows behind each of its own, before the columns that tell rows apart."""
    picked: Mapping[int, int]
    """Position of a column that is a largest (1) or a least (-1) over these rows."""


def inputs_of(tree: Json) -> Inputs | None:
    """None where a row of the source may depend on more than one row of one noisy table. tree: with what leaves rows
    out taken away, and with columns of its own behind those of the answer."""
    if tree["type"] != "SELECT_NODE" or tree["from_table"]["type"] != "SUBQUERY" or tree["having"] is not None:
        return None
    keys = [i for i, item in enumerate(tree["select_list"]) if str(item.get("alias")).startswith("row key ")]
    own = tree["select_list"][: keys[0]] if keys else tree["select_list"]
    grouped = tree["group_expressions"] or tree["aggregate_handling"] != "STANDARD_HANDLING"
    if not grouped and not any(holds(item, is_aggregate) for item in own):
        return None
    if any(holds(item, is_window) for item in own) or _has_subquery([tree["select_list"], tree["where_clause"]]):
        return None
    found = _rows_of(tree["from_table"]["subquery"]["node"])
    if found is None:
        return None
    table, node = found
    source = {**tree["from_table"], "subquery": {**tree["from_table"]["subquery"], "node": node}}
    # Rows that a condition on noise leaves out count as well.
    items = [*own, {**embedded.expression("COUNT(*)"), "alias": "inputs"}, *tree["select_list"][len(own) :]]
    counting = {**tree, "select_list": items, "from_table": source, "where_clause": None}
    picked = {i: way for i, item in enumerate(own) if (way := _way(item)) is not None}
    return Inputs(table, counting, picked)


def _rows_of(node: Json) -> tuple[str, Json] | None:
    """The noisy table that each row of a SELECT is a row of, and the SELECT without conditions."""
    if node["type"] != "SELECT_NODE" or node["group_expressions"] or node["modifiers"]:
        return None
    if any(node[part] is not None for part in ("having", "qualify")):
        return None
    if node["aggregate_handling"] != "STANDARD_HANDLING" or _has_subquery([node["select_list"], node["where_clause"]]):
        return None
    if any(holds(item, is_aggregate) or holds(item, is_window) for item in node["select_list"]):
        return None
    plain = {**node, "where_clause": None}
    source = node["from_table"]
    if source["type"] == "BASE_TABLE":
        return str(source["table_name"]), plain
    below = _rows_of(source["subquery"]["node"]) if source["type"] == "SUBQUERY" else None
    if below is None:
        return None
    return below[0], {**plain, "from_table": {**source, "subquery": {**source["subquery"], "node": below[1]}}}


def _way(item: Json) -> int | None:
    if item["class"] != "FUNCTION" or not is_aggregate(item):
        return None
    return {"max": 1, "min": -1}.get(str(item["function_name"]).lower())


def _has_subquery(part: Any) -> bool:
    if isinstance(part, list):
        return any(map(_has_subquery, part))
    if not isinstance(part, dict):
        return False
    return part.get("class") == "SUBQUERY" or any(map(_has_subquery, part.values()))
