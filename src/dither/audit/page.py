"""One HTML page of an audit: a table, and for each mechanism its trade-off curve, claimed against found.

Flow: after `report.run`. Relies on nothing but strings: the page has no script and loads nothing.

The trade-off curve shows, for tests that guess which input it was, the least rate of misses at each rate of false
alarms (Dong, Roth, Su 2022). A claim (epsilon, delta) forbids everything below its line; one certified point below it
refutes the claim. At a small epsilon all curves hug the diagonal, so each is drawn again as its height over the
diagonal, to a scale of its own.
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
    from dither.audit.symbolic import Proof

__all__ = ["gain_svg", "page", "trade_off_svg"]

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
.pipeline td:last-child { white-space: nowrap; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: 0 1.5rem; margin-top: 2rem; }
.cards section { display: grid; grid-template-rows: subgrid; grid-row: span 6; align-items: start;
                 margin-bottom: 2rem; }
pre { overflow-x: auto; line-height: 1.25; } .proof li { margin-bottom: 1rem; }
.proof p { font-size: 1rem; color: inherit; }
h2 { font-size: 1rem; margin: 0 0 .2rem; } p { margin: .2rem 0; color: var(--soft); font-size: .85rem; }
svg { width: 100%; height: auto; } .axis { stroke: var(--line); fill: none; }
.claim { stroke: var(--claim); stroke-dasharray: 4 3; fill: none; }
.exact { stroke: var(--exact); fill: none; stroke-width: 1.5; }
.found { stroke: var(--found); fill: none; stroke-width: 1.5; }
.box { fill: var(--found); fill-opacity: .35; stroke: var(--found); } .dot { fill: var(--found); }
text { fill: var(--soft); font-size: 10px; }
"""


