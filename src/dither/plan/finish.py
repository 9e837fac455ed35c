"""The finish: SQL over noisy tables, rewritten from the checked tree.

Flow: `grouped` rewrites a SELECT over private rows into one over its measure's noisy table; `lower` passes SELECTs over
such results through `over_noisy`. What comes out is printed by DuckDB from the tree, never from the analyst's text.
Everything here is post-processing of released numbers: it can be free, but it must be *that question*: `rewriting`
reads or refuses each node and each field.
Proof: docs/proofs/plan/finish.md
"""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dither.errors import GuaranteeError, QueryRefused
from dither.plan import row_keys, stars
from dither.plan.growth import check_growth
from dither.plan.rewriting import FinishTree, Json, Rewriter
from dither.sql import embedded, naming
from dither.sql.naming import item_name
from dither.sql.parse import Tree
from dither.sql.printing import quote_name

__all__ = [
    "NoisySource",
    "as_table",
    "join_noisy",
    "list_of",
    "over_noisy",
    "set_operation",
    "to_sql",
]


@dataclass(frozen=True)
class NoisySource:
    """A FROM clause over noisy tables, already rewritten."""

    tree: Json
    measures: frozenset[str]
    whole: FinishTree | None = None
    """The SELECT it is, where it is one and not a join."""
    alias: str = ""
    keyed: row_keys.KeyedSource | None = None
    columns: tuple[stars.Column, ...] = ()
    """What `*` gives: (alias, name), the alias empty for columns that USING shows once."""

    def renamed(self, names: Sequence[str]) -> NoisySource:
        """With these names for its first columns, as in `AS x(a, b)`."""
        if self.whole is None:
            raise GuaranteeError("A join has no names of its own.")
        rest = [name for _, name in self.columns[len(names) :]]
        return as_table(replace(self.whole, columns=(*names, *rest)), self.alias, names)


def over_noisy(tree: Tree, source: NoisySource, lower: Callable[[Tree], FinishTree]) -> FinishTree:
    """A SELECT over noisy tables: any listed SQL, aggregates included."""
    rewriter = Rewriter(aggregates=True, lower=lower)
    names, items = _items_over(tree, source, rewriter)
    changed: Json = {
        "cte_map": {"map": []},
        "select_list": items,
        "from_table": source.tree,
        "where_clause": rewriter.optional(tree, "where_clause"),
        "group_expressions": rewriter.each(tree, "group_expressions"),
        "having": rewriter.optional(tree, "having"),
        "qualify": rewriter.optional(tree, "qualify"),
        "modifiers": rewriter.modifiers(tree),
    }
    tree.take("group_sets")
    tree.take("aggregate_handling")
    tree.done()
    roles = _roles_over(changed, source.whole)
    finished = {**tree.data, **changed}
    keys = [] if source.keyed is None else [column_named(*path) for path in source.keyed.columns]
    keyed = row_keys.over(finished, source.keyed, keys)
    return FinishTree(finished, names, roles, source.measures | rewriter.measures(), keyed=keyed)


def _items_over(tree: Tree, source: NoisySource, rewriter: Rewriter) -> tuple[tuple[str, ...], list[Json]]:
    """The SELECT list with stars written out: the columns' names, and what stands for each."""
    spelled = {name.lower(): name for _, name in source.columns}
    names: list[str] = []
    items: list[Json] = []
    for item in tree.children("select_list"):
        if item.kind == "STAR":
            for shown in stars.expand(item, source.columns):
                names.append(shown.name)
                if shown.replaced is not None:
                    items.append({**rewriter.expr(shown.replaced), "alias": shown.name})
                else:
                    items.append({**_path_to(item, source.columns, shown.place), "alias": shown.name})
            continue
        for one in stars.per_column(item, source.columns) if stars.holds_columns(item) else [item]:
            names.append(item_name(one, lambda path: spelled.get(path[-1].lower())))
            items.append({**rewriter.expr(one), "alias": names[-1]})
    return tuple(names), items


def _path_to(star: Tree, columns: Sequence[stars.Column], place: int) -> Json:
    qualifier, name = columns[place]
    if sum(column == columns[place] for column in columns) > 1:
        raise star.refuse("N-102", f"`{qualifier}.{name}` is ambiguous.", hint="Give the tables different names.")
    return column_named(*([qualifier, name] if qualifier else [name]))


