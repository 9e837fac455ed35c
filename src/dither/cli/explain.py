"""`dither explain`: what a question would measure, how much noise it would get, what it would cost. Free."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dither.cli.options import DEFAULT_CATALOG, As, CatalogPath, Epsilon, QuantileIntervals, Question, Rho, Within

if TYPE_CHECKING:
    from dither.plan.sketch import Sketches

__all__ = ["explain"]


def explain(
    question: Question,
    epsilon: Epsilon = None,
    rho: Rho = None,
    within: Within = None,
    quantile_intervals: QuantileIntervals = False,
    plot: Annotated[bool, typer.Option("--plot", help="Also draw where the answers would fall.")] = False,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Write that drawing as a picture; over no other file.")
    ] = None,
    as_name: As = None,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Say what a question would cost and how accurate it would be. Free; reads no protected row."""
    from dither.cli.context import asking, read_catalog, read_offer, read_question

    declared = read_catalog(catalog)
    text = read_question(question)
    read_offer(text, declared, epsilon=epsilon, rho=rho, within=within)
    with asking(declared, as_name) as session:
        explanation = session.explain(
            text, epsilon=epsilon, rho=rho, within=within, quantile_intervals=quantile_intervals
        )

    from dither.cli.screen import out
    from dither.cli.tables import explanation_table

    out().print(explanation_table(explanation))
    if plot:
        out().print(f"\n{explanation.plot()}", markup=False)
    if svg is not None:
        _write(svg, explanation.plot())


def _write(place: Path, drawn: Sketches) -> None:
    from dither.cli.screen import say
    from dither.errors import InvalidParameter

    if not drawn.pictures:
        raise InvalidParameter("--svg", expected="for a question with noise to draw", found="none")
    try:
        with place.open("x", encoding="utf-8") as file:
            file.write(drawn.stacked())
    except OSError as error:
        reason = error.strerror or "not a usable path"
        raise InvalidParameter("--svg", expected="a file that can be made", found=f"{place}: {reason}") from None
    say(f"Wrote {place}.", "dim")
