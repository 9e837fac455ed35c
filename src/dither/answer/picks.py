"""Does the finish pick rows by noisy numbers? Sorting, filtering and taking the top by noise can pick the wrong ones.

Flow: `about` and `show` say so beside the answer. Reads the finish's own SQL, which is printed from a checked tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dither.plan.nodes import Plan
from dither.sql import embedded

__all__ = ["picks_of"]

Json = dict[str, Any]

_AGGREGATE = re.compile(r"a\d+")
"""Aggregates of noisy tables are called a0, a1, ..."""
_PICKING_FUNCTIONS = frozenset(["min", "max", "arg_min", "arg_max", "min_by", "max_by", "first_value", "last_value"])


def picks_of(plan: Plan) -> tuple[str, ...]:
    """Which of `sort`, `filter`, `top` the finish does by a noisy number, in this order; its phases' too."""
    found = _of_finish(plan.finish_sql)
    for phase in plan.phases:
        found |= _of_finish(phase.plan.finish_sql)
    return tuple(name for name in ("sort", "filter", "top") if name in found)


def _of_finish(sql: str) -> set[str]:
    tree = embedded.parse_json(sql)
    noisy = _noisy_names(tree)
    found = set()
    for node in _walk(tree):
        if "modifiers" in node:
            found |= _of_select(node, noisy)
        if node.get("class") == "WINDOW" and any(_mentions(order, noisy) for order in node.get("orders", ())):
            found.add("sort")
        if node.get("function_name") in _PICKING_FUNCTIONS and _mentions(node, noisy):
            found.add("top")
    return found


def _of_select(node: Json, noisy: frozenset[str]) -> set[str]:
    """Of one SELECT, or of a set operation, which has modifiers only."""
    found = set()
    if any(_mentions(node.get(clause), noisy) for clause in ("where_clause", "having", "qualify")):
        found.add("filter")
    orders = [order for modifier in node["modifiers"] for order in modifier.get("orders", ())]
    if any(_mentions(_meant(order["expression"], node), noisy) for order in orders):
        found.add("sort")
        if any(modifier.get("type") == "LIMIT_MODIFIER" for modifier in node["modifiers"]):
            found.add("top")
    return found


def _meant(expression: Json, node: Json) -> object:
    """The output that `ORDER BY 2` stands for; all outputs where it cannot be told."""
    place = str(expression.get("literal", {}).get("text", ""))
    if expression.get("class") != "CONSTANT" or not place.isdecimal():
        return expression
    if "select_list" not in node:
        return node
    outputs: list[Json] = node["select_list"]
    return outputs[int(place) - 1 : int(place)]


def _noisy_names(tree: Json) -> frozenset[str]:
    """Names that stand for noisy numbers: aggregates, and outputs computed from them, through any nesting."""
    outputs = [
        (str(item["alias"]).lower(), item)
        for node in _walk(tree)
        for item in node.get("select_list", ())
        if item.get("alias")
    ]
    noisy: frozenset[str] = frozenset()
    while True:
        grown = noisy | {alias for alias, item in outputs if _mentions(item, noisy)}
        if grown == noisy:
            return noisy
        noisy = grown


def _mentions(tree: object, noisy: frozenset[str]) -> bool:
    for node in _walk(tree):
        names = node.get("column_names")
        if names and (_AGGREGATE.fullmatch(str(names[-1])) or str(names[-1]).lower() in noisy):
            return True
    return False


def _walk(tree: object) -> Iterator[Json]:
    """Every object of a JSON tree, outermost first."""
    stack = [tree]
    while stack:
        found = stack.pop()
        if isinstance(found, dict):
            yield found
            stack += found.values()
        elif isinstance(found, list):
            stack += found
