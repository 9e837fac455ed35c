"""One place to write: transactions on SQLite or PostgreSQL, one writer at a time, durable when they return.

Flow: `journal` runs every statement inside `writing()` or `reading()`. Relies on `connection`, `lockfile`, `turns`.
SQLite runs in WAL mode with synchronous = FULL: a commit that returned survives a power cut. WAL needs a local disk.
PostgreSQL writers wait for one advisory lock, which the server hands out in order of arrival.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, ClassVar

from dither.errors import InvalidParameter, LedgerConflict, LedgerError
from dither.ledger.storage.connection import Connection, Connections, leave_parents_file
from dither.ledger.storage.failures import held_by_another, translated
from dither.ledger.storage.lockfile import in_use, release_lock_file, shared_lock_file
from dither.ledger.storage.place import check_local, check_ours
from dither.ledger.storage.presence import FilePresence, MemoryPresence, PostgresPresence, Presence
from dither.ledger.storage.statements import Statement
from dither.ledger.storage.turns import ThreadTurns

__all__ = ["FileStore", "MemoryStore", "PostgresStore", "Store", "open_store"]

_WRITER_LOCK = 0x4449 << 48
"""PostgreSQL's advisory locks of writers: this plus the number of the ledger's table, so that two ledgers of one
database do not wait for each other, and one process can write to both. Sessions' own locks are below it."""

_TAKE_WRITER_LOCK = Statement(
    "SELECT pg_catalog.pg_advisory_xact_lock(:key + coalesce(pg_catalog.to_regclass('dither_log')::oid::bigint, 0))"
)
_SCHEMAS_WITH_LEDGERS = Statement(
    "SELECT n.nspname AS name FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relname = 'dither_identity' AND n.nspname = ANY (pg_catalog.current_schemas(false))"
)
_CURRENT_SCHEMA = Statement("SELECT pg_catalog.current_schema() AS name")
_SEARCH = Statement("SELECT pg_catalog.set_config('search_path', :path, false) AS path")

_LOOK = Statement("SELECT count(*) AS tables FROM sqlite_master")

_KEPT_CONNECTIONS = 16
"""Threads that wait for their turn hold a connection each; beyond this number they make one for the occasion."""

_KEPT_ON_A_SERVER = 5
"""Each is a process there."""

_LOOK_S = 0.01


class Store:
    """A database and the way into it. Subclasses: in memory, in a file, on a server."""

    presence: Presence
    _connections: Connections
    _begin_writing: ClassVar[str] = "BEGIN IMMEDIATE"
    _begin_reading: ClassVar[str] = "BEGIN"

    def __init__(self, wait_s: float) -> None:
        self.wait_s = wait_s
        self._process = os.getpid()
        self._closed = False
        with translated():
            self._connect()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that no other writer shares; durable once the block has ended without an error."""
        self._enter()
        # The connection comes before the turn and goes back after it: nobody waits for that.
        with (
            translated(),
            self._connections.taken() as connection,
            self._turn(),
            connection.transaction(self._begin_writing),
        ):
            self._lock(connection)
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the ledger and blocks nobody."""
        self._enter()
        with (
            translated(),
            self._connections.taken() as connection,
            connection.transaction(self._begin_reading),
        ):
            yield connection

    def session(self) -> str:
        """Names this process's session, for `recovery` to ask about."""
        self._enter()
        with translated():
            return self.presence.token()

    def forget_old_pages(self) -> None:
        """Let go of what a replaced row held, as far as the database can; for a file: nothing of it is left in it."""

    def close(self) -> None:
        """End this session. Closing twice is closing once."""
        # A forked child that never used it has nothing to end: what is there is its parent's.
        if not self._closed and self._process == os.getpid():
            with translated():
                self._release()
        self._closed = True

    def _release(self) -> None:
        self.presence.close()
        self._connections.close()

    def _connect(self) -> None:
        """Set `_connections` and `presence`; called at the start and again in a forked child."""
        raise NotImplementedError

    def _turn(self) -> AbstractContextManager[object]:
        raise NotImplementedError

    def _lock(self, connection: Connection) -> None:
        """Wait for other writers inside the transaction, where its BEGIN has not done so."""

    def _enter(self) -> None:
        if self._closed:
            raise LedgerError("The ledger was closed.", code="L-190", hint="Open it again.")
        # Connections and locks belong to the process that made them; a forked child makes its own.
        if self._process != os.getpid():
            with translated():
                self._connect()
            self._process = os.getpid()


