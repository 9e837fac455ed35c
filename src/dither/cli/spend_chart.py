"""The spend of a data set over time: drawn in a terminal, as a page that needs no network, as a Vega-Lite spec.

Flow: `dither budget chart` draws `Ledger.history`. Each meter has its own picture: what was spent climbs in steps, the
limit is a line that grants raise. Where a sharper theorem says less, its figure is marked. Floats are for the eye only.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

if TYPE_CHECKING:
    from dither.ledger.model import Reading

__all__ = ["Curve", "curves", "page", "spec", "terminal"]

_BLOCKS = " ▁▂▃▄▅▆▇█"
_HEIGHT = 8


@dataclass(frozen=True)
class Curve:
    """One meter over time."""

    meter: str
    points: tuple[tuple[dt.datetime, float, float], ...]
    """When, spent so far, limit then; oldest first, at least one."""
    closed: dt.datetime | None = None
    """When something without an epsilon closed this meter, if it did: what it shows after that decides nothing."""
    either: bool = False
    """Whether another meter admits questions as well: then this one may pass its limit."""
    sharp: tuple[tuple[dt.datetime, float], ...] = ()
    """What a sharper theorem would say at some moments, under a condition the picture must name."""

    @property
    def top(self) -> float:
        highest = max(max(spent, limit) for _, spent, limit in self.points)
        return max([highest, *(epsilon for _, epsilon in self.sharp)]) or 1.0

    @property
    def spent(self) -> float:
        return self.points[-1][1]

    @property
    def limit(self) -> float:
        return self.points[-1][2]

    def sentence(self) -> str:
        text = f"{self.meter}: {self.spent:.6g} of {self.limit:.6g} spent"
        if self.closed is not None:
            return f"{text}; closed since {self.closed:%Y-%m-%d}, by a charge that has no epsilon"
        return f"{text}; the budget holds while this meter or the other does" if self.either else text


def curves(history: Sequence[Reading], sharp: Sequence[tuple[str, Fraction]] = ()) -> tuple[Curve, ...]:
    """A curve for each meter that the budget has. history: not empty.
    sharp: (when, epsilon) by a sharper theorem, for the epsilon meter."""
    times = [dt.datetime.fromisoformat(reading.at) for reading in history]
    closed = next((at for at, reading in zip(times, history, strict=True) if reading.spent.gaussian), None)
    last, found = history[-1].budget, []
    gaussian = history[-1].spent.gaussian
    either = last.notion == "approximate" and not gaussian
    if last.epsilon is not None:
        points = [(float(one.spent.epsilon), float(one.budget.epsilon or 0)) for one in history]
        found.append(Curve("epsilon", _timed(times, points), closed if gaussian else None, either, _marks(sharp)))
    if last.notion != "pure":
        points = [(float(one.spent.rho), float(one.budget.rho_limit)) for one in history]
        found.append(Curve("rho", _timed(times, points), either=either))
    if last.delta_selection:
        points = [(float(one.spent.delta), float(one.budget.delta_selection)) for one in history]
        found.append(Curve("delta for groups", _timed(times, points)))
    return tuple(found)


def terminal(shown: Sequence[Curve], *, width: int) -> RenderableType:
    """Columns of blocks under a dashed limit, one picture a meter."""
    return Group(*(line for curve in shown for line in _picture(curve, max(width - 12, 20))))


def spec(shown: Sequence[Curve], title: str) -> dict[str, Any]:
    """A Vega-Lite 5 specification with its data inside: spent as an area in steps, the limit as a dashed line."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": title,
        "vconcat": [_view(curve) for curve in shown],
    }


def page(shown: Sequence[Curve], title: str, lines: Sequence[str] = ()) -> str:
    """A page by itself, drawn in SVG: it loads nothing and runs nothing."""
    pictures = "\n".join(f"<h2>{escape(curve.sentence())}</h2>\n{_svg(curve)}" for curve in shown)
    notes = "\n".join(f"<p>{escape(line)}</p>" for line in lines)
    return _PAGE.format(title=escape(title), pictures=pictures, notes=notes)


def _marks(sharp: Sequence[tuple[str, Fraction]]) -> tuple[tuple[dt.datetime, float], ...]:
    return tuple((dt.datetime.fromisoformat(at), float(epsilon)) for at, epsilon in sharp)


def _timed(
    times: Sequence[dt.datetime], points: Sequence[tuple[float, float]]
) -> tuple[tuple[dt.datetime, float, float], ...]:
    return tuple((at, spent, limit) for at, (spent, limit) in zip(times, points, strict=True))


def _picture(curve: Curve, width: int) -> Iterator[Text]:
    columns = list(_columns(curve, width))
    yield Text(curve.sentence(), style="bold")
    for level in range(_HEIGHT, 0, -1):
        label = f"{curve.top:.4g}" if level == _HEIGHT else "0" if level == 1 else ""
        line = Text.assemble((f"{label:>9} ┤", "dim"))
        for spent, limit, sharp in columns:
            filled = round(spent / curve.top * _HEIGHT * 8) - (level - 1) * 8
            over = spent > limit
            at_limit = min(max(math.ceil(limit / curve.top * _HEIGHT), 1), _HEIGHT) == level
            if sharp is not None and max(math.ceil(sharp / curve.top * _HEIGHT), 1) == level:
                line.append("•", style="bold magenta")
            elif over and at_limit:
                line.append("┅", style="bold yellow")
            elif filled > 0:
                line.append(_BLOCKS[min(filled, 8)], style="red" if over else "cyan")
            else:
                line.append("╌" if at_limit else " ", style="yellow")
        yield line
    start, end = curve.points[0][0], curve.points[-1][0]
    form = "%Y-%m-%d" if start.date() != end.date() else "%Y-%m-%d %H:%M:%S"
    first, last = start.strftime(form), end.strftime(form)
    gap = " " * max(width - len(first) - len(last), 1)
    yield Text(f"{'':>11}{first}{gap}{last}", style="dim")


