"""`dither lab seed`: the tutorial from differences to privacy, as one page that needs no network.

Relies on `dither.lab.seed` for the page.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from dither.cli.lab_class import Words
from dither.errors import InvalidParameter

__all__ = ["show_seed"]


def show_seed(
    lang: Annotated[Words, typer.Option("--lang", help="Language of the page.")] = Words.en,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where to write it; else it is opened in a browser.")
    ] = None,
) -> None:
    """The tutorial from finite differences to differential privacy, as one page with moving pictures, offline."""
    from dither.cli.screen import say
    from dither.cli.written import check_outputs, write
    from dither.lab.seed import seed_page

    if out is None:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix="dither-seed-", suffix=".html", delete=False
        ) as page:
            page.write(seed_page(lang))
        say(f"Wrote {page.name}.")
        _open(Path(page.name))
        return
    if out.suffix.lower() not in (".html", ".htm"):
        raise InvalidParameter("--out", expected="a file name ending in .html", found=str(out))
    check_outputs({"--out": out})
    write("--out", out, seed_page(lang))
    say(f"Wrote {out}.")


def _open(page: Path) -> None:
    import webbrowser

    webbrowser.open(page.as_uri())
