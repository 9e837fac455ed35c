"""Regular expressions whose automata are small, so that matching a text takes time linear in it, whatever it holds.

Flow: `patterns` hands in a constant pattern before anything is charged. The engine (RE2) matches by a table of states
built on the way; where a text could lead it through very many states it falls back to a method 100 times slower and
more, and the time would tell of the text. So the states are counted here, over all texts, and too many are refused.

Accepted are characters, `.`, classes, `^ $ \\b`, groups, alternatives, `* + ?`, and counts up to 20 that do not nest.
Positions and what may follow them are Glushkov's; sets of positions are the states of the usual subset construction.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["Pattern", "read_pattern"]

LARGEST_COUNT = 20
MOST_POSITIONS = 300
MOST_STATES = 1500

# One piece of a pattern after another. A class holds no class by name and no set operation.
_PIECES = re.compile(
    r"""(?P<edge>[\^$]|\\[bB])
      | (?P<one>\\[dDwWsS.^$*+?()\[\]{}|/\\-]
              | \[\^?\]?(?:[^\]\[\\]|\\[dwsDWS.^$*+?()\[\]{}|/\\-])*\]
              | [^\\\[\](){}*+?|^$])
      | (?P<or>\|)
      | (?P<open>\((?:\?:)?(?!\?))
      | (?P<close>\))
      | \{(?P<least>[0-9]+)(?P<comma>,(?P<most>[0-9]*))?\}\??
      | (?P<again>[*+?])\??""",
    re.VERBOSE | re.DOTALL,
)
# What stands for all characters: ASCII, and two of other scripts besides the pattern's own.
_ALPHABET = "".join(map(chr, range(128))) + "é世"


class TooHard(Exception):
    """Not of the accepted kind, or with too many states."""


@dataclass(frozen=True)
class Pattern:
    groups: int
    """How many groups can be extracted."""


@dataclass(frozen=True)
class _Part:
    """A part of a pattern: may it match nothing, and its first and last positions."""

    empty: bool
    first: frozenset[int]
    last: frozenset[int]
    counted: bool = False


_NOTHING = _Part(True, frozenset(), frozenset())


@dataclass
class _Reader:
    """Reads a pattern from left to right. `atoms` are its positions; `follow` says which may come after which."""

    text: str
    at: int = 0
    groups: int = 0
    branches: bool = False
    """Are there alternatives outside all groups?"""
    atoms: list[str] = field(default_factory=list)
    follow: dict[int, set[int]] = field(default_factory=dict)

    def alternatives(self, *, inside: bool) -> _Part:
        found = self.sequence()
        while (piece := self.peek()) is not None and piece["or"]:
            self.at = piece.end()
            self.branches |= not inside
            other = self.sequence()
            found = _Part(
                found.empty or other.empty, found.first | other.first, found.last | other.last,
                found.counted or other.counted,
            )  # fmt: skip
        if inside != (piece is not None):
            raise TooHard
        return found

    def sequence(self) -> _Part:
        found = _NOTHING
        while (piece := self.peek()) is not None and not (piece["or"] or piece["close"]):
            found = self.joined(found, self.repeated())
        return found

    def repeated(self) -> _Part:
        start = self.at
        found = self.single()
        piece = self.peek()
        if piece is None or not (piece["again"] or piece["least"]):
            return found
        end = self.at
        self.at = piece.end()
        after = self.peek()
        if after is not None and (after["again"] or after["least"]):
            raise TooHard
        if piece["again"]:
            if piece["again"] != "?":
                self.link(found.last, found.first)
            return found if piece["again"] == "+" else _Part(True, found.first, found.last, found.counted)
        least = int(piece["least"])
        most = int(piece["most"]) if piece["most"] else least if piece["comma"] is None else 0
        if found.counted or not least <= most <= LARGEST_COUNT or most == 0:
            raise TooHard
        after_count = self.at
        whole = found if least > 0 else _Part(True, found.first, found.last)
        for copy in range(1, most):
            # Each copy has positions of its own.
            self.at = start
            again = self.single(copied=True)
            assert self.at == end
            whole = self.joined(whole, again if copy < least else _Part(True, again.first, again.last))
        self.at = after_count
        return _Part(whole.empty, whole.first, whole.last, True)

    def single(self, *, copied: bool = False) -> _Part:
        piece = self.peek()
        if piece is None or piece["again"] or piece["least"]:
            raise TooHard
        self.at = piece.end()
        if piece["edge"]:
            return _NOTHING
        if piece["open"]:
            self.groups += piece["open"] == "(" and not copied
            before = self.groups
            found = self.alternatives(inside=True)
            self.groups = before if copied else self.groups
            closing = self.peek()
            assert closing is not None
            self.at = closing.end()
            return found
        self.atoms.append(piece["one"])
        position = len(self.atoms) - 1
        if position >= MOST_POSITIONS:
            raise TooHard
        return _Part(False, frozenset({position}), frozenset({position}))

    def joined(self, left: _Part, right: _Part) -> _Part:
        self.link(left.last, right.first)
        return _Part(
            left.empty and right.empty,
            left.first | right.first if left.empty else left.first,
            left.last | right.last if right.empty else right.last,
            left.counted or right.counted,
        )

    def link(self, before: frozenset[int], after: frozenset[int]) -> None:
        for position in before:
            self.follow.setdefault(position, set()).update(after)

    def peek(self) -> re.Match[str] | None:
        if self.at >= len(self.text):
            return None
        piece = _PIECES.match(self.text, self.at)
        if piece is None:
            raise TooHard
        return piece


def read_pattern(text: str, *, fold_case: bool) -> Pattern | None:
    """What is known of the pattern; None where it is not of the accepted kind or has too many states."""
    reader = _Reader(text)
    try:
        whole = reader.alternatives(inside=False)
        matches = _matches(reader.atoms, text, fold_case)
    except (TooHard, re.error, RecursionError):
        return None
    follow = [reader.follow.get(position, set()) for position in range(len(reader.atoms))]
    # The engine also matches backwards, from the end of a match: to find its beginning, or because of a `$`.
    before: list[set[int]] = [set() for _ in follow]
    for position, after in enumerate(follow):
        for other in after:
            before[other].add(position)
    anchored = text.startswith("^") and not reader.branches
    fits = _few_states(whole.first, follow, matches, anchored) and _few_states(whole.last, before, matches, True)
    return Pattern(reader.groups) if fits else None


def _matches(atoms: list[str], text: str, fold_case: bool) -> list[frozenset[int]]:
    """For each kind of character that the pattern tells apart, the positions that match it."""
    flags = (re.IGNORECASE if fold_case else 0) | re.DOTALL | re.ASCII
    tests = {atom: re.compile(atom, flags) for atom in atoms}
    kinds = set()
    for character in {*_ALPHABET, *text}:
        met = {atom for atom, test in tests.items() if test.fullmatch(character)}
        kinds.add(frozenset(position for position, atom in enumerate(atoms) if atom in met))
    return list(kinds)


def _few_states(start: frozenset[int], follow: list[set[int]], matches: list[frozenset[int]], anchored: bool) -> bool:
    """Can no text lead through more than MOST_STATES sets of positions?
    anchored: a match begins where the text does, not anywhere in it."""
    again = frozenset[int]() if anchored else start
    seen = {frozenset(start)}
    waiting = [frozenset(start)]
    while waiting:
        state = waiting.pop()
        for kind in matches:
            reached = again.union(*(follow[position] for position in state & kind))
            if reached not in seen:
                seen.add(reached)
                waiting.append(reached)
                if len(seen) > MOST_STATES:
                    return False
    return True
