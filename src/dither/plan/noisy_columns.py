"""How each column of a finish depends on noise, and whether its rows do.

Flow: `answer.spread` asks when somebody looks at the intervals of computed columns. Reads the tree of the finish alone,
from the noisy tables upward: each SELECT gives its columns, and whether noise decides which of its rows are there.
Proof: docs/proofs/answer/intervals.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dither.plan.dependence import PUBLIC, Dependence, Shape, Why, folded, merged, there
from dither.plan.nodes import Plan
from dither.plan.noisy_expressions import Expressions, Scope
from dither.plan.recipes import Recipe
from dither.plan.row_keys import holds, is_aggregate

__all__ = ["columns_of"]

Json = Mapping[str, Any]
Columns = Mapping[tuple[str, str], Dependence]
Found = tuple[list[Dependence], Dependence]
"""Of the columns, in order, and of the rows."""


def columns_of(tree: Json, plan: Plan) -> Found:
    """Of each column of a tree over the plan's noisy tables, and of its rows."""
    measured = dict(plan.aliases)
    measures = {measure.name: measure for measure in plan.measures}
    tables = {}
    for name, recipes in plan.aggregates:
        measure = measures[measured.get(name, name)]
        columns = {key.id: PUBLIC for key in measure.keys} | {recipe.id: _of_recipe(recipe) for recipe in recipes}
        tables[name] = columns, Dependence(hidden=measure.has_private_keys)
    return _Walk(tables).query(tree, None)


def _of_recipe(recipe: Recipe) -> Dependence:
    """Of an aggregate, by itself. It rises with itself, wherever the ends of its own interval are known."""
    match recipe.kind:
        case "count" | "sum" | "sum_from_mean":
            return Dependence(Shape.LINEAR, 1, whole=recipe.whole)
        case "mean":
            return Dependence(Shape.SMOOTH, 1, nullable=True)
        case "bool_or" | "bool_and":
            return Dependence(Shape.BENT, 1)
        case "quantile":
            return Dependence(Shape.FOLDED, None, Why.CHOSEN)
    return Dependence(Shape.SMOOTH, None, nullable=True)


