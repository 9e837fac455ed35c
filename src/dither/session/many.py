"""Several questions in one release: planned as one, charged once, each answered by its own finish.

Flow: `Session.ask_many` and `explain_many`. The questions are lowered together, so that measures of different questions
are told apart and equal ones measured once; from there on it is the life of one question (`session.ask`), until each
question's finish makes its own table. For a price in rho, groupings of the same rows share (`plan.cubes`); what shares
with nothing has its plain part of the offer, and `explain_many` says why.
Decision: docs/decisions/0025-many-questions-are-one-plan.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, overload

from dither.accounting import Price
from dither.answer.answer import Answer
from dither.answer.finishing import finish
from dither.answer.receipt import Receipt
from dither.errors import InvalidParameter, QueryRefused
from dither.exact import Number, positive
from dither.plan import nodes
from dither.plan.cubes import find_cubes
from dither.plan.explain import Explanation
from dither.plan.fingerprint import plan_fingerprint
from dither.plan.merging import Merged, merge, moved
from dither.plan.price import PricedPlan
from dither.session import measuring, receipts
from dither.session.offers import Offered, planned
from dither.session.refusals import noted
from dither.session.stages import charged
from dither.session.wishes import Wanted, read_questions
from dither.sql.embedded import within_depth
from dither.sql.offers import offers_in

if TYPE_CHECKING:
    from dither.session.session import Session

__all__ = ["MOST_QUESTIONS", "Answers", "ask_many", "explain_many"]

MOST_QUESTIONS = 200
MOST_GROUPINGS = 2_000
"""Of all questions together: a CUBE of nine keys has 512."""
MOST_GROUPS = 2**23
"""Listed by all questions together."""
MOST_APART = 10**6
"""The largest weight over the least: what is left for a question beyond that is nothing but noise."""


@dataclass(frozen=True, eq=False)
class Answers(Sequence[Answer]):
    """The answers of one release, in the order of the questions. `charged` and `receipt` are of all together."""

    answers: tuple[Answer, ...]
    charged: Price
    receipt: Receipt

    def __len__(self) -> int:
        return len(self.answers)

    @overload
    def __getitem__(self, place: int) -> Answer: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Answer, ...]: ...
    def __getitem__(self, place: int | slice) -> Answer | tuple[Answer, ...]:
        return self.answers[place]

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.answers))

    def _repr_html_(self) -> str:
        return "\n".join(answer._repr_html_() for answer in self.answers)


@dataclass(frozen=True, eq=False)
class _Together:
    """Questions as one plan. `plans`: each question's own, in order."""

    whole: nodes.Plan
    plans: tuple[nodes.Plan, ...]


def ask_many(
    session: Session,
    questions: str | Sequence[str],
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    weights: Sequence[Number] | None = None,
    request: str | None = None,
) -> Answers:
    """See `Session.ask_many`."""
    epoch = session.ledger.current_release
    questions = _listed(questions)
    with noted(session, questions if isinstance(questions, str) else ";\n".join(map(str, questions))):
        together, priced, stated = _priced(session, questions, weights, epsilon=epsilon, rho=rho)
        fingerprint = plan_fingerprint(together.whole, session.catalog)
        stages = measuring.reserve(session, priced, stated, epoch, fingerprint, request)
    tables, signed = measuring.measure(session, stages)
    cost = charged(stages, allowance=False)
    receipt = receipts.make(session, together.whole, fingerprint, epoch, stages, cost, signed)
    answers = []
    for plan in together.plans:
        own = tuple(table for table in tables if table.name in dict(plan.aggregates))
        finished = finish(plan, own)
        notes = (*plan.notes, *_asked_together(len(together.plans)), *finished.notes)
        unit = session.catalog.unit_name
        answers.append(Answer(plan, finished, own, cost, receipt, notes, session.invented, unit))
    return Answers(tuple(answers), cost, receipt)


@within_depth()
def explain_many(
    session: Session,
    questions: str | Sequence[str],
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    weights: Sequence[Number] | None = None,
) -> Explanation:
    """See `Session.explain_many`."""
    together, priced, _ = _priced(session, _listed(questions), weights, epsilon=epsilon, rho=rho)
    explained = session.explained(priced)
    return replace(explained, notes=(*explained.notes, *_by_themselves(together, priced)))


def _priced(
    session: Session,
    questions: str | Sequence[str],
    weights: Sequence[Number] | None,
    *,
    epsilon: Number | None,
    rho: Number | None,
) -> tuple[_Together, PricedPlan, Offered]:
    """The questions as one plan, priced, each finish rehearsed."""
    wanted = _read(questions)
    together = _planned(session, wanted, _weights(wanted, weights))
    stated = Offered(
        epsilon=None if epsilon is None else positive(epsilon, "epsilon"),
        rho=None if rho is None else positive(rho, "rho"),
    )
    priced = session.priced(together.whole, stated)
    session.rehearse(priced)
    for number, plan in enumerate(together.plans, 1):
        with _numbered(number):
            session.rehearse_finish(plan, priced)
    return together, priced, stated


def _listed(questions: object) -> str | list[str]:
    """One text, or several; a generator, which could be read but once, as a list."""
    if isinstance(questions, str):
        return questions
    if not isinstance(questions, Iterable):
        raise InvalidParameter("questions", expected="texts of SQL", found=questions)
    return list(questions)


