"""On which line of a TOML text a key stands.

Flow: built by load only when there is an error to place; tomllib gives values without positions. The text is already
known to be valid TOML, so a tokenizer and a stack of open brackets are enough; whatever they should misread costs at
most precision: `line_of` answers with the nearest enclosing key it knows.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field

from dither.catalog.reading import Key

__all__ = ["line_of", "places"]

_TOKEN = re.compile(
    r'(?P<string>"""(?:\\.|[^\\])*?"""(?:"{0,2})|\'\'\'.*?\'\'\'(?:\'{0,2})|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\')'
    r"|(?P<comment>\#[^\n]*)|(?P<newline>\n)|(?P<space>[ \t\r]+)|(?P<mark>[\[\]{},=.])|(?P<bare>[^\s\[\]{},=.#\"']+)",
    re.DOTALL,
)

_DEEPEST = 8
"""Parts of a key that are placed; more than a catalog's keys have."""


def line_of(text: str, key: Key) -> int | None:
    """The line, from 1, of `key` or of the nearest key above it; None when not even its section is written."""
    known = places(text)
    return next((known[key[:length]] for length in range(len(key), 0, -1) if key[:length] in known), None)


def places(text: str) -> dict[Key, int]:
    """The first line of every key and list element; a header places all its parts."""
    scan = _Scan()
    line = 1
    for token in _TOKEN.finditer(text):
        scan.read(token.lastgroup or "", token.group(), line)
        line += token.group().count("\n")
    return scan.lines


@dataclass
class _Open:
    """An open bracket inside a value: a list with its next index, or an inline table."""

    path: Key
    index: int | None


@dataclass
class _Scan:
    lines: dict[Key, int] = field(default_factory=dict)
    section: Key = ()
    parts: list[str] = field(default_factory=list)
    state: str = "key"
    """header, key (parts before '='), or value."""
    stack: list[_Open] = field(default_factory=list)
    path: Key = ()
    """The key whose value is being read."""

    def read(self, kind: str, token: str, line: int) -> None:
        if kind in ("space", "comment"):
            return
        if kind == "newline":
            if not self.stack:
                self.state, self.parts = "key", []
            return
        match self.state:
            case "header":
                self._header(kind, token, line)
            case "key":
                self._key(kind, token, line)
            case _:
                self._value(token, line)

    def _header(self, kind: str, token: str, line: int) -> None:
        if token == "]" and kind == "mark":
            self.section = tuple(self.parts)
            self._place(self.section, line)
        elif kind != "mark":
            self.parts.append(_plain(kind, token))

    def _key(self, kind: str, token: str, line: int) -> None:
        if kind != "mark":
            self.parts.append(_plain(kind, token))
        elif token == "=":
            self.path = (self.stack[-1].path if self.stack else self.section) + tuple(self.parts)
            self._place(self.path, line)
            self.state, self.parts = "value", []
        elif token == "[":
            self.state = "header"
        elif token == "}" and self.stack:
            self._close()

    def _value(self, token: str, line: int) -> None:
        top = self.stack[-1] if self.stack else None
        if token not in ("]", ",", "}") and top is not None and top.index is not None and top.path == self.path:
            self.path = (*top.path, top.index)
            self._place(self.path, line)
        match token:
            case "[":
                self.stack.append(_Open(self.path, 0))
            case "{":
                self.stack.append(_Open(self.path, None))
                self.state = "key"
            case "]" | "}" if top is not None:
                self._close()
            case "," if top is not None and top.index is not None:
                top.index += 1
                self.path = top.path
            case "," if top is not None:
                self.state = "key"

    def _close(self) -> None:
        """Leave a list or an inline table: what follows belongs to the bracket around it."""
        self.path = self.stack.pop().path
        self.state = "value"

    def _place(self, path: Key, line: int) -> None:
        for length in range(1, min(len(path), _DEEPEST) + 1):
            self.lines.setdefault(path[:length], line)


def _plain(kind: str, token: str) -> str:
    return str(tomllib.loads(f"key = {token}")["key"]) if kind == "string" else token
