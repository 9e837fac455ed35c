"""A release of places as one HTML file: a map of what is shown, circles of its error, figures, its promise.

Flow: `dither perturb --report`. It loads nothing. The map shows noisy places alone; the owner's own page (`owner`)
draws the raw ones too, and says on top that it must not leave their hands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from html import escape

import numpy as np
import numpy.typing as npt

from dither.accounting.metric import MetricLoss
from dither.mechanisms.planar import METRIC, CellNoise, Displacement, PlanarNoise, measured
from dither.secret import open_secret
from dither.session.places import Perturbed
from dither.session.places_words import epsilon_text, factor_text, length_text, say

__all__ = ["figures", "page", "promise"]

Floats = npt.NDArray[np.float64]

_SIDE, _EDGE = 720, 24
_MOST_DOTS = 4_000
_CIRCLES = 12

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --soft: #5f5f5f; --line: #d4d4d4; --shown: #0b7285; --raw: #c92a2a;
  --paper: #fff; --land: #f3f5f4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --soft: #a6a6a6; --line: #444; --shown: #66d9e8;
  --raw: #ff8787; --paper: #161616; --land: #20262a; } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 50rem;
  margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.5rem; margin: 0 0 .4rem; } h2 { font-size: 1.08rem; margin: 1.8rem 0 .4rem; }
p { margin: .5rem 0; } .soft { color: var(--soft); font-size: .92rem; }
.owner { border: 2px solid var(--raw); color: var(--raw); padding: .6rem .8rem; font-weight: 600; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem 1.2rem .3rem 0; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
svg { width: 100%; height: auto; background: var(--land); border: 1px solid var(--line); }
svg text { font: 13px system-ui, sans-serif; fill: var(--ink); }
svg circle { fill: var(--ink); } svg .dot { fill: var(--shown); fill-opacity: .75; }
svg .circle { fill: none; stroke: var(--ink); stroke-width: 1.5; }
.region { fill: var(--paper); stroke: var(--soft); } svg .raw { fill: var(--raw); }
.moved { stroke: var(--raw); stroke-opacity: .5; } .bar { stroke: var(--ink); stroke-width: 2; }
"""


