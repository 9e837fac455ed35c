"""`dither verify`: is a published folder as it was published, and does its entry stand in the ledger? Reads no data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dither.cli.options import DEFAULT_CATALOG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dither.answer.receipt import Receipt
    from dither.catalog.model import Catalog

__all__ = ["verify"]


def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `dither ask --publish` wrote.")],
    catalog: Annotated[
        Path | None,
        typer.Option("--catalog", "-c", envvar="DITHER_CATALOG", help="Whose ledger to look the entry up in."),
    ] = None,
) -> None:
    """Check that the files of a published answer belong to its receipt, and that the receipt's entry is in the ledger,
    where one is at hand."""
    from dither.answer.publish import check_folder
    from dither.cli.screen import out

    found = check_folder(folder)
    console = out()
    console.print(
        f"{len(found.files)} files belong to the receipt: {', '.join(found.files)}.", style="green", markup=False
    )
    console.print(_ledger_sentence(found.receipt, catalog), markup=False)


def _ledger_sentence(receipt: Receipt, given: Path | None) -> str:
    """What is known of the entry. Raises LedgerCorrupt where the ledger is broken or the entry is not in it."""
    from dither.cli.context import check_entry, check_ledger, ledger_exists, read_catalog, signed_part
    from dither.errors import InvalidParameter

    before = sorted({line.measured_by for line in receipt.vectors if line.measured_by is not None})
    if receipt.entry is None and not before:
        return "The receipt names no ledger entry: its rows were invented."
    if receipt.ledger != "kept":
        return "The entry was not looked up: the ledger of this answer was kept in memory only."
    place = given if given is not None else DEFAULT_CATALOG
    if given is None and not place.exists():
        return "The entry was not looked up: no ledger is at hand. Add --catalog FILE where there is one."
    declared = read_catalog(place)
    if declared.name != receipt.dataset:
        if given is None:
            return f"The entry was not looked up: {place} is the catalog of another data set."
        raise InvalidParameter("catalog", expected=f"of the data set {receipt.dataset}", found=declared.name)
    if not ledger_exists(declared):
        if given is None:
            return "The entry was not looked up: there is no ledger here."
        raise InvalidParameter("catalog", expected="of a data set whose ledger is there", found=str(place))
    check_ledger(declared, None if receipt.entry is None else signed_part(receipt, "receipt.json"))
    check_entry(declared, receipt)
    if before:
        _check_entries(declared, before)
    named = ", ".join(entry for entry in (receipt.entry, *before) if entry is not None)
    unsigned = " The receipt names entries of earlier answers without a signature." if before else ""
    return f"In the ledger: {named}. The ledger holds.{unsigned}"


def _check_entries(catalog: Catalog, named: Sequence[str]) -> None:
    """Raises LedgerCorrupt where an entry of an earlier answer is not there, or was not answered."""
    from dither.cli.context import owner_ledger
    from dither.errors import LedgerCorrupt

    with owner_ledger(catalog) as ledger:
        answered = {entry.id for entry in ledger.entries() if entry.state == "answered"}
    missing = [entry for entry in named if entry not in answered]
    if missing:
        raise LedgerCorrupt(
            f"The ledger has no answer of entry {', '.join(missing)}, which the receipt names.",
            hint="Either this ledger is an older copy, or the receipt is not of it.",
        )
