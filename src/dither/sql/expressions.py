"""A typed scalar expression over the columns of one relation: immutable, with what is known of its values.

Flow: `bind` builds these from the parsed tree through `functions`; plan nodes hold them; `engines.emit` prints them;
`plan.keys` evaluates them over public domains.

One class serves all: `op` names a row of the function table ("column" and "literal" are the leaves), so walking,
substituting and printing need no case per kind.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dither.catalog.model import Column
from dither.sql.types import (
    BOOLEAN,
    DATE,
    INTEGER,
    NULL,
    TEXT,
    TIMESTAMP,
    Bound,
    Kind,
    Type,
    days_of,
    decimal,
    microseconds_of,
)

__all__ = [
    "Expr",
    "Payload",
    "and_all",
    "columns_of",
    "conjuncts",
    "literal",
    "make_column",
    "substitute",
    "typed_null",
    "walk",
]

Payload = None | bool | int | float | str | Fraction | dt.date | dt.datetime | Type | Column | tuple["Payload", ...]


@dataclass(frozen=True)
class Expr:
    op: str
    type: Type
    args: tuple[Expr, ...] = ()
    payload: Payload = None
    """A literal's value, a column's id, or the constant part of a function (a pattern, a field name)."""
    nullable: bool = True
    lo: Bound | None = None
    hi: Bound | None = None
    """Where the type has a range, every value lies in [lo, hi], as enforced by the SQL we emit."""
    length: int = 0
    """Text: at most this many characters, counting a stored text as STORED_TEXT."""

    def __repr__(self) -> str:
        match self.op:
            case "column":
                return str(self.payload)
            case "literal":
                return repr(self.payload)
            case _:
                tail = [] if self.payload is None else [repr(self.payload)]
                return f"{self.op}({', '.join([*map(repr, self.args), *tail])})"

    @property
    def is_column(self) -> bool:
        return self.op == "column"

    @property
    def is_literal(self) -> bool:
        return self.op == "literal"


def make_column(
    identifier: str,
    type: Type,
    *,
    nullable: bool,
    lo: Bound | None = None,
    hi: Bound | None = None,
    length: int = 0,
) -> Expr:
    return Expr("column", type, payload=identifier, nullable=nullable, lo=lo, hi=hi, length=length)


def literal(value: bool | int | Fraction | float | str | dt.date | dt.datetime | None, *, scale: int = 0) -> Expr:
    """A constant with its exact range. Fractions are DECIMAL literals of the given scale."""
    from dither.sql.types import DOUBLE

    match value:
        case None:
            return Expr("literal", NULL)
        case bool():
            return Expr("literal", BOOLEAN, payload=value, nullable=False)
        case int():
            return Expr("literal", INTEGER, payload=value, nullable=False, lo=value, hi=value)
        case Fraction():
            return Expr("literal", decimal(scale), payload=value, nullable=False, lo=value, hi=value)
        case float():
            return Expr("literal", DOUBLE, payload=value, nullable=False, lo=value, hi=value)
        case str():
            return Expr("literal", TEXT, payload=value, nullable=False, length=len(value))
        case dt.datetime():
            at = microseconds_of(value)
            return Expr("literal", TIMESTAMP, payload=value, nullable=False, lo=at, hi=at)
        case dt.date():
            day = days_of(value)
            return Expr("literal", DATE, payload=value, nullable=False, lo=day, hi=day)


def typed_null(type: Type) -> Expr:
    """NULL of a type. Its range is a single point, so that it widens nothing it is combined with by much."""
    zero: Bound = Fraction(0) if type.kind is Kind.DECIMAL else 0.0 if type.kind is Kind.DOUBLE else 0
    return Expr("typed_null", type, lo=zero if type.has_range else None, hi=zero if type.has_range else None)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all below it, parents first."""
    yield expr
    for arg in expr.args:
        yield from walk(arg)


def columns_of(*exprs: Expr) -> frozenset[str]:
    """Ids of the columns these expressions read."""
    return frozenset(str(node.payload) for expr in exprs for node in walk(expr) if node.op == "column")


def substitute(expr: Expr, replace_column: Callable[[str], Expr]) -> Expr:
    """The expression with each column replaced by what `replace_column` gives for its id."""
    if expr.op == "column":
        return replace_column(str(expr.payload))
    if not expr.args:
        return expr
    return replace(expr, args=tuple(substitute(arg, replace_column) for arg in expr.args))


def conjuncts(expr: Expr | None) -> tuple[Expr, ...]:
    """The parts of a top-level AND."""
    if expr is None:
        return ()
    if expr.op == "and":
        return tuple(part for arg in expr.args for part in conjuncts(arg))
    return (expr,)


def and_all(parts: Sequence[Expr]) -> Expr | None:
    """All of them joined by AND; None of none."""
    if not parts:
        return None
    result = parts[0]
    for part in parts[1:]:
        result = Expr("and", BOOLEAN, (result, part), nullable=result.nullable or part.nullable)
    return result