@dataclass(frozen=True)
class _Walk:
    tables: Mapping[str, tuple[Mapping[str, Dependence], Dependence]]

    def query(self, tree: Json, outer: Scope | None) -> Found:
        if tree["type"] == "SET_OPERATION_NODE":
            return self._set_operation(tree, outer)
        columns, rows = self._source(tree["from_table"], outer)
        scope = Scope(columns, outer)
        items: Sequence[Json] = tree["select_list"]
        before = self._expressions(scope, items, rows, rows)
        rows = there(rows, before.of(tree["where_clause"]))
        aggregates = any(holds(item, is_aggregate) for item in items) or tree["having"] is not None
        by_all = tree["aggregate_handling"] != "STANDARD_HANDLING"
        shown = rows
        if tree["group_expressions"] or by_all:
            keys = self._keys(tree, self._expressions(scope, items, rows, rows))
            if not merged(keys).is_public:
                noisy = replace(folded(merged(keys), Why.GROUPS), why=Why.GROUPS)
                return [noisy] * len(items), noisy
        elif aggregates:
            shown = PUBLIC
        having = self._expressions(scope, items, rows, shown)
        shown = there(shown, having.of(tree["having"]))
        expressions = self._expressions(scope, items, rows, shown)
        found = [expressions.of(item) for item in items]
        shown = there(shown, expressions.of(tree["qualify"]))
        return found, self._cut(tree, found, shown, expressions)

    def _expressions(self, scope: Scope, items: Sequence[Json], rows: Dependence, shown: Dependence) -> Expressions:
        return Expressions(scope, items, rows, shown, self.query)

    def _keys(self, tree: Json, expressions: Expressions) -> list[Dependence]:
        """Of what a SELECT groups by."""
        items = tree["select_list"]
        if tree["aggregate_handling"] != "STANDARD_HANDLING":
            return [expressions.of(item) for item in items if not holds(item, is_aggregate)]
        found = []
        for key in tree["group_expressions"]:
            place = str(key["literal"]["text"]) if key["class"] == "CONSTANT" else ""
            known = place.isdecimal() and 1 <= int(place) <= len(items)
            found.append(expressions.of(items[int(place) - 1] if known else key))
        return found

    def _cut(self, tree: Json, found: Sequence[Dependence], rows: Dependence, expressions: Expressions) -> Dependence:
        """Of the rows that DISTINCT and LIMIT leave."""
        ordered: list[Dependence] = []
        for modifier in tree["modifiers"]:
            match modifier["type"]:
                case "DISTINCT_MODIFIER" if not merged(found).is_public:
                    rows = folded(merged((rows, *found)), Why.ROWS)
                case "ORDER_MODIFIER":
                    ordered = [self._order(order["expression"], found, expressions) for order in modifier["orders"]]
                case "LIMIT_MODIFIER":
                    if not rows.is_public or not merged(ordered).is_public:
                        rows = folded(merged((rows, *ordered)), Why.ROWS)
        return rows

    def _order(self, item: Json, found: Sequence[Dependence], expressions: Expressions) -> Dependence:
        if item["class"] == "STAR":
            return merged(found)
        if item["class"] == "CONSTANT":
            place = str(item["literal"]["text"])
            known = place.isdecimal() and 1 <= int(place) <= len(found)
            return found[int(place) - 1] if known else merged(found)
        if item["class"] == "COLUMN_REF" and len(item["column_names"]) == 1:
            # An alias comes before a column here.
            name = str(item["column_names"][0]).lower()
            place_of = [i for i, each in enumerate(expressions.items) if str(each.get("alias")).lower() == name]
            if place_of:
                return found[place_of[0]]
        return expressions.of(item)

    # Where rows come from ------------------------------------------------------------------------------------------

    def _source(self, source: Json, outer: Scope | None) -> tuple[Columns, Dependence]:
        match source["type"]:
            case "BASE_TABLE":
                name = str(source["table_name"])
                columns, rows = self.tables[name]
                alias = str(source.get("alias") or name).lower()
                return {(alias, column): each for column, each in columns.items()}, rows
            case "SUBQUERY":
                node, alias = source["subquery"]["node"], str(source["alias"]).lower()
                given = [str(name).lower() for name in source["column_name_alias"]]
                if node["type"] == "SELECT_NODE" and node["from_table"]["type"] == "EXPRESSION_LIST":
                    # VALUES, all of whose columns are named.
                    return {(alias, name): PUBLIC for name in given}, PUBLIC
                found, rows = self.query(node, outer)
                names = [*given, *_names(node)[len(given) :]]
                return {(alias, n): each for n, each in reversed([*zip(names, found, strict=True)])}, rows
            case "JOIN":
                return self._join(source, outer)
        return {}, PUBLIC

    def _join(self, source: Json, outer: Scope | None) -> tuple[Columns, Dependence]:
        (left, left_rows), (right, right_rows) = (self._source(source[side], outer) for side in ("left", "right"))
        both = {**left, **right}
        met = [each for (_, column), each in both.items() if column in self._using(source, left, right)]
        expressions = self._expressions(Scope(both, outer), (), PUBLIC, PUBLIC)
        condition = merged([expressions.of(source["condition"]), *met])
        rows = there(there(left_rows, right_rows), condition)
        rows = replace(rows, hidden=left_rows.hidden or right_rows.hidden)
        if source["join_type"] != "INNER" and not rows.is_public:
            # Noise decides whether a row stands beside NULLs.
            both = {name: each if each.is_public else folded(each, Why.ROWS) for name, each in both.items()}
            rows = folded(replace(rows, rises=None), Why.ROWS)
        return both, rows

    @staticmethod
    def _using(source: Json, left: Columns, right: Columns) -> set[str]:
        if source["ref_type"] == "NATURAL":
            return {column for _, column in left} & {column for _, column in right}
        return {str(name).lower() for name in source["using_columns"]}

    def _set_operation(self, tree: Json, outer: Scope | None) -> Found:
        parts = [self.query(child, outer) for child in tree["children"]]
        names = [_names(child) for child in tree["children"]]
        if tree["setop_type"] == "UNION_BY_NAME":
            # Columns that a part lacks are NULL there.
            known = [
                dict(reversed([*zip(own, columns, strict=True)]))
                for own, (columns, _) in zip(names, parts, strict=True)
            ]
            first = list(dict.fromkeys(name for own in names for name in own))
            found = [merged(part[name] for part in known if name in part) for name in first]
        else:
            first = names[0]
            found = [merged(column) for column in zip(*(columns for columns, _ in parts), strict=True)]
        rows = merged(each for _, each in parts)
        public = merged(found).is_public and rows.is_public
        if not public and (tree["setop_type"] != "UNION" or not tree["setop_all"]):
            rows = folded(merged((rows, *found)), Why.ROWS)
        elif tree["setop_type"] != "UNION" and rows.hidden:
            rows = folded(rows, Why.HIDDEN)
        items = [{"alias": name} for name in first]
        return found, self._cut(tree, found, rows, self._expressions(Scope({}, outer), items, rows, rows))


def _names(tree: Json) -> list[str]:
    """What the columns of a query are called, in lower case."""
    if tree["type"] == "SET_OPERATION_NODE":
        parts = [_names(child) for child in tree["children"]]
        by_name = tree["setop_type"] == "UNION_BY_NAME"
        return list(dict.fromkeys(name for part in parts for name in part)) if by_name else parts[0]
    return [
        str(item.get("alias") or (item["column_names"][-1] if item["class"] == "COLUMN_REF" else "")).lower()
        for item in tree["select_list"]
    ]
