"""`dither budget`: what was spent, what is left, who asked what; granting more; checking the ledger.

Relies on the owner's view of the ledger. With --as NAME only that analyst's own figures are shown.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dither.cli import budget_book, budget_out, plan
from dither.cli.options import DEFAULT_CATALOG, As, CatalogPath, Reason, catalog_place
from dither.errors import InvalidParameter

if TYPE_CHECKING:
    from dither.catalog.model import Catalog
    from dither.ledger import Entry, LogRow

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, help="What was spent, what is left; grant more; verify the ledger.")

app.command("plan")(plan.plan)


@app.callback(invoke_without_command=True)
def show(context: typer.Context, as_name: As = None, catalog: CatalogPath = DEFAULT_CATALOG) -> None:
    """What was spent and what is left."""
    if context.invoked_subcommand is not None:
        # `dither budget --catalog FILE log` means the same as `dither budget log --catalog FILE`.
        context.obj = catalog
        return
    from dither.cli.balance import balance, say_other_notions, say_what_stops
    from dither.cli.context import ledger_path, owner_ledger, read_catalog, say_others
    from dither.cli.screen import out, say
    from dither.session.same_source import look_beside

    declared = read_catalog(catalog)
    name = None if as_name is None else _analyst(declared, as_name)
    with owner_ledger(declared, create=True) as ledger:
        out().print(balance(ledger, declared, name))
        note = ledger.budget_note if name is None else None
        frozen = ledger.frozen(name)
        out().print(f"Release {ledger.current_release}.", style="dim", markup=False)
        if name is None:
            say_what_stops(ledger)
    if name is None:
        say_other_notions(ledger_path(declared))
        say_others(look_beside(declared))
    if note:
        say(note, "yellow")
    if frozen:
        say("Asking is paused after repeated engine failures: `dither budget unfreeze` lifts it.", "bold red")


@app.command("log")
def show_log(context: typer.Context, as_name: As = None, catalog: CatalogPath = DEFAULT_CATALOG) -> None:
    """Every question, refused ones too, and every owner's command, oldest first."""
    from dither.cli.context import owner_ledger, read_catalog
    from dither.cli.screen import out
    from dither.cli.tables import grid

    declared = read_catalog(catalog_place(context, catalog))
    name = None if as_name is None else _analyst(declared, as_name)
    with owner_ledger(declared) as ledger:
        questions = [(entry.reserved_at, _question_row(entry)) for entry in ledger.entries(name)]
        others = [row for row in ledger.log() if row.entry is None]
    refused = [(row.at, _refused_row(row)) for row in others if row.kind == "refused" and name in (None, row.analyst)]
    commands = [(row.at, _command_row(row)) for row in others if row.kind != "refused" and name is None]
    rows = [row for _, row in sorted(questions + refused + commands, key=lambda pair: pair[0])]
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

    declared = read_catalog(catalog_place(context, catalog))
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
    """Check every row, every total and every kept answer of the ledger; with a receipt, that it was not rolled back.
    Ledgers of other notions beside it are checked too."""
    from dither.answer.receipt import Receipt
    from dither.cli.context import check_apart, check_entry, check_ledger, read_catalog, signed_part
    from dither.cli.screen import out

    declared = read_catalog(catalog_place(context, catalog))
    given = None if receipt is None else Receipt.load(receipt)
    signed = None if given is None else signed_part(given, str(receipt))
    found = check_ledger(declared, signed)
    if given is not None:
        check_entry(declared, given)
    with_receipt = "" if signed is None else ", and the receipt's entry is in it"
    out().print(
        f"The ledger holds: {found.rows} rows, head {found.head[:16]}{with_receipt}.", style="green", markup=False
    )
    for sentence in check_apart(declared):
        out().print(sentence, style="green", markup=False)


@app.command("adopt")
def adopt(context: typer.Context, reason: Reason, catalog: CatalogPath = DEFAULT_CATALOG) -> None:
    """Go on under a catalog that promises something else (units, paths, source). What was spent stays spent."""
    from dither.cli.context import owner_ledger, read_catalog
    from dither.cli.screen import out

    declared = read_catalog(catalog_place(context, catalog))
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

    declared = read_catalog(catalog_place(context, catalog))
    name = None if analyst is None else _analyst(declared, analyst)
    with owner_ledger(declared) as ledger:
        ledger.unfreeze(name, reason=reason)
    out().print("Asking goes on.")


app.command("export")(budget_out.export)
app.command("chart")(budget_out.chart)
app.command("import")(budget_book.import_releases)
app.command("merge")(budget_book.merge)
app.command("split")(budget_book.split)
app.command("restored")(budget_book.restored)


def _analyst(catalog: Catalog, name: str) -> str:
    from dither.catalog.model import fold

    known = catalog.analyst(name)
    if catalog.analysts and known is None:
        raise InvalidParameter("analyst", expected="an analyst of the catalog", found=name)
    return fold(name)


def _question_row(entry: Entry) -> tuple[str, ...]:
    from dither.plan.explain import price_text

    text = _short(entry.text) or "a released answer used again"
    price = "–" if entry.state == "void" else price_text(entry.price)
    return entry.reserved_at[:19], entry.analyst, text, price, entry.state


def _refused_row(row: LogRow) -> tuple[str, ...]:
    facts = json.loads(row.body)["facts"]
    what = _short(facts["text"])
    if facts["last"]:
        what += " (further refusals of this day are not recorded)"
    return row.at[:19], str(row.analyst), what, "–", f"refused {facts['code']}"


def _short(text: str) -> str:
    """A question in one line of at most 80 characters. What an analyst wrote must not steer the owner's terminal."""
    line = "".join(character if character.isprintable() else "?" for character in " ".join(text.split()))
    return line if len(line) <= 80 else f"{line[:79]}…"


def _command_row(row: LogRow) -> tuple[str, ...]:
    from dither.ledger.amounts import price_from_json
    from dither.plan.explain import price_text

    facts = json.loads(row.body)["facts"]
    what = {
        "created": "the ledger begins",
        "granted": "more budget granted",
        "release": "release opened",
        "promise": "promise adopted",
        "unfrozen": "pause lifted",
        "restored": "worst case charged after a restore",
        "imported": f"{facts.get('name')}, released elsewhere by {facts.get('who')} on {facts.get('when')}",
        "merged": f"spend of the ledger of {facts.get('dataset')} taken over",
        "closed": f"closed; {facts.get('into')} took over what was spent",
    }.get(row.kind, row.kind)
    detail = facts.get("release") if row.kind == "release" else facts.get("reason")
    price = price_text(price_from_json(facts["price"])) if "price" in facts else ""
    return row.at[:19], row.analyst or "owner", f"{what}: {detail}" if detail else what, price, row.kind
