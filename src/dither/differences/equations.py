"""Linear difference equations with constant coefficients, and the differential equations they are twins of.

    y_t = a_1 y_{t-1} + ... + a_n y_{t-n} + c,   y_0, ..., y_{n-1} given

iterated exactly, and solved in closed form by the roots of zⁿ - a_1 z^{n-1} - ... - a_n. Running totals are the first
of them (y_t = y_{t-1} + c), arithmetic and geometric progressions the next; Fibonacci's numbers are of order two.

Beside each difference equation stands a differential twin, the same law in steps of h and in continuous time:

    Δy/h = c         y' = c          the same straight line
    Δy/h = a y       y' = a y        y_0 (1+ah)^{t/h}   beside   y_0 e^{at}
    Δy/h = a y + c   y' = a y + c    both about the rest point -c/a

Flow: uses `roots` for the characteristic polynomial; the noise generators of streams are equations of this kind.
Relies on: exact rationals; numpy only when the roots are irrational.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

from dither.differences.arithmetic import Function, plain, ratio, whole_number, whole_steps
from dither.differences.roots import Root, characteristic_roots, solve_linear
from dither.errors import InvalidParameter
from dither.exact import exact

__all__ = [
    "ClosedForm",
    "DifferenceEquation",
    "Term",
    "Twins",
    "affine_growth",
    "arithmetic_progression",
    "exponential_growth",
    "geometric_progression",
    "linear_growth",
]


@dataclass(frozen=True)
class Term:
    """weight · C(t, power) · root^{t-power}; of a root of multiplicity m there are m terms, power 0 to m-1."""

    weight: Any
    root: Root
    power: int

    def __call__(self, t: int) -> Any:
        # C(t, j) r^{t-j} instead of t^j r^t: the same span, and root 0 needs no case of its own.
        return self.weight * _basis(self.root, self.power, t)


@dataclass(frozen=True)
class ClosedForm:
    """y_t = Σ terms, for t = 0, 1, 2, ... without iterating. Call it with t."""

    terms: tuple[Term, ...]
    exact: bool
    """True when every root is rational: values are then exact ints or Fractions, else floats (relative error about
    1e-15 · t, more when roots nearly coincide)."""

    def __call__(self, t: int) -> Any:
        t = whole_number(t, "t", least=0)
        total = sum(term(t) for term in self.terms)
        # Irrational roots of a real equation are real or come in conjugate pairs: the imaginary part is rounding.
        return plain(total) if self.exact else complex(total).real


@dataclass(frozen=True)
class DifferenceEquation:
    """y_t = coefficients[0] y_{t-1} + ... + coefficients[n-1] y_{t-n} + constant, with y_0..y_{n-1} = initial."""

    coefficients: tuple[Any, ...]
    initial: tuple[Any, ...]
    constant: Any = 0

    def __post_init__(self) -> None:
        if not self.coefficients or len(self.coefficients) != len(self.initial):
            raise InvalidParameter(
                "initial",
                expected="as many starting values as coefficients, at least one",
                found=f"{len(self.coefficients)} coefficients, {len(self.initial)} values",
            )

    def __iter__(self) -> Iterator[Any]:
        """y_0, y_1, y_2, ... without end, in the arithmetic of the numbers given."""
        recent = list(self.initial)
        while True:
            yield recent[0]
            following = sum(a * y for a, y in zip(self.coefficients, reversed(recent), strict=True)) + self.constant
            recent = [*recent[1:], following]

    def iterate(self, count: int) -> list[Any]:
        """The first `count` values."""
        return list(islice(self, whole_number(count, "count", least=0)))

    def solve(self) -> ClosedForm:
        """The solution as a function of t: exact when all characteristic roots are rational (always so at order one,
        with or without constant), else by numeric roots. Floats are read as the decimals they print as.
        Proof: docs/proofs/differences/equations.md"""
        coefficients = [exact(a, "coefficients") for a in self.coefficients]
        roots = characteristic_roots([*(-a for a in reversed(coefficients)), Fraction(1)])
        if self.constant:
            # A constant is one more root at 1: it is what E - 1 annihilates.
            roots[Fraction(1)] = roots.get(Fraction(1), 0) + 1
        basis = [(root, power) for root, multiplicity in roots.items() for power in range(multiplicity)]
        exact_equation = DifferenceEquation(
            tuple(coefficients), tuple(exact(y, "initial") for y in self.initial), exact(self.constant, "constant")
        )
        rows = [[_basis(root, power, t) for root, power in basis] for t in range(len(basis))]
        weights = solve_linear(rows, exact_equation.iterate(len(basis)))
        terms = (Term(plain(w), root, power) for w, (root, power) in zip(weights, basis, strict=True))
        return ClosedForm(tuple(terms), exact=all(isinstance(root, Fraction) for root in roots))


def arithmetic_progression(first: Any, difference: Any) -> ClosedForm:
    """y_t = first + t · difference, the solution of Δy = difference; exact."""
    return DifferenceEquation((1,), (first,), difference).solve()


def geometric_progression(first: Any, quotient: Any) -> ClosedForm:
    """y_t = first · quotient^t, the solution of y_{t+1} = quotient · y_t; exact."""
    return DifferenceEquation((quotient,), (first,)).solve()


@dataclass(frozen=True)
class Twins:
    """Two functions of time with the same start."""

    discrete: Function
    """Solution of the difference equation at whole multiples of the step; exact for exact arguments."""
    continuous: Function
    """Solution of the differential equation, a float where an exponential is needed."""


def linear_growth(rate: Any, *, start: Any, step: Any = 1) -> Twins:
    """Δy/h = rate beside y' = rate: y = start + rate·t for both."""
    return affine_growth(0, rate, start=start, step=step)


def exponential_growth(rate: Any, *, start: Any, step: Any = 1) -> Twins:
    """Δy/h = rate·y beside y' = rate·y: start·(1 + rate·h)^{t/h} beside start·e^{rate·t}."""
    return affine_growth(rate, 0, start=start, step=step)


def affine_growth(rate: Any, constant: Any, *, start: Any, step: Any = 1) -> Twins:
    """Δy/h = rate·y + constant beside y' = rate·y + constant; a straight line when rate is 0. Raises
    InvalidParameter for a step that is not above 0."""
    if not step > 0:
        raise InvalidParameter("step", expected="a number above 0", found=step)
    if rate == 0:
        return Twins(
            lambda t: start + constant * step * whole_steps(t, origin=0, step=step), lambda t: start + constant * t
        )
    rest = ratio(-constant, rate)
    factor = 1 + rate * step

    def discrete(t: Any) -> Any:
        return plain(rest + (start - rest) * factor ** whole_steps(t, origin=0, step=step))

    return Twins(discrete, lambda t: float(rest) + float(start - rest) * math.exp(rate * t))


def _basis(root: Root, power: int, t: int) -> Any:
    return math.comb(t, power) * root ** (t - power) if t >= power else 0
