"""A session: one asker in front of one data set. `ask` reads like the life of a query, top to bottom.

    text ─▶ plan ─▶ price ─▶ what is known already ─▶ reserve ─▶ read ─▶ noise ─▶ answer

Flow: `dither.open` makes it; everything an analyst or an owner does goes through it. `explain` is the same walk
stopped before `reserve`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dither.accounting import Price
from dither.answer.answer import Answer
from dither.answer.complete import complete
from dither.answer.finishing import finish, rehearse
from dither.answer.noisy import NoisyTable
from dither.catalog.model import Catalog
from dither.engines.base import Engine, MeasuredTable
from dither.errors import EngineError, PolicyRefused
from dither.exact import Number
from dither.ledger.model import NewVector, Reservation, ReservationRequest
from dither.mechanisms.release import add_noise
from dither.noise import Entropy, system_entropy
from dither.plan import nodes
from dither.plan.explain import Explanation, explain_plan
from dither.plan.fingerprint import plan_fingerprint, vector_identity
from dither.plan.lower import Lowering
from dither.plan.price import Offer, PricedMeasure, PricedPlan, price_plan
from dither.secret import Secret, open_secret
from dither.session import receipts, vectors
from dither.session.budget import BudgetView
from dither.session.facts import Facts
from dither.session.needs import Need, cost_of, events_of, find_needs

if TYPE_CHECKING:
    from dither.ledger.ledger import Ledger
    from dither.session.tune import Tuned

__all__ = ["Session"]

Clock = Callable[[], dt.datetime]
Fresh = Mapping[tuple[int, int], NewVector]


class Session:
    """Ask questions of one data set, on one ledger, as one analyst. Made by `dither.open`."""

    def __init__(
        self,
        catalog: Catalog,
        engine: Engine,
        ledger: Ledger,
        *,
        analyst: str = "owner",
        entropy: Entropy | None = None,
        clock: Clock | None = None,
        taus: Mapping[str, int] | None = None,
        ledger_location: str = "",
        invented: bool = False,
    ) -> None:
        self.catalog = catalog
        self.engine = engine
        self.ledger = ledger
        self.analyst = analyst
        self.ledger_location = ledger_location
        """Where the ledger is kept; '' for one in memory."""
        self.invented = invented
        self.facts = Facts(catalog, engine)
        self.taus = dict(taus or {})
        """Folded table name -> rows kept per unit, for tables where it is declared or tuned."""
        self._entropy = entropy
        self._clock = clock or (lambda: dt.datetime.now(dt.UTC))

    # The life of a query -----------------------------------------------------------------------------------------

    def ask(
        self, question: str, *, epsilon: Number | None = None, rho: Number | None = None, request: str | None = None
    ) -> Answer:
        """Answer one SELECT for at most the offered price.
        epsilon: nats, buys pure events only; or rho: zCDP.  request: an idempotency key of the caller's choosing.
        Raises QueryRefused, PolicyRefused, BudgetExceeded, EngineError, LedgerError; a refusal costs nothing."""
        plan = self.plan(question)
        priced = self._price(plan, self._offer(epsilon, rho))
        rehearse(plan, self._stand_ins(priced))
        release = self.ledger.current_release
        needs = self._needs(priced, release)
        wanted = [need for need in needs if need.known is None]
        self._pay_for_reuse(needs)
        fresh: Fresh = {}
        cost, signed = Price(), None
        if wanted:
            cost = cost_of(priced, wanted)
            reservation = self._reserve(priced, wanted, cost, release, request)
            measured = self._read(reservation, priced, wanted)
            fresh = self._add_noise(priced, wanted, measured)
            signed = self.ledger.answer(reservation, [fresh[need.measure, need.position] for need in wanted])
        tables = self._noisy_tables(priced, needs, fresh)
        receipt = receipts.make(self, priced, needs, cost, signed, release)
        return Answer(
            plan, finish(plan, tables), tuple(tables), cost, receipt, plan.notes, self.invented, self.catalog.unit_name
        )

    def explain(self, question: str, *, epsilon: Number | None = None, rho: Number | None = None) -> Explanation:
        """What `ask` would do and cost. Free; reads no protected row."""
        plan = self.plan(question)
        priced = self._price(plan, self._offer(epsilon, rho))
        rehearse(plan, self._stand_ins(priced))
        needs = self._needs(priced, self.ledger.current_release)
        cost = cost_of(priced, [need for need in needs if need.known is None])
        known = frozenset((need.measure, need.position) for need in needs if need.known is not None)
        return explain_plan(priced, cost, known, self.catalog, self.ledger.remaining(self._own_level()))

    def plan(self, question: str) -> nodes.Plan:
        """Parse, bind and lower a question. Reads the catalog and public tables only."""
        now = self._clock().astimezone(dt.UTC).replace(tzinfo=None, microsecond=0)
        lowering = Lowering(
            self.catalog, self.facts.schemas, self.facts.for_lowering(), self.facts.key_lists(), self.taus, now
        )
        return lowering.question(question)

    # What else an owner or analyst does ----------------------------------------------------------------------------

    def budget(self) -> BudgetView:
        """What is left of this analyst's allowance, or, without declared analysts, of the data set."""
        return BudgetView.of(self.ledger, self._own_level())

    def tune(self, table: str, *, epsilon: Number | None = None, for_epsilon: Number = 1, groups: int = 1) -> Tuned:
        """Fix how many rows one unit keeps in `table`, privately unless the catalog declares it, and store the rows of
        heavier units so that questions run faster. epsilon: what the choice may cost; see `dither.session.tune`."""
        from dither.session.tune import tune

        return tune(self, table, epsilon=epsilon, for_epsilon=for_epsilon, groups=groups)

    def close(self) -> None:
        self.engine.close()
        self.ledger.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Steps of a query ----------------------------------------------------------------------------------------------

    def _offer(self, epsilon: Number | None, rho: Number | None) -> Offer:
        terms = self.catalog.budget
        if epsilon is None and rho is None and terms.default_epsilon is not None:
            epsilon = terms.default_epsilon
        offer = Offer.create(epsilon=epsilon, rho=rho)
        if offer.epsilon is not None and offer.epsilon < terms.minimum_price:
            raise PolicyRefused(
                f"A question costs at least epsilon {float(terms.minimum_price):g}; "
                f"the offer is {float(offer.epsilon):g}.",
                code="M-102",
                hint="Offer more: below this an answer is nothing but noise.",
            )
        return offer

    def _price(self, plan: nodes.Plan, offer: Offer) -> PricedPlan:
        share = self.catalog.budget.delta_per_question
        if share is None:
            share = self.ledger.budget.delta_selection / 1000
        return price_plan(plan, offer, self.catalog, delta_per_question=share)

    def _needs(self, priced: PricedPlan, release: str) -> list[Need]:
        def identity(m: int, p: int) -> str:
            measure = priced.measures[m].measure
            return vector_identity(
                measure, p, self.catalog, release=release, public_version=self.facts.version_of(measure)
            )

        return find_needs(
            priced, analyst=self.analyst, identity=identity, released=lambda i: self.ledger.released(i, release)
        )

    def _pay_for_reuse(self, needs: Sequence[Need]) -> None:
        for need in needs:
            if need.known is not None and not need.paid:
                self.ledger.record_reuse(self.analyst, need.known, need.known.price)

    def _reserve(
        self, priced: PricedPlan, wanted: Sequence[Need], cost: Price, release: str, request: str | None
    ) -> Reservation:
        return self.ledger.reserve(
            ReservationRequest(
                analyst=self.analyst,
                text=priced.plan.text,
                fingerprint=plan_fingerprint(priced.plan, self.catalog),
                price=cost,
                events=events_of(priced, wanted),
                vectors=tuple(need.identity for need in wanted),
                release=release,
                idempotency_key=request,
            )
        )

    def _read(
        self, reservation: Reservation, priced: PricedPlan, wanted: Sequence[Need]
    ) -> Secret[list[MeasuredTable]]:
        """The private integers of all wanted vectors, in one snapshot. A failure is booked; the charge stands."""
        self.ledger.begin_reading(reservation)
        try:
            return self.engine.measure([_only(priced.measures[m], places) for m, places in _places(wanted)])
        except EngineError:
            self.ledger.fail(reservation)
            raise

    def _add_noise(self, priced: PricedPlan, wanted: Sequence[Need], measured: Secret[list[MeasuredTable]]) -> Fresh:
        """Every wanted vector over all its groups, with noise of its law; private groups cut at their threshold."""
        entropy = self._entropy
        if entropy is None:
            system = system_entropy()
            system.refresh()
            entropy = system
        identities = {(need.measure, need.position): need.identity for need in wanted}
        fresh = {}
        tables = open_secret(measured)
        for (m, places), table in zip(_places(wanted), tables, strict=True):
            keys, noisy = _release(priced.measures[m], places, table, entropy)
            for p, values in zip(places, noisy, strict=True):
                vector = priced.measures[m].vectors[p]
                payload = vectors.pack(keys, values)
                fresh[m, p] = NewVector(identities[m, p], vectors.law_facts(vector.law), vector.price, payload)
        return fresh

    def _noisy_tables(self, priced: PricedPlan, needs: Sequence[Need], fresh: Fresh) -> list[NoisyTable]:
        tables = []
        for m, measure in enumerate(priced.measures):
            found = [need.known or fresh[m, need.position] for need in needs if need.measure == m]
            opened = [vectors.unpack(vector.payload) for vector in found]
            domain = measure.measure.domain
            keys = domain.columns if domain is not None else opened[0][0]
            laws = tuple(vectors.law_from_facts(vector.law) for vector in found)
            tables.append(_table(measure, priced.plan, keys, tuple(values for _, values in opened), laws))
        return tables

    def _stand_ins(self, priced: PricedPlan) -> list[NoisyTable]:
        """Noisy tables of zeros over the public groups, for rehearsing the finish before anything is charged."""
        tables = []
        for measure in priced.measures:
            domain = measure.measure.domain
            size = 0 if domain is None else min(domain.size, 50)
            keys = (
                receipts.empty_keys(measure.measure.keys)
                if domain is None
                else {n: c[:50] for n, c in domain.columns.items()}
            )
            zeros = tuple(np.zeros(size, dtype=np.int64) for _ in measure.vectors)
            tables.append(_table(measure, priced.plan, keys, zeros, tuple(v.law for v in measure.vectors)))
        return tables

    def _own_level(self) -> str | None:
        return self.analyst if self.catalog.analysts else None


