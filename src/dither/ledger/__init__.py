"""The ledger: what was asked, what it cost, what was answered. Charge first, never refund, never forget.

Flow: `session.ask` reserves before it reads and answers before it shows. `Ledger` loads SQLite, and so loads on first
use; the plain data of `model` does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.ledger.model import (
    Entry,
    Grant,
    LogRow,
    MergedLedger,
    NewVector,
    OutsideRelease,
    Reading,
    Receipt,
    ReleasedVector,
    ReleaseRecord,
    Reservation,
    ReservationRequest,
    Verification,
)

if TYPE_CHECKING:
    from dither.ledger.ledger import Ledger

__all__ = [
    "Entry",
    "Grant",
    "Ledger",
    "LogRow",
    "MergedLedger",
    "NewVector",
    "OutsideRelease",
    "Reading",
    "Receipt",
    "ReleaseRecord",
    "ReleasedVector",
    "Reservation",
    "ReservationRequest",
    "Verification",
]


def __getattr__(name: str) -> object:
    if name == "Ledger":
        from dither.ledger.ledger import Ledger

        return Ledger
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
