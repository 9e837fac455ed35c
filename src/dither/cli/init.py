"""`dither init`: draft a catalog from the names and types of a database's tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dither.catalog.schema import SchemaTable

__all__ = ["init"]

_NOT_YET = ("postgresql://", "postgres://", "spark://", "sc://")


def init(
    source: Annotated[str, typer.Argument(help="A DuckDB file, a Parquet or CSV file, a folder of them, or a glob.")],
    look: Annotated[
        bool, typer.Option("--look", help="Read the data to propose bounds, coarsely rounded, for you to confirm.")
    ] = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the catalog.")] = Path("dither.toml"),
) -> None:
    """Draft a catalog for a database. You decide what the draft leaves open: the unit, the budget, the bounds."""
    from dither.catalog.draft import draft
    from dither.cli.screen import say, working
    from dither.engines.describing import describe
    from dither.session.look import look_at

    _refuse_overwriting(output)
    with working("Reading names and types"):
        tables = describe(source)
        proposals = look_at(source, tables) if look else None
    written = draft(tables, source=_from_catalog(source, output), name=_name_of(source), proposals=proposals)
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(written)
    except OSError as error:
        raise _cannot_write(output, error) from None
    open_questions = written.count('"TODO"') - 1
    say(f"Wrote {output}: {_counted(tables)}; {open_questions} decisions are yours, marked TODO.", "bold")
    say("Decide them, then run `dither check`.", "dim")


def _counted(tables: list[SchemaTable]) -> str:
    columns = sum(len(table.columns) for table in tables)
    return f"{len(tables)} table{'s' if len(tables) != 1 else ''}, {columns} columns"


def _refuse_overwriting(output: Path) -> None:
    from dither.errors import InvalidParameter

    if output.exists() or output.is_symlink():
        raise InvalidParameter(
            "--output",
            expected="a file that is not there yet",
            found=str(output),
            hint="A catalog holds decisions: move the old one away, or name another file.",
        )


def _cannot_write(output: Path, error: OSError) -> Exception:
    from dither.errors import InvalidParameter

    return InvalidParameter("--output", expected="a place to write to", found=f"{output}: {error.strerror}")


def _from_catalog(source: str, output: Path) -> str:
    """The source as the catalog must spell it: a relative path starts at the catalog's folder."""
    if source.startswith(_NOT_YET) or Path(source).is_absolute():
        return source
    return os.path.relpath(source, output.parent)


def _name_of(source: str) -> str:
    return Path(source).resolve().stem or "data"
