"""What a Ctrl-C does to a query that would take an hour: it ends at once, whichever thread of DuckDB reads."""

from __future__ import annotations

import subprocess
import sys
import threading
from types import SimpleNamespace

import duckdb
import pytest

from dither.engines.stopping import stoppable

HOURS = "SELECT count(*) FROM range(10000000000000) AS r(i) WHERE i % 7 = 3"

# In a process of its own, lest the signal find another test; where tests run in the background, children are born deaf.
PROGRAM = f"""
import os, signal, threading
import duckdb
from dither.engines.stopping import stoppable

signal.signal(signal.SIGINT, signal.default_int_handler)
connection = duckdb.connect()
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    stoppable(connection, lambda: connection.execute({HOURS!r}).fetchall())
except KeyboardInterrupt:
    print(connection.execute("SELECT 7").fetchone())
"""


def test_a_signal_ends_the_query_and_the_connection_goes_on() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=100)
    assert ended.stdout == "(7,)\n", ended.stderr


def test_what_the_work_returns_or_raises_comes_out() -> None:
    connection = duckdb.connect()
    assert stoppable(connection, lambda: connection.execute("SELECT 7").fetchone()) == (7,)
    with pytest.raises(duckdb.ConversionException):
        stoppable(connection, lambda: connection.execute("SELECT 'x'::INTEGER").fetchone())


def test_an_interrupt_before_the_query_begins_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB forgets what interrupts a connection that does nothing yet."""
    connection = duckdb.connect()
    interrupted = threading.Event()

    def work() -> object:
        assert interrupted.wait(60)
        return connection.execute(HOURS).fetchall()

    class Connection:
        def interrupt(self) -> None:
            connection.interrupt()
            interrupted.set()

    class Ended(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            if timeout is None:
                raise KeyboardInterrupt
            return super().wait(timeout)

    # Threads have events of their own, which work as ever.
    names = ("Thread", "current_thread", "main_thread")
    own = SimpleNamespace(Event=Ended, **{name: getattr(threading, name) for name in names})
    monkeypatch.setattr("dither.engines.stopping.threading", own)
    with pytest.raises(KeyboardInterrupt):
        stoppable(Connection(), work)  # type: ignore[arg-type]


def test_other_threads_work_by_themselves() -> None:
    """Signals do not come to them, and servers answer in them."""
    connection, ran_in = duckdb.connect(), []
    thread = threading.Thread(target=lambda: stoppable(connection, lambda: ran_in.append(threading.current_thread())))
    thread.start()
    thread.join()
    assert ran_in == [thread]
