"""The lab's report as one HTML file: what each attack is, its lines, its figure. It loads nothing.

Flow: `dither lab --report out.html`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from html import escape

import numpy as np

from dither.lab.engines import dither, system_noise
from dither.lab.games import ABOVE, BELOW, Line, Verdict
from dither.lab.report import cells, columns_used, cost, heading, left_out, say_noise, summary
from dither.lab.result import Result
from dither.lab.svg import curves, difference_picture
from dither.lab.texts import ABOUT, COLUMNS, READING, TITLE, Language
from dither.lab.worlds import hospital

__all__ = ["page"]

_NUMBERS = ("success", "interval", "baseline", "oracle", "bound")
_CLASSES: dict[Verdict, str] = {BELOW: "below", ABOVE: "above"}

_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 84rem; margin: 2rem auto; padding: 0 1rem }
h1 + p, h2 + p { max-width: 60rem }
table { border-collapse: collapse; font-size: .82rem; width: 100%; word-break: keep-all }
th, td { padding: .25rem .4rem; border-bottom: 1px solid #8884; text-align: left; vertical-align: top }
td.number, th.number { text-align: right }
td.number { white-space: nowrap; font-variant-numeric: tabular-nums }
td.below { color: #2e8b57; white-space: nowrap } td.above { color: #d33; font-weight: bold; white-space: nowrap }
td.verdict { white-space: nowrap }
svg { max-width: 100%; height: auto } svg text { font: 12px system-ui, sans-serif; fill: currentColor }
svg .grid { stroke: #8885 } svg .box { fill: none; stroke: currentColor }
svg .target { fill: #d9822b33; stroke: #d9822b }
.wide { overflow-x: auto }
td.setting { min-width: 7rem } td.engine { min-width: 6rem } td.spent { white-space: nowrap }
td.note { min-width: 10rem }
nav a { margin-right: .9em; white-space: nowrap; display: inline-block } .cost { font-size: .85rem; opacity: .75 }
"""


def page(results: Sequence[Result], *, seed: int, real_noise: bool = False, language: Language = "en") -> str:
    """The whole page."""
    title = escape(TITLE.say(language))
    body = [
        f"<h1>{title}</h1>",
        f"<p>{escape(READING.say(language))}</p>",
        f"<p>{escape(say_noise(seed, real_noise, language))} {escape(summary(results, language))}</p>",
        _contents(results, language),
        *(_section(result, seed, language, real_noise=real_noise) for result in results),
    ]
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f"<body>{''.join(body)}</body></html>\n"
    )


def _contents(results: Sequence[Result], language: Language) -> str:
    links = (f'<a href="#{result.key}">{escape(heading(result, language))}</a>' for result in results)
    return f"<nav>{' '.join(links)}</nav>"


def _section(result: Result, seed: int, language: Language, *, real_noise: bool) -> str:
    head = f'<h2 id="{result.key}">{escape(heading(result, language))}</h2>'
    if result.left_out:
        return f"{head}<p>{escape(left_out(result, language))}</p>"
    parts = [head, f"<p>{escape(ABOUT[result.key].story.say(language))}</p>"]
    if result.figure is not None:
        parts.append(curves(result.figure, language))
    if result.key == "A1":
        with system_noise(real_noise):
            parts.append(difference_picture(*_two_sums(seed), language))
    shown = [cells(line, language) for line in result.lines]
    used = columns_used(shown, language)
    heads = "".join(f'<th class="{_kind(c)}">{escape(COLUMNS[c].say(language))}</th>' for c in used)
    rows = "".join(_row(line, row, used) for line, row in zip(result.lines, shown, strict=True))
    cost_line = f'<p class="cost">{escape(cost(result, language))}</p>'
    return "".join([*parts, f'<div class="wide"><table><tr>{heads}</tr>{rows}</table></div>', cost_line])


def _row(line: Line, row: Mapping[str, str], used: Sequence[str]) -> str:
    shown = []
    for column in used:
        kind = _CLASSES.get(line.verdict, "verdict") if column == "verdict" else _kind(column)
        shown.append(f'<td class="{kind}">{escape(row[column])}</td>')
    return f"<tr>{''.join(shown)}</tr>"


def _kind(column: str) -> str:
    return "number" if column in _NUMBERS else column


def _two_sums(seed: int) -> tuple[int, int]:
    """Dither's answers to Q4 and Q5 over the five patients, half of epsilon 1 each."""
    table, _ = hospital.ward(np.random.default_rng(seed), 1)
    with dither()(table, Fraction(1), seed) as engine:
        four, five = (
            engine.ask(f"SELECT SUM(diabetes) FROM data WHERE row_number <= {i}", Fraction(1, 2)).scalar()
            for i in (4, 5)
        )
    return int(four), int(five)
