"""`dither ask-many`: answer the questions of a file in one release, for one price, and show a table for each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dither.cli.options import DEFAULT_CATALOG, As, CatalogPath, Epsilon, Rho

if TYPE_CHECKING:
    from dither.catalog.model import Catalog
    from dither.session.many import Answers

__all__ = ["ask_many"]


def ask_many(
    questions: Annotated[
        Path, typer.Argument(metavar="FILE", help="SELECTs with ; between them; - reads them from standard input.")
    ],
    epsilon: Epsilon = None,
    rho: Rho = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Only say what it would cost, and which questions share. Free.")
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Also write 1.csv, 2.csv, ... with intervals there."),
    ] = None,
    receipt: Annotated[Path | None, typer.Option("--receipt", help="Write the receipt (JSON) to this file.")] = None,
    request: Annotated[
        str | None, typer.Option("--request", metavar="KEY", help="The same key again is never charged again.")
    ] = None,
    as_name: As = None,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Answer several questions in one release, for at most the offered price. For --rho, groupings of the same rows are
    measured together: more accurate than one by one, and they agree. `-- weight=2` above a question counts it twice."""
    from dither.cli.context import asking, read_catalog, read_file, read_offer
    from dither.cli.screen import out, working
    from dither.cli.tables import explanation_table
    from dither.cli.written import write

    declared = read_catalog(catalog)
    text = read_file(questions, "FILE")
    read_offer("", declared, epsilon=epsilon, rho=rho)
    _check_places(folder, receipt, text, declared)
    with asking(declared, as_name) as session:
        if explain:
            out().print(explanation_table(session.explain_many(text, epsilon=epsilon, rho=rho)))
            return
        with working("Asking"):
            answers = session.ask_many(text, epsilon=epsilon, rho=rho, request=request)
    # The receipt first: whatever happens to the tables, what was paid for is on record.
    if receipt is not None:
        write("--receipt", receipt, answers.receipt.to_json() + "\n")
    _show(answers)
    if folder is not None:
        _write(answers, folder)


def _check_places(folder: Path | None, receipt: Path | None, text: str, declared: Catalog) -> None:
    """Find out before anything is charged that the answers could not be written."""
    from dither.cli.written import check_outputs, files_of
    from dither.errors import InvalidParameter
    from dither.session.many import MOST_QUESTIONS

    if folder is not None and not folder.is_dir():
        raise InvalidParameter("--output", expected="a folder that exists", found=str(folder))
    # There are at most as many questions as there are semicolons, and one.
    numbers = range(1, min(text.count(";") + 1, MOST_QUESTIONS) + 1)
    outputs: dict[str, Path | None] = {"--receipt": receipt}
    if folder is not None:
        outputs |= {f"--output ({number}.csv)": folder / f"{number}.csv" for number in numbers}
    check_outputs(outputs, kept=files_of(declared))


def _show(answers: Answers) -> None:
    from dither.answer.numbers import plain
    from dither.answer.show import answer_table
    from dither.cli.screen import out

    for number, answer in enumerate(answers, 1):
        out().print(f"{number}: {plain(' '.join(answer.plan.text.split())).value}", markup=False, style="dim")
        out().print(answer_table(answer))
        out().print()


def _write(answers: Answers, folder: Path) -> None:
    from dither.answer import files
    from dither.cli.screen import say
    from dither.cli.written import write

    for number, answer in enumerate(answers, 1):
        write("--output", folder / f"{number}.csv", files.to_csv(answer, intervals=True))
    say(f"Wrote 1.csv to {len(answers)}.csv in {folder}.", "dim")
