"""The FROM clause: tables, subqueries and joins, as relations over people's rows or as noisy tables.

Flow: `lower` calls `from_clause` for each SELECT, and goes on with what WHERE says of how the relations meet.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dither.catalog.model import ColumnUnit, ReferenceUnit, RowUnit, Table, fold
from dither.errors import QueryRefused
from dither.plan import joins, nodes, phases, public_rows, separable, written
from dither.plan.finish import NoisySource, as_table, join_noisy, no_table
from dither.plan.rewriting import FinishTree
from dither.plan.separable import Relation
from dither.plan.with_clause import Environment
from dither.sql.bind import Binder, call_of
from dither.sql.expressions import Expr, and_all
from dither.sql.functions import logic
from dither.sql.names import SCHEMAS, NamedColumn, Scope
from dither.sql.parse import Tree
from dither.sql.units import over_column, same_units

if TYPE_CHECKING:
    from dither.plan.lower import Lowered, Lowering

__all__ = ["Source", "from_clause"]

Source = list[Relation] | NoisySource
"""Relations that comma and cross joins keep apart until WHERE says how they meet, or one noisy table."""


def from_clause(lowering: Lowering, tree: Tree, environment: Environment, *, released: bool = False) -> Source:
    """The relations a FROM names, comma and cross joins kept apart until WHERE says how they meet.
    released: joins of an aggregated table with public ones are written as what the finish joins."""
    match tree.type:
        case "BASE_TABLE":
            return _base_table(lowering, tree, environment)
        case "SUBQUERY":
            return _subquery(lowering, tree, environment)
        case "JOIN":
            return _join(lowering, tree, environment, released)
        case "EXPRESSION_LIST":
            return [written.values_table(lowering, tree).named(tree.alias)]
        case "TABLE_FUNCTION":
            return [_function_table(lowering, tree)]
        case "EMPTY":
            return no_table()
    raise tree.refuse(
        "P-123",
        f"This kind of table ({tree.type.replace('_', ' ').lower()}) is not supported in FROM.",
        hint=_OTHER_TABLES.get(tree.type, "Name a table of the catalog, a subquery, or VALUES."),
    )


_OTHER_TABLES = {
    "PIVOT": "Write a column for each value: SELECT region, COUNT(*) FILTER (WHERE y = 2024) AS y2024 FROM ... GROUP "
    "BY region; for rows in place of columns, UNION ALL.",
    "SHOW_REF": "Schemas are told by `dither check` and `dither explain`; `dither try` shows invented rows.",
}


def _function_table(lowering: Lowering, tree: Tree) -> Relation:
    names = [str(name) for name in tree.take("column_name_alias") or []]
    function = str(tree.data["function"]["function_name"])
    relation = written.function_table(lowering, tree, tree.alias)
    if len(names) > 1:
        raise tree.refuse("P-124", f"{len(names)} names for 1 column.")
    relation = relation.named(tree.alias or function, names)
    if names or not tree.alias:
        return relation
    # DuckDB knows the column by the table's name and by the function's.
    by_function = replace(relation.columns[0], name=function, hidden=True)
    return replace(relation, columns=(*relation.columns, by_function))


def _base_table(lowering: Lowering, tree: Tree, environment: Environment) -> Source:
    name = str(tree.take("table_name"))
    schema_name, catalog_name = str(tree.take("schema_name") or ""), str(tree.take("catalog_name") or "")
    aliases = tree.take("column_name_alias") or []
    if tree.take("sample") is not None:
        raise tree.refuse("S-151", "Sampling is not supported.", hint="Ask of all rows; noise protects people.")
    tree.done()
    cte = environment.ctes.get(fold(name)) if not schema_name else None
    if cte is not None:
        body, names, inner = cte
        lowered = _as_source(lowering.query(Tree(body.data, body.text), inner), tree.alias or name)
        return _renamed(_renamed(lowered, tree, tree.alias or name, names), tree, tree.alias or name, aliases)
    table = lowering.catalog.table(name)
    if table is None or catalog_name or (schema_name and fold(schema_name) not in SCHEMAS):
        raise tree.refuse(
            "N-100",
            f"There is no table `{'.'.join(part for part in (catalog_name, schema_name, name) if part)}` here.",
            hint=f"Tables: {', '.join(t.name for t in lowering.catalog.tables.values())}.",
            owner_hint="A table the catalog does not name is not visible.",
        )
    alias = tree.alias or table.name
    return _renamed([scan(lowering, table, tree).named(alias)], tree, alias, aliases)


def _renamed(source: Source, tree: Tree, alias: str, names: list[str]) -> Source:
    """The table with the names after its alias, as in `AS x(a, b)`, for its first columns."""
    if not names:
        return [source[0].named(alias)] if isinstance(source, list) else source
    own = source[0].shown() if isinstance(source, list) else source.columns
    if len(names) > len(own):
        raise tree.refuse("P-124", f"{len(names)} names for {len(own)} columns.")
    return [source[0].named(alias, names)] if isinstance(source, list) else source.renamed(names)


def scan(lowering: Lowering, table: Table, tree: Tree) -> Relation:
    key = fold(table.name)
    schema = lowering.schemas[key]
    lowering.tables.add(key)
    if table.is_public:
        return separable.public_scan(table, schema, lowering.ids)
    unique = _unit_is_unique(lowering, table)
    tau = 1 if unique else lowering.choices.rows_kept(key)
    if tau is None:
        raise tree.refuse(
            "B-110",
            f"How many rows of `{table.name}` one {lowering.catalog.unit_name} may have is not known yet.",
            hint=f"Ask the owner to declare max_rows_per_unit, or to run `dither tune {table.name}`.",
        )
    _note_assertions(lowering, table)
    return separable.scan(lowering.catalog, table, lowering.schemas, lowering.ids, tau=tau, unique=unique)


def _unit_is_unique(lowering: Lowering, table: Table) -> bool:
    match table.unit:
        case RowUnit():
            return True
        case ColumnUnit(column):
            found = lowering.schemas[fold(table.name)].column(column)
            return found is not None and found.unique
        case _:
            return False


def _note_assertions(lowering: Lowering, table: Table) -> None:
    if isinstance(table.unit, ReferenceUnit):
        if table.unit.asserted:
            lowering.notes.append(
                f"The owner asserts that {table.unit.table}.{table.unit.key} is unique; the guarantee rests on it."
            )
        target = lowering.catalog.table(table.unit.table)
        if target is not None:
            _note_assertions(lowering, target)


def _subquery(lowering: Lowering, tree: Tree, environment: Environment) -> Source:
    body = Tree({**tree.take("subquery"), "type": "STATEMENT"}, tree.text)
    node = body.need_child("node")
    body.take("named_param_map")
    body.done()
    names = [str(name) for name in tree.take("column_name_alias") or []]
    tree.done()
    alias = tree.alias or "subquery"
    return _renamed(_as_source(lowering.query(node, environment), alias), tree, alias, names)


def _beside(refusal: QueryRefused, left: Source, tree: Tree) -> QueryRefused:
    """A refusal of what stands right of a join: a name it does not know may be one of the left side's (LATERAL)."""
    if refusal.code != "N-101" or refusal.span is None:
        return refusal
    start, length = refusal.span
    qualifier = tree.text[start : start + length].rpartition(".")[0].rpartition(".")[2]
    columns = left.columns if isinstance(left, NoisySource) else [c for one in left for c in one.shown()]
    if not qualifier or fold(qualifier) not in {fold(table) for table, _ in columns}:
        return refusal
    return QueryRefused(
        "A subquery in FROM cannot name columns of the tables beside it (LATERAL).",
        code="P-132",
        span=refusal.span,
        hint="Join it: ... JOIN o ON o.unit = t.unit; or write (SELECT SUM(x) FROM o WHERE o.unit = t.unit) as value.",
    )


