"""What an attack is asked to do, and what it hands back: lines for the table, a figure for the page.

Flow: `dither.lab.run` builds Options; attacks return Result; `report` shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.lab.games import Line

if TYPE_CHECKING:
    from dither.lab.worlds.adult import Adult
    from dither.lab.worlds.ratings import Ratings

__all__ = ["Attack", "Figure", "Options", "Result", "Series", "bound_curve", "curve"]


@dataclass(frozen=True)
class Options:
    """epsilons: what each attack may spend in all, one setting after the other."""

    epsilons: tuple[Fraction, ...] = (Fraction(1, 10), Fraction(1), Fraction(10))
    seed: int = 1
    scale: Fraction = Fraction(1)
    """Of the number of trials; below 1 for a quick look. Small runs end in `inconclusive` more often."""
    given: Adult | Ratings | None = None
    """Records of real people from a file of the user's, for the attacks on released rows that can use them."""

    def times(self, count: int) -> int:
        """`count` repetitions at full scale, and at least one."""
        return max(1, int(count * self.scale))


@dataclass(frozen=True)
class Series:
    name: str
    points: tuple[tuple[float, float], ...]
    is_bound: bool = False


@dataclass(frozen=True)
class Figure:
    """Curves of success, from 0 to 1, over one quantity."""

    x_label: str
    series: tuple[Series, ...]
    logarithmic: bool = False


@dataclass(frozen=True)
class Result:
    key: str
    lines: tuple[Line, ...]
    figure: Figure | None = None
    left_out: str = ""
    """Why there are no lines: what is not installed, and how to install it."""


Attack = Callable[[Options], Result]


def curve(name: str, lines: Sequence[Line]) -> Series:
    """The success of lines over where they stand."""
    return Series(name, tuple((line.at, line.value) for line in lines if line.at is not None))


def bound_curve(name: str, lines: Sequence[Line]) -> Series:
    points = ((line.at, line.bound) for line in lines)
    return Series(name, tuple((x, y) for x, y in points if x is not None and y is not None), is_bound=True)
