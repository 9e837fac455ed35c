"""Measures as SQL: how scans are cut, and the integer sums over what is left.

Flow: an engine hands in a measure and how to read each table; out comes one SELECT whose columns are the groups and
the saturated 64-bit vectors.

Truncation keeps, per scan and unit, the tau rows that come first in a hash of the whole row, ties broken by the bytes.
How that is done follows the shape of the plan and what `dither tune` stored, never the data
(docs/proofs/plan/truncation.md):
    none      nothing to cut: the row is the unit, or the engine enforces at most one row
    subtract  all rows minus the excess rows and units           (one scan, no row merged, linear vectors; units, where
                                                                  rows are those of the scan)
    swap      all rows - rows of heavy units + their kept rows   (one scan, no row multiplied, linear vectors)
    kept      light units' rows and heavy units' kept rows       (everything else; and whatever is stored)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from dither.engines.double_sums import double_cell, double_sum
from dither.engines.emission import Emission
from dither.engines.relations import RANK, Part, Printer, key_text, steps_id
from dither.engines.unit_bits import counted_by_bits
from dither.plan import nodes
from dither.plan.grids import Grid, grid_of
from dither.plan.nodes import Measure, Scan, Vector
from dither.sql.expressions import Expr, columns_of
from dither.sql.printing import float_text, print_expr, print_stored, quote_name, sql_type
from dither.sql.types import Kind
from dither.sql.units import engine_type_of

__all__ = ["Method", "choose_method", "histogram_sql", "is_bounded_double", "measure_sql", "steps_sql"]

Method = Literal["none", "subtract", "swap", "kept"]

SATURATION = 2**62


def choose_method(measure: Measure, kept: Callable[[Scan], str | None]) -> Method:
    """The way to truncate, by plan shape and by what the owner has stored."""
    scans = [scan for scan in nodes.scans_of(measure.input) if scan.truncated]
    if not scans:
        return "none"
    if all(kept(scan) is not None for scan in scans):
        return "kept"
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
    only_filtered = all(isinstance(n, nodes.Scan | nodes.Filter) for n in below)
    if only_filtered and all(v.kind in ("rows", "sum", "units") for v in measure.vectors):
        return "subtract"
    return "swap"


def measure_sql(measure: Measure, emission: Emission) -> str:
    """One SELECT: key columns k0, k1, ... and vectors v0, v1, ...; one row per group that has any (kept) row.
    Histograms are read by `histogram_sql`; their vector is zero here, and with nothing else nothing is read."""
    if not measure.has_private_keys and all(vector.kind == "histogram" for vector in measure.vectors):
        keys = [f"CAST(NULL AS {sql_type(key.expr.type)}) AS {quote_name(key.id)}" for key in measure.keys]
        zeros = [f"CAST(0 AS BIGINT) AS v{i}" for i in range(len(measure.vectors))]
        return f"SELECT {', '.join([*keys, *zeros])} WHERE FALSE"
    return _summed(measure, emission, choose_method(measure, emission.kept), None)


def histogram_sql(measure: Measure, position: int, emission: Emission) -> str:
    """One SELECT: key columns, the grid cell, and v0, how many rows are in it; only cells with a (kept) row."""
    return _summed(measure, emission, choose_method(measure, emission.kept), measure.vectors[position])


def _summed(measure: Measure, emission: Emission, method: Method, cell: Vector | None) -> str:
    """The signed parts of the truncation added up per group (and cell)."""
    terms: list[tuple[Part, int]] = {
        "none": [("all", 1)],
        "subtract": [("all", 1), ("excess", -1)],
        "swap": [("all", 1), ("heavy", -1), ("heavy_kept", 1)],
        "kept": [("kept", 1)],
    }[method]  # type: ignore[assignment]
    printer = Printer(emission)
    parts = [_grouped(measure, printer, part, sign, cell) for part, sign in terms]
    body = _combine(measure, parts, cell)
    ctes = printer.ctes()
    return f"WITH {ctes} {body}" if ctes else body


def _grouped(measure: Measure, printer: Printer, part: Part, sign: int, cell: Vector | None) -> str:
    """SELECT keys, signed vectors FROM rows GROUP BY keys, as stored where their domains are enforced on the groups."""
    if cell is not None:
        return _counted_cells(measure, printer, part, sign, cell)
    if part == "excess" and any(vector.kind == "units" for vector in measure.vectors):
        return _lost(measure, printer)
    key_exprs = _grouping_exprs(measure)
    stored = [_stored_steps(vector, measure, printer.emission) for vector in measure.vectors]
    rows = printer.rows(measure.input, _wanted(measure, key_exprs, stored), part)
    keys = [f"{key_text(expr)} AS {quote_name(f'r{i}')}" for i, expr in enumerate(key_exprs)]
    vectors = [
        _vector_sql(vector, sign, measure, steps, printer.emission, most=part in ("all", "kept"))
        for vector, steps in zip(measure.vectors, stored, strict=True)
    ]
    counted = ["count(*)" if sign > 0 else "-count(*)"] if measure.has_private_keys else []
    selected = [*keys, *(f"{sql} AS v{i}" for i, sql in enumerate(vectors)), *(f"{sql} AS n" for sql in counted)]
    grouping = f" GROUP BY {', '.join(_places(keys))}" if keys else ""
    return f"SELECT {', '.join(selected) or '1 AS one'} FROM ({rows}) AS q{grouping}"


def _lost(measure: Measure, printer: Printer) -> str:
    """What the cut takes away, by one look at heavy units' rows: SELECT raw keys, minus the sums over excess rows,
    minus how many units have excess rows alone in a group."""
    (tau,) = {scan.tau for scan in nodes.scans_of(measure.input)}
    key_exprs = _grouping_exprs(measure)
    wanted = _wanted(measure, key_exprs, []) | {RANK}
    rows = printer.rows(measure.input, wanted, "heavy")
    rank, unit = quote_name(RANK), quote_name(measure.unit)
    names = [quote_name(f"r{i}") for i in range(len(key_exprs))]
    keys = [f"{key_text(expr)} AS {name}" for expr, name in zip(key_exprs, names, strict=True)]
    of_unit, lost = [], []
    for i, vector in enumerate(measure.vectors):
        if vector.kind == "units":
            where = f" FILTER (WHERE {print_expr(vector.filter)})" if vector.filter is not None else ""
            of_unit.append(f"min({rank}){where} > {tau} AS v{i}")
            lost.append(f"-count(*) FILTER (WHERE v{i}) AS v{i}")
        else:
            summed = _vector_sql(vector, 1, measure, None, printer.emission, also=f"{rank} > {tau}")
            of_unit.append(f"{summed} AS v{i}")
            lost.append(f"-sum(v{i}) AS v{i}")
    if measure.has_private_keys:
        of_unit.append(f"count(*) FILTER (WHERE {rank} > {tau}) AS n")
        lost.append("-sum(n) AS n")
    inner = f"SELECT {', '.join([*keys, *of_unit])} FROM ({rows}) AS q GROUP BY {', '.join([*_places(keys), unit])}"
    grouping = f" GROUP BY {', '.join(_places(keys))}" if keys else ""
    return f"SELECT {', '.join([*names, *lost])} FROM ({inner}) AS q{grouping}"


def _wanted(measure: Measure, key_exprs: Sequence[Expr], stored: Sequence[str | None]) -> frozenset[str]:
    """Ids of what keys, vectors and their filters read. stored: each vector's column of steps, read in its place."""
    steps = [*stored, *([None] * (len(measure.vectors) - len(stored)))]
    computed = [v.expr for v, column in zip(measure.vectors, steps, strict=True) if v.expr is not None and not column]
    filters = [vector.filter for vector in measure.vectors if vector.filter is not None]
    units = {measure.unit} if any(vector.kind == "units" for vector in measure.vectors) else set()
    return columns_of(*key_exprs, *computed, *filters) | {column for column in steps if column} | units


