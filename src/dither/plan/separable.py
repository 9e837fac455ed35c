"""What may happen to private rows before they are counted: one rule per operator, each with a proof note.

Flow: `lower` calls these functions with relations and gets a relation, or a refusal with the reason.
Promise of every rule: for all databases D, the protected relation on D is the disjoint union, over privacy units u, of
the same relation on u's rows (and the public tables); and no unit has more than `tau` rows in it when every scan below
keeps at most its own tau. Proofs: docs/proofs/plan/<rule>.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from dither.catalog.model import Catalog, Column, ColumnUnit, ReferenceUnit, RowUnit, Table, fold
from dither.catalog.schema import SchemaTable, column_type
from dither.errors import QueryRefused, Span
from dither.plan import nodes
from dither.plan.reads import read_column
from dither.sql.expressions import Expr, columns_of, conjuncts, make_column
from dither.sql.names import NamedColumn, Scope
from dither.sql.types import Kind, Type

__all__ = ["LARGEST_TAU", "Ids", "PublicFacts", "Relation"]

LARGEST_TAU = 10**9


@dataclass
class Ids:
    """Numbers scans and derived columns in the order a plan is built."""

    scans: int = 0
    columns: int = 0
    measures: int = 0

    def measure(self) -> str:
        self.measures += 1
        return f"m{self.measures - 1}"

    def scan(self) -> int:
        self.scans += 1
        return self.scans - 1

    def column(self) -> str:
        self.columns += 1
        return f"p{self.columns - 1}"


@dataclass(frozen=True)
class PublicFacts:
    """What planning may read: sizes and values of public relations. Functions, so that nothing is read unless asked."""

    count: Callable[[nodes.Rows], int]
    fanout: Callable[[nodes.Rows, tuple[Expr, ...]], int]
    """Most rows of a public relation that share one value of these expressions."""


@dataclass(frozen=True)
class Relation:
    """Rows, with what is known of them."""

    node: nodes.Rows
    columns: tuple[NamedColumn, ...]
    protected: bool
    unit: str = ""
    """Id of the hidden unit column; never NULL. '' for public relations."""
    total: frozenset[str] = frozenset()
    """Ids of columns that always equal the unit."""
    partial: frozenset[str] = frozenset()
    """Ids of columns that equal the unit or are NULL."""
    tau: int = 0
    row_unit: bool = False
    sources: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Id of a raw column -> (folded table, folded column), for the lists of public groups."""
    definitions: Mapping[str, Expr] = field(default_factory=dict)
    """Id of a projected column -> the expression it holds."""
    extended: frozenset[str] = frozenset()
    """Ids that an outer join may have made NULL."""
    given: tuple[frozenset[str], int | None] | None = None
    """Of a released result: the ids of all its group columns, and the most rows it can have (None: unknown)."""

    @property
    def scope(self) -> Scope:
        return Scope(self.columns)

    def named(self, alias: str) -> Relation:
        return replace(self, columns=self.scope.qualified(alias).columns)

    def ids(self) -> frozenset[str]:
        """Ids of all visible columns, and the unit."""
        visible = columns_of(*(column.expr for column in self.columns))
        return visible | {self.unit} if self.unit else visible


def scan(catalog: Catalog, table: Table, schema: SchemaTable, ids: Ids, *, tau: int, unique: bool) -> Relation:
    """A protected table. Proof: docs/proofs/plan/scan.md."""
    number = ids.scan()
    unit = f"s{number}_unit"
    assert table.unit is not None
    raw = [nodes.ScanColumn(f"s{number}_{i}", name) for i, name in enumerate(source_names(table, schema))]
    node = nodes.Scan(
        fold(table.name), tuple(raw), unit, tau, truncated=not unique and not isinstance(table.unit, RowUnit)
    )
    columns = []
    for entry in raw:
        found = schema.column(entry.name)
        assert found is not None
        declared = table.column(entry.name) or Column(entry.name, column_type(found.engine_type) or "text")
        if _is_unit_column(catalog, table, entry.name) and declared.bounds is None and declared.values is None:
            expr = replace(read_column(declared, found.engine_type, unit).args[0], nullable=False)
        else:
            expr = read_column(declared, found.engine_type, entry.id, required=not found.nullable)
        columns.append(NamedColumn(table.name, declared.name, expr))
    key = fold(table.name)
    sources = {entry.id: (key, fold(entry.name)) for entry in raw}
    return Relation(
        node,
        tuple(columns),
        protected=True,
        unit=unit,
        total=frozenset({unit}),
        tau=tau,
        row_unit=isinstance(table.unit, RowUnit),
        sources=sources,
    )


