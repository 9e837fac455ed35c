"""Ask a whole workload without asking it: which vectors each question would measure, and which it would find.

Flow: the planner tries splits of a budget here. Each question is priced and looked up by the session's own code
(`stages.prepare`), with the vectors of the questions before it added to those the ledger keeps: so what is said to be
free is what the session would find. Reads no protected row, reserves nothing, keeps nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dither.accounting import Price
from dither.ledger.model import ReleasedVector, Reservation
from dither.plan.offer import Offer
from dither.plan.price import PricedMeasure, PricedPlan
from dither.session.needs import unpaid
from dither.session.stages import Stage, charged, parts_of, prepare
from dither.session.vectors import law_facts, pack
from dither.sql.embedded import Columns

if TYPE_CHECKING:
    from dither.session.session import Session

__all__ = ["Foreseen", "Foresight", "offer_of", "vectors_in"]

_ENTRY = "planned "


@dataclass(frozen=True)
class Foreseen:
    """One question of the workload, as it would be asked after those before it."""

    priced: PricedPlan
    stages: tuple[Stage, ...]
    unpaid: Price
    """What this analyst's allowance is charged for vectors that others paid for."""

    @property
    def fresh(self) -> int:
        """How many vectors are measured; each costs the same share of the offer."""
        return sum(len(stage.wanted) for stage in self.stages)

    @property
    def cost(self) -> Price:
        return charged(self.stages, allowance=False)

    @property
    def parts(self) -> list[tuple[PricedPlan, frozenset[tuple[int, int]]]]:
        """What `explain_plan` takes: each stage, with the places of what is known already."""
        return [
            (stage.priced, frozenset((n.measure, n.position) for n in stage.needs if n.known is not None))
            for stage in self.stages
        ]

    def found_in(self) -> frozenset[int]:
        """Which questions of the workload, by their place in it, it finds vectors of; -1 for the ledger."""
        return frozenset(_place(n.known.entry_id) for s in self.stages for n in s.needs if n.known is not None)


class Foresight:
    """The session's look-ups, with what a workload will have released by then."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._epoch = session.ledger.current_release
        self._kept: dict[str, Sequence[ReleasedVector]] = {}

    def ask(self, workload: Sequence[tuple[int, PricedPlan]]) -> dict[int, Foreseen]:
        """The questions asked in this order, by their place in the workload."""
        planned: dict[str, list[ReleasedVector]] = {}
        found = {}
        for place, priced in workload:
            stages: list[Stage] = []
            for name, part in parts_of(priced):
                stage = self._stage(name, part, stages, planned)
                entry = f"{_ENTRY}{place} {name}"
                wanted = tuple(need.identity for need in stage.wanted)
                stage.reservation = Reservation(entry, self._session.analyst, self._epoch, Price(), wanted, "")
                stages.append(stage)
            # Only now: all stages of a question are looked up before the first of them is measured.
            for stage in stages:
                self._release(stage, planned)
            needs = [need for stage in stages for need in stage.needs]
            found[place] = Foreseen(priced, tuple(stages), unpaid(needs))
        return found

    def _stage(
        self, name: str, part: PricedPlan, before: list[Stage], planned: dict[str, list[ReleasedVector]]
    ) -> Stage:
        return prepare(
            name,
            part,
            before,
            catalog=self._session.catalog,
            analyst=self._session.analyst,
            release=self._epoch,
            version_of=self._session.facts.version_of,
            released=lambda names: [[*self._released(name), *planned.get(name, ())] for name in names],
            beside=lambda entry: [
                *self._session.ledger.vectors_in(entry),
                *(vector for known in planned.values() for vector in known if vector.entry_id == entry),
            ],
        )

    def _released(self, identity: str) -> Sequence[ReleasedVector]:
        if identity not in self._kept:
            self._kept[identity] = self._session.ledger.released(identity, self._epoch)
        return self._kept[identity]

    def _release(self, stage: Stage, planned: dict[str, list[ReleasedVector]]) -> None:
        assert stage.reservation is not None
        for position, need in enumerate(stage.wanted):
            vector = ReleasedVector(
                need.identity,
                self._epoch,
                stage.reservation.entry_id,
                position,
                law_facts(need.priced.law),
                Price(),
                _stand_in(stage.priced.measures[need.measure], need.measure),
                frozenset({self._session.analyst}),
            )
            planned.setdefault(need.identity, []).append(vector)
        for need in stage.needs:
            if need.known is not None and not need.paid:
                # Paid once; from the next question on it is this analyst's own.
                paid = replace(need.known, paid_by=need.known.paid_by | {self._session.analyst})
                planned.setdefault(need.identity, []).append(paid)


def _stand_in(priced: PricedMeasure, measure: int) -> bytes:
    """In the place of a payload: private groups are of the measure that selects them, and of no other."""
    keys: Columns = {"measure": np.array([measure])} if priced.measure.has_private_keys else {}
    return pack(keys, np.zeros(0, dtype=np.int64))


def vectors_in(priced: PricedPlan) -> int:
    """How many vectors the offer is split over, those that choose private groups among them."""
    return sum(len(measure.vectors) for _, part in parts_of(priced) for measure in part.measures)


def offer_of(share: Fraction, vectors: int, *, rho: bool) -> Offer:
    return Offer(rho=share * vectors) if rho else Offer(epsilon=share * vectors)


def _place(entry_id: str) -> int:
    return int(entry_id.split(" ")[1]) if entry_id.startswith(_ENTRY) else -1
