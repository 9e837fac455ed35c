"""What every ledger does, wherever it is kept: in memory, in a file, on a PostgreSQL server."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from contracts import ledger_postgres as postgres
from dither.accounting.events import PureEvent
from dither.accounting.price import Price
from dither.catalog.model import Analyst, BudgetTerms
from dither.errors import BudgetExceeded, DitherError, GuaranteeError, LedgerConflict, LedgerError
from dither.ledger import NewVector, ReservationRequest
from dither.ledger.elsewhere import outside_release
from dither.ledger.ledger import Ledger
from dither.ledger.series import EpochRequest, SeriesBook
from dither.ledger.storage.statements import Statement
from dither.ledger.vectors import store_vectors, vector_facts, vectors_of_entry
from support.forked import forked

HUGE = Fraction(10**15)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    if reason := postgres.missing():
        pytest.skip(reason)
    with postgres.server() as url:
        yield url


@pytest.fixture(params=["memory", "file", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    match request.param:
        case "memory":
            return ""
        case "file":
            return str(tmp_path / "x.ledger")
        case _:
            address: str = request.getfixturevalue("server")
            import psycopg

            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute("DROP SCHEMA public CASCADE")
                connection.execute("CREATE SCHEMA public")
            return address


@pytest.fixture
def shared(url: str) -> str:
    """The URL of a ledger that several sessions can open."""
    if not url:
        pytest.skip("a ledger in memory has one session by nature")
    return url


def open_ledger(url: str, **changes: object) -> Ledger:
    analysts = {"ada": Analyst("ada"), "bob": Analyst("bob", epsilon=Fraction(1))}
    arguments = {"dataset": "d", "promise_digest": "a" * 64, "budget": BudgetTerms(epsilon=Fraction(3)), **changes}
    return Ledger.open(url, analysts=analysts, **arguments)  # type: ignore[arg-type]


def ask(ledger: Ledger, epsilon: str, analyst: str = "ada", key: str | None = None) -> ReservationRequest:
    cost = Fraction(epsilon)
    price = Price(cost, cost * cost / 2)
    events = (PureEvent(cost),)
    return ledger.reserve(
        ReservationRequest(analyst, "SELECT 'ε\x00'", "f" * 64, price, events, ("v",), "1", key)  # type: ignore[return-value]
    )


def vector(epsilon: str, payload: bytes = b"\x00\xff") -> list[NewVector]:
    return [NewVector("v", {"kind": "laplace", "scale": "10"}, Price(Fraction(epsilon), Fraction(1, 10**6)), payload)]


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    opened = open_ledger(url)
    yield opened
    opened.close()


def test_a_question_is_charged_answered_kept_and_verified(ledger: Ledger) -> None:
    receipt = ledger.answer(ask(ledger, "0.1", key="k"), vector("0.1"))
    assert ledger.spent().epsilon == Fraction(1, 10)
    (kept,) = ledger.released("v", "1")
    assert kept.payload == b"\x00\xff" and kept.paid_by == {"ada"}
    assert ledger.entries()[0].text == "SELECT 'ε\x00'"
    assert ask(ledger, "0.1", key="k").repeated
    assert ledger.verify(receipt).problem is None


def test_a_series_is_charged_advanced_from_its_newest_state_and_verified(ledger: Ledger) -> None:
    book = SeriesBook(ledger)
    assert book.find("ada", "ε") is None
    price = Price(Fraction(1), Fraction(1, 2))
    opened = book.open("ada", "ε", EpochRequest("q", "f" * 64, price, (PureEvent(Fraction(1)),), {}, b"\x00begun"))
    assert book.open("ada", "ε", EpochRequest("p", "e" * 64, price, (), {}, b"other")) == opened
    book.advance(opened, totals=b"\x00one", state=b"\xff")
    with pytest.raises(LedgerConflict):
        book.advance(opened, totals=b"again", state=b"again")
    found = book.find("ada", "ε")
    assert found is not None and (found.state, found.totals) == (b"\xff", (b"\x00one",))
    assert ledger.spent().epsilon == 1
    assert ledger.verify().problem is None


def test_budgets_end_exactly(ledger: Ledger) -> None:
    for _ in range(30):
        ask(ledger, "0.1")
    with pytest.raises(BudgetExceeded):
        ask(ledger, "1e-18")


def test_amounts_beyond_every_machine_integer_are_exact(url: str) -> None:
    ledger = open_ledger(url, budget=BudgetTerms(epsilon=HUGE))
    ask(ledger, str(HUGE - Fraction(1, 10**18)))
    assert ledger.remaining().epsilon == Fraction(1, 10**18)
    ledger.close()


def test_void_fail_reuse_grant_and_release_leave_a_whole_chain(ledger: Ledger) -> None:
    ledger.void(ask(ledger, "0.5"), "why")
    ledger.fail(ask(ledger, "0.1"))
    ledger.answer(ask(ledger, "0.2"), vector("0.2"))
    ledger.record_reuse("bob", ledger.released("v", "1")[0], Price(Fraction(1, 5), Fraction(1, 50)))
    ledger.grant(epsilon=1, reason="more")
    ledger.unfreeze("ada")
    ledger.open_release("2")
    assert ledger.spent().epsilon == Fraction(3, 10) and ledger.spent("bob").epsilon == Fraction(1, 5)
    found = ledger.verify()
    assert found.problem is None and found.rows == len(ledger.log()) == 11


def test_sessions_see_each_other_and_share_one_budget(shared: str) -> None:
    one, two = open_ledger(shared), open_ledger(shared)
    reservation = ask(one, "2")
    assert two.spent().epsilon == 2
    with pytest.raises(BudgetExceeded):
        ask(two, "2")
    one.answer(reservation, vector("2"))
    assert two.released("v", "1")[0].payload == b"\x00\xff"
    one.close(), two.close()


def test_another_promise_is_refused(shared: str) -> None:
    open_ledger(shared).close()
    with pytest.raises(LedgerConflict):
        open_ledger(shared, promise_digest="b" * 64)


def test_questions_of_a_killed_process_are_lost_and_stay_charged(shared: str) -> None:
    alive = open_ledger(shared)
    reservation = ask(alive, "0.1")
    child = os.fork()
    if child == 0:
        try:
            ask(open_ledger(shared), "0.2")
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    after = _once_noticed(shared)
    assert [entry.state for entry in after.entries()] == ["reserved", "lost"]
    assert after.spent().epsilon == Fraction(3, 10)
    alive.answer(reservation, vector("0.1"))
    alive.close(), after.close()


def _once_noticed(url: str) -> Ledger:
    """The ledger, once the server has noticed that its client died (at once for a file)."""
    for _ in range(50):
        ledger = open_ledger(url)
        if any(entry.state == "lost" for entry in ledger.entries()):
            return ledger
        ledger.close()
    raise AssertionError("the lost question was never noticed")


def test_eight_processes_spend_a_budget_to_its_end(shared: str) -> None:
    open_ledger(shared).close()
    # Who opened it after others have left would find their questions lost, and the data set paused.
    everyone_is_here = multiprocessing.get_context("fork").Barrier(8)
    children = []
    for _ in range(8):
        child = os.fork()
        if child == 0:
            status = 70
            try:
                mine, status = open_ledger(shared), 0
                everyone_is_here.wait()
                while True:
                    ask(mine, "0.05")
            except BudgetExceeded:
                pass
            except BaseException:
                status = 71
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 8
    ledger = open_ledger(shared)
    assert ledger.spent().epsilon == 3 and len(ledger.entries()) == 60
    assert ledger.verify().problem is None
    ledger.close()


def test_threads_of_one_session_spend_a_budget_to_its_end(ledger: Ledger) -> None:
    def spend() -> int:
        won = 0
        try:
            while True:
                ask(ledger, "0.05")
                won += 1
        except BudgetExceeded:
            return won

    with ThreadPoolExecutor(8) as pool:
        won = [future.result() for future in [pool.submit(spend) for _ in range(8)]]
    assert sum(won) == 60 == len(ledger.entries())
    assert ledger.spent().epsilon == 3 and ledger.verify().problem is None


RELEASE = outside_release(name="poster", who="us", when="2026-01-02", reason="paper", epsilon="1/3", delta="1e-12")


def test_what_was_spent_elsewhere_is_booked_and_exported(ledger: Ledger, tmp_path: Path) -> None:
    other = open_ledger(str(tmp_path / "other.ledger"), dataset="other")
    ask(other, "1/4")
    assert ledger.import_releases([RELEASE, RELEASE]) == (True, False)
    assert ledger.merge(other, reason="one").closed and ledger.merge(other, reason="one").repeated
    last = json.loads(list(ledger.export())[-1])
    assert last["levels"]["dataset"] == {
        "epsilon": "7/12", "rho": str(RELEASE.price.rho + Fraction(1, 32)), "delta": "1/1000000000000", "gaussians": 0
    }  # fmt: skip
    assert last["head"] == ledger.verify().head and ledger.verify().problem is None
    with pytest.raises(LedgerConflict):
        ask(other, "1/4")
    other.close()


def test_what_is_asked_during_a_merge_is_refused_or_taken_over(ledger: Ledger, tmp_path: Path) -> None:
    """The fault it is for: reading the other's total first and closing it afterwards loses what comes between."""
    other = open_ledger(str(tmp_path / "other.ledger"), dataset="other", budget=BudgetTerms(epsilon=HUGE))
    begun = threading.Barrier(5)

    def spend() -> int:
        won = 0
        begun.wait(timeout=30)
        try:
            while won < 10_000:
                ask(other, "1/1000")
                won += 1
        except LedgerConflict as refused:
            assert refused.code == "L-260"
        return won

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(spend) for _ in range(4)]
        begun.wait(timeout=30)
        time.sleep(0.1)
        found = ledger.merge(other, reason="one")
        won = sum(future.result() for future in futures)
    assert won > 0
    assert found.price.epsilon == Fraction(won, 1000) == other.spent().epsilon == ledger.spent().epsilon
    assert other.verify().problem is None and ledger.verify().problem is None
    other.close()


