"""(a, b) IN ((1, 'x'), (2, 'y')) and (a, b) = (1, 'x'): rows compared part by part.

Flow: `bind` hands in trees whose first side is a row. As in DuckDB a NULL equals a NULL here and nothing else, so the
result is never unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dither.sql.expressions import Expr, literal
from dither.sql.functions import logic
from dither.sql.functions.registry import Call
from dither.sql.parse import Tree

__all__ = ["equal_to_any", "is_row", "parts_of"]

MOST_ROWS = 200


def is_row(tree: Tree) -> bool:
    return tree.kind == "FUNCTION" and tree.data.get("function_name") == "row"


def equal_to_any(tree: Tree, row: Tree, others: Sequence[Tree], bind: Callable[[Tree], Expr]) -> Expr:
    """Is the row equal to one of the others?"""
    left = [bind(part) for part in parts_of(row)]
    if len(others) > MOST_ROWS:
        raise tree.refuse("P-109", f"A list of rows has at most {MOST_ROWS}.", hint="Join a VALUES table instead.")
    whole: Expr | None = None
    for other in others:
        if not is_row(other):
            raise other.refuse("F-121", "A row is compared with rows.", hint="Write (a, b) IN ((1, 'x'), (2, 'y')).")
        right = parts_of(other)
        if len(right) != len(left):
            raise other.refuse("F-121", f"A row of {len(left)} is compared with a row of {len(right)}.")
        same: Expr | None = None
        for one, part in zip(left, right, strict=True):
            call = Call("=", (one, bind(part)), other.span, (row.span, part.span))
            equal = logic.compare(call, "is not distinct")
            same = equal if same is None else _joined(tree, same, equal, "and")
        if same is not None:
            whole = same if whole is None else _joined(tree, whole, same, "or")
    return literal(False) if whole is None else whole


def parts_of(row: Tree) -> list[Tree]:
    row.take("function_name")
    parts = row.arguments()
    row.done()
    return parts


def _joined(tree: Tree, left: Expr, right: Expr, word: str) -> Expr:
    return logic.conjunction(Call(word.upper(), (left, right), tree.span, (tree.span, tree.span)), word)
