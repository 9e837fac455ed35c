"""Commands that book what the ledger did not admit: `dither budget import`, `merge`, `split` and `restored`.

Each is the owner's, logged with a reason, and shows what was charged and what is left.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dither.cli.options import DEFAULT_CATALOG, CatalogPath, Reason, catalog_place
from dither.errors import InvalidParameter

if TYPE_CHECKING:
    from dither.accounting.admission import Budget
    from dither.catalog.model import Catalog
    from dither.ledger.ledger import Ledger
    from dither.ledger.model import MergedLedger

__all__ = ["import_releases", "merge", "restored", "split"]

AnotherPromise = Annotated[
    bool,
    typer.Option(
        "--another-promise",
        help="Say that both protect the same people and neighbours, though sources or tables differ. Logged.",
    ),
]


def import_releases(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON lines, or TOML by its name; - reads JSON lines.")],
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Charge releases made elsewhere from the same data. Booked even beyond the budget, for they happened; a name is
    booked once."""
    from dither.cli.context import owner_ledger, read_catalog
    from dither.cli.screen import out
    from dither.cli.tables import grid
    from dither.ledger.amounts import price_text
    from dither.ledger.elsewhere import read_releases

    declared = read_catalog(catalog_place(context, catalog))
    releases = read_releases(_text_of(file), toml=file.lower().endswith(".toml"))
    with owner_ledger(declared, create=True) as ledger:
        before = ledger.spent().gaussian
        fresh = ledger.import_releases(releases)
        rows = [
            (release.name, release.who, release.when, price_text(release.price), "booked" if new else "booked before")
            for release, new in zip(releases, fresh, strict=True)
        ]
        out().print(grid(("release", "who", "when", "price", ""), rows, right=(3,)))
        _show_rest(ledger, declared, gaussian_before=before)


def merge(
    context: typer.Context,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The other ledger, or its catalog.")],
    reason: Reason,
    another_promise: AnotherPromise = False,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Charge all that another ledger ever spent on this one, and close the other. The worst case is the sum."""
    from dither.cli.context import ledger_at, owner_ledger, read_catalog

    declared = read_catalog(catalog_place(context, catalog))
    with ledger_at(other) as theirs, owner_ledger(declared, create=True) as ledger:
        before = ledger.spent().gaussian
        found = ledger.merge(theirs, reason=reason, another_promise=another_promise)
        _say_taken_over(found)
        _show_rest(ledger, declared, gaussian_before=before)
    if not found.repeated:
        _line(f"The ledger of {found.dataset} is closed: its data set answers nothing new.")


def split(
    context: typer.Context,
    new: Annotated[Path, typer.Argument(metavar="CATALOG", help="The catalog of the part that gets its own ledger.")],
    reason: Reason,
    another_promise: AnotherPromise = False,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Begin the ledger of a new data set with all that this one has spent so far. Both go on by themselves."""
    from dither.cli.context import owner_ledger, read_catalog

    declared, part = read_catalog(catalog_place(context, catalog)), read_catalog(new)
    with owner_ledger(declared) as ledger:
        ledger.check_split(part.promise_digest(), another_promise=another_promise)
        with owner_ledger(part, create=True) as theirs:
            before = theirs.spent().gaussian
            found = theirs.inherit(ledger, reason=reason, another_promise=another_promise)
            _say_taken_over(found)
            _show_rest(theirs, part, gaussian_before=before)
            _line(
                f"Whoever is in both data sets gives away, in the worst case, what both promise together: "
                f"{_promise_text(ledger.promised)} and {_promise_text(theirs.promised)}."
            )


def restored(context: typer.Context, reason: Reason, catalog: CatalogPath = DEFAULT_CATALOG) -> None:
    """After putting a backup back: charge all that may have been answered since, which is all the budget allowed."""
    from dither.cli.context import owner_ledger, read_catalog
    from dither.ledger.amounts import price_text

    declared = read_catalog(catalog_place(context, catalog))
    with owner_ledger(declared) as ledger:
        price = ledger.charge_worst_case(reason)
        _line(f"Charged: {price_text(price)}.")
        _show_rest(ledger, declared)
    _line("Nothing new is answered until a grant. Answers of this release can still be used again.")


def _text_of(file: str) -> str:
    from dither.ledger.elsewhere import MOST_CHARACTERS

    try:
        if file == "-":
            return sys.stdin.read(MOST_CHARACTERS + 1)
        with open(file, encoding="utf-8-sig") as opened:
            return opened.read(MOST_CHARACTERS + 1)
    except UnicodeDecodeError:
        raise InvalidParameter("file", expected="text in UTF-8", found="other bytes") from None
    except OSError as error:
        raise InvalidParameter("file", expected="one that can be read", found=error.strerror or "none") from None


def _show_rest(ledger: Ledger, catalog: Catalog, *, gaussian_before: bool = True) -> None:
    from dither.cli.balance import balance, say_what_stops
    from dither.cli.screen import out, say

    out().print(balance(ledger, catalog))
    if ledger.spent().gaussian and not gaussian_before and ledger.budget.epsilon is not None:
        say("This has a rho but no epsilon: from now on the rho meter alone admits questions.", "yellow")
    say_what_stops(ledger)


def _say_taken_over(found: MergedLedger) -> None:
    from dither.ledger.amounts import price_text

    verb = "was taken over before" if found.repeated else "is taken over"
    _line(f"What the ledger of {found.dataset} spent {verb}: {price_text(found.price)}.")


def _promise_text(budget: Budget) -> str:
    from dither.cli.screen import amount

    meter = f"rho {amount(budget.rho)}" if budget.epsilon is None else f"epsilon {amount(budget.epsilon)}"
    return f"{meter}, delta {amount(budget.delta)}" if budget.delta else meter


def _line(text: str) -> None:
    from dither.cli.screen import out

    out().print(text, markup=False)
