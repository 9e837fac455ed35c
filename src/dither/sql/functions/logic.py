"""Comparison, boolean logic, CASE, COALESCE, IN, BETWEEN, NULL tests. Three-valued, as in SQL."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from dither.sql.expressions import Expr, literal
from dither.sql.functions.casts import common_type, unify
from dither.sql.functions.registry import Call, builder, template
from dither.sql.types import BOOLEAN, Kind

COMPARE = {
    "=": template("equal", "({0} = {1})"),
    "<>": template("not_equal", "({0} <> {1})"),
    "<": template("less", "({0} < {1})"),
    "<=": template("less_or_equal", "({0} <= {1})"),
    ">": template("greater", "({0} > {1})"),
    ">=": template("greater_or_equal", "({0} >= {1})"),
}
DISTINCT = template("is_distinct", "({0} IS DISTINCT FROM {1})")
NOT_DISTINCT = template("is_not_distinct", "({0} IS NOT DISTINCT FROM {1})")
AND = template("and", "({0} AND {1})")
OR = template("or", "({0} OR {1})")
NOT = template("not", "(NOT {0})")
IS_NULL = template("is_null", "({0} IS NULL)")
IS_NOT_NULL = template("is_not_null", "({0} IS NOT NULL)")
BETWEEN = template("between", "({0} BETWEEN {1} AND {2})")
COALESCE = template("coalesce", "coalesce({*})")
NULLIF = template("nullif", "NULLIF({0}, {1})")
IN = "in"  # printed by emit: x IN (a, b, ...)
CASE = "case"  # printed by emit: WHEN/THEN pairs, then ELSE


def compare(call: Call, symbol: str) -> Expr:
    left, right = _comparable(call)
    nullable = left.nullable or right.nullable
    if symbol in ("is distinct", "is not distinct"):
        return Expr(DISTINCT if symbol == "is distinct" else NOT_DISTINCT, BOOLEAN, (left, right), nullable=False)
    return Expr(COMPARE[symbol], BOOLEAN, (left, right), nullable=nullable)


def conjunction(call: Call, op: str) -> Expr:
    """AND or OR of any number of conditions, as a left-leaning chain."""
    for index in range(len(call.args)):
        call.need_kind(index, Kind.BOOLEAN)
    result = call.args[0]
    for arg in call.args[1:]:
        result = Expr(op, BOOLEAN, (result, arg), nullable=result.nullable or arg.nullable)
    return result


def negation(call: Call) -> Expr:
    arg = call.need_kind(0, Kind.BOOLEAN)
    return Expr(NOT, BOOLEAN, (arg,), nullable=arg.nullable)


def null_test(call: Call, *, negated: bool) -> Expr:
    return Expr(IS_NOT_NULL if negated else IS_NULL, BOOLEAN, call.args, nullable=False)


def between(call: Call) -> Expr:
    args = _comparable(call)
    return Expr(BETWEEN, BOOLEAN, args, nullable=any(arg.nullable for arg in args))


def membership(call: Call) -> Expr:
    """x IN (a, b, ...)."""
    args = _comparable(call)
    return Expr(IN, BOOLEAN, args, nullable=any(arg.nullable for arg in args))


def case(call: Call) -> Expr:
    """Arguments: condition, result, condition, result, ..., and last the ELSE (a NULL where none was written)."""
    conditions, results = call.args[:-1:2], (*call.args[1:-1:2], call.args[-1])
    for index in range(0, len(call.args) - 1, 2):
        call.need_kind(index, Kind.BOOLEAN)
    values = _hull(replace(call, args=results, arg_spans=(call.span,) * len(results)))
    pairs = [part for pair in zip(conditions, values.args[:-1], strict=True) for part in pair]
    return replace(values, op=CASE, args=(*pairs, values.args[-1]))


@builder("if", "iff")
def if_(call: Call) -> Expr:
    call.need_count(3)
    return case(call)


def coalesce(call: Call) -> Expr:
    value = _hull(call)
    return replace(value, op=COALESCE, nullable=all(arg.nullable for arg in value.args))


@builder("nullif")
def nullif(call: Call) -> Expr:
    call.need_count(2)
    left, right = _comparable(call)
    return replace(left, op=NULLIF, args=(left, right), payload=None, nullable=True)


def _hull(call: Call) -> Expr:
    """One of the arguments, unknown which: at the common type, with the smallest range that holds them all."""
    args = unify(call, call.args)
    type = args[0].type
    holding = [arg for arg, given in zip(args, call.args, strict=True) if given.type.kind is not Kind.NULL]
    lo = min(arg.lo for arg in holding if arg.lo is not None) if type.has_range else None
    hi = max(arg.hi for arg in holding if arg.hi is not None) if type.has_range else None
    nullable = any(arg.nullable for arg in args)
    return Expr("hull", type, args, nullable=nullable, lo=lo, hi=hi, length=max(arg.length for arg in args))


def _comparable(call: Call) -> tuple[Expr, ...]:
    """The arguments at one type; a text literal beside dates or timestamps is read as one, as SQL has it."""
    kinds = {arg.type.kind for arg in call.args}
    if Kind.TEXT in kinds and kinds & {Kind.DATE, Kind.TIMESTAMP}:
        args = tuple(_as_moment(call, index) for index in range(len(call.args)))
        return unify(replace(call, args=args), args)
    if common_type(call, call.args).kind is Kind.NULL:
        return call.args
    return unify(call, call.args)


def _as_moment(call: Call, index: int) -> Expr:
    arg = call.args[index]
    if arg.type.kind is not Kind.TEXT:
        return arg
    if not arg.is_literal:
        raise call.refuse("F-121", f"{call.name} compares text with a date.", arg=index)
    return moment_literal(call, str(arg.payload), index)


def moment_literal(call: Call, text: str, index: int) -> Expr:
    """DATE or TIMESTAMP from an ISO literal; the year must lie in 1 to 9999."""
    try:
        if len(text.strip()) <= 10:
            return literal(dt.date.fromisoformat(text.strip()))
        value = dt.datetime.fromisoformat(text.strip())
    except ValueError:
        raise call.refuse(
            "F-132",
            "This text is not a date or a timestamp.",
            hint="Write '2024-01-31' or '2024-01-31 12:00:00'.",
            arg=index,
        ) from None
    if value.tzinfo is not None:
        raise call.refuse(
            "F-132", "A timestamp with an offset is not supported here.", hint="Write it in UTC.", arg=index
        )
    return literal(value)
