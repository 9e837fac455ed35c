"""WITH: the tables that a query names beforehand, and which of them are in reach where.

Flow: `lower` and `subqueries` read the WITH of each query; `from_clause` lowers a table of it where it is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dither.catalog.model import fold
from dither.sql.parse import Tree

__all__ = ["Environment", "with_clause"]


@dataclass(frozen=True)
class Environment:
    """The CTEs in reach: name -> (tree of its SELECT, its columns' names where the question gives them, the environment
    it was written in)."""

    ctes: Mapping[str, tuple[Tree, list[str], Environment]] = field(default_factory=dict)


def with_clause(tree: Tree, environment: Environment) -> Environment:
    """What is in reach inside a query: its own tables of WITH, each seeing those before it, and what was in reach."""
    ctes = dict(environment.ctes)
    for entry in (tree.take("cte_map") or {}).get("map", []):
        cte = Tree({**entry["value"], "type": "CTE"}, tree.text)
        body = Tree(cte.take("query_node"), tree.text)
        cte.take("materialized")
        if body.type == "RECURSIVE_CTE_NODE":
            raise body.refuse(
                "S-152",
                "Recursive queries are not supported.",
                hint="Rows of numbers or days come from range(1, 6) or generate_series(DATE '2024-01-01', ...).",
            )
        names = [str(name) for name in cte.take("aliases") or []]
        cte.done()
        ctes[fold(entry["key"])] = (body, names, Environment(dict(ctes)))
    return Environment(ctes)
