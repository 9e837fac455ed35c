"""Where a ledger may be kept: files of others stay as they are, and no two machines share one file."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dither.errors import DitherError, LedgerConflict, LedgerError
from dither.ledger.storage import lockfile, place
from dither.ledger.storage.place import check_local
from dither.ledger.storage.schema import APPLICATION_ID


def facts_of(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Name -> mode, time of the last change, content: all that opening something else must leave alone."""
    found = {}
    for path in sorted(folder.iterdir()):
        state = path.stat()
        found[path.name] = stat.S_IMODE(state.st_mode), state.st_mtime_ns, path.read_bytes()
    return found


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database_of_another_program_stays_as_it_is(open_ledger, tmp_path, path, journal) -> None:
    # It once became readable by its owner alone, and a WAL file with a lock file beside it, before it was refused.
    with sqlite3.connect(path) as other:
        other.execute(f"PRAGMA journal_mode = {journal}")
        other.execute("CREATE TABLE patients (id)")
    other.close()
    os.chmod(path, 0o644)
    before = facts_of(tmp_path)
    with pytest.raises(LedgerError) as refused:
        open_ledger()
    assert refused.value.code == "L-160"
    assert facts_of(tmp_path) == before


def test_a_text_file_stays_as_it_is(open_ledger, tmp_path, path) -> None:
    Path(path).write_text("patients;visits\n" * 500)
    os.chmod(path, 0o644)
    before = facts_of(tmp_path)
    with pytest.raises(LedgerError):
        open_ledger()
    assert facts_of(tmp_path) == before


def test_a_database_in_use_by_another_program_is_refused_while_it_writes(open_ledger, path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("CREATE TABLE patients (id)")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError) as refused:
        open_ledger(wait_s=0.2)
    assert refused.value.code == "L-160"
    other.execute("INSERT INTO patients VALUES (1)")
    other.execute("COMMIT")
    other.close()


def test_what_is_no_file_is_said_and_does_not_hang(open_ledger, tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe.ledger")
    (tmp_path / "folder.ledger").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s.ledger"))
    for name in ("pipe.ledger", "folder.ledger", "s.ledger"):
        with pytest.raises(LedgerError) as refused:
            open_ledger(str(tmp_path / name))
        assert refused.value.code == "L-140"


MOUNTS = """\
22 1 8:1 / / rw - ext4 /dev/sda1 rw
23 22 0:30 / /srv/data rw - nfs4 server:/data rw
24 23 8:2 / /srv/data/local rw shared:1 - xfs /dev/sdb rw
25 22 0:31 / /mnt/a\\040share rw - cifs //server/share rw
26 22 0:32 / /twice rw - nfs server:/x rw
27 22 8:3 / /twice rw - ext4 /dev/sdc rw
"""


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("/srv/data/x.ledger", "nfs4"),
        ("/srv/data/deep/er/x.ledger", "nfs4"),
        ("/mnt/a share/x.ledger", "cifs"),
        ("/srv/data/local/x.ledger", None),
        ("/srv/database/x.ledger", None),
        ("/twice/x.ledger", None),
        ("/x.ledger", None),
    ],
)
def test_a_network_s_file_system_is_refused(tmp_path, place, kind) -> None:
    listed = tmp_path / "mountinfo"
    listed.write_text(MOUNTS)
    if kind is None:
        check_local(place, str(listed))
        return
    with pytest.raises(LedgerError, match=kind) as refused:
        check_local(place, str(listed))
    assert refused.value.code == "L-145"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel does not name itself")
def test_a_ledger_open_on_another_machine_is_refused_until_its_session_ends(
    open_ledger, question, path, monkeypatch
) -> None:
    # Two containers of one machine share its kernel, and may share the file.
    open_ledger().reserve(question())
    reader, writer = os.pipe()
    release, hold = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            # As on another machine: the lock file alone, since SQLite here would be SQLite of this machine.
            monkeypatch.setattr(lockfile, "_running_system", lambda: 12345)
            try:
                lockfile.LockFile(path + ".lock")
            except DitherError as error:
                os.write(writer, error.code.encode())
            os.read(release, 1)
        finally:
            os._exit(0)
    assert os.read(reader, 10) == b"L-155"
    os.write(hold, b"x")
    os.waitpid(child, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel does not name itself")
def test_a_ledger_that_another_machine_has_open_is_not_opened_here(open_ledger, question, path, monkeypatch) -> None:
    open_ledger().close()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            monkeypatch.setattr(lockfile, "_running_system", lambda: 12345)
            kept = lockfile.LockFile(path + ".lock")
            os.write(writer, b"x")
            signal.pause()
            kept.close()
        finally:
            os._exit(0)
    os.read(reader, 1)
    with pytest.raises(LedgerError) as refused:
        open_ledger()
    assert refused.value.code == "L-155"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    # A machine that died holds nothing any more: no lock file has to be removed by hand.
    assert open_ledger().reserve(question()).entry_id


def test_sessions_of_one_machine_do_not_mind_each_other(open_ledger, question) -> None:
    ledger = open_ledger()
    child = os.fork()
    if child == 0:
        status = 70
        try:
            open_ledger().reserve(question())
            status = 0
        except LedgerConflict:
            status = 71
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("before", ["nothing", "an empty log of writes"])
@pytest.mark.parametrize("between", [1, 2, 3])
def test_a_ledger_that_another_process_makes_while_one_looks_is_ours(path, monkeypatch, before, between) -> None:
    # The number of a file's program was read before the tables were made and the tables after: it had none, and they
    # were there, so the ledger was refused as another program's database.
    with sqlite3.connect(path) as empty:
        empty.execute("PRAGMA journal_mode = WAL").fetchall()
    beside = sqlite3.connect(path) if before == "an empty log of writes" else None
    if beside is not None:
        beside.execute("SELECT count(*) FROM sqlite_master").fetchall()
    empty.close()
    looks = []

    class Watched(sqlite3.Connection):
        def execute(self, *words: object) -> sqlite3.Cursor:
            looks.append(words)
            if len(looks) == between:
                subprocess.run([sys.executable, "-c", _MAKE_LEDGER, path], check=True)
            return super().execute(*words)  # type: ignore[arg-type]

    real = sqlite3.connect
    monkeypatch.setattr(place.sqlite3, "connect", lambda *a, **k: real(*a, factory=Watched, **k))
    place.check_ours(path, wait_s=5)
    assert len(looks) >= between


_MAKE_LEDGER = f"""
import sqlite3, sys
made = sqlite3.connect(sys.argv[1], isolation_level=None)
made.execute("PRAGMA journal_mode = WAL")
made.execute("BEGIN IMMEDIATE")
made.execute("PRAGMA application_id = {APPLICATION_ID}")
for number in range(50):
    made.execute(f"CREATE TABLE dither_{{number}} (id, {", ".join(f"a_longer_name_{k}" for k in range(20))})")
made.execute("COMMIT")
"""
