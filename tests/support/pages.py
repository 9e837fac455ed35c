"""Runs a page: its Python blocks one after the other, in one namespace, beside what the page says they print.

A block of `text` right after a block of `python` is that block's output; a `python` block without one prints nothing.
"""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Block", "blocks_of", "printed"]

_BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    line: int
    """Of the page, where the code begins."""
    code: str
    shown: str


def blocks_of(text: str) -> list[Block]:
    return [Block(text.count("\n", 0, m.start(1)) + 1, m[1], m[2] or "") for m in _BLOCK.finditer(text)]


def printed(blocks: list[Block], page: Path) -> list[str]:
    """What each block prints. An error points at the page's own line."""
    namespace: dict[str, Any] = {"__name__": "page"}
    found = []
    for block in blocks:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), namespace)
        found.append("".join(f"{line.rstrip()}\n" for line in output.getvalue().splitlines()))
    return found
