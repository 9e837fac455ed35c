"""The lab's results in a terminal, and as JSON.

Flow: `dither lab` prints `table` for each result and `summary` at the end. Numbers are shares of trials to three
places; none is ever called nothing: 0 of 300 trials is an interval up to about 1 in 100.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from dither.lab.chinese import said
from dither.lab.games import ABOVE, BELOW, Line, Verdict
from dither.lab.planted import PLANTED
from dither.lab.result import Result
from dither.lab.texts import ABOUT, COLUMNS, Language

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = [
    "cells",
    "columns_used",
    "cost",
    "heading",
    "left_out",
    "say_noise",
    "summary",
    "table",
    "to_json",
    "unexpected",
]

_STYLES: dict[Verdict, str] = {BELOW: "green", ABOVE: "bold red"}


def heading(result: Result, language: Language) -> str:
    """`A1 Differencing`; a key that is a word says nothing beside the name."""
    name = ABOUT[result.key].name.say(language)
    return f"{result.key} {name}" if result.key[0] == "A" else name


def cells(line: Line, language: Language = "en") -> dict[str, str]:
    """The texts of one line, by column."""
    low_to_high = f"{_share(line.low)}–{_share(line.high)}"
    shown = {
        "engine": line.engine,
        "setting": line.setting,
        "measure": line.measure,
        "success": _share(line.value),
        "interval": f"{low_to_high}, {line.trials or 0:,}"
        if language == "zh"
        else f"{low_to_high} of {line.trials or 0:,}",
        "baseline": _share(line.baseline),
        "oracle": _share(line.oracle),
        "spent": line.spent,
        "bound": _share(line.bound),
        "verdict": line.verdict,
        "note": line.note,
    }
    if line.low is None:
        shown["interval"] = ""
    return {column: said(text, language) for column, text in shown.items()}


def table(result: Result, language: Language = "en") -> RenderableType:
    """One attack: what it is, and its lines."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    if result.left_out:
        return Text(f"\n{left_out(result, language)}", style="bold cyan")
    shown = [cells(line, language) for line in result.lines]
    used = columns_used(shown, language)
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in used:
        right = column in ("success", "baseline", "oracle", "bound")
        grid.add_column(
            COLUMNS[column].say(language), justify="right" if right else "left", no_wrap=column == "verdict"
        )
    for line, row in zip(result.lines, shown, strict=True):
        grid.add_row(*(Text(row[c], style=_STYLES.get(line.verdict, "") if c == "verdict" else "") for c in used))
    return Group(
        Text(f"\n{heading(result, language)}", style="bold cyan"),
        Text(ABOUT[result.key].story.say(language)),
        grid,
        Text(cost(result, language), style="dim"),
    )


def columns_used(shown: Sequence[Mapping[str, str]], language: Language) -> list[str]:
    """Columns that say something of an attack; the others leave their room to the notes."""
    empty = ("", "–", said("no ledger", language))
    return [c for c in COLUMNS if any(row[c] not in empty for row in shown)]


def left_out(result: Result, language: Language) -> str:
    """Why an attack has no lines."""
    return f"{heading(result, language)}{said(f': left out. {result.left_out}', language)}"


def summary(results: Iterable[Result], language: Language = "en") -> str:
    """How many lines ended how; engines with and without a fault apart."""
    lines = [line for result in results for line in result.lines if line.engine not in PLANTED]
    dither = Counter(line.verdict for line in lines if line.engine.startswith("Dither"))
    others = sum(line.verdict == ABOVE for line in lines if not line.engine.startswith("Dither"))
    counts = ", ".join(f"{dither[v]} {v}" for v in (BELOW, "inconclusive", ABOVE))
    return said(f"Dither: {counts}. Other engines ABOVE the bound they promise: {others}.", language)


def unexpected(results: Iterable[Result]) -> list[str]:
    """Lines that should not be: Dither above its bound, or a planted fault that was not found. Time is shown, and is
    not part of the guarantee: docs/explanation/known-limits.md."""
    found = []
    for result in results:
        for line in result.lines:
            blind = line.engine in PLANTED and line.verdict != ABOVE
            broken = line.engine.startswith("Dither") and line.verdict == ABOVE and line.measure != "time"
            if blind or broken:
                found.append(f"{line.attack} on {line.engine}, {line.setting}: {line.verdict}")
    return found


def say_noise(seed: int, real: bool, language: Language = "en") -> str:
    """Where worlds and noise come from."""
    drawn = f"Worlds from seed {seed}; noise from the operating system: figures differ from run to run."
    seeded = f"Worlds and noise from seed {seed}: injected noise, for figures that can be checked."
    return said(drawn if real else f"{seeded} --real-noise draws anew.", language)


def to_json(results: Sequence[Result]) -> str:
    """Every figure, with its seed."""
    return json.dumps([asdict(result) for result in results], indent=1, ensure_ascii=False)


def _share(value: float | None) -> str:
    if value is None:
        return "–"
    if 0 < value < 0.0005:
        return np.format_float_positional(value, precision=1, fractional=False, trim="-")
    if 0.9995 <= value < 0.999995:
        return f"{value:.5f}"
    return f"{value:.3f}"


def cost(result: Result, language: Language = "en") -> str:
    """How many questions were asked, and the seeds."""
    asked, refused = sum(line.questions for line in result.lines), sum(line.refusals for line in result.lines)
    seeds = sorted({line.seed for line in result.lines})
    return said(f"{asked:,} questions, {refused:,} refused; seed {', '.join(map(str, seeds))}", language)
