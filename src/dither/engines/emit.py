"""Plan nodes as SQL: relations, their truncation, and the integer sums over them.

Flow: an engine hands in a measure and how to read each table; out comes one SELECT whose columns are the groups and
the saturated 64-bit vectors.

Truncation keeps, per scan and unit, the tau rows that come first in a hash of the whole row, ties broken by the bytes.
How that is done follows the shape of the plan, never the data (docs/proofs/plan/truncation.md):
    none      nothing to cut: the row is the unit, or the engine enforces at most one row
    subtract  all rows minus the excess rows                     (one scan, rows map one to one, linear vectors)
    swap      all rows - rows of heavy units + their kept rows   (one scan, no row multiplied, linear vectors)
    kept      light units' rows and heavy units' kept rows       (everything else)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from dither.errors import GuaranteeError
from dither.plan import nodes
from dither.plan.nodes import Measure, Rows, Vector
from dither.sql.expressions import Expr, Payload, columns_of, literal
from dither.sql.functions.casts import is_wide
from dither.sql.printing import print_expr, quote_name, sql_type
from dither.sql.types import Kind, Type

__all__ = [
    "Emission",
    "Method",
    "TableSource",
    "choose_method",
    "heavy_query",
    "histogram_sql",
    "kept_relation_sql",
    "measure_sql",
    "relation_sql",
]

Method = Literal["none", "subtract", "swap", "kept"]
Part = Literal["all", "excess", "heavy", "heavy_kept", "kept"]

SATURATION = 2**62


@dataclass(frozen=True)
class TableSource:
    """How a table is read: a FROM clause, and SQL over it for each column and for the unit."""

    from_sql: str
    unit_sql: str | None
    column_sql: Callable[[str], str]


@dataclass(frozen=True)
class Emission:
    """What the printer needs besides the nodes."""

    tables: Callable[[str], TableSource]
    stored_heavy: Callable[[nodes.Scan], str | None]
    salt: Callable[[str], int]


def choose_method(measure: Measure) -> Method:
    """The way to truncate, by plan shape alone."""
    scans = [scan for scan in nodes.scans_of(measure.input) if scan.truncated]
    if not scans:
        return "none"
    by_row = all(v.kind in ("rows", "sum", "histogram") and not v.distinct for v in measure.vectors)
    by_unit = all(v.kind != "distinct" and not v.distinct for v in measure.vectors)
    if len(nodes.scans_of(measure.input)) > 1 or not by_unit:
        return "kept"
    below = nodes.walk_rows(measure.input)
    if by_row and all(
        isinstance(n, nodes.Scan | nodes.PublicScan | nodes.Filter | nodes.Project | nodes.Join | nodes.SemiJoin)
        for n in below
    ):
        return "subtract"
    return "swap"


def measure_sql(measure: Measure, emission: Emission) -> str:
    """One SELECT: key columns k0, k1, ... and vectors v0, v1, ...; one row per group that has any (kept) row.
    Histograms are read by `histogram_sql`; their vector is zero here, and with nothing else nothing is read."""
    if not measure.has_private_keys and all(vector.kind == "histogram" for vector in measure.vectors):
        keys = [f"CAST(NULL AS {sql_type(key.expr.type)}) AS {quote_name(key.id)}" for key in measure.keys]
        zeros = [f"CAST(0 AS BIGINT) AS v{i}" for i in range(len(measure.vectors))]
        return f"SELECT {', '.join([*keys, *zeros])} WHERE FALSE"
    return _summed(measure, emission, choose_method(measure), None)


def histogram_sql(measure: Measure, position: int, emission: Emission) -> str:
    """One SELECT: key columns, the grid cell, and v0, how many rows are in it; only cells with a (kept) row."""
    return _summed(measure, emission, choose_method(measure), measure.vectors[position])


def _summed(measure: Measure, emission: Emission, method: Method, cell: Vector | None) -> str:
    """The signed parts of the truncation added up per group (and cell)."""
    terms: list[tuple[Part, int]] = {
        "none": [("all", 1)],
        "subtract": [("all", 1), ("excess", -1)],
        "swap": [("all", 1), ("heavy", -1), ("heavy_kept", 1)],
        "kept": [("kept", 1)],
    }[method]  # type: ignore[assignment]
    printer = _Printer(emission)
    parts = [_grouped(measure, printer, part, sign, cell) for part, sign in terms]
    body = _combine(measure, parts, cell)
    ctes = printer.ctes()
    return f"WITH {ctes} {body}" if ctes else body


def relation_sql(node: Rows, emission: Emission, needed: frozenset[str]) -> str:
    """Any relation, all rows of every scan: for public relations, and for tests of separability."""
    printer = _Printer(emission)
    body = printer.rows(node, needed, "all")
    ctes = printer.ctes()
    return f"WITH {ctes} {body}" if ctes else body


def kept_relation_sql(node: Rows, emission: Emission, needed: frozenset[str]) -> str:
    """The relation over truncated scans, as tests compare it with the reference."""
    printer = _Printer(emission)
    body = printer.rows(node, needed, "kept")
    ctes = printer.ctes()
    return f"WITH {ctes} {body}" if ctes else body


def heavy_query(scan: nodes.Scan, emission: Emission) -> str:
    """The rows of all units with more than tau rows: columns c0, c1, ..., unit u and rank r (1 is kept first)."""
    source = emission.tables(scan.table)
    assert source.unit_sql is not None
    columns = [f"{source.column_sql(column.name)} AS c{i}" for i, column in enumerate(scan.columns)]
    names = [f"c{i}" for i in range(len(scan.columns))]
    present = f"FROM {source.from_sql} WHERE {source.unit_sql} IS NOT NULL"
    all_rows = f"SELECT {', '.join([*columns, f'{source.unit_sql} AS u'])} {present}"
    # The unit is part of the row, so that two units' equal rows may rank differently: it costs nothing.
    order = ", ".join(
        [f"hash({', '.join([*names, 'u', str(emission.salt(scan.table))])})", *(f"{n} NULLS LAST" for n in names)]
    )
    return (
        f"SELECT {', '.join([*names, 'u'])}, row_number() OVER (PARTITION BY u ORDER BY {order}) AS r "
        f"FROM ({all_rows}) WHERE u IN (SELECT {source.unit_sql} {present} GROUP BY 1 HAVING count(*) > {scan.tau})"
    )


def _grouped(measure: Measure, printer: _Printer, part: Part, sign: int, cell: Vector | None) -> str:
    """SELECT raw keys, signed vectors FROM rows GROUP BY raw keys."""
    if cell is not None:
        return _counted_cells(measure, printer, part, sign, cell)
    key_exprs = [_grouping_expr(key.expr) for key in measure.keys]
    wanted = columns_of(*key_exprs, *(e for v in measure.vectors for e in (v.expr, v.filter) if e is not None))
    if any(vector.kind == "units" for vector in measure.vectors):
        wanted |= {measure.unit}
    rows = printer.rows(measure.input, wanted, part)
    keys = [f"{_key_text(expr)} AS {quote_name(f'r{i}')}" for i, expr in enumerate(key_exprs)]
    vectors = [_vector_sql(vector, sign, measure) for vector in measure.vectors]
    counted = ["count(*)" if sign > 0 else "-count(*)"] if measure.has_private_keys else []
    selected = [*keys, *(f"{sql} AS v{i}" for i, sql in enumerate(vectors)), *(f"{sql} AS n" for sql in counted)]
    grouping = f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
    return f"SELECT {', '.join(selected) or '1 AS one'} FROM ({rows}) AS q{grouping}"


def _counted_cells(measure: Measure, printer: _Printer, part: Part, sign: int, cell: Vector) -> str:
    """SELECT raw keys, cell, signed row count FROM rows GROUP BY raw keys, cell."""
    assert cell.expr is not None
    key_exprs = [_grouping_expr(key.expr) for key in measure.keys]
    conditions = [cell.filter] if cell.filter is not None else []
    rows = printer.rows(measure.input, columns_of(*key_exprs, cell.expr, *conditions), part)
    keys = [f"{_key_text(expr)} AS {quote_name(f'r{i}')}" for i, expr in enumerate(key_exprs)]
    where = " AND ".join(print_expr(condition) for condition in conditions) or "TRUE"
    inner = f"SELECT {', '.join([*keys, f'{_contribution(cell)} AS cell'])} FROM ({rows}) AS q WHERE {where}"
    names = [quote_name(f"r{i}") for i in range(len(keys))]
    counted = "count(*)" if sign > 0 else "-count(*)"
    grouping = ", ".join([*names, "cell"])
    return f"SELECT {grouping}, {counted} AS v0 FROM ({inner}) AS c GROUP BY {grouping}"


def _combine(measure: Measure, parts: list[str], cell: Vector | None) -> str:
    """Add the signed parts up per group, enforce the keys' domains, saturate."""
    if cell is not None:
        names = [f"{_final_key(key.expr, i)} AS {quote_name(key.id)}" for i, key in enumerate(measure.keys)]
        grouping = ", ".join(str(i + 1) for i in range(len(names) + 1))
        selected = ", ".join([*names, "CAST(cell AS BIGINT) AS cell", f"{_saturated('v0')} AS v0"])
        union = " UNION ALL ".join(parts)
        return (
            f"SELECT {selected} FROM ({union}) AS parts WHERE cell IS NOT NULL GROUP BY {grouping} HAVING sum(v0) > 0"
        )
    keys = [f"{_final_key(key.expr, i)} AS {quote_name(key.id)}" for i, key in enumerate(measure.keys)]
    vectors = [f"{_saturated(f'v{i}')} AS v{i}" for i in range(len(measure.vectors))]
    grouping = f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
    # A private group is a candidate only if a kept row of it is there: a cut row must not even name it.
    having = " HAVING sum(n) >= 1" if measure.has_private_keys else ""
    selected = ", ".join([*keys, *vectors]) or "1 AS one"
    return f"SELECT {selected} FROM ({' UNION ALL '.join(parts)}) AS parts{grouping}{having}"


