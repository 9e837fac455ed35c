"""Commands that take the ledger's record elsewhere: `dither budget export` and `dither budget chart`. For the owner."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dither.cli.options import DEFAULT_CATALOG, CatalogPath, catalog_place
from dither.errors import InvalidParameter

if TYPE_CHECKING:
    from dither.accounting.odometer import Odometer

__all__ = ["chart", "export"]


def export(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to; - writes to standard output.")] = "-",
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Write the whole ledger as JSON lines that another program can verify and add up. As private as the ledger."""
    from dither.cli.context import owner_ledger, read_catalog
    from dither.cli.screen import say

    declared = read_catalog(catalog_place(context, catalog))
    with owner_ledger(declared) as ledger:
        if file == "-":
            for line in ledger.export():
                sys.stdout.write(f"{line}\n")
            return
        descriptor = _new_file(file)
        count = 0
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as opened:
            for line in ledger.export():
                opened.write(f"{line}\n")
                count += 1
    say(f"Wrote {count - 2:,} rows to {file}.")


def chart(
    context: typer.Context,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page instead.")] = None,
    vega: Annotated[Path | None, typer.Option("--vega", metavar="FILE", help="Write a Vega-Lite spec instead.")] = None,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """What the data set spent over time, and the limit. A page is drawn by itself and loads nothing."""
    from dither.cli import spend_chart
    from dither.cli.context import owner_ledger, read_catalog
    from dither.cli.screen import out, say, working

    declared = read_catalog(catalog_place(context, catalog))
    with working("Composing what was spent"), owner_ledger(declared) as ledger:
        delta = ledger.budget.delta or Fraction(1, 10**9)
        readings = ledger.odometers()
        shown = spend_chart.curves(ledger.history(), _sharp(readings, delta))
        words = _in_words(readings, delta, declared.unit_name)
    title = f"What was spent of {declared.name}"
    for path, text in (
        (html, spend_chart.page(shown, title, words)),
        (vega, json.dumps(spend_chart.spec(shown, title), indent=1) + "\n"),
    ):
        if path is not None:
            with os.fdopen(_new_file(str(path)), "w", encoding="utf-8") as opened:
                opened.write(text)
            say(f"Wrote {path}.")
    if html is None and vega is None:
        console = out()
        console.print(spend_chart.terminal(shown, width=min(console.width, 100)))
        for line in words:
            console.print(line, style="dim", markup=False)


def _sharp(readings: Sequence[tuple[str, Odometer]], delta: Fraction) -> list[tuple[str, Fraction]]:
    """The least epsilon that some theorem gives at each moment, if the spend had been fixed in advance."""
    bounds = [(at, reading.fixed_in_advance(delta)) for at, reading in readings]
    return [(at, found[0].epsilon) for at, found in bounds if found and found[0].epsilon is not None]


def _in_words(readings: Sequence[tuple[str, Odometer]], delta: Fraction, unit: str) -> list[str]:
    if not readings:
        return []
    marked = f"The marked line: what would hold at delta {float(delta):.3g} if this spend had been fixed in advance."
    return [*readings[-1][1].in_words(delta, unit=unit).splitlines(), marked]


def _new_file(path: str) -> int:
    """A new file that only its owner may read: it tells who asked what. One that is there is left alone."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidParameter("file", expected="one that is not there yet", found=path) from None
    except OSError as error:
        raise InvalidParameter("file", expected="a place to write to", found=error.strerror or path) from None