class MemoryStore(Store):
    """SQLite in memory: one connection, shared by the threads of one process in turns."""

    def _connect(self) -> None:
        self._threads = ThreadTurns()
        self._connections = Connections(lambda: Connection(_open_sqlite(":memory:", self.wait_s)), most=1)
        self._connection = self._connections.take()
        self.presence = MemoryPresence()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        self._enter()
        with translated(), self._turn(), self._connection.transaction(self._begin_writing):
            yield self._connection

    reading = writing

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with self._threads.turn(self.wait_s) as ours:
            if not ours:
                raise LedgerError("The ledger in memory is busy.", code="L-210", hint="Try again.")
            yield

    def _release(self) -> None:
        self._connection.close()
        super()._release()

    def _enter(self) -> None:
        if self._process != os.getpid():
            # Two copies of one budget would each be spent in full.
            raise LedgerError(
                "A ledger in memory belongs to one process; this one is a forked child.",
                code="L-150",
                hint="Give the ledger a file, which processes can share.",
            )
        super()._enter()


class FileStore(Store):
    """SQLite in a file, with -wal, -shm and .lock beside it, all readable by their owner alone."""

    def __init__(self, path: str, wait_s: float) -> None:
        # Not by way of a link: whoever comes to the same file must find the same lock file beside it.
        self.path = os.path.realpath(path)
        super().__init__(wait_s)

    def _release(self) -> None:
        super()._release()
        release_lock_file(self._locks)

    def _connect(self) -> None:
        leave_parents_file(self.path)
        if not in_use(self.path + ".lock"):
            check_local(self.path)
            check_ours(self.path, wait_s=self.wait_s)
        self._create()
        self._locks = shared_lock_file(self.path + ".lock")
        self.presence = FilePresence(self._locks)
        self._connections = Connections(self._open, most=_KEPT_CONNECTIONS)
        try:
            self._connect_first()
        except BaseException:
            self._connections.close()
            release_lock_file(self._locks)
            raise

    def _open(self) -> Connection:
        return Connection(_open_sqlite(self.path, self.wait_s), file=self.path)

    def _connect_first(self) -> None:
        """Make a new file a WAL file, and the index of its log where there is none, while no other process of ours
        does. SQLite waits at neither as long as it was told: it fails at once where somebody else is about to write
        the new file, and after ten seconds where somebody is at the index."""
        deadline = time.monotonic() + self.wait_s
        while True:
            try:
                with self._turn(), self._connections.taken() as connection, connection.transaction(self._begin_reading):
                    _LOOK.rows(connection)
                return
            except sqlite3.Error as error:
                if not held_by_another(error) or time.monotonic() > deadline:
                    raise
            time.sleep(_LOOK_S)

    def forget_old_pages(self) -> None:
        # The log of writes still holds the row as it was. Where a reader keeps it from being emptied, a later call
        # does that.
        with suppress(sqlite3.Error), self._connections.taken() as connection:
            connection.driver.execute("PRAGMA busy_timeout = 0")
            try:
                connection.driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                connection.driver.execute(f"PRAGMA busy_timeout = {_milliseconds(self.wait_s)}")

    def _turn(self) -> AbstractContextManager[object]:
        return self._locks.turn(self.wait_s)

    def _create(self) -> None:
        """Make the file first, at 0600: SQLite gives -wal and -shm the mode of the file they belong to.
        Only an exclusive creation opens the file here: closing a descriptor would drop locks SQLite holds on it."""
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            for name in (self.path, self.path + "-wal", self.path + "-shm"):
                _narrow(name)