def _grouping_expr(expr: Expr) -> Expr:
    """Group by the stored value where the key is one: enforcing its domain then costs once per group, not per row."""
    return expr.args[0] if _groups_raw(expr) else expr


def _groups_raw(expr: Expr) -> bool:
    if expr.op != "read" or expr.type.kind not in (Kind.INTEGER, Kind.TEXT, Kind.DATE, Kind.BOOLEAN):
        return False
    # Enumerated and other types that are read as text are compared as text, not as they are stored.
    return expr.type.kind is not Kind.TEXT or engine_type_of(expr).startswith("VARCHAR")


def engine_type_of(read: Expr) -> str:
    """The stored type of a read column, as the engine prints it."""
    assert isinstance(read.payload, tuple)
    return str(read.payload[1])


def _key_text(expr: Expr) -> str:
    text = print_expr(expr)
    if expr.type.kind is Kind.DOUBLE:
        return f"({text} + CAST(0 AS DOUBLE))"
    # A case-insensitive column would show 'a' or 'A' by storage order.
    return f"({text} COLLATE C)" if expr.type.kind is Kind.TEXT else text


def _final_key(expr: Expr, position: int) -> str:
    stored = quote_name(f"r{position}")
    if not _groups_raw(expr):
        return stored
    return print_expr(replace(expr, args=(replace(expr.args[0], payload=f"r{position}"),)))


