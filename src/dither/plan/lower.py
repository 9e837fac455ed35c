"""From a parsed question to relations, measures and a finish: which layer each part of the SQL belongs to.

Flow: `Lowering.question` is called by the session with the tree of `sql.parse`; gives a `Plan` or a refusal.
One question decides the layer of every SELECT. Does its GROUP BY (PARTITION BY, DISTINCT) hold a total unit column?
Then it is rows (`rows`). Does it aggregate protected rows otherwise? Then it is a measure (`grouped`). Is it over noisy
tables? Then it is the finish (`finish`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dither.catalog.model import Catalog, fold
from dither.catalog.schema import SchemaTable
from dither.errors import QueryRefused
from dither.plan import (
    finish,
    grouped,
    joins,
    nodes,
    phases,
    public_rows,
    rows,
    running,
    separable,
    set_operations,
    subqueries,
)
from dither.plan.choices import Choices
from dither.plan.cubes import find_cubes
from dither.plan.from_clause import Source, from_clause
from dither.plan.group_keys import group_keys
from dither.plan.growth import too_large
from dither.plan.keys import KeyLists
from dither.plan.merging import merge, moved
from dither.plan.recipes import Recipe, along
from dither.plan.rewriting import FinishTree
from dither.plan.separable import Ids, PublicFacts, Relation
from dither.plan.with_clause import Environment, with_clause
from dither.sql.bind import Binder, call_of
from dither.sql.expressions import Expr, and_all, columns_of, conjuncts
from dither.sql.functions import casts
from dither.sql.names import Scope
from dither.sql.parse import Tree, parse
from dither.sql.types import UNIT, Type
from dither.sql.units import same_units

__all__ = ["Lowering"]


Lowered = Relation | FinishTree

MOST_QUERIES = 250
"""SELECTs of one question, a table of WITH counted wherever it is named."""


@dataclass
class Lowering:
    """One question on its way to a plan. Collects the measures as it meets them."""

    catalog: Catalog
    schemas: Mapping[str, SchemaTable]
    """Folded table name -> what the engine says of it."""
    facts: PublicFacts
    key_lists: KeyLists
    choices: Choices
    """Rows kept per unit, and bounds that the catalog does not declare."""
    now: dt.datetime
    quantile_intervals: bool = False
    """Are two more quantiles bought for each, as the ends of its interval?"""
    ids: Ids = field(default_factory=Ids)
    measures: list[nodes.Measure] = field(default_factory=list)
    recipes: dict[str, list[Recipe]] = field(default_factory=dict)
    """Measure name -> how its aggregates come from its vectors."""
    phases: list[nodes.Phase] = field(default_factory=list)
    tables: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    queries: int = 0

    def question(self, text: str) -> nodes.Plan:
        """The plan of a question. Raises QueryRefused with a position; reads no protected row."""
        try:
            lowered = self.query(parse(text), Environment())
            match lowered:
                case FinishTree():
                    return self.planned(lowered, text)
                case Relation(protected=False):
                    raise _public_rows()
                case Relation():
                    raise _raw_rows(lowered)
        except QueryRefused as refusal:
            raise refusal.located(text) from None

    def question_of_many(self, text: str) -> nodes.Plan:
        """The same for one of several questions that are asked together: their measures differ in name, and nothing
        else of one question goes over to the next."""
        self.tables, self.notes, self.queries = set(), [], 0
        return self.question(text)

    def planned(self, whole: FinishTree, text: str) -> nodes.Plan:
        """The plan of a finish, with the measures it reads taken out of those still open."""
        names = whole.measures
        own = [measure for measure in self.measures if measure.name in names]
        self.measures = [measure for measure in self.measures if measure.name not in names]
        merged = merge(own, self.catalog)
        cubes, apart = find_cubes(merged.measures, self.catalog)
        needed = {name for measure in own for name in phases.named_in(measure)} if self.phases else set()
        return nodes.Plan(
            text,
            merged.measures,
            finish.to_sql(whole.tree),
            whole.with_ends,
            whole.roles,
            whole.columns,
            tuple((m.name, moved(self.recipes[m.name], merged.places[m.name])) for m in own),
            tuple(sorted(self.tables)),
            tuple(dict.fromkeys(self.notes)),
            merged.aliases,
            tuple(phase for phase in self.phases if phase.name in needed),
            finish.only_picks(whole.tree),
            finish.picked(whole.tree),
            cubes,
            apart,
            keyed=whole.keyed,
        )

    def query(self, tree: Tree, environment: Environment, outer: Scope | None = None) -> Lowered:
        """Any query: SELECT or set operation, with its CTEs."""
        # A table of WITH is lowered wherever it is named: each naming the last one twice would never end.
        self.queries += 1
        if self.queries > MOST_QUERIES:
            raise too_large()
        inner = with_clause(tree, environment)
        match tree.type:
            case "SELECT_NODE":
                return self.select(tree, inner, outer)
            case "SET_OPERATION_NODE":
                return self.set_operation(tree, inner)
        raise tree.refuse("P-122", f"This kind of query ({tree.type.replace('_', ' ').lower()}) is not supported.")

    def select(self, tree: Tree, environment: Environment, outer: Scope | None) -> Lowered:
        if tree.take("sample") is not None:
            raise tree.refuse("S-151", "Sampling is not supported.", hint="Ask of all rows; noise protects people.")
        source = self.source(tree, environment)

        def noisy(node: Tree) -> FinishTree:
            return self.noisy_subquery(node, environment)

        if isinstance(source, finish.NoisySource):
            whole = finish.over_noisy(tree, source, noisy)
            if not whole.measures:
                raise tree.refuse("S-103", "This SELECT reads no table.", hint="Name a table of the catalog in FROM.")
            if source.whole is not None:
                self._note_totals(whole, source.whole)
            return whole
        tree = rows.with_where_written_out(tree, Scope(tuple(c for r in source for c in r.columns)))
        relation, leftover = self.combine(source, tree, environment)
        relation = self.where(relation, leftover, tree, environment, outer)
        if rows.is_plain(tree):
            if not rows.is_distinct_groups(tree, relation):
                return rows.select(self, tree, relation)
            tree = rows.as_grouped(tree)
        if not relation.protected:
            raise tree.refuse(
                "S-102",
                "This SELECT counts only public rows.",
                hint="Ask the database itself: public tables need no noise.",
            )
        keys = group_keys(self, tree, relation)
        if keys.holds_unit(relation):
            return rows.aggregate(self, tree, relation, keys)
        return grouped.select(self, tree, relation, keys, noisy)

    def source(self, tree: Tree, environment: Environment) -> Source:
        """The FROM clause. Where it joins aggregated tables with public ones and with nothing else, it is a table of
        released numbers itself, and not rows that anything private is counted over."""
        before = self._state()
        source = from_clause(self, tree.need_child("from_table"), environment)
        if isinstance(source, list) and not any(relation.protected for relation in source):
            waiting = [
                n for r in source for n in nodes.walk_rows(r.node) if isinstance(n, nodes.Given) and n.rows is None
            ]
            if waiting:
                self._restore(before)
                source = from_clause(self, Tree(tree.data["from_table"], tree.text), environment, released=True)
        return source

    def _state(self) -> tuple[Any, ...]:
        held = (self.measures, self.phases, self.notes)
        return (replace(self.ids), dict(self.recipes), set(self.tables), self.queries, *(list(part) for part in held))

    def _restore(self, state: tuple[Any, ...]) -> None:
        self.ids, self.recipes, self.tables, self.queries, self.measures, self.phases, self.notes = state

    def noisy_subquery(self, node: Tree, environment: Environment) -> FinishTree:
        """A subquery in a place where only noisy results can stand."""
        lowered = self.query(node, environment)
        if isinstance(lowered, Relation):
            raise node.refuse("S-124", "A subquery used here must aggregate.", hint="Write (SELECT AVG(x) FROM ...).")
        return lowered

    # WHERE ---------------------------------------------------------------------------------------------------------

    def combine(
        self, relations: list[Relation], tree: Tree, environment: Environment
    ) -> tuple[Relation, tuple[Expr | Tree, ...]]:
        """Join the relations of a comma-separated FROM by WHERE's equalities; gives what is left of WHERE as trees."""
        where = tree.child("where_clause")
        parts = subqueries.and_parts(where) if where is not None else []
        if len(relations) == 1:
            return relations[0], tuple(parts)
        scope = Scope(tuple(column for relation in relations for column in relation.columns))
        bound: list[Expr] = []
        waiting: list[Expr | Tree] = []
        for part in parts:
            if subqueries.has_subquery(part):
                waiting.append(part)
            else:
                bound += conjuncts(Binder(scope, now=self.now).condition(part))
        joined, rest = relations[0], relations[1:]
        span = tree.need_child("from_table").span
        while rest:
            chosen = next((r for r in rest if _linked(joined, r, bound)), None) or rest[0]
            rest = [r for r in rest if r is not chosen]
            within = joined.ids() | chosen.ids()
            now = [part for part in bound if columns_of(part) <= within]
            bound = [part for part in bound if part not in now]
            condition = and_all(now)
            joined = joins.join(
                joined, chosen, "inner" if condition else "cross", condition, self.ids, self.facts, span
            )
        return joined, (*bound, *waiting)

    def where(
        self,
        relation: Relation,
        parts: tuple[Expr | Tree, ...],
        tree: Tree,
        environment: Environment,
        outer: Scope | None,
    ) -> Relation:
        """Apply the conditions one by one; those with subqueries change the relation itself."""
        for part in parts:
            if isinstance(part, Expr):
                relation = separable.filter_rows(relation, part)
                continue
            relation = self.condition(relation, part, environment, outer)
        return relation

    def condition(self, relation: Relation, part: Tree, environment: Environment, outer: Scope | None) -> Relation:
        found = subqueries.as_semi_join(self, relation, part, environment)
        if found is not None:
            return found
        bound, relation = subqueries.bind(self, relation, part, environment)
        return separable.filter_rows(relation, bound)

    def _note_totals(self, outer: FinishTree, inner: FinishTree) -> None:
        """Mark what a SELECT over one measure's groups sums up along a key."""
        names = running.renamed_columns(outer.tree, inner.tree)
        place = next((i for i, m in enumerate(self.measures) if {m.name} == inner.measures), None)
        if names is None or place is None or self.measures[place].domain is None:
            return
        measure = self.measures[place]
        found = running.running_windows([outer.tree], [key.id for key in measure.keys], names)
        vectors, recipes = along(found, measure.vectors, self.recipes[measure.name])
        self.measures[place], self.recipes[measure.name] = replace(measure, vectors=vectors), recipes

    # Set operations ------------------------------------------------------------------------------------------------

    def set_operation(self, tree: Tree, environment: Environment) -> Lowered:
        kind, keep_all = str(tree.take("setop_type")).lower(), bool(tree.take("setop_all"))
        children = tree.children("children")
        if not children:
            children = [tree.need_child("left"), tree.need_child("right")]
        lowered = [self.query(child, environment) for child in children]
        if any(isinstance(part, FinishTree) for part in lowered):
            lowered = [
                public_rows.as_select(self, part, tree) if isinstance(part, Relation) and not part.protected else part
                for part in lowered
            ]
        noisy = [part for part in lowered if isinstance(part, FinishTree)]
        if len(noisy) == len(lowered):
            return finish.set_operation(tree, noisy)
        relations = [part for part in lowered if isinstance(part, Relation)]
        if len(relations) != len(lowered):
            raise tree.refuse(
                "S-142",
                "This combines an aggregated table with rows of people.",
                hint="Aggregate both sides: SELECT g, COUNT(*) FROM ... GROUP BY g on each.",
            )
        if tree.children("modifiers"):
            raise tree.refuse(
                "S-153", "ORDER BY and LIMIT cut rows by storage order here.", hint="Use them after aggregating."
            )
        tree.done()
        if kind == "union_by_name":
            kind, relations = "union", _by_name(relations, tree)
        types = self._aligned(relations, tree)
        if kind == "union" and keep_all:
            return set_operations.union_all(relations, self.ids, tree.span, types)
        if kind not in ("union", "except", "intersect") or keep_all:
            raise tree.refuse(
                "S-143", f"{kind.upper()}{' ALL' if keep_all else ''} is not supported on rows of people."
            )
        result = relations[0]
        if kind == "union":
            return set_operations.set_operation(kind, relations, self.ids, tree.span, types)
        for other in relations[1:]:
            pair = [result, other]
            result = set_operations.set_operation(kind, pair, self.ids, tree.span, self._aligned(pair, tree))
        return result

    def _aligned(self, relations: list[Relation], tree: Tree) -> list[tuple[Type, list[Expr]]]:
        widths = {len(relation.columns) for relation in relations}
        if len(widths) > 1:
            raise tree.refuse("P-125", "The SELECTs combined here have different numbers of columns.")
        aligned: list[tuple[Type, list[Expr]]] = []
        for position in range(widths.pop()):
            exprs = tuple(relation.columns[position].expr for relation in relations)
            types = {expr.type for expr in exprs}
            same = len(types) == 1 and UNIT not in types
            cast = (
                exprs if same or same_units(exprs) is not None else casts.unify(call_of(tree, "UNION", *exprs), exprs)
            )
            aligned.append((cast[0].type, list(cast)))
        return aligned


