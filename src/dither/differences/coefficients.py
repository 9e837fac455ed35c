"""The numbers that differences are made of: binomials, falling factorials, and the coefficients of (1-x)^a.

Flow: used by the operators (weights of Δⁿ, real orders of ∇), by Newton's series and by running totals.
Relies on: exact rationals; numpy only for the floating-point coefficients, imported where it is used.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, overload

from dither.differences.arithmetic import ratio, whole_number
from dither.exact import Number
from dither.exact import exact as rational

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["binomial", "difference_weights", "falling_factorial", "fractional_coefficients"]


def falling_factorial(x: Any, k: int, *, step: Any = 1) -> Any:
    """x (x-h) (x-2h) ... (x-(k-1)h), k factors; 1 for k = 0. It is to Δ what xᵏ is to the derivative:
    Δ of it is k·h times the falling factorial of k-1."""
    product: Any = 1
    for i in range(whole_number(k, "k", least=0)):
        product = product * (x - i * step)
    return product


def binomial(x: Any, k: int) -> Any:
    """C(x, k) = x(x-1)...(x-k+1) / k! for any number x, negative and fractional ones too; exact for exact x."""
    if isinstance(x, int) and x >= 0:
        return math.comb(x, whole_number(k, "k", least=0))
    return ratio(falling_factorial(x, k), math.factorial(k))


def difference_weights(order: int) -> list[int]:
    """Weights of Δⁿ f(x) = Σ (-1)^{n-k} C(n,k) f(x+kh), for k = 0..n: [-1, 1], [1, -2, 1], [-1, 3, -3, 1], ..."""
    n = whole_number(order, "order", least=0)
    return [(-1) ** (n - k) * math.comb(n, k) for k in range(n + 1)]


@overload
def fractional_coefficients(order: Number, n: int, *, exact: Literal[True]) -> list[Fraction]: ...
@overload
def fractional_coefficients(order: Number, n: int, *, exact: Literal[False] = False) -> NDArray[np.float64]: ...


def fractional_coefficients(order: Number, n: int, *, exact: bool = False) -> list[Fraction] | NDArray[np.float64]:
    """First n coefficients of (1-x)^order, so that (∇^order y)_t = Σ_k c_k y_{t-k}.

    order: any real, read as an exact rational (0.5 is one half).  exact: a list of n Fractions instead of (n,) float64.
    c_k = (-1)^k C(order, k), by c_0 = 1, c_k = c_{k-1} (k-1-order)/k. Order 1 gives 1, -1, 0, ...; order -1 all ones
    (the prefix sum); order -1/2 the central binomials C(2k,k)/4^k of the square-root factorization of running totals.
    Source: binomial series; as a filter, Hosking 1981 (fractional differencing).
    Proof: docs/proofs/differences/real_orders.md"""
    a = rational(order, "order")
    count = whole_number(n, "n", least=0)
    return _exact_series(a, count) if exact else _float_series(a, count)


def _exact_series(order: Fraction, n: int) -> list[Fraction]:
    coefficients = [Fraction(1)] if n else []
    for k in range(1, n):
        coefficients.append(coefficients[-1] * (k - 1 - order) / k)
    return coefficients


def _float_series(order: Fraction, n: int) -> NDArray[np.float64]:
    import numpy as np

    # The running product of n factors gathers n roundings: it is taken in extended precision (80 bits where the
    # machine has them), which leaves about one unit in the last place of a float64 at n = 2^20.
    k = np.arange(1, max(n, 1), dtype=np.longdouble)
    a = np.longdouble(order.numerator) / np.longdouble(order.denominator)
    factors = np.concatenate([np.ones(1, dtype=np.longdouble), (k - 1 - a) / k])
    return np.cumprod(factors)[:n].astype(np.float64)
