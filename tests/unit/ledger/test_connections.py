"""A transaction is whole or not there, whatever ends it; connections are kept for the next one, never across a fork."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from dither.errors import GuaranteeError, LedgerError
from dither.ledger.ledger import Ledger
from dither.ledger.storage.connection import Connection
from dither.ledger.storage.statements import Statement
from dither.ledger.storage.store import _KEPT_CONNECTIONS, Store
from support.forked import forked, hooked

ADD = Statement("INSERT INTO t (a) VALUES (:a)")
COUNT = Statement("SELECT count(*) AS n FROM t")


@pytest.fixture(params=["memory", "file"])
def ledger(request: pytest.FixtureRequest, open_ledger: Callable[..., Ledger]) -> Ledger:
    return open_ledger("" if request.param == "memory" else None)


@pytest.fixture
def store(ledger: Ledger) -> Store:
    found = ledger._journal.store
    with found.writing() as connection:
        Statement("CREATE TABLE t (a INTEGER NOT NULL)").execute(connection)
    return found


def rows_in(store: Store) -> int:
    with store.reading() as connection:
        return COUNT.first(connection).n


@pytest.mark.parametrize("end", [ValueError, KeyboardInterrupt, SystemExit])
def test_whatever_ends_a_block_undoes_all_of_it(store: Store, end: type[BaseException]) -> None:
    with pytest.raises(end), store.writing() as connection:
        ADD.execute(connection, {"a": 1})
        raise end
    assert rows_in(store) == 0
    with store.writing() as connection:
        ADD.execute(connection, {"a": 2})
    assert rows_in(store) == 1


def test_an_interruption_at_any_step_leaves_all_or_nothing_and_a_store_that_goes_on(store: Store) -> None:
    for step in range(1, 5):
        before, left = rows_in(store), step

        def interrupt(*_: object) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt), hooked(committing=interrupt), store.writing() as connection:
            interrupt()
            ADD.insert(connection, [{"a": 1}, {"a": 2}])
            interrupt()
            ADD.execute(connection, {"a": 3})
            left = min(left, 1)
        assert rows_in(store) == before
    with store.writing() as connection:
        ADD.execute(connection, {"a": 1})
    assert rows_in(store) == 1


def test_a_transaction_that_ended_in_the_middle_is_not_taken_for_committed(store: Store) -> None:
    # SQLite ends a transaction by itself when a disk is full, for instance. Whoever went on regardless would write each
    # statement by itself.
    with pytest.raises(GuaranteeError), store.writing() as connection:
        ADD.execute(connection, {"a": 1})
        connection.driver.execute("ROLLBACK")
    assert rows_in(store) == 0


def test_a_connection_that_cannot_be_rolled_back_is_not_used_again(open_ledger, question) -> None:
    ledger = open_ledger()
    with pytest.raises(LedgerError), ledger._journal.writing() as page:
        broken = page.connection
        broken.driver.close()
    ledger.reserve(question())
    with ledger._journal.reading() as connection:
        assert connection is not broken
    assert ledger.verify().holds


def test_a_ledger_in_memory_whose_connection_broke_is_over(open_ledger, question) -> None:
    # Another connection would be an empty ledger, with all of its budget.
    ledger = open_ledger("")
    ledger.reserve(question())
    with pytest.raises(LedgerError), ledger._journal.writing() as page:
        page.connection.driver.close()
    for _ in range(2):
        with pytest.raises(LedgerError, match="cannot be used"):
            ledger.spent()


def test_connections_are_used_again_and_only_so_many_are_kept(open_ledger) -> None:
    ledger = open_ledger()
    made: set[Connection] = set()
    many = _KEPT_CONNECTIONS + 5
    together = threading.Barrier(many)

    def look() -> None:
        with ledger._journal.reading():
            together.wait(timeout=30)

    with hooked(taken=made.add), ThreadPoolExecutor(many) as pool:
        for future in [pool.submit(look) for _ in range(many)]:
            future.result()
        assert len(made) == many
        for _ in range(50):
            ledger.spent()
    assert len(made) == many
    assert sum(not connection.closed for connection in made) == _KEPT_CONNECTIONS


def test_a_connection_in_use_when_the_ledger_is_closed_is_closed_after_it(open_ledger, path) -> None:
    ledger = open_ledger()
    with ledger._journal.reading() as connection:
        ledger.close()
        assert not connection.closed
    del connection
    gc.collect()
    assert not [name for name in map(_target, os.listdir("/proc/self/fd")) if name.startswith(path)]


def _target(descriptor: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""


@pytest.mark.parametrize("sessions", [1, 2])
def test_what_a_forked_child_writes_stays_when_its_parent_closes_first(open_ledger, question, sessions) -> None:
    # The child once took its parent's locks for its own. The parent, last as far as locks tell, removed the log of
    # writes as it closed, and what the child had written and wrote after was in a file without a name.
    ledgers = [open_ledger() for _ in range(sessions)]
    ledgers[0].reserve(question())
    asked, closed = os.pipe(), os.pipe()

    child = os.fork()
    if child == 0:
        status = 70
        try:
            ledgers[0].reserve(question())
            os.write(asked[1], b"x")
            os.read(closed[0], 1)
            ledgers[-1].reserve(question())
            ledgers[0].reserve(question())
            status = 0
        finally:
            os._exit(status)
    os.read(asked[0], 1)
    for ledger in ledgers:
        ledger.close()
    os.write(closed[1], b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    after = open_ledger()
    assert len(after.entries()) == 4 and after.verify().holds


def test_a_child_forked_while_a_thread_asks_is_refused_and_charges_nothing(open_ledger, question, tmp_path) -> None:
    ledger = open_ledger()
    begun, ended = threading.Event(), threading.Event()

    def ask() -> None:
        with ledger._journal.writing():
            begun.set()
            ended.wait(timeout=30)

    thread = threading.Thread(target=ask)
    thread.start()
    begun.wait(timeout=30)

    def live(writer: int) -> None:
        for use in (lambda: ledger.reserve(question()), lambda: ledger.spent(), open_ledger):
            try:
                use()
            except LedgerError as error:
                os.write(writer, f"{error.code}\n".encode())
        # Another ledger is another matter.
        open_ledger(str(tmp_path / "other.ledger")).reserve(question())
        os.write(writer, b"other\n")

    lines, _ = forked(live)
    ended.set()
    thread.join()
    assert lines == ["L-150"] * 3 + ["other"]
    assert ledger.entries() == () and ledger.verify().holds
