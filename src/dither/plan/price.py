"""What a plan costs under an offer: the noise of every vector, the events, the price. Reads no row.

Flow: the session prices a plan for `explain` and `ask`; the ledger admits the price; mechanisms draw from the laws.
The offer is split evenly over the question's distinct vectors: relative to its public scale (one row for counts, the
largest contribution for sums) each vector then has the same expected error.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dither.accounting import (
    ComposedEvent,
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    Price,
    SelectionEvent,
    laplace_scale_for_rho,
    price,
)
from dither.catalog.model import Catalog, Neighbours
from dither.errors import QueryRefused
from dither.exact import QUANTUM, round_down
from dither.mechanisms.keys import gaussian_threshold, laplace_threshold
from dither.mechanisms.quantiles import levels_of
from dither.mechanisms.residual import CellErrors, MarginalPlan
from dither.mechanisms.residual.design import plan_at
from dither.mechanisms.running import most_countable, plan_running_totals
from dither.noise import DiscreteGaussian, DiscreteLaplace
from dither.plan import nodes
from dither.plan.laws import ChoiceLaw, Law, MarginalLaw, RunningLaw
from dither.plan.offer import Offer, root_down
from dither.plan.running import axis_of

__all__ = [
    "Place",
    "PricedCube",
    "PricedMeasure",
    "PricedPlan",
    "PricedVector",
    "distance_of",
    "price_plan",
    "selects_groups",
]


Place = tuple[int, int]
"""(measure, vector) in a plan."""


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

    def price_at(self, position: int) -> Price:
        """What one vector costs whoever uses it again: the one that selects, with the selection."""
        own = self.vectors[position].price
        return own if self.selection is None or position != self.selecting else own + price(self.selection)


@dataclass(frozen=True)
class PricedCube:
    """Vectors that are measured together. The events of their parts are what ran; a vector's own event is what it alone
    tells, and those of two overlap."""

    cube: nodes.Cube
    plan: MarginalPlan

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(grouping.place for grouping in self.cube.groupings)

    @property
    def read(self) -> dict[tuple[int, ...], Place]:
        """The groupings that must be read, by their axes: the others are sums over them."""
        first = {g.axes: g.place for g in reversed(self.cube.groupings)}
        return {axes: first[axes] for axes in self.plan.maximal}


@dataclass(frozen=True)
class PricedPlan:
    plan: nodes.Plan
    offer: Offer
    measures: tuple[PricedMeasure, ...]
    phases: tuple[PricedPlan, ...] = ()
    """The questions inside it, priced out of the same offer, in the order of `plan.phases`."""
    cubes: tuple[PricedCube, ...] = ()

    @property
    def events(self) -> tuple[Event, ...]:
        own = self.events_at((m, p) for m, measure in enumerate(self.measures) for p in range(len(measure.vectors)))
        return (*(event for phase in self.phases for event in phase.events), *own)

    def events_at(self, places: Iterable[Place]) -> tuple[Event, ...]:
        """What runs to measure the vectors at these places; all of a cube, or none of it, are among them."""
        wanted = list(dict.fromkeys(places))
        together = {place for cube in self.cubes for place in cube.places}
        events: list[Event] = [self.measures[m].vectors[p].event for m, p in wanted if (m, p) not in together]
        for cube in self.cubes:
            if cube.places[0] in wanted:
                events += cube.plan.event.events
        selections = (self.measures[m].selection for m in sorted({m for m, _ in wanted}))
        return (*events, *(selection for selection in selections if selection is not None))

    @property
    def price(self) -> Price:
        total = Price()
        for event in self.events:
            total = total + price(event)
        return total


def selects_groups(plan: nodes.Plan) -> bool:
    """Are there private groups in it, or in a question inside it? Only those take something of a delta."""
    return any(measure.has_private_keys for part in _parts(plan) for measure in part.measures)


def price_plan(plan: nodes.Plan, offer: Offer, catalog: Catalog, *, delta_per_question: Fraction) -> PricedPlan:
    """Noise and price of every vector. `delta_per_question`: failure mass its key selections may use together."""
    measured = [
        (_with_selection(measure, catalog)[0], weights)
        for part in _parts(plan)
        for measure, weights in zip(part.measures, _weights(part), strict=True)
    ]
    count = sum(sum(weights[: len(measure.vectors)]) for measure, weights in measured)
    private = sum(1 for measure, _ in measured if measure.has_private_keys)
    if count == 0:
        raise QueryRefused("This question measures nothing.", code="A-105", hint="Add COUNT(*) or another aggregate.")
    terms = _Terms(
        offer, offer.total / count, delta_per_question / private if private else Fraction(0), catalog.neighbours
    )
    return _priced(plan, terms, catalog)


@dataclass(frozen=True)
class _Terms:
    """The offer, the share of it of a vector of weight 1, and each key selection's share of delta."""

    offer: Offer
    share: Fraction
    delta: Fraction
    neighbours: Neighbours

    def of_weight(self, weight: Fraction) -> _Terms:
        """The terms of vectors of this weight."""
        return replace(self, share=_countable(self.share * weight))


