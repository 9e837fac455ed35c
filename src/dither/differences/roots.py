"""Roots of a rational polynomial with their exact multiplicities, and the linear system that fits initial values.

Multiplicity decides the form of a solution (t·rᵗ appears or does not) and floating point cannot see it: a double root
comes out as two roots 1e-8 apart. So the polynomial is first split, in exact arithmetic, into factors without repeated
roots (Yun 1976); a numeric root that is near a small fraction is tried as that fraction, exactly.

Flow: used by `equations` only.  Relies on: exact rationals; numpy where a factor has degree two or more.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

__all__ = ["Root", "characteristic_roots", "solve_linear"]

Root = Fraction | complex

_Polynomial = list[Fraction]
"""Coefficients, ascending; the last is not 0; [] is the zero polynomial."""

_LARGEST_DENOMINATOR = 10**6


def characteristic_roots(polynomial: _Polynomial) -> dict[Root, int]:
    """Each root with its multiplicity; rational roots found exactly when their denominator is below a million (and
    always for a factor of degree one), the others as complex floats."""
    return {
        root: multiplicity
        for multiplicity, factor in enumerate(_square_free(polynomial), start=1)
        for root in _simple_roots(factor)
    }


def solve_linear(rows: list[list[Any]], right: list[Fraction]) -> list[Any]:
    """x with rows · x = right, rows square and regular: exactly for exact rows, else by numpy in complex128."""
    if any(isinstance(value, complex) for row in rows for value in row):
        import numpy as np

        matrix = np.array([[complex(value) for value in row] for row in rows])
        return list(np.linalg.solve(matrix, np.array([complex(float(value)) for value in right])))
    system = [[Fraction(value) for value in (*row, r)] for row, r in zip(rows, right, strict=True)]
    for i in range(len(system)):
        pivot = next(j for j in range(i, len(system)) if system[j][i])
        system[i], system[pivot] = system[pivot], system[i]
        system[i] = [value / system[i][i] for value in system[i]]
        for j, row in enumerate(system):
            if j != i and row[i]:
                system[j] = [a - row[i] * b for a, b in zip(row, system[i], strict=True)]
    return [row[-1] for row in system]


def _square_free(polynomial: _Polynomial) -> list[_Polynomial]:
    """Factors p_1, p_2, ... without repeated roots, polynomial = p_1 p_2² p_3³ ...: Yun's algorithm."""
    slope = _derivative(polynomial)
    common = _gcd(polynomial, slope)
    b, c = _divide(polynomial, common)[0], _divide(slope, common)[0]
    factors = []
    while len(b) > 1:
        d = _minus(c, _derivative(b))
        factor = _gcd(b, d)
        factors.append(factor)
        b, c = _divide(b, factor)[0], _divide(d, factor)[0]
    return factors


def _simple_roots(factor: _Polynomial) -> list[Root]:
    roots: list[Root] = []
    if len(factor) > 2:
        import numpy as np

        for root in np.roots([float(c) for c in reversed(factor)]):
            guess = Fraction(float(root.real)).limit_denominator(_LARGEST_DENOMINATOR)
            quotient, rest = _divide(factor, [-guess, Fraction(1)])
            if not rest:
                roots.append(guess)
                factor = quotient
    if len(factor) == 2:
        return [*roots, -factor[0] / factor[1]]
    if len(factor) > 2:
        roots.extend(complex(root) for root in np.roots([float(c) for c in reversed(factor)]))
    return roots


def _derivative(p: _Polynomial) -> _Polynomial:
    return [k * c for k, c in enumerate(p)][1:]


def _minus(p: _Polynomial, q: _Polynomial) -> _Polynomial:
    length = max(len(p), len(q))
    padded = [[*r, *[Fraction(0)] * (length - len(r))] for r in (p, q)]
    return _trimmed([a - b for a, b in zip(*padded, strict=True)])


def _divide(p: _Polynomial, q: _Polynomial) -> tuple[_Polynomial, _Polynomial]:
    """(quotient, remainder); q is not zero."""
    quotient = [Fraction(0)] * max(0, len(p) - len(q) + 1)
    rest = list(p)
    for k in reversed(range(len(quotient))):
        quotient[k] = rest[k + len(q) - 1] / q[-1]
        for i, c in enumerate(q):
            rest[k + i] -= quotient[k] * c
    return quotient, _trimmed(rest)


def _gcd(p: _Polynomial, q: _Polynomial) -> _Polynomial:
    """Greatest common divisor with leading coefficient 1."""
    while q:
        p, q = q, _divide(p, q)[1]
    return [c / p[-1] for c in p]


def _trimmed(p: _Polynomial) -> _Polynomial:
    length = max((k + 1 for k, c in enumerate(p) if c), default=0)
    return p[:length]
