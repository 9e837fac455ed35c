"""Turns among threads and processes, and what a dead process leaves behind."""

from __future__ import annotations

import os
import signal
import threading
import time

from dither.ledger.storage.lockfile import _DISPENSER, _TURN, LockFile, release_lock_file, shared_lock_file
from dither.ledger.storage.turns import ThreadTurns


def in_child(work) -> int:
    """Run `work` in a forked child, which exits with its result; returns the child's id."""
    child = os.fork()
    if child == 0:
        status = 70
        try:
            status = int(work() or 0)
        finally:
            os._exit(status)
    return child


def exit_status(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_threads_are_served_in_the_order_they_came() -> None:
    turns, served, threads = ThreadTurns(), [], []
    with turns.turn(1):
        for number in range(8):
            thread = threading.Thread(target=lambda n=number: _serve(turns, served, n))
            thread.start()
            threads.append(thread)
            while len(turns._line) < number + 1:
                time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert served == list(range(8))


def _serve(turns: ThreadTurns, served: list[int], number: int) -> None:
    with turns.turn(10):
        served.append(number)


def test_who_gives_up_waiting_leaves_the_line() -> None:
    turns = ThreadTurns()
    with turns.turn(1) as first, turns.turn(0.01) as second:
        assert first and not second
    with turns.turn(0.01) as third:
        assert third


def test_a_process_opens_a_lock_file_once(tmp_path) -> None:
    # A second descriptor would drop all locks when closed.
    path = str(tmp_path / "x.lock")
    first, second = shared_lock_file(path), shared_lock_file(path)
    assert first is second
    release_lock_file(first)
    assert exit_status(in_child(lambda: not LockFile(path).session_alive(second.session))) == 0
    release_lock_file(second)


def test_a_session_ends_with_its_process(tmp_path) -> None:
    path = str(tmp_path / "x.lock")
    reader, writer = os.pipe()

    def live_until_killed() -> None:
        os.write(writer, f"{shared_lock_file(path).session}\n".encode())
        time.sleep(60)

    child = in_child(live_until_killed)
    session = int(os.read(reader, 100))
    file = shared_lock_file(path)
    assert file.session_alive(session) and file.session_alive(file.session)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert not file.session_alive(session)
    release_lock_file(file)


def test_a_forked_child_is_a_session_of_its_own(tmp_path) -> None:
    path = str(tmp_path / "x.lock")
    ours = shared_lock_file(path)
    assert exit_status(in_child(lambda: shared_lock_file(path) is ours)) == 0
    release_lock_file(ours)


def test_turns_exclude_processes_and_survive_a_death_in_line(tmp_path) -> None:
    path, count = str(tmp_path / "x.lock"), tmp_path / "count"
    count.write_text("0")

    def add(die_after: int | None) -> None:
        file = shared_lock_file(path)
        for number in range(50):
            with file.turn(10):
                if number == die_after:
                    os.kill(os.getpid(), signal.SIGKILL)
                count.write_text(str(int(count.read_text()) + 1))

    children = [in_child(lambda n=n: add(10 if n == 0 else None)) for n in range(4)]
    statuses = sorted(exit_status(child) for child in children)
    assert statuses == [-signal.SIGKILL, 0, 0, 0]
    assert int(count.read_text()) == 10 + 3 * 50


def test_a_stopped_process_in_line_holds_others_up_for_the_wait_only(tmp_path) -> None:
    path = str(tmp_path / "x.lock")
    reader, writer = os.pipe()

    def hold() -> None:
        with shared_lock_file(path).turn(10):
            os.write(writer, b"x")
            time.sleep(60)

    child = in_child(hold)
    os.read(reader, 1)
    file, start = shared_lock_file(path), time.monotonic()
    with file.turn(0.2):
        waited = time.monotonic() - start
    assert 0.15 < waited < 2
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    release_lock_file(file)


def test_a_busy_process_cannot_keep_others_waiting(tmp_path) -> None:
    # Without the head of the line growing impatient, a writer that comes straight back finds the turn free each time.
    path = str(tmp_path / "x.lock")
    reader, writer = os.pipe()

    def hammer() -> None:
        file = shared_lock_file(path)
        os.write(writer, b"x")
        while True:
            with file.turn(10):
                time.sleep(0.002)

    child = in_child(hammer)
    os.read(reader, 1)
    file, longest = shared_lock_file(path), 0.0
    for _ in range(10):
        start = time.monotonic()
        with file.turn(10):
            longest = max(longest, time.monotonic() - start)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    release_lock_file(file)
    assert longest < 1


def test_a_process_stopped_at_the_dispenser_holds_others_up_for_the_wait_only(tmp_path) -> None:
    path = str(tmp_path / "x.lock")
    reader, writer = os.pipe()

    def stop_there() -> None:
        file = shared_lock_file(path)
        assert file._try_lock(_TURN) and file._try_lock(_DISPENSER)
        os.write(writer, b"x")
        time.sleep(10)

    child = in_child(stop_there)
    os.read(reader, 1)
    file, start = shared_lock_file(path), time.monotonic()
    with file.turn(0.2):
        waited = time.monotonic() - start
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    release_lock_file(file)
    assert 0.15 < waited < 2


def test_two_lock_files_in_two_processes_are_no_deadlock(tmp_path) -> None:
    # The kernel looks for cycles among processes, and knows nothing of threads: what it takes for one must not be an
    # error here. Each process holds one dispenser; a thread of each asks for the other's.
    paths = [str(tmp_path / f"{name}.lock") for name in "ab"]
    ready, begin = os.pipe(), os.pipe()

    def cross(held: int) -> int:
        files = [shared_lock_file(path) for path in paths]
        for offset in (_TURN, _DISPENSER):
            assert files[held]._try_lock(offset)
        os.write(ready[1], b"x")
        os.read(begin[0], 1)
        failed: list[BaseException] = []

        def wait() -> None:
            try:
                with files[1 - held].turn(0.5):
                    pass
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        thread.join(2)
        return 1 if failed else 0

    children = [in_child(lambda n=n: cross(n)) for n in range(2)]
    for _ in children:
        os.read(ready[0], 1)
    os.write(begin[1], b"xx")
    assert [exit_status(child) for child in children] == [0, 0]
