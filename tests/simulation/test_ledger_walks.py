"""A long random life of a ledger, beside a model of twenty lines. Every balance must agree at every step.

Two sessions of one file take turns; the clock moves, mostly forwards. The seed is in the test's name.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import pytest

from dither.accounting.price import Price
from dither.catalog.model import Analyst, BudgetTerms
from dither.errors import BudgetExceeded, PolicyRefused
from dither.ledger import NewVector, Reservation, ReservationRequest
from dither.ledger.ledger import Ledger

ANALYSTS = {
    "ada": Analyst("ada"),
    "bob": Analyst("bob", epsilon=Fraction(1)),
    "cyd": Analyst("cyd", epsilon=Fraction(2), daily_epsilon=Fraction(1, 4)),
}


@dataclass
class Model:
    """Epsilons only: the budget is pure."""

    budget: Fraction = Fraction(4)
    day: dt.date = dt.date(2026, 3, 1)
    spent: dict[str, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    failures: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    allowance: dict[str, Fraction] = field(default_factory=lambda: {"bob": Fraction(1), "cyd": Fraction(2)})

    def may(self, who: str, cost: Fraction, *, new: bool) -> bool:
        today = self.spent[f"{who} {self.day}"] + cost <= (Fraction(1, 4) if who == "cyd" else 10**9)
        own = self.spent[who] + cost <= self.allowance.get(who, Fraction(10**9))
        return today and own and (not new or self.spent[""] + cost <= self.budget)

    def charge(self, who: str, cost: Fraction, *, new: bool, day: dt.date | None = None) -> None:
        for level in (who, f"{who} {day or self.day}", *([""] if new else [])):
            self.spent[level] += cost

    def paused(self, who: str) -> bool:
        return self.failures[who] >= 3 or self.failures[""] >= 10


class Walk:
    def __init__(self, path: str, seed: int) -> None:
        self.chance = random.Random(seed)
        self.now = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
        self.model = Model()
        self.sessions = [self.open(path), self.open(path)]
        self.pending: list[tuple[Reservation, Fraction, dt.date]] = []
        self.count = 0

    def open(self, path: str) -> Ledger:
        terms = BudgetTerms(epsilon=Fraction(4))
        return Ledger.open(
            path, dataset="d", promise_digest="a" * 64, budget=terms, analysts=ANALYSTS, clock=lambda: self.now
        )

    @property
    def ledger(self) -> Ledger:
        return self.chance.choice(self.sessions)

    def step(self) -> None:
        self.now += dt.timedelta(hours=self.chance.choice([0, 0, 1, 5, 9, -3]))
        act = self.chance.choices(
            [self.ask, self.settle, self.reuse, self.grant, self.look], weights=[10, 8, 3, 0.5, 1]
        )[0]
        act()

    def ask(self) -> None:
        who, cost = self.chance.choice([*ANALYSTS]), Fraction(self.chance.randint(1, 12), 100)
        self.count += 1
        identity = f"vector {self.chance.randint(1, 6)}"
        price = Price(cost, cost * cost / 2)
        request = ReservationRequest(who, "SELECT 1", "f" * 64, price, (), (identity,), "1", f"key {self.count}")
        before, self.model.day = self.model.day, max(self.model.day, self.now.date())
        expected = "paused" if self.model.paused(who) else "" if self.model.may(who, cost, new=True) else "exceeded"
        try:
            reservation = self.ledger.reserve(request)
        except (PolicyRefused, BudgetExceeded) as refusal:
            assert expected == ("paused" if isinstance(refusal, PolicyRefused) else "exceeded")
            # A refusal leaves no row, and so does not move the ledger's day.
            self.model.day = before
        else:
            assert expected == ""
            self.model.charge(who, cost, new=True)
            self.pending.append((reservation, cost, self.model.day))
            assert self.ledger.reserve(request).entry_id == reservation.entry_id

    def settle(self) -> None:
        if not self.pending:
            return
        reservation, cost, day = self.pending.pop(self.chance.randrange(len(self.pending)))
        self.model.day = max(self.model.day, self.now.date())
        match self.chance.choices(["answer", "void", "fail"], weights=[6, 2, 1])[0]:
            case "answer":
                vector = NewVector(reservation.vectors[0], {"kind": "laplace"}, reservation.price, b"x")
                self.ledger.answer(reservation, [vector])
            case "void":
                self.ledger.void(reservation, "simulation")
                self.model.charge(reservation.analyst, -cost, new=True, day=day)
            case "fail":
                self.ledger.fail(reservation)
                self.model.failures[reservation.analyst] += 1
                self.model.failures[""] += 1

    def reuse(self) -> None:
        kept = self.ledger.released(f"vector {self.chance.randint(1, 6)}", "1")
        if not kept:
            return
        who, vector = self.chance.choice([*ANALYSTS]), self.chance.choice(kept)
        cost = vector.price.epsilon
        assert cost is not None
        paid, before = who in vector.paid_by, self.model.day
        if not paid:
            self.model.day = max(self.model.day, self.now.date())
        expected = paid or self.model.may(who, cost, new=False)
        try:
            receipt = self.ledger.record_reuse(who, vector, vector.price)
        except BudgetExceeded:
            assert not expected
            self.model.day = before
        else:
            assert expected and (receipt is None) == paid
            if not paid:
                self.model.charge(who, cost, new=False)

    def grant(self) -> None:
        who, step = self.chance.choice([None, "bob", "cyd"]), Fraction(self.chance.randint(1, 10), 20)
        self.model.day = max(self.model.day, self.now.date())
        self.ledger.grant(epsilon=step, analyst=who, reason="simulation")
        if who is None:
            self.model.budget += step
        else:
            self.model.allowance[who] += step

    def look(self) -> None:
        self.model.day = max(self.model.day, self.now.date())
        for who in (None, *ANALYSTS):
            self.ledger.unfreeze(who, reason="simulation")
        self.model.failures.clear()

    def compare(self) -> None:
        ledger, model = self.ledger, self.model
        assert ledger.spent().epsilon == model.spent[""]
        assert ledger.budget.epsilon == model.budget
        for who in ANALYSTS:
            assert ledger.spent(who).epsilon == model.spent[who]


@pytest.mark.parametrize("seed", [11, 12, pytest.param(13, marks=pytest.mark.long)])
def test_every_balance_agrees_with_the_model(tmp_path: Path, seed: int) -> None:
    walk = Walk(str(tmp_path / "x.ledger"), seed)
    for _ in range(400):
        walk.step()
        walk.compare()
    found = walk.ledger.verify()
    assert found.problem is None and found.rows > 200
    for session in walk.sessions:
        session.close()