def _as_source(lowered: Lowered, alias: str) -> Source:
    match lowered:
        case Relation():
            return [lowered.named(alias)]
        case FinishTree():
            return as_table(lowered, alias)


def _join(lowering: Lowering, tree: Tree, environment: Environment, released: bool) -> Source:
    left = from_clause(lowering, tree.need_child("left"), environment, released=released)
    try:
        right = from_clause(lowering, tree.need_child("right"), environment, released=released)
    except QueryRefused as refusal:
        raise _beside(refusal, left, tree) from None
    if released:
        left, right = (public_rows.as_noisy(lowering, side, tree) for side in (left, right))
    kind, reference = str(tree.take("join_type")).lower(), str(tree.take("ref_type"))
    using = [str(name) for name in tree.take("using_columns") or []]
    tree.take("is_implicit")
    if isinstance(left, NoisySource) or isinstance(right, NoisySource):
        if isinstance(left, NoisySource) and isinstance(right, NoisySource):
            return join_noisy(tree, left, right)
        left, right = (phases.as_rows(lowering, side, tree) for side in (left, right))
    if reference == "CROSS":
        tree.done()
        return [*left, *right]
    if reference not in ("REGULAR", "NATURAL") or kind not in (
        "inner",
        "left",
        "right",
        "full",
        "outer",
        "semi",
        "anti",
    ):
        raise tree.refuse(
            "S-115",
            f"This kind of join ({reference.lower()} {kind}) is not supported.",
            hint=_OTHER_JOINS.get(reference, "Inner, left, right, full, cross, semi and anti joins are."),
        )
    a, b = _one(lowering, left, tree), _one(lowering, right, tree)
    on = tree.child("condition")
    tree.done()
    if reference == "NATURAL":
        shared = {fold(column.name) for column in b.columns}
        using = [column.name for column in a.columns if fold(column.name) in shared]
    if using:
        condition = _using(a, b, using, tree)
    elif on is not None:
        condition = Binder(Scope((*a.columns, *b.columns)), now=lowering.now).condition(on, "ON")
    else:
        raise tree.refuse("S-116", "This join has no condition.")
    if kind in ("semi", "anti"):
        return [joins.semi_join(a, b, condition, anti=kind == "anti", span=tree.span)]
    plan_kind: nodes.JoinKind = "full" if kind == "outer" else kind  # type: ignore[assignment]
    joined = joins.join(a, b, plan_kind, condition, lowering.ids, lowering.facts, tree.span)
    return [_merge_using(joined, a, b, using, plan_kind, tree)]


