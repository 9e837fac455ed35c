"""Text: patterns, case, parts, joining. Lengths are added up so that no text can grow beyond 1,000,000 characters."""

from __future__ import annotations

from dither.sql.expressions import Expr
from dither.sql.functions.registry import LARGEST_TEXT, Call, builder, template
from dither.sql.types import BOOLEAN, INTEGER, TEXT, Kind

LIKE = template("like", "({0} LIKE {1} ESCAPE {2})")
ILIKE = template("ilike", "({0} ILIKE {1} ESCAPE {2})")
CONTAINS = template("contains", "contains({0}, {1})")
STARTS_WITH = template("starts_with", "starts_with({0}, {1})")
ENDS_WITH = template("ends_with", "suffix({0}, {1})")
LOWER = template("lower", "lower({0})")
UPPER = template("upper", "upper({0})")
LENGTH = template("length", "length({0})")
SUBSTRING = template("substring", "substring({0}, {1}, {2})")
TRIM = template("trim", "trim({0})")
LTRIM = template("ltrim", "ltrim({0})")
RTRIM = template("rtrim", "rtrim({0})")
JOIN = template("concat", "({0} || {1})")
CONCAT = template("concat_skipping_nulls", "concat({*})")
EMPTY_ESCAPE = ""


@builder("~~")
def like(call: Call) -> Expr:
    return _like(call, LIKE)


@builder("~~*")
def ilike(call: Call) -> Expr:
    return _like(call, ILIKE)


@builder("!~~")
def not_like(call: Call) -> Expr:
    return _negated(_like(call, LIKE))


@builder("!~~*")
def not_ilike(call: Call) -> Expr:
    return _negated(_like(call, ILIKE))


@builder("like_escape")
def like_escape(call: Call) -> Expr:
    return _like(call, LIKE)


@builder("ilike_escape")
def ilike_escape(call: Call) -> Expr:
    return _like(call, ILIKE)


@builder("contains")
def contains(call: Call) -> Expr:
    return _two_texts(call, CONTAINS)


@builder("starts_with", "prefix", "^@")
def starts_with(call: Call) -> Expr:
    return _two_texts(call, STARTS_WITH)


@builder("ends_with", "suffix")
def ends_with(call: Call) -> Expr:
    return _two_texts(call, ENDS_WITH)


@builder("lower", "lcase")
def lower(call: Call) -> Expr:
    return _same_length(call, LOWER, growth=3)


@builder("upper", "ucase")
def upper(call: Call) -> Expr:
    return _same_length(call, UPPER, growth=3)


@builder("trim")
def trim(call: Call) -> Expr:
    return _same_length(call, TRIM)


@builder("ltrim")
def ltrim(call: Call) -> Expr:
    return _same_length(call, LTRIM)


@builder("rtrim")
def rtrim(call: Call) -> Expr:
    return _same_length(call, RTRIM)


@builder("length", "len", "char_length", "character_length")
def length(call: Call) -> Expr:
    call.need_count(1)
    arg = call.need_kind(0, Kind.TEXT)
    return Expr(LENGTH, INTEGER, (arg,), nullable=arg.nullable, lo=0, hi=2**31)


@builder("substring", "substr")
def substring(call: Call) -> Expr:
    call.need_count(2, 3)
    text = call.need_kind(0, Kind.TEXT)
    start = call.need_constant_integer(1, -1_000_000, 1_000_000)
    size = call.need_constant_integer(2, 0, 1_000_000) if len(call.args) == 3 else 1_000_000
    bounds = tuple(
        Expr("literal", INTEGER, payload=value, nullable=False, lo=value, hi=value) for value in (start, size)
    )
    return Expr(SUBSTRING, TEXT, (text, *bounds), nullable=text.nullable, length=min(text.length, size))


@builder("||")
def join(call: Call) -> Expr:
    call.need_count(2)
    left, right = call.need_kind(0, Kind.TEXT), call.need_kind(1, Kind.TEXT)
    return _checked(call, Expr(JOIN, TEXT, (left, right), nullable=left.nullable or right.nullable), (left, right))


@builder("concat")
def concat(call: Call) -> Expr:
    call.need_count(1, 100)
    args = tuple(call.need_kind(index, Kind.TEXT) for index in range(len(call.args)))
    return _checked(call, Expr(CONCAT, TEXT, args, nullable=False), args)


def _like(call: Call, op: str) -> Expr:
    """The pattern is a constant: it is known, and checked, before anything is charged."""
    call.need_count(2, 3)
    text = call.need_kind(0, Kind.TEXT)
    pattern = call.need_constant_text(1)
    escape = call.need_constant_text(2) if len(call.args) == 3 else EMPTY_ESCAPE
    if len(pattern) > 1000:
        raise call.refuse("F-133", "A pattern may have at most 1,000 characters.", arg=1)
    if len(escape) > 1 or (escape and _dangling(pattern, escape)):
        raise call.refuse("F-134", "ESCAPE takes one character, and it must not end the pattern.", arg=1)
    constants = tuple(
        Expr("literal", TEXT, payload=value, nullable=False, length=len(value)) for value in (pattern, escape)
    )
    return Expr(op, BOOLEAN, (text, *constants), nullable=text.nullable)


def _dangling(pattern: str, escape: str) -> bool:
    """Does the pattern end in an escape character that escapes nothing? (The engine would raise.)"""
    index = 0
    while index < len(pattern):
        if pattern[index] == escape:
            index += 1
            if index == len(pattern):
                return True
        index += 1
    return False


def _negated(expr: Expr) -> Expr:
    return Expr("not", BOOLEAN, (expr,), nullable=expr.nullable)


def _two_texts(call: Call, op: str) -> Expr:
    call.need_count(2)
    left, right = call.need_kind(0, Kind.TEXT), call.need_kind(1, Kind.TEXT)
    return Expr(op, BOOLEAN, (left, right), nullable=left.nullable or right.nullable)


def _same_length(call: Call, op: str, growth: int = 1) -> Expr:
    call.need_count(1)
    arg = call.need_kind(0, Kind.TEXT)
    return _checked(call, Expr(op, TEXT, (arg,), nullable=arg.nullable), (arg,) * growth)


def _checked(call: Call, expr: Expr, parts: tuple[Expr, ...]) -> Expr:
    """The text with its greatest length, refused when that could pass the limit."""
    total = sum(part.length for part in parts)
    if total > LARGEST_TEXT:
        raise call.refuse(
            "F-143",
            f"{call.name} could build a text of more than {LARGEST_TEXT:,} characters.",
            hint="Join fewer texts, or take SUBSTRING first.",
        )
    return Expr(expr.op, TEXT, expr.args, nullable=expr.nullable, length=total)
