"""Two writers, one statement at a time, in every order that takes the turn away from a writer at one place or at two.

Each writer is a thread that stops before each of its statements until a schedule lets it go on. Who finds the other in
a transaction is refused at once, lets the other go on, and asks again. Most faults between two writers need one or two
turns taken away at the wrong moment (Musuvathi, Qadeer 2007), so those orders are tried all, longer ones by chance.
"""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest

from dither.accounting.price import Price
from dither.catalog.model import BudgetTerms
from dither.errors import BudgetExceeded, LedgerConflict
from dither.ledger import NewVector, ReservationRequest
from dither.ledger.ledger import Ledger
from support.forked import hooked, traced

COST = Price(Fraction(1, 10), Fraction(1, 200))
WAIT_S = 30


class Turns:
    """Lets one of two writers run at a time. switches: at which steps, counted over both, the other one goes on."""

    def __init__(self, first: int, switches: Sequence[int]) -> None:
        self._switches = frozenset(switches)
        self._may = threading.Condition()
        self._running = first
        self._done: set[int] = set()
        self.steps = 0

    def step(self) -> None:
        """Called by a writer before each statement."""
        mine = getattr(threading.current_thread(), "writer", None)
        if mine is None:
            return
        with self._may:
            self.steps += 1
            if self.steps in self._switches:
                self._give_way(mine)
            self._wait(mine)

    def busy(self, mine: int) -> None:
        with self._may:
            self._give_way(mine)
            self._wait(mine)

    def begin(self, mine: int) -> None:
        with self._may:
            self._wait(mine)

    def end(self, mine: int) -> None:
        with self._may:
            self._done.add(mine)
            self._give_way(mine)

    def _give_way(self, mine: int) -> None:
        other = 1 - mine
        self._running = other if other not in self._done else mine
        self._may.notify_all()

    def _wait(self, mine: int) -> None:
        assert self._may.wait_for(lambda: self._running == mine, timeout=WAIT_S), "both writers wait"


def open_ledger(place: str) -> Ledger:
    terms = BudgetTerms(epsilon=2 * COST.epsilon)  # type: ignore[operator]
    return Ledger.open(place, dataset="d", promise_digest="a" * 64, budget=terms, analysts={}, wait_s=0)


def retried(turns: Turns, mine: int, act: Callable[[], Any]) -> Any:
    while True:
        try:
            return act()
        except LedgerConflict as conflict:
            assert conflict.code == "L-210"
            turns.busy(mine)


def write(turns: Turns, mine: int, ledger: Ledger, won: list[str]) -> None:
    """One question under a key both writers use, and one of its own; there is room for one of the two own ones."""
    turns.begin(mine)
    for key in ("shared", f"own {mine}"):
        request = ReservationRequest("a", key, "f" * 64, COST, (), ("v",), "1", idempotency_key=key)
        try:
            reservation = retried(turns, mine, lambda request=request: ledger.reserve(request))  # type: ignore[misc]
        except BudgetExceeded:
            continue
        if not reservation.repeated:
            won.append(key)
            vector = NewVector("v", {"k": "x"}, COST, key.encode())
            retried(turns, mine, lambda r=reservation, v=vector: ledger.answer(r, [v]))  # type: ignore[misc]


def run(place: str, first: int, switches: Sequence[int]) -> int:
    """The two writers under this schedule; returns how many steps it took."""
    ledgers = [open_ledger(place), open_ledger(place)]
    for ledger in ledgers:
        ledger._journal.store.session()
    turns, won, failed = Turns(first, switches), [list[str](), list[str]()], list[BaseException]()

    def live(mine: int) -> None:
        threading.current_thread().writer = mine  # type: ignore[attr-defined]
        try:
            write(turns, mine, ledgers[mine], won[mine])
        except BaseException as error:
            failed.append(error)
        finally:
            turns.end(mine)

    with hooked(taken=lambda connection: traced(connection.driver, lambda *_: turns.step())):
        threads = [threading.Thread(target=live, args=(number,)) for number in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S * 2)
    assert not failed, failed
    charged = sorted(won[0] + won[1])
    assert len(charged) == 2 and charged[1] == "shared", charged
    entries = ledgers[0].entries()
    assert sorted(entry.text for entry in entries) == charged
    assert {entry.state for entry in entries} == {"answered"}
    assert ledgers[1].spent().epsilon == 2 * COST.epsilon  # type: ignore[operator]
    assert sorted(vector.payload.decode() for vector in ledgers[0].released("v", "1")) == charged
    assert ledgers[0].verify().holds
    for ledger in ledgers:
        ledger.close()
    return turns.steps


@pytest.mark.parametrize("stride", [3, pytest.param(1, marks=pytest.mark.long)])
def test_every_order_with_one_turn_taken_away_leaves_one_ledger(fresh: Callable[[], str], stride: int) -> None:
    steps = run(fresh(), 0, [])
    assert steps > 20
    for step in range(1, steps + 1, stride):
        run(fresh(), step % 2, [step])


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_every_order_with_two_turns_taken_away_leaves_one_ledger(fresh: Callable[[], str]) -> None:
    steps = run(fresh(), 0, [])
    for switches in itertools.combinations(range(1, steps + 8), 2):
        run(fresh(), 0, switches)


@pytest.mark.parametrize(
    ("seed", "orders"), [(5, 12), pytest.param(6, 300, marks=[pytest.mark.long, pytest.mark.timeout(3600)])]
)
def test_orders_by_chance_leave_one_ledger(fresh: Callable[[], str], seed: int, orders: int) -> None:
    chance = random.Random(seed)
    for _ in range(orders):
        run(fresh(), chance.randrange(2), chance.sample(range(1, 70), chance.randint(2, 30)))
