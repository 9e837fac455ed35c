"""Operators applied to data: lists (exact) and numpy arrays (fast), along one axis.

Two boundary rules, and no third:
    valid         only positions where every value needed exists; the result is shorter by the operator's span
    zero history  values before the first are 0; lengths stay, and ∇^a ∇^b = ∇^{a+b} for all real a, b

A list (or tuple) is worked out in Python numbers, so ints and Fractions stay exact and have no largest value. An array
of integers stays int64 for whole orders and never wraps around: what cannot fit is refused, what might not is worked
out in Python integers first.

Flow: called by `operators` only.  Relies on: numpy, imported by this file's callers on first use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.differences.algebra import Operator
from dither.differences.arithmetic import is_exact, plain, scaled
from dither.differences.coefficients import fractional_coefficients
from dither.errors import InvalidParameter

__all__ = ["add_constant", "apply_valid", "apply_zero_history", "shifted"]

Array = NDArray[Any]
_LARGEST = 2**63 - 1
_DIRECT_LENGTH = 64
"""Up to this length a convolution is summed directly; beyond it by FFT."""


def apply_valid(operator: Operator, values: Sequence[Any] | Array, axis: int) -> list[Any] | Array:
    """Σ weight · values[i + shift] at every i where all these positions exist, in order."""
    if any(shift.denominator != 1 for shift, _ in operator.terms):
        raise InvalidParameter(
            "step",
            expected="one whose shifts are whole positions",
            found=str(operator),
            hint="half steps need an even step or an even order",
        )
    first = min((int(shift) for shift, _ in operator.terms), default=0)
    terms = [(int(shift) - first, weight) for shift, weight in operator.terms]
    span = max((offset for offset, _ in terms), default=0)
    if isinstance(values, np.ndarray):
        lines = np.moveaxis(_readable(values), axis, 0)
        return np.moveaxis(_weighted_sum(lines, terms, max(0, len(lines) - span)), 0, axis)
    return [plain(sum(scaled(w, values[i + offset]) for offset, w in terms)) for i in range(len(values) - span)]


def apply_zero_history(values: Sequence[Any] | Array, order: Fraction, step: int, axis: int) -> list[Any] | Array:
    """∇_h^order with zero history: y_t = Σ_k c_k x_{t-kh}, c = coefficients of (1-x)^order."""
    lines: Any
    result: Any
    if isinstance(values, np.ndarray):
        array = np.moveaxis(_readable(values), axis, 0)
        if order.denominator != 1 and array.dtype != object:
            array = _finite_floats(array)
        lines, result = array, array.copy()
    else:
        lines = result = list(values)
    # Positions of different remainder modulo the step never meet.
    for remainder in range(min(step, len(lines))):
        line = _power_of_nabla(lines[remainder::step], order)
        result[remainder::step] = line
    return np.moveaxis(result, 0, axis) if isinstance(result, np.ndarray) else result


def shifted(values: Sequence[Any] | Array, steps: int, axis: int) -> list[Any] | Array:
    """Values moved by `steps` positions: result[i] = values[i + steps], 0 where there is none."""
    lines: Any = np.moveaxis(_readable(values), axis, 0) if isinstance(values, np.ndarray) else list(values)
    n = len(lines)
    kept = max(0, n - abs(steps))
    source, target = (slice(n - kept, n), slice(0, kept)) if steps >= 0 else (slice(0, kept), slice(n - kept, n))
    result: Any = np.zeros_like(lines) if isinstance(lines, np.ndarray) else [0] * n
    result[target] = lines[source]
    return np.moveaxis(result, 0, axis) if isinstance(result, np.ndarray) else result


def add_constant(values: list[Any] | Array, constant: Any) -> list[Any] | Array:
    """values + constant; int64 stays int64 for a whole constant, and is refused when it would not fit."""
    if not isinstance(values, np.ndarray):
        return [value + constant for value in values]
    if values.dtype == np.int64 and isinstance(constant, int | np.integer):
        return _narrowed(values.astype(object) + int(constant)) if constant else values
    return values + (constant if values.dtype == object else float(constant))


def _weighted_sum(lines: Array, terms: list[tuple[int, Fraction]], length: int) -> Array:
    """Σ weight · lines[offset : offset + length] along axis 0."""
    # The common denominator is divided out once, at the end: integers stay integers till then.
    common = math.lcm(*(w.denominator for _, w in terms))
    weights = [(offset, int(w * common)) for offset, w in terms]

    def combined(x: Array) -> Array:
        total = np.zeros_like(x[:length])
        for offset, w in weights:
            total = total + (float(w) if x.dtype == np.float64 else w) * x[offset : offset + length]
        if common == 1:
            return total
        return total * Fraction(1, common) if x.dtype == object else total / common

    return _without_overflow(lines, sum(abs(w) for _, w in weights), combined)


def _power_of_nabla(line: Any, order: Fraction) -> Any:
    """∇^order along axis 0, as ∇^r ∇^m with m whole, |r| < 1, and no sign against the other's."""
    # ∇^m is subtraction or running addition, exact on integers. What is left for r has coefficients of at most 1, so
    # the FFT's error stays relative to the result; rounding -3/2 to -2 would add up more and take it away again.
    whole = int(order)
    line = _repeated_difference(line, whole) if whole >= 0 else _repeated_sum(line, -whole)
    rest = order - whole
    if not rest:
        return line
    if isinstance(line, np.ndarray) and line.dtype == np.float64:
        return _convolved(line, fractional_coefficients(rest, len(line)))
    coefficients = fractional_coefficients(rest, len(line), exact=True)
    if isinstance(line, np.ndarray):
        return _convolved_directly(line, coefficients)
    return _convolved_exactly(line, coefficients)