def test_ledgers_merged_into_each_other_at_once_are_one_ledger_after(shared: str, tmp_path: Path) -> None:
    """The fault it is for: each closed the other before either was booked, and both stayed closed for good."""
    ours = open_ledger(shared, budget=BudgetTerms(epsilon=HUGE))
    for number in range(15):
        other = open_ledger(str(tmp_path / f"other-{number}.ledger"), dataset="other", budget=BudgetTerms(epsilon=HUGE))
        ask(other, "1/4"), ask(ours, "1/8")
        whole = other.spent().epsilon + ours.spent().epsilon
        begun = threading.Barrier(2)

        def merge(into: Ledger, what: Ledger, begun: threading.Barrier = begun) -> str:
            begun.wait(timeout=30)
            try:
                into.merge(what, reason="one")
            except LedgerConflict as refused:
                return refused.code
            return "merged"

        with ThreadPoolExecutor(2) as pool:
            said = [future.result() for future in (pool.submit(merge, ours, other), pool.submit(merge, other, ours))]
        assert sorted(said) == ["L-260", "merged"]
        stays, ends = (ours, other) if said[0] == "merged" else (other, ours)
        assert stays.closed_into is None and ends.closed_into == stays.dataset
        assert stays.spent().epsilon == whole
        assert stays.verify().holds and ends.verify().holds
        ends.close()
        ours = stays
    ours.close()


