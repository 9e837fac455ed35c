"""Tell an owner when another ledger protects the same source: two budgets on one person add up.

Flow: `session.open` leaves a note and looks for those of others; `dither check` and `dither budget` look only.
Relies on `ledger.registry`; reads notes and ledgers, no row of the source.
"""

from __future__ import annotations

from pathlib import Path

from dither.catalog.load import resolve_ledger, resolve_source
from dither.catalog.model import Catalog
from dither.errors import DitherError
from dither.ledger.ledger import Ledger
from dither.ledger.registry import OtherLedger, other_ledgers, remember

__all__ = ["ledgers_beside", "look_beside"]


def ledgers_beside(book: Ledger, *, source: str, where: str) -> tuple[OtherLedger, ...]:
    """Other ledgers of this source, beside the one in use; leaves a note of that one, unless it is in memory."""
    remember(source, ledger=where, identity=book.id, dataset=book.dataset)
    return _others(book, source, where)


def look_beside(catalog: Catalog) -> tuple[OtherLedger, ...]:
    """The same for a catalog whose ledger may not exist yet, leaving nothing behind."""
    source, where = resolve_source(catalog), resolve_ledger(catalog)
    exists = "://" in where or (bool(where) and Path(where).exists())
    if not exists:
        return other_ledgers(source, ledger=where, identity=None)
    try:
        book = Ledger.open(where, dataset=None, promise_digest=None, budget=None, analysts={})
    except DitherError:
        # A ledger that cannot be opened is told of where it is needed.
        return ()
    try:
        return _others(book, source, where)
    finally:
        book.close()


def _others(book: Ledger, source: str, where: str) -> tuple[OtherLedger, ...]:
    found = other_ledgers(source, ledger=where, identity=book.id)
    if not found or book.closed_into is not None:
        # A closed ledger answers nothing new, and says so itself.
        return ()
    # One that was closed here spends no more, and what it spent is in our totals.
    counted = {merged.ledger for merged in book.merged() if merged.closed}
    return tuple(one for one in found if one.id not in counted)
