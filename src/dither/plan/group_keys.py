"""GROUP BY: which expressions are the keys of a SELECT's groups, and which of them form each grouping set.

Flow: `lower.select` asks for the keys, whose holding the unit decides the SELECT's layer; `grouped` makes them the keys
of measures, `rows` and `unit_rows` columns of a relation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dither.plan import finish, stars
from dither.plan.aggregates import contains_aggregate
from dither.plan.separable import Relation
from dither.sql.bind import Binder, column_path, literal_of
from dither.sql.expressions import Expr
from dither.sql.functions.casts import is_wide
from dither.sql.naming import item_name
from dither.sql.parse import Tree
from dither.sql.types import Kind, magnitude

if TYPE_CHECKING:
    from dither.plan.lower import Lowering

__all__ = ["GroupKeys", "group_keys", "select_items"]


@dataclass(frozen=True)
class GroupKeys:
    """GROUP BY: all key expressions, and which of them form each grouping set."""

    trees: tuple[Tree, ...]
    exprs: tuple[Expr, ...]
    names: tuple[str, ...]
    sets: tuple[tuple[int, ...], ...]

    def holds_unit(self, relation: Relation) -> bool:
        """Does every grouping set hold a column that always equals the unit?"""
        held = [i for i, expr in enumerate(self.exprs) if relation.is_unit(expr)]
        return bool(held) and all(set(held) & set(chosen) for chosen in self.sets)


def group_keys(lowering: Lowering, tree: Tree, relation: Relation) -> GroupKeys:
    """The GROUP BY of a SELECT: expressions, aliases, ordinals, ALL, grouping sets."""
    items = select_items(tree, relation)
    handling = tree.take("aggregate_handling")
    if handling == "FORCE_AGGREGATES":
        chosen = [item for item in items if not contains_aggregate(item)]
        tree.take("group_expressions")
        tree.take("group_sets")
    else:
        chosen = [_resolve(lowering, key, items, relation) for key in tree.children("group_expressions")]
    exprs, names = [], []
    for key in chosen:
        expr = Binder(relation.scope, now=lowering.now).bind(Tree(key.data, key.text))
        if expr.type.kind in (Kind.INTERVAL, Kind.NULL):
            raise key.refuse("K-105", "This cannot be grouped by.")
        exprs.append(expr)
        names.append(item_name(key, relation.scope.spelling))
    sets = tree.take("group_sets") or []
    if handling == "FORCE_AGGREGATES" or not sets:
        sets = [list(range(len(exprs)))]
    if len(sets) > 1:
        _check_told_apart(chosen, exprs)
    keys = GroupKeys(tuple(chosen), tuple(exprs), tuple(names), tuple(tuple(sorted(chosen)) for chosen in sets))
    # A unit that groups its own rows does not leave the engine.
    stays = keys.holds_unit(relation)
    for key, expr in zip(chosen, exprs, strict=True):
        if stays and relation.is_unit(expr):
            continue
        if expr.type.kind is Kind.UNIT:
            raise key.refuse(
                "K-105", "This cannot be grouped by.", hint="Group by another column, or by the unit in every set."
            )
        if not _tells_apart(expr):
            raise key.refuse(
                "K-108",
                "These numbers have more digits than a group can be told by.",
                hint="Group by CAST(... AS VARCHAR), or by something coarser.",
            )
    return keys


def select_items(tree: Tree, relation: Relation) -> list[Tree]:
    """The SELECT list, with COLUMNS(...) inside expressions written out."""
    items = []
    for item in tree.children("select_list"):
        if item.kind == "STAR":
            raise finish.refuse_star(item)
        items += stars.per_column(item, relation.shown()) if stars.holds_columns(item) else [item]
    return items


def _resolve(lowering: Lowering, key: Tree, items: list[Tree], relation: Relation) -> Tree:
    """A GROUP BY entry as the expression it means: an ordinal, a column, else an alias of the SELECT list."""
    if key.kind == "CONSTANT" and key.data["literal"]["kind"] == "INTEGER":
        number = literal_of(Tree(key.data, key.text)).payload
        assert isinstance(number, int)
        if not 1 <= number <= len(items):
            raise key.refuse("K-104", f"GROUP BY {number}: the SELECT list has {len(items)} columns.")
        chosen = items[number - 1]
        if contains_aggregate(chosen):
            raise key.refuse("K-107", f"GROUP BY {number} is an aggregate.")
        return chosen
    if key.kind == "COLUMN_REF":
        path = column_path(Tree(key.data, key.text))
        if not relation.scope.knows(path) and len(path) == 1:
            for item in items:
                if item.alias.lower() == path[0].lower():
                    if contains_aggregate(item):
                        raise key.refuse("K-107", f"`{path[0]}` is an aggregate; it cannot be grouped by.")
                    return item
    return key


def _check_told_apart(keys: Sequence[Tree], exprs: Sequence[Expr]) -> None:
    """Which NULL stands for "not grouped by" must be one thing: engines differ on a constant, and on one key twice."""
    for number, (key, expr) in enumerate(zip(keys, exprs, strict=True)):
        if key.kind == "CONSTANT" or expr in exprs[:number]:
            what = "A constant" if key.kind == "CONSTANT" else "The same key twice"
            raise key.refuse(
                "K-105",
                f"{what} among GROUPING SETS, ROLLUP or CUBE cannot be shown as not grouped by.",
                hint="Leave it out of GROUP BY.",
            )


def _tells_apart(expr: Expr) -> bool:
    """Do different values stay different on their way out? Integers must fit 64 bits, decimals a double's digits, with
    room for the way to a double and back."""
    if expr.type.kind is Kind.INTEGER:
        return not is_wide(expr)
    if expr.type.kind is Kind.DECIMAL:
        assert expr.lo is not None and expr.hi is not None
        return bool(magnitude(expr.lo, expr.hi) * 10**expr.type.scale < 2**49)
    return True
