"""What tells the rows of a finish apart, shown or not: replicates of an answer are matched by it.

Flow: `grouped` and `finish` keep it beside each tree they make; `answer.finishing` runs it when somebody looks at the
intervals of computed columns. Without it the first row of a replicate, which may be another group's, would stand for
the first row of the answer.
Proof: docs/proofs/answer/intervals.md
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dither.sql.bind import AGGREGATES

__all__ = [
    "Keyed",
    "KeyedSource",
    "holds",
    "is_aggregate",
    "is_window",
    "joined",
    "names_in",
    "over",
    "over_groups",
    "renamed",
    "shown_groups",
    "united",
]

Json = dict[str, Any]


@dataclass(frozen=True)
class Keyed:
    """A finish with columns behind its own that tell its rows apart; where there can be one row, none are needed."""

    tree: Json
    """The rows of the answer."""
    uncut: Json
    """The same rows and, where it can be told, those that LIMIT, HAVING, QUALIFY or WHERE left out by a noisy number:
    in a replicate a row of the answer may be among these."""
    columns: tuple[str, ...]


@dataclass(frozen=True)
class KeyedSource:
    """The same of a FROM clause. `columns`: paths, as it names them."""

    tree: Json
    uncut: Json
    columns: tuple[tuple[str, ...], ...]
    is_join: bool = False


def over_groups(finished: Json, source: Json, keys: Sequence[Json]) -> Keyed | None:
    """A SELECT whose rows are those of noisy tables. keys: their columns, in `source`."""
    shown = [item["column_names"] for item in finished["select_list"] if item["class"] == "COLUMN_REF"]
    if _merges(finished) and not all(key["column_names"] in shown for key in keys):
        return None
    tree = {**finished, "from_table": source}
    return _with_keys(tree, _uncut(tree), keys)


def over(finished: Json, source: KeyedSource | None, keys: Sequence[Json]) -> Keyed | None:
    """A SELECT over a FROM clause of noisy tables. keys: the source's columns, as trees."""
    items = finished["select_list"]
    by_all = finished.get("aggregate_handling") != "STANDARD_HANDLING" and not all(map(_aggregates, items))
    if finished["group_expressions"] or by_all:
        return _over_grouped(finished)
    if finished["having"] is not None or any(map(_aggregates, items)):
        return Keyed(finished, finished, ())
    if source is None or any(item["class"] == "STAR" for item in items) or (source.columns and _merges(finished)):
        return None
    tree = {**finished, "from_table": source.tree}
    if source.is_join and not any(map(_windows, items)):
        # Without what WHERE says of how they meet, a join could be too many rows.
        uncut = _uncut({**finished, "from_table": source.uncut})
        return _with_keys(tree, {**uncut, "where_clause": _meeting(finished["where_clause"])}, keys)
    below = source.tree if any(map(_windows, items)) else source.uncut
    return _with_keys(tree, _uncut({**finished, "from_table": below}), keys)


def _over_grouped(finished: Json) -> Keyed | None:
    """A SELECT that groups the rows of noisy tables again: told apart by what it groups by, and by grouping set.
    Whether these are public `noisy_columns` finds out."""
    items = finished["select_list"]
    if finished["group_expressions"]:
        keys = [_meant(key, items) for key in finished["group_expressions"]]
    else:
        keys = [item for item in items if not _aggregates(item)]
    if _merges(finished) and finished["group_expressions"] and shown_groups(finished) is None:
        return None
    sets = [*keys, _grouping(keys)] if len(finished.get("group_sets") or ()) > 1 else keys
    # A window sees the groups that HAVING leaves.
    having = finished["having"] if any(map(_windows, items)) else None
    return _with_keys(finished, {**finished, "having": having, "qualify": None, "modifiers": []}, sets)


def _meant(key: Json, items: Sequence[Json]) -> Json:
    """What `GROUP BY 2` stands for. An alias may be named in the SELECT list as well."""
    place = str(key["literal"]["text"]) if key["class"] == "CONSTANT" else ""
    return items[int(place) - 1] if place.isdecimal() and 1 <= int(place) <= len(items) else key


def shown_groups(select: Json) -> frozenset[int] | None:
    """Positions in the SELECT list of what is grouped by; None where it does not show all of that."""
    items = select["select_list"]
    found: set[int] = set()
    for key in (_meant(key, items) for key in select["group_expressions"]):
        places = {i for i, item in enumerate(items) if _same(key, item)}
        if not places:
            return None
        found |= places
    return frozenset(found)


def names_in(item: Any) -> set[str]:
    """All columns an expression names, in lower case."""
    if isinstance(item, list):
        return set().union(*map(names_in, item))
    if not isinstance(item, dict):
        return set()
    if item.get("class") == "COLUMN_REF":
        return {str(item["column_names"][-1]).lower()}
    return set().union(*map(names_in, item.values()))


def _same(key: Json, item: Json) -> bool:
    if key["class"] == "COLUMN_REF" and str(item.get("alias")).lower() == str(key["column_names"][-1]).lower():
        return True
    if key["class"] == item["class"] == "COLUMN_REF":
        return bool(key["column_names"] == item["column_names"])
    return key is item


