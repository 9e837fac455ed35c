"""Options that several commands share, written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "As",
    "CatalogPath",
    "DEFAULT_CATALOG",
    "Epsilon",
    "QuantileIntervals",
    "Question",
    "Reason",
    "Rho",
    "Within",
    "catalog_place",
]

DEFAULT_CATALOG = Path("dither.toml")

CatalogPath = Annotated[
    Path, typer.Option("--catalog", "-c", envvar="DITHER_CATALOG", help="The catalog file.", show_default=True)
]
As = Annotated[str | None, typer.Option("--as", metavar="NAME", help="Act as this analyst of the catalog.")]
# Prices are read as text, so that 0.1 is one tenth and not the nearest binary number.
Epsilon = Annotated[
    str | None, typer.Option("--epsilon", "-e", metavar="NUMBER", help="The offer: at most this epsilon.")
]
Rho = Annotated[
    str | None, typer.Option("--rho", metavar="NUMBER", help="The offer in zCDP instead: at most this rho.")
]
Within = Annotated[
    str | None,
    typer.Option("--within", metavar="WISH", help="Instead: the ± wanted, as 50 or `n=50, total=2000`."),
]
QuantileIntervals = Annotated[
    bool,
    typer.Option("--quantile-intervals", help="Buy a ± for each quantile: two more quantiles, out of the same offer."),
]
Reason = Annotated[str, typer.Option("--reason", help="Kept in the log for good.")]
Question = Annotated[str, typer.Argument(metavar="SQL", help="One SELECT; - reads it from standard input.")]


def catalog_place(context: typer.Context, catalog: Path) -> Path:
    """The catalog given after a subcommand, or else the one given before it: the order does not matter."""
    outer = context.obj
    return outer if isinstance(outer, Path) and catalog == DEFAULT_CATALOG else catalog