def _columns(curve: Curve, width: int) -> Iterator[tuple[float, float, float | None]]:
    """What each column of the picture shows: the meter at the end of its share of the time, its limit, and the sharper
    figure where it is lower."""
    start, end = curve.points[0][0], curve.points[-1][0]
    span, position = (end - start) / width, 0
    for column in range(1, width + 1):
        until = end if column == width else start + span * column
        while position + 1 < len(curve.points) and curve.points[position + 1][0] <= until:
            position += 1
        _, spent, limit = curve.points[position]
        lower = [epsilon for at, epsilon in curve.sharp if at <= until][-1:]
        yield spent, limit, lower[0] if lower and lower[0] < 0.99 * spent else None


def _view(curve: Curve) -> dict[str, Any]:
    values = [{"at": at.isoformat(), "spent": spent, "limit": limit} for at, spent, limit in curve.points]
    time = {"field": "at", "type": "temporal", "title": "UTC", "scale": {"type": "utc"}}
    return {
        "width": 600,
        "height": 160,
        "title": curve.sentence(),
        "data": {"values": values},
        "layer": [
            {
                "mark": {"type": "area", "interpolate": "step-after", "opacity": 0.6, "line": True, "point": True},
                "encoding": {"x": time, "y": _amount("spent", curve)},
            },
            {
                "mark": {"type": "line", "interpolate": "step-after", "strokeDash": [6, 4], "color": "#b8860b"},
                "encoding": {"x": time, "y": _amount("limit", curve)},
            },
            *_sharp_layer(curve, time),
        ],
    }


def _amount(field: str, curve: Curve) -> dict[str, Any]:
    """All layers share one axis, so they share its title."""
    return {"field": field, "type": "quantitative", "title": curve.meter}


def _sharp_layer(curve: Curve, time: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if curve.sharp:
        yield {
            "data": {"values": [{"at": at.isoformat(), "sharp": epsilon} for at, epsilon in curve.sharp]},
            "mark": {"type": "line", "interpolate": "step-after", "point": True, "color": "#8b3a8b"},
            "encoding": {"x": time, "y": _amount("sharp", curve)},
        }


_WIDE, _HIGH, _LEFT, _UNDER = 720, 200, 70, 24
_LAST = _LEFT + (_WIDE - 4 - _LEFT) * 0.96
"""Where the last charge stands: a little before the edge, so that its step is seen."""


def _svg(curve: Curve) -> str:
    spent = _steps([(at, value) for at, value, _ in curve.points], curve)
    limit = _steps([(at, value) for at, _, value in curve.points], curve)
    sharp = f'<path class="sharp" d="{_steps(curve.sharp, curve)}"/>' if curve.sharp else ""
    start, end = curve.points[0][0], curve.points[-1][0]
    floor = _HIGH - _UNDER
    texts = [
        (_LEFT - 6, 14, "end", f"{curve.top:.4g}"),
        (_LEFT - 6, floor, "end", "0"),
        (_LEFT, _HIGH - 6, "start", f"{start:%Y-%m-%d %H:%M}"),
        (_LAST, _HIGH - 6, "end", f"{end:%Y-%m-%d %H:%M} UTC"),
    ]
    labels = "".join(f'<text x="{x:.0f}" y="{y}" text-anchor="{anchor}">{text}</text>' for x, y, anchor, text in texts)
    return (
        f'<svg viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="{escape(curve.sentence(), quote=True)}">'
        f'<path class="spent" d="{spent} V{floor} H{_LEFT} Z"/><path class="limit" d="{limit}"/>{sharp}'
        f'<path class="axis" d="M{_LEFT} 4 V{floor} H{_WIDE - 4}"/>{labels}</svg>'
    )


def _steps(points: Sequence[tuple[dt.datetime, float]], curve: Curve) -> str:
    """A path that holds each value until the next one, and the last one to the edge. points: not empty."""
    start, end = curve.points[0][0], curve.points[-1][0]
    floor, width = _HIGH - _UNDER, _LAST - _LEFT
    moments = [(at - start) / (end - start) if end > start else 0.0 for at, _ in points]
    heights = [floor - value / curve.top * (floor - 8) for _, value in points]
    path = f"M{_LEFT + moments[0] * width:.1f} {heights[0]:.1f}"
    for moment, height in zip(moments[1:], heights[1:], strict=True):
        path += f" H{_LEFT + moment * width:.1f} V{height:.1f}"
    return f"{path} H{_WIDE - 4}"


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 760px; margin: 2rem auto; padding: 0 1rem; color: #222;
  background: #fff; }}
h1 {{ font-size: 1.3rem; }} h2 {{ font-size: 1rem; margin: 1.5rem 0 .25rem; }}
svg {{ width: 100%; height: auto; }} svg text {{ font-size: 11px; fill: #555; }}
.spent {{ fill: #2a7f9e; fill-opacity: .55; }} .limit {{ fill: none; stroke: #b8860b; stroke-dasharray: 6 4;
  stroke-width: 1.5; }} .sharp {{ fill: none; stroke: #8b3a8b; stroke-width: 1.5; }}
.axis {{ fill: none; stroke: #999; }}
@media (prefers-color-scheme: dark) {{ body {{ color: #ddd; background: #181818; }} svg text {{ fill: #aaa; }} }}
</style>
<h1>{title}</h1>
{pictures}
{notes}
</html>
"""
