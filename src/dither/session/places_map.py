"""The map of a release of places, as plain SVG: what is shown, and how far the truth may be.

Flow: `places_page` puts it on the page. Colours are the page's. Only `owner` draws raw places.
"""

from __future__ import annotations

import math
from html import escape

import numpy as np
import numpy.typing as npt

from dither.mechanisms.planar import CellNoise
from dither.secret import open_secret
from dither.session.places import Perturbed
from dither.session.places_words import length_text

__all__ = ["caption", "picture"]

Floats = npt.NDArray[np.float64]

_SIDE, _EDGE = 720, 24
_MOST_DOTS = 4_000
_CIRCLES = 12
_LARGEST_CELL = 22.0


def picture(made: Perturbed, *, owner: bool) -> str:
    """The map. Rows were put in an order drawn at random, so the first of them are a fair sample."""
    shown = made.points[:_MOST_DOTS]
    raw = open_secret(made.raw)[:_MOST_DOTS] if owner else np.empty((0, 2))
    request = made.request
    region = np.empty((0, 2)) if request.region is None else request.region.corners
    cells = request.noise.mechanism.cells if isinstance(request.noise, CellNoise) else np.empty((0, 2))
    place, scale, height = _frame(shown, np.concatenate([raw, region, cells]))
    parts = []
    if request.region is not None:
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in place(region))
        parts.append(f'<polygon points="{corners}" class="region"/>')
    if owner:
        ends = zip(place(raw), place(shown), strict=True)
        parts += [
            f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{x:.1f}" y2="{y:.1f}" class="moved"/>' for (a, b), (x, y) in ends
        ]
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" class="raw"/>' for x, y in place(raw)]
    if isinstance(request.noise, CellNoise):
        parts += _by_cell(made.points, cells, place)
    else:
        parts += _dots(shown, _radius_m(made) * scale, place)
    parts.append(_scale_bar(scale, height))
    label = "Map of the noisy places" + (" and the raw ones" if owner else "")
    return f'<svg viewBox="0 0 {_SIDE} {height:.0f}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def caption(made: Perturbed, *, owner: bool) -> str:
    """What the map shows, in words."""
    raw = " Red: the raw places, joined to what is shown for them." if owner else ""
    if isinstance(made.request.noise, CellNoise):
        return f"Each cell's disc is as large as the number of the {len(made.points):,} places shown there.{raw}"
    dots = min(len(made.points), _MOST_DOTS)
    some = f"{dots:,} of {len(made.points):,} noisy places" if dots < len(made.points) else f"{dots:,} noisy places"
    circle = f"A circle around some of them, of radius {length_text(_radius_m(made))}, holds the true place with 95 %"
    return f"{some}. {circle}{' in the trial below' if _moved(made) else ' where nothing else is known'}.{raw}"


def _moved(made: Perturbed) -> bool:
    """Whether anything was done after the noise."""
    return made.request.prior is not None or made.request.region is not None


def _radius_m(made: Perturbed) -> float:
    return made.trial.within_95_m if _moved(made) else made.law.within_95_m


def _dots(shown: Floats, radius: float, place: _Frame) -> list[str]:
    size = 3 if len(shown) < 500 else 2
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" class="dot"/>' for x, y in place(shown)]
    return dots + [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" class="circle"/><circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
        for x, y in place(shown[:_CIRCLES])
    ]


def _by_cell(points: Floats, cells: Floats, place: _Frame) -> list[str]:
    """A disc on each cell, its area the number of places shown there."""
    counts = [int(np.count_nonzero(np.all(points == cell, axis=1))) for cell in cells]
    sizes = [_LARGEST_CELL * math.sqrt(count / max(counts)) for count in counts]
    discs = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" class="dot"><title>{count:,}</title></circle>'
        for (x, y), size, count in zip(place(cells), sizes, counts, strict=True)
    ]
    return discs + [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.5"/>' for x, y in place(cells)]


class _Frame:
    """From metres to the picture's units."""

    def __init__(self, west: float, north: float, scale: float) -> None:
        self._west, self._north, self._scale = west, north, scale

    def __call__(self, points: Floats) -> list[tuple[float, float]]:
        x, y = np.asarray(points, dtype=np.float64).reshape(-1, 2).T
        return list(
            zip((_EDGE + (x - self._west) * self._scale).tolist(), (_EDGE + (self._north - y) * self._scale).tolist(),
                strict=True)
        )  # fmt: skip


def _frame(shown: Floats, others: Floats) -> tuple[_Frame, float, float]:
    """(map, picture units per metre, height). About all that is drawn, but for the farthest thousandth of what is shown
    on each side."""
    everything = np.concatenate([np.quantile(shown, [0.001, 0.999], axis=0), others])
    (west, south), (east, north) = everything.min(axis=0), everything.max(axis=0)
    wide, tall = max(east - west, 1.0), max(north - south, 1.0)
    wide = max(wide, tall / 1.5)
    tall = max(tall, wide / 2.5)
    scale = (_SIDE - 2 * _EDGE) / wide
    middle = (west + east) / 2, (south + north) / 2
    frame = _Frame(middle[0] - wide / 2, middle[1] + tall / 2, scale)
    return frame, scale, tall * scale + 2 * _EDGE + 20


def _scale_bar(scale: float, height: float) -> str:
    """About a fifth of the width, in 1, 2 or 5 times a power of ten metres."""
    aim = _SIDE / 5 / scale
    power = 10.0 ** math.floor(math.log10(aim))
    length = next(step * power for step in (5.0, 2.0, 1.0) if step * power <= aim)
    x, y = _EDGE, height - 14
    end = x + length * scale
    return (
        f'<line x1="{x}" y1="{y:.1f}" x2="{end:.1f}" y2="{y:.1f}" class="bar"/>'
        f'<text x="{end + 8:.1f}" y="{y + 4:.1f}">{escape(length_text(length))}</text>'
    )