def _saturated(column: str) -> str:
    return f"CAST(least(greatest(coalesce(sum({column}), 0), -{SATURATION}), {SATURATION}) AS BIGINT)"


def _vector_sql(vector: Vector, sign: int, measure: Measure) -> str:
    """The signed integer sum of one vector over a group's rows."""
    minus = "-" if sign < 0 else ""
    condition = f" FILTER (WHERE {print_expr(vector.filter)})" if vector.filter is not None else ""
    if vector.kind == "rows":
        counted = "*" if vector.expr is None else _presence(vector.expr)
        return f"{minus}count({counted}){condition}"
    if vector.kind == "units":
        return f"{minus}count(DISTINCT {quote_name(measure.unit)}){condition}"
    if vector.kind == "histogram":
        return "CAST(0 AS BIGINT)"
    assert vector.expr is not None
    distinct = "DISTINCT " if vector.distinct else ""
    if vector.kind == "distinct":
        return f"{minus}count(DISTINCT {_key_text(vector.expr)}){condition}"
    return f"{minus}coalesce(sum({distinct}{_contribution(vector)}){condition}, 0)"


def _presence(expr: Expr) -> str:
    """Something that is NULL exactly when the expression is, as cheap as can be."""
    if expr.op == "read":
        column = expr.payload[0]  # type: ignore[index]
        plain = column.values is None and expr.type.kind in (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN)  # type: ignore[union-attr]
        if plain:
            return quote_name(str(expr.args[0].payload))
        if column.values is None and expr.type.kind is Kind.DOUBLE:  # type: ignore[union-attr]
            raw = quote_name(str(expr.args[0].payload))
            # NaN is NULL by rule; infinities are clamped, hence present, where there are bounds.
            if column.bounds is not None:  # type: ignore[union-attr]
                return f"NULLIF({raw}, CAST('nan' AS DOUBLE))"
    return print_expr(expr)