def public_scan(table: Table, schema: SchemaTable, ids: Ids) -> Relation:
    """A public table: all its columns, as the engine types them, or those the catalog declares."""
    number = ids.scan()
    names = [column.name for column in table.columns.values()] or [column.name for column in schema.columns]
    raw = []
    columns = []
    for i, name in enumerate(names):
        found = schema.column(name)
        assert found is not None
        kind = column_type(found.engine_type)
        declared = table.column(name) or (Column(found.name, kind) if kind else None)
        if declared is None:
            continue
        identifier = f"s{number}_{i}"
        raw.append(nodes.ScanColumn(identifier, found.name))
        columns.append(NamedColumn(table.name, declared.name, read_column(declared, found.engine_type, identifier)))
    key = fold(table.name)
    sources = {entry.id: (key, fold(entry.name)) for entry in raw}
    return Relation(nodes.PublicScan(key, tuple(raw)), tuple(columns), protected=False, sources=sources)


def filter_rows(relation: Relation, condition: Expr) -> Relation:
    """WHERE: a row stays or goes by itself. Proof: docs/proofs/plan/filter-project.md."""
    return replace(relation, node=nodes.Filter(relation.node, condition))


def project(relation: Relation, outputs: list[tuple[str, Expr]], ids: Ids) -> Relation:
    """SELECT of expressions over single rows; the unit travels along. Proof: docs/proofs/plan/filter-project.md."""
    columns, produced, definitions = [], [], dict(relation.definitions)
    total, partial = set(relation.total), set(relation.partial)
    extended = set(relation.extended)
    for name, expr in outputs:
        if expr.is_column:
            columns.append(NamedColumn("", name, expr))
            produced.append(nodes.Output(str(expr.payload), expr))
            continue
        identifier = ids.column()
        produced.append(nodes.Output(identifier, expr))
        definitions[identifier] = expr
        column = make_column(identifier, expr.type, nullable=expr.nullable, lo=expr.lo, hi=expr.hi, length=expr.length)
        columns.append(NamedColumn("", name, column))
    if relation.unit:
        produced.append(nodes.Output(relation.unit, unit_expression(relation)))
    unique = tuple({output.id: output for output in produced}.values())
    return replace(
        relation,
        node=nodes.Project(relation.node, unique),
        columns=tuple(columns),
        total=frozenset(total),
        partial=frozenset(partial),
        definitions=definitions,
        extended=frozenset(extended),
    )


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
    copies = _public_copies(public, parts, facts)
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
        if not _unit_pairs(left, right, conjuncts(condition)):
            raise QueryRefused(
                "The subquery looks at other people's rows: its answer for one row would depend on them.",
                code="S-121",
                span=span,
                hint="Match it on the unit, as in WHERE inner.unit = outer.unit.",
            )
    return replace(left, node=nodes.SemiJoin(left.node, right.node, anti, condition))


def unit_aggregate(
    relation: Relation,
    keys: list[tuple[str, Expr]],
    aggregates: list[tuple[str, nodes.AggregateCall, Expr]],
    ids: Ids,
) -> Relation:
    """GROUP BY that holds the unit: one row per unit and value of the other keys. Each aggregate comes with a column
    (its id, type and range). Proof: docs/proofs/plan/unit-aggregate.md."""
    outputs, columns, definitions = [], [], dict(relation.definitions)
    total = set()
    others = 0
    unit = ""
    for name, expr in keys:
        identifier = ids.column()
        outputs.append(nodes.Output(identifier, expr))
        definitions[identifier] = expr
        column = make_column(identifier, expr.type, nullable=expr.nullable, lo=expr.lo, hi=expr.hi, length=expr.length)
        columns.append(NamedColumn("", name, column))
        if expr.is_column and expr.payload in relation.total:
            total.add(identifier)
            unit = unit or identifier
        else:
            others += 1
    calls = []
    for name, call, column in aggregates:
        calls.append((str(column.payload), call))
        columns.append(NamedColumn("", name, column))
    node = nodes.UnitAggregate(relation.node, tuple(outputs), tuple(calls))
    return replace(
        relation,
        node=node,
        columns=tuple(columns),
        unit=unit,
        total=frozenset(total),
        partial=frozenset(),
        tau=1 if others == 0 else relation.tau,
        definitions=definitions,
    )


def unit_window(relation: Relation, windows: list[tuple[nodes.WindowCall, Expr]]) -> Relation:
    """Window functions within one unit: every row stays. Proof: docs/proofs/plan/unit-window.md."""
    ids = tuple(sorted(relation.ids()))
    calls = tuple((str(column.payload), call) for call, column in windows)
    return replace(relation, node=nodes.UnitWindow(relation.node, calls, ids))


