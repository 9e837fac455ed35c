"""Rewriting the expressions of a finish: what may stand over noisy numbers, and copies of checked trees.

Flow: `finish` and `grouped` build the trees of a finish with a `Rewriter`. Each node and each field is read or refused,
and only listed functions are let through.
Proof: docs/proofs/plan/finish.md
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dither.plan.row_keys import Keyed
from dither.sql import functions
from dither.sql.bind import AGGREGATES, STANDARD_AGGREGATES, display_name
from dither.sql.parse import Tree

__all__ = ["FinishTree", "Json", "Rewriter"]

Json = dict[str, Any]

WINDOW_FUNCTIONS = frozenset(
    [
        "row_number",
        "rank",
        "dense_rank",
        "percent_rank",
        "cume_dist",
        "ntile",
        "lag",
        "lead",
        "first_value",
        "last_value",
        "nth_value",
        "first",
        "last",
        "sum",
        "avg",
        "mean",
        "min",
        "max",
        "count",
        "count_star",
        "stddev",
        "stddev_samp",
        "stddev_pop",
        "variance",
        "var_samp",
        "var_pop",
        "median",
    ]
)
# Beyond the functions that may touch private rows: these may fail on odd values, which are public here.
FINISH_FUNCTIONS = frozenset(
    [
        "cbrt",
        "radians",
        "degrees",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "pi",
        "strftime",
        "monthname",
        "dayname",
        "last_day",
        "make_date",
        "replace",
        "lpad",
        "rpad",
        "reverse",
        "left",
        "right",
        "concat_ws",
        "isfinite",
        "isnan",
        "isinf",
        "even",
        "gcd",
        "lcm",
        "factorial",
        "to_days",
        "to_months",
        "to_years",
        "to_hours",
        "to_minutes",
        "to_seconds",
        "date_add",
        "date_sub",
        "epoch",
    ]
) | frozenset(functions.BUILDERS)

_AS_SHOWN = "Format numbers where they are shown; ROUND, CAST, CONCAT, LPAD and || are on it."
UNLISTED = {
    **dict.fromkeys(["format", "printf", "bar", "format_bytes"], _AS_SHOWN),
    "typeof": "Types are public: dither explain names them.",
    "list_value": "Give each value a column of its own.",
    "struct_pack": "Give each value a column of its own.",
    "unnest": "Groups are rows already: GROUP BY what should stand in rows.",
}
"""What to write instead of functions that people try over aggregated results."""

Replace = Callable[[Tree], Json | None]


@dataclass(frozen=True)
class FinishTree:
    """A SELECT over noisy tables: its rewritten tree, its columns' names and roles, and, where its rows are those of a
    noisy table, the same with interval ends beside the aggregates."""

    tree: Json
    columns: tuple[str, ...]
    roles: tuple[str, ...]
    measures: frozenset[str]
    """Names of the measures it reads."""
    with_ends: Json | None = None
    keyed: Keyed | None = None
    """What tells its rows apart; None where nothing does."""


@dataclass(frozen=True)
class Rewriter:
    """Copies an expression's tree, replacing what `replace` gives something for and refusing what is not listed."""

    replace: Replace | None = None
    aggregates: bool = False
    """May aggregates over noisy rows stand here?"""
    lower: Callable[[Tree], FinishTree] | None = None
    """Makes a finish of a subquery's SELECT; None where subqueries cannot stand."""
    inner: list[frozenset[str]] = field(default_factory=list)
    """Measures that subqueries read, as they are met."""

    def expr(self, tree: Tree) -> Json:
        if self.replace is not None:
            replaced = self.replace(tree)
            if replaced is not None:
                return {**replaced, "alias": tree.alias}
        match tree.kind:
            case "COLUMN_REF":
                tree.take("column_names")
                return self._copy(tree, {})
            case "CONSTANT":
                tree.take("literal")
                return self._copy(tree, {})
            case "COMPARISON":
                return self._copy(tree, {"left": self._child(tree, "left"), "right": self._child(tree, "right")})
            case "CONJUNCTION":
                return self._copy(tree, {"children": self.each(tree, "children")})
            case "BETWEEN":
                return self._copy(tree, {field: self._child(tree, field) for field in ("input", "lower", "upper")})
            case "CASE":
                return self._copy(
                    tree, {"case_checks": self._checks(tree), "else_expr": self._child(tree, "else_expr")}
                )
            case "CAST":
                tree.take("type_expr")
                tree.take("try_cast")
                return self._copy(tree, {"child": self._child(tree, "child")})
            case "OPERATOR":
                return self._operator(tree)
            case "FUNCTION":
                return self._function(tree)
            case "WINDOW":
                return self._window(tree)
            case "SUBQUERY" if self.lower is not None:
                return self._subquery(tree)
            case "STAR" if self.aggregates:
                for part in ("relation_name", "exclude_list"):
                    tree.take(part)
                return self._copy(tree, {})
        raise tree.refuse("P-121", f"This ({tree.kind.replace('_', ' ').lower()}) is not supported over noisy results.")

    def modifiers(self, tree: Tree) -> list[Json]:
        """ORDER BY, LIMIT, OFFSET, DISTINCT."""
        result = []
        for modifier in tree.children("modifiers"):
            match modifier.type:
                case "ORDER_MODIFIER":
                    orders = self._orders(modifier, "orders")
                    result.append({**modifier.data, "orders": orders})
                case "LIMIT_MODIFIER":
                    changed = {f: self.optional(modifier, f) for f in ("limit", "offset")}
                    modifier.take("limit_type")
                    result.append({**modifier.data, **changed})
                case "DISTINCT_MODIFIER":
                    targets = self.each(modifier, "distinct_on_targets")
                    result.append({**copy.deepcopy(modifier.data), "distinct_on_targets": targets})
                case other:
                    raise tree.refuse("P-126", f"This modifier ({other.lower()}) is not supported.")
            modifier.done()
        return result

    def measures(self) -> frozenset[str]:
        """All measures its subqueries read."""
        return frozenset().union(*self.inner)

    def _subquery(self, tree: Tree) -> Json:
        """A noisy SELECT used as a value or a set: it stands in the finish as it is."""
        assert self.lower is not None
        body = tree.need_child("subquery")
        node = body.need_child("node")
        whole = self.lower(node)
        self.inner.append(whole.measures)
        for name in ("subquery_type", "comparison_type"):
            tree.take(name)
        changed: Json = {"subquery": {**body.data, "node": whole.tree}, "child": self.optional(tree, "child")}
        return self._copy(tree, changed)

    def _copy(self, tree: Tree, changed: Json) -> Json:
        tree.done()
        kept = {field: value for field, value in tree.data.items() if field not in changed}
        return {**copy.deepcopy(kept), **changed}

    def _child(self, tree: Tree, field: str) -> Json:
        return self.expr(tree.need_child(field))

    def optional(self, tree: Tree, field: str) -> Json | None:
        child = tree.child(field)
        return None if child is None else self.expr(child)

    def each(self, tree: Tree, field: str) -> list[Json]:
        return [self.expr(child) for child in tree.children(field)]

    def _checks(self, tree: Tree) -> list[Json]:
        checks = []
        for check in tree.take("case_checks"):
            pair = Tree({**check, "type": "CASE_CHECK"}, tree.text)
            checks.append({field: self._child(pair, field) for field in ("when_expr", "then_expr")})
            pair.done()
        return checks

    def _operator(self, tree: Tree) -> Json:
        known = (
            "OPERATOR_NOT", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "OPERATOR_COALESCE", "COMPARE_IN",
            "COMPARE_NOT_IN", "ARRAY_EXTRACT",
        )  # fmt: skip
        if tree.type not in known:
            raise tree.refuse(
                "P-121", f"This ({tree.type.replace('_', ' ').lower()}) is not supported over noisy results."
            )
        return self._copy(tree, {"children": self.each(tree, "children")})

    def _function(self, tree: Tree) -> Json:
        name = str(tree.take("function_name")).lower()
        arguments = [{"name": "", "expression": self.expr(arg)} for arg in tree.arguments()]
        if name in AGGREGATES:
            if not self.aggregates or name not in STANDARD_AGGREGATES:
                raise tree.refuse(
                    "A-102",
                    f"{display_name(name)} cannot stand here.",
                    hint="Over aggregated results COUNT, SUM, AVG, MIN, MAX, MEDIAN, quantiles, STDDEV, VARIANCE, "
                    "CORR, ARG_MAX and ARG_MIN can; a list is the rows themselves.",
                )
            tree.take("distinct")
            changed: Json = {"arguments": arguments, "filter": self.optional(tree, "filter")}
            order = Tree(tree.take("order_bys"), tree.text)
            changed["order_bys"] = {**order.data, "orders": self._orders(order, "orders")}
            return self._copy(tree, changed)
        if name not in FINISH_FUNCTIONS:
            raise tree.refuse(
                "F-101",
                f"The function {display_name(name)} is not on Dither's list.",
                hint=UNLISTED.get(
                    name, "Over aggregated results those of docs/reference/functions.md are, and a few more."
                ),
            )
        return self._copy(tree, {"arguments": arguments})

    def _window(self, tree: Tree) -> Json:
        name = str(tree.take("function_name")).lower()
        if name not in WINDOW_FUNCTIONS:
            raise tree.refuse("S-155", f"The window function {display_name(name)} is not supported.")
        for name_of_part in ("start", "end", "exclude_clause", "ignore_nulls", "has_ignore_nulls", "distinct"):
            tree.take(name_of_part)
        if tree.children("arg_orders"):
            raise tree.refuse("S-155", "ORDER BY inside a window function's arguments is not supported.")
        changed: Json = {
            "arguments": [{"name": "", "expression": self.expr(arg)} for arg in tree.arguments()],
            "partitions": self.each(tree, "partitions"),
            "orders": self._orders(tree, "orders"),
        }
        for part in ("start_expr", "end_expr", "offset_expr", "default_expr", "filter_expr"):
            changed[part] = self.optional(tree, part)
        return self._copy(tree, changed)

    def _orders(self, tree: Tree, field: str) -> list[Json]:
        result = []
        for value in tree.take(field) or []:
            order = Tree(value, tree.text)
            order.take("null_order")
            if value["expression"]["class"] == "STAR":
                result.append(self._order_by_all(order))
                continue
            changed = {**value, "expression": self._child(order, "expression")}
            order.done()
            result.append(changed)
        return result

    def _order_by_all(self, order: Tree) -> Json:
        """ORDER BY ALL: by the columns of the answer, which are public."""
        star = order.need_child("expression")
        if star.take("relation_name") or star.take("exclude_list") or star.take("expr"):
            raise star.refuse("P-121", "ORDER BY takes ALL, an expression or a column here.")
        star.take("columns")
        star.done()
        order.done()
        return copy.deepcopy(order.data)
