"""A PostgreSQL server that does what servers do: roles with settings of their own, decoys on the search path, sessions
ended by an administrator, replies that are lost on the way. No total is wrong for it, and no answer goes uncharged.
"""

from __future__ import annotations

import gc
import os
import secrets
import socket
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from contracts import ledger_postgres as postgres
from dither.accounting.events import PureEvent
from dither.accounting.price import Price
from dither.catalog.model import BudgetTerms
from dither.errors import BudgetExceeded, DitherError, GuaranteeError, LedgerConflict, LedgerError
from dither.ledger import NewVector, Reservation, ReservationRequest
from dither.ledger.amounts import price_json
from dither.ledger.ledger import Ledger
from dither.ledger.storage.statements import Statement
from support.forked import at_step, forked, hooked

COST = Price(Fraction(1, 20), Fraction(1, 800))
FACTS = {"price": price_json(COST), "recorded": [None, "0", None]}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    if reason := postgres.missing():
        pytest.skip(reason)
    with postgres.server() as url:
        yield url


@pytest.fixture
def place(server: str) -> str:
    return postgres.schema_of(server, f"s{secrets.token_hex(8)}")


@contextmanager
def administrator(server: str) -> Iterator[Any]:
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        yield connection


@pytest.fixture
def admin(server: str) -> Iterator[Any]:
    with administrator(server) as connection:
        yield connection


def schema_in(place: str) -> str:
    return place.rpartition("%3D")[2]


def open_ledger(place: str, **changes: Any) -> Ledger:
    arguments = {
        "dataset": "d", "promise_digest": "a" * 64, "budget": BudgetTerms(epsilon=Fraction(3)), "analysts": {},
        "wait_s": 20, **changes,
    }  # fmt: skip
    return Ledger.open(place, **arguments)


def request(key: str | None = None) -> ReservationRequest:
    return ReservationRequest("ada", "SELECT 1", "f" * 64, COST, (PureEvent(Fraction(1, 20)),), ("v",), "1", key)


def measured() -> list[NewVector]:
    return [NewVector("v", {"kind": "laplace"}, COST, b"x")]


def spend_to_the_end(ledgers: list[Ledger]) -> int:
    """How many questions threads of several sessions win until the budget is refused."""

    def spend(ledger: Ledger) -> int:
        won = 0
        with suppress(BudgetExceeded):
            while True:
                ledger.reserve(request())
                won += 1
        return won

    with ThreadPoolExecutor(len(ledgers)) as pool:
        return sum(pool.map(spend, ledgers))


@pytest.mark.parametrize(
    "setting",
    [
        "default_transaction_isolation = 'serializable'",
        "default_transaction_isolation = 'repeatable read'",
        "default_transaction_read_only = on",
        "statement_timeout = '150ms'",
        "synchronous_commit = off",
        "search_path = nowhere",
    ],
)
def test_a_role_s_own_settings_change_nothing(place: str, admin: Any, setting: str) -> None:
    # Under a stricter level than READ COMMITTED a writer's snapshot is from before it got its turn.
    admin.execute(f"ALTER ROLE postgres SET {setting}")
    try:
        ledgers = [open_ledger(place) for _ in range(6)]
        with ThreadPoolExecutor(1) as pool:
            with ledgers[1]._journal.writing():
                waiting = pool.submit(ledgers[0].reserve, request())
                time.sleep(0.4)
            assert not waiting.result(timeout=30).repeated
        assert spend_to_the_end(ledgers) == 59
        assert ledgers[0].spent().epsilon == 3 and ledgers[0].verify().holds
        with ledgers[0]._journal.writing() as page:
            shown = Statement("SHOW synchronous_commit").first(page.connection)
        assert shown == ("on",)
        for ledger in ledgers:
            ledger.close()
    finally:
        admin.execute("ALTER ROLE postgres RESET ALL")


