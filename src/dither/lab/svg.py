"""Figures as inline SVG, written by hand: curves over one quantity, and the picture of Q5 - Q4.

Flow: `page` puts them into the report. Nothing is loaded from anywhere; colours follow the page's light or dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from html import escape

from dither.lab.chinese import said
from dither.lab.result import Figure, Series
from dither.lab.texts import Language
from dither.lab.worlds.hospital import FIRST_FIVE

__all__ = ["curves", "difference_picture"]

Place = Callable[[float, float], tuple[float, float]]

_WIDTH, _HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 196, 28, 44
_COLOURS = ("#2f6fde", "#d9822b", "#3a9a5b", "#a23fa8", "#7a7a7a")


def curves(figure: Figure, language: Language = "en") -> str:
    """Success, from 0 to 1, over the figure's quantity; bounds are dashed."""
    xs = [x for series in figure.series for x, _ in series.points]
    if not xs:
        return ""
    place = _scale(min(xs), max(xs), figure.logarithmic)
    across = said(figure.x_label, language)
    parts = [_frame(across, said("success", language), sorted(set(xs)), place)]
    for number, series in enumerate(figure.series):
        parts.append(_curve(replace(series, name=said(series.name, language)), number, place))
    names = ", ".join(said(series.name, language) for series in figure.series)
    return _svg(_WIDTH, _HEIGHT, said(f"Success over {across}: {names}", language), "".join(parts))


def difference_picture(four: int, five: int, language: Language = "en") -> str:
    """The five patients, two sums over them, and their difference. four, five: answers with noise."""
    bits = [bit for _, bit in FIRST_FIVE]
    width, height = 640, 236
    parts = []
    for i, (name, bit) in enumerate(FIRST_FIVE):
        x = 20 + i * 96
        chandler = i == 4
        box = f'<rect x="{x}" y="14" width="84" height="44" rx="6" class="{"target" if chandler else "box"}"/>'
        parts.append(
            f"{box}{_text(x + 42, 33, name, 'middle')}{_text(x + 42, 50, '?' if chandler else str(bit), 'middle')}"
        )
    parts += [_brace(20, 5 * 96 + 4, 76, f"Q5 = {sum(bits)}"), _brace(20, 4 * 96 + 4, 116, f"Q4 = {sum(bits[:4])}")]
    plain, noisy = sum(bits) - sum(bits[:4]), five - four
    for down, words in (
        (166, f"Without noise: Q5 - Q4 = {plain}. That is Chandler's row, exactly."),
        (192, f"By Dither, epsilon 1 for both: Q5 = {five}, Q4 = {four}, difference {noisy}."),
        (216, "The same difference comes out often whether the row says 1 or 0: the curve above says how often."),
    ):
        parts.append(_text(20, down, said(words, language)))
    return _svg(width, height, said("Two sums one row apart, and their difference", language), "".join(parts))


def _scale(low: float, high: float, logarithmic: bool) -> Place:
    def place(x: float, y: float) -> tuple[float, float]:
        if high <= low:
            share = 0.5
        elif logarithmic:
            share = math.log(x / low) / math.log(high / low)
        else:
            share = (x - low) / (high - low)
        across = _WIDTH - _LEFT - _RIGHT
        return _LEFT + share * across, _TOP + (1 - y) * (_HEIGHT - _TOP - _BOTTOM)

    return place


def _frame(x_label: str, y_label: str, xs: list[float], place: Place) -> str:
    parts = []
    for y in (0.0, 0.25, 0.5, 0.75, 1.0):
        (left, down), (right, _) = place(xs[0], y), place(xs[-1], y)
        parts.append(f'<line x1="{left:.1f}" y1="{down:.1f}" x2="{right:.1f}" y2="{down:.1f}" class="grid"/>')
        parts.append(_text(_LEFT - 8, down + 4, f"{y:g}", "end"))
    for x in xs:
        across, down = place(x, 0)
        parts.append(_text(across, down + 18, f"{x:g}", "middle"))
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    return "".join([*parts, _text(middle, _HEIGHT - 6, x_label, "middle"), _text(4, 11, y_label)])


def _curve(series: Series, number: int, place: Place) -> str:
    colour = "currentColor" if series.is_bound else _COLOURS[number % len(_COLOURS)]
    points = [place(x, y) for x, y in series.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashed = ' stroke-dasharray="5 4"' if series.is_bound else ""
    line = f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>'
    dots = (
        ""
        if series.is_bound
        else "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points)
    )
    left, down = _WIDTH - _RIGHT + 14, _TOP + 8 + 20 * number
    key = f'<line x1="{left}" y1="{down}" x2="{left + 18}" y2="{down}" stroke="{colour}" stroke-width="2"{dashed}/>'
    return line + dots + key + _text(left + 24, down + 4, series.name)


def _brace(left: float, right: float, down: float, label: str) -> str:
    path = f"M{left},{down} v8 H{right} v-8"
    return (
        f'<path d="{path}" fill="none" stroke="currentColor"/>{_text((left + right) / 2, down + 24, label, "middle")}'
    )


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _svg(width: int, height: int, label: str, inner: str) -> str:
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}" width="{width}">{inner}</svg>'
