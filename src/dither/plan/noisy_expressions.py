"""How an expression over noisy numbers depends on them: arithmetic, conditions, aggregates, windows.

Flow: `noisy_columns` makes one `Expressions` for each SELECT of a finish. What is not known to rise or fall, or to be
smooth, counts as folded: its intervals are then left out with a reason, never guessed.
Relies on: trees that `rewriting` has read, so that only listed functions stand in them.
Proof: docs/proofs/answer/intervals.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dither.plan.dependence import (
    PUBLIC,
    WHOLE,
    Dependence,
    Shape,
    Why,
    added,
    bent,
    flipped,
    folded,
    merged,
    scaled,
    there,
)
from dither.plan.row_keys import is_aggregate, names_in

__all__ = ["Expressions", "Scope"]

Json = Mapping[str, Any]

RISING = frozenset(
    [
        "sqrt", "cbrt", "ln", "log2", "log10", "log", "exp", "floor", "ceil", "ceiling", "round", "round_even", "trunc",
        "sign", "even", "degrees", "radians", "atan", "tanh", "sinh", "asinh", "//",
    ]
)  # fmt: skip
"""Functions of one noisy number that never fall; any further argument is public (and positive, of //)."""
ROUNDING = frozenset(["floor", "ceil", "ceiling", "round", "round_even", "trunc"])
COUNTS = frozenset(["count", "count_star"])
MOMENTS = frozenset(
    ["var_pop", "var_samp", "variance", "stddev", "stddev_pop", "stddev_samp", "covar_pop", "covar_samp", "corr"]
)
PLACES = frozenset(["median", "quantile", "quantile_cont", "quantile_disc"])
MIDDLES = frozenset(["lag", "lead", "first_value", "last_value", "nth_value", "first", "last"])
"""Windows that take the value of one row, which their order tells."""
COMPARED = {
    "COMPARE_GREATERTHAN": 1,
    "COMPARE_GREATERTHANOREQUALTO": 1,
    "COMPARE_LESSTHAN": -1,
    "COMPARE_LESSTHANOREQUALTO": -1,
}
WHOLE_TYPES = frozenset(["INTEGER", "BIGINT", "HUGEINT", "INT", "SMALLINT", "TINYINT", "INT64", "INT32", "LONG"])
DOUBLE_TYPES = frozenset(["DOUBLE", "FLOAT8"])
ROUNDED_TYPES = frozenset(["DECIMAL", "NUMERIC", "DEC", "FLOAT", "FLOAT4", "REAL"])


@dataclass(frozen=True)
class Scope:
    """Columns that a SELECT can name: (table's alias, column) in lower case."""

    columns: Mapping[tuple[str, str], Dependence]
    outer: Scope | None = None

    def find(self, path: Sequence[str]) -> Dependence | None:
        """None where no such column is known."""
        name, table = path[-1].lower(), path[-2].lower() if len(path) > 1 else None
        found = [each for (alias, column), each in self.columns.items() if column == name and table in (None, alias)]
        # A column that USING made one of two: any of the two may be it.
        return merged(found) if found else None if self.outer is None else self.outer.find(path)


@dataclass(frozen=True)
class Expressions:
    scope: Scope
    items: Sequence[Json]
    """The SELECT list: its aliases may be named in it."""
    rows: Dependence
    """Of the rows that aggregates add up: how does it depend on noise whether one is there?"""
    shown: Dependence
    """Of the rows that windows see."""
    subquery: Callable[[Json, Scope], tuple[list[Dependence], Dependence]]
    _named: dict[str, Dependence] = field(default_factory=dict)

    def of(self, item: Json | None) -> Dependence:
        if item is None:
            return PUBLIC
        match item["class"]:
            case "COLUMN_REF":
                return self._column(item["column_names"])
            case "CONSTANT":
                return WHOLE if item["literal"]["kind"] == "INTEGER" else PUBLIC
            case "COMPARISON":
                return self._comparison(item)
            case "CONJUNCTION":
                return self._folded_of([self.of(child) for child in item["children"]])
            case "CAST":
                return self._cast(item)
            case "CASE":
                return self._case(item)
            case "OPERATOR":
                return self._operator(item)
            case "FUNCTION" if is_aggregate(dict(item)):
                return self._aggregate(item)
            case "FUNCTION":
                return self._function(str(item["function_name"]).lower(), [a["expression"] for a in item["arguments"]])
            case "WINDOW":
                return self._window(item)
            case "SUBQUERY":
                return self._subquery(item)
        return self._unknown(_expressions_in(item))

    # Names and constants -------------------------------------------------------------------------------------------

    def _column(self, path: Sequence[str]) -> Dependence:
        found = self.scope.find(path)
        return self.alias(path[-1]) if found is None else found

    def alias(self, name: str) -> Dependence:
        """Of an item of the SELECT list by its alias."""
        key = name.lower()
        if key not in self._named:
            # Until it is known: a name that names itself is none.
            self._named[key] = folded(PUBLIC, Why.FOLDS)
            item = next((item for item in self.items if str(item.get("alias")).lower() == key), None)
            if item is not None:
                self._named[key] = self.of(item)
        return self._named[key]

    # Arithmetic ----------------------------------------------------------------------------------------------------

    def _function(self, name: str, args: Sequence[Json]) -> Dependence:
        found = [self.of(arg) for arg in args]
        noisy = [each for each in found if not each.is_public]
        if not noisy:
            return merged(found)
        match name, found:
            case "+" | "-", [only]:
                return only if name == "+" else flipped(only)
            case "+" | "-", [left, right]:
                return added(left, right if name == "+" else flipped(right))
            case "*", [left, right] if right.is_public:
                return scaled(left, right, _sign(args[1]))
            case "*", [left, right] if left.is_public:
                return scaled(right, left, _sign(args[0]))
            case "/", [left, right] if right.is_public:
                return replace(scaled(left, right, _sign(args[1])), whole=False)
            case "*", [left, right]:
                # A square of a number near zero is on one side of it, whatever the noise.
                alone = names_in(args[0]).isdisjoint(names_in(args[1]))
                product = replace(_smooth(merged((left, right))), curved=True)
                return product if alone else folded(product, Why.LEANS)
            case "/", [left, right]:
                return replace(_smooth(merged((left, right))), nullable=True)
            case "nullif", [left, right] if right.is_public:
                return replace(left, nullable=True)
            case "greatest" | "least", _:
                return self._folded_of(found)
            case "coalesce", _:
                return self._first_of(found)
            case "log", [base, other] if base.is_public:
                return bent(other) if (_number(args[0]) or 0) > 1 else self._unknown_of(found)
            case _, [first, *others] if name in RISING and all(each.is_public for each in others):
                if first.whole and name in ROUNDING and all((_sign(arg) or 0) >= 0 for arg in args[1:]):
                    return first
                positive = name != "//" or all(_sign(arg) == 1 for arg in args[1:])
                return bent(first) if positive else self._unknown_of(found)
        return self._unknown_of(found)

    def _folded_of(self, found: Sequence[Dependence]) -> Dependence:
        """Of what rises with each of these: GREATEST, AND, OR."""
        both = merged(found)
        if sum(not each.is_public for each in found) <= 1:
            return replace(bent(both), whole=both.whole)
        return folded(both, Why.FOLDS, rises=both.rises)

    def _first_of(self, found: Sequence[Dependence]) -> Dependence:
        """COALESCE: which of them is there is public, or nearly (a ratio of nothing), unless a condition decides."""
        both = merged(found)
        return folded(both, Why.FOLDS) if both.partial else both

    def _unknown_of(self, found: Sequence[Dependence]) -> Dependence:
        both = merged(found)
        return both if both.is_public else folded(both, Why.FOLDS)

    def _unknown(self, items: Sequence[Json]) -> Dependence:
        return self._unknown_of([self.of(item) for item in items])

    def _cast(self, item: Json) -> Dependence:
        child = self.of(item["child"])
        kind = str(item["type_expr"].get("type_name")).upper()
        if child.is_public or kind in DOUBLE_TYPES:
            return replace(child, whole=child.whole and not child.is_public)
        if kind in WHOLE_TYPES:
            return child if child.whole else bent(child)
        # Texts are in another order, and of a truth value every number but 0 is one.
        return bent(child) if kind in ROUNDED_TYPES else self._unknown_of([child])

    # Conditions ----------------------------------------------------------------------------------------------------

    def _comparison(self, item: Json) -> Dependence:
        left, right = self.of(item["left"]), self.of(item["right"])
        way = COMPARED.get(item["type"])
        if way is None:
            return self._unknown_of([left, right])
        apart = bent(added(left, flipped(right)))
        return apart if way > 0 else flipped(apart)

    def _case(self, item: Json) -> Dependence:
        checks = [(self.of(check["when_expr"]), check["then_expr"]) for check in item["case_checks"]]
        conditions = merged(condition for condition, _ in checks)
        values = [self.of(then) for _, then in checks] + [self.of(item["else_expr"])]
        if conditions.is_public:
            return merged(values)
        if len(checks) == 1:
            condition, then = checks[0]
            if _is_null(item["else_expr"]) or _is_null(then):
                # The number where it is there: CASE WHEN n > 0 THEN s / n END.
                value = replace(merged(values), nullable=True, partial=True)
                return value if not value.is_public else folded(merged((condition, value)), Why.FOLDS)
            first, second = _number(then), _number(item["else_expr"])
            if first is not None and second is not None and condition.rises is not None:
                way = condition.rises if first >= second else -condition.rises
                return replace(condition, rises=way, whole=True)
        return folded(merged((conditions, *values)), Why.FOLDS)

    def _operator(self, item: Json) -> Dependence:
        found = [self.of(child) for child in item["children"]]
        match item["type"]:
            case "OPERATOR_NOT":
                return flipped(found[0])
            case "OPERATOR_COALESCE":
                return self._first_of(found)
            case "OPERATOR_IS_NULL" | "OPERATOR_IS_NOT_NULL" if not found[0].nullable:
                return PUBLIC
            case "GROUPING_FUNCTION":
                return WHOLE
        return self._unknown_of(found)

    def _subquery(self, item: Json) -> Dependence:
        columns, rows = self.subquery(item["subquery"]["node"], self.scope)
        whole = merged([*columns, self.of(item.get("child"))])
        if item["subquery_type"] != "SCALAR" or not rows.is_public:
            public = whole.is_public and rows.is_public
            return whole if public else folded(merged((whole, rows)), Why.ROWS)
        return columns[0]

    # Aggregates and windows ----------------------------------------------------------------------------------------

    def _aggregate(self, item: Json) -> Dependence:
        condition = self.of(item["filter"])
        args = [argument["expression"] for argument in item["arguments"]]
        return self._total(item, args, there(self.rows, condition))

    def _total(self, item: Json, args: Sequence[Json], rows: Dependence) -> Dependence:
        """Of an aggregate over rows that are there or not."""
        name, found = str(item["function_name"]).lower(), [self.of(arg) for arg in args]
        whole = replace(merged(found), hidden=rows.hidden or any(each.hidden for each in found))
        ordered = [self.of(order["expression"]) for order in (item.get("order_bys") or {}).get("orders", [])]
        if name in COUNTS:
            if (item["distinct"] and not whole.is_public) or any(each.nullable for each in found):
                return folded(whole, Why.FOLDS)
            return self._count(rows, whole.hidden)
        if name in ("count_if", "countif"):
            return self._count(there(rows, found[0]), whole.hidden)
        if not rows.is_public:
            return self._of_noisy_rows(name, whole, rows, args)
        if whole.is_public and all(each.is_public for each in ordered):
            return whole
        if (item["distinct"] and name not in ("min", "max")) or whole.partial:
            return folded(whole, Why.ROWS if whole.partial else Why.FOLDS)
        if name in ("sum", "avg", "mean"):
            summed = replace(whole, whole=whole.whole and name == "sum")
            if whole.curved:
                return folded(replace(summed, rises=None), Why.LEANS)
            return folded(summed, Why.FOLDS, rises=whole.rises) if whole.shape is Shape.BENT else summed
        if name in ("min", "max", "bool_and", "bool_or") or (name in PLACES and not ordered):
            return folded(whole, Why.FOLDS, rises=whole.rises)
        if name in MOMENTS:
            # What noise adds to a variance is always more.
            return folded(whole, Why.LEANS)
        return folded(merged((whole, *ordered)), Why.FOLDS)

    def _count(self, rows: Dependence, hidden: bool) -> Dependence:
        if rows.is_public:
            return replace(WHOLE, hidden=hidden)
        return replace(folded(rows, Why.ROWS, rises=rows.rises), whole=True, zero=True, hidden=hidden)

    def _of_noisy_rows(self, name: str, whole: Dependence, rows: Dependence, args: Sequence[Json]) -> Dependence:
        """More rows make a maximum larger and a minimum smaller, and a sum of constants move by their sign."""
        both = merged((whole, rows))
        if name == "sum" and len(args) == 1 and (sign := _sign(args[0])) is not None:
            return folded(both, Why.ROWS, rises=None if rows.rises is None else sign * rows.rises)
        way = {"max": 1, "min": -1}.get(name)
        if way is not None and rows.rises is not None and whole.rises in (0, way * rows.rises):
            return folded(both, Why.ROWS, rises=way * rows.rises)
        return folded(replace(both, rises=None), Why.ROWS)

    def _window(self, item: Json) -> Dependence:
        name = str(item["function_name"]).lower()
        args = [argument["expression"] for argument in item["arguments"]]
        found = [self.of(arg) for arg in args]
        placed = merged(
            [*(self.of(part) for part in item["partitions"])]
            + [self.of(order["expression"]) for order in item["orders"]]
            + [self.of(item[part]) for part in ("start_expr", "end_expr", "offset_expr")]
        )
        if not placed.is_public:
            return folded(merged((placed, *found)), Why.ORDER)
        rows = there(self.shown, self.of(item.get("filter_expr")))
        if name in MIDDLES:
            value = merged([*found, self.of(item.get("default_expr"))])
            return value if rows.is_public else folded(value, Why.ROWS)
        if not is_aggregate(dict(item, **{"class": "FUNCTION"})):
            # ROW_NUMBER and its kin, in a public order.
            return replace(WHOLE, hidden=rows.hidden) if rows.is_public else folded(rows, Why.ROWS)
        return self._total({**item, "order_bys": None}, args, rows)


def _smooth(one: Dependence) -> Dependence:
    """Of a smooth function that rises in places and falls in others."""
    changed = replace(one, rises=None, whole=False)
    return folded(changed, Why.FOLDS) if one.shape is Shape.FOLDED else replace(changed, shape=Shape.SMOOTH)


def _expressions_in(item: Json) -> list[Json]:
    """The expressions right below a node of any other kind."""
    below: list[Json] = []
    for value in item.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict) and "class" in part:
                below.append(part)
    return below


def _number(item: Json) -> Fraction | None:
    """A constant's value; None of any other expression, and of other constants."""
    if item["class"] == "FUNCTION" and str(item["function_name"]) in ("-", "+") and len(item["arguments"]) == 1:
        inner = _number(item["arguments"][0]["expression"])
        return None if inner is None else -inner if item["function_name"] == "-" else inner
    if item["class"] == "CAST":
        return _number(item["child"])
    if item["class"] != "CONSTANT" or item["literal"]["kind"] not in ("INTEGER", "NUMERIC"):
        return None
    return Fraction(str(item["literal"]["text"]))


def _sign(item: Json) -> int | None:
    number = _number(item)
    return None if number is None else (number > 0) - (number < 0)


def _is_null(item: Json | None) -> bool:
    return item is None or (item["class"] == "CONSTANT" and item["literal"]["kind"] == "NULL_LITERAL")
