"""What a question may cost or how accurate it must be, out of its text and the arguments of the call together.

Flow: `Session.ask` and `explain` begin here. An offer is stated once: epsilon, or rho, or a ± to keep within. Stated in
both places it must be the same; nothing is overruled silently. `keeping` solves a wished ± for its price.
Relies on: `sql.offers` for the text, `wishes` for what a ± may look like.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.accounting import Price
from dither.answer.behind import columns_behind
from dither.errors import BudgetError, GuaranteeError, InvalidParameter, QueryRefused
from dither.exact import Number, decimal_text, positive
from dither.plan.nodes import Plan
from dither.plan.offer import Offer, check_amount
from dither.plan.price import PricedPlan
from dither.session.accuracy import bought_by, least_offer
from dither.session.foreseen import Foresight
from dither.session.wishes import Wish, wish_of
from dither.sql.embedded import within_depth
from dither.sql.offers import StatedInText, offers_in

if TYPE_CHECKING:
    from dither.session.session import Session

__all__ = ["Offered", "Within", "check_charge", "check_intervals", "keeping", "offered", "planned"]

Within = Number | Mapping[str, Number]
"""A ± for every noisy column, or by column; as text also `n=50, total=2000`."""

Value = Fraction | Wish


@dataclass(frozen=True)
class Offered:
    """At most one of epsilon, rho and wish; none where nothing is stated."""

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    wish: Wish | None = None
    at_most: Fraction | None = None
    """What keeping the wish may cost, on the meter of the budget: epsilon, or rho of one in zCDP."""
    delta: Fraction | None = None
    """The most that choosing the question's private groups may use."""
    quantile_intervals: bool = False
    """Does it buy the ends of quantiles' intervals too?"""

    def __post_init__(self) -> None:
        for name, amount in (("epsilon", self.epsilon), ("rho", self.rho), ("at_most", self.at_most)):
            if amount is not None:
                check_amount(amount, name)

    @property
    def is_stated(self) -> bool:
        return self.epsilon is not None or self.rho is not None or self.wish is not None


def offered(
    question: str,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    within: Within | None = None,
    at_most: Number | None = None,
    quantile_intervals: bool = False,
) -> Offered:
    """The one offer of a question. Raises InvalidParameter, QueryRefused."""
    arguments: dict[str, Value] = {}
    for name, number in (("epsilon", epsilon), ("rho", rho), ("at_most", at_most)):
        if number is not None:
            arguments[name] = positive(number, name)
    if within is not None:
        arguments["within"] = wish_of(within)
    found = dict(arguments)
    spans: dict[str, StatedInText] = {}
    for part in offers_in(question)[1]:
        value = _value(part, question)
        if found.get(part.name, value) != value:
            raise _disagree(part, part.name, part.name in arguments, question)
        found[part.name], spans[part.name] = value, part
    _check_one(found, arguments, spans, question)
    stated = {"wish" if name == "within" else name: value for name, value in found.items()}
    return Offered(**stated, quantile_intervals=quantile_intervals)  # type: ignore[arg-type]


def check_intervals(plan: Plan) -> None:
    """Raises InvalidParameter [I-123] where intervals of quantiles were asked for and none of them could be shown."""
    if not any(behind.recipe.kind == "quantile" for behind in columns_behind(plan).values()):
        raise InvalidParameter(
            "quantile_intervals",
            expected="a question with a quantile as a column of its own, such as MEDIAN(x)",
            found="none",
            code="I-123",
            hint="Columns that are computed from a quantile have no interval. Nothing was charged.",
        )


def planned(question: str, lower: Callable[[str], Plan]) -> Plan:
    """The plan of a question with its offers taken out; its text, and positions in refusals, are those typed."""
    text, _ = offers_in(question)
    try:
        with within_depth():
            return replace(lower(text), text=question)
    except QueryRefused as refusal:
        raise refusal.located(question) from None


def keeping(session: Session, plan_at: Callable[[Offer], PricedPlan], stated: Offered) -> PricedPlan:
    """The plan under the least offer that keeps the wish: of Laplace noise, or, where the catalog says `gaussian`, of
    whichever noise takes less of the budget. `at_most` is on the budget's own meter, which Gaussian noise has only
    where that is rho. Reads no protected row.
    Raises InvalidParameter [M-120], BudgetError [M-122]."""
    if stated.wish is None:
        raise GuaranteeError("There is no wish to keep.")
    on_rho = session.ledger.budget.notion == "zcdp"
    found = [least_offer(session, plan_at, stated.wish, rho=False)]
    if session.catalog.budget.gaussian and (on_rho or stated.at_most is None):
        found.append(least_offer(session, plan_at, stated.wish, rho=True))
    priced = min(found, key=lambda each: _part_of_budget(session, each.price))
    if stated.at_most is not None:
        _check_ceiling(session, priced, stated.at_most, plan_at, on_rho=on_rho)
    return priced