def _places(keys: Sequence[str]) -> list[str]:
    return [str(i + 1) for i in range(len(keys))]


def _counted_cells(measure: Measure, printer: Printer, part: Part, sign: int, cell: Vector) -> str:
    """SELECT raw keys, cell, signed row count FROM rows GROUP BY raw keys, cell."""
    assert cell.expr is not None
    key_exprs = _grouping_exprs(measure)
    conditions = [cell.filter] if cell.filter is not None else []
    stored = _stored_steps(cell, measure, printer.emission)
    wanted = columns_of(*key_exprs, *([] if stored else [cell.expr]), *conditions) | ({stored} if stored else set())
    rows = printer.rows(measure.input, wanted, part)
    keys = [f"{key_text(expr)} AS {quote_name(f'r{i}')}" for i, expr in enumerate(key_exprs)]
    where = " AND ".join(print_expr(condition) for condition in conditions) or "TRUE"
    place = None
    if not stored and _is_clamped(cell.expr):
        place = double_cell(cell, measure.input, printer.emission)
    place = place or _contribution(cell, stored)
    inner = f"SELECT {', '.join([*keys, f'{place} AS cell'])} FROM ({rows}) AS q WHERE {where}"
    names = [quote_name(f"r{i}") for i in range(len(keys))]
    counted = "count(*)" if sign > 0 else "-count(*)"
    grouping = ", ".join([*names, "cell"])
    return f"SELECT {grouping}, {counted} AS v0 FROM ({_in_range(inner, cell)}) AS c GROUP BY {grouping}"


