"""`dither try`: ask of invented people. Same SQL, refusals and prices; nothing is charged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.cli.options import DEFAULT_CATALOG, CatalogPath, Epsilon, Question, Rho, Within
from dither.errors import QueryRefused

if TYPE_CHECKING:
    from dither.catalog.model import Catalog
    from dither.session.session import Session

__all__ = ["try_question"]

_ROWS_SHOWN = 8


def try_question(
    question: Question,
    epsilon: Epsilon = None,
    rho: Rho = None,
    within: Within = None,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Try a question on rows invented from the catalog. Free, and nothing in the answer is about anybody.

    A question for whole rows, such as SELECT * FROM visits, shows a few invented ones."""
    from dither.cli.context import read_catalog, read_question
    from dither.session.offers import offered
    from dither.session.open import open_rehearsal

    declared = read_catalog(catalog)
    text = read_question(question)
    stated = offered(text, epsilon=epsilon, rho=rho, within=within)
    if not stated.is_stated and declared.budget.default_epsilon is None:
        epsilon = "1"
    with open_rehearsal(declared) as session:
        try:
            _answer(session, text, epsilon, rho, within)
        except QueryRefused as refusal:
            tables = _row_tables(declared, refusal, text)
            if not tables:
                raise
            _show_rows(declared, tables, refusal)


def _answer(session: Session, text: str, epsilon: str | None, rho: str | None, within: str | None) -> None:
    from dither.answer.show import answer_table
    from dither.cli.screen import out

    answer = session.ask(text, epsilon=epsilon, rho=rho, within=within)
    out().print(answer_table(answer))


def _row_tables(catalog: Catalog, refusal: QueryRefused, text: str) -> list[str]:
    """The tables to show rows of: those named by a question that was refused for asking for rows."""
    from dither.session.invented import tables_named

    return tables_named(catalog, text) if refusal.code in ("S-100", "S-101") else []


def _show_rows(catalog: Catalog, tables: list[str], refusal: QueryRefused) -> None:
    from rich.text import Text

    from dither.answer.numbers import plain
    from dither.answer.show import INVENTED_BANNER
    from dither.cli.screen import out, say
    from dither.cli.tables import grid
    from dither.session.invented import invented_rows

    console = out()
    console.print(Text(f" {INVENTED_BANNER} ", style="bold black on yellow"))
    everything = invented_rows(catalog)
    for table in tables:
        rows = everything[table][:_ROWS_SHOWN]
        console.print(Text(f"\n{catalog.tables[table].name}", style="bold"))
        headers = list(rows[0]) if rows else ["no columns are declared"]
        console.print(grid(headers, [[plain(value).value for value in row.values()] for row in rows]))
    say(f"\nOf the real data this is refused: {refusal.message}")