def test_a_list_imported_by_many_processes_at_once_is_booked_once(shared: str) -> None:
    open_ledger(shared).close()
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            status = 70
            try:
                mine = open_ledger(shared)
                mine.import_releases([RELEASE])
                mine.close()
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
    ledger = open_ledger(shared)
    assert ledger.spent().epsilon == Fraction(1, 3) and ledger.verify().problem is None
    ledger.close()


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_child_forked_inside_a_transaction_leaves_it_to_its_parent(shared: str, interrupted: bool) -> None:
    """The faults it is for: a child's ROLLBACK on the parent's socket; one that takes pages, written before the commit
    because they are many, out of the index of the log of writes, which parent and child share."""
    ledger = open_ledger(shared)
    reservation = ask(ledger, "0.1")
    block = ledger._journal.writing()
    page = block.__enter__()
    many = [item for number in range(40) for item in vector("0.1", bytes([number]) * 200_000)]
    store_vectors(page.connection, entry=reservation.entry_id, release="1", analyst="ada", vectors=many)

    def live(writer: int) -> None:
        if interrupted:
            assert not block.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
        else:
            with pytest.raises(GuaranteeError):
                block.__exit__(None, None, None)

    forked(live)
    assert [item.payload for item in vectors_of_entry(page.connection, reservation.entry_id)] == [
        item.payload for item in many
    ]
    page.append("answered", facts={"vectors": vector_facts(many)}, entry=reservation.entry_id, analyst="ada")
    block.__exit__(None, None, None)
    assert len(ledger.vectors_of(reservation)) == 40 and ledger.verify().problem is None
    ledger.close()


@pytest.mark.parametrize("statement", ["UPDATE dither_log SET at = ''", "DELETE FROM dither_vector"])
def test_the_database_refuses_changes(ledger: Ledger, statement: str) -> None:
    ledger.answer(ask(ledger, "0.1"), vector("0.1"))
    with pytest.raises(DitherError) as refused, ledger._journal.store.writing() as connection:
        Statement(statement).execute(connection)
    assert "append-only" in str(refused.value.__cause__)
    assert ledger.verify().problem is None


def test_a_server_that_is_not_there_is_said_to_be_unusable() -> None:
    if reason := postgres.missing():
        pytest.skip(reason)
    with pytest.raises(LedgerError, match="cannot be used"):
        open_ledger("postgresql://nobody@/nothing?host=/nonexistent")
