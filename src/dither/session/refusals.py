"""Have the ledger note what a session refused, for the owner who reads `dither budget log`.

Flow: `Session.ask` and `open_series` do all that comes before the first reading inside `noted`; what fails afterwards
was charged and is no refusal. Relies on `Ledger.record_refusal`. A refusal that cannot be written down is one all the
same: nothing was answered, so nothing is owed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from dither.errors import BudgetError, DitherError, PolicyRefused, QueryRefused
from dither.sql.embedded import within_depth

if TYPE_CHECKING:
    from dither.session.session import Session

__all__ = ["noted"]


@contextmanager
def noted(session: Session, question: str | None) -> Iterator[None]:
    """Refusals raised inside go to the ledger's log with the question's text and their code, and on to the caller."""
    try:
        with within_depth():
            yield
    except (QueryRefused, PolicyRefused, BudgetError) as refusal:
        if isinstance(question, str) and not session.invented:
            with suppress(DitherError):
                session.ledger.record_refusal(session.analyst, question, refusal.code)
        raise
