"""A connection to SQLite or PostgreSQL: the transaction on it, and the few connections that are kept for the next one.

Flow: `store` takes connections and begins transactions, `statements` runs text on them. Relies on the two drivers,
sqlite3 and psycopg, in their autocommit modes: a transaction begins and ends where it is said here and nowhere else.

A connection belongs to the process that made it. In a forked child, one to a server is left alone for good: closing it
would end the parent's session there. One to a file is closed before the child opens a ledger's file: SQLite keeps for
each file what locks the process has on it, and a child would take its parent's for its own. The parent, closing the
ledger, would then find itself the last, remove the log of writes, and with it what the child wrote.
"""

from __future__ import annotations

import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal
from weakref import WeakSet

from dither.errors import GuaranteeError, LedgerError

__all__ = ["Connection", "Connections", "leave_parents_file"]

_IDLE, _OPEN, _FAILED = 0, 2, 3
"""What PostgreSQL's library says of a connection's transaction: none; one; one that can only be rolled back."""


class Connection:
    def __init__(self, driver: Any, *, file: str | None = None) -> None:
        self.driver = driver
        """The driver's own connection."""
        self.file = file
        self.dialect: Literal["sqlite", "postgresql"] = (
            "sqlite" if isinstance(driver, sqlite3.Connection) else "postgresql"
        )
        self.in_use = True
        self.closed = False
        self._process = os.getpid()
        _made.add(self)

    @property
    def inherited(self) -> bool:
        """Whether another process made it, and this one is a forked child."""
        return self._process != os.getpid()

    @property
    def reusable(self) -> bool:
        """Whether it is open, and without a transaction."""
        return not self.closed and self._transaction() == _IDLE

    @contextmanager
    def transaction(self, begin: str) -> Iterator[None]:
        """Committed once the block has ended without an error, else rolled back.  begin: the SQL that begins it."""
        try:
            self.driver.execute(begin)
            yield
            self.commit()
        except BaseException:
            self._roll_back()
            raise

    def commit(self) -> None:
        # An error in the middle may have ended the transaction: SQLite would then write each later statement by itself,
        # and PostgreSQL take COMMIT for ROLLBACK, both without a word. A forked child has no transaction of its own.
        if self.inherited or self._transaction() in (_IDLE, _FAILED):
            raise GuaranteeError("A transaction of the ledger ended before all of it was written.")
        self.driver.commit()

    def answers(self) -> bool:
        """Whether there is still somebody at the other end; of a file there always is."""
        if self.dialect == "sqlite":
            return True
        try:
            self.driver.execute("SELECT 1")
        except Exception:
            return False
        return True

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            if not self.inherited or self.dialect == "sqlite":
                self.driver.close()

    def _roll_back(self) -> None:
        if self.inherited:
            return
        # What went wrong first is what is told.
        try:
            self.driver.rollback()
        except Exception:
            with suppress(Exception):
                self.close()

    def _transaction(self) -> int:
        if self.dialect == "sqlite":
            return _OPEN if self.driver.in_transaction else _IDLE
        return int(self.driver.pgconn.transaction_status)


class Connections:
    """Makes connections, and keeps those that nobody uses just now, up to `most` of them."""

    def __init__(self, make: Callable[[], Connection], *, most: int) -> None:
        self._make = make
        self._most = most
        # Of a deque, appending and popping are atomic: there is no lock that a fork could leave held.
        self._kept: deque[Connection] = deque()
        self._closed = False

    @contextmanager
    def taken(self) -> Iterator[Connection]:
        """A connection for one transaction."""
        connection = self.take()
        try:
            yield connection
        finally:
            self.give_back(connection)

    def take(self) -> Connection:
        """The connection used last, or a new one. A server that was started again ended the kept ones."""
        while (connection := self._pop()) is not None:
            connection.in_use = True
            if connection.answers():
                return connection
            connection.close()
        return self._make()

    def give_back(self, connection: Connection) -> None:
        if connection.inherited:
            # Its transaction goes on in the parent.
            return
        if connection.reusable and len(self._kept) < self._most:
            connection.in_use = False
            self._kept.append(connection)
        else:
            connection.close()
        if self._closed:
            self.end_kept()

    def end_kept(self) -> None:
        """Close those that nobody uses."""
        while (connection := self._pop()) is not None:
            connection.close()

    def close(self) -> None:
        """Close them all, those in use as soon as they are given back."""
        self._closed = True
        self.end_kept()

    def _pop(self) -> Connection | None:
        try:
            return self._kept.pop()
        except IndexError:
            return None


_made: WeakSet[Connection] = WeakSet()

_not_ours: list[Connection] = []
"""What a forked child inherited. It holds on to it, for what nobody holds any more is closed."""


def leave_parents_file(file: str) -> None:
    """In a forked child, before it opens `file`: close the connections to files that it inherited. Raises LedgerError
    when one to this file was in use at the fork: to close it could wait without end, for a thread that is not there."""
    inherited = [connection for connection in list(_made) if connection.inherited and not connection.closed]
    for connection in inherited:
        if connection.in_use and connection.file == file:
            raise LedgerError(
                "This process was forked while a thread was using the ledger, and cannot tell their locks apart.",
                code="L-150",
                hint="Fork while nothing is asked, or begin processes anew (multiprocessing: spawn, forkserver).",
            )
    for connection in inherited:
        if connection.file is not None and not connection.in_use:
            with suppress(sqlite3.Error):
                connection.close()


def _after_fork() -> None:
    _not_ours.extend(list(_made))


os.register_at_fork(after_in_child=_after_fork)
