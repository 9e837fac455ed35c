"""Numbers for eyes: as many digits as the noise leaves meaning in, and the interval beside them.

Flow: `show` asks for the cells of an answer. A half-width has two significant digits, rounded up; the number beside it
has no digit finer than that, and whole numbers stay whole. Ends of intervals are rounded outward.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

__all__ = ["NULL_SIGN", "Cell", "in_doubles", "measured", "plain"]

NULL_SIGN = "∅"
_MOST_DECIMALS = 9
_LARGEST_PLAIN = 1e15
# Sides of an interval that differ by less than this part of their sum are shown as one ±.
_SYMMETRIC = 0.05


@dataclass(frozen=True)
class Cell:
    """One value of an answer as text; `interval` is "± 120", "[2.1, 3.4]", or empty."""

    value: str
    interval: str = ""

    def __str__(self) -> str:
        return f"{self.value} {self.interval}" if self.interval else self.value


def plain(value: Any) -> Cell:
    """A value that is shown as it is: a group, a text, a number without an interval."""
    match value:
        case None:
            return Cell(NULL_SIGN)
        case bool():
            return Cell("true" if value else "false")
        case int():
            return Cell(f"{value:,}")
        case float() if not math.isfinite(value):
            return Cell(NULL_SIGN)
        case float():
            return Cell(_short(value))
        case Decimal():
            return Cell(f"{value:,f}")
        case list():
            return Cell(f"[{', '.join(plain(each).value for each in value)}]")
        case _:
            return Cell(_visible(str(value)))


def measured(value: Any, low: float, high: float) -> Cell:
    """A noisy number with the ends of its interval; an end that is not a number is not known."""
    if value is None or isinstance(value, bool):
        return plain(value)
    number = float(value)
    if not (math.isfinite(low) and math.isfinite(high) and math.isfinite(number)):
        return Cell(plain(value).value, "± ?")
    below, above = number - low, high - number
    half = max(below, above, 0.0)
    if abs(below - above) <= _SYMMETRIC * abs(below + above) and min(below, above) >= 0:
        digit = _digit_of(half, value)
        decimals = _decimals(digit)
        return Cell(_fixed(value, decimals), f"± {_fixed(_ceil(half, digit), decimals)}")
    digit = _digit_of(high - low, value)
    decimals = _decimals(digit)
    ends = f"[{_fixed(-_ceil(-low, digit), decimals)}, {_fixed(_ceil(high, digit), decimals)}]"
    return Cell(_fixed(value, decimals), ends)


def in_doubles(value: Any) -> Any:
    """The value with a double for each decimal: for arithmetic with the ends of intervals, which are doubles."""
    match value:
        case Decimal():
            return float(value)
        case list():
            return [in_doubles(each) for each in value]
    return value


def _digit_of(size: float, value: Any) -> int:
    """Position of the second significant digit: -1 for tens, 0 for ones, 2 for hundredths; ones for whole numbers."""
    digit = 0 if size <= 0 else 1 - math.floor(math.log10(size))
    return min(digit, 0 if isinstance(value, int) else _MOST_DECIMALS)


def _decimals(digit: int) -> int:
    return max(digit, 0)


def _ceil(value: float, digit: int) -> float:
    """Up to a multiple of 10^-digit; the small allowance keeps 0.1 + 0.2 from becoming 0.4."""
    scale = 10.0**digit
    return math.ceil(value * scale - 1e-9) / scale


def _fixed(value: Any, decimals: int) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if abs(float(value)) >= _LARGEST_PLAIN:
        return f"{float(value):.6g}"
    shown = f"{value:,.{decimals}f}"
    return shown.removeprefix("-") if not any(c in "123456789" for c in shown) else shown


def _short(value: float) -> str:
    if value != 0 and not 1e-6 <= abs(value) < _LARGEST_PLAIN:
        return f"{value:.6g}"
    digits = 6 - (math.floor(math.log10(abs(value))) + 1 if value else 1)
    text = f"{value:,.{max(digits, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _visible(text: str) -> str:
    """Without control characters: a group's name comes from the data and must not drive a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
