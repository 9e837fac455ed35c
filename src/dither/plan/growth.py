"""What the SQL of a finish could grow into, worked out before it runs: long texts, aliases of aliases, pairs of rows.

Flow: `finish.to_sql` calls `check_growth` with the whole tree, `answer.finishing` asks `joined_rows` where its tables
are large. A database's memory limit does not hold for single
texts: a few nested REPLACE or `||` would make gigabytes of one short label, in a process that all analysts share. And
it writes aliases of the same SELECT list out, so that a dozen, each naming the last one twice, keep it busy for ever.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dither.errors import QueryRefused
from dither.plan.row_keys import holds, is_aggregate, is_window
from dither.sql.functions.registry import STORED_TEXT

__all__ = ["LONGEST_TEXT", "MOST_NODES", "MOST_PAIRS", "check_growth", "joined_rows", "too_large"]

LONGEST_TEXT = 100_000
"""Characters: a batch of a few thousand such texts fits into memory many times over."""

MOST_NODES = 10_000
"""Parts of one expression with all names written out; written by hand, a question has room for a few thousand."""

MOST_PAIRS = 2**32
"""Of rows that a join without a condition makes, all to be looked at: about a second for each 2^32 of them."""

Json = Mapping[str, Any]
_OTHER = 64
"""Numbers, dates, names of months, digests: what is no text below but may be printed as one."""


def check_growth(tree: Json) -> None:
    """Refuse a tree in which some text could have more than LONGEST_TEXT characters, or an expression MOST_NODES."""
    _longest(tree, STORED_TEXT, {})
    _nodes(tree, {})


def too_large() -> QueryRefused:
    """The refusal of names that stand for names, each several times."""
    return QueryRefused(
        "This question is too large once every name in it is written out.",
        code="P-109",
        hint="Name the same alias, column or WITH table fewer times.",
    )


def joined_rows(tree: Json, sizes: Mapping[str, int]) -> int | None:
    """How many rows the tree gives, where that follows from the sizes of its tables alone; else None. Refuses joins
    without any condition that would make more than MOST_PAIRS, whatever becomes of the pairs."""
    if tree["type"] == "SET_OPERATION_NODE":
        parts = [joined_rows(child, sizes) for child in tree["children"]]
        known = [part for part in parts if part is not None]
        whole = len(known) == len(parts) and tree["setop_type"] == "UNION" and tree["setop_all"]
        return sum(known) if whole and not tree["modifiers"] else None
    source = _source_rows(tree["from_table"], sizes)
    kinds = {modifier["type"] for modifier in tree["modifiers"]}
    aggregated = any(holds(item, is_aggregate) for item in tree["select_list"])
    looks_at_all = (
        aggregated or "ORDER_MODIFIER" in kinds or any(holds(item, is_window) for item in tree["select_list"])
    )
    stops = "LIMIT_MODIFIER" in kinds and not looks_at_all
    # With a WHERE the join may be on a key after all.
    product = tree["from_table"]["type"] == "JOIN" and _always(tree["where_clause"])
    if source is not None and source > MOST_PAIRS and product and not stops:
        raise QueryRefused(
            f"The SQL over the aggregates would join {source:,} pairs of rows; at most {MOST_PAIRS:,} are looked at.",
            code="F-175",
            hint="Join on a key; aggregate before joining.",
        )
    cut = any(tree.get(part) is not None for part in ("where_clause", "having", "qualify"))
    if cut or tree["group_expressions"] or tree["aggregate_handling"] != "STANDARD_HANDLING":
        return None
    if kinds - {"ORDER_MODIFIER"}:
        return None
    return 1 if aggregated else source


def _source_rows(source: Json, sizes: Mapping[str, int]) -> int | None:
    """Of a FROM clause."""
    match source["type"]:
        case "BASE_TABLE":
            return sizes.get(str(source["table_name"]))
        case "SUBQUERY":
            return joined_rows(source["subquery"]["node"], sizes)
        case "EMPTY":
            return 1
        case "JOIN":
            left, right = _source_rows(source["left"], sizes), _source_rows(source["right"], sizes)
            free = source["ref_type"] in ("CROSS", "REGULAR") and not source["using_columns"]
            if left is None or right is None or not free or not _always(source["condition"]):
                return None
            return left * right
    return None


def _always(condition: Json | None) -> bool:
    """Nothing, or TRUE."""
    if condition is None:
        return True
    return condition.get("class") == "CONSTANT" and str(condition["literal"].get("text")).lower() == "true"


def _nodes(item: Any, aliases: dict[str, int]) -> int:
    """Expressions in `item`, with aliases of its SELECT list written out."""
    if isinstance(item, list):
        return sum(_nodes(part, aliases) for part in item)
    if not isinstance(item, dict):
        return 0
    if "select_list" in item:
        named = dict(aliases)
        for entry in item["select_list"]:
            found = _nodes(entry, named)
            if entry.get("alias"):
                named[str(entry["alias"]).lower()] = found
        for part, value in item.items():
            if part != "select_list":
                _nodes(value, aliases if part in ("cte_map", "from_table") else named)
        return 1
    if item.get("class") == "COLUMN_REF":
        path = item["column_names"]
        return aliases.get(str(path[0]).lower(), 1) if len(path) == 1 else 1
    found = ("class" in item) + sum(_nodes(value, aliases) for value in item.values())
    if found > MOST_NODES:
        raise too_large()
    return found


def _longest(item: Any, column: int, aliases: dict[str, int]) -> int:
    """The most characters of any text in `item`. column: of the columns it reads; aliases: of those named so far."""
    if isinstance(item, list):
        return max((_longest(part, column, aliases) for part in item), default=0)
    if not isinstance(item, dict):
        return 0
    if "select_list" in item:
        return _of_select(item, column, aliases)
    match item.get("class"):
        case "COLUMN_REF":
            return max(column, aliases.get(str(item["column_names"][-1]).lower(), 0))
        case "CONSTANT":
            return len(_constant(item) or "")
        case "FUNCTION":
            return _of_function(item, column, aliases)
    return max((_longest(value, column, aliases) for value in item.values()), default=0)


def _of_select(select: Json, column: int, aliases: dict[str, int]) -> int:
    below = max(column, *(_longest(select.get(part), column, aliases) for part in ("cte_map", "from_table")))
    named = dict(aliases)
    longest = 0
    for entry in select["select_list"]:
        found = _longest(entry, below, named)
        longest = max(longest, below if entry.get("class") == "STAR" else found)
        if entry.get("alias"):
            named[str(entry["alias"]).lower()] = max(found, named.get(str(entry["alias"]).lower(), 0))
    for part, value in select.items():
        if part not in ("cte_map", "from_table", "select_list"):
            _longest(value, below, named)
    return longest


def _of_function(call: Json, column: int, aliases: dict[str, int]) -> int:
    args = [argument["expression"] for argument in call["arguments"]]
    lengths = [_longest(arg, column, aliases) for arg in args]
    _longest([call.get("filter"), call.get("order_bys")], column, aliases)
    match str(call["function_name"]).lower(), lengths:
        case "concat" | "||", _:
            found = sum(max(length, _OTHER if length else 0) for length in lengths)
        case "concat_ws", [separator, *parts]:
            found = sum(parts) + separator * len(parts)
        case "lpad" | "rpad", [_, _, _]:
            wide = args[1].get("literal", {}) if args[1].get("class") == "CONSTANT" else {}
            known = wide.get("kind") == "INTEGER" and str(wide["text"]).isdigit()
            found = int(wide["text"]) if known else LONGEST_TEXT + 1
        case "replace", [text, _, new]:
            old = len(_constant(args[1]) or "?")
            found = text + text // max(1, old) * max(0, new - old)
        case "regexp_replace", [text, _, new, *_]:
            found = _replaced(text, new, _constant(args[2]), everywhere=len(args) > 3)
        case "list_value", _:
            # Ours alone, of chosen numbers and dates; printed as a text, each has a comma and a space.
            found = len(lengths) * _OTHER
        case "strftime", _:
            found = 16 * max(lengths, default=0)
        case _:
            found = max([_OTHER, *lengths])
    if found > LONGEST_TEXT:
        raise QueryRefused(
            f"The SQL over the aggregates could build a text of more than {LONGEST_TEXT:,} characters.",
            code="F-173",
            hint="Join fewer texts, or take SUBSTRING first.",
        )
    return found


def _replaced(text: int, new: int, constant: str | None, *, everywhere: bool) -> int:
    """A pattern matches once, or before, between and after all characters; what its groups matched is text again."""
    groups = new if constant is None else len(re.findall(r"\\\d", constant))
    return text + new * (text + 1 if everywhere else 1) + groups * text


def _constant(tree: Json) -> str | None:
    return str(tree["literal"].get("text") or "") if tree.get("class") == "CONSTANT" else None