def _read(questions: str | Sequence[str]) -> list[Wanted]:
    wanted = read_questions(questions)
    if len(wanted) > MOST_QUESTIONS:
        raise InvalidParameter("questions", expected=f"at most {MOST_QUESTIONS}", found=len(wanted))
    for each in wanted:
        if each.wish.states_accuracy:
            raise InvalidParameter(
                f"question {each.number}",
                expected="a weight, or nothing: all questions are asked for one offer",
                found="a wished ±",
                hint="`dither budget plan` finds what each of several questions must cost to keep its ±.",
            )
        with _numbered(each.number):
            for part in offers_in(each.text)[1]:
                raise QueryRefused(
                    f"The text offers {part.name} {part.value}; of several questions, one offer is for all.",
                    code="M-121",
                    span=part.span,
                    hint="Take it out, and state the offer beside the questions.",
                ).located(each.text)
    return wanted


def _weights(wanted: Sequence[Wanted], weights: Sequence[Number] | None) -> list[Fraction]:
    stated = [each.wish.weight for each in wanted]
    if weights is None:
        found = [Fraction(1) if weight is None else weight for weight in stated]
    elif any(weight is not None for weight in stated):
        raise InvalidParameter("weights", expected="here or in the comments", found="both")
    elif len(weights) != len(wanted):
        raise InvalidParameter("weights", expected=f"{len(wanted)}, one for each question", found=len(weights))
    else:
        found = [positive(weight, "weights") for weight in weights]
    if max(found) > MOST_APART * min(found):
        raise InvalidParameter("weights", expected=f"at most {MOST_APART:,} times the least", found="further apart")
    return found


def _planned(session: Session, wanted: Sequence[Wanted], weights: Sequence[Fraction]) -> _Together:
    """One lowering for all, so that names differ from question to question."""
    lowering = session.lowering()
    plans = []
    for each in wanted:
        with _numbered(each.number):
            plans.append(planned(each.text, lowering.question_of_many))
        _check_size(plans)
    measures = [measure for plan in plans for measure in plan.measures]
    weight_of = {m.name: weight for plan, weight in zip(plans, weights, strict=True) for m in plan.measures}
    # Measured once for all questions that want it: with the share of the one that wants it most.
    merged = merge(measures, session.catalog, weight_of)
    first = dict(merged.aliases)
    own = [(name, first.get(of, of)) for plan in plans for name, of in plan.aliases]
    plans = [_over(merged, plan) for plan in plans]
    cubes, apart = find_cubes(merged.measures, session.catalog)
    whole = nodes.Plan(
        ";\n".join(each.text for each in wanted),
        merged.measures,
        ";\n".join(plan.finish_sql for plan in plans),
        None,
        (),
        (),
        tuple(aggregates for plan in plans for aggregates in plan.aggregates),
        tuple(sorted({table for plan in plans for table in plan.tables})),
        tuple(dict.fromkeys(note for plan in plans for note in plan.notes)),
        (*own, *merged.aliases),
        tuple(phase for plan in plans for phase in plan.phases),
        plain=True,
        cubes=cubes,
        apart=apart,
        weights=merged.weights,
    )
    return _Together(whole, tuple(plans))


def _over(merged: Merged, plan: nodes.Plan) -> nodes.Plan:
    """The question's plan with its recipes over the measures of all questions."""
    read_from = dict(plan.aliases)
    aggregates = [(n, moved(recipes, merged.places[read_from.get(n, n)])) for n, recipes in plan.aggregates]
    return replace(plan, aggregates=tuple(aggregates))


def _check_size(plans: Sequence[nodes.Plan]) -> None:
    """Raises InvalidParameter where the questions so far are more work than one release should be."""
    parts = [part for plan in plans for part in (plan, *(phase.plan for phase in plan.phases))]
    measures = [measure for part in parts for measure in part.measures]
    groups = sum(measure.domain.size for measure in measures if measure.domain is not None)
    for most, found, what in ((MOST_GROUPINGS, len(measures), "groupings"), (MOST_GROUPS, groups, "listed groups")):
        if found > most:
            raise InvalidParameter(
                "questions", expected=f"at most {most:,} {what} in all", found=found, hint="Ask in several releases."
            )


def _asked_together(count: int) -> tuple[str, ...]:
    return (f"Asked with {count - 1} other question(s), for one price.",) if count > 1 else ()


def _by_themselves(together: _Together, priced: PricedPlan) -> list[str]:
    """Which questions share with no other, and why. For a price in epsilon none does, which is said elsewhere."""
    if priced.offer.rho is None or len(together.plans) < 2:
        return []
    measured = {measure.name: m for m, measure in enumerate(together.whole.measures)}
    first = dict(together.whole.aliases)
    sharing = {m for cube in together.whole.cubes for (m, _) in (g.place for g in cube.groupings)}
    own = [{measured[first.get(measure.name, measure.name)] for measure in plan.measures} for plan in together.plans]
    times = Counter(m for places in own for m in places)
    notes = []
    for number, (plan, places) in enumerate(zip(together.plans, own, strict=True), 1):
        if not places & sharing and all(times[m] == 1 for m in places):
            notes.append(f"Question {number} is measured by itself: {_why(plan)}.")
    return notes


def _why(plan: nodes.Plan) -> str:
    if any(measure.has_private_keys for measure in plan.measures):
        return "its groups are private, chosen by their own noisy counts"
    vectors = [vector for measure in plan.measures for vector in measure.vectors]
    if not any(vector.kind in ("rows", "sum") and not vector.distinct for vector in vectors):
        return "its numbers do not add up over groups (different values, quantiles)"
    if any(vector.running is not None for vector in vectors):
        return "its noise is placed for running totals"
    return "no other question asks for the same number of the same rows by other groups"


class _numbered:
    """Refusals inside say which question they are about."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> None:
        """Nothing to begin."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, QueryRefused):
            error.message = f"Question {self._number}: {error.message}"