def distinct(relation: Relation, span: Span | None) -> Relation:
    """SELECT DISTINCT over columns that hold the unit. Proof: docs/proofs/plan/distinct.md."""
    if relation.protected and not _totals(relation):
        raise QueryRefused(
            "DISTINCT without the unit among its columns merges rows of different people.",
            code="S-130",
            span=span,
            hint="Add the unit's column, or write GROUP BY with an aggregate.",
        )
    outputs = tuple(sorted(columns_of(*(column.expr for column in relation.columns))))
    unit = min(_totals(relation)) if relation.protected else ""
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
    if result.protected and not _totals(result):
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
        for feed, expr in zip(feeds, exprs, strict=True):
            feed.append(expr)
        ranged = type.has_range
        column = make_column(
            identifier,
            type,
            nullable=any(expr.nullable for expr in exprs),
            lo=min(expr.lo for expr in exprs if expr.lo is not None) if ranged else None,
            hi=max(expr.hi for expr in exprs if expr.hi is not None) if ranged else None,
            length=max(expr.length for expr in exprs),
        )
        columns.append(NamedColumn("", first.columns[position].name, column))
        if first.protected and all(
            expr.is_column and expr.payload in branch.total for expr, branch in zip(exprs, branches, strict=True)
        ):
            total.add(identifier)
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
    if not _unit_pairs(left, right, parts):
        raise QueryRefused(
            "This join brings rows of different people together.",
            code="S-110",
            span=span,
            hint="Join on the unit: ... ON left.unit = right.unit (AND anything else).",
        )
    a, b = left.tau, right.tau
    tau = {"inner": a * b, "cross": a * b, "left": a * max(1, b), "right": b * max(1, a), "full": max(a * b, a + b)}[
        kind
    ]
    unit = None
    if kind == "full":
        first, second = unit_expression(left), unit_expression(right)
        unit = nodes.Output(
            ids.column(), Expr("coalesce", first.type, (first, second), nullable=False, lo=first.lo, hi=first.hi)
        )
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
    )


def _weakened(relation: Relation, weak: bool) -> tuple[NamedColumn, ...]:
    if not weak:
        return relation.columns
    return tuple(replace(column, expr=_nullable(column.expr)) for column in relation.columns)


def _nullable(expr: Expr) -> Expr:
    """The expression over rows an outer join may have filled with NULLs: NULL flows through reads and columns."""
    return (
        replace(expr, nullable=True, args=tuple(_nullable(arg) for arg in expr.args))
        if expr.op in ("column", "read")
        else expr
    )


def _produced(relation: Relation) -> frozenset[str]:
    return columns_of(*(column.expr for column in relation.columns))


def _unit_pairs(left: Relation, right: Relation, parts: tuple[Expr, ...]) -> bool:
    """Is one of the ANDed conditions `unit of left = unit of right`?"""
    lefts, rights = left.total | left.partial, right.total | right.partial
    for part in parts:
        if part.op != "equal" or not all(arg.is_column for arg in part.args):
            continue
        a, b = (str(arg.payload) for arg in part.args)
        if (a in lefts and b in rights) or (b in lefts and a in rights):
            return True
    return False


def _public_copies(public: Relation, parts: tuple[Expr, ...], facts: PublicFacts) -> int:
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
    if any(isinstance(node, nodes.Given) for node in nodes.walk_rows(public.node)):
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


def _totals(relation: Relation) -> frozenset[str]:
    """Visible columns that always equal the unit."""
    visible = {str(column.expr.payload) for column in relation.columns if column.expr.is_column}
    return frozenset(visible & relation.total)


def unit_expression(relation: Relation) -> Expr:
    """The relation's unit as an expression over its columns."""
    for column in relation.columns:
        if column.expr.is_column and column.expr.payload == relation.unit:
            return column.expr
    return make_column(relation.unit, Type(Kind.TEXT), nullable=False)


def _is_unit_column(catalog: Catalog, table: Table, name: str) -> bool:
    match table.unit:
        case ColumnUnit(column):
            return fold(column) == fold(name)
        case ReferenceUnit(column, target, key, _):
            referred = catalog.table(target)
            return (
                fold(column) == fold(name)
                and referred is not None
                and isinstance(referred.unit, ColumnUnit)
                and fold(referred.unit.column) == fold(key)
            )
        case _:
            return False


def source_names(table: Table, schema: SchemaTable) -> list[str]:
    """Declared columns in their order, then the unit's or the reference's column when it was not declared."""
    names = [column.name for column in table.columns.values()]
    match table.unit:
        case ColumnUnit(column) | ReferenceUnit(column, _, _, _):
            if fold(column) not in table.columns:
                names.append(column)
    result = []
    for name in names:
        found = schema.column(name)
        assert found is not None, name
        result.append(found.name)
    return result
