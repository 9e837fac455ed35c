"""`dither budget plan`: split a budget over a file of questions before any of them is asked. Free."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dither.cli.options import DEFAULT_CATALOG, As, CatalogPath

__all__ = ["plan"]

DOES_NOT_FIT = 3


class Format(StrEnum):
    table = "table"
    json = "json"


def plan(
    context: typer.Context,
    questions: Annotated[
        Path, typer.Argument(metavar="FILE", help="Questions with ; between them; - reads standard input.")
    ],
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", metavar="NUMBER", help="What all of them may cost together.")
    ] = None,
    rho: Annotated[str | None, typer.Option("--rho", metavar="NUMBER", help="The same in zCDP.")] = None,
    delta: Annotated[
        str | None, typer.Option("--delta", metavar="NUMBER", help="The most that private groups may use together.")
    ] = None,
    within: Annotated[
        Path | None,
        typer.Option("--within", metavar="FILE", help="Wishes, a line each: `2: within 50` or `3: weight=2`."),
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="How to write the plan.")] = Format.table,
    as_name: As = None,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Split a budget over several questions, so that each is as accurate as wished. Free; reads no protected row.

    Above a question, `-- within 50` wishes for ± 50, `-- within n=50, total=2000` for a ± of single columns, and
    `-- weight=2` for twice the usual part of what the wishes leave. Ends with status 3 when the wishes do not fit."""
    from dither.cli.context import asking, read_catalog, read_file

    outer = context.obj
    declared = read_catalog(outer if isinstance(outer, Path) and catalog == DEFAULT_CATALOG else catalog)
    _check_offer(epsilon, rho)
    text = read_file(questions, "FILE")
    wishes = None if within is None else _wishes(within)
    # No ledger is begun: a plan comes before the budget is on record for good.
    with asking(declared, as_name, begin=False) as session:
        planned = session.plan_budget(text, epsilon=epsilon, rho=rho, delta=delta, wishes=wishes)

    from dither.cli.screen import out
    from dither.session.workload_show import plan_table, to_dict

    if format is Format.json:
        print(json.dumps(to_dict(planned), indent=2, ensure_ascii=False))
    else:
        out().print(plan_table(planned))
    if not planned.fits:
        raise typer.Exit(DOES_NOT_FIT)


def _check_offer(epsilon: str | None, rho: str | None) -> None:
    """Before any database is opened."""
    from dither.errors import InvalidParameter
    from dither.plan.offer import Offer

    if (epsilon is None) == (rho is None):
        raise InvalidParameter(
            "budget",
            expected="--epsilon NUMBER or --rho NUMBER",
            found="neither" if epsilon is None else "both",
            code="M-101",
            hint="Say what all the questions may cost together, as in --epsilon 2.",
        )
    Offer.create(epsilon=epsilon, rho=rho)


def _wishes(path: Path) -> dict[int, str]:
    from dither.cli.context import read_file
    from dither.session.wishes import read_wishes

    return read_wishes(read_file(path, "--within"))
