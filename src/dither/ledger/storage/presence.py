"""Is the process that reserved a question still there? Asked by `recovery`, answered without trusting process ids.

Flow: `reserve` writes `token()` into the entry; `recover` asks `alive` of each unanswered entry's token.
Relies on locks that the kernel (a ledger file's lock file) or the server (PostgreSQL) drops when their holder is gone.
"""

from __future__ import annotations

import secrets
import threading
from typing import Protocol

from dither.ledger.storage.connection import Connection, Connections
from dither.ledger.storage.lockfile import LockFile
from dither.ledger.storage.statements import Statement

__all__ = ["FilePresence", "MemoryPresence", "PostgresPresence", "Presence"]

_HOLD = Statement("SELECT pg_catalog.pg_advisory_lock(:number)")
_TRY = Statement("SELECT pg_catalog.pg_try_advisory_xact_lock(:number) AS free")


class Presence(Protocol):
    def token(self) -> str:
        """Names this session for as long as it lives."""

    def alive(self, connection: Connection, token: str) -> bool:
        """Whether the session so named still lives. `connection` is in a write transaction."""

    def close(self) -> None:
        """End this session."""


class MemoryPresence:
    """A ledger in memory has one session, and dies with it."""

    def token(self) -> str:
        return "0"

    def alive(self, connection: Connection, token: str) -> bool:
        return token == "0"

    def close(self) -> None:
        return


class FilePresence:
    """A session is a locked byte of the lock file; it ends when the file is closed."""

    def __init__(self, file: LockFile) -> None:
        self._file = file

    def token(self) -> str:
        return f"{self._file.session:x}"

    def alive(self, connection: Connection, token: str) -> bool:
        return self._file.session_alive(int(token, 16))

    def close(self) -> None:
        return


class PostgresPresence:
    """A session is an advisory lock held by a connection of its own."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        # Threads share the connection; two that found none would each name the session, and one name would be no lock.
        self._guard = threading.Lock()
        self._connection: Connection | None = None
        self._number = 0

    def token(self) -> str:
        # A dropped connection dropped the lock: others may have counted the session as dead, so it gets a new name.
        with self._guard:
            if self._connection is None or not self._connection.answers():
                self._let_go()
                # For good: given back it would keep the lock.
                connection, number = self._connections.take(), secrets.randbits(62)
                _HOLD.rows(connection, {"number": number})
                self._connection, self._number = connection, number
            return f"{self._number:x}"

    def alive(self, connection: Connection, token: str) -> bool:
        return token == self.token() or not _TRY.first(connection, {"number": int(token, 16)}).free

    def close(self) -> None:
        with self._guard:
            self._let_go()

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
