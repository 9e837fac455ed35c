"""Certified enclosures of exp, log, tanh, sqrt and pi by integers and rationals: no float, rounding always outward.

Flow: the bottom of `dither.noise` (thresholds of samplers, coverage of intervals) and of `dither.accounting`.
Relies on: Python's integers. A pair (low, high) always satisfies low <= true value <= high; asking for more bits
makes the pair as narrow as wanted.  Proof: docs/proofs/noise/enclosures.md
"""

from __future__ import annotations

import math
from fractions import Fraction

from dither.errors import InvalidParameter

__all__ = ["ceil_shift", "exp_bounds", "exp_neg", "log_bounds", "pi_bounds", "sqrt_bounds", "tanh_bounds"]

Bounds = tuple[Fraction, Fraction]

_GUARD = 24
"""Spare bits below the asked ones; they absorb the 2N + 2 units that a sum of N < 2^17 terms may be off."""


def exp_neg(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers low <= 2^bits exp(-x) <= high, for x >= 0; high - low <= 2. Raises InvalidParameter below 0.
    exp(-x) = exp(-x / 2^j)^(2^j), the inner one by its alternating Taylor series, then j squarings."""
    if x < 0:
        raise InvalidParameter("x", expected="a number >= 0", found=x)
    if x == 0:
        return 1 << bits, 1 << bits
    if x >= bits:  # exp(-x) <= exp(-bits) < 2^-bits
        return 0, 1
    halvings = math.ceil(x).bit_length() + 4
    work = bits + halvings + _GUARD
    inner = (x.numerator << (work - halvings)) // x.denominator
    # exp(-x) falls in x: the lower end comes from the upper argument.
    low, high = _taylor(inner + 1, work)[0], _taylor(inner, work)[1]
    for _ in range(halvings):
        low = low * low >> work
        high = ceil_shift(high * high, work)
    return low >> (work - bits), min(ceil_shift(high, work - bits), 1 << bits)


def exp_bounds(x: Fraction, bits: int) -> Bounds:
    """low <= exp(x) <= high for any rational x, relative width at most 2^-bits."""
    magnitude = abs(x)
    # 1.5 > log2(e): enough bits that the relative width holds for the small exp(-|x|).
    work = bits + 4 + math.ceil(magnitude * 3 / 2)
    low, high = (Fraction(end, 1 << work) for end in exp_neg(magnitude, work))
    return (low, high) if x <= 0 else (1 / high, 1 / low)


def log_bounds(x: Fraction, bits: int) -> Bounds:
    """low <= ln(x) <= high for rational x > 0, width at most 2^-bits. Raises InvalidParameter for other x.
    x = 2^k m with 1/2 < m < 2, and ln m = 2 artanh((m - 1) / (m + 1))."""
    if x <= 0:
        raise InvalidParameter("x", expected="a number above 0", found=x)
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    mantissa = x / Fraction(2) ** exponent
    work = bits + abs(exponent).bit_length() + _GUARD
    ratio = (mantissa - 1) / (mantissa + 1)
    low, high = _odd_series(abs(ratio), work, sign=1)
    if ratio < 0:
        low, high = -high, -low
    two_low, two_high = _odd_series(Fraction(1, 3), work, sign=1)
    if exponent < 0:
        two_low, two_high = two_high, two_low
    scale = 1 << work
    return Fraction(2 * (low + exponent * two_low), scale), Fraction(2 * (high + exponent * two_high), scale)


def tanh_bounds(x: Fraction, bits: int) -> Bounds:
    """low <= tanh(x) <= high for any rational x, width at most 2^-bits. tanh = (1 - e) / (1 + e), e = exp(-2 |x|)."""
    low, high = (Fraction(end, 1 << (bits + 2)) for end in exp_neg(2 * abs(x), bits + 2))
    least, most = (1 - high) / (1 + high), (1 - low) / (1 + low)
    return (least, most) if x >= 0 else (-most, -least)


def sqrt_bounds(x: Fraction, bits: int) -> Bounds:
    """low <= sqrt(x) <= high for rational x >= 0, width 2^-bits."""
    root = math.isqrt((x.numerator << (2 * bits)) // x.denominator)
    return Fraction(root, 1 << bits), Fraction(root + 1, 1 << bits)


def pi_bounds(bits: int) -> Bounds:
    """low <= pi <= high, width at most 2^-bits: pi = 16 arctan(1/5) - 4 arctan(1/239) (Machin 1706)."""
    work = bits + _GUARD
    first_low, first_high = _odd_series(Fraction(1, 5), work, sign=-1)
    second_low, second_high = _odd_series(Fraction(1, 239), work, sign=-1)
    scale = 1 << work
    return Fraction(16 * first_low - 4 * second_high, scale), Fraction(16 * first_high - 4 * second_low, scale)


def ceil_shift(value: int, bits: int) -> int:
    """value / 2^bits rounded up."""
    return -(-value >> bits)


def _taylor(inner: int, work: int) -> tuple[int, int]:
    """Enclosure of 2^work exp(-inner / 2^work), 0 <= inner / 2^work <= 1/8.
    Each term is floored, so is less than 2 units low (the error of a term shrinks by 8 and gains 1); the rest of an
    alternating series is at most its next term, under 2 units."""
    term = total = 1 << work
    count = 1
    while term:
        term = (term * inner >> work) // count
        total += -term if count & 1 else term
        count += 1
    slack = 2 * count + 2
    return max(total - slack, 0), total + slack


def _odd_series(z: Fraction, work: int, *, sign: int) -> tuple[int, int]:
    """Enclosure of 2^work artanh(z) (sign=1) or 2^work arctan(z) (sign=-1) for 0 <= z <= 1/3:
    sum of sign^n z^(2n+1) / (2n+1). Each floored term is less than 2 units low; the rest is under 2 units."""
    power = (z.numerator << work) // z.denominator
    square = z * z
    total, index = 0, 0
    while power:
        term = power // (2 * index + 1)
        total += term if sign == 1 or index % 2 == 0 else -term
        power = power * square.numerator // square.denominator
        index += 1
    slack = 2 * index + 2
    return total - slack, total + slack
