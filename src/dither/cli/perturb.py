"""`dither perturb`: a file's places with exact noise, so that what is shown tells little of where each one is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dither.session.places import Perturbed, Progress

__all__ = ["perturb"]


class Language(StrEnum):
    en = "en"
    zh = "zh"


class Loss(StrEnum):
    squared = "squared"
    distance = "distance"


def perturb(
    points: Annotated[Path, typer.Argument(metavar="FILE", help="Parquet or CSV: a row per place.")],
    lat: Annotated[str | None, typer.Option("--lat", metavar="COLUMN", help="Latitude, degrees.")] = None,
    lon: Annotated[str | None, typer.Option("--lon", metavar="COLUMN", help="Longitude, degrees.")] = None,
    radius: Annotated[str | None, typer.Option("--radius", metavar="LENGTH", help="As 200m or 0.2km.")] = None,
    level: Annotated[
        str | None, typer.Option("--level", metavar="LEVEL", help="'ln 4': odds within the radius change by 4 at most.")
    ] = None,
    centre: Annotated[
        str | None, typer.Option("--centre", "--center", metavar="LAT,LON", help="A public place near all of them.")
    ] = None,
    region: Annotated[
        str | None,
        typer.Option(
            "--region", metavar="AREA", help="SOUTH,WEST,NORTH,EAST or a GeoJSON file: places are shown in it."
        ),
    ] = None,
    reach: Annotated[
        str, typer.Option("--reach", metavar="LENGTH", help="Places farther from the centre are refused.")
    ] = "500km",
    person: Annotated[
        str | None, typer.Option("--person", metavar="COLUMN", help="Tells whose place a row is; not written.")
    ] = None,
    points_per_person: Annotated[
        int | None, typer.Option("--points-per-person", min=1, help="So many rows of a person count, drawn at random.")
    ] = None,
    remap: Annotated[
        Path | None, typer.Option("--remap", metavar="FILE", help="Public places with a column `weight`: a prior.")
    ] = None,
    loss: Annotated[Loss, typer.Option("--loss", help="What --remap makes small.")] = Loss.squared,
    cells: Annotated[
        Path | None,
        typer.Option(
            "--cells", metavar="FILE", help="At most 50 public places with a `weight`: show these, optimally."
        ),
    ] = None,
    cell_reach: Annotated[
        str | None, typer.Option("--cell-reach", metavar="LENGTH", help="No place is farther from a cell than this.")
    ] = None,
    lattice: Annotated[
        str | None, typer.Option("--lattice", metavar="LENGTH", help="Step of the lattice: a power of two metres.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", metavar="COLUMN", help="Write this column too, unprotected.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Where the noisy places go.")] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Also a page (.html) with a map.")
    ] = None,
    owner_only: Annotated[
        bool, typer.Option("--owner-only", help="The page shows the raw places as well: for nobody but you.")
    ] = False,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", metavar="FILE", help="Where it is charged; default: beside FILE.")
    ] = None,
    catalog: Annotated[
        Path | None,
        typer.Option(
            "--catalog", "-c", metavar="FILE", help="Of the data set they belong to: its statement tells of them."
        ),
    ] = None,
    allowance: Annotated[
        str | None, typer.Option("--allowance", metavar="LEVEL", help="All releases together: at most 'ln 64', say.")
    ] = None,
    statement: Annotated[
        bool, typer.Option("--statement", help="Only say, from the ledger, what was released and what that means.")
    ] = False,
    lang: Annotated[Language, typer.Option("--lang", help="Language of --statement.")] = Language.en,
) -> None:
    """Show a file's places with exact planar noise: metric privacy, with a ledger of its own.

    It hides where each place is within a neighbourhood, not that somebody is in the file. k places of one person cost k
    times as much: say so with --person and --points-per-person."""
    from dither.cli.context import ledger_path, read_catalog
    from dither.cli.screen import say
    from dither.cli.written import check_outputs, files_of, ledger_files
    from dither.errors import InvalidParameter

    if not points.name:
        raise InvalidParameter("FILE", expected="a Parquet or CSV file", found=str(points))
    place = ledger or points.with_name(f"{points.stem}.places.ledger")
    # A region may be four numbers as well, which are the name of no file.
    public = [each for each in (remap, cells, None if region is None else Path(region)) if each is not None]
    rested_on = [points, *public, *ledger_files(str(place))]
    if statement:
        if catalog is not None:
            raise InvalidParameter(
                "--statement", expected="without --catalog", found="both",
                hint=f"`dither statement --catalog {catalog}` tells of the places charged beside that ledger.",
            )  # fmt: skip
        check_outputs({"--out": out}, kept=rested_on)
        return _state(place, out, lang.value)
    from dither.session.places import beside_ledger, check_out, perturb_places
    from dither.session.places_options import PlacesOptions, request_of

    asked = PlacesOptions(
        points, lat, lon, radius, level, out or points.with_name(f"{points.stem}.perturbed.parquet"), place,
        centre=centre, region=region, reach=reach, person=person, points_per_person=points_per_person, remap=remap,
        loss=loss.value, cells=cells, cell_reach=cell_reach, lattice=lattice, keep=tuple(keep or ()),
        allowance=allowance,
    )  # fmt: skip
    check_out(asked.out)
    _check_report(report)
    if catalog is not None and ledger is not None:
        raise InvalidParameter("--catalog and --ledger", expected="one of them", found="both")
    declared = None if catalog is None else read_catalog(catalog)
    if owner_only and report is None:
        raise InvalidParameter("--owner-only", expected="with --report FILE", found="no --report")
    rested_on += [] if declared is None else files_of(declared)
    check_outputs({"--out": asked.out, "--report": report}, kept=rested_on)
    with _progress() as tell:
        request = request_of(asked, lambda what: tell(what, 0, 0))
        if declared is not None:
            request = beside_ledger(request, ledger_path(declared), declared.name)
        made = perturb_places(request, progress=tell)
    _show(made)
    if report is not None:
        _write_page(report, made, owner_only)
        say(f"Wrote {report}{', for you alone: it shows the raw places' if owner_only else ''}.", "dim")
    return None


def _show(made: Perturbed) -> None:
    from dither.cli.screen import out, say
    from dither.cli.tables import grid
    from dither.session.places_page import figures, promise
    from dither.session.places_words import say as words

    console = out()
    say(f"Wrote {len(made.points):,} noisy places to {made.request.out}.", "bold")
    if made.left_out:
        say(f"{made.left_out:,} rows of people with more points were left out, drawn at random.", "yellow")
    console.print(
        grid(("distance from the true place", "mean", "median", "95 % within"), figures(made), right=(1, 2, 3))
    )
    for sentence in promise(made):
        console.print(sentence, markup=False)
    console.print(words("not_presence"), style="dim", markup=False)
    console.print(words("not_dp"), style="dim", markup=False)


def _state(ledger: Path, out: Path | None, language: str) -> None:
    import datetime as dt

    from dither import __version__
    from dither.cli.screen import say
    from dither.cli.written import write
    from dither.session.places_statement import state_places
    from dither.session.statement_show import to_html, to_markdown

    made = state_places(ledger, today=dt.datetime.now(dt.UTC).date(), version=__version__, language=language)
    if out is None:
        sys.stdout.write(to_markdown(made))
        return
    html = out.suffix.lower() in (".html", ".htm")
    write("--out", out, to_html(made) if html else to_markdown(made))
    say(f"Wrote {out}.", "dim")


def _check_report(path: Path | None) -> None:
    from dither.errors import InvalidParameter

    if path is None:
        return
    if path.suffix.lower() not in (".html", ".htm") or not path.absolute().parent.is_dir():
        raise InvalidParameter("--report", expected="a name ending in .html, in a folder that exists", found=str(path))


def _write_page(path: Path, made: Perturbed, owner: bool) -> None:
    import os

    from dither.errors import InvalidParameter
    from dither.session.places_page import page

    text = page(made, owner=owner)
    try:
        if not owner:
            path.write_text(text, encoding="utf-8")
            return
        # Others on this machine must not read it, not even for a moment.
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        raise InvalidParameter(
            "--report", expected="a file that can be written", found=str(path),
            hint="The places were released, charged and written; only the page was not.",
        ) from None  # fmt: skip


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on stderr, where somebody is watching."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        bar = bars.add_task("reading", total=None)

        def tell(what: str, done: int, whole: int) -> None:
            bars.update(bar, description=what, completed=done, total=whole or None)

        yield tell
