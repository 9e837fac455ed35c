"""What every sampler's front does: one number from a buffer, or an array; the system's entropy unless one is given.

Flow: the public functions and laws call `draw`; it calls a table. Relies on: `entropy` for the epoch, which tells a
buffer that its values were drawn before a fork or before fresh bytes were mixed in, and must be thrown away.
"""

from __future__ import annotations

from operator import index
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.noise.entropy import Entropy, system_entropy

__all__ = ["Sampler", "checked_size"]

_BUFFERED = 256


class Table(Protocol):
    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]: ...


class Sampler:
    """A table with a buffer of pre-drawn numbers in front, for callers who want one at a time.

    A pre-drawn number is handed out once (list.pop is atomic), to this process only, and never after `refresh`."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._buffer: tuple[int, list[int]] = (-1, [])

    def draw(self, size: int | None, entropy: Entropy | None) -> int | NDArray[np.int64]:
        """An int for size None, else an int64 array of that length."""
        return self.one(entropy) if size is None else self.array(size, entropy)

    def array(self, size: int, entropy: Entropy | None) -> NDArray[np.int64]:
        return self._table.draw(checked_size(size), entropy or system_entropy())

    def one(self, entropy: Entropy | None) -> int:
        """One draw. An injected source is read for this draw alone, so that a tape is consumed predictably."""
        if entropy is not None:
            return int(self._table.draw(1, entropy)[0])
        system = system_entropy()
        while True:
            epoch, values = self._buffer
            if epoch != system.epoch:
                values = self._refill()
            try:
                return values.pop()
            except IndexError:  # used up, perhaps by another thread just now
                self._buffer = (-1, [])

    def _refill(self) -> list[int]:
        system = system_entropy()
        # The epoch is read first: should it move while we draw, the next caller throws these values away.
        epoch = system.epoch
        values: list[int] = self._table.draw(_BUFFERED, system).tolist()
        self._buffer = (epoch, values)
        return values


def checked_size(size: int) -> int:
    """`size` as an int; numpy's integers are welcome. Raises InvalidParameter for anything but a whole number >= 0."""
    try:
        whole = -1 if isinstance(size, bool) else index(size)
    except TypeError:
        whole = -1
    if whole < 0:
        raise InvalidParameter("size", expected="a whole number >= 0", found=size)
    return whole
