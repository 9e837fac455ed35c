"""Eight processes race for one budget. It is spent to the last grant and not one further, whoever comes first."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from dither.accounting.admission import Budget, Spent, admits
from dither.accounting.events import LaplaceEvent
from dither.accounting.price import Price, price
from dither.catalog.model import BudgetTerms
from dither.errors import BudgetExceeded
from dither.ledger import ReservationRequest
from dither.ledger.ledger import Ledger
from support.forked import forked_at_once

PROCESSES = 8
fork = multiprocessing.get_context("fork")


def open_ledger(path: str, terms: BudgetTerms) -> Ledger:
    return Ledger.open(path, dataset="d", promise_digest="a" * 64, budget=terms, analysts={}, wait_s=60)


def question(analyst: str, cost: Price, law: LaplaceEvent) -> ReservationRequest:
    return ReservationRequest(analyst, "SELECT 1", "f" * 64, cost, (law,), ("v" * 64,), "1")


def race(work: Callable[[int], int]) -> list[int]:
    """Run `work(number)` in each of the processes; what each returned."""
    said = forked_at_once(lambda number, writer: os.write(writer, b"%d" % work(number)), PROCESSES)
    return [int(lines[0]) for lines in said]


def grants_won(path: str, terms: BudgetTerms, scale: int) -> list[int]:
    """Grants of epsilon 1/scale that each process wins before it is refused."""
    law = LaplaceEvent(Fraction(scale), 1)
    open_ledger(path, terms).close()
    everyone_is_here = fork.Barrier(PROCESSES)

    def spend(number: int) -> int:
        ledger, won = open_ledger(path, terms), 0
        # Who opened it after others have left would find their questions lost, and the data set paused.
        everyone_is_here.wait()
        try:
            while True:
                ledger.reserve(question(f"analyst {number}", price(law), law))
                won += 1
        except BudgetExceeded:
            return won

    return race(spend)


def grants_in_a_plain_loop(terms: BudgetTerms, scale: int) -> int:
    """What the rule alone admits, one after another, without any ledger."""
    budget = Budget.create(epsilon=terms.epsilon, delta=terms.delta)
    cost, spent, count = price(LaplaceEvent(Fraction(scale), 1)), Spent(), 0
    while admits(budget, spent, cost):
        spent, count = spent.plus(cost), count + 1
    return count


def test_three_epsilon_are_three_hundred_grants_of_a_hundredth(tmp_path: Path) -> None:
    terms = BudgetTerms(epsilon=Fraction(3))
    won = grants_won(str(tmp_path / "x.ledger"), terms, 100)
    assert sum(won) == 300 == grants_in_a_plain_loop(terms, 100)
    # A queue serves everyone: without one, single processes won all or nothing.
    assert min(won) >= 300 // PROCESSES // 4


@pytest.mark.parametrize("scale", [20, pytest.param(100, marks=pytest.mark.long)])
def test_an_approximate_budget_admits_as_many_as_the_rule_alone(tmp_path: Path, scale: int) -> None:
    terms = BudgetTerms(epsilon=Fraction(3), delta=Fraction(1, 10**9))
    expected = grants_in_a_plain_loop(terms, scale)
    # By the rho meter: more than the 3 * scale that adding epsilons alone would admit.
    assert expected > 3 * scale
    assert sum(grants_won(str(tmp_path / "x.ledger"), terms, scale)) == expected


@pytest.mark.long
def test_nobody_waits_a_second_among_eight(tmp_path: Path) -> None:
    path, terms = str(tmp_path / "x.ledger"), BudgetTerms(epsilon=Fraction(10**6))
    law = LaplaceEvent(Fraction(1000), 1)
    open_ledger(path, terms).close()

    def longest_wait_ms(number: int) -> int:
        ledger, longest, end = open_ledger(path, terms), 0.0, time.monotonic() + 5
        while (start := time.monotonic()) < end:
            ledger.reserve(question(f"analyst {number}", price(law), law))
            longest = max(longest, time.monotonic() - start)
        return round(longest * 1000)

    # Bare SQLite makes some of eight busy writers wait 4 s here.
    assert max(race(longest_wait_ms)) <= 1000


def test_processes_that_create_one_ledger_together_create_one(tmp_path: Path) -> None:
    path, terms = str(tmp_path / "x.ledger"), BudgetTerms(epsilon=Fraction(3))
    law = LaplaceEvent(Fraction(10), 1)

    def create_and_ask(number: int) -> int:
        ledger = open_ledger(path, terms)
        ledger.answer(ledger.reserve(question("a", price(law), law)), [])
        return 1

    assert sum(race(create_and_ask)) == PROCESSES
    ledger = open_ledger(path, terms)
    assert [row.kind for row in ledger.log()].count("created") == 1
    assert ledger.spent().epsilon == Fraction(PROCESSES, 10)
    assert ledger.verify().holds


def test_one_idempotency_key_in_all_processes_is_one_charge(tmp_path: Path) -> None:
    path, terms = str(tmp_path / "x.ledger"), BudgetTerms(epsilon=Fraction(3))
    law = LaplaceEvent(Fraction(10), 1)
    open_ledger(path, terms).close()

    def ask(number: int) -> int:
        request = ReservationRequest("a", "SELECT 1", "f" * 64, price(law), (), (), "1", idempotency_key="once")
        return 0 if open_ledger(path, terms).reserve(request).repeated else 1

    assert sum(race(ask)) == 1
    assert open_ledger(path, terms).spent().epsilon == Fraction(1, 10)
