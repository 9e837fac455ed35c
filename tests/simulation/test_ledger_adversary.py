"""An adversary chooses every step after seeing the last, and a plain model of the rules says what must come of it.

The model keeps what was charged as lists and adds them up anew each time; the ledger keeps standings in a hash chain.
Both budgets' meters, three analysts, grants, replays, reuse, releases, bookings from elsewhere, refusals on record,
failures and a clock that moves both ways. Totals and admissions must agree after every step. Hypothesis chooses the
steps; a story that breaks the ledger is shown as it was found, for making it shorter takes minutes.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from dither.accounting.convert import rho_star
from dither.accounting.price import Price
from dither.catalog.model import Analyst, BudgetTerms
from dither.errors import BudgetExceeded, DitherError, LedgerConflict, PolicyRefused
from dither.ledger import NewVector, Reservation, ReservationRequest
from dither.ledger.elsewhere import outside_release
from dither.ledger.ledger import Ledger

NONE = Fraction(0)
ANALYSTS = ("ada", "bob", "cyd")
cached_rho_star = lru_cache(maxsize=None)(rho_star)

amounts = st.integers(1, 60).map(lambda n: Fraction(n, 40))
questions = st.lists(
    st.tuples(
        # Parts of a power of ten: what the ledger keeps exactly.
        st.integers(1, 25).map(lambda n: Fraction(n, 50)),
        st.sampled_from([NONE, NONE, Fraction(1, 10**8), Fraction(3, 10**8)]),
        st.sampled_from([False, False, True]),
    ),
    min_size=1,
    max_size=4,
)
"""(price, failure mass, whether its noise is Gaussian) of each."""
small = st.sampled_from([NONE, NONE, Fraction(1, 10**8), Fraction(3, 10**8)])
who = st.sampled_from(ANALYSTS)


@dataclass
class Charge:
    levels: tuple[str, ...]
    price: Price
    taken_back: bool = False


@dataclass
class Model:
    """The rules as docs/proofs/ledger and docs/proofs/accounting/either-meter.md say them."""

    kind: str
    epsilon: Fraction = Fraction(4)
    rho: Fraction = Fraction(2)
    delta: Fraction = Fraction(1, 10**6)
    allowances: dict[str, Fraction] = field(default_factory=lambda: {"bob": Fraction(2), "cyd": Fraction(3)})
    charges: list[Charge] = field(default_factory=list)
    failures: dict[str, int] = field(default_factory=dict)
    release: str = "1"
    last_day: str = ""

    def __post_init__(self) -> None:
        if self.kind == "pure":
            self.delta = NONE

    def total(self, level: str) -> tuple[Fraction, Fraction, Fraction, bool]:
        """(epsilon, rho, delta, Gaussian noise) of all that stands."""
        own = [charge.price for charge in self.charges if level in charge.levels and not charge.taken_back]
        return (
            sum((price.epsilon or NONE for price in own), NONE),
            sum((price.rho for price in own), NONE),
            sum((price.delta for price in own), NONE),
            any(price.epsilon is None for price in own),
        )

    def inside(self, level: str, price: Price, limit: Fraction | None) -> bool:
        """Whether a level's limit (epsilon, or rho of a zCDP budget; None: no limit) holds with this price."""
        if limit is None:
            return True
        epsilon, rho, delta, gaussian = self.total(level)
        epsilon, rho, delta = epsilon + (price.epsilon or NONE), rho + price.rho, delta + price.delta
        if self.kind == "zcdp":
            return delta <= self.delta and rho <= limit
        selection = self.delta / 10
        if delta > selection:
            return False
        if not (gaussian or price.epsilon is None) and epsilon <= limit:
            return True
        return self.kind == "approximate" and rho <= cached_rho_star(limit, self.delta - selection)

    def may(self, analyst: str, price: Price, day: str, *, new: bool) -> bool:
        daily = Fraction(1, 2) if analyst == "cyd" and self.kind != "zcdp" else None
        return (
            self.inside(analyst, price, self.allowances.get(analyst))
            and self.inside(f"{analyst} {day}", price, daily)
            and (not new or self.inside("", price, self.rho if self.kind == "zcdp" else self.epsilon))
        )

    def paused(self, analyst: str) -> bool:
        return self.failures.get(analyst, 0) >= 3 or self.failures.get("", 0) >= 10