def _part_of_budget(session: Session, price: Price) -> Fraction:
    """On the meter that counts: epsilon while it is open and the price has one, else rho."""
    budget = session.ledger.budget
    left = session.ledger.remaining(session.own_level)
    closed = left is not None and left.epsilon is None
    if budget.epsilon is None or price.epsilon is None or closed:
        return price.rho / budget.rho_limit if budget.rho_limit else price.rho
    return price.epsilon / budget.epsilon


def _check_ceiling(
    session: Session, priced: PricedPlan, at_most: Fraction, plan_at: Callable[[Offer], PricedPlan], *, on_rho: bool
) -> None:
    """What is charged, with what was released before taken into account, against `at_most`."""
    foreseen = Foresight(session).ask([(0, priced)])[0]
    price: Price = foreseen.cost if session.own_level is None else foreseen.cost + foreseen.unpaid
    cost = price.rho if on_rho else price.epsilon
    if cost is None:
        raise GuaranteeError("An offer in epsilon has no epsilon.")
    if cost <= at_most:
        return
    meter = "rho" if on_rho else "epsilon"
    instead = ""
    if priced.offer.rho is not None or not on_rho:
        bought = bought_by(plan_at, Offer(rho=at_most) if on_rho else Offer(epsilon=at_most), session.catalog)
        instead = f" {meter} {decimal_text(at_most)} would buy {bought}."
    raise BudgetError(
        f"Keeping within the wanted ± costs {meter} {decimal_text(cost)}; at_most allows {decimal_text(at_most)}.",
        code="M-122",
        hint=f"Nothing was charged.{instead}",
    )


def check_charge(session: Session, offer: Offer, stated: Offered, price: Price) -> None:
    """Once more, right before it is charged: what others released since it was priced may have changed what is found.
    Raises BudgetError [M-122] beyond `at_most`, GuaranteeError beyond the offer, which `needs` keeps to."""
    cost = price.rho if offer.epsilon is None or price.epsilon is None else price.epsilon
    if cost > offer.total:
        raise GuaranteeError("A question was about to be charged more than was offered.")
    if stated.at_most is None:
        return
    on_rho = session.ledger.budget.notion == "zcdp"
    charge = price.rho if on_rho or price.epsilon is None else price.epsilon
    if charge > stated.at_most:
        meter = "rho" if on_rho else "epsilon"
        raise BudgetError(
            f"What others asked meanwhile changed the price: {meter} {decimal_text(charge)} now; at_most allows "
            f"{decimal_text(stated.at_most)}.",
            code="M-122",
            hint="Nothing was charged. Ask again: it is priced anew.",
        )


def _value(part: StatedInText, question: str) -> Value:
    try:
        if part.name == "within":
            return wish_of(part.value)
        value = positive(part.value, part.name)
        if part.name == "delta" and value >= 1:
            raise InvalidParameter("delta", expected="below 1", found=part.value)
        return value
    except InvalidParameter as error:
        raise QueryRefused(
            f"The offer in the text cannot be read: {error.message}", code="P-110", span=part.span, hint=error.hint
        ).located(question) from None


def _check_one(
    found: Mapping[str, Value], arguments: Mapping[str, Value], spans: Mapping[str, StatedInText], question: str
) -> None:
    kinds = [name for name in ("epsilon", "rho", "within") if name in found]
    if len(kinds) > 1:
        part = next((spans[name] for name in kinds if name in spans), None)
        if part is not None:
            other = next(name for name in kinds if name != part.name)
            raise _disagree(part, other, other in arguments, question)
        raise InvalidParameter(
            "offer",
            expected="one of epsilon, rho and within",
            found=" and ".join(kinds),
            code="M-101",
            hint="To keep a ± without paying more than you want to, write within=50, at_most=0.5.",
        )
    if "at_most" in found and "within" not in found:
        raise InvalidParameter(
            "at_most",
            expected="beside within",
            found="no within",
            code="M-101",
            hint="epsilon= and rho= say themselves what the question may cost.",
        )


def _disagree(part: StatedInText, other: str, as_argument: bool, question: str) -> QueryRefused:
    where = f"the argument {other}" if as_argument else f"{other} in the text"
    return QueryRefused(
        f"The text offers {part.name} {part.value}, which disagrees with {where}.",
        code="M-121",
        span=part.span,
        hint="State the offer once: in the text, or beside it.",
    ).located(question)
