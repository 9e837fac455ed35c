"""`dither lab seed`: the tutorial from differences to privacy, as one page that needs no network.

Flow: `dither lab` calls it for this name.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from dither.errors import InvalidParameter
from dither.lab.seed import seed_page
from dither.lab.texts import Language

__all__ = ["show_seed"]


def show_seed(language: Language, out: Path | None) -> None:
    """Write the page to `out`, or to a new temporary file and open that in the browser there is."""
    from dither.cli.screen import say

    if out is None:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix="dither-seed-", suffix=".html", delete=False
        ) as page:
            page.write(seed_page(language))
        say(f"Wrote {page.name}.")
        _open(Path(page.name))
        return
    if out.suffix.lower() not in (".html", ".htm"):
        raise InvalidParameter("--out", expected="a file name ending in .html", found=str(out))
    if not out.absolute().parent.is_dir():
        raise InvalidParameter("--out", expected="a file in a folder that exists", found=str(out))
    out.write_text(seed_page(language), encoding="utf-8")
    say(f"Wrote {out}.")


def _open(page: Path) -> None:
    import webbrowser

    webbrowser.open(page.as_uri())
