"""Offers that stand in a question's own text: in comments, and in BigQuery's clause.

    /* epsilon=0.5 */   -- within n=50, total=2000   /* within=50; at_most=0.5 */
    SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5, delta=1e-9) ...

Flow: a session reads them before it parses; `session.offers` sets them beside the arguments of the call. Comments and
the clause are found by DuckDB's own tokens, so that none is looked for inside a text or a quoted name. The clause is
blanked out, character by character: every position in an error is one of the text as it was typed.
What begins like an offer and cannot be read as one is refused: an offer that is silently not read would be another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dither.errors import QueryRefused, Span
from dither.sql import embedded
from dither.sql.parse import MAX_TEXT_BYTES

__all__ = ["StatedInText", "offers_in"]

_BEGINS = re.compile(r"(epsilon|rho|within|at_most)\b|delta\s*[=:]", re.IGNORECASE)
# Case is ignored in ASCII alone where an offer is read, and in all letters where one may begin: what only looks like
# the word (`epſilon`) begins an offer that cannot be read.
_ASCII_CASE = re.IGNORECASE | re.ASCII
_ITEM = re.compile(r"(?P<key>epsilon|rho|at_most|delta)\s*(?:=|\s)\s*(?P<value>[^\s=]+)", _ASCII_CASE)
_WITHIN = re.compile(r"within\s*(?:=|\s)\s*(?P<value>.+)", _ASCII_CASE | re.DOTALL)
_OPTION = re.compile(r"\s*(?P<key>\w+)\s*=(?!=)\s*(?P<value>.+?)\s*", re.DOTALL)
_NUMBER = re.compile(r"\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?", re.ASCII)
_COMMENT_HINT = (
    "Write /* epsilon=0.5 */, -- within 50, -- within n=50, total=2000 or /* within=50; at_most=0.5 */; begin other "
    "comments with another word."
)
_WHERE_HINT = "Write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5) ... once, at the outermost SELECT."

_MEANS_ELSE = {
    "max_groups_contributed": "Here the catalog bounds rows: at most max_rows_per_unit rows of one unit count in a "
    "table, and so they reach at most as many groups. Leave the option out.",
    "max_rows_contributed": "Here it is the catalog that bounds rows, by max_rows_per_unit of each table. Leave the "
    "option out.",
    "privacy_unit_column": "Whose rows belong together is declared in the catalog. Leave the option out.",
    "min_privacy_units_per_group": "Here the catalog says it, by min_units_per_key. Leave the option out.",
    "group_selection_strategy": "Groups that the catalog lists are public and all appear; others are selected with "
    "noise. Leave the option out.",
}


@dataclass(frozen=True)
class StatedInText:
    """One part of an offer: `name` is epsilon, rho, delta, within or at_most; `value` as written."""

    name: str
    value: str
    span: Span


@dataclass(frozen=True)
class _Token:
    start: int
    """In characters."""
    kind: str
    text: str
    """Up to the next token, without the space between."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def word(self) -> str:
        """Its first word, in capitals: a token's text may run on to the next one's."""
        found = re.match(r"\w+", self.text)
        return found.group().upper() if found else self.text[:1]


def offers_in(text: str) -> tuple[str, tuple[StatedInText, ...]]:
    """The text to parse, equally long, and what it offers, in order. Raises QueryRefused."""
    if not isinstance(text, str) or not _mentions(text):
        return text, ()
    tokens = _tokens(text)
    stated = [part for token in tokens if token.kind == "comment" for part in _of_comment(token, text)]
    code = [token for token in tokens if token.kind != "comment"]
    clauses = [i for i in range(len(code) - 2) if _is_clause(code, i)]
    if not clauses:
        return text, tuple(stated)
    start, end, options = _clause(code, clauses, text)
    blank = "".join("\n" if c == "\n" else " " for c in text[start:end])
    return text[:start] + blank + text[end:], (*options, *stated)


def _mentions(text: str) -> bool:
    """Could there be an offer at all? What the parser will refuse anyway is left to it."""
    if len(text.encode(errors="replace")) > MAX_TEXT_BYTES or "\x00" in text:
        return False
    if any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        return False
    return "--" in text or "/*" in text or "differential_privacy" in text.lower()


def _tokens(text: str) -> list[_Token]:
    found = embedded.tokens_of(text)
    raw = text.encode()
    starts = [start for start, _ in found] + [len(raw)]
    tokens, place, before = [], 0, 0
    for (start, kind), end in zip(found, starts[1:], strict=True):
        place += len(raw[before:start].decode())
        before = start
        tokens.append(_Token(place, kind, raw[start:end].decode().rstrip()))
    return tokens


