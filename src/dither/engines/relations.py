"""Relations as SQL: plan nodes of rows, with every scan cut to the rows it keeps.

Flow: `emit` asks for the rows below a measure, part by part; public relations are printed whole. Every node is a
subquery that gives out the columns it is asked for, by their ids; DuckDB's optimiser flattens them.
Relies on: expressions whose guards are part of them (`sql.printing`), and units that are never NULL.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from dither.engines import unit_calls
from dither.engines.emission import Emission
from dither.errors import GuaranteeError
from dither.plan import nodes
from dither.plan.nodes import Rows
from dither.sql.expressions import Expr, Payload, columns_of, literal
from dither.sql.printing import print_expr, quote_name, sql_type
from dither.sql.types import Kind, Type

__all__ = [
    "RANK",
    "Part",
    "Printer",
    "heavy_query",
    "ids_of",
    "kept_relation_sql",
    "key_text",
    "relation_sql",
    "steps_id",
]

RANK = "rank in its unit"
"""Asked for like a column: the place of a heavy unit's row in the order in which rows are kept."""

Part = Literal["all", "excess", "heavy", "heavy_kept", "kept"]
"""Which rows of a truncated scan: all, those cut, those of units above tau, of these the kept, all kept."""


def relation_sql(node: Rows, emission: Emission, needed: frozenset[str]) -> str:
    """Any relation, all rows of every scan: for public relations, and for tests of separability."""
    printer = Printer(emission)
    body = printer.rows(node, needed, "all")
    ctes = printer.ctes()
    return f"WITH {ctes} {body}" if ctes else body


def kept_relation_sql(node: Rows, emission: Emission, needed: frozenset[str]) -> str:
    """The relation over truncated scans: what counts, and what tests compare with the reference."""
    printer = Printer(emission)
    body = printer.rows(node, needed, "kept")
    ctes = printer.ctes()
    return f"WITH {ctes} {body}" if ctes else body


def heavy_query(scan: nodes.Scan, emission: Emission) -> str:
    """The rows of all units with more than tau rows: columns c0, c1, ..., unit u and rank r (1 is kept first)."""
    source = emission.tables(scan.table)
    assert source.unit_sql is not None
    read = [source.column_sql(column.name) for column in scan.columns]
    columns = [f"{sql} AS c{i}" for i, sql in enumerate(read)]
    names = [f"c{i}" for i in range(len(read))]
    present = f"FROM {source.from_sql} WHERE {source.unit_sql} IS NOT NULL"
    all_rows = f"SELECT {', '.join([*columns, f'{source.unit_sql} AS u'])} {present}"
    # The unit is part of the row, so that two units' equal rows may rank differently: it costs nothing. Within a unit
    # its own column tells no rows apart, and would only make what is sorted longer.
    hashed = f"hash({', '.join([*names, 'u', str(emission.salt(scan.table))])})"
    told = [name for name, sql in zip(names, read, strict=True) if sql != source.unit_sql]
    order = ", ".join([hashed, *(f"{name} NULLS LAST" for name in told)])
    # By a join, which is quicker than IN: a heavy unit is listed once.
    heavy = f"SELECT {source.unit_sql} AS h {present} GROUP BY 1 HAVING count(*) > {scan.tau}"
    return (
        f"SELECT {', '.join([*names, 'u'])}, row_number() OVER (PARTITION BY u ORDER BY {order}) AS r "
        f"FROM ({all_rows}) AS q WHERE u IN ({heavy})"
    )


def key_text(expr: Expr) -> str:
    text = print_expr(expr)
    if expr.type.kind is Kind.DOUBLE:
        return f"({text} + CAST(0 AS DOUBLE))"
    # A case-insensitive column would show 'a' or 'A' by storage order.
    return f"({text} COLLATE C)" if expr.type.kind is Kind.TEXT else text


