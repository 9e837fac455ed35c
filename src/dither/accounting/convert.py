"""From zCDP to (epsilon, delta) and back, by the tight conversion, never the loose closed form.

rho-zCDP implies (epsilon, delta)-DP with, for every order alpha > 1,

    delta = exp((alpha - 1)(alpha rho - epsilon)) / alpha * (1 - 1/alpha)^(alpha - 1)

Every alpha gives a valid bound, so a float search proposes alpha and certified enclosures decide the value: an unlucky
search costs tightness, never soundness.
Flow: budgets at creation, allowances, and what people are shown. Relies on: `noise.bounds`.
Source: Canonne, Kamath, Steinke 2020, Proposition 12; Balle et al. 2020, Theorem 21.
Proof: docs/proofs/accounting/zcdp-conversion.md
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from dither.errors import InvalidParameter
from dither.exact import QUANTUM, Number, exact, positive, round_down, round_up
from dither.noise.bounds import exp_bounds, log_bounds

__all__ = ["delta_of", "epsilon_of", "rho_star"]

_BITS = 192
_DELTA_QUANTUM = Fraction(1, 10**30)


def delta_of(rho: Number, epsilon: Number) -> Fraction:
    """A delta such that every rho-zCDP mechanism is (epsilon, delta)-DP, rounded up to 1e-30; at most 1."""
    rho, epsilon = _at_least_zero(rho, "rho"), _at_least_zero(epsilon, "epsilon")
    if rho == 0:
        return Fraction(0)
    a, r, e = 0.0, float(rho), float(epsilon)

    def log_delta(a: float) -> float:
        return a * ((a + 1) * r - e) + a * (math.log(a) - math.log1p(a)) - math.log1p(a)

    a = _least_at(log_delta)
    order = _order(a)
    exponent = (order - 1) * (order * rho - epsilon + _log_up(1 - 1 / order)) - _log_down(order)
    if exponent >= 0:
        return Fraction(1)
    # Below the quantum the answer is the quantum: no need to enclose exp of a huge negative number.
    return round_up(exp_bounds(max(exponent, Fraction(-80)), _BITS)[1], _DELTA_QUANTUM)


def epsilon_of(rho: Number, delta: Number) -> Fraction:
    """An epsilon >= 0 such that every rho-zCDP mechanism is (epsilon, delta)-DP, rounded up to 1e-18."""
    rho, delta = _at_least_zero(rho, "rho"), _probability(delta)
    if rho == 0:
        return Fraction(0)
    r, log_delta = float(rho), _float_log(delta)

    def epsilon_at(a: float) -> float:
        return (a + 1) * r + math.log(a) - math.log1p(a) - (log_delta + math.log1p(a)) / a

    order = _order(_least_at(epsilon_at))
    bound = order * rho + _log_up(1 - 1 / order) - (_log_down(delta) + _log_down(order)) / (order - 1)
    return round_up(max(bound, Fraction(0)))


def rho_star(epsilon: Number, delta: Number) -> Fraction:
    """The largest rho such that every rho-zCDP mechanism is (epsilon, delta)-DP by this conversion, rounded down to
    1e-18: the limit of the rho meter of an (epsilon, delta) budget."""
    return _rho_star(positive(epsilon, "epsilon"), _probability(delta))


# Cached behind `exact`: the float 0.1 and Fraction(0.1) are equal keys with different meanings.
@lru_cache(maxsize=256)
def _rho_star(epsilon: Fraction, delta: Fraction) -> Fraction:
    e, log_delta = float(epsilon), _float_log(delta)

    def minus_rho_at(a: float) -> float:
        return -(e + (log_delta + math.log1p(a)) / a + math.log1p(a) - math.log(a)) / (a + 1)

    order = _order(_least_at(minus_rho_at))
    room = epsilon + (_log_down(delta) + _log_down(order)) / (order - 1) - _log_up(1 - 1 / order)
    return round_down(max(room / order, Fraction(0)), QUANTUM)


def _least_at(function: Callable[[float], float]) -> float:
    """Where a function of a = alpha - 1 is about least: a coarse grid in log a, then golden section around its best.
    Floats only propose; nothing private depends on them."""
    grid = [-30 + step / 2 for step in range(141)]
    values = [function(math.exp(x)) for x in grid]
    best = min(range(len(grid)), key=values.__getitem__)
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if function(math.exp(left)) < function(math.exp(right)):
            high = right
        else:
            low = left
    return math.exp((low + high) / 2)


def _order(a: float) -> Fraction:
    """alpha = 1 + a as a short rational: 40 significant bits, enough because the bound is flat at its optimum."""
    mantissa, exponent = math.frexp(a)
    return 1 + Fraction(round(mantissa * 2**40)) * Fraction(2) ** (exponent - 40)


def _log_up(value: Fraction) -> Fraction:
    return log_bounds(value, _BITS)[1]


def _log_down(value: Fraction) -> Fraction:
    return log_bounds(value, _BITS)[0]


def _float_log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _at_least_zero(value: Number, name: str) -> Fraction:
    number = exact(value, name)
    if number < 0:
        raise InvalidParameter(name, expected="0 or above", found=value)
    return number


def _probability(value: Number) -> Fraction:
    number = positive(value, "delta")
    if number >= 1:
        raise InvalidParameter("delta", expected="above 0 and below 1", found=value)
    return number
