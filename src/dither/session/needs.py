"""What a question needs: each of its vectors, and whether a released measurement of it will do.

Flow: `Session.ask` and `explain` look vectors up here; what is not known is reserved, measured and paid for.
A released vector serves when it is at least as accurate as the one planned, and this analyst has paid for it, or its
stored price fits the offer (their allowance is then charged, once; the data set is not).
Proof: docs/proofs/plan/reuse.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dither.accounting import Event, Price, price
from dither.ledger.model import ReleasedVector
from dither.plan.price import Offer, PricedPlan, PricedVector
from dither.session.vectors import as_accurate, law_from_facts

__all__ = ["Need", "cost_of", "events_of", "find_needs"]


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
) -> list[Need]:
    """Every vector of the plan, in order, with what is known of it."""
    needs = []
    for m, measure in enumerate(priced.measures):
        own = [Need(m, p, identity(m, p), vector) for p, vector in enumerate(measure.vectors)]
        options = [_usable(need, released(need.identity), analyst, priced.offer) for need in own]
        needs += _together(own, options) if measure.measure.has_private_keys else _one_by_one(own, options)
    return needs


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
