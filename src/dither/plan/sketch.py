"""Where answers fall: the law of the noise as a small picture, for a terminal or a page. Around the truth, seldom far.

Flow: `Explanation.plot()` and `dither explain --plot`. Shares are those of the exact law (`coverage`), bar by bar, and
no number of the data is in them: zero is wherever the truth is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from dither.noise import DiscreteGaussian, DiscreteLaplace
from dither.plan.laws import MarginalLaw

if TYPE_CHECKING:
    from dither.plan.explain import VectorPlan

__all__ = ["Sketch", "Sketches", "sketch", "sketches"]

_MOST_BARS = 41
_ROWS = 5
_BLOCKS = " ▁▂▃▄▅▆▇█"
_SHOWN = 0.995
_WIDTH, _HEIGHT, _BASE, _SIDE = 520, 170, 128, 16


@dataclass(frozen=True)
class Sketch:
    """One noisy number. Bars are symmetric around the truth; offsets are in the unit of the data."""

    what: str
    mechanism: str
    width: float
    """Of a bar."""
    shares: tuple[float, ...]
    """Of answers in each bar, from far below the truth to far above: an odd number of them."""
    half: float
    """Half of the answers are within it."""
    half_width: float
    """95 % are."""
    reach: float
    """What is drawn holds 99.5 %."""

    @property
    def sentence(self) -> str:
        return (
            f"Half of the answers are within {_number(self.half)} of the truth, "
            f"95 % within {_number(self.half_width)}, 99.5 % within {_number(self.reach)}."
        )

    def offset(self, bar: int) -> float:
        """Of a bar's middle."""
        return (bar - len(self.shares) // 2) * self.width

    def __str__(self) -> str:
        top = max(self.shares)
        eighths = [max(1, round(share / top * _ROWS * 8)) if share > 0 else 0 for share in self.shares]
        lines = [f"{self.what}: {self.mechanism}"]
        for row in range(_ROWS - 1, -1, -1):
            lines.append("  " + "".join(_BLOCKS[min(8, max(0, eighth - 8 * row))] for eighth in eighths).rstrip())
        axis = ["─"] * len(self.shares)
        middle = len(self.shares) // 2
        at = min(middle, round(self.half_width / self.width))
        for place in (middle - at, middle, middle + at):
            axis[place] = "┴"
        lines.append("  " + "".join(axis))
        ends = {middle - at: f"-{_number(self.half_width)}", middle + at: f"+{_number(self.half_width)}"}
        lines.append(_labels({**(ends if at else {}), middle: "truth"}))
        return "\n".join([*lines, "  " + self.sentence])

    @property
    def svg(self) -> str:
        """A picture on its own: no script, no link; text in the colour of its surroundings."""
        top, count = max(self.shares), len(self.shares)
        wide = (_WIDTH - 2 * _SIDE) / count
        bars = []
        for bar, share in enumerate(self.shares):
            tall = share / top * (_BASE - 28)
            inside = abs(self.offset(bar)) <= self.half_width
            bars.append(
                f'<rect x="{_SIDE + bar * wide + 0.5:.1f}" y="{_BASE - tall:.1f}" width="{max(wide - 1, 0.8):.1f}" '
                f'height="{tall:.1f}" fill="#2f6fde" fill-opacity="{0.9 if inside else 0.35}"/>'
            )
        middle = _WIDTH / 2
        at = self.half_width / self.width * wide
        marks = [(middle - at, f"−{_number(self.half_width)}"), (middle, "truth")]
        marks.append((middle + at, f"+{_number(self.half_width)}"))
        ticks = "".join(
            f'<line x1="{x:.1f}" y1="{_BASE}" x2="{x:.1f}" y2="{_BASE + 5}" stroke="currentColor"/>'
            f'<text x="{x:.1f}" y="{_BASE + 19}" text-anchor="middle">{escape(label)}</text>'
            for x, label in marks
        )
        title = escape(f"{self.what}: {self.mechanism}")
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            f'width="{_WIDTH}" height="{_HEIGHT}" role="img" '
            f'aria-label="{title}. {escape(self.sentence)}" font-family="system-ui,sans-serif" font-size="12" '
            f'fill="currentColor"><text x="{_SIDE}" y="16">{title}</text>{"".join(bars)}'
            f'<line x1="{_SIDE}" y1="{_BASE}" x2="{_WIDTH - _SIDE}" y2="{_BASE}" stroke="currentColor"/>{ticks}'
            f'<text x="{_SIDE}" y="{_HEIGHT - 6}" font-size="11">{escape(self.sentence)}</text></svg>'
        )


