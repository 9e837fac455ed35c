"""Two relations side by side: joins and semi-joins, and how many rows of one unit they can make.

Flow: `from_clause`, `lower` and `subqueries` call these with relations of `separable`, whose promise they keep.
Proofs: docs/proofs/plan/join.md, docs/proofs/plan/semi-join.md
"""

from __future__ import annotations

from dataclasses import replace

from dither.errors import QueryRefused, Span
from dither.plan import nodes
from dither.plan.separable import Ids, PublicFacts, Relation, unit_expression
from dither.plan.unit_hints import unit_hint
from dither.sql.expressions import Expr, columns_of, conjuncts
from dither.sql.names import NamedColumn
from dither.sql.types import UNIT

__all__ = ["join", "nullable", "public_copies", "semi_join", "unit_pairs"]

LARGEST_TAU = 10**9


def join(
    left: Relation,
    right: Relation,
    kind: nodes.JoinKind,
    condition: Expr | None,
    ids: Ids,
    facts: PublicFacts,
    span: Span | None,
) -> Relation:
    """Any join. Protected with protected needs unit = unit; the public side is never preserved.
    Proof: docs/proofs/plan/join.md."""
    parts = conjuncts(condition)
    if left.protected and right.protected:
        return _join_protected(left, right, kind, parts, condition, ids, span)
    if not left.protected and not right.protected:
        node = nodes.Join(left.node, right.node, kind, condition)
        return _combined(left, right, kind, node, protected=False, tau=0)
    preserved_public = (
        kind == "full" or (kind == "left" and not left.protected) or (kind == "right" and not right.protected)
    )
    if preserved_public:
        raise QueryRefused(
            "This outer join keeps public rows that match nobody, so whether a row matches would be told exactly.",
            code="S-112",
            span=span,
            hint="Put the protected table on the kept side, or use an inner join: groups without people still appear "
            "where the group column's values are public.",
        )
    protected, public = (left, right) if left.protected else (right, left)
    copies = public_copies(public, parts, facts)
    tau = protected.tau * (max(1, copies) if kind in ("left", "right") else copies)
    node = nodes.Join(left.node, right.node, kind, condition)
    return _combined(left, right, kind, node, protected=True, tau=_checked_tau(max(tau, 1), span))


def semi_join(left: Relation, right: Relation, condition: Expr, *, anti: bool, span: Span | None) -> Relation:
    """[NOT] EXISTS and [NOT] IN; a protected inside must match on the unit. Proof: docs/proofs/plan/semi-join.md."""
    if right.protected:
        if not left.protected:
            raise QueryRefused(
                "Whether a public row has people in a protected table would be told exactly.", code="S-120", span=span
            )
        parts = conjuncts(condition)
        if not unit_pairs(left, right, parts):
            raise QueryRefused(
                "The subquery looks at other people's rows: its answer for one row would depend on them.",
                code="S-121",
                span=span,
                hint=unit_hint(parts, left, right) or "Match it on the unit, as in WHERE inner.unit = outer.unit.",
            )
    return replace(left, node=nodes.SemiJoin(left.node, right.node, anti, condition))


def _join_protected(
    left: Relation,
    right: Relation,
    kind: nodes.JoinKind,
    parts: tuple[Expr, ...],
    condition: Expr | None,
    ids: Ids,
    span: Span | None,
) -> Relation:
    if left.row_unit or right.row_unit:
        raise QueryRefused(
            "Each row is its own unit here, so protected rows cannot be joined with each other.",
            code="S-111",
            span=span,
        )
    if not unit_pairs(left, right, parts):
        raise QueryRefused(
            "This join brings rows of different people together.",
            code="S-110",
            span=span,
            hint=unit_hint(parts, left, right)
            or "Join on the unit: ... ON left.unit = right.unit (AND anything else).",
        )
    a, b = left.tau, right.tau
    tau = {"inner": a * b, "cross": a * b, "left": a * max(1, b), "right": b * max(1, a), "full": max(a * b, a + b)}[
        kind
    ]
    unit = None
    if kind == "full":
        either = (unit_expression(left), unit_expression(right))
        unit = nodes.Output(ids.column(), Expr("coalesce", UNIT, either, nullable=False))
    node = nodes.Join(left.node, right.node, "inner" if kind == "cross" else kind, condition, unit)
    return _combined(
        left, right, kind, node, protected=True, tau=_checked_tau(tau, span), unit=unit.id if unit else None
    )


