"""What may happen to private rows before they are counted: one rule per operator, each with a proof note. The rules
of one relation are here, those of two in `joins` and `set_operations`.

Flow: `lower` calls these functions with relations and gets a relation, or a refusal with the reason.
Promise of every rule: for all databases D, the protected relation on D is the disjoint union, over privacy units u, of
the same relation on u's rows (and the public tables); and no unit has more than `tau` rows in it when every scan below
keeps at most its own tau. Proofs: docs/proofs/plan/<rule>.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dither.catalog.model import Catalog, Column, ColumnUnit, ReferenceUnit, RowUnit, Table, fold
from dither.catalog.schema import SchemaTable, column_type
from dither.plan import nodes
from dither.plan.reads import read_column, read_unit
from dither.sql.expressions import Expr, Payload, columns_of, conjuncts, make_column
from dither.sql.names import NamedColumn, Scope
from dither.sql.naming import apart
from dither.sql.units import identity, over_column, unit_column

__all__ = ["Ids", "PublicFacts", "Relation", "unit_columns", "unit_expression"]


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
    rows: Callable[[nodes.Rows, tuple[Expr, ...]], list[tuple[object, ...]]]
    """What these expressions are, row by row, in an order of their own values."""


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
    moved: frozenset[str] = frozenset()
    """Ids of stored unit columns that are read like others, for the catalog gives them bounds or values."""
    given: tuple[frozenset[str], int | None] | None = None
    """Of a released result: the ids of all its group columns, and the most rows it can have (None: unknown)."""
    numbering: frozenset[str] = frozenset()
    """Ids of columns that number each unit's rows: ROW_NUMBER over partitions by the unit and by nothing else."""
    written: Mapping[str, tuple[Payload, ...]] = field(default_factory=dict)
    """Id of a column of a table written out in the question -> its values, row by row."""

    @property
    def scope(self) -> Scope:
        return Scope(self.columns)

    def named(self, alias: str, names: Sequence[str] = ()) -> Relation:
        """As a table of this name; columns of one name are told apart as DuckDB does it. names: for the first columns,
        as in `FROM (...) AS x(a, b)`; not more than there are."""
        columns = self.scope.qualified(alias).columns
        names = apart([*names, *(column.name for column in columns[len(names) :])])
        return replace(self, columns=tuple(replace(c, name=name) for c, name in zip(columns, names, strict=True)))

    def shown(self) -> list[tuple[str, str]]:
        """(table, column) of what `*` gives, in order."""
        return [(column.qualifier, column.name) for column in self.columns if not column.hidden]

    def is_unit(self, expr: Expr) -> bool:
        """Does the expression stand for the unit of every row?"""
        column = identity(expr)
        return column is not None and column.payload in self.total

    def ids(self) -> frozenset[str]:
        """Ids of all visible columns, and the unit."""
        visible = columns_of(*(column.expr for column in self.columns))
        return visible | {self.unit} if self.unit else visible