def _contribution(vector: Vector) -> str:
    """One row's integer: the value on the grid, less the centre, within [lo, hi] steps; NULL stays NULL."""
    expr = vector.expr
    assert expr is not None
    if expr.type.kind is Kind.INTEGER:
        return _integer_contribution(vector, expr)
    if expr.type.kind in (Kind.DATE, Kind.TIMESTAMP):
        return _moment_contribution(vector, expr)
    scale = _float(float(1 / vector.step))
    offset = _float(0.5 - vector.center)
    bounded = expr.op == "read" and expr.payload[0].bounds is not None  # type: ignore[index,union-attr]
    if expr.type.kind is Kind.DOUBLE and bounded:
        raw = quote_name(str(expr.args[0].payload))
        lo, hi = _float(float(expr.lo or 0)), _float(float(expr.hi or 0))
        return (
            f"CASE WHEN {raw} BETWEEN {lo} AND {hi} THEN CAST(floor({raw} * {scale} + {offset}) AS BIGINT) "
            f"WHEN {raw} < {lo} THEN {vector.lo} WHEN {raw} <= CAST('infinity' AS DOUBLE) THEN {vector.hi} END"
        )
    value = print_expr(expr) if expr.type.kind is Kind.DOUBLE else f"CAST({print_expr(expr)} AS DOUBLE)"
    return f"CAST(floor({value} * {scale} + {offset}) AS BIGINT)"


def _integer_contribution(vector: Vector, expr: Expr) -> str:
    if vector.step != 1:
        step = int(vector.step)
        base = int(expr.lo or 0) // step * step
        shifted = f"(CAST({print_expr(expr)} AS HUGEINT) - {base} + {step // 2}) // {step}"
        return f"CAST({shifted} + {base // step - vector.center} AS BIGINT)"
    if expr.op == "read" and expr.payload[0].bounds is not None:  # type: ignore[index,union-attr]
        raw = quote_name(str(expr.args[0].payload))
        # In the stored type bounds may not fit, and an unsigned value less its centre would underflow.
        if engine_type_of(expr) not in ("BIGINT", "HUGEINT", "UHUGEINT"):
            raw = f"CAST({raw} AS {'HUGEINT' if engine_type_of(expr) == 'UBIGINT' else 'BIGINT'})"
        inside = raw if vector.center == 0 else f"{raw} - {vector.center}"
        return (
            f"CASE WHEN {raw} BETWEEN {expr.lo} AND {expr.hi} THEN {inside} "
            f"WHEN {raw} < {expr.lo} THEN {vector.lo} WHEN {raw} > {expr.hi} THEN {vector.hi} END"
        )
    value = print_expr(expr)
    return value if vector.center == 0 else f"({value} - {vector.center})"


def _moment_contribution(vector: Vector, expr: Expr) -> str:
    """Days or microseconds since 1970 as an integer expression, then as for integers."""
    units = "(CAST({0} AS DATE) - DATE '1970-01-01')" if expr.type.kind is Kind.DATE else "epoch_us({0})"
    step = int(vector.step)
    base = int(expr.lo or 0) // step * step
    count = units.format(print_expr(expr))
    shifted = f"(CAST({count} AS HUGEINT) - {base} + {step // 2}) // {step}"
    return f"CAST({shifted} + {base // step - vector.center} AS BIGINT)"


def _float(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE)"


class _Printer:
    """Prints relations; remembers the WITH queries that cold truncation needs."""

    def __init__(self, emission: Emission) -> None:
        self.emission = emission
        self.heavy: dict[nodes.Scan, str] = {}

    def ctes(self) -> str:
        named = [
            f"{name} AS MATERIALIZED ({heavy_query(scan, self.emission)})"
            for scan, name in self.heavy.items()
            if self.emission.stored_heavy(scan) is None
        ]
        return ", ".join(named)

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
        if scan.unit in needed:
            columns.append(f"u AS {quote_name(scan.unit)}")
        return f"SELECT {_list(columns)} FROM {self._heavy_name(scan)} WHERE {condition}"

    def _heavy_name(self, scan: nodes.Scan) -> str:
        stored = self.emission.stored_heavy(scan)
        if stored is not None:
            return stored
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
        columns = [f"{_key_text(output.expr)} AS {quote_name(output.id)}" for output in node.keys]
        columns += [f"{_unit_aggregate_sql(call)} AS {quote_name(id)}" for id, call in node.aggregates if id in needed]
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
        windows = [f"{_window_sql(call, node.tie_break)} AS {quote_name(id)}" for id, call in used]
        clamped = [f"{_in_range(quote_name(id), call.result)} AS {quote_name(id)}" for id, call in used]
        return f"SELECT {_list([*kept, *clamped])} FROM (SELECT {_list([*kept, *windows])} FROM ({inner}) AS q) AS q"

    def _branch(
        self, input: Rows, exprs: tuple[Expr, ...], outputs: tuple[str, ...], part: Part, *, keep: frozenset[str] | None
    ) -> str:
        pairs = [(e, o) for e, o in zip(exprs, outputs, strict=True) if keep is None or o in keep]
        inner = self.rows(input, columns_of(*(e for e, _ in pairs)), part)
        columns = [f"{_key_text(e) if keep is None else print_expr(e)} AS {quote_name(o)}" for e, o in pairs]
        return f"SELECT {_list(columns)} FROM ({inner}) AS q"


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