def test_tables_of_the_same_names_put_earlier_on_the_search_path_are_not_taken_for_the_ledger(
    server: str, admin: Any
) -> None:
    early, late = f"a{secrets.token_hex(4)}", f"b{secrets.token_hex(4)}"
    for schema in (early, late):
        admin.execute(f"CREATE SCHEMA {schema}")
    ledger = open_ledger(f"{server}&options=-csearch_path%3D{late}")
    ledger.reserve(request())
    both = f"{server}&options=-csearch_path%3D{early},{late}"
    # Nothing lies in the first of them yet: it is the ledger in the second.
    second = open_ledger(both)
    assert second.spent().epsilon == COST.epsilon
    for table in ("identity", "log", "standing", "vector", "payer"):
        admin.execute(f"CREATE TABLE {early}.dither_{table} (LIKE {late}.dither_{table} INCLUDING ALL)")
    admin.execute(f"INSERT INTO {early}.dither_identity SELECT * FROM {late}.dither_identity")
    # Its connections are new ones, as after a restart of the server.
    second._journal.store._connections.end_kept()
    second.reserve(request())
    assert second.spent().epsilon == 2 * COST.epsilon == ledger.spent().epsilon
    with pytest.raises(LedgerConflict) as refused:
        open_ledger(both)
    assert refused.value.code == "L-225"
    assert admin.execute(f"SELECT count(*) FROM {early}.dither_log").fetchone() == (0,)
    second.close(), ledger.close()


def test_a_temporary_table_of_the_same_name_is_not_the_ledger(place: str) -> None:
    ledger = open_ledger(place)
    with ledger._journal.writing() as page:
        Statement("CREATE TEMPORARY TABLE dither_log (LIKE dither_log)").execute(page.connection)
    ledger.answer(ledger.reserve(request()), measured())
    assert ledger.spent().epsilon == COST.epsilon and ledger.verify().holds
    ledger.close()


def test_tables_of_another_role_are_said_to_be_closed_to_us(place: str, admin: Any, server: str) -> None:
    open_ledger(place).close()
    role = f"mallory{secrets.token_hex(4)}"
    admin.execute(f"CREATE ROLE {role} LOGIN")
    admin.execute(f"GRANT USAGE ON SCHEMA {schema_in(place)} TO {role}")
    with pytest.raises(LedgerError) as refused:
        open_ledger(place.replace("postgres@", f"{role}@"))
    assert refused.value.code == "L-110"
    admin.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema_in(place)} TO {role}")
    looking = open_ledger(place.replace("postgres@", f"{role}@"))
    with pytest.raises(LedgerError) as refused:
        looking.reserve(request())
    assert refused.value.code == "L-110" and "mallory" not in str(refused.value)
    looking.close()
    assert open_ledger(place).spent().epsilon == 0


def test_a_role_that_may_only_read_and_add_rows_asks_and_cannot_undo(place: str, admin: Any) -> None:
    open_ledger(place).close()
    role, schema = f"gateway{secrets.token_hex(4)}", schema_in(place)
    admin.execute(f"CREATE ROLE {role} LOGIN")
    admin.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
    admin.execute(f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO {role}")
    ledger = open_ledger(place.replace("postgres@", f"{role}@"))
    ledger.answer(ledger.reserve(request()), measured())
    ledger.fail(ledger.reserve(request()))
    ledger.grant(epsilon=1, reason="more")
    assert ledger.record_refusal("ada", "SELECT", "S-100") and ledger.verify().holds
    for statement in ("DELETE FROM dither_log", "ALTER TABLE dither_log DISABLE TRIGGER ALL", "TRUNCATE dither_log"):
        with pytest.raises(LedgerError), ledger._journal.writing() as page:
            Statement(statement).execute(page.connection)
    ledger.close()


def test_two_ledgers_of_one_database_do_not_wait_for_each_other_and_merge(server: str) -> None:
    one, two = (postgres.schema_of(server, f"s{secrets.token_hex(8)}") for _ in range(2))
    ours, other = open_ledger(one, wait_s=3), open_ledger(two, dataset="other", wait_s=3)
    other.reserve(request())
    with ours._journal.writing():
        other.reserve(request())
    assert ours.merge(other, reason="one").price.epsilon == 2 * COST.epsilon
    assert ours.spent().epsilon == 2 * COST.epsilon and other.closed_into == "d"
    ours.close(), other.close()


def test_a_held_ledger_is_said_to_be_held_and_charges_nothing(place: str) -> None:
    one, two = open_ledger(place), open_ledger(place, wait_s=0.3)
    with one._journal.writing(), pytest.raises(LedgerConflict) as refused:
        two.reserve(request())
    assert refused.value.code == "L-210"
    assert two.spent().epsilon == 0
    one.close(), two.close()


def test_a_session_whose_presence_was_ended_cannot_answer_what_others_found_lost(place: str, admin: Any) -> None:
    mine = open_ledger(place)
    reservation = mine.reserve(request())
    end_sessions(admin, place, idle=True)
    other = open_ledger(place)
    assert [entry.state for entry in other.entries()] == ["lost"]
    mine.begin_reading(reservation)
    with pytest.raises(LedgerConflict):
        mine.answer(reservation, measured())
    assert other.released("v", "1") == [] and other.spent().epsilon == COST.epsilon
    # And goes on under a new name, which is not taken for dead.
    again = mine.reserve(request())
    open_ledger(place).close()
    mine.answer(again, measured())
    assert other.spent().epsilon == 2 * COST.epsilon and other.verify().holds
    mine.close(), other.close()


def end_sessions(admin: Any, place: str, *, idle: bool) -> None:
    admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'postgres'"
        + (" AND state = 'idle'" if idle else "")
    )
    time.sleep(0.2)