@dataclass(frozen=True)
class Sketches:
    """One picture for each measured number that has one, and a sentence for each that has none."""

    pictures: tuple[Sketch, ...]
    without: tuple[str, ...]

    def __str__(self) -> str:
        return "\n\n".join([*map(str, self.pictures), *self.without])

    def stacked(self) -> str:
        """One SVG file with all pictures, one under the other, dark on white."""
        tall = _HEIGHT * len(self.pictures)
        inner = "".join(
            f'<g transform="translate(0 {_HEIGHT * i})">{picture.svg}</g>' for i, picture in enumerate(self.pictures)
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {tall}" '
            f'width="{_WIDTH}" height="{tall}" color="#1a1a1a">'
            f'<rect width="{_WIDTH}" height="{tall}" fill="#fff"/>{inner}</svg>\n'
        )

    def _repr_html_(self) -> str:
        pictures = "".join(f"<div>{picture.svg}</div>" for picture in self.pictures)
        return pictures + "".join(f"<p>{escape(line)}</p>" for line in self.without)


def sketches(vectors: Sequence[VectorPlan]) -> Sketches:
    pictures, without = [], []
    for vector in vectors:
        if vector.known:
            without.append(f"{vector.what}: released before; its noise is drawn already.")
        elif isinstance(vector.law, DiscreteLaplace | DiscreteGaussian):
            pictures.append(sketch(vector.what, f"{vector.mechanism} {vector.scale:.4g}", vector.law, vector.step))
        elif isinstance(vector.law, MarginalLaw):
            # A rounded sum of discrete Gaussians: drawn as one of the same variance.
            like = DiscreteGaussian(vector.law.variance())
            pictures.append(sketch(vector.what, f"{vector.mechanism} {vector.scale:.4g}", like, vector.step))
        elif math.isfinite(vector.half_width):
            without.append(f"{vector.what}: {vector.mechanism}; its noise differs from place to place.")
        else:
            without.append(f"{vector.what}: a value is chosen by its rank; how far off it is depends on the data.")
    return Sketches(tuple(pictures), tuple(without))


def sketch(what: str, mechanism: str, law: DiscreteLaplace | DiscreteGaussian, step: float) -> Sketch:
    """The picture of one law. step: of its integers, in the unit of the data."""
    reach = law.half_width(_SHOWN)
    # Odd, so that the middle bar is as wide to both sides of zero.
    wide = max(1, math.ceil((2 * reach + 1) / _MOST_BARS)) | 1
    inner = (wide - 1) // 2
    beside = max(1, math.ceil((reach - inner) / wide))
    within = [law.coverage(inner + bar * wide) for bar in range(beside + 1)]
    right = [(outer - nearer) / 2 for nearer, outer in itertools.pairwise(within)]
    shares = (*reversed(right), within[0], *right)
    return Sketch(
        what, mechanism, wide * step, shares, law.half_width(0.5) * step, law.half_width(0.95) * step, reach * step
    )


def _labels(places: dict[int, str]) -> str:
    """Texts centred under their places; one that would touch its neighbour is left out."""
    line = ""
    for place, label in sorted(places.items()):
        start = max(0, 2 + place - len(label) // 2)
        if start > len(line) or not line:
            line = line.ljust(start) + label
    return line


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"
