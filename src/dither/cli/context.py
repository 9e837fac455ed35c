"""From the options of a command to what it works on: the catalog, a session, the owner's view of the ledger."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dither.errors import CatalogError, InvalidParameter, LedgerCorrupt, LedgerError, QueryRefused

if TYPE_CHECKING:
    from dither.answer.receipt import Receipt as AnswerReceipt
    from dither.catalog.model import Catalog
    from dither.ledger import Receipt, Verification
    from dither.ledger.ledger import Ledger
    from dither.ledger.registry import OtherLedger
    from dither.session.session import Session

__all__ = [
    "asking",
    "check_apart",
    "check_entry",
    "check_ledger",
    "ledger_at",
    "ledger_exists",
    "ledger_path",
    "location_has_ledger",
    "owner_ledger",
    "read_catalog",
    "read_file",
    "read_offer",
    "read_question",
    "say_others",
    "signed_part",
]

LONGEST_FILE = 4 << 20
LONGEST_QUESTION = 1 << 20


def read_catalog(path: Path) -> Catalog:
    from dither.catalog.load import load

    return load(path)


def read_question(given: str) -> str:
    """The question itself, or what standard input holds when it is `-`."""
    if given != "-":
        return given
    try:
        # Longer texts are refused by the parser; here it is only kept from reading without end.
        return sys.stdin.read(LONGEST_QUESTION)
    except UnicodeDecodeError:
        raise InvalidParameter("question", expected="text in UTF-8", found="other bytes") from None


def read_file(path: Path, name: str) -> str:
    """The text of a file, or of standard input for -."""
    try:
        if str(path) == "-":
            return sys.stdin.read(LONGEST_FILE)
        if path.is_file() and path.stat().st_size > LONGEST_FILE:
            raise InvalidParameter(name, expected=f"a file of at most {LONGEST_FILE:,} bytes", found=str(path))
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidParameter(name, expected="text in UTF-8", found=f"other bytes in {path}") from None
    except OSError as error:
        reason = error.strerror or "not a usable path"
        raise InvalidParameter(name, expected="a file that can be read", found=f"{path}: {reason}") from None


def read_offer(
    text: str,
    catalog: Catalog,
    *,
    epsilon: str | None,
    rho: str | None,
    within: str | None = None,
    at_most: str | None = None,
) -> None:
    """Raises InvalidParameter or QueryRefused for an offer that no question could use, before any database is opened.
    The text may state it too."""
    from dither.session.offers import offered

    stated = offered(text, epsilon=epsilon, rho=rho, within=within, at_most=at_most)
    if stated.is_stated or catalog.budget.default_epsilon is not None:
        return
    raise InvalidParameter(
        "offer",
        expected="--epsilon NUMBER, --rho NUMBER or --within NUMBER",
        found="none",
        code="M-101",
        hint="Say what the question may cost, as in --epsilon 0.5, or how accurate it must be, as in --within 50. "
        "Nothing is charged without a stated offer.",
    )


@contextmanager
def asking(catalog: Catalog, name: str | None, *, begin: bool = True) -> Iterator[Session]:
    """A session on the real data. Whoever holds the catalog file is its owner, unless they act as an analyst: an
    analyst is not told what the owner could change.
    begin: False where a ledger that is not there yet must not be begun; nothing can be charged then."""
    from dither.session.open import open_catalog

    if name is None and catalog.analysts:
        names = ", ".join(sorted(analyst.name for analyst in catalog.analysts.values()))
        raise InvalidParameter(
            "--as", expected=f"an analyst of the catalog ({names})", found="nothing", hint="Say who asks: --as NAME."
        )
    try:
        ledger = None if begin or ledger_exists(catalog) else ""
        with open_catalog(catalog, ledger=ledger, analyst=name) as session:
            if name is None:
                say_others(session.other_ledgers)
            yield session
    except QueryRefused as refusal:
        if name is not None:
            refusal.owner_hint = None
        raise


def say_others(others: Sequence[OtherLedger]) -> None:
    """On stderr, for the owner: that other ledgers protect the same source."""
    from dither.cli.screen import say

    for other in others:
        say(f"Beware: {other.sentence}. {other.way_forward}", "yellow")


def ledger_path(catalog: Catalog) -> str:
    from dither.catalog.load import resolve_ledger

    return resolve_ledger(catalog)


def ledger_exists(catalog: Catalog) -> bool:
    """Has a ledger of this catalog begun? Looks without beginning one."""
    return location_has_ledger(ledger_path(catalog), catalog.name)


def location_has_ledger(where: str, dataset: str) -> bool:
    if "://" not in where:
        return bool(where) and Path(where).exists()
    from dither.ledger.ledger import Ledger

    try:
        Ledger.open(where, dataset=dataset, promise_digest=None, budget=None, analysts={}).close()
    except LedgerError as error:
        if error.code == "L-170":
            return False
        raise
    return True


@contextmanager
def owner_ledger(catalog: Catalog, *, create: bool = False) -> Iterator[Ledger]:
    """The ledger as its owner sees it: to look at, to grant, to adopt; it cannot be asked through.
    Raises LedgerError when nothing was asked yet and it need not be created."""
    from dither.ledger.ledger import Ledger

    where = ledger_path(catalog)
    if not where:
        raise CatalogError("The catalog names no ledger.", key="dataset.ledger")
    exists = "://" in where or Path(where).exists()
    if not exists and not create:
        raise LedgerError("There is no ledger here yet.", code="L-170", hint="It begins with the first question.")
    ledger = Ledger.open(
        where,
        dataset=catalog.name,
        # Without a digest the ledger only looks: an owner may have to, after a change of the catalog.
        promise_digest=None if exists else catalog.promise_digest(),
        budget=catalog.budget,
        analysts=catalog.analysts,
    )
    try:
        yield ledger
    finally:
        ledger.close()


@contextmanager
def ledger_at(place: str) -> Iterator[Ledger]:
    """Another ledger, by its path, its URL, or its catalog, whichever data set it is of. It must be there."""
    from dither.ledger.ledger import Ledger

    where = ledger_path(read_catalog(Path(place))) if place.lower().endswith(".toml") else place
    if not where or ("://" not in where and not _is_database(where)):
        raise InvalidParameter("ledger", expected="a ledger that is there, or its catalog", found=place)
    ledger = Ledger.open(where, dataset=None, promise_digest=None, budget=None, analysts={})
    try:
        yield ledger
    finally:
        ledger.close()


def _is_database(path: str) -> bool:
    """Whether a file is SQLite's. Opening it as a ledger would take other people's access away and leave files beside
    it, which nobody wants done to their data by a slip."""
    try:
        with open(path, "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def signed_part(receipt: AnswerReceipt, where: str) -> Receipt:
    """What the ledger signed, out of an answer's receipt. where: it came from, for the refusal."""
    from dither.ledger import Receipt

    if receipt.entry is None or receipt.hash is None or receipt.digest is None:
        raise InvalidParameter(
            "receipt",
            expected="of an answer that was charged",
            found=where,
            hint="This answer needed nothing new, so the ledger has no entry of it.",
        )
    return Receipt(receipt.entry, receipt.hash, receipt.digest)