def _in_range(rows: str, cell: Vector) -> str:
    """The rows that have a cell. A computed column has no statistics, but one that was compared with constants has: the
    engine then counts in a plain array, three times as fast. The limit, which none reaches, keeps the comparison here:
    else it would be written into the scan, and compute the cell twice."""
    return f"SELECT * FROM ({rows} LIMIT {2**63 - 1}) AS c WHERE cell BETWEEN {cell.lo} AND {cell.hi}"


def _combine(measure: Measure, parts: list[str], cell: Vector | None) -> str:
    """Add the signed parts up per group, enforce the keys' domains, saturate."""
    if cell is not None:
        names = [f"{_final_key(key.expr, i, measure)} AS {quote_name(key.id)}" for i, key in enumerate(measure.keys)]
        grouping = ", ".join(str(i + 1) for i in range(len(names) + 1))
        selected = ", ".join([*names, "CAST(cell AS BIGINT) AS cell", f"{_saturated('v0')} AS v0"])
        if len(parts) == 1 and not any(_groups_raw(key.expr, measure) for key in measure.keys):
            # Nothing to add up: a million cells are not grouped twice.
            selected = ", ".join([*names, "CAST(cell AS BIGINT) AS cell", "CAST(v0 AS BIGINT) AS v0"])
            return f"SELECT {selected} FROM ({parts[0]}) AS parts"
        union = _in_range(" UNION ALL ".join(parts), cell)
        return f"SELECT {selected} FROM ({union}) AS parts GROUP BY {grouping} HAVING sum(v0) > 0"
    keys = [f"{_final_key(key.expr, i, measure)} AS {quote_name(key.id)}" for i, key in enumerate(measure.keys)]
    vectors = [f"{_saturated(f'v{i}')} AS v{i}" for i in range(len(measure.vectors))]
    grouping = f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
    # A private group is a candidate only if a kept row of it is there: a cut row must not even name it.
    having = " HAVING sum(n) >= 1" if measure.has_private_keys else ""
    selected = ", ".join([*keys, *vectors]) or "1 AS one"
    return f"SELECT {selected} FROM ({' UNION ALL '.join(parts)}) AS parts{grouping}{having}"


