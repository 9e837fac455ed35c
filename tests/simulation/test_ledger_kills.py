"""Processes die at every step of reserve and answer. Nothing acknowledged is lost, nothing is charged twice.

On SQLite and on PostgreSQL a child asks one question after another and says so through a pipe as soon as a call has
returned; at its k-th step (the beginning of a statement, before or after a commit) it kills itself with SIGKILL. The
next child retries the question its predecessor died on, under the same idempotency key.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import pytest

from dither.accounting.price import Price
from dither.catalog.model import BudgetTerms
from dither.ledger import NewVector, ReservationRequest
from dither.ledger.ledger import Ledger
from support.forked import die_at_step, forked

COST = Price(Fraction(1, 1000), Fraction(1, 10**6))


def open_ledger(path: str) -> Ledger:
    terms = BudgetTerms(epsilon=Fraction(1000))
    return Ledger.open(path, dataset="d", promise_digest="a" * 64, budget=terms, analysts={}, wait_s=30)


@dataclass
class Story:
    """What the children acknowledged."""

    reserved: dict[str, str] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    kills: int = 0
    next: int = 0
    """Number of the first question that no child said it answered."""


def ask_until_killed(path: str, first: int, writer: int, arm: Callable[[], object]) -> None:
    ledger = open_ledger(path)
    arm()
    for number in range(first, first + 1000):
        key = f"q{number}"
        request = ReservationRequest("a", "SELECT 1", "f" * 64, COST, (), ("v" * 64,), "1", idempotency_key=key)
        reservation = ledger.reserve(request)
        os.write(writer, f"R {key} {reservation.entry_id}\n".encode())
        if not reservation.repeated:
            ledger.answer(reservation, [NewVector("v" * 64, {"kind": "laplace"}, COST, key.encode())])
        os.write(writer, f"A {key} {reservation.entry_id}\n".encode())


def run_child(path: str, story: Story, arm: Callable[[], object], kill_after_s: float | None = None) -> None:
    lines, killed = forked(lambda writer: ask_until_killed(path, story.next, writer, arm), kill_after_s=kill_after_s)
    assert killed
    for line in lines:
        kind, key, entry = line.split(" ")
        story.next = int(key[1:]) + (kind == "A")
        if kind == "R":
            assert story.reserved.setdefault(key, entry) == entry, "a retry found another entry"
        else:
            story.answered.add(entry)
    story.kills += 1


def once_noticed(path: str) -> Ledger:
    """The ledger, once every dead child is known to be dead: a server hears of it a moment later."""
    for _ in range(100):
        ledger = open_ledger(path)
        if all(entry.state != "reserved" for entry in ledger.entries()):
            return ledger
        ledger.close()
        time.sleep(0.05)
    raise AssertionError("a dead session is taken for a living one")


def check(path: str, story: Story) -> None:
    ledger = once_noticed(path)
    entries = ledger.entries()
    by_key = {entry.idempotency_key: entry for entry in entries}
    assert len(by_key) == len(entries), "one question has two entries"
    for key, entry_id in story.reserved.items():
        assert by_key[key].id == entry_id, "an acknowledged reservation is gone"
    states = {entry.id: entry.state for entry in entries}
    lost = [entry for entry in entries if entry.state == "lost"]
    # "A" after a retry of a lost entry says only that the child went on.
    assert all(states[entry] in ("answered", "lost") for entry in story.answered)
    assert {entry.state for entry in entries} <= {"answered", "lost"}
    assert len(lost) <= story.kills, "more budget is gone than one question per death"
    assert len(entries) - len(story.reserved) <= story.kills
    assert ledger.spent().epsilon == ledger.spent("a").epsilon == len(entries) * COST.epsilon
    kept = {vector.entry_id for vector in ledger.released("v" * 64, "1")}
    assert kept == {entry.id for entry in entries if entry.state == "answered"}
    assert ledger.verify().problem is None
    ledger.close()


def let_asking_go_on(path: str) -> None:
    """Deaths pause the analyst; the owner has looked."""
    ledger = open_ledger(path)
    ledger.unfreeze("a", reason="simulation")
    ledger.unfreeze(reason="simulation")
    ledger.close()


def test_death_at_every_step_loses_at_most_one_answer(place: str) -> None:
    story = Story()
    open_ledger(place).close()
    # One question takes about 20 steps: 50 go through two of them and more, retries and warm connections included.
    for step in range(1, 51):
        run_child(place, story, lambda step=step: die_at_step(step))  # type: ignore[misc]
        let_asking_go_on(place)
    check(place, story)
    assert story.kills == 50 and len(story.reserved) > 40


@pytest.mark.parametrize(("seed", "kills"), [(1, 25), pytest.param(2, 200, marks=pytest.mark.long)])
def test_death_at_any_moment_loses_at_most_one_answer(place: str, seed: int, kills: int) -> None:
    story, chance = Story(), random.Random(seed)
    open_ledger(place).close()
    for _ in range(kills):
        run_child(place, story, lambda: None, kill_after_s=chance.uniform(0.02, 0.15))
        let_asking_go_on(place)
    check(place, story)
    assert story.answered and story.kills == kills
