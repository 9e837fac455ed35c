"""A question as a series: one count or sum by day, released day by day; and which rows of a unit then count.

Flow: `session.series` lowers the question with `SeriesDays` in place of the key lists, checks its shape here, and asks
`causal` for the measure of the days that are due.
Whatever was released stays true when later rows arrive: for day D a unit adds min(its rows of D, what its rows of
earlier days leave of tau), so the ranking behind a cut looks back only.
Relies on: rows that are added but never deleted, changed or back-dated; nodes without public tables, whose contents may
change.  Proof: docs/proofs/plan/series.md
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dither.catalog.model import Catalog
from dither.errors import GuaranteeError, QueryRefused, Span
from dither.plan import nodes
from dither.plan.fingerprint import plan_fingerprint
from dither.plan.keys import Domain, KeyLists
from dither.plan.recipes import along
from dither.plan.separable import Relation
from dither.sql.expressions import Expr, columns_of, literal
from dither.sql.parse import Tree, parse
from dither.sql.types import BOOLEAN, INTEGER, Kind, days_of
from dither.sql.units import unit_column

__all__ = ["SeriesDays", "SeriesQuestion", "causal", "check_text", "outside_bounds", "series_question"]

_RANK = "series_rank"
_ONE_QUESTION = "Ask SELECT day, COUNT(*) FROM one table WHERE ... GROUP BY day; COUNT(x) or SUM(x) will do too."
_BY_ITSELF = "Whether a row counts in a series must be told by that row alone."
_NO_SUBQUERY = "Leave subqueries out of WHERE, or keep their result in a column of the table."


class SeriesDays(KeyLists):
    """Key lists for a series: its days are public whatever bounds the catalog declares, so nothing is derived."""

    def domain(self, relation: Relation, keys: tuple[nodes.Key, ...], span: Span | None) -> Domain:
        if len(keys) != 1 or keys[0].expr.type.kind is not Kind.DATE:
            found = "no key" if not keys else f"{len(keys)} keys" if len(keys) > 1 else "another type"
            raise QueryRefused(
                f"A series is grouped by one date, its day; this has {found}.",
                code="K-130",
                span=span,
                hint="Group by a column of dates, or by CAST(moment AS DATE).",
            )
        return Domain({keys[0].id: np.zeros(0, dtype="datetime64[us]")}, 0, "days of a series")


@dataclass(frozen=True, eq=False)
class SeriesQuestion:
    """What a series measures. Two of the same fingerprint measure the same, whatever their days."""

    measure: nodes.Measure
    """Its one vector on the grid of running totals; its domain without days."""
    day: Expr
    fingerprint: str
    column: str
    """What the answer calls the number."""
    table: str
    whole: bool
    """Is it a whole number?"""

    @property
    def vector(self) -> nodes.Vector:
        return self.measure.vectors[0]


def check_text(text: str) -> None:
    """Refuses, with a position, what is no series by its words alone: a third column, HAVING, ORDER BY, joins."""
    try:
        _check_tree(parse(text))
    except QueryRefused as refusal:
        raise refusal.located(text) from None


def series_question(plan: nodes.Plan, later: nodes.Plan, catalog: Catalog) -> SeriesQuestion:
    """What the plan of a question that `check_text` passed measures as a series.
    later: the plan of the same question at another time; a series asks the same every day.
    Raises QueryRefused where one day's number would not be a function of one table's rows of the day."""
    tree = parse(plan.text)
    try:
        _check_rows(plan, later, catalog, Tree(tree.data["where_clause"] or tree.data["from_table"], plan.text))
        return _measured(plan, catalog, Tree(tree.data["select_list"][1], plan.text))
    except QueryRefused as refusal:
        raise refusal.located(plan.text) from None


def causal(question: SeriesQuestion, *, since: dt.date, due: dt.date, through: dt.date) -> nodes.Measure:
    """The measure of days due..through, in which of each unit's rows from `since` on only the first tau count, in order
    of day, then of the row's hash.
    since: the first day on which rows use the unit's tau up; due: the first day not yet released.
    Rows equal in all that the measure reads add the same, so which of them counts does not matter."""
    measure, day = question.measure, question.day
    rows: nodes.Rows = nodes.Filter(_uncut(measure.input), _between(day, since, through))
    if any(scan.truncated for scan in nodes.scans_of(measure.input)):
        unit = unit_column(measure.unit)
        read = [e for e in (day, question.vector.expr, question.vector.filter) if e is not None]
        call = nodes.WindowCall("row_number", (), (unit,), ((day, "ASC", "NULLS LAST"),), "", total_order=True)
        rows = nodes.UnitWindow(rows, ((_RANK, call),), tuple(sorted(columns_of(*read))))
        rank = Expr("column", INTEGER, payload=_RANK, nullable=False)
        rows = nodes.Filter(rows, Expr("less_or_equal", BOOLEAN, (rank, literal(measure.tau)), nullable=False))
    rows = nodes.Filter(rows, _between(day, due, through))
    days = np.arange(np.datetime64(due, "D"), np.datetime64(through, "D") + 1).astype("datetime64[us]")
    domain = Domain({measure.keys[0].id: days}, len(days), f"days of a series from {due} to {through}")
    return replace(measure, input=rows, domain=domain)


def outside_bounds(question: SeriesQuestion, first: dt.date, last: dt.date) -> bool:
    """Do declared bounds of the day move rows of these days, or of days after them, to another day?"""
    lo, hi = question.day.lo, question.day.hi
    return (lo is not None and days_of(first) < lo) or (hi is not None and days_of(last) > hi)


def _uncut(node: nodes.Rows) -> nodes.Rows:
    """The relation over all rows of its scan: the ranking by day cuts in its place."""
    match node:
        case nodes.Scan():
            return replace(node, truncated=False)
        case nodes.Filter() | nodes.Project():
            return replace(node, input=_uncut(node.input))
        case _:
            raise GuaranteeError("A series was about to be measured over rows of another shape.")


def _between(day: Expr, first: dt.date, last: dt.date) -> Expr:
    return Expr("between", BOOLEAN, (day, literal(first), literal(last)), nullable=day.nullable)


def _check_tree(tree: Tree) -> None:
    data = tree.data
    named = (data.get("cte_map") or {}).get("map")
    if tree.type != "SELECT_NODE" or named:
        raise _within(named or data, tree).refuse("S-170", "A series is one SELECT of one table.", hint=_ONE_QUESTION)
    source = Tree(data["from_table"], tree.text)
    if source.type != "BASE_TABLE" or data.get("sample"):
        raise _within(source.data, tree).refuse("S-170", "A series is of the rows of one table.", hint=_ONE_QUESTION)
    for field, word in (("having", "HAVING"), ("qualify", "QUALIFY")):
        if data.get(field):
            raise _within(data[field], tree).refuse(
                "S-170", f"{word} has no place in a series: every day's total is released.", hint=_ONE_QUESTION
            )
    items = [Tree(item, tree.text) for item in data.get("select_list") or []]
    for modifier in data.get("modifiers") or []:
        word = str(modifier["type"]).removesuffix("_MODIFIER").replace("_", " ")
        raise _within(modifier, items[0]).refuse(
            "S-170", f"{word} has no place in a series: its days come in order, all of them.", hint=_ONE_QUESTION
        )
    if len(items) != 2:
        raise items[min(2, len(items) - 1)].refuse(
            "S-170", f"A series shows its day and one number; this shows {len(items)}.", hint=_ONE_QUESTION
        )
    groups = [Tree(item, tree.text) for item in data.get("group_expressions") or []]
    sets = data.get("group_sets") or []
    if len(groups) != 1 or len(sets) != 1 or data.get("aggregate_handling") != "STANDARD_HANDLING":
        place = groups[1] if len(groups) > 1 else items[0]
        raise place.refuse("K-130", "A series is grouped by one date, its day.", hint=_ONE_QUESTION)
    for part in _parts(data.get("where_clause")):
        if part.get("class") == "SUBQUERY":
            raise Tree(part, tree.text).refuse("S-172", _BY_ITSELF, hint=_NO_SUBQUERY)


def _within(data: object, otherwise: Tree) -> Tree:
    """The first part that has a position."""
    placed = (Tree(part, otherwise.text) for part in _parts(data) if "type" in part)
    return next((tree for tree in placed if tree.span is not None), otherwise)


def _parts(data: object) -> Iterator[dict[str, Any]]:
    stack = [data]
    while stack:
        part = stack.pop(0)
        if isinstance(part, dict):
            yield part
            stack += part.values()
        elif isinstance(part, list):
            stack += part


def _check_rows(plan: nodes.Plan, later: nodes.Plan, catalog: Catalog, where: Tree) -> None:
    if plan_fingerprint(plan, catalog) != plan_fingerprint(later, catalog):
        raise where.refuse(
            "S-171",
            "A series asks the same every day; this depends on the current date.",
            hint="Write dates out; `first` and `days` say which days there are.",
        )
    alone = (nodes.Scan, nodes.Filter, nodes.Project)
    if (
        plan.phases
        or len(plan.measures) != 1
        or not all(isinstance(node, alone) for node in nodes.walk_rows(plan.measures[0].input))
    ):
        # A public table may change, and another row of the same unit may come: then rows that were counted could
        # vanish from the relation, and their unit would count again.
        raise where.refuse("S-172", _BY_ITSELF, hint=_NO_SUBQUERY)


def _measured(plan: nodes.Plan, catalog: Catalog, number: Tree) -> SeriesQuestion:
    measure, (_, recipes) = plan.measures[0], plan.aggregates[0]
    additive = (
        plan.roles == ("key", "aggregate")
        and len(recipes) == len(measure.vectors) == 1
        and measure.vectors[0].kind in ("rows", "sum")
        and not measure.vectors[0].distinct
    )
    marked = {recipe.id: nodes.Running(measure.keys[0].id) for recipe in recipes}
    vectors, changed = along(marked, measure.vectors, recipes)
    if not additive or number.kind != "FUNCTION" or vectors[0].running is None or vectors[0].center:
        raise number.refuse(
            "A-130", "A series releases its day and then COUNT(*), COUNT(x) or SUM(x), as it is.", hint=_ONE_QUESTION
        )
    measure = replace(measure, vectors=vectors)
    # What the columns are called is no part of what is measured.
    fingerprint = plan_fingerprint(replace(plan, measures=(measure,), finish_sql="series"), catalog)
    table = nodes.scans_of(measure.input)[0].table
    return SeriesQuestion(measure, measure.keys[0].expr, fingerprint, plan.columns[1], table, changed[0].whole)