def test_a_server_that_ended_every_idle_connection_is_asked_again_without_a_word(place: str, admin: Any) -> None:
    # As after a restart between two questions.
    ledger = open_ledger(place)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: ledger.reserve(request()), range(12)))
    kept = len(ledger._journal.store._connections._kept)
    end_sessions(admin, place, idle=True)
    assert ledger.spent().epsilon == 12 * COST.epsilon and kept > 1
    ledger.answer(ledger.reserve(request()), measured())
    assert ledger.verify().holds
    ledger.close()


@pytest.mark.parametrize("use", ["close", "ask", "forget"])
def test_a_forked_child_leaves_its_parent_s_sessions_alone(place: str, use: str) -> None:
    # Closing a connection tells the server to end the session: the parent's, its lock that says it lives included.
    mine = open_ledger(place)
    reservation = mine.reserve(request())
    name, kept = mine._journal.store.session(), list(mine._journal.store._connections._kept)

    def live(writer: int) -> None:
        nonlocal mine
        if use == "ask":
            os.write(writer, mine.reserve(request()).entry_id.encode())
        if use in ("ask", "close"):
            mine.close()
        if use == "close":
            for connection in kept:
                connection.close()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            del mine
            kept.clear()
            gc.collect()
        assert not warned

    # As if another thread were just asking for the session's name: nobody lets go of that in the child.
    with mine._journal.store.presence._guard:  # type: ignore[attr-defined]
        asked, _ = forked(live)
    other = open_ledger(place)
    assert [entry.state for entry in other.entries() if entry.id not in asked] == ["reserved"]
    assert mine._journal.store.session() == name and all(connection.answers() for connection in kept) and kept
    mine.answer(reservation, measured())
    assert other.spent().epsilon == (1 + len(asked)) * COST.epsilon and other.verify().holds
    mine.close(), other.close()


def test_a_failure_that_was_passed_over_is_not_taken_for_a_commit(place: str) -> None:
    # The server answers COMMIT with ROLLBACK then, and calls that no error.
    ledger = open_ledger(place)
    with pytest.raises(GuaranteeError), ledger._journal.writing() as page:
        page.append("unfrozen", facts={"reason": "lost"})
        with suppress(Exception):
            Statement("SELECT nothing FROM nowhere").rows(page.connection)
    assert [row.kind for row in ledger.log()] == ["created"]
    ledger.reserve(request())
    ledger.close()


