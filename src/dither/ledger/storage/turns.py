"""Threads wait in line: a lock whose waiters are served in the order they came.

Flow: every store takes a turn around its write transactions; `lockfile` extends the line over processes.
Relies on `threading` alone. `threading.Lock` itself promises no order, and lets a busy thread take it again and again.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ThreadTurns"]


class ThreadTurns:
    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._busy = False
        self._line: deque[threading.Lock] = deque()

    @contextmanager
    def turn(self, wait_s: float) -> Iterator[bool]:
        """Yields True when it is our turn, False when `wait_s` went by without."""
        ours = self._enter(wait_s)
        try:
            yield ours
        finally:
            if ours:
                self._leave()

    def _enter(self, wait_s: float) -> bool:
        with self._guard:
            if not self._busy:
                self._busy = True
                return True
            place = threading.Lock()
            place.acquire()
            self._line.append(place)
        if place.acquire(timeout=wait_s):
            return True
        with self._guard:
            if place in self._line:
                self._line.remove(place)
                return False
        # Called up in the very moment of giving up: the turn is ours.
        return True

    def _leave(self) -> None:
        with self._guard:
            if self._line:
                self._line.popleft().release()
            else:
                self._busy = False