def check_ledger(catalog: Catalog, signed: Receipt | None) -> Verification:
    """Check the catalog's ledger, and that it holds a receipt's entry. Raises LedgerCorrupt."""
    with owner_ledger(catalog) as ledger:
        found = ledger.verify(signed)
    if not found.holds:
        where = f" (row {found.first_broken})" if found.first_broken else ""
        raise LedgerCorrupt(
            f"{found.problem}{where}", hint="Stop asking, and restore a backup: docs/how-to/back-up-a-ledger.md."
        )
    return found


def check_apart(catalog: Catalog) -> list[str]:
    """Check the ledgers of other notions beside the catalog's; a sentence for each. Raises LedgerCorrupt."""
    from dither.ledger.apart import ApartLedger
    from dither.ledger.apart_places import found_beside
    from dither.ledger.apart_rows import loss_text

    sentences = []
    for place in found_beside(ledger_path(catalog)):
        ledger = ApartLedger.look(place)
        try:
            found, notion, total = ledger.verify(), ledger.notion, loss_text(ledger.total())
        finally:
            ledger.close()
        if not found.holds:
            where = f" (row {found.first_broken})" if found.first_broken else ""
            raise LedgerCorrupt(
                f"The ledger of {notion}: {found.problem}{where}",
                hint="Stop releasing under it, and restore a backup: docs/how-to/back-up-a-ledger.md.",
            )
        sentences.append(
            f"The ledger of {notion} holds: {found.rows} rows, head {found.head[:16]}; charged {total}. "
            "It is not differential privacy and no part of the budget."
        )
    return sentences


def check_entry(catalog: Catalog, receipt: AnswerReceipt) -> None:
    """Raises LedgerCorrupt where the receipt's entry is of another question than the receipt says: what the ledger
    signs names an entry, and could stand on another receipt."""
    with owner_ledger(catalog) as ledger:
        entry = next((one for one in ledger.entries() if one.id == receipt.entry), None)
    if entry is None:
        return
    # Of a question with subqueries the last part measured is signed, which may be one of them.
    same_text = entry.text == receipt.question or entry.text.startswith("(")
    said = (receipt.fingerprint, receipt.analyst, receipt.release)
    if not same_text or said != (entry.fingerprint, entry.analyst, entry.release):
        raise LedgerCorrupt(
            f"The ledger's entry {entry.id} is another one than the receipt says: its question, analyst or release.",
            hint="The receipt was changed since it was written: ask its publisher for it again.",
        )
