"""Options that several commands share, written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["As", "CatalogPath", "DEFAULT_CATALOG", "Epsilon", "Question", "Rho"]

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
Question = Annotated[str, typer.Argument(metavar="SQL", help="One SELECT; - reads it from standard input.")]
