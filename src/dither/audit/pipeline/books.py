"""Reuse and the ledger: what was released is found again for nothing, and everything else is charged before it is read.

Flow: small worlds with ledgers of their own; `reuse` asks twice, `ledger` looks at the books before, during and after
a question. Statements: docs/proofs/plan/reuse.md, docs/proofs/ledger/charge-first.md
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from dither.accounting import Price, Spent, price
from dither.audit.pipeline.questions import DDL, Question, own_catalog, public_rows
from dither.audit.pipeline.result import Line
from dither.audit.pipeline.world import World
from dither.errors import BudgetExceeded, DitherError
from dither.noise import Entropy
from dither.session.session import Session

__all__ = ["ledger", "reuse"]

REUSE, LEDGER = "reuse", "ledger"
_ROWS = (
    "SELECT i, chr(CAST(97 + i % 2 AS INTEGER)), 'n' || (i % 3), i % 10, i % 8, i % 2 = 0, "
    "DATE '2020-01-01' + CAST(i % 3 AS INTEGER) FROM range(300) AS r(i)"
)
_BY_DAY = "SELECT d, region, COUNT(*) AS n, SUM(k) AS s FROM t GROUP BY d, region"
_ARITHMETIC = Fraction(1, 10**15)
"""The ledger rounds each charge up to 1e-18."""


class _Stopped(Exception):
    """What befalls a question of the audit's in the middle of reading."""


def reuse(*, entropy: Entropy | None) -> Iterator[Line]:
    """Asked again, a question gives the numbers it gave, and the data set is charged nothing."""
    with _world(entropy) as world:
        first = world.session.ask(_BY_DAY, epsilon=1)
        once = world.ledger.spent()
        yield _line(REUSE, "the same question again", _again(world, _BY_DAY, first.rows(), once))
        resorted = "SELECT d, region, SUM(k) AS total, COUNT(*) AS many FROM t GROUP BY d, region ORDER BY many DESC"
        turned = [(d, region, s, n) for d, region, n, s in first.rows()]
        yield _line(REUSE, "sorted and named otherwise", _again(world, resorted, turned, once))
        private = "SELECT note, COUNT(*) FROM t GROUP BY note"
        shown = world.session.ask(private, epsilon=5).rows()
        spent = world.ledger.spent()
        yield _line(REUSE, "private groups again", _again(world, private, shown, spent, epsilon=5))
        nested = "SELECT COUNT(*) FROM t WHERE k > (SELECT AVG(k) FROM t)"
        inside = world.session.ask(nested, epsilon=1).rows()
        yield _line(REUSE, "a question inside a question again", _again(world, nested, inside, world.ledger.spent()))
    yield _line(REUSE, "asked again, more accurately", _better(entropy))
    yield _line(REUSE, "after a new release", _new_release(entropy))
    yield _line(REUSE, "by an analyst who did not pay", _second_analyst(entropy))


def ledger(questions: Sequence[Question], *, entropy: Entropy | None, say: Callable[[str], None]) -> Iterator[Line]:
    """A line per question, and one for each way in which the books could be wrong."""
    for question in questions:
        say(f"{LEDGER}: {question.sql[:40]}")
        yield _line(LEDGER, question.sql, _charged_as_released(question, entropy))
    yield _line(LEDGER, "the charge is in the file before the first row is read", _durable(entropy))
    yield _line(LEDGER, "a database that fails: the charge stays", _failing(entropy))
    yield _line(LEDGER, "a spent budget answers no more", _exhausted(entropy))
    yield _line(LEDGER, "the chain verifies", _verified(entropy))


def _again(world: World, sql: str, rows: list[tuple[Any, ...]], spent: Spent, epsilon: int = 1) -> str:
    """What is wrong with a second answer; '' when it is the first one, free."""
    second = world.session.ask(sql, epsilon=epsilon)
    if sorted(second.rows(), key=repr) != sorted(rows, key=repr):
        return "other numbers than before"
    if world.ledger.spent() != spent or second.charged != Price():
        return "charged a second time"
    return ""


def _better(entropy: Entropy | None) -> str:
    """What was released at a hundredth of the offer is no answer to it."""
    with _world(entropy) as world:
        world.session.ask(_BY_DAY, epsilon=Fraction(1, 100))
        return "" if world.session.ask(_BY_DAY, epsilon=1).charged.epsilon else "answered from a less accurate release"


def _new_release(entropy: Entropy | None) -> str:
    """A release is an epoch: what was released before it says nothing of the data now, and is not used."""
    with _world(entropy) as world:
        first = world.session.ask(_BY_DAY, epsilon=Fraction(1, 100)).rows()
        spent = world.ledger.spent()
        world.ledger.open_release("audit-2")
        second = world.session.ask(_BY_DAY, epsilon=Fraction(1, 100))
        if second.charged == Price() or world.ledger.spent() == spent:
            return "answered from an earlier release"
        # 12 numbers of noise above 600: all equal by chance less than once in 10^30.
        return "the numbers of an earlier release" if second.rows() == first else ""


