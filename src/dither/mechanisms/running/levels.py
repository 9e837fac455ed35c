"""Square roots on several levels: running totals for rho in a memory of a few thousand numbers, for any horizon.

Flow: `epochs` plans one from public facts; `pending_roots` walks it day by day.
Up to `memory` days there is one level, the square root of the whole horizon. Beyond, level 0 has blocks of m days,
level 1 blocks of m^2 days, and so on: each level is a square root of its own, over the totals of the blocks below,
begun afresh in every block. A prefix is written in base m, and each digit is one total of one level. The last place of
a block needs no total of its level: the level above closes one. With m = 2 this is the binary tree.
Relies on: `square_root` for each level.  Proof: docs/proofs/mechanisms/running-stream.md, part 3
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from dither.accounting.events import GaussianEvent
from dither.errors import GuaranteeError
from dither.mechanisms.gaussian import gaussian_variance
from dither.mechanisms.running.square_root import SquareRoot, square_root

__all__ = ["MEMORY", "RootLevels", "root_levels"]

MEMORY = 4096
"""How many numbers a level keeps by default, at most."""


@dataclass(frozen=True)
class RootLevels:
    days: int
    base: int
    """m, days (or blocks of the level below) in a block; more than `days` when there is one level."""
    levels: int

    def __post_init__(self) -> None:
        if not (self.base >= 2 and self.base ** (self.levels - 1) <= self.days < self.base**self.levels * self.base):
            raise GuaranteeError("Levels do not reach the last day.")

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Positions of each level's square root, lowest level first."""
        return (*(self.base - 1,) * (self.levels - 1), self.days // self.base ** (self.levels - 1))

    @property
    def designs(self) -> tuple[SquareRoot, ...]:
        return tuple(_design(length) for length in self.lengths)

    def span(self, level: int) -> int:
        """Days in one position of a level."""
        return int(self.base**level)

    def positions(self, level: int, closed: int) -> int:
        """How many positions the level's open block has within the horizon, when `closed` days are closed."""
        begun = closed - closed % self.span(level + 1) if level + 1 < self.levels else 0
        return min(self.lengths[level], (self.days - begun) // self.span(level))

    def place(self, level: int, closed: int) -> int:
        """How many positions of the level's open block are closed: a digit of `closed`."""
        here = closed // self.span(level)
        return here % self.base if level + 1 < self.levels else here

    def events(self, *, rho: Fraction, moved_squared: int) -> tuple[GaussianEvent, ...]:
        """One Gaussian mechanism a level, of rho in all. moved_squared: how far one unit moves the counts, squared, if
        all its rows fall on one day."""
        weights = [_weight(length) for length in self.lengths]
        found = []
        for design, weight in zip(self.designs, weights, strict=True):
            distance = moved_squared * design.column_squared
            variance = gaussian_variance(sensitivity_squared=distance, rho=rho * weight / sum(weights))
            found.append(GaussianEvent(variance, distance))
        return tuple(found)

    def gains(self, closed: int) -> list[float]:
        """How much of each level's noise variance, per squared step, is in the total of the first `closed` days."""
        places = [self.place(level, closed) for level in range(self.levels)]
        return [float(design.gains[place - 1]) if place else 0.0
                for design, place in zip(self.designs, places, strict=True)]  # fmt: skip

    def gains_between(self, first: int, last: int) -> list[float]:
        """The same for the sum of the counts of days first..last: within one block of a level what both totals hold
        cancels, and different blocks share no noise."""
        found = []
        for level, design in enumerate(self.designs):
            before, after = self.place(level, first), self.place(level, last + 1)
            above = self.span(level + 1) if level + 1 < self.levels else self.days + 1
            if first // above == (last + 1) // above:
                found.append(design.gain_between(before, after - 1) if after > before else 0.0)
            else:
                found.append(sum(float(design.gains[place - 1]) for place in (before, after) if place))
        return found


@lru_cache(maxsize=64)
def root_levels(days: int, memory: int = MEMORY) -> RootLevels:
    """As few levels as `memory` numbers a level allow, and blocks no longer than these levels need."""
    levels = 1
    while memory**levels < days:
        levels += 1
    if levels == 1:
        return RootLevels(days, max(days, 2), 1)
    base = max(2, round(days ** (1 / levels)) - 1)
    while base**levels < days:
        base += 1
    return RootLevels(days, base, levels)


@lru_cache(maxsize=32)
def _design(length: int) -> SquareRoot:
    return square_root(length)


def _weight(length: int) -> int:
    """A level's share of rho. Best is in proportion to the square root of its largest variance at equal rho, which is
    close to (ln length + 3.3) / pi. Whole numbers, so that a share is the same on every machine."""
    return 5 + length.bit_length()
