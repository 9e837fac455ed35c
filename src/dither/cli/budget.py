"""`dither budget`: what was spent, what is left, who asked what; granting more; checking the ledger.

Relies on the owner's view of the ledger. With --as NAME only that analyst's own figures are shown.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dither.cli import plan
from dither.cli.options import DEFAULT_CATALOG, As, CatalogPath
from dither.errors import InvalidParameter, LedgerCorrupt

if TYPE_CHECKING:
    from dither.catalog.model import Catalog
    from dither.ledger import Entry, LogRow, Receipt
    from dither.ledger.ledger import Ledger

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, help="What was spent, what is left; grant more; verify the ledger.")

app.command("plan")(plan.plan)

Reason = Annotated[str, typer.Option("--reason", help="Kept in the log for good.")]


@app.callback(invoke_without_command=True)
def show(context: typer.Context, as_name: As = None, catalog: CatalogPath = DEFAULT_CATALOG) -> None:
    """What was spent and what is left."""
    if context.invoked_subcommand is not None:
        # `dither budget --catalog FILE log` means the same as `dither budget log --catalog FILE`.
        context.obj = catalog
        return
    from dither.cli.context import owner_ledger, read_catalog
    from dither.cli.screen import out, say
    from dither.cli.tables import grid

    declared = read_catalog(catalog)
    name = None if as_name is None else _analyst(declared, as_name)
    with owner_ledger(declared, create=True) as ledger:
        rows = _own_rows(ledger, name) if name is not None else _all_rows(ledger, declared)
        note = ledger.budget_note if name is None else None
        frozen = ledger.frozen(name)
        release = ledger.current_release
    out().print(grid(("", "meter", "spent", "of", "left"), rows, right=(2, 3, 4)))
    out().print(f"Release {release}.", style="dim", markup=False)
    if note:
        say(note, "yellow")
    if frozen:
        say("Asking is paused after repeated engine failures: `dither budget unfreeze` lifts it.", "bold red")


@app.command("log")
def show_log(context: typer.Context, as_name: As = None, catalog: CatalogPath = DEFAULT_CATALOG) -> None:
    """Every question and every owner's command, oldest first."""
    from dither.cli.context import owner_ledger, read_catalog
    from dither.cli.screen import out
    from dither.cli.tables import grid

    declared = read_catalog(_place(context, catalog))
    name = None if as_name is None else _analyst(declared, as_name)
    with owner_ledger(declared) as ledger:
        questions = [(entry.reserved_at, _question_row(entry)) for entry in ledger.entries(name)]
        commands = [(row.at, _command_row(row)) for row in ledger.log() if row.entry is None and name is None]
    rows = [row for _, row in sorted(questions + commands, key=lambda pair: pair[0])]
    out().print(grid(("when (UTC)", "who", "what", "price", ""), rows, right=(3,)))


