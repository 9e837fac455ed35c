"""Why columns that look like units are not known to be, for the hints of refusals.

Flow: `joins`, `set_operations`, `subqueries` and `unit_rows` ask when they refuse for want of a unit.
"""

from __future__ import annotations

from collections.abc import Iterable

from dither.plan.separable import Relation
from dither.sql.expressions import Expr, columns_of, walk
from dither.sql.units import engine_type_of

__all__ = ["unit_hint"]


def unit_hint(exprs: Iterable[Expr], *relations: Relation) -> str | None:
    """What to change where one of these conditions or columns is about units and does not tell them apart; None where
    none is."""
    moved = frozenset[str]().union(*(relation.moved for relation in relations))
    for expr in exprs:
        if expr.op not in ("equal", "is_not_distinct", "read", "column"):
            continue
        if columns_of(expr) & moved:
            return (
                "The unit's column has bounds or values in the catalog, so it is read as a value that two units may "
                "have in common. Ask the owner to declare them for other columns only."
            )
        types = list(dict.fromkeys(engine_type_of(node) for node in walk(expr) if node.op == "unit"))
        if len(types) == 2:
            return (
                f"These units are stored as {types[0][:40]} and {types[1][:40]}, which the engine cannot compare "
                "exactly. Ask the owner to store both as one type, or to cast one by TRY_CAST in a view."
            )
    return None