def _combined(
    left: Relation,
    right: Relation,
    kind: nodes.JoinKind,
    node: nodes.Rows,
    *,
    protected: bool,
    tau: int,
    unit: str | None = None,
) -> Relation:
    """Both sides' columns and what is known of them, after the join made some of them nullable."""
    weak_left, weak_right = kind in ("right", "full"), kind in ("left", "full")
    columns = (*_weakened(left, weak_left), *_weakened(right, weak_right))
    total = (frozenset() if weak_left else left.total) | (frozenset() if weak_right else right.total)
    partial = (
        left.partial
        | right.partial
        | (left.total if weak_left else frozenset())
        | (right.total if weak_right else frozenset())
    )
    if unit is None and protected:
        if left.protected and right.protected:
            unit = right.unit if kind == "right" else left.unit
        else:
            unit = left.unit if left.protected else right.unit
    extended = left.extended | right.extended
    extended |= (_produced(left) if weak_left else frozenset()) | (_produced(right) if weak_right else frozenset())
    return Relation(
        node,
        columns,
        protected=protected,
        unit=unit or "",
        total=total | ({unit} if unit else frozenset()),
        partial=partial - total,
        tau=tau,
        row_unit=left.row_unit or right.row_unit,
        sources={**left.sources, **right.sources},
        definitions={**left.definitions, **right.definitions},
        extended=extended,
        moved=left.moved | right.moved,
        written={**left.written, **right.written},
    )


def _weakened(relation: Relation, weak: bool) -> tuple[NamedColumn, ...]:
    if not weak:
        return relation.columns
    return tuple(replace(column, expr=nullable(column.expr)) for column in relation.columns)


def nullable(expr: Expr) -> Expr:
    """The expression over rows an outer join may have filled with NULLs: NULL flows through reads and columns."""
    return (
        replace(expr, nullable=True, args=tuple(nullable(arg) for arg in expr.args))
        if expr.op in ("column", "read", "unit")
        else expr
    )


def _produced(relation: Relation) -> frozenset[str]:
    return columns_of(*(column.expr for column in relation.columns))


def unit_pairs(left: Relation, right: Relation, parts: tuple[Expr, ...]) -> bool:
    """Is one of the ANDed conditions `unit of left = unit of right`?"""
    lefts, rights = left.total | left.partial, right.total | right.partial
    for part in parts:
        if part.op not in ("equal", "is_not_distinct") or not all(arg.is_column for arg in part.args):
            continue
        names = {str(arg.payload) for arg in part.args}
        # IS NOT DISTINCT FROM holds of two NULLs as well, which may be of two units: one side is never NULL then.
        if names & lefts and names & rights and (part.op == "equal" or names & (left.total | right.total)):
            return True
    return False


def public_copies(public: Relation, parts: tuple[Expr, ...], facts: PublicFacts) -> int:
    """Most public rows that one protected row can meet: by the equalities on the public side's own expressions."""
    own = public.ids()
    keys = []
    for part in parts:
        if part.op != "equal":
            continue
        for here, there in (part.args, part.args[::-1]):
            if columns_of(here) and columns_of(here) <= own and not columns_of(there) & own:
                keys.append(here)
                break
    if any(isinstance(node, nodes.Given) and node.rows is None for node in nodes.walk_rows(public.node)):
        return _given_copies(public, keys)
    if not keys:
        return facts.count(public.node)
    return facts.fanout(public.node, tuple(keys))


def _given_copies(public: Relation, keys: list[Expr]) -> int:
    """A released table joined on all its group columns gives one row; otherwise as many as it may have."""
    if public.given is not None:
        groups, size = public.given
        joined = {str(key.payload) for key in keys if key.is_column}
        if groups and groups <= joined:
            return 1
        if size is not None:
            return size
    raise QueryRefused(
        "How many rows of this aggregated table one row meets is not known beforehand.",
        code="S-117",
        hint="Join it on all the columns it is grouped by.",
    )


def _checked_tau(tau: int, span: Span | None) -> int:
    if tau > LARGEST_TAU:
        raise QueryRefused(
            f"One unit could make up to {tau:,} rows here; the noise for that would drown any answer.",
            code="S-113",
            span=span,
            hint="Join on more columns, or aggregate each side per unit first.",
        )
    return tau
