"""Arithmetic that stays exact while its inputs are exact.

Flow: the lowest file of the package; every other one multiplies, divides and moves by these few functions.
Relies on: `fractions` alone. An int or a Fraction is exact; anything else (float, numpy array) is met with floats,
because a Fraction meeting a numpy array would turn it into an array of Python objects.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from operator import index
from typing import Any, TypeGuard

from dither.errors import InvalidParameter

__all__ = [
    "Function",
    "is_exact",
    "moved",
    "plain",
    "polynomial_value",
    "ratio",
    "scaled",
    "whole_number",
    "whole_steps",
]

Function = Callable[[Any], Any]
"""A function of one number. `Any`, since a difference needs nothing of the values but that they add: int, float,
Fraction, numpy array."""

_FLOAT_TOLERANCE = 1e-9


def is_exact(value: object) -> TypeGuard[int | Fraction]:
    return isinstance(value, int | Fraction)


def plain(value: Any) -> Any:
    """The same number; a Fraction that is whole comes back as an int."""
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def scaled(weight: Fraction, value: Any) -> Any:
    """weight * value, exact when value is."""
    if weight.denominator == 1:
        return weight.numerator * value
    return weight * value if is_exact(value) else float(weight) * value


def moved(x: Any, displacement: Any) -> Any:
    """x + displacement, exact when both are."""
    displacement = plain(displacement)
    if isinstance(displacement, Fraction) and not is_exact(x):
        return x + float(displacement)
    return x + displacement


def ratio(numerator: Any, denominator: Any) -> Any:
    """numerator / denominator: a Fraction (or int) when both are exact, whatever `/` gives otherwise."""
    if is_exact(numerator) and is_exact(denominator):
        return plain(Fraction(numerator) / denominator)
    return numerator / denominator


def whole_number(value: Any, name: str, *, least: int) -> int:
    """`value` as an int; raises InvalidParameter unless it is a whole number >= least."""
    try:
        whole = index(plain(value))
    except TypeError:
        whole = least - 1
    if whole < least or isinstance(value, bool):
        raise InvalidParameter(name, expected=f"a whole number of at least {least}", found=value)
    return whole


def whole_steps(x: Any, *, origin: Any, step: Any) -> int:
    """How many steps lead from origin to x. Between the steps a solution of a difference equation is free (any
    periodic function may be added), so a point that is not a whole number of steps away raises InvalidParameter."""
    steps = ratio(x - origin, step)
    nearest: int = round(steps)
    off_grid = steps != nearest if is_exact(steps) else abs(steps - nearest) > _FLOAT_TOLERANCE * max(1, abs(nearest))
    if off_grid:
        raise InvalidParameter("x", expected=f"a whole number of steps of {step} away from {origin}", found=x)
    return nearest


def polynomial_value(coefficients: list[Any], x: Any) -> Any:
    """Σ c_k x^k by Horner's rule; coefficients ascending. Exact for exact coefficients and x."""
    total: Any = 0
    for c in reversed(coefficients):
        total = total * x + (c if is_exact(x) or not isinstance(c, Fraction) else float(c))
    return plain(total)
