"""Functions written as rows: what each argument is, the type, the range and length of the result, and the text.

Flow: modules beside this one call `define` once a function; functions whose type depends on their arguments' are
builders of their own. A row says everything about its function: what `define` is not told, the function does not do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dither.sql.expressions import Expr, literal
from dither.sql.functions.casts import as_double, finite, finite_where_needed, is_wide
from dither.sql.functions.ranges import Ends
from dither.sql.functions.registry import Builder, Call, builder, finish_text, template
from dither.sql.types import DOUBLE, Kind, Type

__all__ = [
    "Row",
    "chosen_text",
    "constant_integer",
    "constant_text",
    "define",
    "integer",
    "moment",
    "number",
    "text",
]

Take = Callable[[Call, int], Expr]
"""Checks the argument at an index and brings it to the type the template needs."""


@dataclass(frozen=True)
class Row:
    """What is said of one function besides its names."""

    takes: tuple[Take, ...]
    gives: Type
    template: str
    """DuckDB text; {0}, {1}, ... are the arguments as `takes` made them."""
    example: str
    section: str
    range: Callable[..., Ends] | None = None
    """(arguments) -> the ends of the result, where its type has any."""
    length: Callable[..., int] | None = None
    """(arguments) -> the most characters of a text result."""
    null_when: str = ""
    """The guard in words; empty where the result is NULL only when an argument is."""
    leaves: Callable[..., bool] | None = None
    """(arguments) -> may a double result be no number? Where it may, that is NULL."""
    never_null: bool = False
    defaults: tuple[Expr, ...] = ()
    """What stands for the last arguments where they are not written."""
    choices: tuple[str, ...] = ()


def define(*names: str, row: Row) -> Builder:
    """Register the function: its template under its first name, its builder under all."""
    op = template(names[0], row.template, choices=row.choices)

    @builder(*names, example=row.example, null_when=row.null_when, section=row.section)
    def build(call: Call) -> Expr:
        least = len(row.takes) - len(row.defaults)
        call.need_count(least, len(row.takes))
        missing = len(row.takes) - len(call.args)
        if missing:
            call = call.with_args(*call.args, *row.defaults[-missing:])
        args = tuple(take(call, index) for index, take in enumerate(row.takes))
        nullable = not row.never_null and any(arg.nullable for arg in args)
        lo, hi = row.range(*args) if row.range is not None else (None, None)
        if row.gives == DOUBLE:
            result = Expr(op, row.gives, args, nullable=nullable, lo=lo, hi=hi)
            return finite(result) if row.leaves is not None and row.leaves(*args) else finite_where_needed(result)
        result = Expr(op, row.gives, args, nullable=nullable or bool(row.null_when), lo=lo, hi=hi)
        return finish_text(call, result, row.length(*args)) if row.length is not None else result

    return build


def number(call: Call, index: int) -> Expr:
    """Any number, as a double."""
    return as_double(call.need_kind(index, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE))


def integer(call: Call, index: int) -> Expr:
    """An integer of at most 64 bits."""
    arg = call.need_kind(index, Kind.INTEGER)
    if is_wide(arg):
        raise call.refuse("F-144", f"{call.name} needs integers of at most 64 bits here.", arg=index)
    return arg


def text(call: Call, index: int) -> Expr:
    return call.need_kind(index, Kind.TEXT)


def moment(call: Call, index: int) -> Expr:
    return call.need_kind(index, Kind.DATE, Kind.TIMESTAMP)


def constant_text(longest: int = 1000) -> Take:
    return lambda call, index: literal(call.need_constant_text(index, longest))


def constant_integer(lo: int, hi: int) -> Take:
    return lambda call, index: literal(call.need_constant_integer(index, lo, hi))


def chosen_text(*allowed: str) -> Take:
    """A constant that is one of these, in any case."""

    def take(call: Call, index: int) -> Expr:
        given = call.need_constant_text(index).lower()
        if given not in allowed:
            raise call.refuse("F-135", f"{call.name} knows {', '.join(allowed)}; not this one.", arg=index)
        return literal(given)

    return take