def _countable(share: Fraction) -> Fraction:
    """A share as a ledger counts it: rounded down where its price would be rounded up, so that odd offers and weights
    add up to no more than was offered."""
    return share if share.denominator <= QUANTUM.denominator else max(round_down(share), QUANTUM)


def _weights(plan: nodes.Plan) -> tuple[tuple[Fraction, ...], ...]:
    return plan.weights or tuple((Fraction(1),) * (len(measure.vectors) + 1) for measure in plan.measures)


def _parts(plan: nodes.Plan) -> list[nodes.Plan]:
    """The plan and, before it, all plans of its phases."""
    return [part for phase in plan.phases for part in _parts(phase.plan)] + [plan]


def _priced(plan: nodes.Plan, terms: _Terms, catalog: Catalog) -> PricedPlan:
    measures = tuple(
        _price_measure(*_with_selection(measure, catalog), weights, terms)
        for measure, weights in zip(plan.measures, _weights(plan), strict=True)
    )
    phases = tuple(_priced(phase.plan, terms, catalog) for phase in plan.phases)
    if terms.offer.rho is None:
        # Noise that is shared out among groupings is Gaussian: pure epsilon pays for each by itself.
        return PricedPlan(plan, terms.offer, measures, phases)
    shares = [[terms.of_weight(weight).share for weight in weights] for weights in _weights(plan)]
    cubes = tuple(_together(cube, measures, shares, terms.neighbours) for cube in plan.cubes)
    return PricedPlan(plan, terms.offer, _with_cubes(measures, cubes), phases, cubes)


def _together(
    cube: nodes.Cube,
    measures: Sequence[PricedMeasure],
    shares: Sequence[Sequence[Fraction]],
    neighbours: Neighbours,
) -> PricedCube:
    """All groupings of a cube for the shares they would have one by one: none is less accurate for it.
    Proof: docs/proofs/plan/cubes.md"""
    m, p = cube.groupings[0].place
    vector, tau = measures[m].measure.vectors[p], measures[m].measure.tau
    whole, total = (distance_of(vector, tau, grouped=g, neighbours=neighbours) for g in (True, False))
    by_axes: dict[tuple[int, ...], Fraction] = {}
    for grouping in cube.groupings:
        measure, position = grouping.place
        by_axes[grouping.axes] = by_axes.get(grouping.axes, Fraction(0)) + shares[measure][position]
    # Errors count relative to what one unit moves, and by the share each grouping brings.
    weights = [(share / (whole if axes else total)) ** 2 for axes, share in by_axes.items()]
    rho = sum(by_axes.values(), Fraction(0))
    return PricedCube(cube, plan_at(cube.sizes, tuple(by_axes), weights, rho, whole, total))


def _with_cubes(measures: tuple[PricedMeasure, ...], cubes: Sequence[PricedCube]) -> tuple[PricedMeasure, ...]:
    """The measures with the laws and events of what is measured together."""
    vectors = [list(measure.vectors) for measure in measures]
    for cube in cubes:
        name = hashlib.sha256(repr((cube.cube, cube.plan.parts)).encode()).hexdigest()[:16]
        for grouping in cube.cube.groupings:
            m, p = grouping.place
            parts = cube.plan.below(grouping.axes)
            sizes = {axis: cube.cube.sizes[axis] for axis in grouping.axes}
            errors = CellErrors(sizes, {part.axes: part.law for part in parts})
            law = MarginalLaw(errors, grouping.axes, grouping.keys, name)
            vectors[m][p] = replace(vectors[m][p], law=law, event=ComposedEvent(tuple(part.event for part in parts)))
    return tuple(replace(measure, vectors=tuple(own)) for measure, own in zip(measures, vectors, strict=True))


def distance_of(vector: nodes.Vector, tau: int, *, grouped: bool, neighbours: Neighbours) -> int:
    """L1 distance of one vector over all its groups between neighbouring databases, in steps.
    Adding or removing a unit adds or removes at most tau contributions. Replacing one changes tau of them: without
    groups each moves by at most max(0, hi) - min(0, lo); with groups one may leave a group and one enter another.
    Proof: docs/proofs/plan/distances.md"""
    if vector.kind == "units":
        # A unit is in at most tau groups, and in one where there are no groups; replaced, it leaves as many.
        return (tau if grouped else 1) * (2 if neighbours == "replace" and grouped else 1)
    if vector.kind == "histogram":
        # Rows that enter or leave cells; lo and hi are the first and the last cell.
        return tau * (2 if neighbours == "replace" else 1)
    if neighbours == "add_remove":
        return max(1, tau * vector.largest)
    if grouped or vector.kind == "distinct" or vector.distinct:
        return max(1, 2 * tau * vector.largest)
    return max(1, tau * vector.spread)