def _grouping_exprs(measure: Measure) -> list[Expr]:
    """Group by the stored value where the key is one: enforcing its domain then costs once per group, not per row."""
    return [key.expr.args[0] if _groups_raw(key.expr, measure) else key.expr for key in measure.keys]


def _groups_raw(expr: Expr, measure: Measure) -> bool:
    # Several stored values may be one key: sums add up over them, but a unit, or a value, would be counted for each.
    if any(vector.kind in ("units", "distinct") or vector.distinct for vector in measure.vectors):
        return False
    if expr.op not in ("read", "unit") or expr.type.kind not in (Kind.INTEGER, Kind.TEXT, Kind.DATE, Kind.BOOLEAN):
        return False
    # Enumerated and other types that are read as text are compared as text, not as they are stored.
    return expr.type.kind is not Kind.TEXT or engine_type_of(expr).startswith("VARCHAR")


def _final_key(expr: Expr, position: int, measure: Measure) -> str:
    stored = quote_name(f"r{position}")
    if not _groups_raw(expr, measure):
        return stored
    return print_expr(replace(expr, args=(replace(expr.args[0], payload=f"r{position}"),)))


def _saturated(column: str) -> str:
    return f"CAST(least(greatest(coalesce(sum({column}), 0), -{SATURATION}), {SATURATION}) AS BIGINT)"


def _vector_sql(
    vector: Vector,
    sign: int,
    measure: Measure,
    steps: str | None,
    emission: Emission,
    *,
    also: str = "",
    most: bool = False,
) -> str:
    """The signed integer sum of one vector over a group's rows. steps: the stored column of its steps, if any.
    also: a condition on rows beside the vector's own.  most: are these most of the table's rows?"""
    minus = "-" if sign < 0 else ""
    conditions = [print_expr(vector.filter)] if vector.filter is not None else []
    conditions += [also] if also else []
    met = " AND ".join(conditions)
    condition = f" FILTER (WHERE {met})" if met else ""
    if vector.kind == "rows":
        counted = "*" if vector.expr is None else quote_name(steps) if steps else _presence(vector.expr)
        return f"{minus}count({counted}){condition}"
    if vector.kind == "units":
        by_bits = counted_by_bits(measure, emission, met) if most else None
        if by_bits is not None:
            return f"{minus}coalesce({by_bits}, 0)"
        return f"{minus}count(DISTINCT {quote_name(measure.unit)}){condition}"
    if vector.kind == "histogram":
        return "CAST(0 AS BIGINT)"
    assert vector.expr is not None
    distinct = "DISTINCT " if vector.distinct else ""
    if vector.kind == "distinct":
        return f"{minus}count(DISTINCT {key_text(vector.expr)}){condition}"
    if not steps and not vector.distinct and _is_clamped(vector.expr):
        exact = double_sum(vector, measure.input, emission, condition)
        if exact is not None:
            return f"{minus}coalesce({exact}, 0)"
    return f"{minus}coalesce(sum({distinct}{_contribution(vector, steps)}){condition}, 0)"


def _stored_steps(vector: Vector, measure: Measure, emission: Emission) -> str | None:
    """The id of the stored column that has the vector's contributions, centre not yet taken off."""
    expr, below = vector.expr, measure.input
    while isinstance(below, nodes.Filter):
        below = below.input
    if vector.kind not in ("rows", "sum", "histogram") or vector.distinct or expr is None:
        return None
    if not is_bounded_double(expr) or not isinstance(below, Scan) or emission.kept(below) is None:
        return None
    identifier = str(expr.args[0].payload)
    name = next((column.name for column in below.columns if column.id == identifier), None)
    # Bounds that were chosen privately are not the catalog's: the stored table knows nothing of them.
    if name is None or emission.declared(below.table, name) != expr.payload[0]:  # type: ignore[index]
        return None
    if vector.kind != "rows":
        stored = grid_of(expr, centered=False)
        width = vector.step / stored.step
        if width.denominator != 1:
            return None
        coarse = tuple(_coarse(end, int(width)) - vector.center for end in (stored.lo, stored.hi))
        if coarse != (vector.lo, vector.hi):
            return None
    return steps_id(identifier)


