"""What a question needs: each of its vectors, and whether a released measurement of it will do.

Flow: `Session.ask` and `explain` look vectors up here; what is not known is reserved, measured and paid for.
A released vector serves when it is at least as accurate as the one planned, and this analyst has paid for it, or its
stored price fits the offer (their allowance is then charged, once; the data set is not). To have paid for a grouping
that was measured with others is to have paid for the coarser ones, which are sums over it. All that is charged for one
question, measured anew or paid for like that, stays within the offer.
Proof: docs/proofs/plan/reuse.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dither.accounting import Event, Price, price
from dither.ledger.model import ReleasedVector
from dither.plan.laws import MarginalLaw
from dither.plan.offer import Offer
from dither.plan.price import Place, PricedCube, PricedPlan, PricedVector
from dither.session.vectors import as_accurate, law_from_facts, shown_keys

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
    released: Callable[[Sequence[str]], Sequence[Sequence[ReleasedVector]]],
    beside: Callable[[str], Sequence[ReleasedVector]],
    limit: Fraction | None = None,
) -> list[Need]:
    """Every vector of the plan, in order, with what is known of it.
    released: the kept measurements of each of the named vectors.  beside: all vectors of a ledger entry.
    limit: what the asker may be charged in all, on the meter of the offer; None: what measuring everything costs.
    What others paid for and would carry the sum beyond it is measured anew."""
    own = {
        (m, p): Need(m, p, identity(m, p), v)
        for m, each in enumerate(priced.measures)
        for p, v in enumerate(each.vectors)
    }
    most = _Most(_charged(priced, own) if limit is None else limit, _most_delta(priced, own, whole=limit is not None))
    kept = zip(own.items(), released([need.identity for need in own.values()]), strict=True)
    options = {
        place: _usable(need, found, lambda v: _has_paid(analyst, v, beside), priced.offer)
        for (place, need), found in kept
    }
    paid = {place: [option for option in usable if option.paid] for place, usable in options.items()}
    found = own
    for usable in (paid, options):
        for ways in _ways(priced, usable):
            tried = (found | way for way in ways)
            found = next((way for way in tried if most.admits(priced, way)), found)
    return list(found.values())


@dataclass(frozen=True)
class _Most:
    """What the asker may be charged: on the meter of the offer, and for choosing private groups."""

    amount: Fraction
    delta: Fraction | None

    def admits(self, priced: PricedPlan, found: Found) -> bool:
        if _charged(priced, found) > self.amount:
            return False
        return self.delta is None or _cost(priced, found).delta <= self.delta


Found = Mapping[Place, Need]
Options = Mapping[Place, list[Need]]


def _ways(priced: PricedPlan, options: Options) -> Iterator[list[dict[Place, Need]]]:
    """For places that are decided together, what may be taken for them, the best first."""
    in_cubes = {place for cube in priced.cubes for place in cube.places}
    for m, measure in enumerate(priced.measures):
        places = [place for place in options if place[0] == m and place not in in_cubes]
        if measure.measure.has_private_keys:
            # Private groups were chosen together: all vectors come from one entry, or all are measured anew.
            together = _of_one_entry(places, options)
            yield [] if together is None else [together]
        else:
            yield from ([{place: options[place][0]}] for place in places if options[place])
    for cube in priced.cubes:
        yield list(_of_cube(cube, options))


def unpaid(needs: Iterable[Need]) -> Price:
    """The stored prices of what others paid for, each once."""
    known = [need.known for need in needs if need.known is not None and not need.paid]
    return sum({(one.entry_id, one.position): one.price for one in known}.values(), Price())


def _cost(priced: PricedPlan, found: Found) -> Price:
    return cost_of(priced, [need for need in found.values() if need.known is None]) + unpaid(found.values())


def _charged(priced: PricedPlan, found: Found) -> Fraction:
    return _on_meter(_cost(priced, found), priced.offer)


def _most_delta(priced: PricedPlan, own: Found, *, whole: bool) -> Fraction | None:
    """None where the asker set no limit: then what others measured may have cost more than this question would."""
    if priced.offer.delta is None:
        return None
    return priced.offer.delta if whole else _cost(priced, own).delta


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
    return priced.events_at((need.measure, need.position) for need in wanted)


def _usable(
    need: Need, found: Sequence[ReleasedVector], has_paid: Callable[[ReleasedVector], bool], offer: Offer
) -> list[Need]:
    """Released measurements that may serve, best first: paid ones, then the most accurate."""
    options = []
    for stored in found:
        if not as_accurate(stored.law, need.priced.law):
            continue
        paid = has_paid(stored)
        if paid or _fits(stored.price, offer):
            options.append(Need(need.measure, need.position, need.identity, need.priced, stored, paid))
    return sorted(options, key=lambda option: (not option.paid, _variance(option)))


def _has_paid(analyst: str, stored: ReleasedVector, beside: Callable[[str], Sequence[ReleasedVector]]) -> bool:
    """For it, or for a grouping of the same measurement that it is a sum over."""
    if analyst in stored.paid_by:
        return True
    if "shared" not in stored.law:
        return False
    law = law_from_facts(stored.law)
    assert isinstance(law, MarginalLaw)
    own = [law_from_facts(other.law) for other in beside(stored.entry_id) if analyst in other.paid_by]
    return any(
        isinstance(other, MarginalLaw) and other.shared == law.shared and set(other.axes) >= set(law.axes)
        for other in own
    )


def _variance(need: Need) -> float:
    assert need.known is not None
    return law_from_facts(need.known.law).variance()


def _fits(stored: Price, offer: Offer) -> bool:
    if offer.epsilon is not None:
        return stored.epsilon is not None and stored.epsilon <= offer.epsilon
    return offer.rho is not None and stored.rho <= offer.rho


def _of_cube(cube: PricedCube, options: Options) -> Iterator[dict[Place, Need]]:
    """Groupings measured together agree: so from one entry if there is one, else from several where nothing is missing.
    Finest groupings that others paid for have parts in common, and each costs all of its own."""
    together = _of_one_entry(cube.places, options)
    if together is not None:
        yield _finest_paid(together, cube)
    paid = {place: next((option for option in options[place] if option.paid), None) for place in cube.places}
    known = {place: option for place, option in paid.items() if option is not None}
    if len(known) == len(paid):
        yield known


def _finest_paid(together: dict[Place, Need], cube: PricedCube) -> dict[Place, Need]:
    """Coarser groupings are sums over finer ones of the same measurement: to have those is to have them."""
    measurements = {need.known.law.get("shared") for need in together.values() if need.known is not None}
    if len(measurements) > 1 or None in measurements:
        return together
    finest = set(cube.read.values())
    return {place: need if place in finest else replace(need, paid=True) for place, need in together.items()}


def _of_one_entry(places: Sequence[Place], options: Options) -> dict[Place, Need] | None:
    """All of the vectors from one ledger entry that holds them, over the same private groups; None where there is none.
    Two measures of one question may select groups of the same keys, each by noise of its own."""
    by_entry: list[dict[tuple[str, bytes], Need]] = []
    for place in places:
        mine: dict[tuple[str, bytes], Need] = {}
        for option in options[place]:
            if option.known is not None:
                mine.setdefault((option.known.entry_id, shown_keys(option.known.payload)), option)
        by_entry.append(mine)
    shared = set(by_entry[0]).intersection(*by_entry[1:]) if by_entry else set()
    if not shared:
        return None
    chosen = min(shared, key=lambda entry: (sum(not found[entry].paid for found in by_entry), entry))
    return {place: entries[chosen] for place, entries in zip(places, by_entry, strict=True)}
