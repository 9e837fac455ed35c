"""A small file beside an SQLite ledger: whose turn it is to write, and which sessions are alive.

Flow: `store` takes a turn around every write transaction, `presence` marks sessions. Relies on POSIX record locks
(fcntl), which the kernel drops when a process dies, however it dies.

A turn is for fairness and speed, never for correctness: SQLite's own write lock decides who may write. Left alone, its
busy handler lets some waiters starve for seconds; passing the turn on after every write costs a change of process each
time. So a writer that finds the turn free takes it, others stand in line, and whoever has headed the line for
`_PATIENCE_S` says so: from then on nobody goes ahead of them. The line is a queue of numbers, each waiting for the
byte of the number before (the queue lock of Craig 1993 and of Magnusson, Landin and Hagersten 1994, on bytes of a
file). A process that dies anywhere frees its bytes, and the line moves on.

POSIX drops *all* of a process's locks on a file when it closes *any* descriptor of it, so a process opens each lock
file once: `shared_lock_file` hands out the one it has. Offsets are far beyond the file's end: locking needs no bytes.

Each process also shares a byte that stands for the running system, so that one of another machine that came to the same
file, over a network or between guests of one host, is seen as long as its locks are. SQLite would see nothing of it.
Losing the file costs fairness, and makes living sessions look dead (their open questions count as lost: the safe side).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dither.errors import LedgerError
from dither.ledger.storage.turns import ThreadTurns

__all__ = ["LockFile", "in_use", "release_lock_file", "shared_lock_file"]

_DISPENSER = 0
_TURN = 1
_IMPATIENCE = 2
_TICKETS = 1 << 32
_SESSIONS = 1 << 62
_TICKET_LIMIT = 1 << 60
_SYSTEMS = 1 << 61
_SYSTEM_COUNT = 1 << 40

_FLOCK = struct.Struct("hhqqi0q")
"""Linux's `struct flock` where offsets have 64 bits: type, whence, start, length, process."""

_COUNTERS = struct.Struct("<QQ")
"""The next ticket, and the one that heads the line."""

_PATIENCE_S = 0.02
_LOOK_S = 0.001
_LOOK_PER_PLACE_S = 0.003


