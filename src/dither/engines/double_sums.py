"""Clamped columns in doubles that hold whole numbers: exact, and without a branch for what is out of bounds.

Flow: `emit` asks for the sum, or the cell, of a stored, bounded column here first; where doubles could round, it adds
integers.
A value x goes to the grid by adding and so rounding at M = 3/2 * 2^52 steps, and is clamped by |x - lo| - |x - hi|,
which is 2 min(max(x, lo), hi) - lo - hi. All of it is whole numbers of steps below 2^53, so nothing is rounded but x.
Proof: docs/proofs/mechanisms/double-sums.md. Decision: docs/decisions/0027-clamped-sums-in-doubles.md
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.catalog.model import fold
from dither.engines.emission import Emission, Extent
from dither.plan import nodes
from dither.plan.nodes import Scan, Vector
from dither.sql.expressions import Expr
from dither.sql.printing import float_text, quote_name
from dither.sql.types import Kind

__all__ = ["double_cell", "double_sum"]

EXACT = 2**53
"""Whole numbers up to here are doubles, and so are their sums and differences."""
NEAR = 2**50
"""Values of at most this many steps are rounded to the grid by one addition, and their distances are exact."""
_SMALL = ("TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER")


def double_sum(vector: Vector, rows: nodes.Rows, emission: Emission, condition: str) -> str | None:
    """SQL of a group's sum of the vector's contributions, as BIGINT, or None where doubles would not be exact, or not
    faster. vector: of kind sum, over a stored column with bounds.  condition: a FILTER clause, or nothing."""
    expr, lo, hi = vector.expr, vector.lo, vector.hi
    assert expr is not None
    if expr.type.kind not in (Kind.INTEGER, Kind.DOUBLE):
        return None
    known = _known(rows, emission)
    # Beside the terms as written: sums of them without their constant, and of the constant alone.
    largest = max(abs(lo), abs(hi), hi - lo, abs(lo + hi))
    if known is None or known[1].rows * largest > EXACT:
        return None
    clamp = _clamp(vector, expr, _ends(expr, known))
    if clamp is None:
        return None
    total = f"sum({clamp.twice(nan='')}){condition}"
    if clamp.far is None and clamp.shift:
        # No NaN: as many rows count as have a value, and a constant of all rows is cheaper than one in each.
        total = f"(sum({clamp.clamped}){condition} + count({clamp.raw}){condition} * {_text(clamp.shift)})"
    return f"CAST({total} * {_text(1 / (2 * vector.step))} AS BIGINT)"


def double_cell(vector: Vector, rows: nodes.Rows, emission: Emission) -> str | None:
    """SQL of the grid cell of a stored, bounded column of doubles, as INTEGER: within [lo, hi], NULL for NULL, above hi
    for NaN. No NULL is written into it, for then the engine would not know the range of what it counts."""
    expr = vector.expr
    assert expr is not None
    if expr.type.kind is not Kind.DOUBLE:
        return None
    clamp = _clamp(vector, expr, _ends(expr, _known(rows, emission)))
    if clamp is None:
        return None
    twice = clamp.twice(nan=f" ELSE {_text(2 * (vector.hi + 1) * vector.step)}")
    return f"CAST(({twice}) * {_text(1 / (2 * vector.step))} AS INTEGER)"


@dataclass(frozen=True)
class _Clamp:
    """A column on its grid and within its bounds, in SQL: `clamped + shift` is twice the contribution, in the unit of
    the column."""

    raw: str
    clamped: str
    shift: Fraction
    far: str | None
    """Where that would not be exact; None where the engine knows of no such value."""
    least: Fraction
    most: Fraction

    def twice(self, *, nan: str) -> str:
        """A DOUBLE, NULL for NULL. nan: what NaN becomes, as the last arm of a CASE; NULL if nothing."""
        near = f"{self.clamped} + {_text(self.shift)}" if self.shift else self.clamped
        if self.far is None:
            return near
        # Infinities are far, and NaN, which is not below infinity either.
        low, high = (f"THEN {_text(end)}" for end in (self.least, self.most))
        ends = f"CASE WHEN {self.raw} < 0 {low} WHEN {self.raw} <= CAST('infinity' AS DOUBLE) {high}{nan} END"
        return f"CASE WHEN {self.far} THEN {ends} ELSE {near} END"


def _ends(expr: Expr, known: tuple[Scan, Extent] | None) -> tuple[float, float] | None:
    """What the engine knows of the values of the column."""
    if known is None:
        return None
    scan, extent = known
    name = next((column.name for column in scan.columns if column.id == expr.args[0].payload), "")
    return extent.ends.get(fold(name))


def _clamp(vector: Vector, expr: Expr, ends: tuple[float, float] | None) -> _Clamp | None:
    """How doubles clamp the column; None where they cannot, or where integers are as fast."""
    raw = quote_name(str(expr.args[0].payload))
    step, lo, hi = vector.step, vector.lo, vector.hi
    low, high = lo + vector.center, hi + vector.center
    if expr.type.kind is Kind.INTEGER:
        stored = expr.payload[1]  # type: ignore[index]
        inside = ends is not None and low <= ends[0] and ends[1] <= high
        # Where all values are inside, the engine folds the clamp away, and integers are added as they are.
        if step != 1 or inside or stored not in (*_SMALL, "BIGINT"):
            return None
        rounding, known, near = 0, stored in _SMALL, f"CAST({raw} AS DOUBLE)"
    else:
        rounding, known = 3 * 2**51, False
        if rounding * step > 2**1000:
            return None
        near = f"({raw} + {_text(rounding * step)})"
    reach = NEAR * step
    known = known or (ends is not None and -reach <= Fraction(ends[0]) and Fraction(ends[1]) <= reach)
    below, above = ((rounding + end) * step for end in (low, high))
    return _Clamp(
        raw,
        f"abs({near} - {_text(below)}) - abs({near} - {_text(above)})",
        (lo + hi) * step,
        None if known else f"{raw} NOT BETWEEN {_text(-reach)} AND {_text(reach)}",
        2 * lo * step,
        2 * hi * step,
    )


def _known(rows: nodes.Rows, emission: Emission) -> tuple[Scan, Extent] | None:
    """The scan below and what is known of it, if every row here is a row of it and none is there twice."""
    while isinstance(rows, nodes.Filter | nodes.Project | nodes.UnitWindow):
        rows = rows.input
    extent = emission.extent(rows.table) if isinstance(rows, Scan) else None
    return (rows, extent) if isinstance(rows, Scan) and extent is not None else None


def _text(value: Fraction | int) -> str:
    exact = float(value)
    assert Fraction(exact) == value
    return float_text(exact)
