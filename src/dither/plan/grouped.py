"""A SELECT that aggregates private rows across people: its measure, and its finish over the measure's noisy table.

Flow: `lower.select` hands in the relation below; keys become the measure's groups, each aggregate becomes a recipe over
integer vectors, and the SELECT itself is rewritten so that aggregates and keys are columns of a noisy table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dither.errors import QueryRefused
from dither.plan import finish, nodes, quantile_lists, row_keys, running, separable
from dither.plan.aggregates import Aggregate, aggregate_call, contains_aggregate
from dither.plan.compile import compile_aggregates
from dither.plan.group_keys import GroupKeys, select_items
from dither.plan.growth import too_large
from dither.plan.recipes import along
from dither.plan.rewriting import FinishTree, Rewriter
from dither.plan.separable import Relation
from dither.sql.bind import AGGREGATES, Binder
from dither.sql.expressions import Expr
from dither.sql.functions import logic
from dither.sql.naming import item_name
from dither.sql.parse import Tree
from dither.sql.printing import quote_name, sql_type
from dither.sql.types import BOOLEAN

if TYPE_CHECKING:
    from dither.plan.lower import Lowering

__all__ = ["select"]

Json = dict[str, Any]

MOST_ALIASES = 1_000
"""Aliases written out in one SELECT, those that aliases name included."""
SAME_IN_GROUP = ("any_value", "arbitrary", "first", "last", "min", "max", "mode")


def select(
    lowering: Lowering,
    tree: Tree,
    relation: Relation,
    keys: GroupKeys,
    lower: Callable[[Tree], FinishTree],
) -> FinishTree:
    """The finish of the SELECT; adds its measures to the lowering."""
    tree.take("cte_map")
    items = select_items(tree, relation)
    names = tuple(item_name(item, relation.scope.spelling) for item in items)
    builder = _Grouped(lowering, relation, keys, [*items])
    rewriter = Rewriter(replace=builder.replace, lower=lower)
    selected = []
    for item, name in zip(items, names, strict=True):
        selected.append({**rewriter.expr(Tree(item.data, item.text)), "alias": name})
    builder.in_select_list = False
    having = rewriter.optional(tree, "having")
    qualify = rewriter.optional(tree, "qualify")
    if not builder.aggregates and keys.exprs and len(keys.sets) == 1:
        # Groups and nothing of them, as in SELECT DISTINCT: listed where the (noisy) count is at least 1.
        having = finish.both(having, rewriter.expr(Tree(finish.some_rows(), tree.text)))
    modifiers = Rewriter(replace=builder.replace_in_order).modifiers(tree)
    tree.done()
    # Groups that HAVING leaves out are not in the totals: those are then no running totals of all groups.
    windows = [] if having else [selected, qualify, modifiers]
    builder.measure(running.running_windows(windows, builder.key_ids))
    changed: Json = {
        "cte_map": {"map": []},
        "select_list": selected,
        "from_table": builder.source(),
        "where_clause": having,
        "group_expressions": [],
        "group_sets": [],
        "aggregate_handling": "STANDARD_HANDLING",
        "having": None,
        "qualify": qualify,
        "modifiers": modifiers,
        "sample": None,
    }
    finished = {**tree.data, **changed}
    roles = tuple("aggregate" if _total(item, builder.totals) else _role(item) for item in selected)
    merges = any(modifier["type"] == "DISTINCT_MODIFIER" for modifier in modifiers)
    with_ends = (
        None
        if merges
        else {
            **finished,
            "select_list": [*selected, *_interval_ends(selected, roles, builder.totals)],
            "from_table": builder.source(intervals=True),
        }
    )
    keyed = row_keys.over_groups(finished, builder.source(numbered=True), builder.row_keys())
    return FinishTree(finished, names, roles, frozenset(builder.names) | rewriter.measures(), with_ends, keyed)


def _role(item: Json) -> str:
    """What an output column is: a group, an aggregate as it was measured, or computed from several."""
    if item["class"] != "COLUMN_REF":
        return "derived"
    # What GROUPING() tells, a column g0, follows from the grouping sets: it has no noise.
    return "key" if item["column_names"][0][:1] in ("k", "g") else "aggregate"


def _total(item: Json, totals: Mapping[str, nodes.Running]) -> str | None:
    """The aggregate that an output column is the running total of, where its noise was placed for that."""
    found = running.total_of(item, list(dict.fromkeys(_keys_of(item))))
    return found[0] if found is not None and totals.get(found[0]) == found[1] else None


def _keys_of(item: Json) -> list[str]:
    trees = [*item.get("partitions", []), *(order["expression"] for order in item.get("orders", []))]
    return [tree["column_names"][0] for tree in trees if tree.get("class") == "COLUMN_REF"]


def _interval_ends(selected: list[Json], roles: tuple[str, ...], totals: Mapping[str, nodes.Running]) -> list[Json]:
    ends = []
    for position, (item, role) in enumerate(zip(selected, roles, strict=True)):
        total = _total(item, totals)
        if total is not None:
            half = finish.column_named(f"{total}_total_half")
            ends += [
                finish.plus_minus(item, sign, half, f"{end}_{position}") for sign, end in (("-", "low"), ("+", "high"))
            ]
        elif role == "aggregate":
            for end in ("low", "high"):
                ends.append({**finish.column_named(f"{item['column_names'][0]}_{end}"), "alias": f"{end}_{position}"})
    return ends


class _Grouped:
    """Collects the aggregates of one SELECT while its expressions are rewritten."""

    def __init__(self, lowering: Lowering, relation: Relation, keys: GroupKeys, items: list[Tree]) -> None:
        self.lowering = lowering
        self.relation = relation
        self.keys = keys
        self.items = items
        self.aggregates: list[Aggregate] = []
        self.groupings: list[tuple[int, ...]] = []
        self.binder = Binder(relation.scope, now=lowering.now)
        self.prefix = lowering.ids.measure()
        self.names: list[str] = []
        self.key_ids = [f"k{i}" for i in range(len(keys.exprs))]
        self.totals: Mapping[str, nodes.Running] = {}
        """Aggregates whose noise is placed for their running totals."""
        self.in_select_list = True
        self.following: set[str] = set()
        """Aliases being looked into."""
        self.followed = 0

    def replace(self, tree: Tree) -> Json | None:
        """A key, an aggregate or GROUPING() as a column of the noisy table; None for what is to be looked into."""
        if tree.kind == "FUNCTION" and str(tree.data.get("function_name")).lower() in AGGREGATES:
            same = self._same_in_group(tree)
            if same is not None:
                return finish.column_named(f"k{same}")
            listed = quantile_lists.calls_of(tree, self.binder)
            if listed is None:
                return finish.column_named(self._known(aggregate_call(tree, self.binder)))
            if self.lowering.quantile_intervals:
                raise tree.refuse(
                    "A-109",
                    "quantile_intervals buys intervals for quantiles that are columns of their own.",
                    hint="Ask for each as a column, as in QUANTILE_CONT(x, 0.25), QUANTILE_CONT(x, 0.5).",
                )
            return finish.list_of([self._known(call) for call in listed])
        if tree.kind == "OPERATOR" and tree.type == "GROUPING_FUNCTION":
            return finish.column_named(self._grouping(tree))
        if tree.kind in ("CONSTANT", "WINDOW", "STAR", "SUBQUERY") or contains_aggregate(tree):
            return None
        found = self._key(tree)
        if found is not None:
            return finish.column_named(f"k{found}")
        if tree.kind == "COLUMN_REF":
            return self._alias(tree)
        return None

    def _same_in_group(self, tree: Tree) -> int | None:
        """The key that ANY_VALUE, FIRST, MIN, ... are of: all rows of a group have it alike: it is the key."""
        plain = not any(tree.data.get(part) for part in ("filter", "distinct", "schema", "catalog", "export_state"))
        arguments = [argument for argument in tree.data.get("arguments") or [] if not argument.get("name")]
        name = str(tree.data["function_name"]).lower()
        ordered = (tree.data.get("order_bys") or {}).get("orders")
        if name not in SAME_IN_GROUP or not plain or ordered or len(arguments) != 1 or len(self.keys.sets) != 1:
            return None
        return self._key(Tree(arguments[0]["expression"], tree.text))

    def replace_in_order(self, tree: Tree) -> Json | None:
        """As `replace`, but in ORDER BY an alias or an ordinal comes first."""
        if tree.kind == "COLUMN_REF" and len(tree.data["column_names"]) == 1:
            name = str(tree.data["column_names"][0])
            named = next((item.alias for item in self.items if item.alias.lower() == name.lower()), None)
            if named is not None:
                return finish.column_named(named)
        return self.replace(tree)

    def _alias(self, tree: Tree) -> Json:
        """An alias of the SELECT list used in HAVING or QUALIFY stands for its expression."""
        path = [str(part) for part in tree.data["column_names"]]
        # In the SELECT list a column of the table hides an alias of its name, as in DuckDB; in HAVING it does not.
        hidden = self.in_select_list and self.relation.scope.knows(path)
        if len(path) == 1 and not hidden:
            for item in self.items:
                if item.alias.lower() == path[0].lower() and item.alias.lower() not in self.following:
                    # An alias that names itself would be followed without end.
                    self.following.add(item.alias.lower())
                    self.followed += 1
                    if self.followed > MOST_ALIASES:
                        raise too_large()
                    try:
                        return Rewriter(replace=self.replace).expr(Tree(item.data, item.text))
                    finally:
                        self.following.discard(item.alias.lower())
        self.relation.scope.resolve(path, tree.span)
        raise tree.refuse(
            "N-104",
            f"`{'.'.join(path)}` stands outside an aggregate, but is not in GROUP BY.",
            hint=f"Add it to GROUP BY, or take an aggregate of it, as in AVG({path[-1]}).",
        )

    def _key(self, tree: Tree) -> int | None:
        try:
            expr = self.binder.bind(Tree(tree.data, tree.text))
        except QueryRefused:
            return None
        return next((i for i, key in enumerate(self.keys.exprs) if key == expr), None)

    def _known(self, call: Aggregate) -> str:
        if call not in self.aggregates:
            self.aggregates.append(call)
        return f"a{self.aggregates.index(call)}"

    def _grouping(self, tree: Tree) -> str:
        chosen = []
        for child in tree.children("children"):
            found = self._key(child)
            if found is None and child.kind == "COLUMN_REF":
                path = [str(part) for part in child.data["column_names"]]
                # A column of the table hides an alias of its name, here as elsewhere.
                named = [item for item in self.items if [item.alias.lower()] == [part.lower() for part in path]]
                found = self._key(named[0]) if named and not self.relation.scope.knows(path) else None
            if found is None:
                raise child.refuse(
                    "K-106",
                    "GROUPING() takes expressions of the GROUP BY.",
                    hint="Write in it what GROUP BY has, or its alias.",
                )
            chosen.append(found)
        tree.done()
        if tuple(chosen) not in self.groupings:
            self.groupings.append(tuple(chosen))
        return f"g{self.groupings.index(tuple(chosen))}"

    def measure(self, wanted: Mapping[str, nodes.Running]) -> None:
        """Add one measure per grouping set to the lowering. wanted: aggregates the question also sums up."""
        self.totals = wanted if len(self.keys.sets) == 1 else {}
        for number, chosen in enumerate(self.keys.sets):
            name = f"{self.prefix}_{number}" if len(self.keys.sets) > 1 else self.prefix
            self.names.append(self._measure(name, chosen))

    def row_keys(self) -> list[Json]:
        """Columns of a numbered source that tell its rows apart."""
        number = ["grouping"] if len(self.names) > 1 else []
        return [finish.column_named(name) for name in (*self.key_ids, *number)]

    def source(self, *, intervals: bool = False, numbered: bool = False) -> Json:
        """The FROM clause over the measures' noisy tables. intervals: with the ends of their intervals.  numbered: with
        a column that tells several grouping sets apart."""
        if len(self.names) == 1 and not self.groupings:
            return finish.table_named(self.names[0])
        parts = [self._branch(n, s, intervals) for n, s in zip(self.names, self.keys.sets, strict=True)]
        if numbered:
            columns = ", ".join(
                [*self.key_ids, *(f"a{i}" for i in range(len(self.aggregates)))]
                + [f"g{i}" for i in range(len(self.groupings))]
            )
            parts = [f"SELECT {columns}, {number} AS grouping FROM ({part}) AS g" for number, part in enumerate(parts)]
        return finish.from_sql(" UNION ALL ".join(parts))

    def _measure(self, name: str, chosen: tuple[int, ...]) -> str:
        keys = tuple(nodes.Key(f"k{i}", self.keys.exprs[i], self.keys.names[i]) for i in chosen)
        domain = self.lowering.key_lists.domain(self.relation, keys, self.keys.trees[0].span if keys else None)
        relation = self.relation
        if domain is None and self.lowering.catalog.nulls == "drop":
            for key in keys:
                present = Expr(logic.IS_NOT_NULL, BOOLEAN, (key.expr,), nullable=False)
                relation = separable.filter_rows(relation, present)
        vectors, recipes = compile_aggregates(
            self.aggregates, relation, self.lowering.choices, quantile_intervals=self.lowering.quantile_intervals
        )
        # A list without groups has no positions to place noise at.
        if self.totals and domain is not None and domain.size > 0:
            vectors, recipes = along(self.totals, vectors, recipes)
        by_id = {recipe.id: recipe for recipe in recipes}
        self.totals = {a: way for a, way in self.totals.items() if vectors[by_id[a].vectors[0]].running == way}
        if any(quantile in (0, 1) for vector in vectors for quantile in vector.quantiles):
            self.lowering.notes.append(EXTREMES)
        catalog = self.lowering.catalog
        measure = nodes.Measure(
            name,
            relation.node,
            relation.unit,
            relation.tau,
            keys,
            domain,
            vectors,
            catalog.min_units_per_key,
            relation.row_unit,
        )
        self.lowering.measures.append(measure)
        self.lowering.recipes[name] = recipes
        return name

    def _branch(self, name: str, chosen: tuple[int, ...], intervals: bool) -> str:
        parts = []
        for i, expr in enumerate(self.keys.exprs):
            parts.append(f"k{i}" if i in chosen else f"CAST(NULL AS {sql_type(expr.type)}) AS k{i}")
        ends = ("", "_low", "_high") if intervals else ("",)
        parts += [f"a{i}{end}" for i in range(len(self.aggregates)) for end in ends]
        for i, columns in enumerate(self.groupings):
            bits = 0
            for column in columns:
                bits = bits * 2 + (column not in chosen)
            parts.append(f"CAST({bits} AS BIGINT) AS g{i}")
        return f"SELECT {', '.join(parts)} FROM {quote_name(name)}"


EXTREMES = "MIN and MAX stand some ranks inside the extremes: the very first and last value are somebody's own."