def _roles_over(outer: Json, inner: FinishTree | None) -> tuple[str, ...]:
    """Columns that tell rows apart, where the rows are those of a SELECT below and all its groups are shown, or groups
    made of these."""
    items = outer["select_list"]
    keys = (
        set() if inner is None else {n.lower() for n, r in zip(inner.columns, inner.roles, strict=True) if r == "key"}
    )
    if outer["group_expressions"]:
        shown_keys = row_keys.shown_groups(outer)
        known = shown_keys is not None and all(row_keys.names_in(items[i]) <= keys for i in shown_keys)
        return tuple("key" if known and i in (shown_keys or ()) else "derived" for i in range(len(items)))
    shown = [item["column_names"][-1].lower() if item["class"] == "COLUMN_REF" else "" for item in items]
    if not keys or not keys <= set(shown):
        return ("derived",) * len(items)
    return tuple("key" if name in keys else "derived" for name in shown)


def set_operation(tree: Tree, parts: list[FinishTree]) -> FinishTree:
    """UNION, EXCEPT, INTERSECT of SELECTs over noisy tables."""
    for part in ("setop_type", "setop_all", "left", "right", "children"):
        tree.take(part)
    kind = str(tree.data.get("setop_type"))
    if kind not in ("UNION", "UNION_BY_NAME", "EXCEPT", "INTERSECT"):
        raise tree.refuse("P-127", f"This set operation ({kind.replace('_', ' ')}) is not supported.")
    modifiers = Rewriter().modifiers(tree)
    tree.done()
    children = [part.tree for part in parts]
    changed: Json = {"modifiers": modifiers, "cte_map": {"map": []}, "children": children}
    measures = frozenset().union(*(part.measures for part in parts))
    columns = parts[0].columns
    if kind == "UNION_BY_NAME":
        # In order of their first appearance, spelled as there.
        named: dict[str, str] = {}
        for name in (name for part in parts for name in part.columns):
            named.setdefault(name.lower(), name)
        columns = tuple(named.values())
    united = {**tree.data, **changed}
    roles = ("derived",) * len(columns)
    keyed = row_keys.united(united, [part.keyed for part in parts])
    return FinishTree(united, columns, roles, measures, keyed=keyed)


def as_table(whole: FinishTree, alias: str, names: Sequence[str] = ()) -> NoisySource:
    """A rewritten SELECT as a table of a FROM clause. names: written after its alias, for its first columns."""
    shell = _from_of("SELECT * FROM (SELECT 1) AS x")
    shell["alias"] = alias
    shell["column_name_alias"] = list(names)
    shell["subquery"]["node"] = whole.tree
    keyed = None if whole.keyed is None else row_keys.renamed(whole.keyed, alias, shell)
    columns = tuple((alias, name) for name in naming.apart(whole.columns))
    return NoisySource(shell, whole.measures, whole, alias, keyed, columns)


def public_table(sql: str, alias: str, names: Sequence[str], *, different: bool) -> NoisySource:
    """Public rows, written out by a SELECT of our own, as a table of a FROM clause.
    different: no two rows are alike, so that their values tell them apart."""
    shell = _from_of(f"SELECT * FROM ({sql}) AS x")
    shell["alias"] = alias
    columns = tuple((alias, name) for name in names)
    keyed = row_keys.KeyedSource(shell, shell, columns) if different else None
    return NoisySource(shell, frozenset(), alias=alias, keyed=keyed, columns=columns)


def cross_noisy(left: NoisySource, right: NoisySource) -> NoisySource:
    """Every row of one beside every row of the other."""
    tree = {**_from_of("SELECT * FROM x, y"), "left": left.tree, "right": right.tree}
    keyed = row_keys.joined(tree, left.keyed, right.keyed)
    return NoisySource(tree, left.measures | right.measures, keyed=keyed, columns=(*left.columns, *right.columns))


def no_table() -> NoisySource:
    """A SELECT without FROM: it may still hold noisy subqueries."""
    empty: Json = {"type": "EMPTY", "alias": "", "sample": None}
    return NoisySource(empty, frozenset(), keyed=row_keys.KeyedSource(empty, empty, ()))


