"""An opaque function made total: whatever it does, out come integers on a grid fixed beforehand.

Flow: `sampled_noise` measures it on public rows, `SampledNoise.release` runs it once on private ones.
Relies on: the function giving the same answer for the same rows. Its errors are answers too. Were an exception, a NaN
or an odd shape reported, their being there would tell of the rows, and nothing would pay for it; so all of them become
one output chosen before anything is read, and what they do to neighbouring answers is measured like everything else.
How long the function takes, and what it does besides answering (files, the network), is not covered.
Proof: docs/proofs/mechanisms/sampled-statistic.md
"""

from __future__ import annotations

import contextlib
import io
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, exact
from dither.mechanisms.release import Integers
from dither.mechanisms.sampled.table import Rows, in_order

__all__ = ["Statistic"]

_STEPS = 2**31
"""A range is cut into between half this many steps and this many."""
_MOST_NUMBERS = 1024


@dataclass(frozen=True)
class Statistic:
    """A function of rows, with the range of each number it answers. Made by `Statistic.of`."""

    f: Callable[[Rows], Any]
    lows: tuple[Fraction, ...]
    highs: tuple[Fraction, ...]
    otherwise: tuple[int, ...]
    """What stands for every answer that is none, in steps above the lows."""
    scalar: bool

    @classmethod
    def of(
        cls,
        f: Callable[[Rows], Any],
        *,
        bounds: tuple[Number, Number] | Sequence[tuple[Number, Number]],
        otherwise: Number | Sequence[Number] | None = None,
    ) -> Statistic:
        """f: rows (see `Rows`) -> a number, or an array of numbers of fixed length.
        bounds: (low, high) for one number; a list of pairs for a vector, which it gives its length. Answers are moved
        into them. They are chosen without looking at the data, and their widths weigh the numbers against each other.
        otherwise: what an error, a NaN or another shape counts as; the middle of the bounds unless given.
        Raises InvalidParameter for bounds that are none, and an `otherwise` outside them."""
        if not callable(f):
            raise InvalidParameter("f", expected="a function of rows", found=f)
        scalar = len(bounds) == 2 and not isinstance(bounds[0], list | tuple)
        pairs: list[Any] = [bounds] if scalar else list(bounds)
        if not 0 < len(pairs) <= _MOST_NUMBERS or any(not isinstance(p, list | tuple) or len(p) != 2 for p in pairs):
            raise InvalidParameter("bounds", expected="(low, high), or a list of up to 1,024 of them", found=bounds)
        lows = tuple(exact(low, "bounds") for low, _ in pairs)
        highs = tuple(exact(high, "bounds") for _, high in pairs)
        if any(low >= high for low, high in zip(lows, highs, strict=True)):
            raise InvalidParameter("bounds", expected="low < high", found=bounds)
        plain = cls(f, lows, highs, (0,) * len(lows), scalar)
        return cls(f, lows, highs, plain._chosen(otherwise), scalar)

    @property
    def steps(self) -> tuple[Fraction, ...]:
        """The grid step of each number: the power of two of which at most 2^31 make up its range."""
        return tuple(_step(high - low) for low, high in zip(self.lows, self.highs, strict=True))

    def __call__(self, rows: Rows) -> Integers:
        """The answer for these rows in steps above the lows, (n_numbers,) int64; the same for every order of rows."""
        return self.outcome(rows)[0]

    def outcome(self, rows: Rows) -> tuple[Integers, str | None]:
        """The answer, and why it is `otherwise` if it is. The reason is for public rows only: it may name values."""
        ordered = in_order(rows)
        try:
            with _muted():
                numbers = np.asarray(self.f(ordered), dtype=np.float64)
        except KeyboardInterrupt:
            # The user's, not the function's.
            raise
        # Whatever else: a function that ends the program on some rows would tell of them.
        except BaseException as error:
            return self.fallback(), f"{type(error).__name__}: {error}"
        expected = () if self.scalar else (len(self.lows),)
        if numbers.shape != expected:
            return self.fallback(), f"an answer of shape {numbers.shape}, not {expected}"
        flat = [float(number) for number in numbers.reshape(-1)]
        if any(math.isnan(number) for number in flat):
            return self.fallback(), "an answer that is not a number (NaN)"
        ends = zip(flat, self.lows, self.highs, self.steps, strict=True)
        return np.array([_in_steps(*each) for each in ends], dtype=np.int64), None

    def value(self, steps: Integers) -> tuple[Fraction, ...]:
        """Numbers of the answer's own units, from steps above the lows."""
        each = zip(steps.tolist(), self.lows, self.steps, strict=True)
        return tuple(low + count * step for count, low, step in each)

    def fallback(self) -> Integers:
        """What stands for every answer that is none, (n_numbers,) int64."""
        return np.array(self.otherwise, dtype=np.int64)

    def _chosen(self, otherwise: Number | Sequence[Number] | None) -> tuple[int, ...]:
        if otherwise is None:
            numbers = [(low + high) / 2 for low, high in zip(self.lows, self.highs, strict=True)]
        else:
            given: Any = [otherwise] if self.scalar else otherwise
            if not isinstance(given, list | tuple) or len(given) != len(self.lows):
                raise InvalidParameter("otherwise", expected="a number for each pair of bounds", found=otherwise)
            numbers = [exact(number, "otherwise") for number in given]
        inside = [low <= x <= high for x, low, high in zip(numbers, self.lows, self.highs, strict=True)]
        if not all(inside):
            raise InvalidParameter("otherwise", expected="within the bounds", found=otherwise)
        each = zip(numbers, self.lows, self.steps, strict=True)
        return tuple(math.floor((x - low) / step + Fraction(1, 2)) for x, low, step in each)


def _in_steps(number: float, low: Fraction, high: Fraction, step: Fraction) -> int:
    """The number moved into its bounds and rounded to the grid; exact, for any float that is not NaN."""
    if math.isinf(number):
        inside = high if number > 0 else low
    else:
        inside = min(max(Fraction(number), low), high)
    return math.floor((inside - low) / step + Fraction(1, 2))


def _step(width: Fraction) -> Fraction:
    """The least power of two of which at most 2^31 make up `width`."""
    k = width.numerator.bit_length() - width.denominator.bit_length() - 32
    while width / Fraction(2) ** k > _STEPS:
        k += 1
    return Fraction(2) ** k


@contextlib.contextmanager
def _muted() -> Any:
    """What a function says while it runs (prints, warnings) may tell of the rows it runs on."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        yield