def _coarse(steps: int, width: int) -> int:
    """Stored steps in steps `width` times as wide, rounded as the engine does it."""
    return (steps + width // 2) // width


def is_bounded_double(expr: Expr) -> bool:
    """A stored column of doubles with declared bounds, read as it is."""
    return expr.type.kind is Kind.DOUBLE and _is_clamped(expr)


def _is_clamped(expr: Expr) -> bool:
    """Is it a stored column whose values are moved to its bounds? One with listed values is NULL outside of them."""
    if expr.op != "read":
        return False
    column = expr.payload[0]  # type: ignore[index]
    return column.bounds is not None and column.values is None  # type: ignore[union-attr]


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


def _contribution(vector: Vector, stored: str | None) -> str:
    """One row's integer: the value on the grid, less the centre, within [lo, hi] steps; NULL stays NULL."""
    expr = vector.expr
    assert expr is not None
    if stored:
        return _stored_contribution(vector, expr, quote_name(stored))
    if expr.type.kind is Kind.INTEGER:
        return _integer_contribution(vector, expr)
    if expr.type.kind in (Kind.DATE, Kind.TIMESTAMP):
        return _moment_contribution(vector, expr)
    if is_bounded_double(expr):
        return steps_sql(expr, Grid(vector.step, vector.center, vector.lo, vector.hi))
    value = print_expr(expr) if expr.type.kind is Kind.DOUBLE else f"CAST({print_expr(expr)} AS DOUBLE)"
    return _less_center(f"CAST({value} * {float_text(float(1 / vector.step))} AS BIGINT)", vector.center)


def _stored_contribution(vector: Vector, expr: Expr, steps: str) -> str:
    grid = grid_of(expr, centered=False)
    width = int(vector.step / grid.step)
    if width > 1:
        # From a multiple of the width below all of them, for `//` cuts towards zero.
        base = grid.lo // width * width
        steps = f"(CAST({steps} AS BIGINT) + {width // 2 - base}) // {width}"
        return f"{steps} + {base // width - vector.center}"
    return f"CAST({steps} AS BIGINT) - {vector.center}" if vector.center else steps


def steps_sql(expr: Expr, grid: Grid) -> str:
    """A bounded double on a grid, halves to even, less its centre: an integer within the grid's ends, or NULL for NULL
    and NaN."""
    raw = quote_name(str(expr.args[0].payload))
    lo, hi = float_text(float(expr.lo or 0)), float_text(float(expr.hi or 0))
    steps = _less_center(f"CAST({raw} * {float_text(float(1 / grid.step))} AS BIGINT)", grid.center)
    return (
        f"CASE WHEN {raw} BETWEEN {lo} AND {hi} THEN {steps} "
        f"WHEN {raw} < {lo} THEN {grid.lo} WHEN {raw} <= CAST('infinity' AS DOUBLE) THEN {grid.hi} END"
    )


def _less_center(steps: str, center: int) -> str:
    return f"{steps} - {center}" if center else steps


def _integer_contribution(vector: Vector, expr: Expr) -> str:
    if vector.step != 1:
        step = int(vector.step)
        base = int(expr.lo or 0) // step * step
        shifted = f"(CAST({print_expr(expr)} AS HUGEINT) - {base} + {step // 2}) // {step}"
        return f"CAST({shifted} + {base // step - vector.center} AS BIGINT)"
    if _is_clamped(expr):
        raw = quote_name(str(expr.args[0].payload))
        # In the stored type bounds may not fit, and an unsigned value less its centre would underflow.
        if engine_type_of(expr) == "UHUGEINT":
            raw = print_stored(expr, "UHUGEINT")
        elif engine_type_of(expr) not in ("BIGINT", "HUGEINT"):
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