def _of_comment(token: _Token, text: str) -> Iterator[StatedInText]:
    says = token.text[2:].strip() if token.text.startswith("--") else token.text[2:-2].strip()
    if not _BEGINS.match(says):
        return
    span = token.start, len(token.text)
    for piece in says.split(";"):
        within = _WITHIN.fullmatch(piece.strip())
        if within:
            yield StatedInText("within", within["value"], span)
            continue
        for part in piece.split(","):
            item = _ITEM.fullmatch(part.strip())
            if item is None:
                raise QueryRefused(
                    "This comment begins like an offer and cannot be read as one.",
                    code="P-110",
                    span=span,
                    hint=_COMMENT_HINT,
                ).located(text)
            yield StatedInText(item["key"].lower(), item["value"], span)


def _is_clause(code: Sequence[_Token], at: int) -> bool:
    return [token.word for token in code[at : at + 3]] == ["SELECT", "WITH", "DIFFERENTIAL_PRIVACY"]


def _clause(code: Sequence[_Token], places: Sequence[int], text: str) -> tuple[int, int, list[StatedInText]]:
    """Where the clause begins and ends, and its options. It speaks for the whole question, so it stands at the one
    SELECT that is in no parentheses."""
    outermost = [i for i in _outside(code) if code[i].word == "SELECT" and code[i].kind == "keyword"]
    if list(places) != outermost:
        stray = next((i for i in places if i not in outermost), places[-1])
        raise QueryRefused(
            "WITH DIFFERENTIAL_PRIVACY is not at the question's one outermost SELECT.",
            code="P-111",
            span=(code[stray + 1].start, code[stray + 2].end - code[stray + 1].start),
            hint=_WHERE_HINT,
        ).located(text)
    first = places[0] + 1
    start, end = code[first].start, code[first + 1].start + len("DIFFERENTIAL_PRIVACY")
    if first + 3 >= len(code) or code[first + 2].word != "OPTIONS" or code[first + 3].word != "(":
        return start, end, []
    close = _closing(code, first + 3, text)
    inner = text[code[first + 3].start + 1 : code[close].start]
    return start, code[close].start + 1, list(_options(code[first + 4 : close], inner, code[close].start, text))


def _outside(code: Sequence[_Token]) -> Iterator[int]:
    """Positions of tokens in no parentheses."""
    depth = 0
    for i, token in enumerate(code):
        if token.kind == "operator":
            depth += token.word == "("
            depth -= token.word == ")"
        if depth == 0:
            yield i


def _closing(code: Sequence[_Token], opening: int, text: str) -> int:
    depth = 0
    for i in range(opening, len(code)):
        if code[i].kind == "operator":
            depth += code[i].word == "("
            depth -= code[i].word == ")"
        if depth == 0:
            return i
    raise QueryRefused(
        "OPTIONS( is not closed.", code="P-112", span=(code[opening].start, 1), hint=_WHERE_HINT
    ).located(text)


def _options(inside: Sequence[_Token], inner: str, end: int, text: str) -> Iterator[StatedInText]:
    """`name = value` between commas."""
    if not inner.strip():
        return
    commas = [token.start for token in inside if token.kind == "operator" and token.word == ","]
    starts = [end - len(inner), *(comma + 1 for comma in commas)]
    for start, stop in zip(starts, [*commas, end], strict=True):
        written = text[start:stop]
        span = start + len(written) - len(written.lstrip()), max(1, len(written.strip()))
        option = _OPTION.fullmatch(written)
        name = option["key"].lower() if option else ""
        if option is None:
            raise QueryRefused("An option is written name = value.", code="P-112", span=span, hint=_WHERE_HINT).located(
                text
            )
        if name not in ("epsilon", "delta"):
            hint = _MEANS_ELSE.get(name, "Dither reads the options epsilon and delta. Leave this one out.")
            raise QueryRefused(
                f"The option {name} means something that Dither does not do here.", code="P-113", span=span, hint=hint
            ).located(text)
        if not _NUMBER.fullmatch(option["value"]):
            raise QueryRefused(
                f"The option {name} must be a plain number.", code="P-112", span=span, hint=_WHERE_HINT
            ).located(text)
        yield StatedInText(name, option["value"], span)
