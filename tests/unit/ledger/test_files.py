"""The ledger's file: who may read it, and what is said when it cannot be used."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import stat
import sys
import threading
import time
from pathlib import Path

import pytest

from dither.errors import InvalidParameter, LedgerConflict, LedgerCorrupt, LedgerError
from dither.ledger.storage.statements import Statement
from support.forked import hooked


def modes(path: str) -> dict[str, int]:
    names = [path + end for end in ("", "-wal", "-shm", ".lock")]
    return {name[len(path) :]: stat.S_IMODE(os.stat(name).st_mode) for name in names}


def test_every_file_is_readable_by_its_owner_alone(open_ledger, question, path) -> None:
    previous = os.umask(0)
    try:
        open_ledger().reserve(question())
    finally:
        os.umask(previous)
    assert modes(path) == dict.fromkeys(("", "-wal", "-shm", ".lock"), 0o600)


def test_a_restored_file_that_others_may_read_is_narrowed(open_ledger, path) -> None:
    open_ledger().close()
    os.chmod(path, 0o644)
    open_ledger()
    assert modes(path)[""] == 0o600


def test_commits_are_written_through(open_ledger) -> None:
    with open_ledger()._journal.reading() as connection:
        pragmas = {name: Statement(f"PRAGMA {name}").first(connection) for name in ("journal_mode", "synchronous")}
    assert pragmas == {"journal_mode": ("wal",), "synchronous": (2,)}


def test_readers_do_not_wait_for_a_writer(open_ledger, question) -> None:
    ledger = open_ledger(wait_s=0.2)
    with ledger._journal.writing():
        assert ledger.spent().epsilon == 0


def test_a_ledger_held_by_another_program_is_said_to_be_held(open_ledger, question, path) -> None:
    ledger = open_ledger(wait_s=0.2)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerConflict, match="another program holds it"):
        ledger.reserve(question())
    other.execute("ROLLBACK")
    other.close()
    ledger.reserve(question())


def test_a_full_disk_is_said_and_nothing_is_charged(open_ledger, question, path) -> None:
    open_ledger().reserve(question())

    def shrink(connection) -> None:
        pages = connection.driver.execute("PRAGMA page_count").fetchone()[0]
        connection.driver.execute(f"PRAGMA max_page_count = {pages}")

    with hooked(taken=shrink):
        ledger = open_ledger()
        with pytest.raises(LedgerError, match="the disk is full") as failure:
            ledger.reserve(question(text="x" * 100_000))
        assert failure.value.code == "L-130" and "x" * 100 not in str(failure.value)
    assert len(open_ledger().entries()) == 1


def test_a_read_only_folder_is_said(open_ledger, question, tmp_path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    url = str(locked / "x.ledger")
    open_ledger(url).close()
    for name in os.listdir(locked):
        os.chmod(locked / name, 0o444)
    os.chmod(locked, 0o555)
    child = os.fork()
    if child == 0:
        status = 70
        try:
            if os.geteuid() == 0:
                # Root may write anywhere: be nobody, who may read here.
                for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
                    os.chmod(folder, 0o755)
                os.setuid(65534)
            open_ledger(url)
        except LedgerError as error:
            status = 0 if error.code in ("L-110", "L-140") else 1
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_is_not_a_database_is_said_to_be_no_ledger(open_ledger, path) -> None:
    with open(path, "wb") as file:
        file.write(b"patients;visits\n" * 500)
    with pytest.raises(LedgerCorrupt, match="not a ledger"):
        open_ledger()


def test_a_database_of_another_program_is_left_alone(open_ledger, path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE patients (id)")
    other.close()
    with pytest.raises(LedgerError, match="another program"):
        open_ledger()
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("patients",)]
    other.close()


def test_a_ledger_of_a_later_format_is_refused(open_ledger, path) -> None:
    open_ledger().close()
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER dither_identity_no_update")
        connection.execute("UPDATE dither_identity SET schema_version = 2")
    connection.close()
    with pytest.raises(LedgerError, match="format 2"):
        open_ledger()


def test_a_missing_folder_is_said(open_ledger, tmp_path) -> None:
    with pytest.raises(LedgerError, match="cannot be opened"):
        open_ledger(str(tmp_path / "nowhere" / "x.ledger"))


@pytest.mark.parametrize("url", ["mysql://localhost/x", "duckdb:///x"])
def test_other_databases_are_not_ledgers(open_ledger, url) -> None:
    with pytest.raises(InvalidParameter):
        open_ledger(url)


@pytest.mark.parametrize("url", ["sqlite:///{}", "sqlite+pysqlite:///{}", "SQLite:///{}"])
def test_a_path_may_be_written_as_a_url(open_ledger, question, path, url) -> None:
    open_ledger(url.format(path)).reserve(question())
    assert len(open_ledger(path).entries()) == 1


def test_a_server_s_ledger_without_its_driver_says_what_to_install(open_ledger, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerError, match=r"dither\[postgres\]") as refused:
        open_ledger("postgresql://nobody@localhost/nothing")
    assert refused.value.code == "L-105"


def test_a_forked_child_makes_connections_of_its_own(open_ledger, question) -> None:
    ledger = open_ledger()
    ledger.reserve(question("0.1"))
    child = os.fork()
    if child == 0:
        status = 70
        try:
            ledger.reserve(question("0.2"))
            status = 0
        finally:
            os._exit(status)
    ledger.reserve(question("0.4"))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert float(ledger.spent().epsilon) == 0.7 and ledger.verify().holds


def test_a_ledger_in_memory_is_not_spent_twice_by_a_fork(ledger, question) -> None:
    child = os.fork()
    if child == 0:
        status = 70
        try:
            ledger.reserve(question())
        except LedgerError:
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_copy_made_while_it_is_used_is_whole(open_ledger, question, measured, path, tmp_path) -> None:
    # The way the how-to page says: SQLite's own backup, not a copy of one file of three.
    ledger = open_ledger()
    receipt = ledger.answer(ledger.reserve(question()), measured())
    copy = str(tmp_path / "copy.ledger")
    source, target = sqlite3.connect(path), sqlite3.connect(copy)
    source.backup(target)
    source.close()
    target.close()
    shutil.copystat(path, copy)
    assert open_ledger(copy).verify(receipt).holds


def test_a_new_file_that_another_program_holds_is_waited_for(open_ledger, path) -> None:
    # SQLite fails at once where a file that another connection is about to write is to become a WAL file.
    Path(path).touch(0o600)
    looking = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    looking.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.4, looking.execute, ("ROLLBACK",))
    timer.start()
    try:
        assert open_ledger(wait_s=10).verify().holds
    finally:
        timer.join()
        looking.close()


@pytest.mark.parametrize(
    ("offset", "for_s"),
    [(128, 0.4), pytest.param(128, 12, marks=pytest.mark.long), pytest.param(120, 12, marks=pytest.mark.long)],
)
def test_a_slow_process_at_the_index_of_the_log_of_writes_is_waited_for(open_ledger, path, offset, for_s) -> None:
    # Whoever comes first to a ledger that a process left behind makes the index anew. SQLite gives the others ten
    # seconds for that, whatever they are willing to wait, and then says "locking protocol".
    child = os.fork()
    if child == 0:
        open_ledger()
        os._exit(0)
    os.waitpid(child, 0)
    os.truncate(path + "-shm", 0)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        index = os.open(path + "-shm", os.O_RDWR)
        fcntl.lockf(index, fcntl.LOCK_EX, 1, offset)
        os.write(writer, b"x")
        time.sleep(for_s)
        os._exit(0)
    os.read(reader, 1)
    start = time.monotonic()
    assert open_ledger(wait_s=60).verify().holds
    assert time.monotonic() - start > for_s / 2
    os.waitpid(child, 0)


def test_a_session_that_came_by_a_link_is_seen_as_living(open_ledger, question, measured, path, tmp_path) -> None:
    # The lock file would be another one beside the link: to whom comes by the file, the session would look dead.
    open_ledger().close()
    (tmp_path / "link.ledger").symlink_to(path)
    by_link = open_ledger(str(tmp_path / "link.ledger"))
    reservation = by_link.reserve(question())
    assert [entry.state for entry in open_ledger().entries()] == ["reserved"]
    by_link.answer(reservation, measured())
    assert not (tmp_path / "link.ledger.lock").exists()
