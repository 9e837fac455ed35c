"""`dither statement`: the privacy statement of a data set, for a data protection officer."""

from __future__ import annotations

import datetime as dt
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dither.cli.options import DEFAULT_CATALOG, CatalogPath

__all__ = ["statement"]


class Format(StrEnum):
    markdown = "markdown"
    html = "html"
    json = "json"


class Language(StrEnum):
    en = "en"
    zh = "zh"


def statement(
    format: Annotated[Format, typer.Option("--format", "-f", help="How to write it.")] = Format.markdown,
    output: Annotated[
        Path | None, typer.Option("--out", "--output", "-o", metavar="FILE", help="Write it to this file.")
    ] = None,
    lang: Annotated[Language, typer.Option("--lang", help="Its language.")] = Language.en,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Say what is promised to the people in the data, on which conditions, and what was spent. Reads no protected row.

    In the order of NIST SP 800-226. For the owner: it shows all analysts' spending, and no question's text."""
    from dither import __version__
    from dither.cli.context import ledger_exists, ledger_path, owner_ledger, read_catalog
    from dither.cli.written import check_outputs, files_of, write
    from dither.session.statement import make_statement
    from dither.session.statement_facts import gather
    from dither.session.statement_show import to_html, to_json, to_markdown

    declared = read_catalog(catalog)
    check_outputs({"--out": output}, kept=files_of(declared))
    if ledger_exists(declared):
        with owner_ledger(declared) as ledger:
            facts = gather(declared, ledger, where=ledger_path(declared))
    else:
        facts = gather(declared, None)
    made = make_statement(facts, today=dt.datetime.now(dt.UTC).date(), version=__version__, language=lang.value)
    text = {Format.markdown: to_markdown, Format.html: to_html, Format.json: to_json}[format](made).rstrip("\n") + "\n"
    if output is None:
        sys.stdout.write(text)
        return
    from dither.cli.screen import say

    write("--out", output, text)
    say(f"Wrote {output}.", "dim")