def page(
    results: Sequence[Result],
    *,
    title: str = "Audit",
    pipeline: PipelineAudit | None = None,
    proofs: Sequence[Proof] = (),
) -> str:
    """The whole page as text: the audited mechanisms, the audit of the pipeline where there is one, and proofs."""
    parts = [_mechanisms(results, title)] if results or (pipeline is None and not proofs) else []
    parts += [pipeline.section()] if pipeline is not None else []
    parts += [_proof(each) for each in proofs]
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
    brackets = "" if all(each.as_expected for each in results) else " A verdict in brackets is not the one expected."
    return f"""<h1>{escape(title)}</h1>
<p>Dashed: what the claim allows. Blue: the exact law. Red: events found by sampling, an estimate; the box is the
confirmed event with its bounds. Anything certified below the dashed line refutes the claim. Beneath, the same as height
over the diagonal, 1 less misses and false alarms, to its own scale: there a dot above the dashed line refutes the
claim. "Not refuted" never means private.{brackets}</p>
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
    parts = [
        f'<rect class="axis" x="20" y="10" width="{_SIZE}" height="{_SIZE}"/>',
        _line("claim", _claim(claimed, delta)),
        _line("exact", exact) if exact else "",
        _line("found", [(0.0, 1.0), *finding.points, (1.0, 0.0)]) if finding else "",
        _box(finding) if finding else "",
        f'<text x="{20 + _SIZE}" y="{_SIZE + 24}" text-anchor="end">false alarms</text>',
        '<text x="10" y="14" transform="rotate(-90 10 14)" text-anchor="end">misses</text>',
    ]
    label = escape(f"Trade-off curve of {name}", quote=True)
    return f'<svg viewBox="0 0 {_SIZE + 30} {_SIZE + 32}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def gain_svg(
    *, claimed: float, delta: float, exact: Sequence[Point] = (), finding: Finding | None = None, name: str = ""
) -> str:
    """The same curves as their height over the diagonal, 1 - misses - false alarms, to a scale of their own."""
    found = [(0.0, 1.0), *finding.points, (1.0, 0.0)] if finding else []
    curves = [("claim", _claim(claimed, delta)), ("exact", exact), ("found", found)]
    most = max(1 - a - b for _, points in curves for a, b in points)
    height = _SIZE / 2

    def at(point: Point) -> tuple[float, float]:
        return _across(point[0]), 10 + height * (1 - (1 - point[0] - point[1]) / (most or 1.0))

    parts = [f'<rect class="axis" x="20" y="10" width="{_SIZE}" height="{height}"/>']
    parts += [_polyline(kind, [at(point) for point in points]) for kind, points in curves if points]
    if finding is not None:
        _, right, _, high = _rates(finding)
        if right + high < 1:
            x, y = at((right, high))
            parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>')
    parts.append(f'<text x="{20 + _SIZE}" y="{height + 24}" text-anchor="end">false alarms</text>')
    parts.append(f'<text x="20" y="{height + 24}">gain, up to {most:.2g}</text>')
    label = escape(f"Gain over guessing of {name}", quote=True)
    return f'<svg viewBox="0 0 {_SIZE + 30} {height + 32:g}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _claim(claimed: float, delta: float) -> list[Point]:
    corner = (1 - delta) / (1 + math.exp(min(claimed, 50.0)))
    return [(0.0, 1 - delta), (corner, corner), (1 - delta, 0.0)]


def _row(result: Result) -> str:
    finding = result.finding
    cells = [
        str(result.row.number or ""),
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
    row, finding = result.row, result.finding
    known = [f"claimed {row.claimed:.4g}"]
    known += [f"exact {exact_text(result.exact)}"] if result.exact else []
    known += [f"sampled &ge; {finding.epsilon_lower:.4f}"] if finding else []
    event = f"event: {escape(str(finding.event))}" if finding else ""
    pictures = "".join(
        draw(
            claimed=row.claimed,
            delta=finding.delta if finding else 0.0,
            exact=result.curve,
            finding=finding,
            name=row.name,
        )
        for draw in (trade_off_svg, gain_svg)
    )
    return (
        f"<section><h2>{escape(row.name)}</h2><p>{escape(row.about)}</p><p>{', '.join(known)}</p>"
        f"{pictures}<p>{event}</p></section>"
    )


def _proof(proof: Proof) -> str:
    words = {True: "<b>checked</b>", False: '<b class="violated">fails</b>'}
    steps = "\n".join(
        f"<li><p>{escape(step.statement)} {words[step.holds]}</p><pre>{escape(step.formula)}</pre></li>"
        for step in proof.steps
    )
    end = "Proved." if proof.holds else "Not proved."
    return f'<div class="proof"><h1>{escape(proof.claim)}</h1>\n<ol>\n{steps}\n</ol>\n<p>{end}</p></div>'


def _line(kind: str, points: Sequence[Point]) -> str:
    return _polyline(kind, [(_across(a), _down(b)) for a, b in points])


def _polyline(kind: str, points: Sequence[Point]) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline class="{kind}" points="{path}"/>'


def _rates(finding: Finding) -> tuple[float, float, float, float]:
    """Bounds of the confirmed event's false alarms and misses, each end wrong with half the finding's error."""
    error = (1 - finding.confidence) / 2
    ends = [
        (float(probability_below(hits, trials, error)), float(probability_above(hits, trials, error)))
        for hits, trials in zip(finding.hits, finding.trials, strict=True)
    ]
    (one_low, one_high), (two_low, two_high) = ends
    if finding.event.swapped:
        # Likelier on the second input: not seeing it is the evidence for the first.
        return 1 - one_high, 1 - one_low, two_low, two_high
    return two_low, two_high, 1 - one_high, 1 - one_low


def _box(finding: Finding) -> str:
    """Both rates of the confirmed event between their bounds; drawn the way round that the curves are."""
    left, right, low, high = _rates(finding)
    width, height = max((right - left) * _SIZE, 3.0), max((high - low) * _SIZE, 3.0)
    x, y = _across((left + right) / 2) - width / 2, _down((low + high) / 2) - height / 2
    return f'<rect class="box" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def _across(rate: float) -> float:
    return 20 + _SIZE * rate


def _down(rate: float) -> float:
    return 10 + _SIZE * (1 - rate)