class Printer:
    """Prints relations; remembers the WITH queries that cold truncation needs."""

    def __init__(self, emission: Emission) -> None:
        self.emission = emission
        self.heavy: dict[nodes.Scan, str] = {}

    def ctes(self) -> str:
        return ", ".join(
            f"{name} AS MATERIALIZED ({heavy_query(scan, self.emission)})" for scan, name in self.heavy.items()
        )

    def rows(self, node: Rows, needed: frozenset[str], part: Part) -> str:
        """A SELECT whose columns are the needed ids."""
        match node:
            case nodes.Scan():
                return self._scan(node, needed, part)
            case nodes.PublicScan():
                source = self.emission.tables(node.table)
                columns = [f"{source.column_sql(c.name)} AS {quote_name(c.id)}" for c in node.columns if c.id in needed]
                return f"SELECT {_list(columns)} FROM {source.from_sql}"
            case nodes.Given():
                return _given(node, needed)
            case nodes.Filter(input, condition):
                inner = self.rows(input, needed | columns_of(condition), part)
                return f"SELECT {_names(needed)} FROM ({inner}) AS q WHERE {print_expr(condition)}"
            case nodes.Project(input, outputs):
                used = [output for output in outputs if output.id in needed]
                inner = self.rows(input, columns_of(*(output.expr for output in used)), part)
                columns = [f"{print_expr(output.expr)} AS {quote_name(output.id)}" for output in used]
                return f"SELECT {_list(columns)} FROM ({inner}) AS q"
            case nodes.Join():
                return self._join(node, needed, part)
            case nodes.SemiJoin():
                return self._semi_join(node, needed, part)
            case nodes.UnitAggregate():
                return self._unit_aggregate(node, needed, part)
            case nodes.UnitWindow():
                return self._unit_window(node, needed, part)
            case nodes.Distinct(input, outputs):
                inner = self.rows(input, frozenset(outputs), part)
                different = f"SELECT DISTINCT {_names(frozenset(outputs))} FROM ({inner}) AS q"
                return f"SELECT {_names(needed)} FROM ({different}) AS q"
            case nodes.UnionAll(inputs, branches, outputs):
                return " UNION ALL ".join(
                    self._branch(input, exprs, outputs, part, keep=needed)
                    for input, exprs in zip(inputs, branches, strict=True)
                )
            case nodes.SetOperation(kind, inputs, branches, outputs):
                sides = [self._branch(i, e, outputs, part, keep=None) for i, e in zip(inputs, branches, strict=True)]
                return f"SELECT {_names(needed)} FROM ({f' {kind.upper()} '.join(sides)}) AS q"

    def _scan(self, scan: nodes.Scan, needed: frozenset[str], part: Part) -> str:
        kept = self.emission.kept(scan)
        if kept is not None and part == ("kept" if scan.truncated else "all"):
            return _read_kept(scan, needed, kept)
        if not scan.truncated:
            # Not cut, so it has no heavy unit: the parts that speak of those are empty, the others are all rows.
            return self._stored(scan, needed) + (" AND FALSE" if part in ("excess", "heavy", "heavy_kept") else "")
        match part:
            case "all":
                return self._stored(scan, needed)
            case "excess":
                return self._heavy(scan, needed, f"r > {scan.tau}")
            case "heavy":
                return self._heavy(scan, needed, "TRUE")
            case "heavy_kept":
                return self._heavy(scan, needed, f"r BETWEEN 1 AND {scan.tau}")
            case "kept":
                heavy = self._heavy_name(scan)
                source = self.emission.tables(scan.table)
                light = f"{self._stored(scan, needed)} AND {source.unit_sql} NOT IN (SELECT u FROM {heavy})"
                return f"{light} UNION ALL {self._heavy(scan, needed, f'r BETWEEN 1 AND {scan.tau}')}"

    def _stored(self, scan: nodes.Scan, needed: frozenset[str]) -> str:
        source = self.emission.tables(scan.table)
        columns = [f"{source.column_sql(c.name)} AS {quote_name(c.id)}" for c in scan.columns if c.id in needed]
        if scan.unit in needed:
            columns.append(f"{source.unit_sql or 'NULL'} AS {quote_name(scan.unit)}")
        present = f"{source.unit_sql} IS NOT NULL" if source.unit_sql else "TRUE"
        return f"SELECT {_list(columns)} FROM {source.from_sql} WHERE {present}"

    def _heavy(self, scan: nodes.Scan, needed: frozenset[str], condition: str) -> str:
        columns = [f"c{i} AS {quote_name(c.id)}" for i, c in enumerate(scan.columns) if c.id in needed]
        columns += [f"u AS {quote_name(scan.unit)}"] if scan.unit in needed else []
        columns += [f"r AS {quote_name(RANK)}"] if RANK in needed else []
        return f"SELECT {_list(columns)} FROM {self._heavy_name(scan)} WHERE {condition}"

    def _heavy_name(self, scan: nodes.Scan) -> str:
        # Two scans of one table cut alike share one ranking.
        for other, name in self.heavy.items():
            if other.table == scan.table and other.tau == scan.tau:
                return name
        return self.heavy.setdefault(scan, f"heavy{len(self.heavy)}")

    def _join(self, node: nodes.Join, needed: frozenset[str], part: Part) -> str:
        condition_columns = frozenset() if node.condition is None else columns_of(node.condition)
        unit_columns = frozenset() if node.unit is None else columns_of(node.unit.expr)
        wanted = needed | condition_columns | unit_columns
        left, right = (self.rows(side, wanted & ids_of(side), part) for side in (node.left, node.right))
        names = [quote_name(name) for name in sorted(needed) if node.unit is None or name != node.unit.id]
        if node.unit is not None and node.unit.id in needed:
            names.append(f"{print_expr(node.unit.expr)} AS {quote_name(node.unit.id)}")
        kind = {
            "inner": "JOIN",
            "left": "LEFT JOIN",
            "right": "RIGHT JOIN",
            "full": "FULL JOIN",
            "cross": "CROSS JOIN",
        }[node.kind]
        on = "" if node.condition is None else f" ON {print_expr(node.condition)}"
        if node.kind != "cross" and not on:
            on = " ON TRUE"
        return f"SELECT {_list(names)} FROM ({left}) AS l {kind} ({right}) AS r{on}"

    def _semi_join(self, node: nodes.SemiJoin, needed: frozenset[str], part: Part) -> str:
        right_ids = ids_of(node.right)
        condition_columns = columns_of(node.condition)
        left = self.rows(node.left, needed | (condition_columns - right_ids), part)
        right = self.rows(node.right, condition_columns & right_ids, part)
        word = "NOT EXISTS" if node.anti else "EXISTS"
        exists = f"{word} (SELECT 1 FROM ({right}) AS r WHERE {print_expr(node.condition)})"
        return f"SELECT {_names(needed)} FROM ({left}) AS l WHERE {exists}"

    def _unit_aggregate(self, node: nodes.UnitAggregate, needed: frozenset[str], part: Part) -> str:
        exprs = [output.expr for output in node.keys]
        for _, call in node.aggregates:
            exprs += [e for e in (call.arg, call.filter, call.second) if e is not None]
        inner = self.rows(node.input, columns_of(*exprs), part)
        columns = [f"{key_text(output.expr)} AS {quote_name(output.id)}" for output in node.keys]
        columns += [
            f"{unit_calls.aggregate_sql(call)} AS {quote_name(id)}" for id, call in node.aggregates if id in needed
        ]
        grouping = ", ".join(str(i + 1) for i in range(len(node.keys)))
        return (
            f"SELECT {_names(needed)} FROM (SELECT {', '.join(columns)} FROM ({inner}) AS q GROUP BY {grouping}) AS q"
        )

    def _unit_window(self, node: nodes.UnitWindow, needed: frozenset[str], part: Part) -> str:
        exprs: list[Expr] = []
        for _, call in node.windows:
            exprs += [*call.args, *call.partition, *(e for e, _, _ in call.order)]
            exprs += [call.filter] if call.filter is not None else []
        own = frozenset(id for id, _ in node.windows)
        inner = self.rows(node.input, (needed - own) | columns_of(*exprs) | frozenset(node.tie_break), part)
        kept = [quote_name(name) for name in sorted(needed - own)]
        used = [(id, call) for id, call in node.windows if id in needed]
        windows = [f"{unit_calls.window_sql(call, node.tie_break)} AS {quote_name(id)}" for id, call in used]
        clamped = [f"{unit_calls.in_range(quote_name(id), call.result)} AS {quote_name(id)}" for id, call in used]
        return f"SELECT {_list([*kept, *clamped])} FROM (SELECT {_list([*kept, *windows])} FROM ({inner}) AS q) AS q"

    def _branch(
        self, input: Rows, exprs: tuple[Expr, ...], outputs: tuple[str, ...], part: Part, *, keep: frozenset[str] | None
    ) -> str:
        pairs = [(e, o) for e, o in zip(exprs, outputs, strict=True) if keep is None or o in keep]
        inner = self.rows(input, columns_of(*(e for e, _ in pairs)), part)
        columns = [f"{key_text(e) if keep is None else print_expr(e)} AS {quote_name(o)}" for e, o in pairs]
        return f"SELECT {_list(columns)} FROM ({inner}) AS q"


