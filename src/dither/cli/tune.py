"""`dither tune`: choose once how many rows of one unit count in a table, and store them for faster questions."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dither.cli.options import DEFAULT_CATALOG, As, CatalogPath

__all__ = ["tune"]


def tune(
    table: Annotated[str, typer.Argument(help="A protected table of the catalog.")],
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", metavar="NUMBER", help="What the private choice may cost.")
    ] = None,
    for_epsilon: Annotated[
        str, typer.Option("--for-epsilon", metavar="NUMBER", help="What later questions will typically offer.")
    ] = "1",
    groups: Annotated[int, typer.Option("--groups", min=1, help="How many groups they will typically have.")] = 1,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Spend without asking.")] = False,
    as_name: As = None,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Choose how many rows of one unit count in a table: declared caps cost nothing, a private choice costs epsilon.
    With --as the choice is for that analyst's questions alone."""
    from dither.cli.context import asking, read_catalog
    from dither.cli.screen import out, working
    from dither.exact import positive
    from dither.plan.explain import price_text

    declared = read_catalog(catalog)
    positive(for_epsilon, "for_epsilon")
    if epsilon is not None:
        positive(epsilon, "epsilon")
        if not yes:
            _confirm(table, epsilon)
    with asking(declared, as_name) as session, working("Tuning"):
        tuned = session.tune(table, epsilon=epsilon, for_epsilon=for_epsilon, groups=groups)
    console = out()
    console.print(str(tuned), markup=False)
    cost = price_text(tuned.charged) if tuned.charged.epsilon != 0 else "nothing"
    console.print(f"Price: {cost}.", style="dim", markup=False)


def _confirm(table: str, epsilon: str) -> None:
    from dither.errors import InvalidParameter

    if not sys.stdin.isatty():
        raise InvalidParameter(
            "--yes", expected="given, where nobody can be asked", found="nothing", hint="Nothing was charged."
        )
    if not typer.confirm(f"Spend epsilon {epsilon} of the budget to choose how many rows count in {table}?", err=True):
        raise typer.Abort
