"""Decide what a question rests on and nobody declared: rows kept per unit, bounds of columns. Out of its own offer.

Flow: `Session.ask` comes here first; `explain` only foresees it. A part of the offer, the smaller the more vectors
share the rest, chooses rows kept per unit; a quarter of one vector's share chooses each column's bounds; the rest is
the question's. What was chosen is released and, unless it was made with next to nothing or for many groups, remembered:
later questions use it for nothing. Before the first choice is paid for, the whole question has been planned and
rehearsed with stand-ins, and the ledger has room for all of it.
Proofs: docs/proofs/mechanisms/max-rows.md, docs/proofs/mechanisms/value-bounds.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.accounting import Price, PureEvent, price
from dither.catalog.model import Catalog
from dither.errors import QueryRefused
from dither.mechanisms.value_bounds import ChosenBounds, bounds_event, choose_bounds
from dither.plan import nodes
from dither.plan.choices import Choices
from dither.plan.offer import Offer, root_down
from dither.plan.price import PricedPlan
from dither.session.offers import Offered
from dither.session.paid import paid_choice, price_of_events
from dither.session.remembered import remember_bounds, remember_rows
from dither.session.tune import choose_rows, row_events

if TYPE_CHECKING:
    from dither.session.session import Session

__all__ = ["Decided", "Foreseen", "decide", "foresee", "rows_share"]

ROWS_SHARE = Fraction(3, 8)
"""See `rows_share`."""
BOUNDS_SHARE = Fraction(1, 4)
"""Of one vector's share, for each column."""
REMEMBERED_FROM = Fraction(1, 20)
"""Epsilon of a choice: one that was made with less serves its own question alone. Nobody should have to live with what
somebody else's careless, or malicious, offer chose."""
REMEMBERED_GROUPS = 10
"""Of the question that chose: with more, it cuts off rows that its own groups' noise outweighs, and others' answers are
made of; with a million, all but one of each unit. Up to 11 the choice keeps all that could be seen for its epsilon
(`max_rows.MARGIN` over it is more than groups * sqrt(2) / later, for every number of vectors)."""


def rows_share(vectors: int) -> Fraction:
    """Of the offer, for rows kept per unit in all tables together: 18.75 % for one vector, 12.5 % for two.
    The more vectors share what is left, the more noise each has, the fewer rows are worth keeping, and the less it
    takes to see how many: noise of a choice matters beside groups * sqrt(2) / (epsilon of a vector). Less cuts heavy
    tails too early (Zipf: 2.6 times the best error at an eighth for one vector), more costs light ones
    (benchmarks/results/accuracy.md)."""
    return ROWS_SHARE / (vectors + 1)


@dataclass(frozen=True)
class Decided:
    """What was chosen for a question, in words, and what that cost."""

    notes: tuple[str, ...] = ()
    price: Price = field(default_factory=Price)


@dataclass(frozen=True)
class Foreseen:
    """A question planned with stand-ins for what must be chosen first."""

    plan: nodes.Plan
    choices: Choices
    offer: Offer
    """What is left for the question itself."""
    rows_epsilon: Fraction
    """For each table."""
    bounds_epsilon: Fraction
    """For each column."""
    later: Fraction
    """The epsilon of one vector of the question, or what a rho of it is like."""
    groups: int
    price: Price
    """Of everything: the choices and the question."""

    def is_for_others(self, epsilon: Fraction) -> bool:
        """May later questions, of whoever asks them, rest on what is chosen with this?"""
        return epsilon >= REMEMBERED_FROM and self.groups <= REMEMBERED_GROUPS

    def sentences(self, catalog: Catalog) -> tuple[str, ...]:
        rows = [
            f"How many rows of {catalog.tables[t].name} one {catalog.unit_name} keeps is not known: epsilon "
            f"{float(self.rows_epsilon):.4g} of the offer chooses it first, privately."
            for t in self.choices.tables
        ]
        columns = [
            f"Bounds of {catalog.tables[t].name}.{c} are not declared: epsilon {float(self.bounds_epsilon):.4g} of the "
            "offer chooses them first, privately."
            for t, c in self.choices.columns
        ]
        return (*rows, *columns, "How accurate the answer will be depends on what is chosen.")