@app.command("grant")
def grant(
    context: typer.Context,
    reason: Reason,
    epsilon: Annotated[str | None, typer.Option("--epsilon", "-e", metavar="NUMBER", help="Add this much.")] = None,
    delta: Annotated[str, typer.Option("--delta", metavar="NUMBER", help="Add this much.")] = "0",
    rho: Annotated[str | None, typer.Option("--rho", metavar="NUMBER", help="Add this much.")] = None,
    analyst: Annotated[
        str | None, typer.Option("--analyst", metavar="NAME", help="Raise this allowance, not the data set's budget.")
    ] = None,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Raise the budget, or one analyst's allowance within it. Logged; shows what is promised from now on."""
    from dither.cli.context import owner_ledger, read_catalog
    from dither.cli.screen import out

    declared = read_catalog(_place(context, catalog))
    name = None if analyst is None else _analyst(declared, analyst)
    with owner_ledger(declared, create=True) as ledger:
        granted = ledger.grant(epsilon=epsilon, delta=delta, rho=rho, analyst=name, reason=reason)
    out().print(granted.sentence, markup=False)


@app.command("verify")
def verify(
    context: typer.Context,
    receipt: Annotated[Path | None, typer.Option("--receipt", help="Also find the entry of this receipt.")] = None,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Check every row, every total and every kept answer of the ledger; with a receipt, that it was not rolled back."""
    from dither.cli.context import owner_ledger, read_catalog
    from dither.cli.screen import out

    declared = read_catalog(_place(context, catalog))
    signed = None if receipt is None else _signed(receipt)
    with owner_ledger(declared) as ledger:
        found = ledger.verify(signed)
    if not found.holds:
        where = f" (row {found.first_broken})" if found.first_broken else ""
        raise LedgerCorrupt(
            f"{found.problem}{where}", hint="Stop asking, and restore a backup: docs/how-to/back-up-a-ledger.md."
        )
    with_receipt = "" if signed is None else ", and the receipt's entry is in it"
    out().print(
        f"The ledger holds: {found.rows} rows, head {found.head[:16]}{with_receipt}.", style="green", markup=False
    )


@app.command("adopt")
def adopt(context: typer.Context, reason: Reason, catalog: CatalogPath = DEFAULT_CATALOG) -> None:
    """Go on under a catalog that promises something else (units, paths, source). What was spent stays spent."""
    from dither.cli.context import owner_ledger, read_catalog
    from dither.cli.screen import out

    declared = read_catalog(_place(context, catalog))
    with owner_ledger(declared) as ledger:
        ledger.adopt_promise(declared.promise_digest(), reason)
    out().print("The catalog's promise is in force from now on; the log names both.")


@app.command("unfreeze")
def unfreeze(
    context: typer.Context,
    reason: Reason,
    analyst: Annotated[str | None, typer.Option("--analyst", metavar="NAME", help="This analyst's pause only.")] = None,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Lift a pause after engine failures, once you have looked at them."""
    from dither.cli.context import owner_ledger, read_catalog
    from dither.cli.screen import out

    declared = read_catalog(_place(context, catalog))
    name = None if analyst is None else _analyst(declared, analyst)
    with owner_ledger(declared) as ledger:
        ledger.unfreeze(name, reason=reason)
    out().print("Asking goes on.")


def _place(context: typer.Context, catalog: Path) -> Path:
    outer = context.obj
    return outer if isinstance(outer, Path) and catalog == DEFAULT_CATALOG else catalog


def _analyst(catalog: Catalog, name: str) -> str:
    from dither.catalog.model import fold

    known = catalog.analyst(name)
    if catalog.analysts and known is None:
        raise InvalidParameter("analyst", expected="an analyst of the catalog", found=name)
    return fold(name)


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
    from dither.cli.screen import amount

    return who, meter, amount(spent), amount(limit), amount(left)


def _question_row(entry: Entry) -> tuple[str, ...]:
    from dither.plan.explain import price_text

    text = " ".join(entry.text.split()) or "a released answer used again"
    price = "–" if entry.state == "void" else price_text(entry.price)
    return entry.reserved_at[:19], entry.analyst, text if len(text) <= 80 else f"{text[:79]}…", price, entry.state


def _command_row(row: LogRow) -> tuple[str, ...]:
    facts = json.loads(row.body)["facts"]
    what = {
        "created": "the ledger begins",
        "granted": "more budget granted",
        "release": "release opened",
        "promise": "promise adopted",
        "unfrozen": "pause lifted",
        "restored": "worst case charged after a restore",
    }.get(row.kind, row.kind)
    detail = facts.get("release") if row.kind == "release" else facts.get("reason")
    return row.at[:19], row.analyst or "owner", f"{what}: {detail}" if detail else what, "", row.kind


def _signed(path: Path) -> Receipt:
    """What the ledger signed, out of an answer's receipt."""
    from dither.answer.receipt import Receipt as AnswerReceipt
    from dither.ledger import Receipt

    stored = AnswerReceipt.load(path)
    if stored.entry is None or stored.hash is None or stored.digest is None:
        raise InvalidParameter(
            "receipt",
            expected="of an answer that was charged",
            found=str(path),
            hint="This answer needed nothing new, so the ledger has no entry of it.",
        )
    return Receipt(stored.entry, stored.hash, stored.digest)
