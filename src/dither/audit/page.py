"""One HTML page of an audit: a table, and for each mechanism its trade-off curve, claimed against found.

Flow: after `report.run`. Relies on nothing but strings: the page has no script and loads nothing.

The trade-off curve shows, for tests that guess which input it was, the least rate of misses at each rate of false
alarms (Dong, Roth, Su 2022). A claim (epsilon, delta) forbids everything below its line; one certified point below it
refutes the claim.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from dither.audit.bounds import probability_above, probability_below
from dither.audit.report import Result, exact_text, number, verdict_text
from dither.audit.verdicts import Finding, Point

if TYPE_CHECKING:
    from dither.audit.pipeline import PipelineAudit

__all__ = ["page", "trade_off_svg"]

_SIZE = 220
_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --soft: #6b6b6b; --line: #d0d0d0; --claim: #8a8a8a;
        --found: #b3261e; --exact: #1f5fa8; --paper: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --soft: #a0a0a0; --line: #444; --claim: #999; --found: #ff8a80; --exact: #8ab4f8;
          --paper: #161616; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 76rem;
       margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
th:nth-child(-n+2), td:nth-child(-n+2), th:last-child, td:last-child { text-align: left; }
.pipeline th, .pipeline td { text-align: left; vertical-align: top; }
.pipeline .check { padding-top: 1.2rem; border-bottom-width: 2px; }
.pipeline code { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85em; }
.violated { color: var(--found); font-weight: 600; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: 1.5rem; margin-top: 2rem; }
h2 { font-size: 1rem; margin: 0 0 .2rem; } p { margin: .2rem 0; color: var(--soft); font-size: .85rem; }
svg { width: 100%; height: auto; } .axis { stroke: var(--line); fill: none; }
.claim { stroke: var(--claim); stroke-dasharray: 4 3; fill: none; }
.exact { stroke: var(--exact); fill: none; stroke-width: 1.5; }
.found { stroke: var(--found); fill: none; stroke-width: 1.5; }
.box { fill: var(--found); fill-opacity: .35; stroke: var(--found); }
text { fill: var(--soft); font-size: 10px; }
"""


def page(results: Sequence[Result], *, title: str = "Audit", pipeline: PipelineAudit | None = None) -> str:
    """The whole page as text: the audited mechanisms, and the audit of the pipeline where there is one."""
    parts = [_mechanisms(results, title)] if results or pipeline is None else []
    parts += [pipeline.section()] if pipeline is not None else []
    body = "\n".join(parts)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><style>{_STYLE}</style></head><body>
{body}
</body></html>
"""


def _mechanisms(results: Sequence[Result], title: str) -> str:
    rows = "\n".join(_row(each) for each in results)
    cards = "\n".join(_card(each) for each in results)
    heads = "".join(
        f"<th>{each}</th>"
        for each in ("", "mechanism", "claimed", "true", "exact for the pair", "sampled &ge;", "calls", "s", "verdict")
    )
    return f"""<h1>{escape(title)}</h1>
<p>Dashed: what the claim allows. Blue: the exact law. Red: events found by sampling, an estimate; the box is the
confirmed event with its bounds. Anything certified below the dashed line refutes the claim. "Not refuted" never means
private.</p>
<table><thead><tr>{heads}</tr></thead><tbody>
{rows}
</tbody></table>
<div class="cards">
{cards}
</div>"""


def trade_off_svg(
    *, claimed: float, delta: float, exact: Sequence[Point] = (), finding: Finding | None = None, name: str = ""
) -> str:
    """Misses against false alarms: the claim's line, the exact curve, the events found, the confirmed box."""
    slope = math.exp(min(claimed, 50.0))
    corner = (1 - delta) / (1 + slope)
    claim = [(0.0, 1 - delta), (corner, corner), (1 - delta, 0.0)]
    parts = [
        f'<rect class="axis" x="20" y="10" width="{_SIZE}" height="{_SIZE}"/>',
        _line("claim", claim),
        _line("exact", exact) if exact else "",
        _line("found", [(0.0, 1.0), *finding.points, (1.0, 0.0)]) if finding else "",
        _box(finding) if finding else "",
        f'<text x="{20 + _SIZE}" y="{_SIZE + 24}" text-anchor="end">false alarms</text>',
        '<text x="10" y="14" transform="rotate(-90 10 14)" text-anchor="end">misses</text>',
    ]
    label = escape(f"Trade-off curve of {name}", quote=True)
    return f'<svg viewBox="0 0 {_SIZE + 30} {_SIZE + 32}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _row(result: Result) -> str:
    finding = result.finding
    cells = [
        str(result.row.number),
        escape(result.row.name),
        f"{result.row.claimed:.4g}",
        number(result.row.true_epsilon),
        exact_text(result.exact),
        f"{finding.epsilon_lower:.4f}" if finding else "-",
        f"{finding.calls:,}" if finding else "-",
        f"{finding.seconds:.1f}" if finding else "-",
    ]
    mark = ' class="violated"' if result.refuted else ""
    return "<tr>" + "".join(f"<td>{each}</td>" for each in cells) + f"<td{mark}>{verdict_text(result)}</td></tr>"


def _card(result: Result) -> str:
    finding = result.finding
    event = f"<p>{escape(str(finding.event))}</p>" if finding else ""
    picture = trade_off_svg(
        claimed=result.row.claimed,
        delta=finding.delta if finding else 0.0,
        exact=result.curve,
        finding=finding,
        name=result.row.name,
    )
    return f"<section><h2>{escape(result.row.name)}</h2><p>{escape(result.row.about)}</p>{picture}{event}</section>"


def _line(kind: str, points: Sequence[Point]) -> str:
    path = " ".join(f"{_across(a):.1f},{_down(b):.1f}" for a, b in points)
    return f'<polyline class="{kind}" points="{path}"/>'


def _box(finding: Finding) -> str:
    """Both rates of the confirmed event between their 95 % bounds; drawn the way round that the curves are."""
    ends = [
        (float(probability_below(hits, trials, 0.025)), float(probability_above(hits, trials, 0.025)))
        for hits, trials in zip(finding.hits, finding.trials, strict=True)
    ]
    (one_low, one_high), (two_low, two_high) = ends
    if finding.event.swapped:
        # Likelier on the second input: not seeing it is the evidence for the first.
        left, right, low, high = 1 - one_high, 1 - one_low, two_low, two_high
    else:
        left, right, low, high = two_low, two_high, 1 - one_high, 1 - one_low
    width, height = max((right - left) * _SIZE, 3.0), max((high - low) * _SIZE, 3.0)
    x, y = _across((left + right) / 2) - width / 2, _down((low + high) / 2) - height / 2
    return f'<rect class="box" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def _across(rate: float) -> float:
    return 20 + _SIZE * rate


def _down(rate: float) -> float:
    return 10 + _SIZE * (1 - rate)
