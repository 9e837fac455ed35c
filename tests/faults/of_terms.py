"""Faults of terms that are chosen, wished for or spread over days, and of what is shown of an answer."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from dither.accounting import Price
from dither.audit.pipeline import Question
from dither.audit.pipeline.questions import WISHED
from dither.plan import nodes
from dither.secret import open_secret
from faults.planting import COUNT, RUNNING, asked, moved, of, plant


@plant("dither.session.paid.price_of_events", check="choices", audit=of("choices"))
def choice_for_next_to_nothing(original: Any) -> Any:
    """A choice inside a question is written into the books at a thousandth of its price."""

    def price_of(events: Any) -> Price:
        full = original(events)
        return Price(full.epsilon / 1000, full.rho / 10**6, full.delta)

    return price_of


@plant("dither.session.paid.paid_choice", "dither.session.decide.paid_choice", check="choices", audit=of("choices"))
def choice_read_before_charged(original: Any, decided: Any) -> Any:
    """What a choice rests on is read first, and charged when it is there."""

    def paid(session: Any, text: Any, facts: Any, events: Any, read: Any, choose: Any) -> Any:
        found = read()
        return original(session, text, facts, events, lambda: found, choose)

    return paid, paid


@plant("dither.session.tune.choose_max_rows", check="choices", audit=of("choices"))
def choice_better_than_paid(original: Any) -> Any:
    """Rows per unit are chosen at four times the epsilon of the charge."""

    def choose(counts: Any, levels: Any, *, epsilon: Any, **rest: Any) -> Any:
        # The price is taken from a choice over nobody; only a real one is made better.
        return original(
            counts, levels, epsilon=4 * epsilon if counts.__class__.__name__ == "Secret" else epsilon, **rest
        )

    return choose


@plant("dither.session.session.Session.plan", check="choices", audit=of("choices"))
def chosen_rows_not_kept_to(original: Any) -> Any:
    """Rows per unit are chosen and paid for, and then all of them are counted."""

    def plan(self: Any, question: str, *more: Any, **named: Any) -> Any:
        made = original(self, question, *more, **named)
        measures = tuple(replace(each, input=_uncut(each.input)) for each in made.measures)
        return replace(made, measures=measures)

    return plan


def _uncut(node: Any) -> Any:
    if isinstance(node, nodes.Scan):
        return replace(node, truncated=False)
    return replace(node, input=_uncut(node.input)) if hasattr(node, "input") else node


@plant("dither.session.series.causal", check="series", audit=of("series"))
def limit_anew_every_day(original: Any) -> Any:
    """Each advance of a series lets every unit count as often again."""
    return lambda question, *, since, due, through: original(question, since=due, due=due, through=through)


@plant("dither.session.series.causal", check="series", audit=of("series"))
def series_without_truncation(original: Any) -> Any:
    """A series counts all rows of every unit."""

    def causal(question: Any, **days: Any) -> Any:
        measure = question.measure
        return original(replace(question, measure=replace(measure, tau=1000 * measure.tau)), **days)

    return causal


@plant("dither.ledger.series.SeriesBook.extend", check="series", audit=of("series"))
def extension_for_nothing(original: Any) -> Any:
    """Further days of a series are written into the books at no price."""
    return lambda self, stored, request: original(self, stored, replace(request, price=Price()))


@plant("dither.mechanisms.running.RunningStream.price", check="series", audit=of("series"))
def one_day_paid_for(original: Any) -> Any:
    """A series is opened at a tenth of the price of its noise."""

    def price(self: Any) -> Any:
        paid = original(self)
        events = tuple(replace(event, scale=event.scale * 10) for event in paid.events)
        return replace(paid, events=events)

    return price


@plant("dither.session.session.keeping", check="sensitivity", audit=moved(Question(WISHED, epsilon=None)))
def wish_at_a_tenth_of_its_price(original: Any) -> Any:
    """A wished accuracy gets its noise, and is booked at a tenth of what that costs."""

    def keeping(session: Any, at: Any, stated: Any) -> Any:
        found = original(session, at, stated)
        offer = replace(found.offer, epsilon=found.offer.epsilon / 10)
        cheap = at(offer)
        measures = [
            replace(
                measure,
                vectors=tuple(
                    replace(vector, event=other.event)
                    for vector, other in zip(measure.vectors, less.vectors, strict=True)
                ),
            )
            for measure, less in zip(found.measures, cheap.measures, strict=True)
        ]
        return replace(found, measures=tuple(measures))

    return keeping


@plant("dither.plan.price.plan_running_totals", check="sensitivity", audit=moved(RUNNING))
def running_totals_of_one_row(original: Any) -> Any:
    """The noise of running totals is made for units with a single row, not for all they may keep."""
    return lambda n, *, max_rows_per_unit, **rest: original(n, max_rows_per_unit=1, **rest)


@plant("dither.session.session.decide", check="channels", audit=asked("channels", COUNT))
def note_with_a_count(original: Any) -> Any:
    """A note beside the answer says how many rows were counted."""

    def decide(session: Any, question: str, stated: Any) -> Any:
        plan, priced, chosen = original(session, question, stated)
        (table, *_) = open_secret(session.engine.measure([plan.measures[0]]))
        note = f"{int(table.vectors[0].sum())} rows were counted."
        return plan, priced, replace(chosen, notes=(*chosen.notes, note))

    return decide


@plant("dither.session.needs.as_accurate", check="reuse", audit=of("reuse"))
def any_release_will_do(original: Any) -> Any:
    """A released number serves however much noise it holds."""
    return lambda stored, wanted: True


@plant("dither.answer.simultaneous._each", check="views", audit=of("views"))
def each_interval_by_itself(original: Any) -> Any:
    """Intervals that are said to hold together hold one by one."""
    return lambda confidence, numbers, *, independent: Fraction(confidence)


@plant("dither.answer.present._Page._suppress", check="views", audit=of("views"))
def nothing_suppressed(original: Any) -> Any:
    """Numbers below the mark are shown."""
    return lambda self, limit, other: original(self, Fraction(-(10**9)), other)
