"""May this question still be asked? One rule for data sets, allowances and daily limits.

Flow: the ledger holds `Spent` per level, the planner brings a `Price`, `admits` decides before anything is read.
Relies on: exact Fractions only; no float takes part in a decision.

An (epsilon, delta) budget is judged by two meters, sum of epsilon against epsilon and sum of rho against
rho*(epsilon, delta_conversion), and a question passes when *either* meter stays inside; the failure masses of key
selection are summed beside both. For every adaptive sequence of questions so admitted, all answers together are
(epsilon, delta)-DP.  Proof: docs/proofs/accounting/either-meter.md
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dither.accounting.convert import rho_star
from dither.accounting.price import Price
from dither.errors import InvalidParameter
from dither.exact import QUANTUM, Number, exact, positive, round_down

__all__ = [
    "Budget",
    "Notion",
    "Remaining",
    "Spent",
    "admits",
    "allowance_budget",
    "how_many_left",
    "remaining",
    "worst_case",
]

Notion = Literal["pure", "approximate", "zcdp"]

SELECTION_SHARE = Fraction(1, 10)
"""Of delta, by default, for key selection; the rest converts rho."""

_DELTA_QUANTUM = QUANTUM * QUANTUM


@dataclass(frozen=True)
class Budget:
    """A limit on everything ever answered. Made by `Budget.create`, which keeps the fields consistent."""

    epsilon: Fraction | None
    """None exactly for a zCDP budget."""
    delta: Fraction
    """delta_selection + delta_conversion."""
    rho: Fraction | None
    """As declared, for a zCDP budget; else None."""
    delta_selection: Fraction
    delta_conversion: Fraction
    rho_limit: Fraction
    """Where the rho meter ends: rho*, the declared rho, or 0 for a pure budget, which has no such meter."""

    @classmethod
    def create(
        cls,
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        selection_share: Number = SELECTION_SHARE,
    ) -> Budget:
        """A pure budget (epsilon), an approximate one (epsilon, delta > 0), or a zCDP one (rho; delta then serves
        key selection alone). `selection_share` of delta goes to key selection and is fixed from then on."""
        failure = exact(delta, "delta")
        if not 0 <= failure < 1:
            raise InvalidParameter("delta", expected="0 or above, and below 1", found=delta)
        if (epsilon is None) == (rho is None):
            raise InvalidParameter("budget", expected="epsilon or rho, and not both", found=(epsilon, rho))
        if rho is not None:
            limit = positive(rho, "rho")
            return cls(None, failure, limit, failure, Fraction(0), limit)
        assert epsilon is not None
        limit = positive(epsilon, "epsilon")
        if failure == 0:
            return cls(limit, failure, None, Fraction(0), Fraction(0), Fraction(0))
        share = exact(selection_share, "selection_share")
        if not 0 <= share < 1:
            raise InvalidParameter("selection_share", expected="0 or above, and below 1", found=selection_share)
        selection = failure * share
        conversion = failure - selection
        return cls(limit, failure, None, selection, conversion, rho_star(limit, conversion))

    @property
    def notion(self) -> Notion:
        if self.epsilon is None:
            return "zcdp"
        return "approximate" if self.delta > 0 else "pure"


@dataclass(frozen=True)
class Spent:
    """What has been charged to one level so far, on every meter."""

    epsilon: Fraction = Fraction(0)
    """Sum over the events that have a pure epsilon."""
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    gaussian: bool = False
    """True once a Gaussian event was charged: the epsilon meter is closed from then on."""

    def plus(self, cost: Price) -> Spent:
        """What is spent with this charge too. Raises InvalidParameter for a loss of another notion."""
        if not isinstance(cost, Price):
            raise InvalidParameter("cost", expected="a Price of differential privacy", found=cost)
        return Spent(
            self.epsilon + (cost.epsilon or 0),
            self.rho + cost.rho,
            self.delta + cost.delta,
            self.gaussian or cost.gaussian,
        )


@dataclass(frozen=True)
class Remaining:
    """What one more question could still cost: on either of the two meters, beside delta. Rounded down."""

    epsilon: Fraction | None
    """None when there is no epsilon meter, or a Gaussian event has closed it."""
    rho: Fraction
    delta: Fraction


def admits(budget: Budget, spent: Spent, cost: Price) -> bool:
    """True when the budget still holds after charging `cost`."""
    after = spent.plus(cost)
    if after.delta > budget.delta_selection:
        return False
    return _epsilon_meter_holds(budget, after) or _rho_meter_holds(budget, after)


def remaining(budget: Budget, spent: Spent) -> Remaining:
    """What is left at this level, each figure rounded down to 1e-18 (delta to 1e-36)."""
    epsilon = None
    if budget.epsilon is not None and not spent.gaussian:
        epsilon = round_down(max(budget.epsilon - spent.epsilon, Fraction(0)))
    rho = round_down(max(budget.rho_limit - spent.rho, Fraction(0)))
    return Remaining(epsilon, rho, round_down(max(budget.delta_selection - spent.delta, Fraction(0)), _DELTA_QUANTUM))


def how_many_left(budget: Budget, spent: Spent, cost: Price) -> int | None:
    """How many more questions of this price `admits` lets through, one after another; None when there is no end."""
    by_delta = _times(budget.delta_selection - spent.delta, cost.delta)
    by_meter: list[int | None] = []
    if budget.epsilon is not None and not spent.gaussian and cost.epsilon is not None:
        by_meter.append(_times(budget.epsilon - spent.epsilon, cost.epsilon))
    if budget.notion != "pure":
        by_meter.append(_times(budget.rho_limit - spent.rho, cost.rho))
    best = None if None in by_meter else max((count for count in by_meter if count is not None), default=0)
    counts = [count for count in (by_delta, best) if count is not None]
    return min(counts) if counts else None


def allowance_budget(budget: Budget, epsilon: Number | None = None, *, rho: Number | None = None) -> Budget:
    """The budget by which an analyst's allowance or daily limit is judged, on the notion of the data set's budget.
    An epsilon has the same two meters, with rho*(epsilon, the data set's delta_conversion). Failure mass is rationed
    by the data set's own delta_selection: carried over here, it never binds before the data set's does.
    Raises InvalidParameter for an epsilon under a zCDP budget, or a rho under another."""
    if budget.notion == "zcdp":
        if rho is None or epsilon is not None:
            raise InvalidParameter("allowance", expected="a rho, as the budget has", found=epsilon)
        limit = positive(rho, "rho")
        return Budget(None, budget.delta, limit, budget.delta_selection, Fraction(0), limit)
    if epsilon is None or rho is not None:
        raise InvalidParameter("allowance", expected="an epsilon, as the budget has", found=rho)
    limit = positive(epsilon, "epsilon")
    rho_limit = rho_star(limit, budget.delta_conversion) if budget.delta_conversion > 0 else Fraction(0)
    return Budget(limit, budget.delta, None, budget.delta_selection, budget.delta_conversion, rho_limit)


def worst_case(levels: Sequence[Budget]) -> Budget:
    """What is promised after the budget was raised through these levels by decisions that looked at answers only:
    the largest epsilon or rho, and the deltas of all levels added. Its `rho_limit` is the largest of the levels'.
    Raises InvalidParameter for no level, or levels of two notions."""
    if not levels:
        raise InvalidParameter("levels", expected="at least one budget", found=levels)
    if len({level.epsilon is None for level in levels}) > 1:
        raise InvalidParameter("levels", expected="budgets of one notion", found=[level.notion for level in levels])
    return Budget(
        epsilon=max((level.epsilon for level in levels if level.epsilon is not None), default=None),
        delta=sum((level.delta for level in levels), Fraction(0)),
        rho=max((level.rho for level in levels if level.rho is not None), default=None),
        delta_selection=sum((level.delta_selection for level in levels), Fraction(0)),
        delta_conversion=sum((level.delta_conversion for level in levels), Fraction(0)),
        rho_limit=max(level.rho_limit for level in levels),
    )


def _epsilon_meter_holds(budget: Budget, after: Spent) -> bool:
    return budget.epsilon is not None and not after.gaussian and after.epsilon <= budget.epsilon


def _rho_meter_holds(budget: Budget, after: Spent) -> bool:
    return budget.notion != "pure" and after.rho <= budget.rho_limit


def _times(room: Fraction, cost: Fraction) -> int | None:
    """How often `cost` fits into `room`; None when it is free."""
    if cost == 0:
        return None if room >= 0 else 0
    return max(0, room // cost)
