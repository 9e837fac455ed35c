"""`dither check`: is the catalog right for this database, and are its test questions answered and refused as meant?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from dither.cli.options import DEFAULT_CATALOG, CatalogPath

if TYPE_CHECKING:
    from dither.catalog.check import Problem
    from dither.catalog.model import Catalog

__all__ = ["check"]

_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
_FAILED = 2


def check(catalog: CatalogPath = DEFAULT_CATALOG) -> None:
    """Compare the catalog with the database by names and types, and rehearse its test questions. Reads no row."""
    from dither.catalog.check import CheckReport
    from dither.catalog.check import check as compare
    from dither.catalog.load import resolve_source
    from dither.cli.context import read_catalog
    from dither.cli.screen import out, working
    from dither.engines.duckdb import open_engine
    from dither.engines.sources import with_paths

    declared = read_catalog(catalog)
    with working("Reading names and types"):
        location = resolve_source(declared)
        engine = open_engine(declared, location)
        try:
            report = compare(declared, with_paths(declared, location, engine.schema()))
        finally:
            engine.close()
        # Warnings stand before notes.
        report = CheckReport((*report.errors, *report.warnings, *_other_ledgers(declared), *report.notes))
    console = out()
    for problem in report.problems:
        console.print(_shown(problem))
    failures = [] if report.errors else _rehearse(declared)
    for failure in failures:
        console.print(failure, style="bold red", markup=False)
    tested = len(declared.fixtures.answered) + len(declared.fixtures.refused)
    good = report.ok and not failures
    counts = {"table": len(declared.tables)}
    counts |= {severity: len(report.of(severity)) for severity in ("error", "warning", "note")}
    summary = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for word, count in counts.items())
    if tested and not report.errors:
        summary += f"; {tested - len(failures)} of {tested} test questions as meant"
    console.print(f"{'Ready' if good else 'Not ready'}: {summary}.", style="bold green" if good else "bold red")
    if not good:
        raise typer.Exit(_FAILED)


def _other_ledgers(catalog: Catalog) -> Iterator[Problem]:
    from dither.catalog.check import Problem
    from dither.session.same_source import look_beside

    for other in look_beside(catalog):
        yield Problem("warning", "dataset.ledger", other.sentence, other.way_forward)


def _shown(problem: Problem) -> object:
    from rich.text import Text

    text = Text.assemble((problem.severity, _STYLES[problem.severity]), f"  {problem.place}: {problem.message}.")
    if problem.way_forward:
        text.append(f"\n       {problem.way_forward}", style="dim")
    return text


def _rehearse(catalog: Catalog) -> list[str]:
    """Sentences about test questions that behave otherwise than declared. Planned on invented rows, never charged."""
    from dither.errors import DitherError
    from dither.session.offers import offered
    from dither.session.open import open_rehearsal

    failures = []
    with open_rehearsal(catalog) as session:
        for question in catalog.fixtures.answered:
            try:
                session.explain(question, epsilon=None if offered(question).is_stated else 1)
            except DitherError as error:
                failures.append(f"checks.answered: {question}\n       {error.headline()}")
        for question in catalog.fixtures.refused:
            try:
                session.explain(question, epsilon=None if offered(question).is_stated else 1)
            except DitherError:
                continue
            failures.append(f"checks.refused: {question}\n       It would be answered.")
    return failures
