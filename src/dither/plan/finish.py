"""The finish: SQL over noisy tables, rewritten from the checked tree.

Flow: `grouped` rewrites a SELECT over private rows into one over its measure's noisy table; `lower` passes SELECTs over
such results through `over_noisy`. What comes out is printed by DuckDB from the tree, never from the analyst's text.
Everything here is post-processing of released numbers: it can be free, but it must be *that question*, so each node
and each field is read or refused, and only listed functions are let through.
Proof: docs/proofs/plan/finish.md
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dither.errors import QueryRefused
from dither.plan.growth import check_growth
from dither.sql import embedded, functions
from dither.sql.bind import AGGREGATES, STANDARD_AGGREGATES, display_name
from dither.sql.parse import Tree
from dither.sql.printing import quote_name

__all__ = [
    "FinishTree",
    "NoisySource",
    "Rewriter",
    "as_table",
    "join_noisy",
    "list_of",
    "over_noisy",
    "set_operation",
    "to_sql",
]

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


@dataclass(frozen=True)
class NoisySource:
    """A FROM clause over noisy tables, already rewritten."""

    tree: Json
    measures: frozenset[str]
    whole: FinishTree | None = None
    """The SELECT it is, where it is one and not a join."""
    alias: str = ""


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
                return self._copy(tree, {"children": self._list(tree, "children")})
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
                    changed = {f: self._optional(modifier, f) for f in ("limit", "offset")}
                    result.append({**modifier.data, **changed})
                case "DISTINCT_MODIFIER":
                    if modifier.take("distinct_on_targets"):
                        raise tree.refuse("S-154", "DISTINCT ON is not supported.", hint="Use GROUP BY.")
                    result.append(copy.deepcopy(modifier.data))
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
        changed: Json = {"subquery": {**body.data, "node": whole.tree}, "child": self._optional(tree, "child")}
        return self._copy(tree, changed)

    def _copy(self, tree: Tree, changed: Json) -> Json:
        tree.done()
        return {**copy.deepcopy(tree.data), **changed}

    def _child(self, tree: Tree, field: str) -> Json:
        return self.expr(tree.need_child(field))

    def _optional(self, tree: Tree, field: str) -> Json | None:
        child = tree.child(field)
        return None if child is None else self.expr(child)

    def _list(self, tree: Tree, field: str) -> list[Json]:
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
        return self._copy(tree, {"children": self._list(tree, "children")})

    def _function(self, tree: Tree) -> Json:
        name = str(tree.take("function_name")).lower()
        arguments = [{"name": "", "expression": self.expr(arg)} for arg in tree.arguments()]
        if name in AGGREGATES:
            if not self.aggregates or name not in STANDARD_AGGREGATES:
                raise tree.refuse("A-102", f"{display_name(name)} cannot stand here.")
            tree.take("distinct")
            changed: Json = {"arguments": arguments, "filter": self._optional(tree, "filter")}
            order = Tree(tree.take("order_bys"), tree.text)
            changed["order_bys"] = {**order.data, "orders": self._orders(order, "orders")}
            return self._copy(tree, changed)
        if name not in FINISH_FUNCTIONS:
            raise tree.refuse("F-101", f"The function {display_name(name)} is not on Dither's list.")
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
            "partitions": self._list(tree, "partitions"),
            "orders": self._orders(tree, "orders"),
        }
        for part in ("start_expr", "end_expr", "offset_expr", "default_expr", "filter_expr"):
            changed[part] = self._optional(tree, part)
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


def over_noisy(tree: Tree, source: NoisySource, lower: Callable[[Tree], FinishTree]) -> FinishTree:
    """A SELECT over noisy tables: any listed SQL, aggregates included."""
    rewriter = Rewriter(aggregates=True, lower=lower)
    items = tree.children("select_list")
    changed: Json = {
        "cte_map": {"map": []},
        "select_list": [rewriter.expr(item) for item in items],
        "from_table": source.tree,
        "where_clause": rewriter._optional(tree, "where_clause"),
        "group_expressions": rewriter._list(tree, "group_expressions"),
        "having": rewriter._optional(tree, "having"),
        "qualify": rewriter._optional(tree, "qualify"),
        "modifiers": rewriter.modifiers(tree),
    }
    tree.take("group_sets")
    tree.take("aggregate_handling")
    tree.done()
    names = tuple(item_name(item) for item in items)
    roles = _roles_over(changed, source.whole)
    return FinishTree({**tree.data, **changed}, names, roles, source.measures | rewriter.measures())


def _roles_over(outer: Json, inner: FinishTree | None) -> tuple[str, ...]:
    """Columns that tell rows apart, where the rows are those of a SELECT below and all its groups are shown."""
    items = outer["select_list"]
    keys = (
        set() if inner is None else {n.lower() for n, r in zip(inner.columns, inner.roles, strict=True) if r == "key"}
    )
    shown = [
        item["column_names"][-1].lower() if item["class"] == "COLUMN_REF" and not outer["group_expressions"] else ""
        for item in items
    ]
    if not keys or not keys <= set(shown):
        return ("derived",) * len(items)
    return tuple("key" if name in keys else "derived" for name in shown)


def set_operation(tree: Tree, parts: list[FinishTree]) -> FinishTree:
    """UNION, EXCEPT, INTERSECT of SELECTs over noisy tables."""
    for part in ("setop_type", "setop_all", "left", "right", "children"):
        tree.take(part)
    if str(tree.data.get("setop_type")) not in ("UNION", "EXCEPT", "INTERSECT"):
        raise tree.refuse("P-127", "This set operation is not supported.")
    modifiers = Rewriter().modifiers(tree)
    tree.done()
    children = [part.tree for part in parts]
    changed: Json = {"modifiers": modifiers, "cte_map": {"map": []}, "children": children}
    measures = frozenset().union(*(part.measures for part in parts))
    return FinishTree({**tree.data, **changed}, parts[0].columns, ("derived",) * len(parts[0].columns), measures)


def as_table(whole: FinishTree, alias: str) -> NoisySource:
    """A rewritten SELECT as a table of a FROM clause."""
    shell = _from_of("SELECT * FROM (SELECT 1) AS x")
    shell["alias"] = alias
    shell["subquery"]["node"] = whole.tree
    return NoisySource(shell, whole.measures, whole, alias)


def no_table() -> NoisySource:
    """A SELECT without FROM: it may still hold noisy subqueries."""
    return NoisySource({"type": "EMPTY", "alias": "", "sample": None}, frozenset())


def join_noisy(tree: Tree, left: NoisySource, right: NoisySource) -> NoisySource:
    """A join of two noisy tables: public by now."""
    kind, reference = str(tree.take("join_type")), str(tree.take("ref_type"))
    if kind not in ("INNER", "LEFT", "RIGHT", "OUTER") or reference not in ("REGULAR", "CROSS", "NATURAL"):
        raise tree.refuse("S-115", "This kind of join is not supported.")
    tree.take("using_columns")
    tree.take("is_implicit")
    condition = tree.child("condition")
    changed: Json = {"left": left.tree, "right": right.tree}
    changed["condition"] = None if condition is None else Rewriter().expr(condition)
    tree.done()
    return NoisySource({**tree.data, **changed}, left.measures | right.measures)


def table_named(name: str) -> Json:
    """The FROM clause that reads one noisy table."""
    return _from_of(f"SELECT * FROM {quote_name(name)}")


def from_sql(sql: str) -> Json:
    """The FROM clause that reads a SELECT of our own."""
    return _from_of(f"SELECT * FROM ({sql}) AS noisy")


def column_named(name: str) -> Json:
    return {**copy.deepcopy(_column_shape()), "column_names": [name]}


def list_of(names: Sequence[str]) -> Json:
    """[a, b, c] of columns."""
    shape = copy.deepcopy(_sum_shape())
    arguments = [{"name": "", "expression": column_named(name)} for name in names]
    path = {"path": ["list_value"]}
    return {
        **shape,
        "function_name": "list_value",
        "arguments": arguments,
        "qualified_name": path,
        "is_operator": False,
    }


def plus_minus(item: Json, sign: str, half: Json, alias: str) -> Json:
    """`item - half` or `item + half`."""
    shape = copy.deepcopy(_sum_shape())
    arguments = [{"name": "", "expression": {**part, "alias": ""}} for part in (item, half)]
    return {**shape, "function_name": sign, "arguments": arguments, "qualified_name": {"path": [sign]}, "alias": alias}


def to_sql(tree: Json) -> str:
    """The text DuckDB prints for a rewritten tree."""
    check_growth(tree)
    statement = {"error": False, "statements": [{"node": tree, "named_param_map": []}]}
    return embedded.print_tree(statement)


def only_picks(tree: Json) -> bool:
    """Is every expression of the tree a column or a constant, and no row cut off? Such a finish cannot fail; the
    constants of LIMIT and OFFSET can be below zero or too large."""
    stack: list[Any] = [tree]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, dict):
            if item.get("class", "COLUMN_REF") not in ("COLUMN_REF", "CONSTANT"):
                return False
            if item.get("type") == "LIMIT_MODIFIER":
                return False
            stack.extend(item.values())
    return True


def item_name(item: Tree) -> str:
    """What an output column is called: its alias, its column, or what was written."""
    if item.alias:
        return item.alias
    if item.kind == "COLUMN_REF":
        return str(item.data["column_names"][-1])
    return item.source or item.kind.lower()


def _from_of(sql: str) -> Json:
    return copy.deepcopy(_parsed_from(sql))


@functools.lru_cache(maxsize=256)
def _parsed_from(sql: str) -> Json:
    node: Json = embedded.parse_json(sql)["statements"][0]["node"]["from_table"]
    return node


@functools.lru_cache(maxsize=1)
def _column_shape() -> Json:
    """A column reference as this version of DuckDB writes it."""
    node: Json = embedded.parse_json("SELECT x")["statements"][0]["node"]["select_list"][0]
    return node


@functools.lru_cache(maxsize=1)
def _sum_shape() -> Json:
    """x + y as this version of DuckDB writes it."""
    node: Json = embedded.parse_json("SELECT x + y")["statements"][0]["node"]["select_list"][0]
    return node


def refuse_star(tree: Tree) -> QueryRefused:
    return tree.refuse(
        "S-101",
        "`*` asks for whole rows of people.",
        hint='Name aggregates instead; dither try "SELECT * ..." shows invented rows.',
    )
