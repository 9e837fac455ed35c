"""Write a ledger as JSON lines that another program can check and add up without Dither.

Flow: `dither budget export`. Relies on `journal` for the rows, `effects` for what each does to which level.
The rows are written as they are stored, with the text their hash covers, so the file verifies by itself. What the last
line repeats, the totals, a reader can add up from the rows. The key that signs receipts and the noisy answers
themselves are left out.  Format: docs/reference/ledger-export.md
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dither.ledger.base import LedgerBase
from dither.ledger.chain import GENESIS, Json, canonical
from dither.ledger.effects import levels_of
from dither.ledger.journal import latest_standings, whole_log
from dither.ledger.model import LogRow
from dither.ledger.opening import stored_identity
from dither.ledger.storage.connection import Connection

__all__ = ["FORMAT", "Exports"]

FORMAT = "dither ledger export 1"

_SIGNS = {"reserved": 1, "reused": 1, "restored": 1, "imported": 1, "merged": 1, "void": -1}
"""Kinds that change what was spent: by their price, up or down."""


class Exports(LedgerBase):
    def export(self) -> Iterator[str]:
        """The lines of the export: what the file is, every row of the chain, the totals. One state of the ledger,
        held while the lines are taken."""
        with self._journal.reading() as connection:
            stored = stored_identity(connection)
            yield canonical(
                {
                    "line": "ledger",
                    "format": FORMAT,
                    "dataset": self.dataset,
                    "ledger": self.id,
                    "created_at": stored.created_at,
                    "schema_version": stored.schema_version,
                    "genesis": GENESIS,
                }
            )
            rows, head, levels = 0, GENESIS, set[str]()
            for row in whole_log(connection):
                line = _row_line(row)
                rows, head = rows + 1, row.hash
                levels |= set(line["levels"])
                yield canonical(line)
            totals: dict[str, Json] = {level: _total(connection, level) for level in sorted(levels)}
            yield canonical({"line": "totals", "rows": rows, "head": head, "levels": totals})


def _row_line(row: LogRow) -> dict[str, Any]:
    facts = json.loads(row.body)["facts"]
    sign = _SIGNS.get(row.kind, 0)
    return {
        "line": "row",
        **vars(row),
        "price": facts["price"] if sign else None,
        "sign": sign,
        "levels": list(levels_of(row.kind, facts, analyst=row.analyst, day=row.day)),
    }


def _total(connection: Connection, level: str) -> dict[str, Json]:
    standing = latest_standings(connection, level)[level]
    return {
        "epsilon": str(standing.epsilon),
        "rho": str(standing.rho),
        "delta": str(standing.delta),
        "gaussians": standing.gaussians,
    }
