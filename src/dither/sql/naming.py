"""What an output column is called where the question gives it no alias: what DuckDB calls it.

Flow: lowering names the columns of each SELECT by these; nothing here looks at data.
"""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable, Iterable
from typing import Any

import duckdb

from dither.errors import QueryRefused
from dither.sql import embedded
from dither.sql.parse import Tree

__all__ = ["apart", "item_name"]

Spelling = Callable[[list[str]], str | None]
"""The name of the column that a path names, as its table spells it; None where the path names none."""


def item_name(item: Tree, spelling: Spelling | None = None) -> str:
    """Its alias, its column as the table spells it, or the expression as DuckDB prints it: `count_star()`, `sum(age)`,
    `(age + 1)`. A tool that reads DuckDB's answers finds its columns in ours."""
    if item.alias:
        return item.alias
    if item.kind == "COLUMN_REF":
        path = [str(part) for part in item.data["column_names"]]
        return (spelling and spelling(path)) or path[-1]
    try:
        return _printed(json.dumps(item.data))
    except (duckdb.Error, QueryRefused):
        # Too deep to be printed, which it need not be.
        return item.source or item.kind.lower()


def apart(names: Iterable[str]) -> list[str]:
    """The names of a subquery's columns, told apart as DuckDB does it: a, a_1, a_2."""
    taken: dict[str, int] = {}
    found = []
    for name in names:
        number = taken.get(name.lower(), 0)
        taken[name.lower()] = number + 1
        found.append(f"{name}_{number}" if number else name)
    return found


@functools.lru_cache(maxsize=512)
def _printed(item: str) -> str:
    shell = copy.deepcopy(_select_one())
    shell["statements"][0]["node"]["select_list"] = [json.loads(item)]
    return embedded.print_tree(shell).removeprefix("SELECT ").rstrip(";")


@functools.lru_cache(maxsize=1)
def _select_one() -> dict[str, Any]:
    """SELECT 1 as this version of DuckDB writes it."""
    return embedded.parse_json("SELECT 1")
