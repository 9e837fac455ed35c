"""Work of DuckDB that a Ctrl-C ends at once.

Flow: whatever reads a whole table goes through `stoppable`, from the engine's questions to the copy of a CSV file.
Left to itself DuckDB notices a signal, and then waits for its other threads, which read on to the end of the table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import duckdb

__all__ = ["stoppable"]

T = TypeVar("T")

_AGAIN_S = 0.05


def stoppable(connection: duckdb.DuckDBPyConnection, work: Callable[[], T]) -> T:
    """What `work`, which uses this connection, returns or raises. A KeyboardInterrupt ends it first."""
    if threading.current_thread() is not threading.main_thread():
        return work()  # signals come to the main thread alone
    returned: list[T] = []
    raised: list[BaseException] = []
    ended = threading.Event()  # not Thread.join: interrupted, it takes the thread for ended

    def working() -> None:
        try:
            returned.append(work())
        except BaseException as error:
            raised.append(error)  # again in the thread that waits
        finally:
            ended.set()

    worker = threading.Thread(target=working, daemon=True)
    try:
        worker.start()
        ended.wait()
    except KeyboardInterrupt:
        # Once is not enough: where the query has not begun, an interrupt is forgotten when it does.
        while worker.is_alive() and not ended.wait(_AGAIN_S):
            connection.interrupt()
        raise
    if raised:
        raise raised[0]
    return returned[0]