def _unit_aggregate_sql(call: nodes.AggregateCall) -> str:
    condition = f" FILTER (WHERE {print_expr(call.filter)})" if call.filter is not None else ""
    distinct = "DISTINCT " if call.distinct else ""
    match call.function:
        case "count_star":
            value = f"count(*){condition}"
        case "sum" | "avg" if call.step is not None:
            assert call.arg is not None
            value = _grid_sum(call.arg, call.step, condition, distinct, mean=call.function == "avg")
        case function:
            args = [print_expr(e) for e in (call.arg, call.second) if e is not None]
            value = f"{function}({distinct}{', '.join(args)}){condition}"
    return _clamped(value, call)


def _grid_sum(expr: Expr, step: Fraction, condition: str, distinct: str, *, mean: bool) -> str:
    """A sum of doubles on an integer grid: the same bits whatever the order of rows, and whoever else is there."""
    scale = _float(float(1 / step))
    steps = f"CAST(floor({print_expr(expr)} * {scale} + {_float(0.5)}) AS BIGINT)"
    total = f"(CAST(sum({distinct}{steps}){condition} AS DOUBLE) / {scale})"
    return f"({total} / NULLIF(count({distinct}{steps}){condition}, 0))" if mean else total


def _clamped(value: str, call: nodes.AggregateCall) -> str:
    """Keep the result within the planned range, which a unit with more than tau rows (before it is cut) could leave."""
    if call.result is None or call.result.lo is None:
        return value
    result = call.result
    lo, hi = (
        Expr("literal", result.type, payload=end, nullable=False, lo=end, hi=end) for end in (result.lo, result.hi)
    )
    typed = f"CAST({value} AS BIGINT)" if result.type.kind is Kind.INTEGER else value
    if call.function.startswith("count"):
        return f"least({typed}, {print_expr(hi)})"
    return f"(CASE WHEN {value} IS NOT NULL THEN least(greatest({value}, {print_expr(lo)}), {print_expr(hi)}) END)"


def _in_range(value: str, result: Expr | None) -> str:
    """The value within the range planned for tau rows, which a unit with more (before it is cut) could leave."""
    if result is None or result.lo is None or result.hi is None:
        return value
    ends = [print_expr(Expr("literal", result.type, payload=end, lo=end, hi=end)) for end in (result.lo, result.hi)]
    typed = (
        f"CAST({value} AS {sql_type(result.type, wide=is_wide(result))})" if result.type.kind is Kind.INTEGER else value
    )
    return f"CASE WHEN {value} IS NOT NULL THEN least(greatest({typed}, {ends[0]}), {ends[1]}) END"


def _window_sql(call: nodes.WindowCall, tie_break: tuple[str, ...]) -> str:
    args = ", ".join(print_expr(arg) for arg in call.args)
    condition = f" FILTER (WHERE {print_expr(call.filter)})" if call.filter is not None else ""
    order = [f"{print_expr(e)} {direction} {nulls}" for e, direction, nulls in call.order]
    if call.total_order and tie_break:
        names = [quote_name(name) for name in tie_break]
        order += [f"hash({', '.join(names)})", *(f"{name} NULLS LAST" for name in names)]
    partition = f"PARTITION BY {', '.join(print_expr(e) for e in call.partition)}" if call.partition else ""
    ordering = f" ORDER BY {', '.join(order)}" if order else ""
    return f"{call.function}({args}){condition} OVER ({partition}{ordering}{' ' + call.frame if call.frame else ''})"


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
