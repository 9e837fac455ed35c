"""From differences to derivatives: estimates, how accurate they are, and Taylor's polynomial without a derivative.

A difference of order n divided by hⁿ tends to the n-th derivative as h → 0. How fast is read off the operator
(`Operator.accuracy`): forward and backward leave an error of order h, both central ones of order h², because the terms
of odd powers cancel between the two sides.

Flow: `algebra` (operators) and `newton` (series) below it.
Relies on: exact arithmetic with ints and Fractions; in floating point the error first shrinks with h and then grows
again as roundings of size 2^-52 |f| / hⁿ take over, which `error_table` shows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from dither.differences.algebra import BACKWARD, CENTRAL, FORWARD, HALF_STEP, Operator
from dither.differences.arithmetic import Function, polynomial_value, ratio, whole_number
from dither.differences.newton import newton_series
from dither.errors import InvalidParameter

__all__ = [
    "ErrorRow",
    "Scheme",
    "TaylorPolynomial",
    "accuracy",
    "derivative",
    "error_table",
    "remainder_bound",
    "taylor_by_differences",
]

Scheme = Literal["forward", "backward", "central", "central_half_step"]

_SCHEMES: Mapping[str, Operator] = MappingProxyType(
    {"forward": FORWARD, "backward": BACKWARD, "central": CENTRAL, "central_half_step": HALF_STEP}
)


def derivative(f: Function, x: Any, *, step: Any, scheme: Scheme = "central", order: int = 1) -> Any:
    """Estimate of f^(order)(x): the difference of that order over step^order, with error O(step^accuracy(scheme)).
    order: >= 1.  step: > 0.  Raises InvalidParameter outside these. Exact for polynomials of degree < order + accuracy.
    Proof: docs/proofs/differences/accuracy.md"""
    n = whole_number(order, "order", least=1)
    if not step > 0:
        raise InvalidParameter("step", expected="a number above 0", found=step)
    return ratio((_operator(scheme) ** n)(f, step)(x), step**n)


def accuracy(scheme: Scheme, *, order: int = 1) -> int:
    """The p in the error O(h^p) of `derivative`: 1 forward and backward, 2 central; the same at every order."""
    return (_operator(scheme) ** whole_number(order, "order", least=1)).accuracy or 0


@dataclass(frozen=True)
class ErrorRow:
    """One line of a table of errors as h → 0."""

    step: Any
    estimate: Any
    error: Any
    """estimate - true derivative."""
    observed_accuracy: float | None
    """log(error ratio)/log(step ratio) against the line before; None on the first line and where an error is 0."""


def error_table(
    f: Function, true_derivative: Any, x: Any, *, steps: Sequence[Any], scheme: Scheme = "central", order: int = 1
) -> tuple[ErrorRow, ...]:
    """The estimates of f^(order)(x) for each step, their errors, and the accuracy they show."""
    rows: list[ErrorRow] = []
    for step in steps:
        estimate = derivative(f, x, step=step, scheme=scheme, order=order)
        error = estimate - true_derivative
        seen = None
        if rows and error and rows[-1].error and step != rows[-1].step:
            seen = math.log(abs(error / rows[-1].error)) / math.log(step / rows[-1].step)
        rows.append(ErrorRow(step, estimate, error, seen))
    return tuple(rows)


@dataclass(frozen=True)
class TaylorPolynomial:
    """Σ coefficients[k] (x - center)ᵏ. Call it to evaluate it."""

    coefficients: tuple[Any, ...]
    center: Any

    def __call__(self, x: Any) -> Any:
        return polynomial_value(list(self.coefficients), x - self.center)

    def derivative(self, k: int) -> Any:
        """Its k-th derivative at the center: an estimate of f^(k)(center) with error O(h^{n+1-k}), n its degree."""
        k = whole_number(k, "k", least=0)
        return math.factorial(k) * self.coefficients[k] if k < len(self.coefficients) else 0


def taylor_by_differences(f: Function, degree: int, *, at: Any = 0, step: Any) -> TaylorPolynomial:
    """Taylor's polynomial of f at `at` with derivatives replaced by differences: Newton's series expanded in powers.

    It asks f at at, at+h, ..., at+n·h only. Exact on polynomials of degree <= n; otherwise off by at most
    `remainder_bound(..., step=step)`. As h → 0 both it and its remainder become Taylor's."""
    return TaylorPolynomial(newton_series(f, degree, origin=at, step=step).powers(), at)


def remainder_bound(x: Any, *, degree: int, at: Any = 0, step: Any, derivative_bound: Any) -> Any:
    """Bound on |f(x) - p(x)| for Newton's (Taylor's, if step = 0) polynomial p of f at `at`:

        M/(n+1)! · |x-a| |x-a-h| ... |x-a-nh|,   n = degree, M = derivative_bound

    for every f whose (n+1)-th derivative is at most M in size on an interval holding x, a and a+nh. Exact for exact
    arguments.  Raises InvalidParameter for a derivative_bound below 0.  Proof: docs/proofs/differences/newton.md"""
    n = whole_number(degree, "degree", least=0)
    if not derivative_bound >= 0:
        raise InvalidParameter("derivative_bound", expected="a number of at least 0", found=derivative_bound)
    product = derivative_bound
    for i in range(n + 1):
        product = product * abs(x - at - i * step)
    return ratio(product, math.factorial(n + 1))


def _operator(scheme: str) -> Operator:
    if scheme not in _SCHEMES:
        raise InvalidParameter("scheme", expected=" or ".join(_SCHEMES), found=scheme)
    return _SCHEMES[scheme]
