"""`dither series`: a total that is released every day, paid for once: open it, advance it, show it, extend it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli.options import DEFAULT_CATALOG, As, CatalogPath, Epsilon, Question, Rho

if TYPE_CHECKING:
    from dither.session.series import Series
    from dither.session.series_explain import SeriesExplanation
    from dither.session.series_rows import SeriesDay

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Release a total every day, paid for once.")


class Format(StrEnum):
    table = "table"
    json = "json"


Name = Annotated[str, typer.Argument(metavar="NAME", help="What the series is called.")]
Written = Annotated[Format, typer.Option("--format", "-f", help="How to write it.")]


@app.command("open")
def open_series(
    name: Name,
    question: Question,
    first: Annotated[str, typer.Option("--first", metavar="DATE", help="Its first day, such as 2026-01-01.")],
    days: Annotated[int, typer.Option("--days", help="For how many days it is paid now.")],
    epsilon: Epsilon = None,
    rho: Rho = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show price and accuracy; open and charge nothing.")
    ] = False,
    format: Written = Format.table,
    as_name: As = None,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Begin a series, SELECT day, COUNT(*) FROM t GROUP BY day, and charge all its days; a name again costs nothing."""
    from dither.cli.context import asking, read_catalog, read_offer, read_question

    declared = read_catalog(catalog)
    text = read_question(question)
    read_offer(text, declared, epsilon=epsilon, rho=rho)
    with asking(declared, as_name, begin=not dry_run) as session:
        if dry_run:
            from dither.session.series import foresee_series

            found = foresee_series(session, text, name=name, first=first, days=days, epsilon=epsilon, rho=rho)
        else:
            found = session.series(text, name=name, first=first, days=days, epsilon=epsilon, rho=rho).explain()
        _explained(found, format)


@app.command("advance")
def advance(
    name: Name,
    through: Annotated[
        str | None,
        typer.Option("--through", metavar="DATE", help="The last day to release; by default yesterday (UTC)."),
    ] = None,
    complete: Annotated[
        bool, typer.Option("--complete", help="My word that all rows of that day have come, whatever the clock says.")
    ] = False,
    format: Written = Format.table,
    as_name: As = None,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Release every day that is over and not yet released. Costs nothing."""
    from dither.cli.context import asking, read_catalog
    from dither.cli.screen import say, working

    with asking(read_catalog(catalog), as_name, begin=False) as session, working("Advancing"):
        series = session.series(name=name)
        rows = series.advance(through, complete=complete)
    if not rows and format is Format.table:
        say("Nothing to release: no further day is over and paid for.")
        return
    _days(series, rows, format)


@app.command("show")
def show(
    name: Name,
    first: Annotated[
        str | None, typer.Option("--from", metavar="DATE", help="With --to: the sum over these days.")
    ] = None,
    last: Annotated[str | None, typer.Option("--to", metavar="DATE", help="The last of these days.")] = None,
    about: Annotated[bool, typer.Option("--about", help="What it counts, costs, and rests on, instead.")] = False,
    format: Written = Format.table,
    as_name: As = None,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """All released totals, or the sum over some days. Costs nothing."""
    from dither.cli.context import asking, read_catalog
    from dither.errors import InvalidParameter

    if (first is None) != (last is None) or (about and first is not None):
        raise InvalidParameter("--from", expected="--from and --to together, without --about", found="one of them")
    with asking(read_catalog(catalog), as_name, begin=False) as session:
        series = session.series(name=name)
        if about:
            _explained(series.explain(), format)
        elif first is None or last is None:
            _days(series, series.totals(), format)
        else:
            _sum(series, first, last, format)


@app.command("extend")
def extend(
    name: Name,
    days: Annotated[int | None, typer.Option("--days", help="How many more days; by default twice the last.")] = None,
    format: Written = Format.table,
    as_name: As = None,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Pay for further days, once all days paid for are released. `show --about` tells the price before."""
    from dither.cli.context import asking, read_catalog
    from dither.cli.screen import say
    from dither.plan.explain import price_text

    with asking(read_catalog(catalog), as_name, begin=False) as session:
        series = session.series(name=name)
        cost = series.extend(days)
        if format is Format.table:
            say(f"Charged {price_text(cost)}.")
        _explained(series.explain(), format)


def _days(series: Series, rows: Sequence[SeriesDay], format: Format) -> None:
    from dither.answer.numbers import measured
    from dither.cli.screen import out
    from dither.cli.tables import grid

    if format is Format.json:
        _write({"name": series.name, "rows": [[str(day), total, half] for day, total, half in rows]})
        return
    cells = [(str(day), measured(total, total - half, total + half)) for day, total, half in rows]
    heads = (series.day_name, f"{series.number_name} so far", "±")
    lines = [(day, cell.value, cell.interval.removeprefix("± ")) for day, cell in cells]
    out().print(grid(heads, lines, right=(1, 2)))
    out().print("± covers the true total, of the rows that count, in 95 % of cases.", style="dim", markup=False)


def _sum(series: Series, first: str, last: str, format: Format) -> None:
    from dither.answer.numbers import measured
    from dither.cli.screen import out

    found = series.between(first, last)
    if format is Format.json:
        _write({"name": series.name, "first": str(found.first), "last": str(found.last), "value": found.value,
                "half_width": found.half_width})  # fmt: skip
        return
    cell = measured(found.value, found.value - found.half_width, found.value + found.half_width)
    out().print(f"{series.number_name} of {found.first} to {found.last}: {cell}", markup=False)


def _explained(explanation: SeriesExplanation, format: Format) -> None:
    from rich.text import Text

    from dither.cli.screen import out
    from dither.cli.tables import grid
    from dither.plan.explain import price_text

    if format is Format.json:
        _write(explanation.to_dict())
        return
    screen = out()
    lines = str(explanation).splitlines()
    screen.print(Text(lines[0], style="bold"))
    screen.print(Text(lines[1]))
    rows = [(str(last), price_text(cost)) for last, cost in explanation.growth]
    if rows:
        screen.print(grid(("if extended to", "price in all"), rows, right=(1,)))
    for note in explanation.notes:
        screen.print(Text(note, style="yellow"))


def _write(found: dict[str, Any]) -> None:
    typer.echo(json.dumps(found, ensure_ascii=False))
