"""How much has been given away so far: what is certain, and what would be if the spend had been fixed in advance.

Somebody who looks at answers and chooses when to stop or what to ask next has chosen the moment at which the odometer
is read. Two figures hold at every such moment: the running sum of pure epsilons, and the filter's own total, because
the filter was there before the first question. The sharper theorems (optimal composition, zCDP, Rényi, privacy-loss
distributions, at a delta of one's choice) are about events whose prices and number were fixed beforehand; they are
shown beside, with that condition. An odometer whose sharp figure holds at any moment must lose a factor (Rogers, Roth,
Ullman, Vadhan 2016).
Flow: events and the budget of a ledger -> `Odometer` -> budget page and statements. Decisions are `admission`'s.
Relies on: `compose`, `admission`, `gdp`, `odds`. Proof: docs/proofs/accounting/odometer.md
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.admission import Budget
from dither.accounting.compose import Bound, Composition, compose
from dither.accounting.convert import epsilon_of
from dither.accounting.events import Event
from dither.accounting.gdp import TradeOff
from dither.accounting.odds import in_words
from dither.errors import InvalidParameter
from dither.exact import Number, decimal_text, exact, round_up

__all__ = ["Odometer", "odometer"]

_CONDITION = "if this spend had been fixed in advance"


@dataclass(frozen=True)
class Odometer:
    """A reading: the events so far, and the budget that admitted them."""

    composition: Composition
    budget: Budget | None
    """None outside a ledger: then only the pure sum is certain."""

    def certain(self) -> tuple[Bound, ...]:
        """What holds at every moment, also one chosen after looking at the answers."""
        spent, bounds = self.composition.price, []
        failure = self.budget.delta_selection if self.budget else Fraction(0)
        if spent.epsilon is not None and spent.delta <= failure:
            # Failure masses are capped by the budget before the first question; the running sum of them is not.
            delta = failure if spent.delta else Fraction(0)
            bounds.append(Bound(spent.epsilon, delta, "the sum of the epsilons, at every moment"))
        if self.budget is not None and self.budget.epsilon is not None:
            bounds.append(
                Bound(self.budget.epsilon, self.budget.delta, "the budget's own promise, for all answers ever")
            )
        return tuple(bounds)

    def certain_rho(self) -> Fraction | None:
        """The promise of a zCDP budget, outside its failure mass; None for other budgets."""
        return self.budget.rho if self.budget else None

    def fixed_in_advance(self, delta: Number) -> tuple[Bound, ...]:
        """What each theorem says at this delta, smallest first, if prices and number of events were fixed in
        advance."""
        bounds = [bound for bound in self.composition.bounds(delta) if bound.epsilon is not None]
        return tuple(sorted(bounds, key=lambda bound: (bound.epsilon or 0, bound.because)))

    def trade_off(self) -> TradeOff:
        """The curve of misses against false alarms, if fixed in advance."""
        return self.composition.trade_off()

    def certain_trade_off(self) -> TradeOff:
        """The curve that holds at every moment."""
        bounds = list(self.certain())
        rho = self.certain_rho()
        if rho is not None and self.budget is not None:
            for delta in (Fraction(1, 10**9), Fraction(1, 10**6), Fraction(1, 1000)):
                bounds.append(Bound(epsilon_of(rho, delta), delta + self.budget.delta, "the budget's own promise"))
        return TradeOff(tuple((bound.epsilon, bound.delta) for bound in bounds if bound.epsilon is not None))

    def in_words(self, delta: Number, *, unit: str = "patient") -> str:
        """A few lines for people: the certain figures, the sharpest other one with its condition, and the odds."""
        lines = [f"certain: {_figure(bound)} ({bound.because})" for bound in self.certain()]
        rho = self.certain_rho()
        if rho is not None:
            lines.append(f"certain: rho {decimal_text(rho, 6)} (the budget's own promise, for all answers ever)")
        sharp = self.fixed_in_advance(delta)
        if sharp:
            lines.append(f"{_CONDITION}: {_figure(sharp[0])} ({sharp[0].because})")
        certain = min(self.certain(), key=lambda bound: bound.epsilon or 0, default=None)
        if certain is not None and certain.epsilon is not None:
            lines.append(in_words(certain.epsilon, certain.delta, unit=unit))
        return "\n".join(lines)


def odometer(events: Iterable[Event], budget: Budget | None = None) -> Odometer:
    """The reading after these events. Raises InvalidParameter when they cannot all have been admitted by the budget."""
    composition = compose(events)
    if budget is not None:
        spent = composition.price
        by_epsilon = budget.epsilon is not None and spent.epsilon is not None and spent.epsilon <= budget.epsilon
        if spent.delta > budget.delta_selection or not (by_epsilon or spent.rho <= budget.rho_limit):
            raise InvalidParameter("events", expected="events that fit the budget", found=spent)
    return Odometer(composition, budget)


def _figure(bound: Bound) -> str:
    epsilon = decimal_text(round_up(exact(bound.epsilon or 0), Fraction(1, 10**4)), 4)
    return f"epsilon {epsilon}" + (f" at delta {float(bound.delta):.3g}" if bound.delta else "")
