"""Aggregates and windows within one unit: they make rows of rows, and everything about them depends on that unit alone.

Flow: `rows` calls these. Float sums run on an integer grid, decimals add up as they are, and every order is completed
by all columns, so that neither the order of rows nor anybody else's rows can change a bit.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.errors import QueryRefused
from dither.plan import joins, nodes, separable, unit_functions
from dither.plan.aggregates import Aggregate, aggregate_call, contains_aggregate
from dither.plan.decimals import exact_within_unit
from dither.plan.grids import grid_of
from dither.plan.group_keys import GroupKeys, select_items
from dither.plan.separable import Relation
from dither.plan.unit_hints import unit_hint
from dither.sql.bind import AGGREGATES, Binder, call_of, display_name
from dither.sql.expressions import Expr, literal, make_column
from dither.sql.functions import logic
from dither.sql.naming import item_name
from dither.sql.parse import Tree
from dither.sql.types import BOOLEAN, DOUBLE, INTEGER, Bound, Kind, Type, decimal_limit, magnitude
from dither.sql.units import identity

if TYPE_CHECKING:
    from dither.plan.lower import Lowering

__all__ = ["WindowBinder", "aggregate", "joined_aggregate"]

RANKINGS = ("row_number", "rank", "dense_rank", "ntile")
SHARES = ("percent_rank", "cume_dist")
SHIFTS = ("lag", "lead", "first_value", "last_value", "nth_value")
COUNTS = ("count", "count_star")
"""Never NULL. COUNT_IF is, as in DuckDB, where its condition is unknown on every row."""
SIMPLE = {
    "count": "count", "count_star": "count_star", "sum": "sum", "avg": "avg", "mean": "avg", "min": "min", "max": "max",
    "bool_and": "bool_and", "bool_or": "bool_or", "count_if": "count_if", "countif": "count_if",
}  # fmt: skip


def aggregate(lowering: Lowering, tree: Tree, relation: Relation, keys: GroupKeys) -> Relation:
    """SELECT ... FROM rows GROUP BY unit, ...: one row per unit and value of the other keys."""
    for field in ("cte_map", "group_expressions", "group_sets"):
        tree.take(field)
    for modifier in tree.children("modifiers"):
        if modifier.type != "ORDER_MODIFIER":
            raise tree.refuse(
                "S-153",
                "LIMIT and DISTINCT are not supported on rows grouped by the unit.",
                hint="Use them after aggregating over all of them.",
            )
        # An order of rows means nothing to what counts them.
        modifier.take("orders")
        modifier.done()
    collected: list[tuple[Aggregate, Expr]] = []
    named = [(f"key {i}", expr) for i, expr in enumerate(keys.exprs)]

    def special(node: Tree) -> Expr | None:
        return _special(node, lowering, relation, keys, collected)

    binder = Binder(relation.scope, special=special, now=lowering.now)
    items = [(item_name(item, relation.scope.spelling), binder.bind(item)) for item in select_items(tree, relation)]
    having_tree = tree.child("having")
    having = None if having_tree is None else binder.condition(having_tree, "HAVING")
    if tree.child("qualify") is not None:
        raise tree.refuse("S-156", "QUALIFY is not supported on rows grouped by the unit.", hint="Use a subquery.")
    tree.done()
    calls = [(f"aggregate {i}", _call(a, column), column) for i, (a, column) in enumerate(collected)]
    result = separable.unit_aggregate(relation, named, calls, lowering.ids)
    # The items speak of the keys as they were below; above, they are the aggregate's own columns.
    replaced = {}
    for key, column in zip(keys.exprs, result.columns, strict=False):
        replaced[key] = column.expr
        below, above = identity(key), identity(column.expr)
        if below is not None and above is not None:
            replaced[below] = above
    result = result if having is None else separable.filter_rows(result, _over(having, replaced))
    return separable.project(result, [(name, _over(expr, replaced)) for name, expr in items], lowering.ids)


def joined_aggregate(lowering: Lowering, outer: Relation, inner: Relation, item: Tree) -> tuple[Expr, Relation]:
    """One aggregate of `inner` per unit, left-joined to `outer` on the unit; COUNT is 0 where there are no rows."""
    unit = separable.unit_expression(inner)
    keys = GroupKeys((), (unit,), ("unit",), ((0,),))
    collected: list[tuple[Aggregate, Expr]] = []
    binder = Binder(
        inner.scope, special=lambda node: _special(node, lowering, inner, keys, collected), now=lowering.now
    )
    value = binder.bind(item)
    if not collected:
        raise item.refuse("S-124", "A subquery used as a value must aggregate.")
    calls = [(f"aggregate {i}", _call(a, column), column) for i, (a, column) in enumerate(collected)]
    per_unit = separable.unit_aggregate(inner, [("unit", unit)], calls, lowering.ids)
    units = (separable.unit_expression(outer), separable.unit_expression(per_unit))
    match = Expr(logic.COMPARE["="], BOOLEAN, units, nullable=False)
    facts = lowering.facts
    joined = joins.join(outer, per_unit, "left", match, lowering.ids, facts, item.span)
    visible = replace(joined, columns=joined.columns[: len(outer.columns)])
    counts = {column for a, column in collected if a.function in COUNTS}
    zero = literal(0)
    filled = {
        column: logic.coalesce(call_of(item, "COALESCE", replace(column, nullable=True), zero))
        if column in counts
        else replace(column, nullable=True)
        for _, column in collected
    }
    return _over(value, filled), visible


class WindowBinder(Binder):
    """Binds a SELECT list over rows; each window call becomes a column of a UnitWindow below."""

    def __init__(self, lowering: Lowering, relation: Relation) -> None:
        super().__init__(relation.scope, special=self._window_or_none, now=lowering.now)
        self.lowering = lowering
        self.relation = relation

    def _window_or_none(self, tree: Tree) -> Expr | None:
        if tree.kind == "SUBQUERY":
            from dither.plan import subqueries

            expr, self.relation = subqueries.scalar(self.lowering, self.relation, tree)
            return expr
        if tree.kind != "WINDOW":
            return None
        if not self.relation.protected:
            raise tree.refuse("S-150", "Window functions over public tables are not supported.")
        call, column = self._window(tree)
        self.relation = separable.unit_window(self.relation, [(call, column)])
        return column

    def _window(self, tree: Tree) -> tuple[nodes.WindowCall, Expr]:
        name = str(tree.take("function_name")).lower()
        inner = Binder(self.relation.scope, now=self.lowering.now)
        args = tuple(inner.bind(arg) for arg in tree.arguments())
        partition = tuple(inner.bind(part) for part in tree.children("partitions"))
        whose = [self.relation.is_unit(expr) for expr in partition]
        if not any(whose):
            raise tree.refuse(
                "S-150",
                "This window looks across people: its value for one row depends on others' rows.",
                hint=unit_hint(partition, self.relation)
                or "Add the unit's column to PARTITION BY; windows over aggregated results need nothing.",
            )
        partition = tuple(
            (identity(expr) or expr) if unit else expr for expr, unit in zip(partition, whose, strict=True)
        )
        order = tuple(self._order(Tree(entry, tree.text), inner) for entry in tree.take("orders") or [])
        condition = tree.child("filter_expr")
        filter = None if condition is None else inner.condition(condition, "FILTER")
        frame = _frame(tree)
        if tree.take("distinct") or tree.take("ignore_nulls") or tree.take("arg_orders"):
            raise tree.refuse(
                "S-157",
                "DISTINCT, IGNORE NULLS and ORDER BY inside a window's arguments are not supported.",
                hint="Leave rows out below it: FROM (SELECT * FROM t WHERE x IS NOT NULL).",
            )
        tree.take("has_ignore_nulls")
        extra = [inner.bind(e) for e in (tree.child("offset_expr"), tree.child("default_expr")) if e is not None]
        tree.done()
        return self._typed(tree, name, (*args, *extra), partition, order, frame, filter)

    def _order(self, entry: Tree, inner: Binder) -> tuple[Expr, str, str]:
        expr = inner.bind(entry.need_child("expression"))
        descending = entry.type == "DESCENDING"
        nulls = {"ORDER_DEFAULT": "NULLS LAST", "NULLS_FIRST": "NULLS FIRST", "NULLS_LAST": "NULLS LAST"}
        where = nulls.get(
            str(entry.take("null_order")).replace("NULLS FIRST", "NULLS_FIRST").replace("NULLS LAST", "NULLS_LAST")
        )
        if where is None:
            raise entry.refuse("S-157", "This order of NULLs is not supported.")
        entry.done()
        return expr, "DESC" if descending else "ASC", where

    def _typed(
        self,
        tree: Tree,
        name: str,
        args: tuple[Expr, ...],
        partition: tuple[Expr, ...],
        order: tuple[tuple[Expr, str, str], ...],
        frame: str,
        filter: Expr | None,
    ) -> tuple[nodes.WindowCall, Expr]:
        tau = self.relation.tau
        identifier = self.lowering.ids.column()
        ties_matter = name in ("row_number", "ntile", *SHIFTS) or frame.startswith("ROWS")
        if name == "ntile":
            _need_constant(tree, args, 1, "NTILE takes a constant number of parts.", least=1)
        if name == "nth_value":
            _need_constant(tree, args[1:], 1, "NTH_VALUE takes a constant number of the row.", least=1)
        if name in ("lag", "lead") and len(args) > 1:
            _need_constant(tree, args[1:], 1, f"{display_name(name)} takes a constant distance.", least=0)
        if name in RANKINGS and (not args or name == "ntile"):
            column = make_column(identifier, INTEGER, nullable=False, lo=1, hi=tau)
        elif name in SHARES and not args:
            column = make_column(identifier, DOUBLE, nullable=False, lo=0.0, hi=1.0)
        elif name in SHIFTS and args:
            first = args[0]
            column = make_column(identifier, first.type, nullable=True, lo=first.lo, hi=first.hi, length=first.length)
            if len(args) > 2:
                raise tree.refuse(
                    "S-157", f"{display_name(name)} with a default is not supported.", hint="Use COALESCE."
                )
        elif name in SIMPLE and len(args) <= 1:
            function = "count_star" if SIMPLE[name] == "count" and not args else SIMPLE[name]
            aggregate = Aggregate(function, args, filter)
            type, lo, hi = _result(aggregate, tau, tree)
            column = make_column(identifier, type, nullable=function not in COUNTS, lo=lo, hi=hi)
            name = "count" if function == "count_star" else function
            args = tuple(_counted(arg) if function == "count" else arg for arg in args)
            if type.kind is Kind.DOUBLE and function in ("sum", "avg"):
                # On the integer grid, where no frame's sum depends on the order of additions.
                name = f"grid_{function}"
        else:
            raise tree.refuse(
                "S-155",
                f"The window function {display_name(name)} is not supported on rows.",
                hint="The rankings, LAG, LEAD, FIRST_VALUE, LAST_VALUE, NTH_VALUE, COUNT, SUM, AVG, MIN and MAX are.",
            )
        call = nodes.WindowCall(name, args, partition, order, frame, filter, column, total_order=ties_matter)
        return call, column


def _need_constant(tree: Tree, args: tuple[Expr, ...], count: int, message: str, *, least: int) -> None:
    """A row's own value here could make the engine fail on that row."""
    value = args[0].payload if args and args[0].is_literal else None
    if len(args) != count or not isinstance(value, int) or isinstance(value, bool) or not least <= value <= 10**6:
        raise tree.refuse("S-157", message)


