"""Panels of an answer as SVG, written by hand: no script, no link, text in the colour of its surroundings.

Flow: `plot` says what is on each panel; `Charts` shows them in a notebook, or writes them as one picture or page.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal

from dither.answer.numbers import plain
from dither.errors import InvalidParameter

__all__ = ["Box", "Charts", "Panel", "Point", "check_place"]

Kind = Literal["bars", "line", "histogram", "cdf", "box"]

_WIDTH, _HEIGHT = 680, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 20, 34, 72
_BLUE = "#2f6fde"
_LINE = 15
_CHARACTERS = 104
"""Of a caption's line."""
_FIRST_DAY = dt.datetime.min.replace(tzinfo=dt.UTC).timestamp()
_AFTER_LAST_DAY = dt.datetime(9999, 12, 31, tzinfo=dt.UTC).timestamp() + 86_400


@dataclass(frozen=True)
class Point:
    label: str
    at: float
    """Place on an axis with an order; seconds for days."""
    value: float
    low: float
    high: float
    """NaN where no interval is known."""
    is_time: bool = False


@dataclass(frozen=True)
class Box:
    label: str
    least: float
    lower: float
    middle: float
    upper: float
    most: float
    is_time: bool = False


@dataclass(frozen=True)
class Panel:
    kind: Kind
    title: str
    across: str
    """What the groups are."""
    points: tuple[Point, ...] = ()
    boxes: tuple[Box, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Charts:
    """Pictures of one answer, and what stands under them."""

    panels: tuple[Panel, ...]
    caption: tuple[str, ...]

    @property
    def svg(self) -> str:
        """All panels and the caption as one picture."""
        lines = [part for line in (*self._notes, *self.caption) for part in _wrapped(line)]
        tall = _HEIGHT * len(self.panels) + _LINE * len(lines) + 16
        inner = "".join(
            f'<g transform="translate(0 {_HEIGHT * i})">{_panel(panel)}</g>' for i, panel in enumerate(self.panels)
        )
        first = _HEIGHT * len(self.panels) + 12
        inner += "".join(_text(16, first + _LINE * i, line, size=11) for i, line in enumerate(lines))
        title = _safe("; ".join(f"{panel.title} by {panel.across}" for panel in self.panels))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {tall}" width="{_WIDTH}" height="{tall}" '
            f'role="img" aria-label="{title}" font-family="system-ui,sans-serif" font-size="12" '
            f'fill="currentColor">{inner}</svg>'
        )

    @property
    def _notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(panel.note for panel in self.panels if panel.note))

    def save(self, place: str | Path) -> Path:
        """Write it to a new file: a picture (.svg) or a page (.html). Raises InvalidParameter [I-125]."""
        path = check_place(place)
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(self._page() if path.suffix.lower() == ".html" else self._alone())
        except OSError as error:
            raise _unusable(path, error.strerror or "not a usable path") from None
        return path

    def _alone(self) -> str:
        """Dark on white, wherever it is opened."""
        start, rest = self.svg.split(">", 1)
        return f'{start} color="#1a1a1a"><rect width="100%" height="100%" fill="#fff"/>{rest}\n'

    def _page(self) -> str:
        title = _safe("; ".join(panel.title for panel in self.panels))
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            '<meta name="viewport" content="width=device-width"><style>:root{color-scheme:light dark}'
            "body{margin:1.5rem;font-family:system-ui,sans-serif}svg{max-width:100%;height:auto}</style></head>"
            f"<body>{self.svg}</body></html>\n"
        )

    def _repr_html_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        kinds = ", ".join(f"{panel.kind} of {panel.title}" for panel in self.panels)
        return f"Charts({kinds}): .save('answer.svg') or .save('answer.html') writes it."


def check_place(place: str | Path) -> Path:
    """A file that could be written: to be known before a charge. Raises InvalidParameter [I-125]."""
    path = Path(place)
    if path.suffix.lower() not in (".svg", ".html"):
        raise _unusable(path, "another kind of file")
    if path.exists():
        raise _unusable(path, "a file that is there")
    if not path.parent.is_dir():
        raise _unusable(path, "no such folder")
    return path


def _unusable(path: Path, reason: str) -> InvalidParameter:
    return InvalidParameter(
        "plot", expected="a new file that ends in .svg or .html", found=f"{path}: {reason}", code="I-125"
    )


