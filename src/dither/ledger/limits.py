"""Which limit a level is judged by, and what its holder is told when a question does not fit.

Flow: `reserve` and `record_reuse` ask `fits` before they append, and raise what `exceeded` says.
Relies on `accounting.admission` for the rules, `standing` for what the ledger holds.

The data set's budget is what the ledger first recorded plus grants, whatever the catalog says now. An analyst's
allowance is the lesser of what was first recorded and what the catalog says now, plus grants: lowering a number in the
catalog takes effect, raising one needs a grant. A daily limit is a pace, not a promise: the catalog's is used as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from dither.accounting.admission import Budget, Remaining, admits, allowance_budget, remaining
from dither.accounting.price import Price
from dither.catalog.model import Analyst, BudgetTerms
from dither.errors import BudgetExceeded, InvalidParameter
from dither.exact import decimal_text
from dither.ledger.amounts import price_text
from dither.ledger.standing import Standing, Terms

__all__ = [
    "allowance_of",
    "budget_of",
    "check_analysts",
    "daily_of",
    "exceeded",
    "fits",
    "remaining_text",
    "terms_of_analyst",
    "terms_of_budget",
    "what_remains",
]


def terms_of_budget(budget: BudgetTerms) -> Terms:
    return Terms(budget.epsilon, budget.delta, budget.rho)


def terms_of_analyst(analyst: Analyst) -> Terms:
    return Terms(analyst.epsilon, Fraction(0), analyst.rho)


def budget_of(terms: Terms) -> Budget:
    """The data set's budget under these terms."""
    return _budget(terms)


def allowance_of(dataset: Budget, analyst: Analyst, standing: Standing) -> Budget | None:
    """The budget an analyst's allowance amounts to; None when only the data set's budget limits them."""
    declared = terms_of_analyst(analyst)
    terms = Terms(
        _lesser(declared.epsilon, standing.recorded.epsilon), rho=_lesser(declared.rho, standing.recorded.rho)
    )
    for step in standing.grants:
        terms = terms.raised(step)
    return None if terms.epsilon is None and terms.rho is None else _allowance(dataset, terms)


def daily_of(dataset: Budget, analyst: Analyst) -> Budget | None:
    return None if analyst.daily_epsilon is None else _allowance(dataset, Terms(analyst.daily_epsilon))


def check_analysts(dataset: Budget, analysts: Iterable[Analyst]) -> None:
    """Raises InvalidParameter when a limit is not on the notion of the data set's budget, before anyone asks."""
    for analyst in analysts:
        other = analyst.rho if dataset.notion != "zcdp" else analyst.epsilon or analyst.daily_epsilon
        if other is not None:
            meter = "a rho" if dataset.notion == "zcdp" else "an epsilon"
            raise InvalidParameter(f"allowance of {analyst.name}", expected=f"{meter}, as the budget has", found=other)


def fits(budget: Budget | None, standing: Standing, price: Price) -> bool:
    return budget is None or admits(budget, standing.spent, price)


def what_remains(budget: Budget | None, standing: Standing) -> Remaining | None:
    return None if budget is None else remaining(budget, standing.spent)


def exceeded(level: str, budget: Budget | None, standing: Standing, price: Price) -> BudgetExceeded:
    """The refusal for `level` ("allowance", "daily limit", "data set"). Pass no budget for the data set: its balance
    tells of other analysts."""
    left = what_remains(budget, standing)
    shown = "" if left is None else remaining_text(left)
    found = f"; {shown} is left" if shown else ""
    return BudgetExceeded(
        f"The question costs {price_text(price)}, which does not fit {_NAMES[level]}{found}.",
        level=level,
        requested=price_text(price),
        remaining=shown,
        hint=_HINTS[level],
    )


def remaining_text(left: Remaining) -> str:
    """`epsilon 0.3`, `rho 0.01`, or `epsilon 0.3 or rho 0.01`: on either meter, whichever the question uses."""
    meters = [] if left.epsilon is None else [f"epsilon {decimal_text(left.epsilon)}"]
    if left.rho > 0 or not meters:
        meters.append(f"rho {decimal_text(left.rho)}")
    return " or ".join(meters)


_NAMES = {"allowance": "your allowance", "daily limit": "your limit for today", "data set": "the data set's budget"}
_HINTS = {
    "allowance": "Ask for less accuracy, reuse an earlier answer, or ask the owner for a grant.",
    "daily limit": "Ask again tomorrow (UTC), or ask for less accuracy.",
    "data set": "Ask for less accuracy, reuse an earlier answer, or ask the owner.",
}


@lru_cache(maxsize=256)
def _budget(terms: Terms) -> Budget:
    return Budget.create(epsilon=terms.epsilon, delta=terms.delta, rho=terms.rho)


@lru_cache(maxsize=1024)
def _allowance(dataset: Budget, terms: Terms) -> Budget:
    return allowance_budget(dataset, terms.epsilon, rho=terms.rho)


def _lesser(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return b if a is None else a if b is None else min(a, b)
