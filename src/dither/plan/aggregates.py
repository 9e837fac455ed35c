"""An aggregate as a question asks for it: its function and what it is of, read from the tree.

Flow: `grouped` (across people), `quantile_lists` and `unit_rows` (within one unit) read calls here; `compile` and
`unit_functions` say what each is computed from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dither.errors import QueryRefused, Span
from dither.sql.bind import AGGREGATES, Binder, display_name
from dither.sql.expressions import Expr
from dither.sql.parse import Tree
from dither.sql.refused_aggregates import NOT_MEASURED, way_forward

__all__ = ["Aggregate", "aggregate_call", "contains_aggregate"]

Json = dict[str, Any]


@dataclass(frozen=True)
class Aggregate:
    """An aggregate as asked. Two that compare equal are measured once."""

    function: str
    args: tuple[Expr, ...]
    filter: Expr | None = None
    distinct: bool = False
    ordered: tuple[Expr, bool] | None = None
    """WITHIN GROUP (ORDER BY expression [DESC])."""
    span: Span | None = field(default=None, compare=False)
    written: tuple[str, ...] = field(default=(), compare=False)
    """The arguments as the question has them, for refusals."""

    def refuse(
        self, code: str, message: str, *, hint: str | None = None, owner_hint: str | None = None
    ) -> QueryRefused:
        return QueryRefused(message, code=code, span=self.span, hint=hint, owner_hint=owner_hint)

    def need_arguments(self, count: int) -> None:
        """Raises QueryRefused where there are more or fewer."""
        if len(self.args) != count:
            name = display_name(self.function)
            raise self.refuse("F-110", f"{name} takes {count} arguments; found {len(self.args)}.")


def aggregate_call(tree: Tree, binder: Binder, *, ordered: frozenset[str] = frozenset()) -> Aggregate:
    """One aggregate of a question, its arguments bound over single rows. ordered: functions that may have an ORDER BY
    inside, beside the quantiles."""
    function = str(tree.take("function_name")).lower()
    given = tree.arguments()
    args = tuple(binder.bind(arg) for arg in given)
    distinct = bool(tree.take("distinct"))
    condition = tree.child("filter")
    filter = None if condition is None else binder.condition(condition, "FILTER")
    order = Tree(tree.take("order_bys"), tree.text)
    orders = order.take("orders") or []
    order.done()
    by: tuple[Expr, bool] | None = None
    if orders:
        by = _within_group(tree, function, orders, binder, ordered)
    tree.done()
    return Aggregate(function, args, filter, distinct, by, tree.span, tuple(arg.source for arg in given))


ORDERED = ("quantile_cont", "quantile_disc", "percentile_cont", "percentile_disc", "mode")


def _within_group(
    tree: Tree, function: str, orders: list[Json], binder: Binder, also: frozenset[str]
) -> tuple[Expr, bool]:
    nulls = str(orders[0].get("null_order", ""))
    default = function not in also or nulls in ("ORDER_DEFAULT", "NULLS LAST", "NULLS_LAST")
    if (function not in ORDERED and function not in also) or len(orders) != 1 or not default:
        shown = [Tree(argument["expression"], tree.text).source for argument in tree.data.get("arguments") or []]
        raise tree.refuse(
            "A-103",
            f"ORDER BY inside {display_name(function)} is not supported.",
            hint=way_forward(function, shown) if function in NOT_MEASURED else "Write it without ORDER BY.",
        )
    order = Tree(orders[0], tree.text)
    order.take("null_order")
    expr = binder.bind(order.need_child("expression"))
    order.done()
    return expr, order.type == "DESCENDING"


def contains_aggregate(tree: Tree) -> bool:
    """Is there an aggregate (not inside a window's own call, not inside a subquery) below this node?"""
    stack: list[Any] = [tree.data]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, dict):
            if item.get("class") == "FUNCTION" and str(item.get("function_name")).lower() in AGGREGATES:
                return True
            if item.get("class") == "OPERATOR" and item.get("type") == "GROUPING_FUNCTION":
                return True
            if item.get("class") != "SUBQUERY":
                stack.extend(item.values())
    return False
