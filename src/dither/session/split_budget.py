"""How much each question of a workload may cost: wishes first, what is left by weight. Whole steps, no SQL.

Flow: `workload` says what each question must have and what a split costs in all; the split comes back. The cost is a
function of all shares together, since questions share measurements; only splits whose whole cost was worked out and is
within the budget are ever given back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Asked", "Split", "split_budget"]

PARTS = 1_000_000
"""Wishes that do not fit are scaled by a multiple of one over this."""


@dataclass(frozen=True)
class Asked:
    """One question. Shares are in steps, for each of its `vectors`."""

    vectors: int
    least: int
    """The least share it may be offered."""
    wished: int | None
    """The share that meets its wish; None where it has none and takes a part of the rest by `weight`."""
    weight: Fraction | None


@dataclass(frozen=True)
class Split:
    shares: list[int]
    enough: int
    """The cost, in steps, of meeting every wish, with the least for the others."""
    scaled: Fraction | None
    """The part of every wish that was given; None where all are met."""


def split_budget(asked: Sequence[Asked], budget: int, cost: Callable[[Sequence[int]], int]) -> Split | None:
    """A split that costs at most `budget` steps; None where not even the least shares fit."""
    whole = [_wished(each, PARTS) for each in asked]
    enough = cost(whole)
    if enough > budget:
        parts = _largest(PARTS, lambda part: cost([_wished(each, part) for each in asked]) <= budget)
        if parts is None:
            return None
        return Split([_wished(each, parts) for each in asked], enough, Fraction(parts, PARTS))
    weights = [each.weight for each in asked if each.weight is not None]
    if not weights:
        return Split(whole, enough, None)
    # The heaviest question is offered no more than the whole budget.
    level = _largest(budget, lambda level: cost(_shared(asked, whole, level, max(weights))) <= budget)
    return Split(whole if level is None else _shared(asked, whole, level, max(weights)), enough, None)


def _wished(each: Asked, parts: int) -> int:
    return each.least if each.wished is None else max(each.least, each.wished * parts // PARTS)


def _shared(asked: Sequence[Asked], whole: Sequence[int], level: int, heaviest: Fraction) -> list[int]:
    """Wishes as they are; the others are offered `level` steps times their weight over the heaviest."""
    return [
        share if each.weight is None else max(each.least, int(level * each.weight / heaviest) // each.vectors)
        for each, share in zip(asked, whole, strict=True)
    ]


def _largest(top: int, holds: Callable[[int], bool]) -> int | None:
    """The largest number from 0 to `top` found to hold, by halving; None where 0 does not. What is given back was
    tried, whatever the function does in between."""
    if holds(top):
        return top
    if not holds(0):
        return None
    low, high = 0, top
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
