"""Split a file of questions at its semicolons, with the comments that stand before each.

Flow: the planner reads a workload with it; each piece is then parsed by DuckDB like any question. Knows just enough of
SQL's words to tell a semicolon from one inside a text, a quoted name or a comment; where DuckDB counts other statements
than found here, the file is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dither.errors import QueryRefused
from dither.sql import embedded

__all__ = ["Comment", "Piece", "split"]

_TOKEN = re.compile(
    r"(?P<line>--[^\n]*)|(?P<open>/\*)|(?P<escaped>\b[eE]'(?:\\.|''|[^'\\])*')|(?P<text>'(?:''|[^'])*')"
    r'|(?P<name>"(?:""|[^"])*")|(?P<dollar>\$(?P<tag>[A-Za-z_]\w*|)\$.*?\$(?P=tag)\$)|(?P<end>;)|(?P<space>\s+)'
    r"|(?P<word>\w+)|(?P<other>.)",
    re.DOTALL,
)
_NESTING = re.compile(r"/\*|\*/")
MOST_BYTES = 4 << 20


@dataclass(frozen=True)
class Comment:
    """What a comment says, without its marks. `place`: before, inside, or behind (on the line that ended the question
    before)."""

    text: str
    line: int
    place: str


@dataclass(frozen=True)
class Piece:
    """One question. `text` begins at its first word and keeps the comments inside it; `line` is where it begins."""

    text: str
    line: int
    comments: tuple[Comment, ...]


def split(text: str) -> tuple[list[Piece], list[Comment]]:
    """The questions of a file in order, and the comments behind the last of them. Raises QueryRefused."""
    if len(text.encode(errors="replace")) > MOST_BYTES:
        raise QueryRefused(f"The file of questions is longer than {MOST_BYTES:,} bytes.", code="P-102")
    reader = _Reader(text)
    at = 0
    while at < len(text):
        at = reader.read(at)
    reader.end(len(text))
    _check_with_duckdb(text, len(reader.pieces))
    return reader.pieces, reader.comments


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces: list[Piece] = []
        self.comments: list[Comment] = []
        self.start: int | None = None
        """Where the question being read begins; None before its first word."""
        self.ended_on: int | None = None
        """The line of the last semicolon."""

    def read(self, at: int) -> int:
        """Take in one token; gives where the next begins."""
        token = _TOKEN.match(self.text, at)
        assert token is not None
        kind, end = token.lastgroup, token.end()
        if kind == "tag":
            kind = "dollar"
        match kind:
            case "line":
                self._comment(token.group()[2:], at)
            case "open":
                end = self._closed(at)
                self._comment(self.text[at + 2 : end - 2], at)
            case "end":
                self.end(at)
                self.ended_on = self._line(at)
            case "space":
                pass
            case _:
                if self.start is None:
                    self.start = at
        return end

    def end(self, at: int) -> None:
        """The question ends here, if one has begun."""
        if self.start is not None:
            self.pieces.append(Piece(self.text[self.start : at].rstrip(), self._line(self.start), tuple(self.comments)))
            self.start, self.comments = None, []

    def _comment(self, text: str, at: int) -> None:
        line = self._line(at)
        place = "inside" if self.start is not None else "behind" if line == self.ended_on else "before"
        self.comments.append(Comment(text.strip(), line, place))

    def _closed(self, at: int) -> int:
        """Where the comment that opens at `at` ends; comments nest."""
        depth = 0
        for mark in _NESTING.finditer(self.text, at):
            depth += 1 if mark.group() == "/*" else -1
            if depth == 0:
                return mark.end()
        raise QueryRefused("A comment is not closed.", code="P-100", span=(at, 2)).located(self.text)

    def _line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1


def _check_with_duckdb(text: str, found: int) -> None:
    """DuckDB must see as many statements, where it can read the file at all; what it cannot read is refused later."""
    if "\x00" in text or any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        raise QueryRefused("The file holds characters that are not text.", code="P-103")
    if not text.strip():
        return
    tree = embedded.parse_json(text)
    if not tree.get("error") and len(tree["statements"]) != found:
        raise QueryRefused(
            "Where one question ends and the next begins is not clear.",
            code="P-104",
            hint="Put a ; behind each question, and keep ; out of comments.",
        )
