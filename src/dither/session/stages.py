"""The stages of a question: each of its phases, and last the question itself, with what each needs.

Flow: `Session.ask` prepares all stages (and reserves what they must measure) before the first is read.
A later stage's vectors are named after the entries its phases' results come from, so that the same question asked
again finds the same vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from dither.accounting import Price
from dither.catalog.model import Catalog
from dither.ledger.model import ReleasedVector, Reservation
from dither.plan import nodes
from dither.plan.fingerprint import vector_identity
from dither.plan.phases import named_in
from dither.plan.price import PricedPlan
from dither.session.needs import Need, cost_of, find_needs, unpaid

__all__ = ["Stage", "bound", "charged", "parts_of", "prepare"]


@dataclass
class Stage:
    """One plan of a question. `name` is the phase's, '' for the question itself."""

    name: str
    priced: PricedPlan
    needs: list[Need]
    reservation: Reservation | None = None
    result: list[tuple[Any, ...]] = field(default_factory=list)
    """What came out, for later stages."""

    @property
    def wanted(self) -> list[Need]:
        return [need for need in self.needs if need.known is None]

    @cached_property
    def cost(self) -> Price:
        return cost_of(self.priced, self.wanted)

    def places(self) -> list[tuple[str, int]]:
        """(entry, position) of every vector it uses: what its result is a function of."""
        fresh = self.reservation.entry_id if self.reservation is not None else "not yet"
        wanted = self.wanted
        return [
            (need.known.entry_id, need.known.position) if need.known is not None else (fresh, wanted.index(need))
            for need in self.needs
        ]


def prepare(
    name: str,
    priced: PricedPlan,
    before: Sequence[Stage],
    *,
    catalog: Catalog,
    analyst: str,
    release: str,
    version_of: Callable[[nodes.Measure], str],
    released: Callable[[Sequence[str]], Sequence[Sequence[ReleasedVector]]],
    beside: Callable[[str], Sequence[ReleasedVector]],
) -> Stage:
    """A stage with its needs looked up. `before`: the earlier stages, reserved already."""
    by_name = {stage.name: stage for stage in before}

    def identity(m: int, p: int) -> str:
        measure = priced.measures[m].measure
        named = sorted(named_in(measure)) if before else []
        inputs = repr([(n, by_name[n].priced.plan.finish_sql, by_name[n].places()) for n in named])
        return vector_identity(measure, p, catalog, release=release, public_version=version_of(measure), inputs=inputs)

    # The parts of a question share its offer: each alone keeps to what it was planned to cost.
    limit = None if name or priced.phases else priced.offer.total
    needs = find_needs(priced, analyst=analyst, identity=identity, released=released, beside=beside, limit=limit)
    return Stage(name, priced, needs)


def charged(stages: Sequence[Stage], *, allowance: bool) -> Price:
    """What these stages cost.  allowance: together with the stored prices of what others paid for, which an analyst's
    own allowance is charged."""
    total = Price()
    for stage in stages:
        total = total + stage.cost
    return total + unpaid(need for stage in stages for need in stage.needs) if allowance else total


def bound(stage: Stage, before: Sequence[Stage], bind: Callable[..., nodes.Measure]) -> PricedPlan:
    """The stage's plan with the results of earlier stages written into its measures."""
    results = {earlier.name: earlier.result for earlier in before}
    measures = tuple(replace(m, measure=bind(m.measure, results)) for m in stage.priced.measures)
    return replace(stage.priced, measures=measures)


def parts_of(priced: PricedPlan) -> list[tuple[str, PricedPlan]]:
    """The phases of a question, innermost first, and last the question itself under the name ''."""
    parts = []
    for phase, inner in zip(priced.plan.phases, priced.phases, strict=True):
        parts += [(name or phase.name, part) for name, part in parts_of(inner)]
    return [*parts, ("", priced)]
