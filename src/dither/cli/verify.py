"""`dither verify`: is a published folder as it was published, and does its entry stand in the ledger? Reads no data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dither.cli.options import DEFAULT_CATALOG

if TYPE_CHECKING:
    from dither.answer.receipt import Receipt

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
    from dither.cli.context import check_ledger, ledger_exists, read_catalog, signed_part
    from dither.errors import InvalidParameter

    if receipt.entry is None:
        return "The receipt has no ledger entry: all it needed was released before, or its rows were invented."
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
    check_ledger(declared, signed_part(receipt, "receipt.json"))
    return f"Entry {receipt.entry} is in the ledger, and the ledger holds."
