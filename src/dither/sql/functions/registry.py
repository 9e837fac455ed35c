"""The closed list of scalar functions: how each is typed, bounded, and printed.

Flow: `bind` looks a function up by its SQL name and lets its builder make the typed expression; `engines.emit` prints
an expression by its operation's template. What is in neither list cannot reach an engine.

No operation may raise, or grow without limit, on any row: guards are part of what a builder returns. Templates that
name an argument twice are kept to leaves (columns, literals), because text doubles with every nesting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dither.errors import QueryRefused, Span
from dither.sql.expressions import Expr
from dither.sql.types import Kind

__all__ = ["BUILDERS", "TEMPLATES", "Builder", "Call", "builder", "template"]

LARGEST_TEXT = 1_000_000
STORED_TEXT = 4096
"""What a stored text counts as when lengths are added up: a text may grow to about 240 stored texts."""


@dataclass(frozen=True)
class Call:
    """One use of a function in a question: its name as written, its typed arguments, and where they stand."""

    name: str
    args: tuple[Expr, ...]
    span: Span | None
    arg_spans: tuple[Span | None, ...]

    def refuse(self, code: str, message: str, *, hint: str | None = None, arg: int | None = None) -> QueryRefused:
        return QueryRefused(message, code=code, span=self.span if arg is None else self.arg_spans[arg], hint=hint)

    def need_count(self, least: int, most: int | None = None) -> None:
        most = least if most is None else most
        if not least <= len(self.args) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise self.refuse("F-110", f"{self.name} takes {wanted} arguments; found {len(self.args)}.")

    def need_kind(self, index: int, *kinds: Kind) -> Expr:
        """The argument, when it is of one of these kinds (or a bare NULL); refused otherwise."""
        arg = self.args[index]
        if arg.type.kind not in kinds and arg.type.kind is not Kind.NULL:
            wanted = " or ".join(kind.value for kind in kinds)
            raise self.refuse(
                "F-120",
                f"{self.name} needs {wanted} here; found {arg.type}.",
                hint="Dither never converts silently: write CAST(... AS ...) where it is meant.",
                arg=index,
            )
        return arg

    def need_constant_text(self, index: int) -> str:
        arg = self.args[index]
        if not arg.is_literal or not isinstance(arg.payload, str):
            raise self.refuse(
                "F-130", f"{self.name} needs a constant text here, known before any row is read.", arg=index
            )
        return arg.payload

    def need_constant_integer(self, index: int, lo: int, hi: int) -> int:
        arg = self.args[index]
        value = arg.payload
        if not arg.is_literal or not isinstance(value, int) or isinstance(value, bool) or not lo <= value <= hi:
            raise self.refuse("F-131", f"{self.name} needs a constant integer from {lo} to {hi} here.", arg=index)
        return value


Builder = Callable[[Call], Expr]

BUILDERS: dict[str, Builder] = {}
"""SQL name, in lower case -> builder."""

TEMPLATES: dict[str, str] = {}
"""Operation -> DuckDB text, with {0}, {1}, ... for arguments; `{*}` is all of them, separated by commas."""


def builder(*names: str) -> Callable[[Builder], Builder]:
    """Register a builder under its SQL names."""

    def register(build: Builder) -> Builder:
        for name in names:
            BUILDERS[name] = build
        return build

    return register


def template(op: str, duckdb: str) -> str:
    """Register how an operation is printed; returns the operation's name."""
    TEMPLATES[op] = duckdb
    return op
