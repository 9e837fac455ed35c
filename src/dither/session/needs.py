"""What a question needs: each of its vectors, and whether a released measurement of it will do.

Flow: `Session.ask` and `explain` look vectors up here; what is not known is reserved, measured and paid for.
A released vector serves when it is at least as accurate as the one planned, and this analyst has paid for it, or its
stored price fits the offer (their allowance is then charged, once; the data set is not).
Proof: docs/proofs/plan/reuse.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dither.accounting import Event, Price, price
from dither.ledger.model import ReleasedVector
from dither.plan.price import Offer, Place, PricedCube, PricedPlan, PricedVector
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
    own = {
        (m, p): Need(m, p, identity(m, p), v)
        for m, each in enumerate(priced.measures)
        for p, v in enumerate(each.vectors)
    }
    options = {place: _usable(need, released(need.identity), analyst, priced.offer) for place, need in own.items()}
    found = {place: usable[0] if usable else own[place] for place, usable in options.items()}
    for m, measure in enumerate(priced.measures):
        if measure.measure.has_private_keys:
            # Private groups were chosen together: all vectors come from one entry, or all are measured anew.
            places = [place for place in own if place[0] == m]
            found |= _of_one_entry(places, options) or {place: own[place] for place in places}
    for cube in priced.cubes:
        found |= _of_cube(cube, priced.offer, own, options, found)
    return list(found.values())


def cost_of(priced: PricedPlan, wanted: Iterable[Need]) -> Price:
    """The price of what must be measured."""
    total = Price()
    for event in events_of(priced, wanted):
        total = total + price(event)
    return total


def events_of(priced: PricedPlan, wanted: Iterable[Need]) -> tuple[Event, ...]:
    return priced.events_at((need.measure, need.position) for need in wanted)


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


def _of_cube(
    cube: PricedCube,
    offer: Offer,
    own: Mapping[Place, Need],
    options: Mapping[Place, list[Need]],
    found: Mapping[Place, Need],
) -> dict[Place, Need]:
    """Groupings measured together agree: so from one entry if there is one, else from several where nothing is missing,
    else all anew."""
    together = _of_one_entry(cube.places, options)
    if together is not None:
        together = _finest_paid(together, cube)
        due = [need.known.price.rho for need in together.values() if need.known is not None and not need.paid]
        # Finest groupings that others paid for have parts in common, and each costs all of its own.
        if offer.rho is not None and sum(due) <= offer.rho:
            return together
    known = all(found[place].known is not None and found[place].paid for place in cube.places)
    return {} if known else {place: own[place] for place in cube.places}


def _finest_paid(together: dict[Place, Need], cube: PricedCube) -> dict[Place, Need]:
    """Coarser groupings are sums over finer ones of the same measurement: to have those is to have them."""
    measurements = {need.known.law.get("shared") for need in together.values() if need.known is not None}
    if len(measurements) > 1 or None in measurements:
        return together
    finest = set(cube.read.values())
    return {place: need if place in finest else replace(need, paid=True) for place, need in together.items()}


def _of_one_entry(places: Sequence[Place], options: Mapping[Place, list[Need]]) -> dict[Place, Need] | None:
    """All of the vectors from one ledger entry that holds them; None where there is none."""
    by_entry = [{o.known.entry_id: o for o in options[place] if o.known is not None} for place in places]
    shared = set(by_entry[0]).intersection(*by_entry[1:]) if by_entry else set()
    if not shared:
        return None
    chosen = min(shared, key=lambda entry: (sum(not found[entry].paid for found in by_entry), entry))
    return {place: entries[chosen] for place, entries in zip(places, by_entry, strict=True)}
