"""What is promised once more was spent than the budget: an import or a merge records what happened, room or no room.

Flow: `reports` and `owner` add these levels to those of the grants. Relies on `accounting` for the meters. Pure.
A booking that carries the totals out of the budget opens a level by itself, as a grant of just that much would have.
Statement: docs/proofs/ledger/spent-elsewhere.md
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction

from dither.accounting.admission import Budget, admits, worst_case
from dither.accounting.convert import epsilon_of
from dither.accounting.price import Price
from dither.ledger.limits import budget_of
from dither.ledger.standing import DATASET, Standing
from dither.ledger.storage.connection import Connection
from dither.ledger.storage.statements import Statement

__all__ = ["level_opened", "overdrawn", "promised"]

_CONVERSION_OF_PURE = Fraction(1, 10**9)
"""The delta at which a rho is told as an epsilon where the budget has no delta of its own for that."""

_BOOKED = Statement("SELECT body FROM dither_log WHERE kind IN ('imported', 'merged') ORDER BY seq")


def overdrawn(standing: Standing) -> bool:
    """Whether the totals lie outside the data set's budget on both meters, or on delta: then nothing is admitted."""
    return not admits(budget_of(standing.levels[-1]), standing.spent, Price())


def promised(connection: Connection, levels: Iterable[Budget]) -> Budget:
    """What holds of all answers ever, given the data set's levels: the worst of them and of those bookings opened."""
    after = (Standing.from_json(json.loads(row.body)["standings"][DATASET]) for row in _BOOKED.rows(connection))
    opened = (level_opened(standing) for standing in after)
    return worst_case([*levels, *(level for level in opened if level is not None)])


def level_opened(standing: Standing) -> Budget | None:
    """The level that a booking opened which left this standing; None when the budget had room for it."""
    if not overdrawn(standing):
        return None
    budget, spent = budget_of(standing.levels[-1]), standing.spent
    if budget.epsilon is None:
        return Budget(None, spent.delta, spent.rho, spent.delta, Fraction(0), spent.rho)
    ways = [] if spent.gaussian else [(spent.epsilon, Fraction(0))]
    if spent.gaussian or (budget.notion == "approximate" and spent.rho > 0):
        conversion = budget.delta_conversion or _CONVERSION_OF_PURE
        ways.append((epsilon_of(spent.rho, conversion), conversion))
    epsilon, conversion = min(ways)
    return Budget(epsilon, spent.delta + conversion, None, spent.delta, conversion, spent.rho)