def test_a_value_stands_in_no_message(place: str) -> None:
    ledger = open_ledger(place)
    ledger.reserve(request("secret key"))
    with pytest.raises(GuaranteeError) as refused, ledger._journal.writing() as page:
        page.append("reserved", facts=FACTS, entry="1", analyst="ada", request="secret key")
    assert "Key (analyst, request)=(ada, secret key)" in str(refused.value.__cause__)
    assert "secret" not in str(refused.value) and "secret" not in repr(refused.value)
    ledger.close()


@pytest.mark.parametrize("scheme", ["postgres", "postgresql+psycopg", "postgresql+psycopg2", "PostgreSQL"])
def test_a_url_that_names_a_driver_is_the_same_url(place: str, scheme: str) -> None:
    ledger = open_ledger(place.replace("postgresql", scheme, 1))
    ledger.reserve(request())
    assert open_ledger(place).spent().epsilon == COST.epsilon
    ledger.close()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://nobody:hunter2@/nothing?host=/nonexistent",
        "postgresql://nobody:hunter2%zz@localhost/nothing",
        "postgresql://nobody@localhost/nothing?password=hunter2%zz",
        "postgresql://nobody:hunter2@localhost/nothing?hunter2=x",
        "postgresql://nobody:hunter2@[localhost/nothing",
        "postgresql://nobody:hunter2%FF@localhost/nothing",
    ],
)
def test_a_password_stands_in_no_message(url: str) -> None:
    if reason := postgres.missing():
        pytest.skip(reason)
    with pytest.raises(DitherError) as refused:
        open_ledger(url)
    told: BaseException | None = refused.value
    while told is not None:
        assert "hunter2" not in "".join(traceback.format_exception(told, chain=True))
        told = told.__cause__ or told.__context__


def test_threads_that_ask_for_the_session_s_name_at_once_get_one_that_is_held(place: str) -> None:
    ledger = open_ledger(place)
    begun = threading.Barrier(8)

    def named(_: int) -> str:
        begun.wait(timeout=30)
        return ledger._journal.store.session()

    with ThreadPoolExecutor(8) as pool:
        names = set(pool.map(named, range(8)))
    assert len(names) == 1
    other = open_ledger(place)
    with other._journal.writing() as page:
        assert other._journal.store.presence.alive(page.connection, names.pop())
    ledger.close(), other.close()


def ask_until_refused(place: str, writer: int, arm: Callable[[], object]) -> None:
    """One question after another, each retried under its key until it is settled; says what was acknowledged."""
    ledger = open_ledger(place)
    arm()
    for number in range(6):
        while True:
            try:
                reservation = ledger.reserve(request(f"q{number}"))
                os.write(writer, f"R q{number} {reservation.entry_id}\n".encode())
                if not reservation.repeated:
                    ledger.answer(reservation, measured())
                    os.write(writer, f"A q{number} {reservation.entry_id}\n".encode())
                break
            except DitherError as error:
                os.write(writer, f"E {error.code}\n".encode())
    ledger.close()


def check_story(place: str, lines: list[str]) -> None:
    """Every question has one entry, all are charged, and what was acknowledged as answered is kept."""
    ledger = open_ledger(place)
    entries = {entry.idempotency_key: entry for entry in ledger.entries()}
    assert len(entries) == len(ledger.entries()) == 6
    assert ledger.spent().epsilon == 6 * COST.epsilon
    kept = {vector.entry_id for vector in ledger.released("v", "1")}
    for line in lines:
        kind, _, rest = line.partition(" ")
        if kind == "E":
            assert rest.startswith("L-"), line
            continue
        key, entry = rest.split(" ")
        assert entries[key].id == entry
        if kind == "A":
            assert entry in kept and entries[key].state == "answered"
    assert kept == {entry.id for entry in entries.values() if entry.state == "answered"}
    assert ledger.verify().holds
    ledger.close()