def _read_kept(scan: nodes.Scan, needed: frozenset[str], table: str) -> str:
    columns = []
    for i, column in enumerate(scan.columns):
        columns += [f"c{i} AS {quote_name(column.id)}"] if column.id in needed else []
        columns += [f"s{i} AS {quote_name(steps_id(column.id))}"] if steps_id(column.id) in needed else []
    if scan.unit in needed:
        columns.append(f"u AS {quote_name(scan.unit)}")
    return f"SELECT {_list(columns)} FROM {table}"


def steps_id(column: str) -> str:
    """How the stored steps of a column are asked for, beside the column itself."""
    return f"{column} steps"


def ids_of(node: Rows) -> frozenset[str]:
    """Ids of the columns a relation can give out."""
    match node:
        case nodes.Scan(_, columns, unit, _, _):
            return frozenset({c.id for c in columns} | {unit})
        case nodes.PublicScan(_, columns) | nodes.Given(_, columns):
            return frozenset(c.id for c in columns)
        case nodes.Project(_, outputs):
            return frozenset(o.id for o in outputs)
        case nodes.Join(left, right, _, _, unit):
            return ids_of(left) | ids_of(right) | ({unit.id} if unit is not None else frozenset())
        case nodes.UnitAggregate(_, keys, aggregates):
            return frozenset([*(o.id for o in keys), *(id for id, _ in aggregates)])
        case nodes.UnitWindow(input, windows, _):
            return ids_of(input) | frozenset(id for id, _ in windows)
        case nodes.Distinct(_, outputs) | nodes.UnionAll(_, _, outputs) | nodes.SetOperation(_, _, _, outputs):
            return frozenset(outputs)
        case nodes.Filter(input, _) | nodes.SemiJoin(input, _, _, _):
            return ids_of(input)


def _given(node: nodes.Given, needed: frozenset[str]) -> str:
    """Released rows, written out."""
    if node.rows is None:
        raise GuaranteeError("A table of an earlier phase was printed before it was known.")
    names = ", ".join(quote_name(column.id) for column in node.columns)
    if node.rows:
        listed = ", ".join(
            "(" + ", ".join(_given_value(v, t) for v, t in zip(row, node.types, strict=True)) + ")" for row in node.rows
        )
        table = f"(VALUES {listed}) AS given({names})"
    else:
        nulls = ", ".join(f"CAST(NULL AS {sql_type(t)})" for t in node.types)
        table = f"(SELECT * FROM (VALUES ({nulls})) AS v WHERE FALSE) AS given({names})"
    return f"SELECT {_names(needed)} FROM {table}"


def _given_value(value: Payload, type: Type) -> str:
    if value is None:
        return f"CAST(NULL AS {sql_type(type)})"
    return f"CAST({print_expr(replace(literal(value), type=type))} AS {sql_type(type)})"  # type: ignore[arg-type]


def _names(ids: frozenset[str]) -> str:
    return _list([quote_name(name) for name in sorted(ids)])


def _list(columns: list[str]) -> str:
    return ", ".join(columns) or "1 AS one"
