"""Newton's forward series: a function rebuilt from its differences at one point.

    f(x) = Σ_k C(t, k) Δᵏf(a),   t = (x-a)/h,   C(t, k) = t(t-1)...(t-k+1)/k!

It is Taylor's series with Δ for the derivative and falling factorials for powers, and becomes it as h → 0. On a
polynomial of degree n the sum ends at k = n: n+1 values give the polynomial everywhere, exactly.

Flow: `derivatives` expands it into powers (Taylor); `interpolation` is the same idea on uneven points.
Relies on: exact arithmetic while values, origin, step and x are ints or Fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from dither.differences.arithmetic import Function, is_exact, moved, plain, ratio, whole_number
from dither.errors import InvalidParameter

__all__ = ["NewtonSeries", "difference_table", "newton_series"]


@dataclass(frozen=True)
class NewtonSeries:
    """The polynomial Σ leading[k] · C(t, k), t = (x - origin)/step. Call it to evaluate it."""

    leading: tuple[Any, ...]
    """Δᵏf(origin), k = 0, 1, ...: at least one."""
    origin: Any = 0
    step: Any = 1

    @property
    def degree(self) -> int:
        """The largest k with Δᵏf(origin) ≠ 0; 0 for a constant."""
        return max((k for k, value in enumerate(self.leading) if value), default=0)

    def __call__(self, x: Any) -> Any:
        t = ratio(x - self.origin, self.step)
        leading = self.leading if is_exact(t) else [float(value) for value in self.leading]
        total: Any = 0
        # Horner, from the inside: a0 + t/1 (a1 + (t-1)/2 (a2 + ...)).
        for k in reversed(range(len(leading))):
            total = leading[k] + ratio((t - k) * total, k + 1)
        return plain(total)

    def difference(self) -> NewtonSeries:
        """Δ of the series: ΔC(t, k) = C(t, k-1), so the leading differences move down by one."""
        return NewtonSeries(self.leading[1:] or (0,), self.origin, self.step)

    def antidifference(self, start: Any = 0) -> NewtonSeries:
        """The polynomial F with ΔF = this and F(origin) = start: they move up by one. Σ_{j<t} k² in closed form."""
        return NewtonSeries((start, *self.leading), self.origin, self.step)

    def powers(self) -> tuple[Any, ...]:
        """Coefficients c_k of the same polynomial as Σ c_k (x - origin)ᵏ, ascending: its Taylor form."""
        in_t: list[Any] = [self.leading[-1]]
        for k in reversed(range(len(self.leading) - 1)):
            # leading[k] + (t - k)/(k+1) · in_t
            higher = [0, *in_t]
            lower = [k * c for c in in_t] + [0]
            in_t = [ratio(up - low, k + 1) for up, low in zip(higher, lower, strict=True)]
            in_t[0] = in_t[0] + self.leading[k]
        return tuple(plain(ratio(c, self.step**k)) for k, c in enumerate(in_t))


def newton_series(
    f: Function | Sequence[Any], degree: int | None = None, *, origin: Any = 0, step: Any = 1
) -> NewtonSeries:
    """Newton's series of f at origin with n+1 terms, n = degree; equal to f when f is a polynomial of degree <= n.

    f: a function (degree is then needed; it is asked at origin, origin+step, ..., origin+n·step and nowhere else), or
    these n+1 values themselves. Raises InvalidParameter for fewer.  Proof: docs/proofs/differences/newton.md"""
    if callable(f):
        n = whole_number(degree, "degree", least=0)
        values: list[Any] = [f(moved(origin, k * step)) for k in range(n + 1)]
    else:
        values = list(f)
        n = len(values) - 1 if degree is None else whole_number(degree, "degree", least=0)
    if not 0 <= n < len(values):
        raise InvalidParameter("f", expected=f"at least {max(n, 0) + 1} values", found=f"{len(values)} values")
    table = difference_table(values[: n + 1])
    return NewtonSeries(tuple(row[0] for row in table), origin, step)


def difference_table(values: Sequence[Any]) -> list[list[Any]]:
    """Row k holds Δᵏ of the values: N values give rows of N, N-1, ..., 1."""
    rows = [list(values)] if len(values) else []
    while rows and len(rows[-1]) > 1:
        rows.append([b - a for a, b in pairwise(rows[-1])])
    return rows