@pytest.mark.parametrize("stride", [3, pytest.param(1, marks=pytest.mark.long)])
def test_a_connection_ended_by_the_administrator_at_any_step_costs_at_most_an_answer(
    server: str, admin: Any, stride: int
) -> None:
    ended = 0
    for step in range(1, 60, stride):
        place = postgres.schema_of(server, f"s{secrets.token_hex(8)}")
        open_ledger(place).close()

        def end(connection: Any) -> None:
            if connection is not None and hasattr(connection, "info"):
                with administrator(server) as fresh:
                    fresh.execute("SELECT pg_terminate_backend(%s)", (connection.info.backend_pid,))
                time.sleep(0.05)

        lines, killed = forked(
            lambda writer, step=step, place=place, end=end: ask_until_refused(place, writer, lambda: at_step(step, end))  # type: ignore[misc]
        )
        assert not killed
        ended += any(line.startswith("E") for line in lines)
        check_story(place, lines)
    assert ended > 10 / stride


class Proxy:
    """Between a client and the server; swallows what the server replies once it is told to, and hangs up."""

    def __init__(self, folder: Path, server_socket: str) -> None:
        self.folder = str(folder)
        self.swallow = threading.Event()
        self._target = server_socket
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(os.path.join(self.folder, ".s.PGSQL.5432"))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                threading.Thread(target=self._pass, args=(client, server, False), daemon=True).start()
                threading.Thread(target=self._pass, args=(server, client, True), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, replies: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if replies and self.swallow.is_set():
                    # The server has done what it was told; nobody will hear of it.
                    self.swallow.clear()
                    break
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def proxied(server: str, tmp_path: Path) -> Iterator[tuple[Proxy, Callable[[str], str]]]:
    folder = server.partition("host=")[2]
    proxy = Proxy(tmp_path, os.path.join(folder, ".s.PGSQL.5432"))
    yield proxy, lambda place: place.replace(f"host={folder}", f"host={tmp_path}")
    proxy.close()


@contextmanager
def reply_to_commit_lost(proxy: Proxy) -> Iterator[None]:
    with hooked(committing=lambda _: proxy.swallow.set()):
        yield
    proxy.swallow.clear()


def test_a_reservation_whose_acknowledgement_was_lost_is_charged_once_and_found_by_its_key(
    place: str, proxied: tuple[Proxy, Callable[[str], str]]
) -> None:
    proxy, by_proxy = proxied
    direct, ledger = open_ledger(place), open_ledger(by_proxy(place))
    ledger._journal.store.session()
    with reply_to_commit_lost(proxy), pytest.raises(LedgerError) as failed:
        ledger.reserve(request("k"))
    assert "stays charged" in str(failed.value)
    assert direct.spent().epsilon == COST.epsilon
    found = ledger.reserve(request("k"))
    assert found.repeated and direct.spent().epsilon == COST.epsilon and len(direct.entries()) == 1
    ledger.close(), direct.close()
    assert open_ledger(place).verify().holds


def test_an_answer_whose_acknowledgement_was_lost_is_kept_and_not_taken_back(
    place: str, proxied: tuple[Proxy, Callable[[str], str]]
) -> None:
    proxy, by_proxy = proxied
    direct, ledger = open_ledger(place), open_ledger(by_proxy(place))
    reservation = ledger.reserve(request("k"))
    ledger.begin_reading(reservation)
    with reply_to_commit_lost(proxy), pytest.raises(LedgerError):
        ledger.answer(reservation, measured())
    with pytest.raises(LedgerConflict, match="already answered"):
        ledger.fail(reservation)
    assert [entry.state for entry in direct.entries()] == ["answered"] and len(direct.released("v", "1")) == 1
    assert direct.spent().epsilon == COST.epsilon and direct.verify().holds
    ledger.close(), direct.close()


def test_a_void_whose_acknowledgement_was_lost_takes_back_once(
    place: str, proxied: tuple[Proxy, Callable[[str], str]]
) -> None:
    proxy, by_proxy = proxied
    direct, ledger = open_ledger(place), open_ledger(by_proxy(place))
    first: Reservation = ledger.reserve(request())
    ledger.reserve(request())
    with reply_to_commit_lost(proxy), pytest.raises(LedgerError):
        ledger.void(first, "another part could not be answered")
    with pytest.raises(LedgerConflict):
        ledger.void(first, "again")
    assert direct.spent().epsilon == COST.epsilon and direct.verify().holds
    ledger.close(), direct.close()
