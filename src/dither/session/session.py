"""A session: one asker in front of one data set. `ask` reads like the life of a query, top to bottom.

    text ─▶ plan ─▶ price ─▶ what is known already ─▶ reserve ─▶ read ─▶ noise ─▶ answer

Flow: `dither.open` makes it; everything an analyst or an owner does goes through it. `explain` is the same walk
stopped before `reserve`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.answer.answer import Answer
from dither.answer.finishing import finish, may_be_large, rehearse
from dither.catalog.model import Catalog
from dither.engines.base import Engine
from dither.errors import PolicyRefused
from dither.exact import Number
from dither.noise import Entropy, system_entropy
from dither.plan import nodes
from dither.plan.choices import Choices
from dither.plan.explain import Explanation, explain_choices, explain_plan
from dither.plan.fingerprint import plan_fingerprint
from dither.plan.lower import Lowering
from dither.plan.offer import Offer
from dither.plan.phases import blank
from dither.plan.price import PricedPlan, price_plan, selects_groups
from dither.session import measuring, receipts
from dither.session.budget import BudgetView
from dither.session.decide import decide, foresee
from dither.session.expected import expected_columns
from dither.session.facts import Facts
from dither.session.offers import Offered, Within, check_intervals, keeping, offered, planned
from dither.session.opaque import OpaqueStatistics
from dither.session.refusals import noted
from dither.session.stages import Stage, charged, parts_of
from dither.session.tables import stand_ins
from dither.sql.embedded import within_depth

if TYPE_CHECKING:
    from dither.accounting import RandomLoss
    from dither.ledger.apart import ApartLedger
    from dither.ledger.ledger import Ledger
    from dither.ledger.registry import OtherLedger
    from dither.session.many import Answers
    from dither.session.series import Series
    from dither.session.tune import Tuned
    from dither.session.workload import BudgetPlan

__all__ = ["Session"]

Clock = Callable[[], dt.datetime]


class Session(OpaqueStatistics):
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
        own_taus: Mapping[str, int] | None = None,
        bounds: Mapping[tuple[str, str], tuple[float, float]] | None = None,
        ledger_location: str = "",
        other_ledgers: Sequence[OtherLedger] = (),
        invented: bool = False,
    ) -> None:
        self.catalog = catalog
        self.engine = engine
        self.ledger = ledger
        self.analyst = analyst
        self.ledger_location = ledger_location
        """Where the ledger is kept; '' for one in memory."""
        self.other_ledgers = tuple(other_ledgers)
        """Ledgers that protect the same source beside this one, as far as notes tell: for the owner."""
        self.invented = invented
        self.facts = Facts(catalog, engine, lambda: self.ledger.budget.delta_selection > 0)
        self.taus = dict(taus or {})
        """Folded table name -> rows kept per unit, for tables where it is declared or tuned."""
        self.own_taus = dict(own_taus or {})
        """Of `taus`, those that this analyst tuned for themselves."""
        self.bounds = dict(bounds or {})
        """(folded table, column) -> bounds chosen privately for a column that declares none."""
        self.apart_ledgers: dict[str, ApartLedger[RandomLoss]] = {}
        """Population -> its ledger of random DP, where the data set's own ledger is in memory."""
        self.entropy = entropy
        """Where noise comes from; None: the system."""
        self._clock = clock or (lambda: dt.datetime.now(dt.UTC))

    # The life of a query -----------------------------------------------------------------------------------------

    def ask(
        self,
        question: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        within: Within | None = None,
        at_most: Number | None = None,
        request: str | None = None,
        quantile_intervals: bool = False,
    ) -> Answer:
        """Answer one SELECT for at most the offered price.
        epsilon: nats, buys pure events only; or rho: zCDP; or within: the 95 % half-width wanted of counts and sums
        over listed groups, by column where it is a mapping, for the least price that is expected to keep it.
        at_most: what `within` may cost.  request: an idempotency key of the caller's choosing.
        quantile_intervals: buy a 95 % interval for each quantile too, as two more of them out of the same offer.
        The text may state the offer itself, as in `/* epsilon=0.5 */`.
        Raises QueryRefused, PolicyRefused, BudgetError, EngineError, LedgerError; a refusal costs nothing."""
        epoch = self.ledger.current_release
        with noted(self, question):
            stated = offered(
                question,
                epsilon=epsilon,
                rho=rho,
                within=within,
                at_most=at_most,
                quantile_intervals=quantile_intervals,
            )
            plan, priced, chosen = decide(self, question, stated)
            self.rehearse(priced)
            fingerprint = plan_fingerprint(plan, self.catalog)
            stages = measuring.reserve(self, priced, stated, epoch, fingerprint, request)
        tables, signed = measuring.measure(self, stages)
        finished = finish(plan, tables)
        cost = charged(stages, allowance=False) + chosen.price
        receipt = receipts.make(self, plan, fingerprint, epoch, stages, cost, signed)
        notes = (*chosen.notes, *plan.notes, *finished.notes)
        return Answer(plan, finished, tuple(tables), cost, receipt, notes, self.invented, self.catalog.unit_name)

    def ask_many(
        self,
        questions: str | Sequence[str],
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        weights: Sequence[Number] | None = None,
        request: str | None = None,
    ) -> Answers:
        """Answer several questions in one release: one charge of at most the offer, one receipt, an answer for each.
        For a rho, groupings of the same rows are measured together, which is more accurate than one by one, and agree.
        questions: a list, or one text with `;` between them.  weights: of the questions; all alike by default."""
        from dither.session.many import ask_many

        return ask_many(self, questions, epsilon=epsilon, rho=rho, weights=weights, request=request)

    def explain_many(
        self,
        questions: str | Sequence[str],
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        weights: Sequence[Number] | None = None,
    ) -> Explanation:
        """What `ask_many` would do and cost, and which questions share. Free; reads no protected row."""
        from dither.session.many import explain_many

        return explain_many(self, questions, epsilon=epsilon, rho=rho, weights=weights)

    @within_depth()
    def explain(
        self,
        question: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        within: Within | None = None,
        quantile_intervals: bool = False,
    ) -> Explanation:
        """What `ask` would do and cost; with `within`, which offer keeps it. Free; reads no protected row."""
        stated = offered(question, epsilon=epsilon, rho=rho, within=within, quantile_intervals=quantile_intervals)
        plan, foreseen = foresee(self, question, stated)
        if foreseen is not None:
            left = self.ledger.remaining(self.own_level)
            return explain_choices(plan, foreseen.sentences(self.catalog), foreseen.price, self.catalog, left)
        priced = self.priced(plan, stated)
        self.rehearse(priced)
        columns = expected_columns(priced, self.catalog)
        facts = dict.fromkeys(column.rests_on for column in columns if column.rests_on)
        explained = self.explained(priced)
        return replace(
            explained,
            columns=tuple((column.name, column.half_width) for column in columns),
            notes=(*explained.notes, *facts),
            solved=None if stated.wish is None else priced.offer,
        )

    def plan(self, question: str, choices: Choices | None = None, *, quantile_intervals: bool = False) -> nodes.Plan:
        """Parse, bind and lower a question. Reads the catalog and public tables only.
        choices: notes what would have to be chosen first; without it, that is refused.
        quantile_intervals: with the vectors that are the ends of quantiles' intervals."""
        plan = planned(question, self.lowering(choices, quantile_intervals=quantile_intervals).question)
        if quantile_intervals:
            check_intervals(plan)
        return plan

    def lowering(self, choices: Choices | None = None, *, quantile_intervals: bool = False) -> Lowering:
        """What makes plans of questions asked now; of several, plans whose measures have different names."""
        self.facts.refresh()
        now = self._clock().astimezone(dt.UTC).replace(tzinfo=None, microsecond=0)
        choices = choices or Choices(self.taus, bounds=self.bounds)
        return Lowering(
            self.catalog,
            self.facts.schemas,
            self.facts.for_lowering(),
            self.facts.key_lists(),
            choices,
            now,
            quantile_intervals,
        )

    # What else an owner or analyst does ----------------------------------------------------------------------------

    def budget(self) -> BudgetView:
        """What is left of this analyst's allowance, or, without declared analysts, of the data set."""
        return BudgetView.of(self.ledger, self.own_level)

    def tune(self, table: str, *, epsilon: Number | None = None, for_epsilon: Number = 1, groups: int = 1) -> Tuned:
        """Fix how many rows one unit keeps in `table`, privately unless the catalog declares it, and store the rows
        that count so that questions run faster. epsilon: what the choice may cost. A declared analyst chooses for
        themselves alone; see `dither.session.tune`."""
        from dither.session.tune import tune

        return tune(self, table, epsilon=epsilon, for_epsilon=for_epsilon, groups=groups)

    def plan_budget(
        self,
        questions: str | Sequence[str],
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        wishes: Mapping[int, str] | None = None,
    ) -> BudgetPlan:
        """Split a budget over several questions, each as accurate as wished. Free; reads no protected row.
        questions: a list, or one text with `;` between them; `-- within 50` or `-- weight=2` above one says what is
        wanted.  wishes: the same by number from 1.  delta: the most that private groups may use together."""
        from dither.session.workload import plan_budget

        return plan_budget(self, questions, epsilon=epsilon, rho=rho, delta=delta, wishes=wishes)

    def series(
        self,
        question: str | None = None,
        *,
        name: str,
        first: dt.date | str | None = None,
        days: int | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> Series:
        """A count or sum by day whose total is released every day: `SELECT day, COUNT(*) FROM t GROUP BY day`. Opening
        it charges all its days; the same name finds it again for nothing. See `dither.session.series`."""
        from dither.session.series import open_series

        return open_series(self, question, name=name, first=first, days=days, epsilon=epsilon, rho=rho)

    def close(self) -> None:
        for ledger in self.apart_ledgers.values():
            ledger.close()
        self.engine.close()
        self.ledger.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Steps of a query ----------------------------------------------------------------------------------------------

    def priced(self, plan: nodes.Plan, stated: Offered) -> PricedPlan:
        """The plan under what was offered; for a wished ±, under the least offer that keeps it. Reads nothing."""

        def at(offer: Offer) -> PricedPlan:
            return self.price_of(plan, offer, delta=stated.delta)

        return at(self.offer_of(stated)) if stated.wish is None else keeping(self, at, stated)

    def offer_of(self, stated: Offered) -> Offer:
        """The price offered, or the catalog's default; InvalidParameter, PolicyRefused where it will not do."""
        terms, epsilon, rho = self.catalog.budget, stated.epsilon, stated.rho
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
        if offer.rho is not None and offer.rho < terms.minimum_rho:
            raise PolicyRefused(
                f"A question costs at least rho {float(terms.minimum_rho):g}; the offer is {float(offer.rho):g}.",
                code="M-102",
                hint="Offer more: below this an answer is nothing but noise.",
            )
        return offer

    def price_of(self, plan: nodes.Plan, offer: Offer, *, delta: Fraction | None = None) -> PricedPlan:
        """Noise and price of a plan under an offer. Reads nothing. delta: a narrower limit for private groups."""
        share = self._delta_share() if selects_groups(plan) else Fraction(0)
        if delta is not None:
            share, offer = min(share, delta), replace(offer, delta=delta)
        return price_plan(plan, offer, self.catalog, delta_per_question=share)

    def _delta_share(self) -> Fraction:
        """What one question may use to select private groups with."""
        declared = self.catalog.budget.delta_per_question
        return self.ledger.budget.delta_selection / 1000 if declared is None else declared

    def rehearse(self, priced: PricedPlan) -> None:
        """Run every finish over stand-in numbers, so that what cannot be computed is refused before it is paid for."""
        for _, part in parts_of(priced):
            # Several questions in one have a finish each, and none together.
            if part.plan.columns:
                self.rehearse_finish(part.plan, part)
            measures = [measure.measure for measure in part.measures]
            self.engine.prepare([blank(measure) for measure in measures] if priced.phases else measures)

    def rehearse_finish(self, plan: nodes.Plan, priced: PricedPlan) -> None:
        """Run the finish of `plan`, which is that of `priced` or of one question in it."""
        listed = {m.measure.name: m.measure.domain.size for m in priced.measures if m.measure.domain is not None}
        aliases = {alias: listed[name] for alias, name in priced.plan.aliases if name in listed}
        large = may_be_large(plan, listed | aliases)
        if large or not plan.plain:
            named = dict(plan.aggregates)
            rehearse(plan, [table for table in stand_ins(priced, None if large else 50) if table.name in named])

    def explained(self, priced: PricedPlan) -> Explanation:
        """A priced plan with what is known of it, in words. Reads nothing protected."""
        stages: list[Stage] = []
        for name, part in parts_of(priced):
            stages.append(measuring.prepared(self, name, part, stages, self.ledger.current_release))
        parts = [(stage.priced, _known_places(stage)) for stage in stages]
        return explain_plan(
            parts,
            charged(stages, allowance=False),
            self.catalog,
            self.ledger.budget,
            self.ledger.remaining(self.own_level),
        )

    def fresh_entropy(self) -> Entropy:
        """For one question's draws: the system's with new bytes mixed in, lest a cloned machine repeat them."""
        if self.entropy is not None:
            return self.entropy
        system = system_entropy()
        system.refresh()
        return system

    @property
    def own_level(self) -> str | None:
        """The ledger's level whose balance the asker may see: their own, or without analysts the data set's (None)."""
        return self.analyst if self.catalog.analysts else None


def _known_places(stage: Stage) -> frozenset[tuple[int, int]]:
    return frozenset((need.measure, need.position) for need in stage.needs if need.known is not None)
