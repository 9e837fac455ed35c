"""An answer as a table: for a terminal, for plain text, for a notebook.

Flow: `Answer.__repr__` and `_repr_html_` call `to_text` and `to_html`; the command line prints `answer_table`.
Every text that comes from the data or the question is escaped for where it goes.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence
from decimal import Decimal
from html import escape
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from dither.answer.numbers import Cell, measured, plain

if TYPE_CHECKING:
    from dither.answer.answer import Answer

__all__ = ["INVENTED_BANNER", "STYLE", "answer_table", "caption", "cells_of", "to_html", "to_text"]

MOST_ROWS = 100
INVENTED_BANNER = "INVENTED: made-up rows; nothing here is about anybody, nothing was charged"


def to_text(answer: Answer) -> str:
    """The table as plain text, for `print` and the Python prompt."""
    width = max(shutil.get_terminal_size((100, 24)).columns, 60)
    target = io.StringIO()
    Console(file=target, width=width, color_system=None, force_terminal=False).print(answer_table(answer))
    return "\n".join(line.rstrip() for line in target.getvalue().splitlines())


def answer_table(answer: Answer, *, beside: Sequence[tuple[str, Sequence[str]]] = ()) -> RenderableType:
    """The table for a Rich console. beside: further columns (header, one text per row), for demonstrations."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    numeric = _numeric(answer)
    for position, name in enumerate(answer.headers):
        right = numeric[position] and position not in answer.intervals
        table.add_column(Text(plain(name).value), justify="right" if right else "left", overflow="fold")
    for header, _ in beside:
        table.add_column(Text(header), justify="right", style="dim")
    columns = [_aligned(column) for column in cells_of(answer)]
    for index, row in enumerate(zip(*columns, strict=True)):
        table.add_row(*row, *(Text(values[index]) for _, values in beside))
    parts: list[RenderableType] = [table]
    if answer.invented:
        parts.insert(0, Text(f" {INVENTED_BANNER} ", style="bold black on yellow"))
    if len(answer) > MOST_ROWS:
        parts.append(Text(f"and {len(answer) - MOST_ROWS:,} more rows", style="dim"))
    parts += [Text(line, style="dim") for line in caption(answer)]
    return Group(*parts)


def to_html(answer: Answer) -> str:
    """A table on its own: no script, no link, colours that follow the reader's light or dark setting."""
    numeric = _numeric(answer)
    heads = "".join(f'<th scope="col">{escape(plain(name).value)}</th>' for name in answer.headers)
    body = []
    for row in zip(*cells_of(answer), strict=True):
        body.append("<tr>" + "".join(_html_cell(cell, numeric[i]) for i, cell in enumerate(row)) + "</tr>")
    banner = f'<p class="dither-invented">{escape(INVENTED_BANNER)}</p>' if answer.invented else ""
    lines = list(caption(answer))
    if len(answer) > MOST_ROWS:
        lines.insert(0, f"and {len(answer) - MOST_ROWS:,} more rows")
    notes = "".join(f"<div>{escape(line)}</div>" for line in lines)
    return (
        f'<div class="dither-answer"><style>{STYLE}</style>{banner}<table><thead><tr>{heads}</tr></thead>'
        f'<tbody>{"".join(body)}</tbody></table><div class="dither-notes">{notes}</div></div>'
    )


def caption(answer: Answer) -> tuple[str, ...]:
    """What stands under every table: price and release, what ± means, and what to beware of."""
    from dither.answer.about import picks_sentence, price_sentence

    lines = [f"{price_sentence(answer, 'en')} Release {answer.receipt.release}."]
    if not len(answer) and any(measure.has_private_keys for measure in answer.plan.measures):
        lines.append("No rows: groups that the catalog does not list appear only where enough people are in them.")
        return tuple(lines)
    known = [position for position in answer.intervals if not answer.lacks_interval(position)]
    level = [answer.together() or _LEVEL] if known else []
    level += answer.unknown()
    level += ["∅ is NULL."] if _has_null(answer) else []
    lines += [" ".join(level)] if level else []
    picked = picks_sentence(answer, "en")
    return (*lines, *([picked] if picked else []), *answer.notes)


def cells_of(answer: Answer) -> list[list[Cell]]:
    """Column by column, the first rows as texts with their intervals."""
    result = []
    for position, values in enumerate(_columns(answer)):
        ends = answer.intervals.get(position)
        if ends is None or answer.lacks_interval(position):
            result.append([plain(value) for value in values])
        else:
            lows, highs = (end[:MOST_ROWS].tolist() for end in ends)
            result.append([measured(v, lo, hi) for v, lo, hi in zip(values, lows, highs, strict=False)])
    for (position, row), sign in answer.hidden.items():
        if row < len(result[position]):
            result[position][row] = Cell(sign)
    return result


_LEVEL = "± covers the true value in 95 % of cases."


def _columns(answer: Answer) -> list[list[Any]]:
    rows = answer.rows(MOST_ROWS)
    return [[row[position] for row in rows] for position in range(len(answer.columns))]


def _numeric(answer: Answer) -> list[bool]:
    return [
        any(isinstance(v, int | float | Decimal) and not isinstance(v, bool) for v in values)
        and answer.plan.roles[i] != "key"
        for i, values in enumerate(_columns(answer))
    ]


def _has_null(answer: Answer) -> bool:
    return any(
        value is None and (position, row) not in answer.hidden
        for row, values in enumerate(answer.rows(MOST_ROWS))
        for position, value in enumerate(values)
    )


def _aligned(cells: Sequence[Cell]) -> list[Text]:
    """Numbers end under each other, and their intervals begin there."""
    if not any(cell.interval for cell in cells):
        return [_null_dimmed(cell.value) for cell in cells]
    width = max(len(cell.value) for cell in cells)
    texts = []
    for cell in cells:
        text = _null_dimmed(cell.value.rjust(width))
        text.append(f" {cell.interval}", style="cyan")
        texts.append(text)
    return texts


def _null_dimmed(shown: str) -> Text:
    return Text(shown, style="dim" if shown.strip() == "∅" else "")


def _html_cell(cell: Cell, numeric: bool) -> str:
    interval = f' <span class="dither-interval">{escape(cell.interval)}</span>' if cell.interval else ""
    return (
        f'<td class="dither-number">{escape(cell.value)}{interval}</td>'
        if numeric
        else f"<td>{escape(cell.value)}</td>"
    )


STYLE = (
    ".dither-answer{color-scheme:light dark;font-family:system-ui,sans-serif;font-size:.92em;line-height:1.45}"
    ".dither-answer table{border-collapse:collapse;margin:.4em 0}"
    ".dither-answer th{text-align:left;font-weight:600;border-bottom:1px solid rgba(128,128,128,.6)}"
    ".dither-answer th,.dither-answer td{padding:.2em 1.1em .2em 0}"
    ".dither-answer tbody tr+tr td{border-top:1px solid rgba(128,128,128,.18)}"
    ".dither-answer .dither-number{font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".dither-answer .dither-interval{color:#0b7285}.dither-answer .dither-notes{opacity:.7}"
    ".dither-answer .dither-invented{display:inline-block;margin:0;padding:.1em .6em;border-radius:.2em;"
    "background:#ffd43b;color:#1a1a1a;font-weight:600}"
    "@media (prefers-color-scheme:dark){.dither-answer .dither-interval{color:#66d9e8}}"
)
