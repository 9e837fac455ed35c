"""What a database said, in our words: every error of the ledger's store becomes a LedgerError with a way forward.

Flow: `store` wraps its transactions in `translated`. Relies on SQLite's numeric result codes and on PostgreSQL's
states, never on the text of a message.
"""

from __future__ import annotations

import errno
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dither.errors import DitherError, GuaranteeError, LedgerConflict, LedgerCorrupt, LedgerError

__all__ = ["held_by_another", "translated"]

_KEPT = "Nothing was answered. A question already reserved stays charged."

_SQLITE: dict[int, tuple[type[LedgerError], str, str, str]] = {
    sqlite3.SQLITE_BUSY: (LedgerConflict, "L-210", "another program holds it", "Try again; end a stuck writer."),
    # What it calls a locking protocol is the same in another place: the index of the log of writes was not let go of.
    sqlite3.SQLITE_PROTOCOL: (LedgerConflict, "L-210", "another program holds it", "Try again; end a stuck writer."),
    sqlite3.SQLITE_LOCKED: (LedgerConflict, "L-210", "another program holds it", "Try again; end a stuck writer."),
    sqlite3.SQLITE_READONLY: (LedgerError, "L-110", "it is read-only", "Make the file and its folder writable."),
    sqlite3.SQLITE_PERM: (LedgerError, "L-110", "access is denied", "Make the file and its folder writable."),
    sqlite3.SQLITE_IOERR: (LedgerError, "L-120", "the disk fails or is full", "Check the disk, then ask again."),
    sqlite3.SQLITE_FULL: (LedgerError, "L-130", "the disk is full", "Free some space, then ask again."),
    sqlite3.SQLITE_CANTOPEN: (LedgerError, "L-140", "it cannot be opened", "Check that the folder exists and is ours."),
    sqlite3.SQLITE_CORRUPT: (LedgerCorrupt, "L-310", "the file is damaged", "Restore a backup as documented."),
    sqlite3.SQLITE_NOTADB: (LedgerCorrupt, "L-310", "the file is not a ledger", "Check the path under [dataset]."),
}

_POSTGRES: dict[str, tuple[type[LedgerError], str, str, str]] = {
    # lock_timeout went by.
    "55P03": (LedgerConflict, "L-210", "another program holds it", "Try again; end a stuck writer."),
    "25006": (LedgerError, "L-110", "it is read-only", "Connect to the primary server, as a role that may write."),
    "42501": (LedgerError, "L-110", "access is denied", "Grant this role the ledger's tables."),
    "53100": (LedgerError, "L-130", "the disk is full", "Free some space, then ask again."),
    "58030": (LedgerError, "L-120", "the disk fails or is full", "Check the disk, then ask again."),
    "XX001": (LedgerCorrupt, "L-310", "a table is damaged", "Restore a backup as documented."),
    "XX002": (LedgerCorrupt, "L-310", "an index is damaged", "Restore a backup as documented."),
}
"""By PostgreSQL's own states. Class 23, a broken constraint, is apart."""

_SYSTEM = {
    errno.ENOSPC: sqlite3.SQLITE_FULL,
    errno.EDQUOT: sqlite3.SQLITE_FULL,
    # A limit on the size of files (ulimit -f).
    errno.EFBIG: sqlite3.SQLITE_FULL,
    errno.EROFS: sqlite3.SQLITE_READONLY,
    errno.EACCES: sqlite3.SQLITE_READONLY,
    errno.EPERM: sqlite3.SQLITE_READONLY,
    errno.EIO: sqlite3.SQLITE_IOERR,
}


@contextmanager
def translated() -> Iterator[None]:
    """Turns drivers' and operating system errors inside it into errors of ours."""
    try:
        yield
    except DitherError:
        raise
    except _driver_errors() as error:
        raise _of_database(error) from error
    except OSError as error:
        raise _of_code(_SYSTEM.get(error.errno or 0, sqlite3.SQLITE_CANTOPEN)) from error


def held_by_another(error: BaseException) -> bool:
    """Whether SQLite gave up because another connection was in the way: then waiting may help."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    return code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL)


def _driver_errors() -> tuple[type[BaseException], ...]:
    """A ledger in a file does not load psycopg, and what was not loaded raised nothing."""
    server = getattr(sys.modules.get("psycopg"), "Error", None)
    return (sqlite3.Error,) if server is None else (sqlite3.Error, server)


def _of_database(error: BaseException) -> DitherError:
    code, state = getattr(error, "sqlite_errorcode", None), getattr(error, "sqlstate", None) or ""
    if (code or 0) & 0xFF == sqlite3.SQLITE_CONSTRAINT or state.startswith("23"):
        return GuaranteeError("The ledger refused a row that should have been in order.")
    if code is not None:
        # The low byte is the primary result code; the rest refines it.
        return _of_code(code & 0xFF)
    if state in _POSTGRES:
        return _said(_POSTGRES[state])
    return LedgerError("The ledger's database cannot be used.", hint=f"Check that it runs and admits us. {_KEPT}")


def _of_code(code: int) -> LedgerError:
    return _said(_SQLITE.get(code, (LedgerError, "L-100", "its database reports an error", "Try again.")))


def _said(failure: tuple[type[LedgerError], str, str, str]) -> LedgerError:
    kind, number, what, hint = failure
    return kind(f"The ledger cannot be used: {what}.", code=number, hint=f"{hint} {_KEPT}")