def _with_selection(measure: nodes.Measure, catalog: Catalog) -> tuple[nodes.Measure, int | None]:
    """The measure with a vector that selects its private keys: its own row count, or distinct units on their own."""
    if not measure.has_private_keys:
        return measure, None
    if measure.min_units_per_key > 1 and not measure.row_unit:
        selecting = nodes.Vector("units")
    else:
        selecting = nodes.Vector("rows")
    if selecting not in measure.vectors:
        measure = replace(measure, vectors=(*measure.vectors, selecting))
    return measure, measure.vectors.index(selecting)


def _price_measure(
    measure: nodes.Measure, selecting: int | None, weights: Sequence[Fraction], terms: _Terms
) -> PricedMeasure:
    grouped = bool(measure.keys)
    vectors = []
    for vector, weight in zip(measure.vectors, weights, strict=False):
        own = terms.of_weight(weight)
        distance = distance_of(vector, measure.tau, grouped=grouped, neighbours=terms.neighbours)
        if vector.running is None:
            vectors.append(_noisy(vector, distance, own.share, own.offer))
        else:
            vectors.append(_running(vector, distance, measure, own))
    if selecting is None:
        return PricedMeasure(measure, tuple(vectors))
    most = 1 if measure.vectors[selecting].kind == "units" else None
    law = vectors[selecting].law
    assert isinstance(law, DiscreteLaplace | DiscreteGaussian)
    if isinstance(law, DiscreteLaplace):
        threshold = laplace_threshold(
            law.scale, measure.tau, terms.delta, most_per_key=most, min_units_per_key=measure.min_units_per_key
        )
    else:
        threshold = gaussian_threshold(
            law.sigma2, measure.tau, terms.delta, most_per_key=most, min_units_per_key=measure.min_units_per_key
        )
    return PricedMeasure(measure, tuple(vectors), selecting, threshold, SelectionEvent(Fraction(0), terms.delta))


def _running(vector: nodes.Vector, distance: int, measure: nodes.Measure, terms: _Terms) -> PricedVector:
    """One run of totals for each line of the measure's groups, all at one price: a unit's rows are shared out among
    them. Proof: docs/proofs/plan/running-totals.md"""
    assert vector.running is not None
    n = axis_of(vector.running, measure.domain.columns).n
    plan = plan_running_totals(
        n,
        neighbours=terms.neighbours,
        epsilon=None if terms.offer.epsilon is None else terms.share,
        rho=None if terms.offer.rho is None else terms.share,
        max_rows_per_unit=measure.tau,
        largest_step=max(1, vector.largest),
        signed=vector.lo < 0,
        largest_count=most_countable(n, pure=terms.offer.rho is None),
    )
    return PricedVector(vector, distance, RunningLaw(plan), plan.event)


def _noisy(vector: nodes.Vector, distance: int, share: Fraction, offer: Offer) -> PricedVector:
    """Laplace for an offer in epsilon; for one in rho, whichever of Laplace and Gaussian is expected to err less."""
    if vector.kind == "histogram":
        return _chosen(vector, distance, share, offer)
    if offer.epsilon is not None:
        scale = distance / share
        return PricedVector(vector, distance, DiscreteLaplace(scale), LaplaceEvent(scale, distance))
    variance = Fraction(distance * distance) / (2 * share)
    if share >= 1:
        scale = laplace_scale_for_rho(share, distance)
        if DiscreteLaplace(scale).variance() < DiscreteGaussian(variance).variance():
            return PricedVector(vector, distance, DiscreteLaplace(scale), LaplaceEvent(scale, distance))
    return PricedVector(vector, distance, DiscreteGaussian(variance), GaussianEvent(variance, distance * distance))


def _chosen(vector: nodes.Vector, distance: int, share: Fraction, offer: Offer) -> PricedVector:
    """Quantiles of a list rest on each other, level by level; ends of intervals are chosen each by itself."""
    count = len(vector.quantiles)
    levels, choices = (1, count) if vector.end else (levels_of(count), levels_of(count))
    epsilon = _countable(share / choices) if offer.epsilon is not None else root_down(8 * share / choices)
    one = ExponentialEvent(epsilon)
    event = one if choices == 1 else ComposedEvent((one,) * choices)
    return PricedVector(vector, distance, ChoiceLaw(epsilon, vector.quantiles, levels), event)