class LockFile:
    def __init__(self, path: str) -> None:
        self.users = 0
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._threads = ThreadTurns()
        self.session = _SESSIONS + secrets.randbits(56)
        """The byte this process holds for as long as it has the file open."""
        self._try_lock(self.session)
        try:
            self._meet_other_systems()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def turn(self, wait_s: float) -> Iterator[None]:
        """Our turn among threads and processes; after `wait_s` the block runs all the same (see above)."""
        deadline = time.monotonic() + wait_s
        with self._threads.turn(wait_s) as ours:
            # Only one thread of a process stands in the line of processes: record locks do not exclude threads.
            held = ours and self._enter(deadline)
            try:
                yield
            finally:
                if held:
                    self._unlock(_TURN)

    def session_alive(self, session: int) -> bool:
        return session == self.session or self._held_elsewhere(session)

    def close(self) -> None:
        os.close(self._descriptor)

    def _meet_other_systems(self) -> None:
        """Raises LedgerError while a session of another running system has the file open. First our own byte, then the
        look at the others': of two that come at once, one at least is refused."""
        system = _running_system()
        if system is None or sys.platform != "linux" or sys.maxsize < 1 << 32:
            return
        ours = _SYSTEMS + system
        fcntl.lockf(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, ours)
        for start, end in ((_SYSTEMS, ours), (ours + 1, _SYSTEMS + _SYSTEM_COUNT)):
            if start < end and self._anybody_holds(start, end - start):
                raise LedgerError(
                    "The ledger is open on another machine, and its file cannot be shared among machines.",
                    code="L-155",
                    hint="End its sessions there first, or keep the ledger on PostgreSQL, which machines can share.",
                )

    def _anybody_holds(self, start: int, length: int) -> bool:
        """Whether another process has a lock in this range. Only looks: two that look do not see each other."""
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
        kind, *_ = _FLOCK.unpack(fcntl.fcntl(self._descriptor, fcntl.F_GETLK, asked))
        return bool(kind != fcntl.F_UNLCK)

    def _enter(self, deadline: float) -> bool:
        """True when the turn is ours; False when the deadline went by first."""
        if not self._held_elsewhere(_IMPATIENCE) and self._try_lock(_TURN):
            return True
        ticket = self._take_ticket(deadline)
        if ticket is None:
            return False
        try:
            return self._reach_head(ticket, deadline) and self._await_turn(deadline)
        finally:
            self._unlock(_TICKETS + ticket)

    def _take_ticket(self, deadline: float) -> int | None:
        """The next number; its byte is locked before anyone can see the number after it. None when the deadline went
        by. Never waits inside the kernel: that would wait for a stopped process without end, and fail with EDEADLK
        where threads of two processes are at two ledgers, which the kernel takes for a cycle."""
        while not self._try_lock(_DISPENSER):
            if time.monotonic() > deadline:
                return None
            time.sleep(_LOOK_S)
        try:
            ticket, heading = self._counters()
            self._try_lock(_TICKETS + ticket)
            os.pwrite(self._descriptor, _COUNTERS.pack((ticket + 1) % _TICKET_LIMIT, heading), 0)
        finally:
            self._unlock(_DISPENSER)
        return ticket

    def _reach_head(self, ticket: int, deadline: float) -> bool:
        while ticket and self._held_elsewhere(_TICKETS + ticket - 1):
            if time.monotonic() > deadline:
                return False
            # Those far behind look seldom. Who heads the line is a hint and may be stale.
            time.sleep(min(max(ticket - self._counters()[1], 1), 10) * _LOOK_PER_PLACE_S)
        os.pwrite(self._descriptor, struct.pack("<Q", ticket), 8)
        return True

    def _await_turn(self, deadline: float) -> bool:
        """At the head of the line: politely first, then before everyone else."""
        patient_until, impatient = time.monotonic() + _PATIENCE_S, False
        try:
            while not self._try_lock(_TURN):
                now = time.monotonic()
                if now > deadline:
                    return False
                if now > patient_until and not impatient:
                    impatient = self._try_lock(_IMPATIENCE)
                time.sleep(_LOOK_S)
            return True
        finally:
            if impatient:
                self._unlock(_IMPATIENCE)

    def _counters(self) -> tuple[int, int]:
        stored = os.pread(self._descriptor, _COUNTERS.size, 0)
        ticket, serving = _COUNTERS.unpack(stored) if len(stored) == _COUNTERS.size else (0, 0)
        return ticket % _TICKET_LIMIT, serving

    def _try_lock(self, offset: int) -> bool:
        """True when the byte is ours now; False when another process holds it."""
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _unlock(self, offset: int) -> None:
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, offset)

    def _held_elsewhere(self, offset: int) -> bool:
        if not self._try_lock(offset):
            return True
        self._unlock(offset)
        return False


_Key = tuple[int, int, int]
_guard = threading.Lock()
_open: dict[_Key, LockFile] = {}


def shared_lock_file(path: str) -> LockFile:
    """This process's one LockFile for `path`, opened if need be. Give it back with `release_lock_file`."""
    with _guard:
        key = _key(path)
        file = _open.get(key) if key else None
        if file is None:
            file = LockFile(path)
            _open[_key(path) or (os.getpid(), 0, id(file))] = file
        file.users += 1
        return file


def in_use(path: str) -> bool:
    """Whether this process has the ledger of this lock file open."""
    with _guard:
        key = _key(path)
        return key is not None and key in _open


def release_lock_file(file: LockFile) -> None:
    """Close the file, and so end this process's session, when nobody in the process uses it any more."""
    with _guard:
        file.users -= 1
        if file.users == 0:
            for key in [key for key, value in _open.items() if value is file]:
                del _open[key]
            file.close()


def _key(path: str) -> _Key | None:
    """Names the file by process and inode, without opening it: closing that second descriptor would drop the locks.
    The process is part of it because a forked child inherits descriptors but no locks."""
    try:
        facts = os.stat(path)
    except FileNotFoundError:
        return None
    return os.getpid(), facts.st_dev, facts.st_ino


def _running_system() -> int | None:
    """Names the kernel that runs here from its start to its end, the same in all its containers; None where it does
    not say."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            said = file.read(100).strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int.from_bytes(hashlib.sha256(said.encode()).digest()[:5], "big") if said else None


def _after_fork() -> None:
    """A child starts with a free guard: another thread of the parent may have held it at the fork."""
    global _guard
    _guard = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
