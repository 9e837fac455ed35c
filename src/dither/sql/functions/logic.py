"""Comparison, boolean logic, CASE, COALESCE, IN, BETWEEN, NULL tests. Three-valued, as in SQL."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from dither.sql.expressions import Expr, typed_null
from dither.sql.functions.casts import at_own_width, common_type, unify
from dither.sql.functions.intervals import microseconds
from dither.sql.functions.literals import read_as
from dither.sql.functions.registry import Call, builder, template
from dither.sql.types import BOOLEAN, Kind
from dither.sql.units import identity, same_units

SECTION = "Choices"
choices = partial(builder, section=SECTION)

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
    """Two units are the same or not, whatever the range of values that their columns are read in."""
    units = same_units(call.args) if symbol in ("=", "<>", "is distinct", "is not distinct") else None
    left, right = units or comparable(call)
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
    # There is a unit or there is none, be its value within the range that values are read in or not.
    (arg,) = call.args
    return Expr(IS_NOT_NULL if negated else IS_NULL, BOOLEAN, (identity(arg) or arg,), nullable=False)


def between(call: Call) -> Expr:
    args = comparable(call)
    return Expr(BETWEEN, BOOLEAN, args, nullable=any(arg.nullable for arg in args))


def membership(call: Call) -> Expr:
    """x IN (a, b, ...)."""
    args = comparable(call)
    return Expr(IN, BOOLEAN, args, nullable=any(arg.nullable for arg in args))


def case(call: Call) -> Expr:
    """Arguments: condition, result, condition, result, ..., and last the ELSE (a NULL where none was written)."""
    conditions, results = call.args[:-1:2], (*call.args[1:-1:2], call.args[-1])
    for index in range(0, len(call.args) - 1, 2):
        call.need_kind(index, Kind.BOOLEAN)
    values = _hull(replace(call, args=results, arg_spans=(call.span,) * len(results)))
    pairs = [part for pair in zip(conditions, values.args[:-1], strict=True) for part in pair]
    return replace(values, op=CASE, args=(*pairs, values.args[-1]))


@choices("if", "iff", "iif", example="if(age < 18, 'minor', 'adult')")
def if_(call: Call) -> Expr:
    call.need_count(3)
    return case(call)


@choices("coalesce", "nvl", example="coalesce(age, 0)")
def coalesce(call: Call) -> Expr:
    call.need_count(1, 100)
    value = _hull(call)
    return replace(value, op=COALESCE, nullable=all(arg.nullable for arg in value.args))


@choices("nullif", example="nullif(age, 0)", null_when="both are equal")
def nullif(call: Call) -> Expr:
    call.need_count(2)
    left, right = comparable(call)
    if left.type.kind is Kind.NULL or Kind.INTERVAL in {arg.type.kind for arg in call.args}:
        raise call.refuse("F-122", f"{call.name} has no type here that values are kept in.", hint="Write CAST(...).")
    first = call.args[0]
    if first.type != left.type and first.type.has_range:
        # Compared at another type, it keeps its own: NULLIF(age, 1.5) is a whole number.
        args = (Expr(COMPARE["="], BOOLEAN, (left, right)), typed_null(first.type), first)
        return replace(first, op=CASE, args=args, payload=None, nullable=True)
    result = replace(left, op=NULLIF, args=(left, right), payload=None, nullable=True)
    return at_own_width(result, left) if left.type.kind is Kind.INTEGER else result


def _hull(call: Call) -> Expr:
    """One of the arguments, unknown which: at the common type, with the smallest range that holds them all."""
    if Kind.INTERVAL in {arg.type.kind for arg in call.args}:
        raise call.refuse("F-138", f"{call.name} does not choose between spans of time.", hint="Choose between dates.")
    given = comparable(call)
    args = unify(call, given)
    type = args[0].type
    holding = [arg for arg, one in zip(args, given, strict=True) if one.type.kind is not Kind.NULL]
    lo = min(arg.lo for arg in holding if arg.lo is not None) if type.has_range else None
    hi = max(arg.hi for arg in holding if arg.hi is not None) if type.has_range else None
    nullable = any(arg.nullable for arg in args)
    return Expr("hull", type, args, nullable=nullable, lo=lo, hi=hi, length=max(arg.length for arg in args))


def comparable(call: Call) -> tuple[Expr, ...]:
    """The arguments at one type; a text literal beside dates or timestamps is read as one, as in DuckDB: as a timestamp
    beside a timestamp, else as a date. Spans of time are compared by their length."""
    kinds = {arg.type.kind for arg in call.args}
    if Kind.INTERVAL in kinds:
        given = [i for i, arg in enumerate(call.args) if arg.type.kind is not Kind.NULL]
        args = {i: microseconds(call, i) for i in given}
        call = replace(call, args=tuple(args.get(i, arg) for i, arg in enumerate(call.args)))
    elif Kind.TEXT in kinds and kinds & {Kind.DATE, Kind.TIMESTAMP}:
        kind = Kind.TIMESTAMP if Kind.TIMESTAMP in kinds else Kind.DATE
        call = replace(call, args=tuple(read_as(call, kind, index) for index in range(len(call.args))))
    if common_type(call, call.args).kind is Kind.NULL:
        return call.args
    return unify(call, call.args)
