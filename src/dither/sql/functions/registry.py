"""The closed list of scalar functions: how each is typed, bounded, and printed.

Flow: `bind` looks a function up by its SQL name and lets its builder make the typed expression; `printing` prints an
expression by its operation's template. What is in neither list cannot reach an engine. A `Function` also carries the
example that docs/reference/functions.md is made from, and says when it gives NULL on arguments that are not.

No operation may raise, or grow without limit, on any row: guards are part of what a builder returns. Templates that
name an argument twice are kept to leaves (columns, literals), because text doubles with every nesting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dither.errors import GuaranteeError, QueryRefused, Span
from dither.sql.expressions import Expr, typed_null
from dither.sql.types import Kind, Type

__all__ = [
    "BUILDERS",
    "CHOICES",
    "FUNCTIONS",
    "LARGEST_TEXT",
    "TEMPLATES",
    "Builder",
    "Call",
    "Function",
    "builder",
    "finish_text",
    "template",
]

LARGEST_TEXT = 1_000_000
LONGEST_CONSTANT = 1000
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

    def with_args(self, *args: Expr) -> Call:
        """The same call with other arguments; those beyond the written ones are blamed on the whole."""
        spans = (*self.arg_spans, *(self.span for _ in args[len(self.arg_spans) :]))
        return replace(self, args=args, arg_spans=spans[: len(args)])

    def need_count(self, least: int, most: int | None = None) -> None:
        most = least if most is None else most
        if not least <= len(self.args) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise self.refuse("F-110", f"{self.name} takes {wanted} arguments; found {len(self.args)}.")

    def need_kind(self, index: int, *kinds: Kind) -> Expr:
        """The argument, when it is of one of these kinds; a bare NULL is one of the first; refused otherwise."""
        arg = self.args[index]
        if arg.type.kind is Kind.NULL:
            return typed_null(Type(kinds[0]))
        if arg.type.kind not in kinds:
            wanted = " or ".join(kind.value for kind in kinds)
            raise self.refuse(
                "F-120",
                f"{self.name} needs {wanted} here; found {arg.type}.",
                hint="Dither never converts silently: write CAST(... AS ...) where it is meant.",
                arg=index,
            )
        return arg

    def need_constant_text(self, index: int, longest: int = LONGEST_CONSTANT) -> str:
        arg = self.args[index]
        if not arg.is_literal or not isinstance(arg.payload, str):
            raise self.refuse(
                "F-130", f"{self.name} needs a constant text here, known before any row is read.", arg=index
            )
        if len(arg.payload) > longest:
            raise self.refuse("F-133", f"A text in this place may have at most {longest:,} characters.", arg=index)
        return arg.payload

    def need_constant_integer(self, index: int, lo: int, hi: int) -> int:
        arg = self.args[index]
        value = arg.payload
        if not arg.is_literal or not isinstance(value, int) or isinstance(value, bool) or not lo <= value <= hi:
            raise self.refuse("F-131", f"{self.name} needs a constant integer from {lo} to {hi} here.", arg=index)
        return value


Builder = Callable[[Call], Expr]


@dataclass(frozen=True)
class Function:
    """One row of the list."""

    names: tuple[str, ...]
    """SQL names in lower case, the usual one first."""
    build: Builder
    example: str
    """A use of it over the row that the reference page shows examples on."""
    null_when: str
    """When it is NULL although no argument is: its guard, in words; empty where that cannot be."""
    section: str


FUNCTIONS: dict[str, Function] = {}
"""First SQL name -> the function."""

BUILDERS: dict[str, Builder] = {}
"""SQL name, in lower case -> builder."""

TEMPLATES: dict[str, str] = {}
"""Operation -> DuckDB text, with {0}, {1}, ... for arguments; `{*}` is all of them, separated by commas."""

CHOICES: dict[str, tuple[str, ...]] = {}
"""Operation -> all the texts it can give, where they are few: then they list the groups of GROUP BY."""


def builder(*names: str, example: str, null_when: str = "", section: str) -> Callable[[Builder], Builder]:
    """Register a builder under its SQL names."""

    def register(build: Builder) -> Builder:
        taken = BUILDERS.keys() & set(names)
        if taken:
            raise GuaranteeError(f"The function names {sorted(taken)} are registered twice.")
        FUNCTIONS[names[0]] = Function(names, build, example, null_when, section)
        for name in names:
            BUILDERS[name] = build
        return build

    return register


def template(op: str, duckdb: str, *, choices: tuple[str, ...] = ()) -> str:
    """Register how an operation is printed; returns the operation's name."""
    if op in TEMPLATES:
        raise GuaranteeError(f"The operation {op} is registered twice.")
    TEMPLATES[op] = duckdb
    if choices:
        CHOICES[op] = choices
    return op


def finish_text(call: Call, expr: Expr, length: int) -> Expr:
    """The text with its greatest length, refused when that could pass the limit."""
    if length > LARGEST_TEXT:
        raise call.refuse(
            "F-143",
            f"{call.name} could build a text of more than {LARGEST_TEXT:,} characters.",
            hint="Join fewer texts, or take SUBSTRING first.",
        )
    return replace(expr, length=length)