def join_noisy(tree: Tree, left: NoisySource, right: NoisySource) -> NoisySource:
    """A join of two noisy tables: public by now."""
    kind, reference = str(tree.take("join_type")), str(tree.take("ref_type"))
    known = ("INNER", "LEFT", "RIGHT", "FULL", "OUTER", "SEMI", "ANTI")
    if kind not in known or reference not in ("REGULAR", "CROSS", "NATURAL"):
        raise tree.refuse(
            "S-115", "This kind of join is not supported.", hint="Inner, left, right, full, cross, semi and anti are."
        )
    using = [str(name).lower() for name in tree.take("using_columns") or []]
    if reference == "NATURAL":
        using = [name.lower() for _, name in left.columns if name.lower() in {n.lower() for _, n in right.columns}]
    tree.take("is_implicit")
    condition = tree.child("condition")
    changed: Json = {"left": left.tree, "right": right.tree}
    changed["condition"] = None if condition is None else Rewriter().expr(condition)
    tree.done()
    joined = {**tree.data, **changed}
    shown = [("", name) if name.lower() in using else (alias, name) for alias, name in left.columns]
    if kind in ("SEMI", "ANTI"):
        shown = list(left.columns)
    else:
        shown += [column for column in right.columns if column[1].lower() not in using]
    keyed = row_keys.joined(joined, left.keyed, right.keyed)
    return NoisySource(joined, left.measures | right.measures, keyed=keyed, columns=tuple(shown))


def table_named(name: str) -> Json:
    """The FROM clause that reads one noisy table."""
    return _from_of(f"SELECT * FROM {quote_name(name)}")


def from_sql(sql: str) -> Json:
    """The FROM clause that reads a SELECT of our own."""
    return _from_of(f"SELECT * FROM ({sql}) AS noisy")


def column_named(*path: str) -> Json:
    return {**_column_shape(), "column_names": list(path)}


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


def some_rows() -> Json:
    """count(*) >= 1, over people's rows."""
    return embedded.expression("count(*) >= 1")


def both(left: Json | None, right: Json) -> Json:
    """Both conditions, or the one there is."""
    if left is None:
        return right
    return {**embedded.expression("x AND y"), "children": [left, right]}


def to_sql(tree: Json) -> str:
    """The text DuckDB prints for a rewritten tree."""
    check_growth(tree)
    statement = {"error": False, "statements": [{"node": tree, "named_param_map": []}]}
    return embedded.print_tree(statement)


def only_picks(tree: Json) -> bool:
    """Is every expression of the tree a column or a constant, and no row cut off? Such a finish cannot fail; the
    constants of LIMIT and OFFSET can be below zero or too large, and an ordinal of ORDER BY name no column."""
    stack: list[Any] = [tree]
    orders = [o for m in tree.get("modifiers") or [] for o in m.get("orders") or []]
    if any(order["expression"].get("class") == "CONSTANT" for order in orders):
        return False
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


def picked(tree: Json) -> tuple[str, ...] | None:
    """The columns that a finish shows, where it is `SELECT columns FROM` one noisy table and nothing else; None for any
    other."""
    shape, parts = _select_shape(), ("select_list", "from_table")
    if tree.keys() != shape.keys() or any(tree[part] != shape[part] for part in shape if part not in parts):
        return None
    places = ("query_location", "query_location_length", "table_name", "qualified_name")
    table, one = tree["from_table"], shape["from_table"]
    if table.keys() != one.keys() or any(table[part] != one[part] for part in one if part not in places):
        return None
    items = tree["select_list"]
    if any(item["class"] != "COLUMN_REF" or len(item["column_names"]) != 1 for item in items):
        return None
    return tuple(item["column_names"][0] for item in items)


def _from_of(sql: str) -> Json:
    node: Json = json.loads(_parsed_from(sql))
    return node


@functools.lru_cache(maxsize=256)
def _parsed_from(sql: str) -> str:
    """As text: it is read anew for each tree that it becomes a part of."""
    return json.dumps(embedded.parse_json(sql)["statements"][0]["node"]["from_table"])


@functools.lru_cache(maxsize=1)
def _column_shape() -> Json:
    """A column reference as this version of DuckDB writes it: nothing in it but names and numbers."""
    node: Json = embedded.parse_json("SELECT x")["statements"][0]["node"]["select_list"][0]
    return node


@functools.lru_cache(maxsize=1)
def _select_shape() -> Json:
    """SELECT x FROM t as this version of DuckDB writes it."""
    node: Json = embedded.parse_json("SELECT x FROM t")["statements"][0]["node"]
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
