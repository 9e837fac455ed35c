"""What a dead process leaves behind: charged questions without an answer. They stay charged, and they count.

Flow: `Ledger.open` runs it once, before anything is asked. Relies on `presence` to tell the dead from the living.
An entry whose session has ended becomes `lost`. It is never voided: its process may have read the data, and its answer
may have been seen. Lost answers count as failures, since crashing the engine is a way to make it tell something; so do
advances of a series that ended in the middle.
Statement: docs/proofs/ledger/charge-first.md
"""

from __future__ import annotations

import json

from dither.ledger.journal import Journal
from dither.ledger.series import interrupted, stall
from dither.ledger.storage.connection import Connection
from dither.ledger.storage.schema import OPENS, SETTLES
from dither.ledger.storage.statements import Statement

__all__ = ["recover"]

_UNSETTLED = Statement(
    f"SELECT entry, analyst, body FROM dither_log WHERE dither_log.{OPENS} AND NOT EXISTS "
    f"(SELECT 1 FROM dither_log AS later WHERE later.entry = dither_log.entry AND later.{SETTLES})"
)
"""Both conditions in the words of partial indexes, so that settled entries are passed over without being read."""


def recover(journal: Journal) -> int:
    """Settle as lost every reserved entry whose session has ended; returns how many. Open entries of living sessions
    are left alone. Of a series that was being read the charge stands anyway; the failure is booked."""
    with journal.reading() as connection:
        if not _unsettled(connection) and not interrupted(connection):
            return 0
    lost = 0
    with journal.writing() as page:
        for entry, analyst, body in _unsettled(page.connection):
            holder = json.loads(body)["facts"]["holder"]
            if not journal.store.presence.alive(page.connection, holder):
                page.append("lost", facts={}, entry=entry, analyst=analyst)
                lost += 1
        for entry, analyst, reader in interrupted(page.connection):
            if not journal.store.presence.alive(page.connection, reader):
                stall(page, entry, analyst)
    return lost


def _unsettled(connection: Connection) -> list[tuple[str, str, str]]:
    """(entry, analyst, body) of each reserved row that nothing settled."""
    return [(row.entry, row.analyst, row.body) for row in _UNSETTLED.rows(connection)]
