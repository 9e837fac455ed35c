"""Python code as HTML with its words in classes: keywords, strings, numbers, comments.

Flow: `markdown` colours the tutorial's blocks. Relies on: the code being valid, which a test sees to by running it.
"""

from __future__ import annotations

import io
import keyword
import tokenize
from html import escape

__all__ = ["coloured"]


def coloured(code: str) -> str:
    lines = code.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    parts, end = [], 0
    for token in tokenize.generate_tokens(io.StringIO(code + "\n").readline):
        kind = _kind(token)
        begin, stop = (starts[min(row, len(lines)) - 1] + column for row, column in (token.start, token.end))
        if kind and begin >= end:
            parts += [escape(code[end:begin]), f'<span class="{kind}">{escape(code[begin:stop])}</span>']
            end = stop
    return "".join([*parts, escape(code[end:])])


def _kind(token: tokenize.TokenInfo) -> str:
    # From Python 3.12 an f-string comes in pieces.
    name = tokenize.tok_name[token.type]
    if name in ("STRING", "FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END"):
        return "string"
    if name == "NAME" and keyword.iskeyword(token.string):
        return "keyword"
    return {"NUMBER": "number", "COMMENT": "comment"}.get(name, "")
