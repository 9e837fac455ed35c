"""Difference operators as polynomials in the shift E, where (E f)(x) = f(x+h).

    E      SHIFT       f(x+h)
    E-1    FORWARD     Δ, f(x+h) - f(x)
    1-E⁻¹  BACKWARD    ∇, f(x) - f(x-h)
    ½(E-E⁻¹)           CENTRAL, ½(f(x+h) - f(x-h)), the half-sum of Δ and ∇
    E^½-E^-½           HALF_STEP, δ, f(x+h/2) - f(x-h/2)

They add, scale, multiply (composition; it commutes) and take powers, so Δ∇ = δ², Δ-∇ = Δ∇ and ∇ = E⁻¹Δ are
equalities between values of this class. Everything the package says of a difference it reads off this one form.

Flow: `operators` applies these to functions and arrays; `derivatives` reads their order and accuracy.
Relies on: exact rational shifts and weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.differences.arithmetic import Function, is_exact, moved, plain, scaled
from dither.errors import InvalidParameter

__all__ = ["BACKWARD", "CENTRAL", "FORWARD", "HALF_STEP", "IDENTITY", "SHIFT", "Operator"]


@dataclass(frozen=True)
class Operator:
    """Σ weight · E^shift, a finite sum. Equal operators compare equal. Build one by `Operator.of` or by arithmetic."""

    terms: tuple[tuple[Fraction, Fraction], ...]
    """(shift in steps, weight), ascending shifts, no weight zero."""

    @classmethod
    def of(cls, weights: Mapping[Fraction, Fraction] | Mapping[int, int]) -> Operator:
        """The operator Σ weights[s] E^s."""
        exact_terms = ((Fraction(s), Fraction(w)) for s, w in weights.items())
        return cls(tuple(sorted((s, w) for s, w in exact_terms if w)))

    def __call__(self, f: Function, step: Any = 1) -> Function:
        """The function x ↦ Σ weight · f(x + shift·step); exact where f, x and step are."""
        return lambda x: plain(sum(scaled(weight, f(moved(x, shift * step))) for shift, weight in self.terms))

    def __add__(self, other: Operator | Fraction | int) -> Operator:
        weights = dict(self.terms)
        for shift, weight in _operator(other).terms:
            weights[shift] = weights.get(shift, Fraction(0)) + weight
        return Operator.of(weights)

    def __neg__(self) -> Operator:
        return Operator(tuple((s, -w) for s, w in self.terms))

    def __sub__(self, other: Operator | Fraction | int) -> Operator:
        return self + -_operator(other)

    def __rsub__(self, other: Fraction | int) -> Operator:
        return _operator(other) - self

    def __mul__(self, other: Operator | Fraction | int) -> Operator:
        """Composition, or scaling by a number."""
        weights: dict[Fraction, Fraction] = {}
        for s, v in self.terms:
            for t, w in _operator(other).terms:
                weights[s + t] = weights.get(s + t, Fraction(0)) + v * w
        return Operator.of(weights)

    __radd__ = __add__
    __rmul__ = __mul__

    def __pow__(self, n: Fraction | int) -> Operator:
        """n-fold composition, n a whole number >= 0; a bare shift takes any rational power, E**-1 and E**(1/2) too."""
        match self.terms:
            case ((shift, weight),) if weight == 1:
                return Operator(((shift * n, Fraction(1)),))
        power = plain(n)
        if not isinstance(power, int) or power < 0:
            raise InvalidParameter("n", expected="a whole number of at least 0", found=n, hint="use inverse()")
        result, base = IDENTITY, self
        while power:  # squaring: the terms of a power are few, the multiplications fewer
            result = result * base if power % 2 else result
            base, power = base * base, power // 2
        return result

    def stretched(self, steps: int) -> Operator:
        """The same operator with a step `steps` times as long."""
        return Operator(tuple((s * steps, w) for s, w in self.terms))

    def moment(self, k: int) -> Fraction:
        """Σ weight · shift^k: what the operator makes of xᵏ at x = 0 with step 1."""
        return sum((w * s**k for s, w in self.terms), Fraction(0))

    @property
    def order(self) -> int:
        """How many degrees a polynomial loses: the operator is (a constant times) h^order D^order + higher terms."""
        # Distinct shifts: by Vandermonde some moment below the number of terms is not zero.
        return next((k for k in range(len(self.terms)) if self.moment(k)), 0)

    @property
    def accuracy(self) -> int | None:
        """p such that operator/h^order is the derivative of that order up to O(h^p); None if there is no error."""
        return next((k for k in range(1, len(self.terms) + 1) if self.moment(self.order + k)), None)

    @property
    def error_constant(self) -> Fraction:
        """c such that operator f / h^order - f^(order) = c h^p f^(order+p) + smaller, p = accuracy; 0 without error.
        (For operators that start with h^order D^order itself, as Δ, ∇, δ, the half-sum and their powers do.)"""
        if self.accuracy is None:
            return Fraction(0)
        leading = self.order + self.accuracy
        return self.moment(leading) / math.factorial(leading)

    @property
    def noise_gain(self) -> Fraction:
        """Variance of the result when every value carries independent noise of variance 1: Σ weight².
        C(2n, n) for the n-th difference."""
        return sum((w * w for _, w in self.terms), Fraction(0))

    def __str__(self) -> str:
        return " + ".join(f"({plain(w)})E^({plain(s)})" for s, w in reversed(self.terms)) or "0"


def _operator(value: Operator | Fraction | int) -> Operator:
    """A number c stands for c times the identity, as in E - 1."""
    if isinstance(value, Operator):
        return value
    if not is_exact(value):
        raise InvalidParameter("operand", expected="an Operator, an int or a Fraction", found=value)
    return Operator.of({Fraction(0): Fraction(value)})


IDENTITY = Operator.of({0: 1})
SHIFT = Operator.of({1: 1})
FORWARD = SHIFT - 1
BACKWARD = 1 - SHIFT**-1
CENTRAL = Fraction(1, 2) * (FORWARD + BACKWARD)
HALF_STEP = SHIFT ** Fraction(1, 2) - SHIFT ** Fraction(-1, 2)
