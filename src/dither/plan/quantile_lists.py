"""Aggregates that give several quantiles as one list: each becomes an aggregate, and the finish lists them again.

    QUANTILE_CONT(x, [0.25, 0.5, 0.75])      a list of shares, in its order (DuckDB)
    APPROX_QUANTILES(x, 10)                  minimum, nine deciles, maximum (BigQuery)

Flow: `grouped` asks here before it binds an aggregate. The elements are measured as one vector (`quantiles`).
"""

from __future__ import annotations

import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dither.plan.aggregates import Aggregate, aggregate_call
from dither.plan.quantiles import MOST_QUANTILES
from dither.sql.bind import Binder, display_name
from dither.sql.expressions import literal
from dither.sql.parse import Tree

__all__ = ["calls_of"]

Json = dict[str, Any]
MOST_PARTS = MOST_QUANTILES - 1
LISTING = frozenset(
    ["approx_quantile", "quantile", "quantile_cont", "quantile_disc", "percentile_cont", "percentile_disc"]
)


def calls_of(tree: Tree, binder: Binder) -> list[Aggregate] | None:
    """The aggregates that the call lists, in order; None where it is an aggregate of one value."""
    name = str(tree.data.get("function_name")).lower()
    if name == "approx_quantiles":
        return _evenly(tree, binder)
    arguments = tree.data.get("arguments") or []
    if name not in LISTING or not any(_is_list(argument) for argument in arguments):
        return None
    place = next(i for i, argument in enumerate(arguments) if _is_list(argument))
    shares = arguments[place]["expression"].get("arguments") or []
    if not 1 <= len(shares) <= MOST_QUANTILES:
        raise tree.refuse("A-107", f"{display_name(name)} takes a list of 1 to {MOST_QUANTILES} shares.")
    return [_call(tree, binder, [*arguments[:place], share, *arguments[place + 1 :]]) for share in shares]


def _evenly(tree: Tree, binder: Binder) -> list[Aggregate]:
    """The quantiles that split the rows into n equal parts, and both extremes. They keep the type, as in BigQuery."""
    arguments = tree.data.get("arguments") or []
    found = arguments[1]["expression"] if len(arguments) == 2 else {}
    count = found.get("literal", {})
    parts = int(count["text"]) if count.get("kind") == "INTEGER" and str(count["text"]).isdigit() else 0
    if not 1 <= parts <= MOST_PARTS:
        raise tree.refuse("A-107", f"APPROX_QUANTILES takes an expression and a number of parts, 1 to {MOST_PARTS}.")
    call = replace(_call(tree, binder, arguments), function="quantile_disc")
    shares = [literal(Fraction(i, parts), scale=18) for i in range(parts + 1)]
    return [replace(call, args=(call.args[0], share)) for share in shares]


def _call(tree: Tree, binder: Binder, arguments: list[Json]) -> Aggregate:
    return aggregate_call(Tree(copy.deepcopy({**tree.data, "arguments": arguments}), tree.text), binder)


def _is_list(argument: Json) -> bool:
    expression = argument.get("expression", {})
    return bool(expression.get("class") == "FUNCTION" and expression.get("function_name") == "list_value")