def _repeated_difference(line: Any, times: int) -> Any:
    if not isinstance(line, np.ndarray):
        for _ in range(times):
            line = line[:1] + [b - a for a, b in pairwise(line)]
        return line

    def differenced(x: Array) -> Array:
        for _ in range(times):
            x = np.concatenate([x[:1], x[1:] - x[:-1]])
        return x

    return _without_overflow(line, 2**times, differenced)


def _repeated_sum(line: Any, times: int) -> Any:
    if not isinstance(line, np.ndarray):
        for _ in range(times):
            total: Any = 0
            line = [total := total + value for value in line]
        return line

    def summed(x: Array) -> Array:
        for _ in range(times):
            x = np.cumsum(x, axis=0)
        return x

    # The t-th value is Σ C(times-1+k, k) x_{t-k}; these weights sum to C(times+t, t).
    return _without_overflow(line, math.comb(times + len(line) - 1, times) if len(line) else 1, summed)


def _convolved_exactly(line: list[Any], coefficients: list[Fraction]) -> list[Any]:
    """Causal convolution of a list, quadratic in its length."""
    if not all(is_exact(value) for value in line):
        return [sum(scaled(c, v) for c, v in zip(coefficients, line[t::-1], strict=False)) for t in range(len(line))]
    # Over common denominators, so that the quadratic work is on integers: 50 times faster than sums of Fractions.
    below = math.lcm(*(c.denominator for c in coefficients))
    beside = math.lcm(*(value.denominator for value in line))
    whole_coefficients = [int(c * below) for c in coefficients]
    whole_line = [int(value * beside) for value in line]
    products = (
        sum(c * v for c, v in zip(whole_coefficients, whole_line[t::-1], strict=False)) for t in range(len(line))
    )
    return [plain(Fraction(total, below * beside)) for total in products]


def _convolved(line: NDArray[np.float64], coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    """Causal convolution of (n, ...) float64 along axis 0 with (n,) coefficients."""
    n = len(line)
    if n <= _DIRECT_LENGTH:
        return _convolved_directly(line, coefficients)
    padded = 1 << (2 * n - 1).bit_length()
    kernel = np.fft.rfft(coefficients, padded).reshape((-1,) + (1,) * (line.ndim - 1))
    return np.fft.irfft(np.fft.rfft(line, padded, axis=0) * kernel, padded, axis=0)[:n]


def _convolved_directly(line: Array, coefficients: Sequence[Any] | Array) -> Array:
    """The same, term by term: quadratic in the length, exact for objects."""
    result = np.zeros_like(line)
    for k, coefficient in enumerate(coefficients):
        result[k:] += coefficient * line[: len(line) - k]
    return result


def _without_overflow(x: Array, gain: int, compute: Callable[[Array], Array]) -> Array:
    """compute(x); for int64 without wrapping around, where |result| (and all on the way) <= gain · max |x|."""
    if x.dtype != np.int64 or x.size == 0 or gain * max(1, int(x.max()), -int(x.min())) <= _LARGEST:
        return compute(x)
    result = compute(x.astype(object))
    # A true fraction (from ½) is no integer to be kept.
    whole = all(isinstance(value, int) for value in result.flat)
    return _narrowed(result) if whole else result.astype(np.float64)


def _narrowed(x: Array) -> Array:
    """An array of Python ints as int64; raises InvalidParameter (naming no value) when one does not fit."""
    if any(not -_LARGEST - 1 <= value <= _LARGEST for value in x.flat):
        raise InvalidParameter(
            "values",
            expected="integers whose result fits in 64 bits",
            found="a result that does not",
            hint="use a list, or an array of dtype object: both are exact at any size",
        )
    return x.astype(np.int64)


def _readable(values: Array) -> Array:
    """Integers (and booleans) as int64, floats as float64, objects as they are; the rest is refused."""
    if values.ndim == 0:
        raise InvalidParameter("values", expected="an array with at least one axis", found="a single number")
    match values.dtype.kind:
        # Small and unsigned integers wrap around silently, and numpy subtracts no booleans.
        case "b" | "i":
            return values.astype(np.int64)
        case "u":
            return _narrowed(values.astype(object))
        case "f":
            return values.astype(np.float64)
        case "O":
            return values
    raise InvalidParameter("values", expected="real numbers", found=str(values.dtype))


def _finite_floats(x: Array) -> Array:
    floats = x.astype(np.float64)
    if not np.isfinite(floats).all():
        # In a convolution by FFT one NaN would reach every position, those before it as well.
        raise InvalidParameter("values", expected="finite numbers for a fractional order", found="NaN or infinity")
    return floats
