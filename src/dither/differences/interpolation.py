"""Divided differences: Newton's series on points that need not be evenly spaced.

    f[a] = f(a),   f[a, b] = (f(b) - f(a))/(b - a),   f[a, ..., y, z] = (f[b, ..., z] - f[a, ..., y])/(z - a)

Used by two parts of a privacy system, on opposite sides. The first divided difference bounds how fast a function moves
(the Lipschitz constant of metric privacy, in `sensitivity`). And extrapolation is an attack: an aggregate that is a
polynomial in how many rows were taken is known one row further from answers that all differ by many rows, so
"no two questions may differ by a single row" protects nobody. Noise is what defends: extrapolation multiplies its
variance by `extrapolation_noise_gain`.

Relies on: exact arithmetic while points and values are ints or Fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dither.differences.arithmetic import is_exact, plain, ratio
from dither.errors import InvalidParameter

__all__ = [
    "NewtonInterpolant",
    "divided_differences",
    "extrapolation_noise_gain",
    "extrapolation_weights",
    "interpolate",
    "newton_extrapolate",
]


@dataclass(frozen=True)
class NewtonInterpolant:
    """The polynomial Σ_k f[x_0..x_k] (x-x_0)...(x-x_{k-1}). Call it to evaluate it."""

    points: tuple[Any, ...]
    coefficients: tuple[Any, ...]
    """f[x_0], f[x_0,x_1], ...: as many as points."""

    def __call__(self, x: Any) -> Any:
        exact_x = is_exact(x)
        total: Any = 0
        for point, c in zip(reversed(self.points), reversed(self.coefficients), strict=True):
            total = total * (x - point) + (c if exact_x else float(c))
        return plain(total)


def divided_differences(points: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """f[x_0], f[x_0, x_1], ..., f[x_0, ..., x_n] for n+1 different points in any order; exact on ints and Fractions.
    On points a, a+h, a+2h, ... the k-th is Δᵏf(a)/(k! hᵏ)."""
    _check_points(points, values)
    column = list(values)
    result = column[:1]
    for k in range(1, len(points)):
        column = [ratio(b - a, points[i + k] - points[i]) for i, (a, b) in enumerate(pairwise(column))]
        result.append(column[0])
    return result


def interpolate(points: Sequence[Any], values: Sequence[Any]) -> NewtonInterpolant:
    """The polynomial of least degree through (points[i], values[i]): the only one of degree < len(points)."""
    return NewtonInterpolant(tuple(points), tuple(divided_differences(points, values)))


def newton_extrapolate(points: Sequence[Any], values: Sequence[Any], at: Any) -> Any:
    """What the values say at a point where nothing was asked: exact when they come from a polynomial of degree
    < len(points), otherwise off by the remainder (`remainder_bound`)."""
    return interpolate(points, values)(at)


def extrapolation_weights(points: Sequence[Any], at: Any) -> list[Any]:
    """w with newton_extrapolate(points, values, at) = Σ w_i values_i for all values (Lagrange's weights)."""
    _check_points(points, points)
    weights = []
    for i, own in enumerate(points):
        weight: Any = Fraction(1)
        for other in (*points[:i], *points[i + 1 :]):
            weight = weight * ratio(at - other, own - other)
        weights.append(plain(weight))
    return weights


def extrapolation_noise_gain(points: Sequence[Any], at: Any) -> Any:
    """Variance of the extrapolated value when every value carries independent noise of variance 1: Σ w_i².
    One step beyond 0, 1, ..., k-1 it is C(2k, k) - 1, about 4^k/sqrt(pi k)."""
    return sum(weight * weight for weight in extrapolation_weights(points, at))


def _check_points(points: Sequence[Any], values: Sequence[Any]) -> None:
    if not len(points) or len(points) != len(values):
        raise InvalidParameter(
            "points", expected="as many as values, at least one", found=f"{len(points)} points, {len(values)} values"
        )
    if len(set(points)) != len(points):
        raise InvalidParameter("points", expected="all different", found="a point given twice")
