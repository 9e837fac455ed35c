"""Relations one above the other: DISTINCT, and UNION, EXCEPT, INTERSECT of columns that hold the unit.

Flow: `lower` and `rows` call these with relations of `separable`, whose promise they keep.
Proofs: docs/proofs/plan/distinct.md, docs/proofs/plan/set-operations.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dither.errors import QueryRefused, Span
from dither.plan import nodes
from dither.plan.separable import Ids, Relation, unit_columns, unit_expression
from dither.plan.unit_hints import unit_hint
from dither.sql.expressions import Expr, columns_of, make_column
from dither.sql.names import NamedColumn
from dither.sql.types import Type
from dither.sql.units import over_column, same_units

__all__ = ["distinct", "set_operation", "union_all"]


def distinct(relation: Relation, span: Span | None) -> Relation:
    """SELECT DISTINCT over columns that hold the unit. Proof: docs/proofs/plan/distinct.md."""
    if relation.protected and not unit_columns(relation):
        raise QueryRefused(
            "DISTINCT without the unit among its columns merges rows of different people.",
            code="S-130",
            span=span,
            hint=unit_hint((column.expr for column in relation.columns), relation)
            or "Add the unit's column, or write GROUP BY with an aggregate.",
        )
    outputs = tuple(sorted(columns_of(*(column.expr for column in relation.columns))))
    unit = min(unit_columns(relation)) if relation.protected else ""
    only_unit = relation.protected and set(outputs) <= relation.total
    tau = 1 if only_unit else relation.tau
    return replace(relation, node=nodes.Distinct(relation.node, outputs), unit=unit, tau=tau)


def union_all(branches: list[Relation], ids: Ids, span: Span | None, types: list[tuple[Type, list[Expr]]]) -> Relation:
    """UNION ALL of protected relations: unit columns at the same place. Proof: docs/proofs/plan/set-operations.md.
    `types`: per output column its type and the branches' expressions at it."""
    if len({branch.protected for branch in branches}) > 1:
        raise QueryRefused(
            "UNION ALL mixes protected and public rows: public rows would be counted with people.",
            code="S-140",
            span=span,
        )
    return _set_columns(
        branches, ids, types, lambda inputs, rows, outs: nodes.UnionAll(inputs, rows, outs), sum_tau=True
    )


def set_operation(
    kind: str, branches: list[Relation], ids: Ids, span: Span | None, types: list[tuple[Type, list[Expr]]]
) -> Relation:
    """UNION, EXCEPT, INTERSECT (distinct): a total unit column at the same position in each branch.
    Proof: docs/proofs/plan/set-operations.md."""
    if kind == "union":
        return distinct(union_all(branches, ids, span, types), span)
    if len({branch.protected for branch in branches}) > 1:
        raise QueryRefused(f"{kind.upper()} mixes protected and public rows.", code="S-140", span=span)

    def build(
        inputs: tuple[nodes.Rows, ...], rows: tuple[tuple[Expr, ...], ...], outputs: tuple[str, ...]
    ) -> nodes.Rows:
        pair = (inputs[0], inputs[1])
        return nodes.SetOperation("except" if kind == "except" else "intersect", pair, (rows[0], rows[1]), outputs)

    result = _set_columns(branches, ids, types, build, sum_tau=False)
    if result.protected and not unit_columns(result):
        raise QueryRefused(
            f"{kind.upper()} without the unit among its columns compares rows of different people.",
            code="S-141",
            span=span,
            hint="Select the unit's column at the same place in both.",
        )
    return result


def _set_columns(
    branches: list[Relation],
    ids: Ids,
    types: list[tuple[Type, list[Expr]]],
    build: Callable[[tuple[nodes.Rows, ...], tuple[tuple[Expr, ...], ...], tuple[str, ...]], nodes.Rows],
    *,
    sum_tau: bool,
) -> Relation:
    first = branches[0]
    outputs, columns, total = [], [], set()
    feeds: list[list[Expr]] = [[] for _ in branches]
    for position, (type, exprs) in enumerate(types):
        identifier = ids.column()
        outputs.append(identifier)
        stored = same_units(exprs)
        for feed, expr in zip(feeds, stored or exprs, strict=True):
            feed.append(expr)
        name = first.columns[position].name
        if stored is not None:
            columns.append(NamedColumn("", name, over_column(exprs, identifier)))
            if all(branch.is_unit(column) for branch, column in zip(branches, stored, strict=True)):
                total.add(identifier)
            continue
        ranged = type.has_range
        column = make_column(
            identifier,
            type,
            nullable=any(expr.nullable for expr in exprs),
            lo=min(expr.lo for expr in exprs if expr.lo is not None) if ranged else None,
            hi=max(expr.hi for expr in exprs if expr.hi is not None) if ranged else None,
            length=max(expr.length for expr in exprs),
        )
        columns.append(NamedColumn("", name, column))
    unit = min(total) if total else ""
    if first.protected and not total:
        unit = ids.column()
        outputs.append(unit)
        for feed, branch in zip(feeds, branches, strict=True):
            feed.append(unit_expression(branch))
    node = build(tuple(branch.node for branch in branches), tuple(tuple(feed) for feed in feeds), tuple(outputs))
    tau = sum(branch.tau for branch in branches) if sum_tau else first.tau
    return Relation(
        node,
        tuple(columns),
        protected=first.protected,
        unit=unit,
        total=frozenset(total | ({unit} if unit else set())),
        tau=tau,
        row_unit=first.row_unit,
    )