def _by_name(relations: list[Relation], tree: Tree) -> list[Relation]:
    """The relations with their columns in the order of the first one's."""
    first = [fold(column.name) for column in relations[0].columns]
    found = []
    for relation in relations:
        named = {fold(column.name): column for column in relation.columns}
        if sorted(named) != sorted(first) or len(named) != len(relation.columns):
            raise tree.refuse(
                "P-125",
                "UNION BY NAME needs the same column names on both sides here.",
                hint="Select NULL AS the missing column, or leave out the one that the other side does not have.",
            )
        found.append(replace(relation, columns=tuple(named[name] for name in first)))
    return found


def _linked(left: Relation, right: Relation, parts: list[Expr]) -> bool:
    """May these two be joined now? Two protected ones need a unit equality among the conditions."""
    if left.protected and right.protected:
        return joins.unit_pairs(left, right, tuple(parts))
    a, b = left.ids(), right.ids()
    return any(columns_of(part) & a and columns_of(part) & b and columns_of(part) <= a | b for part in parts)


def _public_rows() -> QueryRefused:
    return QueryRefused(
        "This SELECT reads only public rows.",
        code="S-102",
        hint="Ask the database itself: public tables need no noise.",
    )


def _raw_rows(relation: Relation) -> QueryRefused:
    return QueryRefused(
        "This asks for rows of people; Dither answers with aggregates.",
        code="S-100",
        hint='Write COUNT, SUM, AVG, ... with or without GROUP BY. To see what rows look like: dither try "SELECT ..." '
        "runs on invented people.",
    )