class _Axes:
    """From values to places up the side of a panel. from_zero: whether zero is among them, as bars need it."""

    def __init__(self, values: Sequence[float], *, from_zero: bool) -> None:
        known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low, high = min(known), max(known)
        if from_zero:
            low, high = min(low, 0.0), max(high, 0.0)
        if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
            pad = abs(high) / 2 or 1.0
            low, high = low - pad, high + pad
        self.step = _nice((high - low) / 5)
        self.low, self.high = math.floor(low / self.step) * self.step, math.ceil(high / self.step) * self.step
        if from_zero and low > -self.step / 3:
            # A little below zero, as noise may be, is no reason for a line of its own.
            self.low = low

    def up(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    def frame(self, *, is_time: bool) -> str:
        parts = []
        first = math.ceil(self.low / self.step - 1e-9) * self.step
        for i in range(round((self.high - first) / self.step) + 1):
            value = first + i * self.step
            y = self.up(value)
            parts.append(
                f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}" stroke="currentColor" '
                f'stroke-opacity="{0.5 if value == 0 else 0.15}"/>'
            )
            parts.append(_text(_LEFT - 8, y + 4, _tick(value, self.step, is_time), "end"))
        return "".join(parts)


def _panel(panel: Panel) -> str:
    if panel.kind == "box":
        values = [v for box in panel.boxes for v in (box.least, box.lower, box.middle, box.upper, box.most)]
        axes, is_time = _Axes(values, from_zero=False), panel.boxes[0].is_time
        drawn = _boxes(panel.boxes, axes)
    else:
        values = [v for point in panel.points for v in (point.value, point.low, point.high)]
        axes, is_time = _Axes(values, from_zero=panel.kind != "line"), False
        drawn = {"bars": _bars, "histogram": _histogram, "line": _curve, "cdf": _curve}[panel.kind](panel.points, axes)
    title = _text(16, 18, panel.title, weight=600)
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    return f"{title}{axes.frame(is_time=is_time)}{drawn}{_text(middle, _HEIGHT - 10, panel.across, 'middle')}"


def _bars(points: Sequence[Point], axes: _Axes) -> str:
    wide = (_WIDTH - _LEFT - _RIGHT) / max(1, len(points))
    parts = []
    for i, point in enumerate(points):
        middle = _LEFT + (i + 0.5) * wide
        thick = min(wide * 0.7, 64)
        parts.append(_bar(middle - thick / 2, thick, point.value, axes))
        parts.append(_whisker(middle, point.low, point.high, axes, min(thick / 2, 8)))
    return "".join(parts) + _labels([(_LEFT + (i + 0.5) * wide, p.label) for i, p in enumerate(points)], wide)


def _histogram(points: Sequence[Point], axes: _Axes) -> str:
    """Bars from each bin's beginning to the next bin's: a bin without a row in the answer leaves a gap."""
    width = min(b.at - a.at for a, b in itertools.pairwise(points)) if len(points) > 1 else 1.0
    first, last = points[0].at, points[-1].at + width
    scale = (_WIDTH - _LEFT - _RIGHT) / (last - first)
    parts = []
    for point in points:
        left, thick = _LEFT + (point.at - first) * scale, width * scale
        parts.append(_bar(left + 0.5, max(thick - 1, 0.8), point.value, axes))
        parts.append(_whisker(left + thick / 2, point.low, point.high, axes, min(thick / 4, 6)))
    return "".join(parts) + _labels(
        [(_LEFT + (p.at - first) * scale, p.label) for p in points], width * scale, ordered=True
    )


def _curve(points: Sequence[Point], axes: _Axes) -> str:
    first, last = points[0].at, points[-1].at
    scale = (_WIDTH - _LEFT - _RIGHT - 20) / ((last - first) or 1.0)
    places = [(_LEFT + 10 + (point.at - first) * scale, point) for point in points]
    known = [(x, p) for x, p in places if math.isfinite(p.low) and math.isfinite(p.high)]
    band = ""
    if len(known) > 1:
        edge = [f"{x:.1f},{axes.up(p.high):.1f}" for x, p in known]
        edge += [f"{x:.1f},{axes.up(p.low):.1f}" for x, p in reversed(known)]
        band = f'<polygon points="{" ".join(edge)}" fill="{_BLUE}" fill-opacity="0.2"/>'
    path = " ".join(f"{x:.1f},{axes.up(p.value):.1f}" for x, p in places)
    line = f'<polyline points="{path}" fill="none" stroke="{_BLUE}" stroke-width="2"/>'
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{axes.up(p.value):.1f}" r="2.5" fill="{_BLUE}">{_hover(p)}</circle>'
        for x, p in places
    )
    apart = min((b[0] - a[0] for a, b in itertools.pairwise(places)), default=_WIDTH)
    return band + line + dots + _labels([(x, p.label) for x, p in places], apart, ordered=True)