def _grouping(keys: Sequence[Json]) -> Json:
    """Which of the keys a row is not grouped by."""
    children = [{**key, "alias": ""} for key in keys]
    place = {"query_location": 0, "query_location_length": 0}
    return {"class": "OPERATOR", "type": "GROUPING_FUNCTION", "alias": "", **place, "children": children}


def united(tree: Json, parts: Sequence[Keyed | None]) -> Keyed | None:
    """UNION ALL of the parts: the rows of each are told apart by its own keys, the parts by their number. tree: the set
    operation, already rewritten."""
    known = [part for part in parts if part is not None]
    if tree["setop_type"] != "UNION" or not tree["setop_all"] or len(known) < len(parts) or _merges(tree):
        return None
    count = sum(len(part.columns) for part in known)
    names = tuple(f"row key {number}" for number in range(count + 1))

    def widened(node: Json, number: int, before: int, own: int) -> Json:
        if node["type"] == "SET_OPERATION_NODE":
            return {**node, "children": [widened(child, number, before, own) for child in node["children"]]}
        kept = node["select_list"][: len(node["select_list"]) - own]
        values = [_constant("INTEGER", str(number)), *(_constant("NULL_LITERAL", "") for _ in range(count))]
        values[1 + before : 1 + before + own] = node["select_list"][len(kept) :]
        return {**node, "select_list": [*kept, *({**v, "alias": n} for v, n in zip(values, names, strict=True))]}

    trees, uncut, before = [], [], 0
    for number, part in enumerate(known):
        own = len(part.columns)
        trees.append(widened(part.tree, number, before, own))
        uncut.append(widened(part.uncut, number, before, own))
        before += own
    return Keyed({**tree, "children": trees}, {**tree, "children": uncut, "modifiers": []}, names)


def _constant(kind: str, text: str) -> Json:
    place = {"query_location": 0, "query_location_length": 0}
    return {
        "class": "CONSTANT",
        "type": "VALUE_CONSTANT",
        "alias": "",
        **place,
        "literal": {"kind": kind, "text": text},
    }


def _meeting(condition: Json | None) -> Json | None:
    """The parts of a WHERE that set a column equal to a column."""
    if condition is None:
        return None
    if condition.get("type") == "CONJUNCTION_AND":
        kept = [part for part in map(_meeting, condition["children"]) if part is not None]
        return {**condition, "children": kept} if len(kept) > 1 else kept[0] if kept else None
    if condition.get("type") != "COMPARE_EQUAL":
        return None
    return condition if condition["left"]["class"] == condition["right"]["class"] == "COLUMN_REF" else None


def joined(tree: Json, left: KeyedSource | None, right: KeyedSource | None) -> KeyedSource | None:
    """tree: the join of the two, already rewritten."""
    if left is None or right is None or tree.get("ref_type") == "NATURAL":
        # A NATURAL join would meet on the columns added here.
        return None
    columns = (*left.columns, *right.columns)
    if len({tuple(part.lower() for part in path) for path in columns}) < len(columns):
        return None
    both = {**tree, "left": left.tree, "right": right.tree}
    # More rows on one side leave the others as they are, but not where rows without any stand beside NULLs.
    more = {**tree, "left": left.uncut, "right": right.uncut} if tree["join_type"] == "INNER" else both
    return KeyedSource(both, more, columns, is_join=True)


def renamed(keyed: Keyed, alias: str, shell: Json) -> KeyedSource:
    """A SELECT as a table of a FROM clause. shell: such a clause, whose SELECT is replaced."""

    def around(node: Json) -> Json:
        made = copy.deepcopy(shell)
        made["subquery"]["node"] = node
        return made

    return KeyedSource(around(keyed.tree), around(keyed.uncut), tuple((alias, name) for name in keyed.columns))


def _with_keys(tree: Json, uncut: Json, keys: Sequence[Json]) -> Keyed:
    names = tuple(f"row key {number}" for number in range(len(keys)))
    items = [*tree["select_list"], *({**key, "alias": name} for key, name in zip(keys, names, strict=True))]
    return Keyed({**tree, "select_list": items}, {**uncut, "select_list": items}, names)


def _uncut(tree: Json) -> Json:
    """Without what leaves rows out. A window sees what WHERE leaves; QUALIFY, ORDER BY and LIMIT come after it."""
    condition = tree["where_clause"] if any(map(_windows, tree["select_list"])) else None
    return {**tree, "where_clause": condition, "qualify": None, "modifiers": []}


def _merges(select: Json) -> bool:
    return any(modifier["type"] == "DISTINCT_MODIFIER" for modifier in select["modifiers"])


def _aggregates(item: Any) -> bool:
    """Is there an aggregate over rows of this SELECT?"""
    return holds(item, is_aggregate)


def _windows(item: Any) -> bool:
    return holds(item, is_window)


def is_aggregate(part: Json) -> bool:
    return part.get("class") == "FUNCTION" and str(part.get("function_name")).lower() in AGGREGATES


def is_window(part: Json) -> bool:
    return part.get("class") == "WINDOW"


def holds(item: Any, wanted: Callable[[Json], bool]) -> bool:
    """Is such a node in the expression, not counting subqueries?"""
    if isinstance(item, list):
        return any(holds(part, wanted) for part in item)
    if not isinstance(item, dict) or item.get("class") == "SUBQUERY":
        return False
    return wanted(item) or any(holds(part, wanted) for part in item.values())
