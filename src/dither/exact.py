"""Exact rationals: how a number that prices privacy comes in, and how it is rounded.

Relies on nothing but `fractions`. Every privacy quantity is a Fraction; a float is read as its shortest decimal
(0.1 means one tenth, not 0.1000000000000000055), so 300 * 0.01 is 3 and not more.
"""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from dither.errors import InvalidParameter

__all__ = ["Number", "QUANTUM", "decimal_text", "exact", "positive", "round_down", "round_up"]

Number = Fraction | int | float | str | Decimal
"""What users may write for a quantity; `exact` makes a Fraction of it."""

QUANTUM = Fraction(1, 10**18)
"""Stored amounts are multiples of this; costs are rounded up to it, what remains of a budget down."""

_LARGEST_EXPONENT = 1000


def exact(value: Number, name: str = "value") -> Fraction:
    """The rational that `value` means; a float means its shortest decimal, a string may be '1/3', '0.1' or '1e-9'.
    Raises InvalidParameter for NaN, infinities, booleans, and anything else that is not a number."""
    try:
        match value:
            case bool():
                pass
            case Fraction():
                return value
            case int():
                return Fraction(value)
            case float() if math.isfinite(value):
                return Fraction(Decimal(repr(float(value))))
            case Decimal() if value.is_finite():
                return Fraction(value)
            case str() if len(value) <= 200:
                return _from_text(value.strip())
    except (ValueError, ZeroDivisionError, InvalidOperation):
        pass
    raise InvalidParameter(name, expected="a finite number", found=value)


def positive(value: Number, name: str = "value") -> Fraction:
    """`exact`, and above zero."""
    number = exact(value, name)
    if number <= 0:
        raise InvalidParameter(name, expected="a number above 0", found=value)
    return number


def round_up(value: Fraction, quantum: Fraction = QUANTUM) -> Fraction:
    """The least multiple of `quantum` that is >= value: for costs."""
    return math.ceil(value / quantum) * quantum


def round_down(value: Fraction, quantum: Fraction = QUANTUM) -> Fraction:
    """The greatest multiple of `quantum` that is <= value: for what remains."""
    return math.floor(value / quantum) * quantum


def decimal_text(value: Fraction, places: int = 18) -> str:
    """A plain decimal without exponent or trailing zeros, cut towards zero after `places`; for people and for JSON."""
    scaled = abs(value.numerator) * 10**places // value.denominator
    digits = f"{scaled:0{places + 1}d}"
    whole, part = (digits[:-places], digits[-places:].rstrip("0")) if places else (digits, "")
    sign = "-" if value < 0 and scaled else ""
    return f"{sign}{whole}.{part}" if part else f"{sign}{whole}"


def _from_text(text: str) -> Fraction:
    # Python reads the digits of every script; whoever reads the text after us may not.
    if not text.isascii():
        raise ValueError(text)
    _, _, exponent = text.lower().partition("e")
    # Fraction("1e999999999") would build the integer: refuse before it does.
    if exponent and abs(int(exponent)) > _LARGEST_EXPONENT:
        raise ValueError(text)
    return Fraction(text)