def foresee(session: Session, question: str, stated: Offered) -> tuple[nodes.Plan, Foreseen | None]:
    """The plan; and where it rests on stand-ins, what must be chosen first. Reads nothing, charges nothing.
    How accurate an answer will be cannot be wished for before it is known what it rests on: that is refused."""
    if stated.wish is not None:
        return session.plan(question, quantile_intervals=stated.quantile_intervals), None
    offer = session.offer_of(stated)
    protected = frozenset(key for key, table in session.catalog.tables.items() if not table.is_public)
    choices = Choices(session.taus, protected, session.bounds, open=True)
    plan = session.plan(question, choices, quantile_intervals=stated.quantile_intervals)
    if not choices.pending:
        return plan, None
    vectors = max(1, _count_vectors(session.price_of(plan, offer, delta=stated.delta)))
    for_rows = offer.total * rows_share(vectors) if choices.tables else Fraction(0)
    share = (offer.total - for_rows) / vectors
    for_bounds = share * BOUNDS_SHARE * len(choices.columns)
    left = offer.total - for_rows - for_bounds
    rows_epsilon = _epsilon(offer, for_rows / max(1, len(choices.tables)))
    bounds_epsilon = _epsilon(offer, share * BOUNDS_SHARE)
    later = left / vectors if offer.epsilon is not None else Fraction(2 * math.sqrt(float(left / vectors)))
    chosen = Price()
    for _ in choices.tables:
        chosen = chosen + price_of_events(row_events(session, rows_epsilon, later, 1))
    for _ in choices.columns:
        # The rho of Laplace noise follows the rows per unit, which are not known yet; it is never above this.
        chosen = chosen + price_of_events([PureEvent(bounds_epsilon)])
    # Prices are rounded up to what a ledger counts: what they took is not left.
    taken = chosen.rho if offer.epsilon is None or chosen.epsilon is None else chosen.epsilon
    left = min(left, offer.total - taken)
    rest = replace(offer, epsilon=left) if offer.epsilon is not None else replace(offer, rho=left)
    priced = session.price_of(plan, rest, delta=stated.delta)
    session.rehearse(priced)
    groups = max((m.measure.domain.size for m in priced.measures if m.measure.domain is not None), default=1)
    everything = chosen + priced.price
    return plan, Foreseen(plan, choices, rest, rows_epsilon, bounds_epsilon, later, groups, everything)


def decide(session: Session, question: str, stated: Offered) -> tuple[nodes.Plan, PricedPlan, Decided]:
    """The plan with everything known, priced at what is left of the offer, and what was chosen."""
    plan, foreseen = foresee(session, question, stated)
    if foreseen is None:
        return plan, session.priced(plan, stated), Decided()
    session.ledger.check_room(session.analyst, foreseen.price)
    taus, bounds, notes, paid = dict(session.taus), dict(session.bounds), list[str](), Price()
    for table in foreseen.choices.tables:
        cap = choose_rows(
            session, table, epsilon=foreseen.rows_epsilon, for_epsilon=foreseen.later, groups=foreseen.groups
        )
        taus[table], paid = cap.max_rows, paid + cap.price
        if foreseen.is_for_others(foreseen.rows_epsilon):
            remember_rows(session, table, cap.max_rows, cap.share_kept)
        name = session.catalog.tables[table].name
        notes.append(f"Chosen privately for this question: at most {cap.max_rows} rows of {name} per unit.")
    for place in foreseen.choices.columns:
        chosen = _choose_bounds(session, foreseen, place, taus.get(place[0], _rows_in(foreseen.plan, place[0])))
        bounds[place], paid = (chosen.lo, chosen.hi), paid + price(chosen.event)
        if foreseen.is_for_others(foreseen.bounds_epsilon):
            remember_bounds(session, place, bounds[place])
        name = f"{session.catalog.tables[place[0]].name}.{place[1]}"
        notes.append(f"Chosen privately for this question: {name} is kept within [{chosen.lo:g}, {chosen.hi:g}].")
    known = Choices(taus, bounds=bounds)
    plan = session.plan(question, known, quantile_intervals=stated.quantile_intervals)
    return plan, session.price_of(plan, foreseen.offer, delta=stated.delta), Decided(tuple(notes), paid)


def _choose_bounds(session: Session, foreseen: Foreseen, place: tuple[str, str], tau: int) -> ChosenBounds:
    table, column = place
    chosen = paid_choice(
        session,
        f"dither bounds {table}.{column}",
        ("bounds", table, column, tau, foreseen.bounds_epsilon, foreseen.later, foreseen.groups),
        [bounds_event(foreseen.bounds_epsilon, max_rows=tau, neighbours=session.catalog.neighbours)],
        lambda: session.engine.values_per_level(table, column, tau),
        lambda counts: choose_bounds(
            counts,
            epsilon=foreseen.bounds_epsilon,
            epsilon_query=foreseen.later,
            max_rows=tau,
            groups=foreseen.groups,
            neighbours=session.catalog.neighbours,
            entropy=session.fresh_entropy(),
        ),
    )
    if chosen.lo == chosen.hi:
        # Bounds around nothing would give a sum that looks sure and is wrong.
        name = f"{session.catalog.tables[table].name}.{column}"
        raise QueryRefused(
            f"Too few rows of {name} could be seen at epsilon {float(foreseen.bounds_epsilon):.3g} to choose bounds.",
            code="B-120",
            hint="What was spent on looking stays spent. Offer more, or ask the owner to declare bounds.",
            owner_hint="What was spent on looking stays spent. Declare `bounds` for the column, or offer more.",
        )
    return chosen


def _rows_in(plan: nodes.Plan, table: str) -> int:
    """Rows of one unit that a table's scans keep, where nothing had to be chosen: 1 where the engine enforces it."""
    parts = [plan, *(phase.plan for phase in plan.phases)]
    scans = [scan for part in parts for measure in part.measures for scan in nodes.scans_of(measure.input)]
    return max(scan.tau for scan in scans if scan.table == table)


def _epsilon(offer: Offer, share: Fraction) -> Fraction:
    """The epsilon that a share of the offer buys for a choice; under zCDP, epsilon-DP costs epsilon² / 2."""
    return share if offer.epsilon is not None else root_down(2 * share)


def _count_vectors(priced: PricedPlan) -> int:
    return sum(len(measure.vectors) for part in [*priced.phases, priced] for measure in part.measures)
