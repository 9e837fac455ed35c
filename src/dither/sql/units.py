"""A unit's column: what tells units apart, and a value like any other.

Flow: scans make its `unit_value`; comparisons, groups, partitions and joins ask for its `identity`.

One rule: where units are told apart, the column is printed as it is stored, in whatever type it has, and can only be
compared with another such column. Whatever is computed from it goes through the guard that every stored column has.
So `a.u = b.u` means the same person in every type the engine tells values of apart, and no value of a wide type gets
into an expression. Proof: docs/proofs/plan/scan.md. Decision: docs/decisions/0031-a-unit-is-only-compared.md
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dither.catalog.schema import identifier_type
from dither.sql.expressions import Expr, make_column
from dither.sql.types import UNIT, Kind

__all__ = ["engine_type_of", "identity", "over_column", "same_units", "unit_column", "unit_value"]

# Reading these without bounds or values gives NULL for nothing that is there.
_ALWAYS_READ = (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN)


def unit_column(identifier: str, *, nullable: bool = False) -> Expr:
    """The column as it is stored: a name for a unit, which nothing is computed from."""
    return make_column(identifier, UNIT, nullable=nullable)


def unit_value(read: Expr, identifier: str) -> Expr:
    """The value of a unit's column. read: the column as `plan.reads` reads it, without bounds or values.
    identifier: of the column that tells units apart."""
    nullable = read.type.kind not in _ALWAYS_READ
    return replace(read, op="unit", args=(unit_column(identifier),), nullable=nullable)


def identity(expr: Expr) -> Expr | None:
    """The column that tells units apart, where the expression is one or its value; None of anything else."""
    if expr.op == "unit":
        return expr.args[0]
    return expr if expr.is_column and expr.type.kind is Kind.UNIT else None


def engine_type_of(value: Expr) -> str:
    """The stored type of a column that is read, or of a unit's, as the engine prints it."""
    assert isinstance(value.payload, tuple)
    return str(value.payload[1])


def same_units(exprs: Sequence[Expr]) -> tuple[Expr, ...] | None:
    """The columns behind these expressions, where all are values of units' columns and the engine compares them without
    merging two values or failing on one; else None."""
    if not all(expr.op == "unit" for expr in exprs) or identifier_type(map(engine_type_of, exprs)) is None:
        return None
    return tuple(expr.args[0] for expr in exprs)


def over_column(values: Sequence[Expr], identifier: str) -> Expr:
    """The value of a column that holds any of these units. values: such that `same_units` finds their columns."""
    first, nullable = values[0], any(value.args[0].nullable for value in values)
    column = unit_column(identifier, nullable=nullable)
    engine_type = identifier_type(map(engine_type_of, values))
    assert engine_type is not None and isinstance(first.payload, tuple)
    lo = hi = None
    if first.type.has_range:
        lo = min(value.lo for value in values if value.lo is not None)
        hi = max(value.hi for value in values if value.hi is not None)
    scale = max(value.type.scale for value in values)
    return replace(
        first,
        type=replace(first.type, scale=scale),
        args=(column,),
        payload=(first.payload[0], engine_type),
        nullable=nullable or first.nullable,
        lo=lo,
        hi=hi,
        length=max(value.length for value in values),
    )
