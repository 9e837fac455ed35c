"""What was spent and what is left, as a table; and why nothing more would be admitted."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dither.cli.screen import amount, say
from dither.cli.tables import grid

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dither.catalog.model import Catalog
    from dither.ledger.ledger import Ledger

__all__ = ["balance", "say_other_notions", "say_what_stops"]


def balance(ledger: Ledger, catalog: Catalog, name: str | None = None) -> RenderableType:
    """The data set first, then each analyst of the catalog; or one analyst alone."""
    rows = _own_rows(ledger, name) if name is not None else _all_rows(ledger, catalog)
    return grid(("", "meter", "spent", "of", "left"), rows, right=(2, 3, 4))


def say_what_stops(ledger: Ledger) -> None:
    """For the owner, on stderr: that more was spent than the budget, or that the ledger was closed."""
    if ledger.closed_into is not None:
        say(f"This ledger was closed: that of {ledger.closed_into} took over what it had spent.", "bold red")
    elif ledger.overdrawn:
        say(
            "More counts as spent than the budget has room for. Nothing more is admitted until a grant covers it.",
            "bold red",
        )


def say_other_notions(where: str) -> None:
    """For the owner: ledgers of notions that are not differential privacy, beside the data set's own at `where`."""
    from dither.cli.screen import out
    from dither.ledger.apart import ApartLedger
    from dither.ledger.apart_places import found_beside
    from dither.ledger.apart_rows import loss_text

    for place in found_beside(where):
        ledger = ApartLedger.look(place)
        try:
            left = ledger.left()
            rest = "" if left is None else f", left {loss_text(left)}"
            text = f"Beside the budget: {ledger.notion}, spent {loss_text(ledger.total())}{rest}."
        finally:
            ledger.close()
        out().print(f"{text} It is not differential privacy.", markup=False)


def _all_rows(ledger: Ledger, catalog: Catalog) -> list[tuple[str, ...]]:
    """The data set first, then each analyst of the catalog."""
    budget, spent, left = ledger.budget, ledger.spent(), ledger.remaining()
    rows: list[tuple[str, ...]] = []
    if budget.epsilon is not None:
        rows.append(_row("data set", "epsilon", spent.epsilon, budget.epsilon, left.epsilon if left else None))
    if budget.notion != "pure":
        rows.append(_row("data set", "rho", spent.rho, budget.rho_limit, left.rho if left else None))
    if budget.delta:
        rows.append(
            _row("data set", "delta for groups", spent.delta, budget.delta_selection, left.delta if left else None)
        )
    for name in catalog.analysts:
        rows += _own_rows(ledger, name)
    return rows


def _own_rows(ledger: Ledger, name: str) -> list[tuple[str, ...]]:
    spent, left = ledger.spent(name), ledger.remaining(name)
    meter = "rho" if ledger.budget.notion == "zcdp" else "epsilon"
    used: Fraction = getattr(spent, meter)
    room: Fraction | None = None if left is None else getattr(left, meter)
    return [_row(name, meter, used, None if room is None else used + room, room)]


def _row(who: str, meter: str, spent: Fraction, limit: Fraction | None, left: Fraction | None) -> tuple[str, ...]:
    return who, meter, amount(spent), amount(limit), amount(left)
