"""Processes that do something, say so through a pipe, and die where a test wants them to.

Flow: the simulations of the ledger run their lives in children: `forked` gives back what a child said before it ended,
`die_at_step` kills the process that calls it at its n-th step from then on. A step is the beginning of a statement on
SQLite or PostgreSQL (BEGIN too, and COMMIT on SQLite), a commit about to happen, or a connection given back after one.
Forked deaths are eight times cheaper than spawned ones.
`hooked` is how a test comes between a ledger and its connections, here and elsewhere.
"""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from dither.ledger.storage.connection import Connection, Connections

__all__ = ["at_step", "die", "die_at_step", "forked", "forked_at_once", "hooked", "traced"]

_for_good = ExitStack()


def forked(run: Callable[[int], object], *, kill_after_s: float | None = None) -> tuple[list[str], bool]:
    """The lines that a forked child wrote to the descriptor given to `run`, and whether it was killed.
    kill_after_s: kill it from outside after that time. A child that fails in any other way fails the test."""
    reader, pid = _start(run)
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        os.kill(pid, signal.SIGKILL)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert ended in (0, -signal.SIGKILL), said
    return said.splitlines(), ended != 0


def forked_at_once(run: Callable[[int, int], object], processes: int) -> list[list[str]]:
    """What each of several children said; `run` is given its number and the descriptor. None of them may fail."""
    children = [_start(lambda writer, number=number: run(number, writer)) for number in range(processes)]  # type: ignore[misc]
    said = []
    for reader, _ in children:
        with os.fdopen(reader) as pipe:
            said.append(pipe.read())
    ended = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for _, pid in children]
    assert ended == [0] * processes, "\n".join(said)
    return [text.splitlines() for text in said]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at_step(step: int) -> Callable[..., None]:
    """Kill this process at its `step`-th step from now on. Returns the counter, for steps of a test's own."""
    return at_step(step, lambda _: die())


def at_step(step: int, act: Callable[[Any], None]) -> Callable[..., None]:
    """Call `act` at this process's `step`-th step from now on, with the driver's connection where there is one.
    The hooks stay: for a child that ends with the test."""
    left = step

    def count(connection: Any = None, *_: object, **__: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            act(connection)

    hooks = hooked(
        taken=lambda connection: traced(connection.driver, count),
        committing=lambda connection: count(connection.driver),
        # The commit is done, the caller does not know yet.
        given_back=lambda connection: count(connection.driver),
    )
    _for_good.enter_context(hooks)
    return count


@contextmanager
def hooked(
    *,
    taken: Callable[[Connection], object] | None = None,
    committing: Callable[[Connection], object] | None = None,
    given_back: Callable[[Connection], object] | None = None,
) -> Iterator[None]:
    """Have these called, in all ledgers of this process, once a connection was taken to be used, when a transaction on
    it is about to be committed, and once it was given back."""
    take, commit, give_back = Connections.take, Connection.commit, Connections.give_back

    def take_and_tell(self: Connections) -> Connection:
        connection = take(self)
        if taken is not None:
            taken(connection)
        return connection

    def tell_and_commit(self: Connection) -> None:
        if committing is not None:
            committing(self)
        commit(self)

    def give_back_and_tell(self: Connections, connection: Connection) -> None:
        give_back(self, connection)
        if given_back is not None:
            given_back(connection)

    Connections.take, Connection.commit, Connections.give_back = take_and_tell, tell_and_commit, give_back_and_tell  # type: ignore[method-assign]
    try:
        yield
    finally:
        Connections.take, Connection.commit, Connections.give_back = take, commit, give_back  # type: ignore[method-assign]


def traced(connection: Any, count: Callable[..., object]) -> None:
    """Have `count` called at the beginning of each statement on a driver's connection."""
    if hasattr(connection, "set_trace_callback"):
        connection.set_trace_callback(count)
    else:
        connection.cursor_factory = _counting(count)


def _counting(count: Callable[..., object]) -> type[Any]:
    """psycopg's cursor, with `count` at the beginning of each statement."""
    import psycopg

    class Counting(psycopg.Cursor[Any]):
        def execute(self, *arguments: Any, **named: Any) -> Any:
            count(self.connection)
            return super().execute(*arguments, **named)

        def executemany(self, *arguments: Any, **named: Any) -> None:
            count(self.connection)
            super().executemany(*arguments, **named)

    return Counting


def _start(run: Callable[[int], object]) -> tuple[int, int]:
    """(where to read, process) of a child."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reader)
            run(writer)
            status = 0
        except BaseException:
            os.write(writer, traceback.format_exc().encode())
        finally:
            os._exit(status)
    os.close(writer)
    return reader, pid
