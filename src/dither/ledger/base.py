"""What every part of a ledger shares: the journal, whose data set it is, who may ask, and the limits in force.

Flow: `Ledger` is this plus `reports.Reports` (reading) plus `owner.OwnerCommands` plus its own questions' life.
Relies on `journal`, `limits`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from dither.accounting.admission import Budget
from dither.catalog.model import Analyst, BudgetTerms
from dither.errors import InvalidParameter, PolicyRefused
from dither.ledger.journal import Journal
from dither.ledger.limits import budget_of
from dither.ledger.opening import Identity
from dither.ledger.standing import Standing

__all__ = ["LONGEST_REASON", "LedgerBase", "check_reason"]

LONGEST_REASON = 2000
"""Characters."""


def check_reason(reason: str | None) -> None:
    """Raises InvalidParameter for what an owner cannot want to read in the log for good: nothing, control characters,
    pages. None, and the empty text that stands for none, are for commands that need no reason."""
    if reason and not (isinstance(reason, str) and len(reason) <= LONGEST_REASON and reason.isprintable()):
        raise InvalidParameter(
            "reason", expected=f"one line of at most {LONGEST_REASON:,} printable characters", found=reason
        )


class LedgerBase:
    ANALYST_FAILURES: ClassVar[int] = 3
    """Engine failures and lost answers after which an analyst waits for the owner."""
    DATASET_FAILURES: ClassVar[int] = 10

    def __init__(
        self,
        journal: Journal,
        identity: Identity,
        *,
        promise_digest: str | None,
        declared: BudgetTerms | None,
        analysts: Mapping[str, Analyst],
    ) -> None:
        self.dataset = identity.dataset
        self.id = identity.ledger
        """Names this ledger wherever its file is kept."""
        self.promise_digest = promise_digest
        self._key = identity.key
        self._journal = journal
        self._declared = declared
        self._analysts = dict(analysts)
        self._reading: set[str] = set()

    def _analyst(self, name: str) -> Analyst:
        """Without declared analysts anyone may ask, limited by the data set's budget alone."""
        if not self._analysts:
            return Analyst(name)
        if name not in self._analysts:
            raise PolicyRefused(
                "This analyst is not in the catalog.", code="C-310", hint="Ask the owner to add you under [analysts]."
            )
        return self._analysts[name]

    @staticmethod
    def _budget(dataset: Standing) -> Budget:
        """The data set's budget in force: as first recorded, plus grants."""
        return budget_of(dataset.levels[-1])
