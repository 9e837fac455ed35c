"""Patterns: LIKE, GLOB and regular expressions. Each is a constant, checked before anything is charged.

Regular expressions are of a subset that the engine matches in time linear in the text, whatever it holds: `automata`
says which. No back-references, no look-around, no flags within.
"""

from __future__ import annotations

from functools import partial

from dither.sql import embedded
from dither.sql.expressions import Expr, literal
from dither.sql.functions.automata import read_pattern
from dither.sql.functions.registry import Call, builder, finish_text, template
from dither.sql.types import BOOLEAN, TEXT, Kind

SECTION = "Patterns"
patterns = partial(builder, section=SECTION)

LIKE = template("like", "({0} LIKE {1} ESCAPE {2})")
ILIKE = template("ilike", "({0} ILIKE {1} ESCAPE {2})")
GLOB = template("glob", "({0} GLOB {1})")
MATCHES = template("regexp_matches", "regexp_matches({0}, {1}, {2})")
FULL_MATCH = template("regexp_full_match", "regexp_full_match({0}, {1}, {2})")
EXTRACT = template("regexp_extract", "regexp_extract({0}, {1}, CAST({2} AS INTEGER), {3})")
REPLACE = template("regexp_replace", "regexp_replace({0}, {1}, {2}, {3})")
LONGEST_PATTERN = 200
MOST_GROUPS = 9
LONGEST_REPLACEMENT = 20


@patterns("~~", example="region LIKE 'North%'")
def like(call: Call) -> Expr:
    return _like(call, LIKE)


@patterns("~~*", example="region ILIKE 'north%'")
def ilike(call: Call) -> Expr:
    return _like(call, ILIKE)


@patterns("!~~", example="region NOT LIKE 'North%'")
def not_like(call: Call) -> Expr:
    return _negated(_like(call, LIKE))


@patterns("!~~*", example="region NOT ILIKE 'north%'")
def not_ilike(call: Call) -> Expr:
    return _negated(_like(call, ILIKE))


@patterns("like_escape", example=r"region LIKE '10\%%' ESCAPE '\'")
def like_escape(call: Call) -> Expr:
    return _like(call, LIKE)


@patterns("ilike_escape", example=r"region ILIKE '10\%%' ESCAPE '\'")
def ilike_escape(call: Call) -> Expr:
    return _like(call, ILIKE)


@patterns("not_like_escape", example=r"region NOT LIKE '10\%%' ESCAPE '\'")
def not_like_escape(call: Call) -> Expr:
    return _negated(_like(call, LIKE))


@patterns("not_ilike_escape", example=r"region NOT ILIKE '10\%%' ESCAPE '\'")
def not_ilike_escape(call: Call) -> Expr:
    return _negated(_like(call, ILIKE))


@patterns("~~~", example="region GLOB 'N*'")
def glob(call: Call) -> Expr:
    call.need_count(2)
    text = call.need_kind(0, Kind.TEXT)
    return Expr(GLOB, BOOLEAN, (text, literal(call.need_constant_text(1))), nullable=text.nullable)


@patterns("regexp_matches", example="regexp_matches(region, '^N[a-z]+')")
def regexp_matches(call: Call) -> Expr:
    """Is the pattern somewhere in the text? Options: i, c, s."""
    return _matching(call, MATCHES)


@patterns("regexp_full_match", example="regexp_full_match(region, 'N[a-z]+')")
def regexp_full_match(call: Call) -> Expr:
    """Is the text, whole, of the pattern? SIMILAR TO is this too in DuckDB: its pattern is a regular expression."""
    return _matching(call, FULL_MATCH)


@patterns("regexp_extract", example="regexp_extract(region, '([0-9]+)', 1)")
def regexp_extract(call: Call) -> Expr:
    """The first match, or a group of it; empty where there is none."""
    call.need_count(2, 4)
    text = call.need_kind(0, Kind.TEXT)
    options = _options(call, 3, "ics")
    pattern, groups = _regular(call, 1, options)
    group = call.need_constant_integer(2, 0, MOST_GROUPS) if len(call.args) > 2 else 0
    if group > groups:
        raise call.refuse("F-131", f"The pattern has no group {group}.", arg=2)
    args = (text, literal(pattern), literal(group), literal(options))
    return Expr(EXTRACT, TEXT, args, nullable=text.nullable, length=text.length)


@patterns("regexp_replace", example="regexp_replace(region, '[0-9]+', '#', 'g')")
def regexp_replace(call: Call) -> Expr:
    """The first match replaced, or with the option g all."""
    call.need_count(3, 4)
    text = call.need_kind(0, Kind.TEXT)
    options = _options(call, 3, "gics")
    pattern, _ = _regular(call, 1, options)
    replacement = call.need_constant_text(2, LONGEST_REPLACEMENT)
    if "\\" in replacement:
        raise call.refuse("F-139", "A replacement is plain text here: without \\.", arg=2)
    args = (text, literal(pattern), literal(replacement), literal(options))
    # A pattern that matches nothing at all matches between any two characters.
    longest = text.length + (text.length + 1) * len(replacement)
    return finish_text(call, Expr(REPLACE, TEXT, args, nullable=text.nullable), longest)


def _like(call: Call, op: str) -> Expr:
    call.need_count(2, 3)
    text = call.need_kind(0, Kind.TEXT)
    pattern = call.need_constant_text(1)
    escape = call.need_constant_text(2) if len(call.args) == 3 else ""
    if len(escape) > 1 or (escape and _dangling(pattern, escape)):
        raise call.refuse("F-134", "ESCAPE takes one character, and it must not end the pattern.", arg=1)
    return Expr(op, BOOLEAN, (text, literal(pattern), literal(escape)), nullable=text.nullable)


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


def _matching(call: Call, op: str) -> Expr:
    call.need_count(2, 3)
    text = call.need_kind(0, Kind.TEXT)
    options = _options(call, 2, "ics")
    pattern, _ = _regular(call, 1, options)
    args = (text, literal(pattern), literal(options))
    return Expr(op, BOOLEAN, args, nullable=text.nullable)


def _options(call: Call, index: int, allowed: str) -> str:
    options = call.need_constant_text(index, 8) if len(call.args) > index else ""
    if not set(options) <= set(allowed):
        raise call.refuse("F-139", f"Dither knows the options {', '.join(allowed)} of patterns.", arg=index)
    return options


def _regular(call: Call, index: int, options: str) -> tuple[str, int]:
    """The constant pattern and how many groups it has, when its automaton is small and the engine takes it."""
    written = call.need_constant_text(index, LONGEST_PATTERN)
    pattern = read_pattern(written, fold_case="i" in options)
    if pattern is None or embedded.evaluate("regexp_matches('', ?)", written) is None:
        raise call.refuse(
            "F-139",
            "This is no regular expression of the kind Dither knows, or matching it could take long on some texts.",
            hint="Use characters, classes, groups, alternatives, * + ? and short counts; begin it with ^ where it can.",
            arg=index,
        )
    return written, pattern.groups