def _boxes(boxes: Sequence[Box], axes: _Axes) -> str:
    wide = (_WIDTH - _LEFT - _RIGHT) / len(boxes)
    thick = min(wide * 0.5, 56)
    parts = []
    for i, box in enumerate(boxes):
        middle = _LEFT + (i + 0.5) * wide
        left, right = middle - thick / 2, middle + thick / 2
        top, bottom, line = axes.up(box.upper), axes.up(box.lower), axes.up(box.middle)
        parts.append(_whisker(middle, box.least, box.lower, axes, thick / 4, cap="low"))
        parts.append(_whisker(middle, box.upper, box.most, axes, thick / 4, cap="high"))
        parts.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{thick:.1f}" height="{max(bottom - top, 1):.1f}" '
            f'fill="{_BLUE}" fill-opacity="0.55" stroke="{_BLUE}"/>'
            f'<line x1="{left:.1f}" y1="{line:.1f}" x2="{right:.1f}" y2="{line:.1f}" stroke="currentColor" '
            'stroke-width="2"/>'
        )
    return "".join(parts) + _labels([(_LEFT + (i + 0.5) * wide, box.label) for i, box in enumerate(boxes)], wide)


def _bar(left: float, thick: float, value: float, axes: _Axes) -> str:
    zero, top = axes.up(0.0), axes.up(value)
    return (
        f'<rect x="{left:.1f}" y="{min(zero, top):.1f}" width="{thick:.1f}" height="{abs(zero - top):.1f}" '
        f'fill="{_BLUE}" fill-opacity="0.75"/>'
    )


def _whisker(
    x: float, low: float, high: float, axes: _Axes, half: float, *, cap: Literal["low", "high", "both"] = "both"
) -> str:
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    path = f"M{x:.1f},{axes.up(high):.1f}V{axes.up(low):.1f}"
    for end, value in (("low", low), ("high", high)):
        if cap in (end, "both"):
            path += f"M{x - half:.1f},{axes.up(value):.1f}h{2 * half:.1f}"
    return f'<path d="{path}" stroke="currentColor" fill="none" stroke-opacity="0.85"/>'


def _hover(point: Point) -> str:
    sure = f" [{point.low:,.6g}, {point.high:,.6g}]" if math.isfinite(point.low) else ""
    return f"<title>{_safe(point.label)}: {point.value:,.6g}{sure}</title>"


def _labels(places: Sequence[tuple[float, str]], apart: float, *, ordered: bool = False) -> str:
    """Names under their places. On an axis with an order, as many as have room; of groups all: in two lines, or at a
    slant where that does not do."""
    down, fit = _HEIGHT - _BOTTOM + 18, int(apart / 7)
    if ordered:
        longest = max((len(label) for _, label in places), default=1)
        every = max(1, math.ceil((longest * 7 + 8) / max(apart, 0.1)))
        return "".join(_text(x, down, label, "middle") for x, label in list(places)[::every])
    lines = [_in_two(label, fit) for _, label in places]
    if all(len(line) <= fit for pair in lines for line in pair):
        return "".join(
            _text(x, down + 14 * k, line, "middle")
            for (x, _), pair in zip(places, lines, strict=True)
            for k, line in enumerate(pair)
        )
    return "".join(
        f'<g transform="translate({x:.1f} {down - 6}) rotate(-35)">{_text(0, 0, _cut(label, 15), "end", size=10)}</g>'
        for x, label in places
    )


def _in_two(label: str, fit: int) -> list[str]:
    """The label, or two halves of it, cut between words as evenly as can be."""
    words = label.split(" ")
    if len(label) <= fit or len(words) == 1:
        return [label]
    halves = [[" ".join(words[:k]), " ".join(words[k:])] for k in range(1, len(words))]
    return min(halves, key=lambda pair: max(len(pair[0]), len(pair[1])))


def _cut(label: str, most: int) -> str:
    """The middle is left out: of several keys each keeps a part."""
    return label if len(label) <= most else f"{label[: most - 6]}…{label[-5:]}"


def _nice(rough: float) -> float:
    """1, 2 or 5 times a power of ten, at least `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))


def _tick(value: float, step: float, is_time: bool) -> str:
    if is_time:
        # Round steps may reach beyond the years 1 to 9999, where there are no dates; 9999-12-31 often means "never".
        return str(dt.datetime.fromtimestamp(value, dt.UTC).date()) if _FIRST_DAY <= value < _AFTER_LAST_DAY else ""
    decimals = max(0, -math.floor(math.log10(step)))
    return f"{value + 0.0:,.{decimals}f}" if abs(value) < 1e12 else f"{value:.4g}"


def _wrapped(line: str) -> list[str]:
    words, lines = line.split(), [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > _CHARACTERS:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _safe(words: str) -> str:
    """A name that somebody chose, for SVG: with a control character in it a picture is no XML, and opens nowhere."""
    return escape(plain(words).value)


def _text(x: float, y: float, words: str, anchor: str = "start", *, size: int = 12, weight: int = 400) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}">'
        f"{_safe(words)}</text>"
    )