def _special(
    node: Tree,
    lowering: Lowering,
    relation: Relation,
    keys: GroupKeys,
    collected: list[tuple[Aggregate, Expr]],
) -> Expr | None:
    """An aggregate becomes a new column; anything that equals a key stays; other columns are refused."""
    if node.kind == "FUNCTION" and str(node.data.get("function_name")).lower() in AGGREGATES:
        found = aggregate_call(node, Binder(relation.scope, now=lowering.now), ordered=unit_functions.ORDERED)
        for known, column in collected:
            if known == found:
                return column
        type, lo, hi = _result(found, relation.tau, node)
        nullable = found.function not in COUNTS
        column = make_column(lowering.ids.column(), type, nullable=nullable, lo=lo, hi=hi, length=_length(found))
        collected.append((found, column))
        return column
    if contains_aggregate(node) or node.kind in ("CONSTANT", "WINDOW", "SUBQUERY"):
        return None
    try:
        expr = Binder(relation.scope, now=lowering.now).bind(Tree(node.data, node.text))
    except QueryRefused:
        return None
    if expr in keys.exprs:
        return expr
    if node.kind == "COLUMN_REF":
        raise node.refuse(
            "N-104",
            f"`{node.source}` stands outside an aggregate, but is not in GROUP BY.",
            hint="Add it to GROUP BY, or take an aggregate of it.",
        )
    return None


