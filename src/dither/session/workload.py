"""Plan a budget: split an epsilon, or a rho, over a list of questions so that each is as accurate as wished.

Flow: `Session.plan_budget`, `dither budget plan`. Questions are planned and priced as `explain` does it, reading no
protected row; `split_budget` decides what each vector of a question may cost; `foreseen` says what questions share.
A wish comes first and is met with the least that meets it; what is left goes to the questions without one, by weight.
Shares are multiples of one decimal step, so that what is printed is exact and can be typed back.
Decision: docs/decisions/0015-a-plan-splits-by-vector.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.accounting import Price, Remaining
from dither.errors import BudgetError, GuaranteeError, InvalidParameter, QueryRefused
from dither.exact import Number, decimal_text, exact
from dither.plan.explain import VectorPlan, explain_plan, gaussian_notes
from dither.plan.offer import Offer
from dither.plan.price import PricedPlan
from dither.session.accuracy import LARGEST_SHARE, keeps, least_share, limits_of, out_of_reach
from dither.session.expected import ColumnExpectation, expected_columns
from dither.session.foreseen import Foreseen, Foresight, offer_of, vectors_in
from dither.session.split_budget import Asked, Split, split_budget
from dither.session.wishes import Wanted, read_questions
from dither.sql.embedded import within_depth
from dither.sql.offers import offers_in

if TYPE_CHECKING:
    from dither.session.session import Session

__all__ = ["BudgetPlan", "PlannedColumn", "PlannedQuestion", "plan_budget"]

MOST_QUESTIONS = 200


@dataclass(frozen=True)
class PlannedColumn:
    """A noisy column of an answer. `half_width`: at 95 %, None where it is known only with the answer."""

    name: str
    mechanism: str
    half_width: float | None
    wanted: Fraction | None

    @property
    def falls_short(self) -> bool:
        return self.wanted is not None and self.half_width is not None and self.half_width > self.wanted


@dataclass(frozen=True)
class PlannedQuestion:
    """One question of the plan. `offer`: what to ask it with; `price`: what it is then charged, on every meter."""

    number: int
    """Its place in the workload as given, from 1."""
    text: str
    offer: Fraction
    price: Price
    total: Fraction
    """Of the plan up to here, on the plan's meter."""
    columns: tuple[PlannedColumn, ...]
    vectors: tuple[VectorPlan, ...]
    """What is measured, as `explain` says it."""
    groups: str
    found_in: tuple[int, ...]
    """Questions whose measurements it uses again; 0 stands for answers the ledger already keeps."""
    weight: Fraction | None
    """None where an accuracy was stated."""

    def charged(self, meter: str) -> Fraction:
        """What it costs on the plan's meter."""
        return _on(self.price, meter)


@dataclass(frozen=True)
class BudgetPlan:
    """A workload and what it would cost. Questions stand in the order to ask them in."""

    meter: str
    """epsilon or rho."""
    budget: Fraction
    delta_limit: Fraction | None
    questions: tuple[PlannedQuestion, ...]
    enough: Fraction
    """The least budget, in steps of the plan, that meets every wish."""
    scaled: Fraction | None
    """Where the wishes do not fit: the part of each wished share that was given; None where they fit."""
    unit_name: str
    remaining: Remaining | None
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> Fraction:
        """Of all questions, on the plan's meter; at most `budget`."""
        return sum((each.charged(self.meter) for each in self.questions), Fraction(0))

    @property
    def delta(self) -> Fraction:
        return sum((each.price.delta for each in self.questions), Fraction(0))

    @property
    def left(self) -> Fraction:
        return self.budget - self.total

    @property
    def fits(self) -> bool:
        """Are all wishes met, within the stated delta?"""
        return self.scaled is None and (self.delta_limit is None or self.delta <= self.delta_limit)

    @property
    def fits_what_remains(self) -> bool:
        """Would the ledger admit all of it to this asker now?"""
        if self.remaining is None:
            return True
        price = sum((each.price for each in self.questions), Price())
        room = self.remaining
        by_epsilon = room.epsilon is not None and price.epsilon is not None and price.epsilon <= room.epsilon
        return (by_epsilon or price.rho <= room.rho) and price.delta <= room.delta

    def __repr__(self) -> str:
        from dither.session.workload_show import to_text

        return to_text(self)

    def _repr_html_(self) -> str:
        from dither.session.workload_show import to_html

        return to_html(self)


