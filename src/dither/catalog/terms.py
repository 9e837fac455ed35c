"""Read what may be spent: the budget of the data set and the allowances of analysts.

Flow: plain values in, BudgetTerms and Analyst out; used by load and arguments. Every amount is an exact rational.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dither.catalog.model import Analyst, BudgetTerms, fold
from dither.catalog.reading import Unfit, at, describe, distinct_names, flag, number, only, positive

__all__ = ["BUDGET_KEYS", "read_analysts", "read_budget"]

BUDGET_KEYS = (
    "epsilon",
    "delta",
    "rho",
    "gaussian",
    "delta_per_question",
    "minimum_price",
    "default_epsilon",
)
_CODE = "C-150"


def read_budget(entries: Mapping[str, object]) -> BudgetTerms:
    """The terms under [budget]: exactly one of epsilon and rho, the rest optional."""
    only(entries, BUDGET_KEYS)
    epsilon, rho = positive(entries, "epsilon"), positive(entries, "rho")
    if (epsilon is None) == (rho is None):
        hint = "Write epsilon = 1.0 for an (epsilon, delta) budget, or rho = 0.1 for a zCDP budget."
        key = ("rho",) if epsilon is not None else ("epsilon",)
        found = "neither" if epsilon is None else "both"
        raise Unfit("exactly one of `epsilon` and `rho`", key=key, found=found, code=_CODE, hint=hint)
    default_terms = BudgetTerms()
    minimum_price = positive(entries, "minimum_price")
    terms = BudgetTerms(
        epsilon=epsilon,
        rho=rho,
        delta=_delta(entries, "delta") or Fraction(0),
        delta_per_question=_delta(entries, "delta_per_question"),
        minimum_price=default_terms.minimum_price if minimum_price is None else minimum_price,
        gaussian=flag(entries, "gaussian"),
        default_epsilon=positive(entries, "default_epsilon"),
    )
    _agree(terms, entries)
    return terms


def read_analysts(entries: Mapping[str, object], budget: BudgetTerms) -> dict[str, Analyst]:
    """The allowances under [analysts.NAME], keyed by folded name, each on the notion of the budget."""
    distinct_names(entries)
    analysts: dict[str, Analyst] = {}
    for name, entry in entries.items():
        with at(name):
            analysts[fold(name)] = _analyst(name, entry, budget)
    return analysts


def _delta(entries: Mapping[str, object], key: str) -> Fraction | None:
    if key not in entries:
        return None
    with at(key):
        expected = "a number from 0 to below 1"
        delta = number(entries[key], expected)
        if not 0 <= delta < 1:
            hint = "Advised: at most 1/n² for n privacy units, such as 1e-9; 0 for a pure budget."
            raise Unfit(expected, entries[key], code=_CODE, hint=hint)
    return delta


def _agree(terms: BudgetTerms, entries: Mapping[str, object]) -> None:
    """Refuse terms that contradict one another."""
    if terms.delta_per_question is not None and not 0 < terms.delta_per_question <= terms.delta:
        expected = f"a number above 0 and at most `delta` ({describe(terms.delta)})"
        raise Unfit(expected, entries["delta_per_question"], key=("delta_per_question",), code=_CODE)
    if terms.gaussian and terms.rho is None and not terms.delta:
        hint = "Gaussian noise is never purely epsilon-private: declare a delta, or a budget in rho."
        raise Unfit(
            "`delta` above 0 beside `gaussian = true`", key=("gaussian",), found="a pure budget", code=_CODE, hint=hint
        )
    for key, amount in (("minimum_price", terms.minimum_price), ("default_epsilon", terms.default_epsilon)):
        if terms.epsilon is not None and amount is not None and amount > terms.epsilon:
            found = entries.get(key, amount)
            hint = f"`{key}` is {_given(entries, key)}; no question could be paid for."
            raise Unfit("a price that `epsilon` can pay", found, key=(key,), code=_CODE, hint=hint)


def _given(entries: Mapping[str, object], key: str) -> str:
    return "above the whole budget" if key in entries else "0.001 unless declared, which is above the whole budget"


def _analyst(name: str, entry: object, budget: BudgetTerms) -> Analyst:
    notion, other = ("epsilon", "rho") if budget.epsilon is not None else ("rho", "epsilon")
    if not isinstance(entry, Mapping):
        raise Unfit(f"a table with an allowance, such as {{ {notion} = 0.5 }}", entry, code=_CODE)
    only(entry, ("epsilon", "daily_epsilon", "rho"))
    for key in (other, *(("daily_epsilon",) if notion == "rho" else ())):
        if key in entry:
            hint = f"The budget is in {notion}; so are the allowances."
            raise Unfit(f"an allowance in {notion}", key=(key,), found=f"one in {key}", code=_CODE, hint=hint)
    analyst = Analyst(name, positive(entry, "epsilon"), positive(entry, "daily_epsilon"), positive(entry, "rho"))
    allowance = analyst.epsilon if notion == "epsilon" else analyst.rho
    if allowance is None:
        hint = f"Write {notion} = 0.5, say; to let the analyst spend all of it, write the budget's own figure."
        raise Unfit(f"an allowance in `{notion}`", key=(notion,), code=_CODE, hint=hint)
    if analyst.daily_epsilon is not None and analyst.daily_epsilon > allowance:
        raise Unfit("at most the analyst's `epsilon`", entry["daily_epsilon"], key=("daily_epsilon",), code=_CODE)
    return analyst