def _result(aggregate: Aggregate, tau: int, tree: Tree) -> tuple[Type, Bound | None, Bound | None]:
    """Type and range of an aggregate over at most tau rows."""
    if aggregate.function in unit_functions.KNOWN and not aggregate.distinct:
        return unit_functions.result(aggregate)
    function = SIMPLE.get(aggregate.function)
    if function is None or aggregate.ordered is not None or (aggregate.distinct and function not in ("count", "sum")):
        raise aggregate.refuse(
            "A-106",
            f"{display_name(aggregate.function)} within one unit is not supported.",
            hint=unit_functions.way_forward(aggregate),
        )
    if len(aggregate.args) != (function != "count_star"):
        raise tree.refuse("F-110", f"{display_name(function)} takes 1 argument; found {len(aggregate.args)}.")
    if function == "count_if" and aggregate.args[0].type.kind is not Kind.BOOLEAN:
        raise tree.refuse("F-120", f"{display_name(function)} needs a condition; found {aggregate.args[0].type}.")
    if function in ("count", "count_star", "count_if"):
        return INTEGER, 0, tau
    arg = aggregate.args[0]
    if function in ("bool_and", "bool_or"):
        if arg.type.kind is not Kind.BOOLEAN:
            raise tree.refuse("F-120", f"{display_name(function)} needs a condition; found {arg.type}.")
        return BOOLEAN, None, None
    if function in ("min", "max"):
        return arg.type, arg.lo, arg.hi
    if not arg.type.is_numeric:
        raise tree.refuse("F-120", f"{display_name(function)} needs numbers; found {arg.type}.")
    assert arg.lo is not None and arg.hi is not None
    if function == "avg":
        slack = _step_slack(arg)
        return DOUBLE, float(arg.lo) - slack, float(arg.hi) + slack
    lo, hi = min(arg.lo, arg.lo * tau), max(arg.hi, arg.hi * tau)
    if arg.type.kind is Kind.INTEGER:
        if magnitude(lo, hi) > 2**62:
            raise tree.refuse("B-104", "SUM within one unit needs bounds on its argument.", hint="Declare `bounds`.")
        return INTEGER, lo, hi
    if exact_within_unit(arg) and magnitude(lo, hi) < decimal_limit(arg.type.scale):
        return arg.type, Fraction(lo), Fraction(hi)
    if magnitude(float(arg.lo), float(arg.hi)) > 1e15:
        raise tree.refuse("B-104", "SUM within one unit needs bounds on its argument.", hint="Declare `bounds`.")
    slack = _step_slack(arg) * tau
    return DOUBLE, float(lo) - slack, float(hi) + slack


