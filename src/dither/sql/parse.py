"""A question's text, parsed by DuckDB, as a tree that must be read completely.

Flow: text in; a `Tree` of exactly one SELECT out. Lowering takes the fields it understands; `done` refuses the node
if anything else in it was set. So a construct nobody thought of is refused, never dropped.
"""

from __future__ import annotations

from typing import Any

from dither.errors import QueryRefused, Span
from dither.sql import embedded

__all__ = ["MAX_TEXT_BYTES", "Tree", "parse"]

MAX_TEXT_BYTES = 65_536

# Fields that say where a node stands or repeat what another says; they carry no meaning of their own.
_SILENT = frozenset(
    {"query_location", "query_location_length", "qualified_name", "is_operator", "is_legacy_function_call"}
)
_DEFAULTS: dict[str, Any] = {
    "aggregate_handling": "STANDARD_HANDLING",
    "materialized": "CTE_MATERIALIZE_DEFAULT",
    "nearest_count": 1,
    "nearest_order_type": "ASCENDING",
    "exclude_clause": "NO_OTHER",
    "start": "UNBOUNDED_PRECEDING",
    "end": "CURRENT_ROW_RANGE",
    "with_ordinality": "WITHOUT_ORDINALITY",
    "null_order": "ORDER_DEFAULT",
    "order_bys": {"type": "ORDER_MODIFIER", "orders": []},
    "cte_map": {"map": []},
    "comparison_type": "INVALID",
    "limit_type": "ROW_COUNT",
    "ref_type": "REGULAR",
}
_EMPTY: tuple[Any, ...] = (None, "", False, [], {}, 0)


class Tree:
    """One node of DuckDB's tree. `take` reads a field; `done` refuses the node if a field that is set was not read."""

    __slots__ = ("_left", "data", "text")

    def __init__(self, data: dict[str, Any], text: str) -> None:
        self.data = data
        self.text = text
        self._left = set(data) - _SILENT - {"class", "type", "alias"}

    @property
    def kind(self) -> str:
        """The class where there is one (FUNCTION, COLUMN_REF, ...), else the type (SELECT_NODE, JOIN, ...)."""
        return str(self.data.get("class") or self.data["type"])

    @property
    def type(self) -> str:
        return str(self.data["type"])

    @property
    def alias(self) -> str:
        return str(self.data.get("alias") or "")

    @property
    def span(self) -> Span | None:
        """(offset, length) in characters; the parser counts bytes."""
        start, length = self.data.get("query_location"), self.data.get("query_location_length")
        if not isinstance(start, int) or start >= 2**60:
            return None
        raw = self.text.encode()
        offset = len(raw[:start].decode(errors="ignore"))
        return offset, max(1, len(raw[start : start + (length or 1)].decode(errors="ignore")))

    @property
    def source(self) -> str:
        """The part of the question's text this node came from."""
        span = self.span
        return "" if span is None else self.text[span[0] : span[0] + span[1]]

    def take(self, field: str) -> Any:
        """A field's plain value (text, number, truth, list of texts)."""
        self._left.discard(field)
        return self.data.get(field)

    def child(self, field: str) -> Tree | None:
        value = self.take(field)
        return Tree(value, self.text) if isinstance(value, dict) and value else None

    def need_child(self, field: str) -> Tree:
        child = self.child(field)
        if child is None:
            raise self.refuse("P-130", f"Something is missing here ({field}).")
        return child

    def children(self, field: str) -> list[Tree]:
        return [Tree(value, self.text) for value in self.take(field) or []]

    def arguments(self) -> list[Tree]:
        """The arguments of a function; named ones are refused."""
        result = []
        for value in self.take("arguments") or []:
            if value.get("name"):
                raise self.refuse("F-111", "Arguments by name are not supported.", hint="Give them by position.")
            result.append(Tree(value["expression"], self.text))
        return result

    def done(self) -> None:
        """Refuse the node when a field holds something that nobody read."""
        for field in self._left:
            value = self.data[field]
            if value != _DEFAULTS.get(field) and value not in _EMPTY:
                raise self.refuse(
                    "P-120",
                    f"This uses `{field.replace('_', ' ')}`, which Dither does not support.",
                    hint="Write the question without it.",
                )

    def refuse(
        self, code: str, message: str, *, hint: str | None = None, owner_hint: str | None = None
    ) -> QueryRefused:
        return QueryRefused(message, code=code, span=self.span, hint=hint, owner_hint=owner_hint)


def parse(text: str) -> Tree:
    """The tree of the one SELECT in `text`. Refuses anything else with a position."""
    if not isinstance(text, str) or not text.strip():
        raise QueryRefused("The question is empty.", code="P-101", hint="Write one SELECT.")
    if len(text.encode(errors="replace")) > MAX_TEXT_BYTES:
        raise QueryRefused(f"The question is longer than {MAX_TEXT_BYTES:,} bytes.", code="P-102")
    if "\x00" in text or any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        raise QueryRefused("The question holds characters that are not text.", code="P-103")
    result = embedded.parse_json(text)
    if result.get("error"):
        raise _syntax_error(text, result)
    statements = result["statements"]
    if len(statements) != 1:
        second = text.find(";")
        raise QueryRefused(
            f"Ask one question at a time; found {len(statements)} statements.",
            code="P-104",
            span=(second, 1) if second >= 0 else None,
        ).located(text)
    statement = Tree(statements[0], text)
    node = statement.need_child("node")
    if statement.take("named_param_map"):
        raise QueryRefused(
            "Parameters are not supported.", code="P-105", hint="Write the value into the question."
        ).located(text)
    statement.done()
    return node


def _syntax_error(text: str, result: dict[str, Any]) -> QueryRefused:
    kind, message = str(result.get("error_type")), str(result.get("error_message"))
    span: Span | None = None
    if result.get("position") is not None:
        raw, start = text.encode(), int(result["position"])
        offset = len(raw[:start].decode(errors="ignore"))
        span = (offset, max(1, _word_length(text, offset)))
    if kind == "not implemented":
        first = text.split(None, 1)[0].upper()
        return QueryRefused(
            "Dither answers questions: one SELECT.",
            code="P-106",
            span=(len(text) - len(text.lstrip()), len(first)),
            hint=_OTHER_STATEMENTS.get(first, "Nothing is written, created or changed through it."),
        ).located(text)
    if "max" in message.lower() and "depth" in message.lower():
        return embedded.too_deep(span).located(text)
    # The parser has seen only the analyst's own text, so what it says of it may be shown.
    said = message.splitlines()[0][:200] if message else "syntax error"
    return QueryRefused(f"This is not SQL Dither can read: {said}.", code="P-100", span=span).located(text)


_OTHER_STATEMENTS = {
    "PIVOT": "Write a column for each value: SELECT COUNT(*) FILTER (WHERE region = 'R1') AS r1, ... FROM t.",
    "UNPIVOT": "Write UNION ALL of one SELECT for each row.",
    "EXPLAIN": "`dither explain` says what a question would do and cost, for nothing; in Python session.explain(...).",
    "CALL": "Ask of the catalog's tables.",
}


def _word_length(text: str, offset: int) -> int:
    end = offset
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    return end - offset
