"""The lab's report as one HTML file: what each attack is, its lines, its figure. It loads nothing.

Flow: `dither lab --report out.html`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from html import escape

import numpy as np

from dither.lab.engines import dither
from dither.lab.games import ABOVE, BELOW, Line, Verdict
from dither.lab.report import cells, heading, left_out, say_noise, summary
from dither.lab.result import Result
from dither.lab.svg import curves, difference_picture
from dither.lab.texts import ABOUT, COLUMNS, READING, TITLE, Language
from dither.lab.worlds import hospital

__all__ = ["page"]

_CLASSES: dict[Verdict, str] = {BELOW: "below", ABOVE: "above"}

_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; font-size: .85rem; width: 100% }
th, td { padding: .25rem .5rem; border-bottom: 1px solid #8884; text-align: left; vertical-align: top }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
td.below { color: #2e8b57; white-space: nowrap } td.above { color: #d33; font-weight: bold; white-space: nowrap }
svg { max-width: 100%; height: auto } svg text { font: 12px system-ui, sans-serif; fill: currentColor }
svg .grid { stroke: #8885 } svg .box { fill: none; stroke: currentColor }
svg .target { fill: #d9822b33; stroke: #d9822b }
.wide { overflow-x: auto }
"""


def page(results: Sequence[Result], *, seed: int, real_noise: bool = False, language: Language = "en") -> str:
    """The whole page."""
    title = escape(TITLE.say(language))
    body = [
        f"<h1>{title}</h1>",
        f"<p>{escape(READING.say(language))}</p>",
        f"<p>{escape(say_noise(seed, real_noise, language))} {escape(summary(results, language))}</p>",
        *(_section(result, seed, language) for result in results),
    ]
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f"<body>{''.join(body)}</body></html>\n"
    )


def _section(result: Result, seed: int, language: Language) -> str:
    parts = [f"<h2>{escape(heading(result, language))}</h2>", f"<p>{escape(ABOUT[result.key].story.say(language))}</p>"]
    if result.left_out:
        return f"<h2>{escape(heading(result, language))}</h2><p>{escape(left_out(result, language))}</p>"
    if result.figure is not None:
        parts.append(curves(result.figure, language))
    if result.key == "A1":
        parts.append(difference_picture(*_two_sums(seed), language))
    head = "".join(f"<th>{escape(words.say(language))}</th>" for words in COLUMNS.values())
    rows = "".join(_row(line, language) for line in result.lines)
    return "".join([*parts, f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div>'])


def _row(line: Line, language: Language) -> str:
    numbers = ("success", "interval", "baseline", "oracle", "bound")
    shown = []
    for column, text in cells(line, language).items():
        kind = "number" if column in numbers else _CLASSES.get(line.verdict, "") if column == "verdict" else ""
        shown.append(f'<td class="{kind}">{escape(text)}</td>')
    return f"<tr>{''.join(shown)}</tr>"


def _two_sums(seed: int) -> tuple[int, int]:
    """Dither's answers to Q4 and Q5 over the five patients, half of epsilon 1 each."""
    table, _ = hospital.ward(np.random.default_rng(seed), 1)
    with dither()(table, Fraction(1), seed) as engine:
        four, five = (
            engine.ask(f"SELECT SUM(diabetes) FROM data WHERE row_number <= {i}", Fraction(1, 2)).scalar()
            for i in (4, 5)
        )
    return int(four), int(five)