def page(made: Perturbed, *, owner: bool = False) -> str:
    """The whole page. owner: with the raw places, for nobody else."""
    title = say("title", name=made.request.source.name)
    heads = "".join(f"<th>{head}</th>" for head in ("", "mean", "median", "95 % within"))
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in figures(made, owner=owner)
    )
    limits = "".join(f"<p>{escape(say(key))}</p>" for key in ("not_presence", "not_dp", "not_columns"))
    warning = (
        '<p class="owner">For the owner alone: this page shows the raw places. It has no protection at all; do not '
        "send or publish it.</p>"
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><style>{_STYLE}</style></head><body>
<h1>{escape(title)}</h1>{warning if owner else ""}
{"".join(f"<p>{escape(sentence)}</p>" for sentence in promise(made))}
<h2>Where they are shown</h2>
{_map(made, owner=owner)}
<p class="soft">{escape(_caption(made, owner=owner))}</p>
<h2>How far from where they are</h2>
<table><tr>{heads}</tr>{rows}</table>
<p class="soft">{escape(_about_figures(made, owner=owner))}</p>
<h2>{escape(say("h_not").partition(" ")[2])}</h2>{limits}
</body></html>
"""


def promise(made: Perturbed) -> Sequence[str]:
    """What the release guarantees and cost, in sentences."""
    noise, count = made.request.noise, made.request.points_per_person
    slack = length_text(float(noise.slack))
    why = "twice what a place may be away from the cell it counts as"
    if isinstance(noise, PlanarNoise):
        step = length_text(float(noise.lattice.step))
        why = f"sqrt(2) times the step of {step} of the lattice that places are rounded to first"
    near = Fraction(1000)
    apart = factor_text(MetricLoss(noise.epsilon, METRIC), near + noise.slack)
    points = "" if count == 1 else f" All {count} points of a person together: {count} times that epsilon."
    left = "" if made.left is None else f"; {epsilon_text(made.left)} is left"
    return (
        f"Each place is protected at {made.request.words}: what is shown changes the odds of two such places by no "
        f"more, and of places {length_text(float(near))} apart by at most {apart}.{points}",
        f"For raw places d metres apart the exponent is epsilon (d + {slack}), epsilon "
        f"{epsilon_text(noise.point_loss)} per metre; {slack} is {why}.",
        f"Charged: {epsilon_text(made.loss)} per metre. All releases in this ledger: {epsilon_text(made.total)}{left}.",
    )


def figures(made: Perturbed, *, owner: bool = False) -> list[tuple[str, str, str, str]]:
    """Rows of (what, mean, median, 95 %), in metres. owner: also of the raw places, for nobody else."""
    cells = isinstance(made.request.noise, CellNoise)
    found = [("the cell shown, by the table" if cells else "the noise, by its law", made.law)]
    after = [made.request.prior is not None and "remapped", made.request.region is not None and "moved into the region"]
    steps = " and ".join(each for each in after if each)
    found.append((f"fresh noise, {steps}" if steps else "fresh noise, measured", made.trial))
    if owner:
        found.append(("these very places", measured(made.points, open_secret(made.raw))))
    return [_figure_row(what, each) for what, each in found]


def _figure_row(what: str, each: Displacement) -> tuple[str, str, str, str]:
    return what, length_text(each.mean_m), length_text(each.median_m), length_text(each.within_95_m)


def _about_figures(made: Perturbed, *, owner: bool) -> str:
    where = "places drawn from the prior" if made.request.prior is not None else "the public centre"
    if made.request.prior is None and made.request.region is not None:
        where = "places all over the region"
    if isinstance(made.request.noise, CellNoise):
        told = "From the true cell to the one shown, over the prior: by the table, and on fresh draws from it."
    else:
        told = f"By the law: 2/epsilon, 1.678/epsilon, 4.744/epsilon. Measured: on fresh draws about {where}."
    untold = "How far these very places moved is not told: with the noisy place it would give the raw one away."
    return told if owner else f"{told} {untold}"


def _caption(made: Perturbed, *, owner: bool) -> str:
    dots = min(len(made.points), _MOST_DOTS)
    some = f"{dots:,} of {len(made.points):,} noisy places" if dots < len(made.points) else f"{dots:,} noisy places"
    raw = " Red: the raw places, joined to what is shown for them." if owner else ""
    circle = f"A circle around some of them, of radius {length_text(_radius_m(made))}, holds the true place with 95 %"
    return f"{some}. {circle}{' in the trial below' if _moved(made) else ' where nothing else is known'}.{raw}"


def _moved(made: Perturbed) -> bool:
    """Whether anything was done after the noise."""
    request = made.request
    return request.prior is not None or request.region is not None or isinstance(request.noise, CellNoise)


def _radius_m(made: Perturbed) -> float:
    return made.trial.within_95_m if _moved(made) else made.law.within_95_m


def _map(made: Perturbed, *, owner: bool) -> str:
    # Rows were put in an order drawn at random, so the first of them are a fair sample.
    shown = made.points[:_MOST_DOTS]
    raw = open_secret(made.raw)[:_MOST_DOTS] if owner else np.empty((0, 2))
    place, scale, height = _frame(shown, raw, None if made.request.region is None else made.request.region.corners)
    radius = _radius_m(made) * scale
    parts = []
    if made.request.region is not None:
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in place(made.request.region.corners))
        parts.append(f'<polygon points="{corners}" class="region"/>')
    if owner:
        ends = zip(place(raw), place(shown), strict=True)
        parts += [
            f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{x:.1f}" y2="{y:.1f}" class="moved"/>' for (a, b), (x, y) in ends
        ]
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" class="raw"/>' for x, y in place(raw)]
    size = 3 if len(shown) < 500 else 2
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" class="dot"/>' for x, y in place(shown)]
    parts += [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" class="circle"/><circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
        for x, y in place(shown[:_CIRCLES])
    ]
    parts.append(_scale_bar(scale, height))
    label = "Map of the noisy places" + (" and the raw ones" if owner else "")
    return f'<svg viewBox="0 0 {_SIDE} {height:.0f}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


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


def _frame(shown: Floats, raw: Floats, corners: Floats | None) -> tuple[_Frame, float, float]:
    """(map, picture units per metre, height). About all that is drawn, but for the farthest thousandth on each side."""
    drawn = [np.quantile(shown, [0.001, 0.999], axis=0), *([raw] if len(raw) else [])]
    drawn += [] if corners is None else [corners]
    everything = np.concatenate(drawn)
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