def _second_analyst(entropy: Entropy | None) -> str:
    """The data set pays once; the second analyst's allowance is charged, once."""
    analysts = "[analysts.a]\nepsilon = 5\n[analysts.b]\nepsilon = 5"
    with World(own_catalog(epsilon="10", delta="1e-5", analysts=analysts), ddl=DDL, entropy=entropy) as world:
        world.fill("t", _ROWS)
        first, second = world.session_of("a"), world.session_of("b")
        rows = first.ask(_BY_DAY, epsilon=1).rows()
        dataset, own = world.ledger.spent(), world.ledger.spent("b")
        if second.ask(_BY_DAY, epsilon=1).rows() != rows:
            return "other numbers than the first analyst's"
        once = world.ledger.spent("b")
        if world.ledger.spent() != dataset:
            return "the data set was charged twice"
        if once.epsilon - own.epsilon != 1:
            return "the second analyst was not charged"
        second.ask(_BY_DAY, epsilon=1)
        return "" if world.ledger.spent("b") == once else "the second analyst was charged twice"


def _charged_as_released(question: Question, entropy: Entropy | None) -> str:
    """What the books say after a question: the price explained, charged, and of all events and vectors, is one."""
    with _world(entropy) as world:
        explained = world.session.explain(question.sql, **question.offer).price
        before = world.ledger.spent()
        answer = world.session.ask(question.sql, **question.offer)
        after = world.ledger.spent()
        if explained != answer.charged:
            return "another price than explained"
        if answer.charged.epsilon is not None and question.epsilon and answer.charged.epsilon > question.epsilon:
            return "more than was offered"
        entries = world.ledger.entries()
        events = Price()
        for entry in entries:
            for event in entry.events:
                events = events + price(event)
        booked = Price(
            None if answer.charged.epsilon is None else after.epsilon - before.epsilon,
            after.rho - before.rho,
            after.delta - before.delta,
        )
        vectors = Price()
        for entry in entries:
            released = [v for i in entry.vectors for v in world.ledger.released(i, entry.release)]
            for kept in released:
                # Groupings measured together share their parts: the price of each alone counts those again, so all of
                # them are judged by the events.
                vectors = vectors + (Price() if kept.law["kind"] == "marginal" else kept.price)
                if not _covers(booked, kept.price):
                    return "booked less than the price of one vector"
        selects = sum(measure.domain is None for measure in answer.plan.measures)
        for name, wanted in (("the events", events), ("the vectors", vectors), ("the receipt", answer.charged)):
            if not _covers(booked, wanted):
                return f"booked less than the price of {name}"
        return "private groups were selected at no delta" if selects and not booked.delta else ""


def _covers(booked: Price, wanted: Price) -> bool:
    if wanted.epsilon is not None and (booked.epsilon or 0) + _ARITHMETIC < wanted.epsilon:
        return False
    return booked.rho + _ARITHMETIC >= wanted.rho and booked.delta + _ARITHMETIC >= wanted.delta


def _durable(entropy: Entropy | None) -> str:
    def ask(session: Session) -> None:
        session.ask("SELECT COUNT(*) FROM t", epsilon=1)
        session.ask("SELECT COUNT(*) FROM t WHERE k > (SELECT AVG(k) FROM t)", epsilon=1)

    seen = reserved_when_read(lambda file: _world(entropy, ledger=file), ask)
    # The phase and the question around it are both reserved before the phase is read.
    return "" if seen == [1, 3, 3] else "read before it was reserved"


def reserved_when_read(opened: Callable[[str], World], ask: Callable[[Session], None]) -> list[int]:
    """How many reservations another connection to the ledger's file sees, each time the engine is asked for rows.
    opened: makes a world with its ledger in this file.  ask: asks its questions."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "audit.ledger"
        seen: list[int] = []

        def look() -> None:
            with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
                (found,) = connection.execute("SELECT count(*) FROM dither_log WHERE kind = 'reserved'").fetchone()
            seen.append(int(found))

        with opened(str(file)) as world:
            world.watched.before_reading = look
            ask(world.session)
        return seen


def _failing(entropy: Entropy | None) -> str:
    """Whatever happened between the first read and the answer, the price is spent."""
    with _world(entropy) as world:

        def fail() -> None:
            raise _Stopped

        world.watched.before_reading = fail
        before = world.ledger.spent()
        try:
            world.session.ask("SELECT COUNT(*) FROM t", epsilon=1)
            return "answered without its database"
        except _Stopped:
            pass
        if world.ledger.spent().epsilon - before.epsilon != 1:
            return "given back after reading began"
        (entry,) = world.ledger.entries()
        return "" if entry.state == "failed" else f"booked as {entry.state}"


def _exhausted(entropy: Entropy | None) -> str:
    """Ten questions at 0.3 each of a budget of 1: three are answered, and the books never pass the budget."""
    with _world(entropy, epsilon="1") as world:
        answered = 0
        for number in range(10):
            try:
                world.session.ask(f"SELECT COUNT(*) FROM t WHERE k > {-3 - number}", epsilon=Fraction(3, 10))
                answered += 1
            except BudgetExceeded:
                pass
        if answered != 3:
            return f"{answered} questions answered, the budget holds 3"
        return "" if world.ledger.spent().epsilon <= 1 else "booked beyond the budget"


def _verified(entropy: Entropy | None) -> str:
    with _world(entropy) as world:
        world.session.ask(_BY_DAY, epsilon=1)
        try:
            return "" if world.ledger.verify().holds else "the chain is broken"
        except DitherError as error:
            return error.headline()


def _world(entropy: Entropy | None, *, epsilon: str = "1e9", ledger: str = "") -> World:
    catalog = own_catalog(epsilon=epsilon)
    world = World(catalog, ddl=DDL, entropy=entropy, ledger=ledger)
    world.load(public_rows(catalog))
    world.fill("t", _ROWS)
    return world


def _line(check: str, subject: str, wrong: str) -> Line:
    return Line.judged(check, subject, right=not wrong, found=wrong)
