"""Which formats of a ledger this Dither reads, and the one place where an older one would be brought up to date.

Flow: `opening` asks before it reads anything but the format. There has been one format so far, so nothing migrates.

A ledger is append-only, and its rows are hashed as they are stored. So a migration may add tables, indexes and columns
that hold a default; it may not rewrite a row of `dither_log`. It belongs here, as a function from one format to the
next, run by `opening` in one write transaction with a row of the log that says so; `verify` must go on accepting the
rows before it. A new kind of row that only charges needs no new format, since an older Dither reads the totals it left
behind. One that forbids what an older Dither would do needs a new number.
"""

from __future__ import annotations

from dither.errors import LedgerError
from dither.ledger.storage.schema import SCHEMA_VERSION

__all__ = ["check_format"]


def check_format(found: int) -> None:
    """Raises LedgerError unless a ledger of this format can be read and written as it is."""
    if found != SCHEMA_VERSION:
        raise LedgerError(
            f"The ledger has format {found}; this Dither reads format {SCHEMA_VERSION}.",
            code="L-180",
            hint="Use the Dither that wrote it, or a newer one.",
        )