def _places(wanted: Sequence[Need]) -> list[tuple[int, list[int]]]:
    """Measures that are read, each with the positions of its wanted vectors."""
    order = sorted({need.measure for need in wanted})
    return [(m, [need.position for need in wanted if need.measure == m]) for m in order]


def _only(priced: PricedMeasure, places: list[int]) -> nodes.Measure:
    """The measure with its wanted vectors alone; private keys are chosen by all of them together."""
    from dataclasses import replace

    return replace(priced.measure, vectors=tuple(priced.measure.vectors[p] for p in places))


def _release(priced: PricedMeasure, places: list[int], table: MeasuredTable, entropy: Entropy) -> tuple[Any, list[Any]]:
    """Noise for each vector; over private groups, only those whose noisy selecting count passes the threshold."""
    domain = priced.measure.domain
    if domain is not None:
        full = complete(table, domain)
        return {}, [add_noise(v, priced.vectors[p].law, entropy) for p, v in zip(places, full, strict=True)]
    noisy = [add_noise(v, priced.vectors[p].law, entropy) for p, v in zip(places, table.vectors, strict=True)]
    assert priced.selecting is not None
    shown = np.flatnonzero(noisy[places.index(priced.selecting)] >= priced.threshold)
    # By the groups' own order: the engine's order could tell how rows are stored.
    columns = {name: column[shown] for name, column in table.keys.items()}
    order = _order_of(columns)
    return {name: column[order] for name, column in columns.items()}, [values[shown][order] for values in noisy]


def _order_of(columns: Any) -> Any:
    rows = list(zip(*(np.ma.asarray(column).tolist() for column in columns.values()), strict=True))
    return np.array(sorted(range(len(rows)), key=lambda i: [(v is None, v) for v in rows[i]]), dtype=np.int64)


def _table(measure: PricedMeasure, plan: nodes.Plan, keys: Any, values: Any, laws: Any) -> NoisyTable:
    recipes = dict(plan.aggregates)[measure.measure.name]
    return NoisyTable(measure.measure.name, dict(keys), measure.measure.vectors, values, laws, tuple(recipes))
