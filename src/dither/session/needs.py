"""What a question needs: each of its vectors, and whether a released measurement of it will do.

Flow: `Session.ask` and `explain` look vectors up here; what is not known is reserved, measured and paid for.
A released vector serves when it is at least as accurate as the one planned, and this analyst has paid for it, or its
stored price fits the offer (their allowance is then charged, once; the data set is not). All that is charged for one
question, measured anew or paid for like that, stays within the offer.
Proof: docs/proofs/plan/reuse.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting import Event, Price, price
from dither.ledger.model import ReleasedVector
from dither.plan.price import Offer, PricedPlan, PricedVector
from dither.session.vectors import as_accurate, law_from_facts

__all__ = ["Need", "cost_of", "events_of", "find_needs", "unpaid"]


@dataclass(frozen=True)
class Need:
    """One vector of a question. `known`: the released measurement to use in place of a new one."""

    measure: int
    position: int
    identity: str
    priced: PricedVector
    known: ReleasedVector | None = None
    paid: bool = True
    """False where this analyst still has to pay the stored price of `known`."""


def find_needs(
    priced: PricedPlan,
    *,
    analyst: str,
    identity: Callable[[int, int], str],
    released: Callable[[str], Sequence[ReleasedVector]],
    limit: Fraction | None = None,
) -> list[Need]:
    """Every vector of the plan, in order, with what is known of it.
    limit: what the asker may be charged in all, on the meter of the offer; None: what measuring everything costs.
    A vector that others paid for and that would carry the sum beyond it is measured anew."""
    measures = enumerate(priced.measures)
    anew = [[Need(m, p, identity(m, p), v) for p, v in enumerate(found.vectors)] for m, found in measures]
    if limit is None:
        limit = _on_meter(cost_of(priced, [need for own in anew for need in own]), priced.offer)
    needs = list(anew)
    for m, own in enumerate(anew):
        options = [_usable(need, released(need.identity), analyst, priced.offer) for need in own]
        take = _together if priced.measures[m].measure.has_private_keys else _one_by_one
        for only_paid in (False, True):
            needs[m] = take(own, [[o for o in found if o.paid or not only_paid] for found in options])
            if _charged(priced, needs) <= limit:
                break
    return [need for own in needs for need in own]


def unpaid(needs: Iterable[Need]) -> Price:
    """The stored prices of what others paid for, each once."""
    known = [need.known for need in needs if need.known is not None and not need.paid]
    return sum({(one.entry_id, one.position): one.price for one in known}.values(), Price())


def _charged(priced: PricedPlan, needs: Sequence[Sequence[Need]]) -> Fraction:
    listed = [need for own in needs for need in own]
    fresh = cost_of(priced, [need for need in listed if need.known is None])
    return _on_meter(fresh + unpaid(listed), priced.offer)


def _on_meter(price: Price, offer: Offer) -> Fraction:
    """In epsilon for an offer in epsilon, which buys nothing that has none; else in rho."""
    return price.epsilon if offer.epsilon is not None and price.epsilon is not None else price.rho


def cost_of(priced: PricedPlan, wanted: Iterable[Need]) -> Price:
    """The price of what must be measured."""
    total = Price()
    for event in events_of(priced, wanted):
        total = total + price(event)
    return total


def events_of(priced: PricedPlan, wanted: Iterable[Need]) -> tuple[Event, ...]:
    listed = list(wanted)
    events: list[Event] = [need.priced.event for need in listed]
    for m in sorted({need.measure for need in listed}):
        selection = priced.measures[m].selection
        if selection is not None:
            events.append(selection)
    return tuple(events)


def _usable(need: Need, found: Sequence[ReleasedVector], analyst: str, offer: Offer) -> list[Need]:
    """Released measurements that may serve, best first: paid ones, then the most accurate."""
    options = []
    for stored in found:
        paid = analyst in stored.paid_by
        if as_accurate(stored.law, need.priced.law) and (paid or _fits(stored.price, offer)):
            options.append(Need(need.measure, need.position, need.identity, need.priced, stored, paid))
    return sorted(options, key=lambda option: (not option.paid, _variance(option)))


def _variance(need: Need) -> float:
    assert need.known is not None
    return law_from_facts(need.known.law).variance()


def _fits(stored: Price, offer: Offer) -> bool:
    if offer.epsilon is not None:
        return stored.epsilon is not None and stored.epsilon <= offer.epsilon
    return offer.rho is not None and stored.rho <= offer.rho


def _one_by_one(own: list[Need], options: list[list[Need]]) -> list[Need]:
    return [found[0] if found else need for need, found in zip(own, options, strict=True)]


def _together(own: list[Need], options: list[list[Need]]) -> list[Need]:
    """Private groups were chosen together: all vectors come from one entry, or all are measured anew."""
    by_entry = [{o.known.entry_id: o for o in found if o.known is not None} for found in options]
    shared = set(by_entry[0]).intersection(*by_entry[1:]) if by_entry else set()
    if not shared:
        return own
    chosen = min(shared, key=lambda entry: (sum(not found[entry].paid for found in by_entry), entry))
    return [found[chosen] for found in by_entry]
