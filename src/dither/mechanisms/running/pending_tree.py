"""The totals that a stream for epsilon may still have to release: counts so far plus the noise each will hold by then.

Flow: `epochs` begins one; `stream` adds counts and closes days. `pending_roots` is its twin for rho.
Relies on: `tree` for digits and for nodes that are publicly empty; `draws` for noise without an end.

Level i of the balanced tree has a digit that runs up to (k-1)/2, then falls back to -(k-1)/2 while level i+1 moves on
by one. For every digit value still to come, level i keeps one pending total: all counts so far, plus the noise of the
higher levels as they stand, plus the noise this level will have at that digit. Closing a day takes the next one of
level 0. When there is none, the next of level 1 becomes the base from which level 0 draws afresh; and so on upwards.
Proof: docs/proofs/mechanisms/running-stream.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dither.errors import GuaranteeError, InvalidParameter
from dither.mechanisms.running.draws import unbounded_draw
from dither.mechanisms.running.tree import BalancedTree
from dither.noise import DiscreteLaplace, Entropy

__all__ = ["PendingTree"]


class PendingTree:
    def __init__(self, tree: BalancedTree, law: DiscreteLaplace, closed: int, levels: list[list[int]]) -> None:
        if len(levels) != tree.levels or not 0 <= closed <= tree.n:
            raise InvalidParameter("stream", expected="pending totals of this tree", found="another shape")
        if [len(level) for level in levels] != _lengths(tree, closed):
            raise InvalidParameter("stream", expected="pending totals of this day", found="another number of them")
        self.closed = closed
        """Days closed, the length of the prefix last released."""
        self.levels = levels
        """Pending totals of each level, lowest level first, each in the order they will be used."""
        self._tree = tree
        self._law = law

    @classmethod
    def begin(cls, tree: BalancedTree, law: DiscreteLaplace, entropy: Entropy | None) -> PendingTree:
        levels = [[] for _ in range(tree.levels)]  # type: list[list[int]]
        for level in range(tree.levels):
            levels[level] = _forward(tree, level, 0, 0, law, entropy)
        return cls(tree, law, 0, levels)

    @classmethod
    def resume(cls, tree: BalancedTree, law: DiscreteLaplace, stored: Mapping[str, Any]) -> PendingTree:
        """What `owner_state` gave. Raises InvalidParameter, KeyError, TypeError or ValueError for anything else."""
        levels = [[_whole(total) for total in level] for level in stored["pending"]]
        return cls(tree, law, _whole(stored["closed"]), levels)

    def owner_state(self) -> dict[str, Any]:
        return {"closed": self.closed, "pending": [list(level) for level in self.levels]}

    def public_state(self) -> dict[str, Any]:
        return {}

    def add(self, count: int) -> None:
        """Count on the open day: it is part of every total still to come."""
        self.levels = [[total + count for total in level] for level in self.levels]

    def close_day(self, entropy: Entropy | None) -> int:
        """The noisy total of the prefix that ends with the open day."""
        level = next((i for i, waiting in enumerate(self.levels) if waiting), None)
        if level is None or self.closed >= self._tree.n:
            raise GuaranteeError("A stream was asked for a day beyond its horizon.")
        total, *self.levels[level] = self.levels[level]
        self.closed += 1
        for lower in range(level - 1, -1, -1):
            centre = _centre(self._tree, lower, self.closed)
            back = _backward(self._tree, lower, centre, total, self._law, entropy)
            rest = [*back[1:], total, *_forward(self._tree, lower, centre, total, self._law, entropy)]
            total, self.levels[lower] = back[0], rest
        return total


def _centre(tree: BalancedTree, level: int, length: int) -> int:
    """The node of `level` at which the level above points, for a prefix of this length."""
    size = int(tree.k ** (level + 1))
    return (length + (size - 1) // 2) // size * tree.k


def _forward(
    tree: BalancedTree, level: int, centre: int, base: int, law: DiscreteLaplace, entropy: Entropy | None
) -> list[int]:
    """Pending totals for digits 1, 2, ..: base plus the noise of 1, 2, .. nodes from the centre on."""
    pending = []
    for node in range(centre, centre + (tree.k - 1) // 2):
        base += unbounded_draw(law, entropy) if node < tree.nodes(level) else 0
        pending.append(base)
    return pending


def _backward(
    tree: BalancedTree, level: int, centre: int, base: int, law: DiscreteLaplace, entropy: Entropy | None
) -> list[int]:
    """Pending totals for digits -(k-1)/2, .., -1: base minus the noise of that many nodes before the centre."""
    pending = []
    for node in range(centre - 1, centre - 1 - (tree.k - 1) // 2, -1):
        base -= unbounded_draw(law, entropy) if node < tree.nodes(level) else 0
        pending.append(base)
    return pending[::-1]


def _lengths(tree: BalancedTree, closed: int) -> list[int]:
    """How many pending totals each level has after this many days."""
    half, found, rest = (tree.k - 1) // 2, [], closed
    for _ in range(tree.levels):
        digit = (rest + half) % tree.k - half
        found.append(half - digit)
        rest = (rest - digit) // tree.k
    return found


def _whole(number: object) -> int:
    if type(number) is not int:
        raise TypeError(number)
    return number
