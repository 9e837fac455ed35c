"""Rich tables that commands share: an explanation, a budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dither.answer.numbers import plain
from dither.plan.explain import price_text

if TYPE_CHECKING:
    from dither.plan.explain import Explanation, VectorPlan

__all__ = ["explanation_table", "grid"]


def grid(headers: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> Table:
    """A plain table of texts. right: positions of columns that end where they should."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for position, header in enumerate(headers):
        table.add_column(Text(header), justify="right" if position in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(value) for value in row))
    return table


def explanation_table(explanation: Explanation) -> RenderableType:
    """What would be measured, how far one unit can move it, the noise, the price."""
    unit = explanation.unit_name
    headers = ("measured", "groups", f"one {unit} moves it by", "noise", "±", "")
    rows = [_line(vector) for vector in explanation.vectors]
    # Nothing is known of what is measured while something must be chosen first: the notes say it.
    tables = [grid(headers, rows, right=(1, 2, 3, 4))] if rows else []
    lines = [f"At most {kept:,} rows of one {unit} count in {name}." for name, kept in explanation.rows_kept]
    if explanation.columns_sentence:
        lines.append(explanation.columns_sentence)
    if explanation.solved is not None:
        lines.append(explanation.solved_sentence)
    return Group(*tables, *(Text(line, style="dim") for line in lines), _price(explanation), *_notes(explanation))


def _line(vector: VectorPlan) -> tuple[str, ...]:
    return (
        vector.what,
        vector.groups,
        plain(vector.distance).value,
        f"{vector.mechanism} {_short(vector.scale)}",
        _short(vector.half_width),
        "released before: free" if vector.known else "",
    )


def _price(explanation: Explanation) -> Text:
    if explanation.vectors and all(vector.known for vector in explanation.vectors):
        return Text("Price: nothing; all it needs was released before.", style="bold green")
    text = Text(f"Price: {price_text(explanation.price)}.", style="bold")
    if explanation.questions_left is not None:
        left = explanation.questions_left
        more = "it does not fit what is left" if left == 0 else f"what is left pays for {left:,} like it"
        text.append(f" Of the budget, {more}.", style="dim" if left else "bold red")
    return text


def _notes(explanation: Explanation) -> list[Text]:
    return [Text(note, style="yellow") for note in explanation.notes]


def _short(value: float) -> str:
    """Three significant digits: this is an expectation, not a result. ? where nothing is expected."""
    if not math.isfinite(value):
        return "?"
    return plain(float(f"{value:.3g}")).value
