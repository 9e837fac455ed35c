"""What a plan costs under an offer: the noise of every vector, the events, the price. Reads no row.

Flow: the session prices a plan for `explain` and `ask`; the ledger admits the price; mechanisms draw from the laws.
The offer is split evenly over the question's distinct vectors: relative to its public scale (one row for counts, the
largest contribution for sums) each vector then has the same expected error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dither.accounting import (
    Event,
    GaussianEvent,
    LaplaceEvent,
    Price,
    SelectionEvent,
    laplace_scale_for_rho,
    price,
)
from dither.catalog.model import Catalog, Neighbours
from dither.errors import InvalidParameter, QueryRefused
from dither.exact import Number, positive
from dither.mechanisms.keys import gaussian_threshold, laplace_threshold
from dither.noise import DiscreteGaussian, DiscreteLaplace
from dither.plan import nodes
from dither.sql.expressions import make_column
from dither.sql.types import TEXT

__all__ = ["Law", "Offer", "PricedMeasure", "PricedPlan", "PricedVector", "distance_of", "price_plan"]

Law = DiscreteLaplace | DiscreteGaussian


@dataclass(frozen=True)
class Offer:
    """What the asker is ready to pay for one question: epsilon (pure events only) or rho (zCDP)."""

    epsilon: Fraction | None = None
    rho: Fraction | None = None

    @classmethod
    def create(cls, *, epsilon: Number | None = None, rho: Number | None = None) -> Offer:
        if (epsilon is None) == (rho is None):
            raise InvalidParameter(
                "offer",
                expected="epsilon=... or rho=...",
                found="neither" if epsilon is None else "both",
                code="M-101",
                hint="Say what the question may cost, as in epsilon=0.5. Nothing is charged without a stated offer.",
            )
        return cls(
            None if epsilon is None else positive(epsilon, "epsilon"), None if rho is None else positive(rho, "rho")
        )

    @property
    def total(self) -> Fraction:
        found = self.epsilon if self.epsilon is not None else self.rho
        assert found is not None
        return found


@dataclass(frozen=True)
class PricedVector:
    """One vector with its noise. `distance`: the most its whole moves, in L1 steps, when one unit comes or goes."""

    vector: nodes.Vector
    distance: int
    law: Law
    event: Event

    @property
    def price(self) -> Price:
        return price(self.event)


@dataclass(frozen=True)
class PricedMeasure:
    measure: nodes.Measure
    """Its vectors, and behind them the one that selects private keys where none of them does."""
    vectors: tuple[PricedVector, ...]
    selecting: int | None = None
    """Position of the vector whose noisy counts decide which private keys appear."""
    threshold: int = 0
    selection: SelectionEvent | None = None

    @property
    def events(self) -> tuple[Event, ...]:
        events: tuple[Event, ...] = tuple(vector.event for vector in self.vectors)
        return events if self.selection is None else (*events, self.selection)


@dataclass(frozen=True)
class PricedPlan:
    plan: nodes.Plan
    offer: Offer
    measures: tuple[PricedMeasure, ...]

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(event for measure in self.measures for event in measure.events)

    @property
    def price(self) -> Price:
        total = Price()
        for event in self.events:
            total = total + price(event)
        return total


def price_plan(plan: nodes.Plan, offer: Offer, catalog: Catalog, *, delta_per_question: Fraction) -> PricedPlan:
    """Noise and price of every vector. `delta_per_question`: failure mass its key selections may use together."""
    measures = [_with_selection(measure, catalog) for measure in plan.measures]
    count = sum(len(measure.vectors) for measure, _ in measures)
    private = sum(1 for measure, _ in measures if measure.has_private_keys)
    if count == 0:
        raise QueryRefused("This question measures nothing.", code="A-105", hint="Add COUNT(*) or another aggregate.")
    share = offer.total / count
    delta = delta_per_question / private if private else Fraction(0)
    priced = tuple(_price_measure(m, s, share, offer, catalog.neighbours, delta) for m, s in measures)
    return PricedPlan(plan, offer, priced)


def distance_of(vector: nodes.Vector, tau: int, *, grouped: bool, neighbours: Neighbours) -> int:
    """L1 distance of one vector over all its groups between neighbouring databases, in steps.
    Adding or removing a unit adds or removes at most tau contributions. Replacing one changes tau of them: without
    groups each moves by at most max(0, hi) - min(0, lo); with groups one may leave a group and one enter another."""
    if neighbours == "add_remove":
        return max(1, tau * vector.largest)
    if grouped or vector.kind == "distinct":
        return max(1, 2 * tau * vector.largest)
    return max(1, tau * vector.spread)


def _with_selection(measure: nodes.Measure, catalog: Catalog) -> tuple[nodes.Measure, int | None]:
    """The measure with a vector that selects its private keys: its own row count, or distinct units on their own."""
    if not measure.has_private_keys:
        return measure, None
    if measure.min_units_per_key > 1:
        unit = make_column(unit_of(measure.input), TEXT, nullable=False)
        selecting = nodes.Vector("distinct", unit)
    else:
        selecting = nodes.Vector("rows")
    if selecting not in measure.vectors:
        measure = replace(measure, vectors=(*measure.vectors, selecting))
    return measure, measure.vectors.index(selecting)


def unit_of(node: nodes.Rows) -> str:
    """Id of the unit column that a protected relation gives out."""
    match node:
        case nodes.Scan(_, _, unit, _, _):
            return unit
        case nodes.Join(_, _, _, _, unit) if unit is not None:
            return unit.id
        case _:
            for below in nodes.inputs_of(node):
                if nodes.scans_of(below):
                    return unit_of(below)
    raise AssertionError("no unit in a public relation")


def _price_measure(
    measure: nodes.Measure,
    selecting: int | None,
    share: Fraction,
    offer: Offer,
    neighbours: Neighbours,
    delta: Fraction,
) -> PricedMeasure:
    grouped = bool(measure.keys)
    vectors = []
    for vector in measure.vectors:
        distance = distance_of(vector, measure.tau, grouped=grouped, neighbours=neighbours)
        vectors.append(_noisy(vector, distance, share, offer))
    if selecting is None:
        return PricedMeasure(measure, tuple(vectors))
    most = 1 if measure.vectors[selecting].kind == "distinct" else None
    law = vectors[selecting].law
    if isinstance(law, DiscreteLaplace):
        threshold = laplace_threshold(
            law.scale, measure.tau, delta, most_per_key=most, min_units_per_key=measure.min_units_per_key
        )
    else:
        threshold = gaussian_threshold(
            law.sigma2, measure.tau, delta, most_per_key=most, min_units_per_key=measure.min_units_per_key
        )
    return PricedMeasure(measure, tuple(vectors), selecting, threshold, SelectionEvent(Fraction(0), delta))


def _noisy(vector: nodes.Vector, distance: int, share: Fraction, offer: Offer) -> PricedVector:
    """Laplace for an offer in epsilon; for one in rho, whichever of Laplace and Gaussian is expected to err less."""
    if offer.epsilon is not None:
        scale = distance / share
        return PricedVector(vector, distance, DiscreteLaplace(scale), LaplaceEvent(scale, distance))
    variance = Fraction(distance * distance) / (2 * share)
    if share >= 1:
        scale = laplace_scale_for_rho(share, distance)
        if DiscreteLaplace(scale).variance() < DiscreteGaussian(variance).variance():
            return PricedVector(vector, distance, DiscreteLaplace(scale), LaplaceEvent(scale, distance))
    return PricedVector(vector, distance, DiscreteGaussian(variance), GaussianEvent(variance, distance * distance))
