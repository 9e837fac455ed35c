"""A release of places as one HTML file: a map of what is shown, circles of its error, figures, its promise.

Flow: `dither perturb --report`. It loads nothing. The map shows noisy places alone; the owner's own page (`owner`)
draws the raw ones too, and says on top that it must not leave their hands.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from html import escape

from dither.accounting.metric import MetricLoss
from dither.mechanisms.planar import METRIC, CellNoise, Displacement, PlanarNoise, measured
from dither.secret import open_secret
from dither.session.places import Perturbed
from dither.session.places_map import caption, picture
from dither.session.places_words import epsilon_text, factor_text, length_text, say

__all__ = ["figures", "page", "promise"]

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
{picture(made, owner=owner)}
<p class="soft">{escape(caption(made, owner=owner))}</p>
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
