"""What is left, for the one who asks: their own allowance, or, where no analysts are declared, the data set's budget.

Flow: `Session.budget`; the command line prints it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.accounting import Remaining, Spent

if TYPE_CHECKING:
    from dither.ledger.ledger import Ledger

__all__ = ["BudgetView"]


@dataclass(frozen=True)
class BudgetView:
    level: str
    """`data set`, or the analyst's name."""
    spent: Spent
    remaining: Remaining | None
    """None for an analyst without an allowance of their own."""
    notion: str
    epsilon_limit: Fraction | None
    release: str
    note: str | None = None

    @classmethod
    def of(cls, ledger: Ledger, analyst: str | None) -> BudgetView:
        budget = ledger.budget
        return cls(
            analyst or "data set",
            ledger.spent(analyst),
            ledger.remaining(analyst),
            budget.notion,
            budget.epsilon if analyst is None else None,
            ledger.current_release,
            ledger.budget_note if analyst is None else None,
        )

    def __str__(self) -> str:
        left = "no limit of its own"
        if self.remaining is not None:
            parts = []
            if self.remaining.epsilon is not None:
                parts.append(f"epsilon {float(self.remaining.epsilon):.6g}")
            if self.notion != "pure":
                parts.append(f"rho {float(self.remaining.rho):.4g}")
            left = " or ".join(parts) or "nothing"
        return f"{self.level}: spent epsilon {float(self.spent.epsilon):.6g}, left {left}"