def scan(
    catalog: Catalog, table: Table, schemas: Mapping[str, SchemaTable], ids: Ids, *, tau: int, unique: bool
) -> Relation:
    """A protected table. schemas: of all tables, by folded name. Proof: docs/proofs/plan/scan.md."""
    schema = schemas[fold(table.name)]
    number = ids.scan()
    unit = f"s{number}_unit"
    assert table.unit is not None
    raw = [nodes.ScanColumn(f"s{number}_{i}", name) for i, name in enumerate(source_names(table, schema))]
    node = nodes.Scan(
        fold(table.name), tuple(raw), unit, tau, truncated=not unique and not isinstance(table.unit, RowUnit)
    )
    columns, moved = [], set()
    for entry in raw:
        found = schema.column(entry.name)
        assert found is not None
        declared = table.column(entry.name) or Column(entry.name, column_type(found.engine_type) or "text")
        expr = read_column(declared, found.engine_type, entry.id, required=not found.nullable)
        stored = _unit_type(catalog, table, entry.name, schemas)
        if stored is not None and declared.bounds is None and declared.values is None:
            expr = read_unit(declared, stored, unit)
        elif stored is not None:
            moved.add(entry.id)
        columns.append(NamedColumn(table.name, declared.name, expr))
    key = fold(table.name)
    sources = {entry.id: (key, fold(entry.name)) for entry in raw}
    return Relation(
        node,
        _as_stored_in_order(raw, columns, schema),
        protected=True,
        unit=unit,
        total=frozenset({unit}),
        tau=tau,
        row_unit=isinstance(table.unit, RowUnit),
        sources=sources,
        moved=frozenset(moved),
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
    ordered = _as_stored_in_order(raw, columns, schema)
    return Relation(nodes.PublicScan(key, tuple(raw)), ordered, protected=False, sources=sources)


def _as_stored_in_order(
    raw: list[nodes.ScanColumn], columns: list[NamedColumn], schema: SchemaTable
) -> tuple[NamedColumn, ...]:
    """In the order of the stored table, which `*`, UNION and column aliases go by: the catalog's order is its own."""
    places = {fold(column.name): place for place, column in enumerate(schema.columns)}
    pairs = sorted(zip(raw, columns, strict=True), key=lambda pair: places[fold(pair[0].name)])
    return tuple(column for _, column in pairs)


def filter_rows(relation: Relation, condition: Expr) -> Relation:
    """WHERE: a row stays or goes by itself. Proof: docs/proofs/plan/filter-project.md."""
    tau = min([relation.tau, *(_most_left(relation, part) for part in conjuncts(condition))])
    return replace(relation, node=nodes.Filter(relation.node, condition), tau=tau)


def _most_left(relation: Relation, part: Expr) -> int:
    """Most rows of a unit that pass a condition on their number, as in `rn <= 3`; its tau of any other condition.
    Proof: docs/proofs/plan/unit-window.md."""
    column, *ends = part.args or (part,)
    numbered = column.is_column and column.payload in relation.numbering
    known = [end.payload for end in ends if end.is_literal and type(end.payload) is int]
    if not numbered or len(known) < len(ends):
        return relation.tau
    match part.op, known:
        case "equal", [_]:
            return min(relation.tau, 1)
        case "less_or_equal", [most]:
            return min(relation.tau, max(1, int(most)))
        case "less", [above]:
            return min(relation.tau, max(1, int(above) - 1))
        case "between", [least, most]:
            return min(relation.tau, max(1, int(most) - int(least) + 1))
    return relation.tau


def project(relation: Relation, outputs: list[tuple[str, Expr]], ids: Ids) -> Relation:
    """SELECT of expressions over single rows; the unit travels along. Proof: docs/proofs/plan/filter-project.md."""
    columns, produced, definitions = [], [], dict(relation.definitions)
    total, partial = set(relation.total), set(relation.partial)
    extended, moved = set(relation.extended), relation.moved
    for name, expr in outputs:
        # A unit goes on as it is stored, and is guarded where something is computed from it.
        passed = expr if expr.is_column else identity(expr)
        if passed is not None:
            columns.append(NamedColumn("", name, expr))
            produced.append(nodes.Output(str(passed.payload), passed))
            continue
        identifier = ids.column()
        produced.append(nodes.Output(identifier, expr))
        definitions[identifier] = expr
        moved |= {identifier} if expr.op == "read" and columns_of(expr) <= relation.moved else frozenset()
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
        moved=moved,
    )


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
        if relation.is_unit(expr):
            stored = identity(expr)
            assert stored is not None
            outputs.append(nodes.Output(identifier, stored))
            column = unit_column(identifier) if expr is stored else over_column((expr,), identifier)
            total.add(identifier)
            unit = unit or identifier
        else:
            outputs.append(nodes.Output(identifier, expr))
            definitions[identifier] = expr
            ends = {"lo": expr.lo, "hi": expr.hi}
            column = make_column(identifier, expr.type, nullable=expr.nullable, length=expr.length, **ends)
            others += 1
        columns.append(NamedColumn("", name, column))
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
        numbering=frozenset(),
    )


def unit_window(relation: Relation, windows: list[tuple[nodes.WindowCall, Expr]]) -> Relation:
    """Window functions within one unit: every row stays. Proof: docs/proofs/plan/unit-window.md."""
    ids = tuple(sorted(relation.ids()))
    calls = tuple((str(column.payload), call) for call, column in windows)
    numbering = {
        id
        for id, call in calls
        if call.function == "row_number" and all(p.is_column and p.payload in relation.total for p in call.partition)
    }
    node = nodes.UnitWindow(relation.node, calls, ids)
    return replace(relation, node=node, numbering=relation.numbering | numbering)


def unit_columns(relation: Relation) -> frozenset[str]:
    """Ids of visible columns that always equal the unit."""
    columns = (identity(column.expr) for column in relation.columns)
    return frozenset(str(column.payload) for column in columns if column is not None) & relation.total


def unit_expression(relation: Relation) -> Expr:
    """The relation's unit as an expression over its columns."""
    return unit_column(relation.unit)


def _unit_type(catalog: Catalog, table: Table, name: str, schemas: Mapping[str, SchemaTable]) -> str | None:
    """The type, as the engine prints it, in which units are told apart, where this column holds the unit; else None."""
    match table.unit:
        case ColumnUnit(column) if fold(column) == fold(name):
            holder = table
        case ReferenceUnit(column, target, key, _) if fold(column) == fold(name):
            referred = catalog.table(target)
            if referred is None or not isinstance(referred.unit, ColumnUnit) or fold(referred.unit.column) != fold(key):
                return None
            holder, column = referred, key
        case _:
            return None
    found = schemas[fold(holder.name)].column(column)
    assert found is not None
    # The engine reads texts of all kinds as this one.
    return "VARCHAR" if column_type(found.engine_type) == "text" else found.engine_type


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