class PostgresStore(Store):
    """The same tables on a PostgreSQL server, in the one schema that they were found in."""

    # Said outright: where a role's default is a stricter level, a writer's snapshot is taken before the lock is given
    # to it, and it would go on from a head that is no longer the last.
    _begin_writing = "BEGIN ISOLATION LEVEL READ COMMITTED"
    # One state for all statements of a reader; writers see the latest, behind the one lock.
    _begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ"

    def __init__(self, url: str, wait_s: float) -> None:
        self._arguments = _arguments(url)
        self._schema: str | None = None
        super().__init__(wait_s)

    def _connect(self) -> None:
        self._connections = Connections(self._open, most=_KEPT_ON_A_SERVER)
        self.presence = PostgresPresence(self._connections)

    def _turn(self) -> AbstractContextManager[object]:
        return nullcontext()

    def _lock(self, connection: Connection) -> None:
        _TAKE_WRITER_LOCK.rows(connection, {"key": _WRITER_LOCK})

    def _open(self) -> Connection:
        import psycopg

        connection = Connection(psycopg.connect(**self._arguments, autocommit=True))
        try:
            connection.driver.execute(
                # A server may be set to acknowledge commits before they are on disk; a reservation may not.
                "SET synchronous_commit = on;"
                # Roles may be set to read only, or to be cut off while they wait for their turn: lock_timeout rules
                # that.
                "SET default_transaction_read_only = off;"
                "SET statement_timeout = 0;"
                # 0 would be no limit at all.
                f"SET lock_timeout = {max(1, _milliseconds(self.wait_s))}"
            )
            self._stay_in_schema(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _stay_in_schema(self, connection: Connection) -> None:
        """Fix the schema at the first connection: tables of the same names that somebody puts into a schema searched
        earlier must not be taken for the ledger by the next one. Temporary tables come last."""
        if self._schema is None:
            found = [row.name for row in _SCHEMAS_WITH_LEDGERS.rows(connection)]
            if len(found) > 1:
                raise LedgerConflict(
                    "There are ledgers in several schemas of this search path.",
                    code="L-225",
                    hint="Name one in the URL: ?options=-csearch_path%3DSCHEMA.",
                )
            self._schema = found[0] if found else _CURRENT_SCHEMA.first(connection).name
        if self._schema is not None:
            path = '"{}", pg_temp'.format(self._schema.replace('"', '""'))
            _SEARCH.rows(connection, {"path": path})


def open_store(url: str, *, wait_s: float) -> Store:
    """`url`: '' for a ledger in memory, a path or sqlite:///path for a file, postgresql://… for a server."""
    if url in ("", ":memory:"):
        return MemoryStore(wait_s)
    if "://" not in url:
        return FileStore(url, wait_s)
    scheme, _, rest = url.partition("://")
    # Another library's way of naming a driver too: postgresql+psycopg://…
    match scheme.lower().partition("+")[0]:
        case "sqlite" if rest == "" or rest.startswith("/"):
            path = rest[1:].partition("?")[0]
            return FileStore(path, wait_s) if path else MemoryStore(wait_s)
        case "postgresql" | "postgres":
            return PostgresStore(f"postgresql://{rest}", wait_s)
        case _:
            raise InvalidParameter("ledger", expected="a path, sqlite:/// or postgresql://", found=scheme)


def _open_sqlite(path: str, wait_s: float) -> sqlite3.Connection:
    # No isolation level: the driver must not begin transactions by itself.
    driver = sqlite3.connect(path, timeout=wait_s, isolation_level=None, check_same_thread=False)
    try:
        for pragma in (
            f"busy_timeout = {_milliseconds(wait_s)}",
            "journal_mode = WAL",
            "synchronous = FULL",
            "fullfsync = ON",
            "foreign_keys = ON",
            # Of a replaced state of a series nothing may stay in the file; nothing else is ever deleted.
            "secure_delete = ON",
            "trusted_schema = OFF",
        ):
            driver.execute(f"PRAGMA {pragma}")
    except BaseException:
        driver.close()
        raise
    return driver


def _arguments(url: str) -> dict[str, Any]:
    """A server's URL, read by PostgreSQL's own library. What it says of one it cannot read would repeat a part of it,
    and a password may be in that."""
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise LedgerError(
            "A ledger on PostgreSQL needs psycopg, which is not installed.",
            code="L-105",
            hint="Install it with: pip install 'dither[postgres]'.",
        ) from None
    with suppress(ProgrammingError, UnicodeError):
        return dict(conninfo_to_dict(url))
    raise InvalidParameter(
        "ledger", expected="postgresql://user@host/database, special characters written as %XX", found="another URL"
    )


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _narrow(path: str) -> None:
    """Take group's and others' access away, from a restored backup for instance; another user's file is left alone."""
    try:
        if os.stat(path).st_mode & 0o077:
            os.chmod(path, 0o600)
    except (FileNotFoundError, PermissionError):
        return
