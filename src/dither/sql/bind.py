"""From a parsed scalar expression to a typed one.

Flow: lowering hands in a tree, a scope, and what to do with the parts that are not scalar (aggregates, windows,
subqueries); out comes an `Expr` whose every function is on the allowed list.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from dither.errors import QueryRefused
from dither.sql import functions, row_values
from dither.sql.expressions import Expr, literal
from dither.sql.functions import convert, literals, logic
from dither.sql.functions.refused import REFUSED
from dither.sql.names import Scope
from dither.sql.parse import Tree
from dither.sql.refused_aggregates import NOT_MEASURED
from dither.sql.types import NULL, Kind

__all__ = ["AGGREGATES", "STANDARD_AGGREGATES", "Binder", "call_of", "column_path", "literal_of"]

# Those that may also run over noisy tables. The others are known so that they are refused as aggregates, by name.
STANDARD_AGGREGATES = frozenset(
    [
        "count_star",
        "count",
        "sum",
        "avg",
        "mean",
        "min",
        "max",
        "median",
        "quantile",
        "quantile_cont",
        "quantile_disc",
        "var_pop",
        "var_samp",
        "variance",
        "stddev",
        "stddev_pop",
        "stddev_samp",
        "covar_pop",
        "covar_samp",
        "corr",
        "count_if",
        "countif",
        "bool_and",
        "bool_or",
        "arg_min",
        "arg_max",
        "min_by",
        "max_by",
    ]
)
AGGREGATES = (
    STANDARD_AGGREGATES
    | frozenset(NOT_MEASURED)
    | frozenset(
        [
            "percentile_cont",
            "percentile_disc",
            "approx_quantile",
            "approx_count_distinct",
            "kurtosis",
            "kurtosis_pop",
            "skewness",
            "sem",
            "geomean",
            "geometric_mean",
            "regr_slope",
            "regr_intercept",
            "regr_r2",
            "regr_count",
            "regr_avgx",
            "regr_avgy",
            "regr_sxx",
            "regr_syy",
            "regr_sxy",
            "sum_no_overflow",
            "fsum",
            "kahan_sum",
            "sumkahan",
            "favg",
            "approx_quantiles",
        ]
    )
)

_COMPARISONS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
    "COMPARE_DISTINCT_FROM": "is distinct",
    "COMPARE_NOT_DISTINCT_FROM": "is not distinct",
}

_UNSTABLE = frozenset(["random", "uuid", "gen_random_uuid", "setseed", "nextval", "currval", "txid_current"])

# DATE '...' and TIMESTAMP '...' are read here and not by an engine.
_MOMENT_READERS: dict[str, Callable[[functions.Call, str, int], Expr]] = {
    "date": partial(literals.date_literal, cut=True),
    "timestamp": literals.timestamp_literal,
    "datetime": literals.timestamp_literal,
}

Special = Callable[[Tree], Expr | None]


class Binder:
    """Binds scalar expressions over one scope. `special` sees aggregates, windows and subqueries before the rest."""

    def __init__(self, scope: Scope, *, special: Special | None = None, now: dt.datetime | None = None) -> None:
        self.scope = scope
        self.special = special
        self.now = now

    def bind(self, tree: Tree) -> Expr:
        if self.special is not None:
            found = self.special(tree)
            if found is not None:
                return found
        match tree.kind:
            case "COLUMN_REF":
                return self._column(tree)
            case "CONSTANT":
                return literal_of(tree)
            case "COMPARISON":
                args = tree.need_child("left"), tree.need_child("right")
                if row_values.is_row(args[0]) and _symbol(tree) in ("=", "<>"):
                    same = row_values.equal_to_any(tree, args[0], [args[1]], self.bind)
                    return self._finish(tree, self._not(tree, same) if _symbol(tree) == "<>" else same)
                return self._finish(tree, logic.compare(self._call(tree, _symbol(tree), args), _symbol(tree)))
            case "CONJUNCTION":
                word = "and" if tree.type == "CONJUNCTION_AND" else "or"
                call = self._call(tree, word.upper(), tuple(tree.children("children")))
                return self._finish(tree, logic.conjunction(call, word))
            case "BETWEEN":
                args3 = tree.need_child("input"), tree.need_child("lower"), tree.need_child("upper")
                return self._finish(tree, logic.between(self._call(tree, "BETWEEN", args3)))
            case "CASE":
                return self._case(tree)
            case "CAST":
                return self._cast(tree)
            case "OPERATOR":
                return self._operator(tree)
            case "FUNCTION":
                return self._function(tree)
        raise self._unknown(tree)

    def condition(self, tree: Tree, where: str = "WHERE") -> Expr:
        """`bind`, of what must be a condition: the engine would cast anything else, and could fail on a row."""
        expr = self.bind(tree)
        if expr.type.kind not in (Kind.BOOLEAN, Kind.NULL):
            raise tree.refuse("F-120", f"{where} needs a condition; found {expr.type}.")
        return expr

    def _column(self, tree: Tree) -> Expr:
        path = column_path(tree)
        tree.done()
        moments = ("current_date", "current_timestamp", "localtimestamp")
        if len(path) == 1 and path[0].lower() in moments and not self.scope.knows(path):
            return self._moment(path[0].lower() == "current_date", tree)
        return self.scope.resolve(path, tree.span).expr

    def _moment(self, date_only: bool, tree: Tree) -> Expr:
        if self.now is None:
            raise tree.refuse("F-160", "The current time is not available here.")
        return literal(self.now.date() if date_only else self.now)

    def _case(self, tree: Tree) -> Expr:
        parts: list[Tree] = []
        for check in tree.take("case_checks"):
            pair = Tree({**check, "type": "CASE_CHECK"}, tree.text)
            parts += [pair.need_child("when_expr"), pair.need_child("then_expr")]
            pair.done()
        parts.append(tree.need_child("else_expr"))
        return self._finish(tree, logic.case(self._call(tree, "CASE", tuple(parts))))

    def _cast(self, tree: Tree) -> Expr:
        target = tree.need_child("type_expr")
        name = str(target.take("type_name"))
        parameters = tuple(_parameter(part) for part in target.children("children"))
        target.done()
        tree.take("try_cast")
        child = tree.need_child("child")
        arg = self.bind(child)
        call = functions.Call(name, (arg,), tree.span, (child.span or tree.span,))
        if arg.is_literal and isinstance(arg.payload, str) and name.lower() in _MOMENT_READERS:
            return self._finish(tree, _MOMENT_READERS[name.lower()](call, arg.payload, 0))
        return self._finish(tree, convert.cast(replace(call, name="CAST"), arg, name, parameters))

    def _operator(self, tree: Tree) -> Expr:
        children = tuple(tree.children("children"))
        if tree.type in ("COMPARE_IN", "COMPARE_NOT_IN") and row_values.is_row(children[0]):
            found = row_values.equal_to_any(tree, children[0], children[1:], self.bind)
            return self._finish(tree, self._not(tree, found) if tree.type == "COMPARE_NOT_IN" else found)
        match tree.type:
            case "ARRAY_EXTRACT" | "ARRAY_SLICE":
                return self._finish(tree, self._characters(tree, children))
            case "OPERATOR_NOT":
                return self._finish(tree, logic.negation(self._call(tree, "NOT", children)))
            case "OPERATOR_IS_NULL" | "OPERATOR_IS_NOT_NULL":
                call = self._call(tree, "IS NULL", children)
                return self._finish(tree, logic.null_test(call, negated=tree.type == "OPERATOR_IS_NOT_NULL"))
            case "OPERATOR_COALESCE":
                return self._finish(tree, logic.coalesce(self._call(tree, "COALESCE", children)))
            case "COMPARE_IN":
                return self._finish(tree, logic.membership(self._call(tree, "IN", children)))
            case "COMPARE_NOT_IN":
                return self._finish(tree, self._not(tree, logic.membership(self._call(tree, "NOT IN", children))))
        raise self._unknown(tree)

    @staticmethod
    def _not(tree: Tree, condition: Expr) -> Expr:
        return logic.negation(functions.Call("NOT", (condition,), tree.span, (tree.span,)))

    def _characters(self, tree: Tree, children: tuple[Tree, ...]) -> Expr:
        """text[2] and text[2:3]: characters by their places, which are constants from 1."""
        places = [child.data.get("literal", {}) for child in children[1:]]
        known = [int(p["text"]) for p in places if p.get("kind") == "INTEGER" and str(p["text"]).isdigit()]
        text = self.bind(children[0])
        if len(known) < len(places) or 0 in known or text.type.kind is not Kind.TEXT:
            raise tree.refuse(
                "P-121",
                "Places in brackets are constants from 1, of a text.",
                hint="Write SUBSTRING(x, 2, 1), LEFT(x, 2), RIGHT(x, 2) or SPLIT_PART(x, '-', 1).",
            )
        for child in children[1:]:
            literal_of(child)
        size = known[-1] - known[0] + 1
        arguments = (text, literal(known[0]), literal(max(0, size)))
        return functions.BUILDERS["substring"](functions.Call("SUBSTRING", arguments, tree.span, (tree.span,) * 3))

    def _function(self, tree: Tree) -> Expr:
        name = str(tree.take("function_name")).lower()
        arguments = tuple(tree.arguments())
        if name in AGGREGATES:
            raise tree.refuse(
                "A-101",
                f"{display_name(name)} is an aggregate; here one row is looked at by itself.",
                hint="Use it in the SELECT list, in HAVING or ORDER BY, or in a subquery grouped by the unit.",
            )
        if (
            name in ("current_date", "today", "now", "current_timestamp", "get_current_timestamp", "localtimestamp")
            and not arguments
        ):
            return self._finish(tree, self._moment(name in ("current_date", "today"), tree))
        build = functions.BUILDERS.get(name)
        if build is None:
            raise _unknown_function(tree, name)
        return self._finish(tree, build(self._call(tree, display_name(name), arguments)))

    def _call(self, tree: Tree, name: str, args: tuple[Tree, ...]) -> functions.Call:
        return functions.Call(name, tuple(self.bind(arg) for arg in args), tree.span, tuple(arg.span for arg in args))

    @staticmethod
    def _finish(tree: Tree, expr: Expr) -> Expr:
        tree.done()
        return expr

    @staticmethod
    def _unknown(tree: Tree) -> QueryRefused:
        match tree.kind:
            case "SUBQUERY":
                return tree.refuse(
                    "S-160",
                    "A subquery cannot stand here.",
                    hint="Join its table, or give it a name in a subquery: FROM (SELECT (SELECT ...) AS x FROM t).",
                )
            case "WINDOW":
                return tree.refuse(
                    "S-150",
                    "A window function cannot stand here.",
                    hint="Give it a name in a subquery: FROM (SELECT ... OVER (PARTITION BY unit ...) AS x FROM t).",
                )
            case "STAR":
                return tree.refuse("S-101", "`*` cannot stand here.", hint="COUNT(*) counts rows; else name a column.")
        what = tree.kind.replace("_", " ").lower()
        return tree.refuse("P-121", f"This kind of expression ({what}) is not supported.")


def call_of(tree: Tree, name: str, *args: Expr) -> functions.Call:
    """A call made by lowering itself, blamed on the given place."""
    return functions.Call(name, args, tree.span, (tree.span,) * len(args))


def column_path(tree: Tree) -> list[str]:
    return [str(part) for part in tree.take("column_names")]


def literal_of(tree: Tree) -> Expr:
    """A constant of the question. `1.5` is an exact decimal, `1e5` a double, as in DuckDB."""
    spec = tree.take("literal")
    tree.done()
    kind, text = spec["kind"], str(spec.get("text", ""))
    match kind:
        case "NULL_LITERAL":
            return Expr("literal", NULL)
        case "BOOLEAN":
            return literal(text.lower() == "true")
        case "STRING":
            return literal(text)
        case "INTEGER":
            value = int(text)
            if abs(value) >= 2**126:
                raise tree.refuse("F-145", "This number is too large.")
            return literal(value)
        case "NUMERIC":
            return _numeric(tree, text)
    raise tree.refuse("F-146", f"Constants of this kind ({kind.lower()}) are not supported.")


def _numeric(tree: Tree, text: str) -> Expr:
    if "e" in text.lower() or len(text) > 38:
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise tree.refuse("F-145", "This number is too large.")
        return literal(value)
    if "." not in text:
        return literal(int(text))
    return literal(Fraction(text), scale=len(text.partition(".")[2]))


def display_name(name: str) -> str:
    """How a function is called in messages."""
    if name == "count_star":
        return "COUNT(*)"
    operators = {"~~": "LIKE", "~~*": "ILIKE", "!~~": "NOT LIKE", "!~~*": "NOT ILIKE", "~~~": "GLOB"}
    return operators.get(name, name.upper())


def _symbol(tree: Tree) -> str:
    if tree.type not in _COMPARISONS:
        raise tree.refuse("P-121", "This comparison is not supported.")
    return _COMPARISONS[tree.type]


def _parameter(tree: Tree) -> int:
    value = literal_of(tree).payload
    if not isinstance(value, int) or isinstance(value, bool):
        raise tree.refuse("F-152", "A type's parameters are whole numbers.")
    return value


def _unknown_function(tree: Tree, name: str) -> QueryRefused:
    if name in _UNSTABLE:
        return tree.refuse(
            "F-102", f"{display_name(name)} gives another value at every call.", hint="A question must mean one thing."
        )
    if name in REFUSED:
        return tree.refuse("F-103", f"{display_name(name)} is not offered over people's rows.", hint=REFUSED[name])
    return tree.refuse(
        "F-101",
        f"The function {display_name(name)} is not on Dither's list.",
        hint="Only functions that can never raise or leak on any row are; docs/reference/functions.md lists them.",
    )