_OTHER_JOINS = {
    "ASOF": "Join on the unit and the inequality, and keep the nearest row: QUALIFY ROW_NUMBER() OVER (PARTITION BY "
    "unit, ... ORDER BY ... DESC) = 1.",
    "POSITIONAL": "Which rows stand beside each other there is storage order. Join on the unit: ON a.unit = b.unit.",
}


def _one(lowering: Lowering, relations: list[Relation], tree: Tree) -> Relation:
    if len(relations) == 1:
        return relations[0]
    joined = relations[0]
    for other in relations[1:]:
        joined = joins.join(joined, other, "cross", None, lowering.ids, lowering.facts, tree.span)
    return joined


def _using(left: Relation, right: Relation, names: list[str], tree: Tree) -> Expr:
    parts = []
    for name in names:
        a, b = left.scope.resolve([name], tree.span).expr, right.scope.resolve([name], tree.span).expr
        parts.append(logic.compare(call_of(tree, "USING", a, b), "="))
    condition = and_all(parts)
    assert condition is not None
    return condition


def _merge_using(
    joined: Relation, left: Relation, right: Relation, names: list[str], kind: nodes.JoinKind, tree: Tree
) -> Relation:
    """USING and NATURAL show each shared column once; the other is reachable by its table's name."""
    if not names:
        return joined
    folded = {fold(name) for name in names}
    columns: list[NamedColumn] = []
    sides = [(column, True) for column in joined.columns[: len(left.columns)]]
    sides += [(column, False) for column in joined.columns[len(left.columns) :]]
    for column, is_left in sides:
        if fold(column.name) not in folded:
            columns.append(column)
            continue
        shown_left = kind != "right"
        columns.append(replace(column, hidden=is_left != shown_left))
        if kind == "full" and is_left:
            other = next(c for c, l in sides if not l and fold(c.name) == fold(column.name))
            merged = _merged(joined, column.expr, other.expr) or logic.coalesce(
                call_of(tree, "USING", column.expr, other.expr)
            )
            columns[-1] = replace(column, hidden=True)
            columns.append(NamedColumn("", column.name, merged))
    if kind == "full":
        columns = [replace(c, hidden=True) if fold(c.name) in folded and c.qualifier else c for c in columns]
    return replace(joined, columns=tuple(columns))


def _merged(joined: Relation, left: Expr, right: Expr) -> Expr | None:
    """The unit of a full join, where the two columns are the units of its sides."""
    sides = same_units((left, right))
    if sides is None or not {str(side.payload) for side in sides} <= joined.partial:
        return None
    return over_column((left, right), joined.unit)