class Adversary(RuleBasedStateMachine):
    @initialize(kind=st.sampled_from(["pure", "approximate", "zcdp"]))
    def begin(self, kind: str) -> None:
        self.now = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
        self.model = model = Model(kind)
        meter = "rho" if kind == "zcdp" else "epsilon"
        analysts = {name: Analyst(name, **{meter: model.allowances.get(name)}) for name in ANALYSTS}  # type: ignore[arg-type]
        if kind != "zcdp":
            analysts["cyd"] = Analyst("cyd", model.allowances["cyd"], Fraction(1, 2))
        terms = BudgetTerms(**{meter: getattr(model, meter)}, delta=model.delta)
        self.ledger = Ledger.open(
            "", dataset="d", promise_digest="a" * 64, budget=terms, analysts=analysts, clock=lambda: self.now
        )
        self.wrote()
        self.open: list[tuple[Reservation, Charge]] = []
        self.asked: list[ReservationRequest] = []
        self.count = 0

    def today(self) -> str:
        return max(self.model.last_day, self.now.date().isoformat())

    def wrote(self) -> None:
        self.model.last_day = self.today()

    @rule(hours=st.sampled_from([1, 7, 30, -5, -50]))
    def clock_moves(self, hours: int) -> None:
        self.now += dt.timedelta(hours=hours)

    @rule(analyst=who, asked=questions)
    def ask(self, analyst: str, asked: list[tuple[Fraction, Fraction, bool]]) -> None:
        for cost, delta, gaussian in asked:
            self.ask_one(analyst, cost, delta, gaussian)

    def ask_one(self, analyst: str, cost: Fraction, delta: Fraction, gaussian: bool) -> None:
        self.count += 1
        price = Price(None if gaussian else cost, cost * cost / 2, delta)
        request = ReservationRequest(
            analyst, f"question {self.count}", f"{self.count:064x}", price, (), (f"v{self.count % 3}",),
            self.model.release, f"k{self.count}",
        )  # fmt: skip
        model, day = self.model, self.today()
        expected: type[DitherError] | None = None
        if model.paused(analyst):
            expected = PolicyRefused
        elif not model.may(analyst, price, day, new=True):
            expected = BudgetExceeded
        try:
            reservation = self.ledger.reserve(request)
        except (PolicyRefused, BudgetExceeded) as refused:
            assert type(refused) is expected
            return
        assert expected is None, "admitted what the rules refuse"
        charge = Charge(("", analyst, f"{analyst} {day}"), price)
        model.charges.append(charge)
        self.wrote()
        self.open.append((reservation, charge))
        self.asked.append(request)

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        """Whatever the state of things: a key used before finds its entry and charges nothing."""
        request = data.draw(st.sampled_from(self.asked))
        assert self.ledger.reserve(request).repeated

    @rule(analyst=who)
    def ask_in_a_release_that_is_over(self, analyst: str) -> None:
        request = ReservationRequest(
            analyst, "late", "0" * 64, Price(Fraction(1, 10**6)), (), (), "never opened", None
        )  # fmt: skip
        with pytest.raises(LedgerConflict):
            self.ledger.reserve(request)

    @precondition(lambda self: self.open)
    @rule(
        data=st.data(),
        hows=st.lists(st.sampled_from(["answer", "void", "fail", "fail"]), min_size=1, max_size=5),
    )
    def settle(self, data: st.DataObject, hows: list[str]) -> None:
        for how in hows[: len(self.open)]:
            self.settle_one(data.draw(st.integers(0, len(self.open) - 1)), how)

    def settle_one(self, place: int, how: str) -> None:
        reservation, charge = self.open.pop(place)
        if how == "answer":
            self.ledger.begin_reading(reservation)
            self.ledger.answer(reservation, [NewVector(reservation.vectors[0], {"k": "x"}, reservation.price, b"x")])
        elif how == "void":
            self.ledger.void(reservation, "adversary")
            charge.taken_back = True
        else:
            self.ledger.fail(reservation)
            for level in ("", reservation.analyst):
                self.model.failures[level] = self.model.failures.get(level, 0) + 1
        self.wrote()
        for act in (lambda: self.ledger.void(reservation, "again"), lambda: self.ledger.fail(reservation)):
            with pytest.raises(DitherError):
                act()

    @rule(analyst=who, number=st.integers(0, 2), data=st.data())
    def reuse(self, analyst: str, number: int, data: st.DataObject) -> None:
        kept = self.ledger.released(f"v{number}", self.model.release)
        if not kept:
            return
        vector, day = data.draw(st.sampled_from(kept)), self.today()
        paid = analyst in vector.paid_by
        may = self.model.may(analyst, vector.price, day, new=False)
        try:
            receipt = self.ledger.record_reuse(analyst, vector, vector.price)
        except BudgetExceeded:
            assert not paid and not may
            return
        assert (receipt is None) == paid and (paid or may)
        if not paid:
            self.model.charges.append(Charge((analyst, f"{analyst} {day}"), vector.price))
            self.wrote()

    @rule(step=amounts, delta=small, analyst=st.sampled_from([None, "bob", "cyd"]))
    def grant(self, step: Fraction, delta: Fraction, analyst: str | None) -> None:
        model = self.model
        meter = "rho" if model.kind == "zcdp" else "epsilon"
        if analyst is not None or model.kind == "pure":
            delta = NONE
        self.ledger.grant(**{meter: step}, delta=delta, analyst=analyst, reason="adversary")  # type: ignore[arg-type]
        if analyst is None:
            setattr(model, meter, getattr(model, meter) + step)
            model.delta += delta
        else:
            model.allowances[analyst] += step
        self.wrote()

    @rule(cost=amounts, in_rho=st.booleans(), analyst=st.sampled_from([None, *ANALYSTS]))
    def book_from_elsewhere(self, cost: Fraction, in_rho: bool, analyst: str | None) -> None:
        """Booked even beyond every limit, for it happened."""
        self.count += 1
        stated: dict[str, Any] = {"rho": cost / 10} if in_rho else {"epsilon": cost / 10}
        release = outside_release(
            name=f"r{self.count}", who="us", when="2026-01-01", reason="paper", analyst=analyst, **stated
        )  # fmt: skip
        assert self.ledger.import_releases([release]) == (True,)
        self.model.charges.append(Charge(("", *(() if analyst is None else (analyst,))), release.price))
        self.wrote()
        assert self.ledger.import_releases([release]) == (False,)

    @rule()
    def open_release(self) -> None:
        self.count += 1
        self.model.release = f"r{self.count}"
        self.ledger.open_release(self.model.release)
        self.wrote()

    @rule(analyst=st.sampled_from([*ANALYSTS, "mallory"]))
    def be_refused(self, analyst: str) -> None:
        if self.ledger.record_refusal(analyst, "SELECT", "S-100"):
            self.wrote()

    @rule(analyst=st.sampled_from([None, *ANALYSTS]))
    def unfreeze(self, analyst: str | None) -> None:
        self.ledger.unfreeze(analyst, reason="looked")
        self.model.failures[analyst or ""] = 0
        self.wrote()

    @invariant()
    def totals_are_equal(self) -> None:
        if not hasattr(self, "ledger"):
            return
        for level in ("", *ANALYSTS):
            spent = self.ledger.spent(level or None)
            assert (spent.epsilon, spent.rho, spent.delta, spent.gaussian) == self.model.total(level)
        for name in ANALYSTS:
            spent = self.ledger.spent(name, today=True)
            assert (spent.epsilon, spent.rho) == self.model.total(f"{name} {self.today()}")[:2]

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            assert self.ledger.verify().problem is None
            self.ledger.close()


@pytest.mark.parametrize(
    ("stories", "steps"), [(60, 40), pytest.param(2000, 60, marks=[pytest.mark.long, pytest.mark.timeout(3600)])]
)
def test_no_sequence_of_steps_makes_ledger_and_rules_differ(stories: int, steps: int) -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Adversary,
        settings=settings(
            max_examples=stories,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate,),
        ),
    )