@within_depth()
def plan_budget(
    session: Session,
    questions: str | Sequence[str],
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    wishes: Mapping[int, str] | None = None,
) -> BudgetPlan:
    """See `Session.plan_budget`."""
    offer = Offer.create(epsilon=epsilon, rho=rho)
    limit = None if delta is None else _delta(delta)
    wanted = read_questions(questions, wishes)
    if len(wanted) > MOST_QUESTIONS:
        raise InvalidParameter("questions", expected=f"at most {MOST_QUESTIONS}", found=len(wanted))
    planner = _Planner(session, offer, wanted)
    return planner.plan(limit)


class _Planner:
    """One workload under one budget. Shares are whole numbers of `step`."""

    def __init__(self, session: Session, budget: Offer, wanted: Sequence[Wanted]) -> None:
        self.session = session
        self.budget = budget
        self.is_rho = budget.rho is not None
        self.step = _step_of(budget.total)
        self.wanted = list(wanted)
        self.foresight = Foresight(session)
        self.plans = [self._planned(each) for each in wanted]
        self.vectors = [vectors_in(priced) for priced in self.plans]
        self.columns = [expected_columns(priced, session.catalog) for priced in self.plans]

    def plan(self, delta_limit: Fraction | None) -> BudgetPlan:
        asked = [self._asked(i) for i in range(len(self.wanted))]
        split = split_budget(asked, self._steps(), self._cost)
        if split is None:
            least = self._cost([each.least for each in asked]) * self.step
            raise BudgetError(
                f"{self._meter} {_number(self.budget.total)} cannot pay for {len(asked)} questions at the least price "
                f"of each, {_number(least)} together.",
                code="M-103",
                hint="Plan for fewer questions, or state more.",
            )
        return self._made(split, delta_limit)

    def _planned(self, wanted: Wanted) -> PricedPlan:
        """Planned, priced and rehearsed as `explain` would; a refusal says which question it is about."""
        try:
            for part in offers_in(wanted.text)[1]:
                raise QueryRefused(
                    f"The text offers {part.name} {part.value}; in a plan, the plan says what each question may cost.",
                    code="M-121",
                    span=part.span,
                    hint="Take it out, or wish for an accuracy above the question: -- within 50.",
                ).located(wanted.text)
            priced = self.session.price_of(self.session.plan(wanted.text), self.budget)
            self.session.rehearse(priced)
        except QueryRefused as refusal:
            refusal.message = f"Question {wanted.number}: {refusal.message}"
            raise
        return priced

    def _asked(self, i: int) -> Asked:
        """What the question must be given, in steps for each of its vectors."""
        wish = self.wanted[i].wish
        least = self._least(i)
        if not wish.states_accuracy:
            return Asked(self.vectors[i], least, None, wish.weight if wish.weight is not None else Fraction(1))
        return Asked(self.vectors[i], least, self._meets(i, least), None)

    def _least(self, i: int) -> int:
        """The least share that an offer may have."""
        terms = self.session.catalog.budget
        floor = terms.minimum_rho if self.is_rho else terms.minimum_price
        return max(1, math.ceil(floor / (self.vectors[i] * self.step)))

    def _meets(self, i: int, least: int) -> int:
        """The least share, in steps, with which the question keeps its wish."""
        limits = self._limits(i, self.columns[i])
        found = least_share(
            lambda share: keeps(self._priced(i, share), limits, self.session.catalog),
            least=least,
            most=int(LARGEST_SHARE / self.step),
        )
        if found is None:
            raise out_of_reach(self._wish_name(i), self._meter, limits)
        return found

    def _limits(self, i: int, columns: Sequence[ColumnExpectation]) -> dict[int, Fraction]:
        return limits_of(self.wanted[i].wish, columns, self._wish_name(i), instead="Give those a weight instead.")

    def _wish_name(self, i: int) -> str:
        return f"the wish of question {self.wanted[i].number}"

    def _cost(self, shares: Sequence[int]) -> int:
        """What all questions cost with these shares, in steps, asked in the best order."""
        return self._whole(self._foresee(shares, self._order(shares)), shares)

    def _whole(self, foreseen: Mapping[int, Foreseen], shares: Sequence[int]) -> int:
        """In steps, rounded up: each fresh vector costs its share, and to an allowance what others have paid."""
        fresh = sum(foreseen[i].fresh * share for i, share in enumerate(shares))
        if self.session.own_level is None:
            return fresh
        others = sum((_on(each.unpaid, self._meter) for each in foreseen.values()), Fraction(0))
        return fresh + math.ceil(others / self.step)

    def _order(self, shares: Sequence[int]) -> list[int]:
        """The finest measurement of a vector first: the coarser ones are then free."""
        return sorted(range(len(shares)), key=lambda i: -shares[i])

    def _foresee(self, shares: Sequence[int], order: Sequence[int]) -> dict[int, Foreseen]:
        return self.foresight.ask([(i, self._priced(i, shares[i])) for i in order])

    def _made(self, split: Split, delta_limit: Fraction | None) -> BudgetPlan:
        shares = split.shares
        order = list(range(len(shares)))
        foreseen = self._foresee(shares, order)
        best = self._cost(shares)
        reordered = self._whole(foreseen, shares) > best
        if reordered:
            order = self._order(shares)
            foreseen = self._foresee(shares, order)
        total, questions = Fraction(0), []
        for i in order:
            question = self._question(i, shares[i], foreseen[i], total)
            total = question.total
            questions.append(question)
        if total > self.budget.total:
            raise GuaranteeError("A plan costs more than its budget.")
        return BudgetPlan(
            self._meter,
            self.budget.total,
            delta_limit,
            tuple(questions),
            split.enough * self.step,
            split.scaled,
            self.session.catalog.unit_name,
            self.session.ledger.remaining(self.session.own_level),
            self._notes(reordered, questions),
        )

    def _question(self, i: int, share: int, foreseen: Foreseen, before: Fraction) -> PlannedQuestion:
        wanted = self.wanted[i]
        price = foreseen.cost
        if self.session.own_level is not None:
            # An allowance also pays for what others have measured.
            price = price + foreseen.unpaid
        explained = explain_plan(foreseen.parts, price, self.session.catalog, self.session.ledger.budget, None)
        columns = expected_columns(foreseen.priced, self.session.catalog)
        limits = self._limits(i, columns) if wanted.wish.states_accuracy else {}
        question = PlannedQuestion(
            number=wanted.number,
            text=wanted.text,
            offer=foreseen.priced.offer.total,
            price=price,
            total=Fraction(0),
            columns=tuple(
                PlannedColumn(column.name, column.mechanism, column.half_width, limits.get(position))
                for position, column in enumerate(columns)
            ),
            vectors=explained.vectors,
            groups=_groups(foreseen.priced),
            found_in=tuple(sorted(self.wanted[p].number if p >= 0 else 0 for p in foreseen.found_in())),
            weight=None if wanted.wish.states_accuracy else wanted.wish.weight or Fraction(1),
        )
        return replace(question, total=before + question.charged(self._meter))

    def _notes(self, reordered: bool, questions: Sequence[PlannedQuestion]) -> tuple[str, ...]:
        notes = []
        if reordered:
            order = ", ".join(str(each.number) for each in questions)
            notes.append(f"Asked in this order ({order}), later questions find what earlier ones measured.")
        analyst = self.session.catalog.analyst(self.session.own_level or "")
        daily = None if analyst is None or self.is_rho else analyst.daily_epsilon
        if daily is not None and questions[-1].total > daily:
            days = math.ceil(questions[-1].total / daily)
            notes.append(f"At epsilon {_number(daily)} a day it takes {days} days or more.")
            too_large = [str(each.number) for each in questions if each.charged("epsilon") > daily]
            if too_large:
                notes.append(f"More than a day allows at once: question {', '.join(too_large)}.")
        prices = (gaussian_notes(each.price, self.session.ledger.budget) for each in questions)
        notes += dict.fromkeys(note for listed in prices for note in listed)
        return tuple(notes)

    def _priced(self, i: int, share: int) -> PricedPlan:
        offer = offer_of(share * self.step, self.vectors[i], rho=self.is_rho)
        return self.session.price_of(self.plans[i].plan, offer)

    def _steps(self) -> int:
        return math.floor(self.budget.total / self.step)

    @property
    def _meter(self) -> str:
        return "rho" if self.is_rho else "epsilon"


def _on(price: Price, meter: str) -> Fraction:
    found = price.epsilon if meter == "epsilon" else price.rho
    if found is None:
        raise GuaranteeError("A question of a plan in epsilon has no epsilon.")
    return found


def _groups(priced: PricedPlan) -> str:
    domains = [measure.measure for measure in priced.measures if measure.measure.keys]
    if not domains:
        return ""
    if any(measure.domain is None for measure in domains):
        return "private groups"
    return f"{max(measure.domain.size for measure in domains):,} groups"


def _step_of(total: Fraction) -> Fraction:
    """A power of ten, between a millionth and a hundred-millionth of the budget; no finer than the ledger counts."""
    digits = len(str(total.numerator)) - len(str(total.denominator))
    return max(Fraction(10) ** (digits - 7), Fraction(1, 10**15))


def _delta(delta: Number) -> Fraction:
    found = exact(delta, "delta")
    if not 0 <= found < 1:
        raise InvalidParameter("delta", expected="0 or above, and below 1", found=delta)
    return found


def _number(value: Fraction) -> str:
    return decimal_text(value, 18)
