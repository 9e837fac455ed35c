"""Where commands print: answers to stdout, everything else to stderr; and how an error looks.

Relies on Rich, loaded by the first command that prints.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

from rich.console import Console
from rich.text import Text

from dither.errors import DitherError, QueryRefused
from dither.exact import decimal_text

__all__ = ["amount", "out", "say", "show_error", "working"]

_PIPE_WIDTH = 160


def out() -> Console:
    """stdout. Into a pipe or a file, tables are as wide as they need."""
    wide = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(highlight=False, width=_PIPE_WIDTH if wide else None)


def say(message: str, style: str = "") -> None:
    """One line of news on stderr."""
    _err().print(Text(_visible(message), style=style))


@contextmanager
def working(message: str) -> Iterator[None]:
    """A spinner on stderr while the body runs, where somebody is watching."""
    console = _err()
    if not console.is_terminal:
        yield
        return
    with console.status(message, spinner="dots"):
        yield


def show_error(error: DitherError) -> None:
    """What was refused, where, and the ways forward."""
    console = _err()
    first, _, rest = error.headline().partition(": ")
    console.print(Text.assemble((_visible(first), "bold red"), ": ", _visible(rest)))
    if isinstance(error, QueryRefused):
        if error.caret():
            console.print(Text(_visible(error.caret()), style="yellow"))
        hints = [error.hint, error.owner_hint]
    else:
        hints = [error.hint]
    for hint in dict.fromkeys(hint for hint in hints if hint):
        console.print(Text(f"  {_visible(hint)}"))


def amount(value: Fraction | None) -> str:
    """An amount of budget for people: exact up to 9 places, and never shown as more than it is."""
    if value is None:
        return "–"
    if value != 0 and abs(value) < Fraction(1, 10**6):
        return f"{float(value):.3g}"
    return decimal_text(value, 9)


def _visible(text: str) -> str:
    """Without control characters: a question may be somebody else's, and must not drive a terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _err() -> Console:
    return Console(stderr=True, highlight=False, soft_wrap=True)