def _step_slack(arg: Expr) -> float:
    return float(grid_of(arg, centered=False).step)


def _length(aggregate: Aggregate) -> int:
    return aggregate.args[0].length if aggregate.args else 0


def _call(aggregate: Aggregate, column: Expr) -> nodes.AggregateCall:
    if aggregate.function in unit_functions.KNOWN:
        return unit_functions.call(aggregate, column)
    function = SIMPLE[aggregate.function]
    arg = aggregate.args[0] if aggregate.args else None
    arg = _counted(arg) if function == "count" and arg is not None else arg
    step = None
    if function in ("sum", "avg"):
        assert arg is not None
        exact = function == "sum" and column.type.kind is not Kind.DOUBLE
        step = None if exact else grid_of(arg, centered=False).step
    return nodes.AggregateCall(function, arg, aggregate.filter, aggregate.distinct, step=step, result=column)


def _counted(arg: Expr) -> Expr:
    """What COUNT looks at: of a unit, whether there is one."""
    return identity(arg) or arg


def _frame(tree: Tree) -> str:
    """The frame clause, of constants only. '' is the default frame."""
    start, end, exclude = (str(tree.take(f)) for f in ("start", "end", "exclude_clause"))
    start_expr, end_expr = tree.child("start_expr"), tree.child("end_expr")
    if exclude != "NO_OTHER":
        raise tree.refuse("S-157", "EXCLUDE in a window frame is not supported.")
    if (start, end) == ("UNBOUNDED_PRECEDING", "CURRENT_ROW_RANGE"):
        return ""
    ends = [_frame_end(tree, side, expr) for side, expr in ((start, start_expr), (end, end_expr))]
    unit = "ROWS" if "ROWS" in start or "ROWS" in end else "RANGE"
    if unit == "RANGE" and any(expr is not None for expr in (start_expr, end_expr)):
        raise tree.refuse("S-157", "RANGE frames with an offset are not supported.", hint="Use ROWS.")
    return f"{unit} BETWEEN {ends[0]} AND {ends[1]}"


def _frame_end(tree: Tree, side: str, expr: Tree | None) -> str:
    words = {
        "UNBOUNDED_PRECEDING": "UNBOUNDED PRECEDING",
        "UNBOUNDED_FOLLOWING": "UNBOUNDED FOLLOWING",
        "CURRENT_ROW_RANGE": "CURRENT ROW",
        "CURRENT_ROW_ROWS": "CURRENT ROW",
    }
    if side in words:
        return words[side]
    direction = {"EXPR_PRECEDING_ROWS": "PRECEDING", "EXPR_FOLLOWING_ROWS": "FOLLOWING"}.get(side)
    if direction is None or expr is None:
        raise tree.refuse("S-157", "This window frame is not supported.")
    from dither.sql.bind import literal_of

    offset = literal_of(expr).payload
    if not isinstance(offset, int) or isinstance(offset, bool) or not 0 <= offset <= 10**6:
        raise tree.refuse("S-157", "A frame's offset is a constant whole number.")
    return f"{offset} {direction}"


def _over(expr: Expr, replaced: dict[Expr, Expr]) -> Expr:
    """The expression with whole keys replaced by the columns that now hold them."""
    if expr in replaced:
        return replaced[expr]
    if not expr.args:
        return expr
    return replace(expr, args=tuple(_over(arg, replaced) for arg in expr.args))
