"""May a ledger be kept at this path? Looked at before anything there is opened for writing, narrowed or created.

Flow: `FileStore` asks before it makes its lock file. Relies on the file system, on SQLite to look at a file, and on
Linux's list of mounts. What is not ours is left exactly as it was: not its mode, not its journal, no file beside it.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterable
from contextlib import closing
from urllib.parse import quote

from dither.errors import LedgerError
from dither.ledger.storage.failures import held_by_another
from dither.ledger.storage.schema import APART_APPLICATION_ID, APPLICATION_ID

__all__ = ["check_local", "check_ours"]

_LOOK_S = 0.01
_MOUNTS = "/proc/self/mountinfo"

# fmt: off
_SHARED = frozenset((
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "ceph", "lustre", "gpfs", "beegfs", "orangefs", "pvfs2",
    "gfs2", "ocfs2", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone",
))
# fmt: on
"""File systems that several machines can mount. SQLite keeps the index of its log of writes in memory that the
processes of one machine share; two machines would each write as if they were alone."""


def check_local(path: str, mounts: str = _MOUNTS) -> None:
    """Raises LedgerError where the folder of `path` lies on a file system of a network. Where there is no list of
    mounts, or it cannot be read, nothing is known and nothing is said."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as listed:
            kind = _file_system(os.path.dirname(path), listed)
    except OSError:
        return
    if kind in _SHARED:
        raise LedgerError(
            f"The ledger lies on a network's file system ({kind}), where two machines could spend one budget twice.",
            code="L-145",
            hint="Keep it on a disk of this machine, or on PostgreSQL, which machines can share.",
        )


def check_ours(path: str, *, wait_s: float) -> None:
    """Raises LedgerError or a SQLite error unless there is nothing at `path`, an empty file, or a ledger. Closing a
    descriptor drops every lock the process has on its file: not to be called while this process has the ledger open.
    wait_s: how long to wait for who is at the index of a log of writes that a dead process left."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode):
        raise LedgerError(
            "What is at the ledger's path is no file.", code="L-140", hint="Give `ledger` under [dataset] another path."
        )
    if found.st_size == 0:
        return
    deadline = time.monotonic() + wait_s
    while True:
        before = _state(path)
        try:
            ours, tables = _looked_at(path, log_beside=before[0])
            # Without locks, what was read is of one moment only where the file is still as it was.
            if before[0] or _state(path) == before or time.monotonic() > deadline:
                break
        except sqlite3.Error as error:
            in_motion = held_by_another(error) or _state(path) != before
            if not in_motion or time.monotonic() > deadline:
                raise
        time.sleep(_LOOK_S)
    if tables and ours not in (APPLICATION_ID, APART_APPLICATION_ID):
        raise LedgerError(
            "The file is a database of another program, not a ledger.",
            code="L-160",
            hint="Give `ledger` under [dataset] a path of its own.",
        )


def _looked_at(path: str, *, log_beside: bool) -> tuple[int, int]:
    """(application id, number of tables) of a database file, both of one moment: another process may be making the
    ledger just now."""
    # Without a log of writes beside it the file is whole by itself, and looking needs neither locks nor other files.
    address = f"file:{quote(path)}?mode=ro{'' if log_beside else '&immutable=1'}"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        (ours,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone()
    return ours, tables


def _state(path: str) -> tuple[bool, int, int]:
    """(whether there is a log of writes beside it, size, time of the last change) of a file."""
    found = os.stat(path)
    return os.path.exists(path + "-wal"), found.st_size, found.st_mtime_ns


def _file_system(folder: str, mounts: Iterable[str]) -> str | None:
    """The kind of the file system that `folder`, without links, lies on: of the longest mount point above it, and of
    the last one where there are several."""
    best, kind = "", None
    for line in mounts:
        fields, _, rest = line.partition(" - ")
        place, parts = fields.split(" "), rest.split(" ")
        if len(place) < 5 or not parts[0]:
            continue
        # Blanks and the like are written as three octal digits.
        point = place[4].encode("latin-1", "surrogateescape").decode("unicode_escape") if "\\" in place[4] else place[4]
        above = point.rstrip("/") + "/"
        if (folder + "/").startswith(above) and len(above) >= len(best):
            best, kind = above, parts[0]
    return kind
