"""The Rényi curve of events: how far the two laws are apart at every order alpha, and the epsilon that follows.

Flow: beside `price`, for people, notebooks and the odometer; the ledger's own meters are exact and elsewhere. Curves of
events fixed in advance add up order by order, and one conversion at the end gives (epsilon, delta).
Relies on: float arithmetic widened by far more than its error (`_WIDER`, `_ABOVE`), so a curve is never below the true
one.
Proof: docs/proofs/accounting/renyi-curves.md
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.accounting.events import (
    ComposedEvent,
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    SelectionEvent,
)
from dither.errors import GuaranteeError, InvalidParameter
from dither.exact import Number, exact, round_up

__all__ = ["ORDERS", "RenyiCurve", "failure_of", "flatten", "log_moments", "renyi_curve"]

Floats = NDArray[np.float64]

ORDERS: Floats = 1 + np.exp2(np.arange(-80, 113) / 8)
"""alpha from 1.001 to 16,385: at the best of them epsilon is within 0.1 % of that at the best of all orders."""

_WIDER = 1e-12
_ABOVE = 1e-14
"""Relative and absolute widening of a log-moment. Its float error is below 40 units in the last place of terms that
are at most 1 + the result: under 1e-14 (1 + result)."""


@dataclass(frozen=True)
class RenyiCurve:
    """D_alpha <= divergences at orders, for every alpha listed; outside the failure mass delta."""

    orders: Floats
    """(n,) float64, above 1, ascending."""
    divergences: Floats
    """(n,) float64, nats, never below the true divergence."""
    delta: Fraction = Fraction(0)
    """Failure mass of key selection: what is left of a wanted delta converts the curve."""

    def __add__(self, other: RenyiCurve) -> RenyiCurve:
        if not np.array_equal(self.orders, other.orders):
            raise InvalidParameter("curve", expected="a curve at the same orders", found=other.orders)
        return RenyiCurve(self.orders, (self.divergences + other.divergences) * (1 + 1e-15), self.delta + other.delta)

    def __mul__(self, count: int) -> RenyiCurve:
        """The curve of `count` such events."""
        if count < 0:
            raise InvalidParameter("count", expected="0 or above", found=count)
        return RenyiCurve(self.orders, self.divergences * count * (1 + 1e-15), self.delta * count)

    def at(self, order: float) -> float:
        """A divergence at least that of this order: the one of the next listed order (divergences grow with alpha)."""
        index = int(np.searchsorted(self.orders, order))
        return float(self.divergences[index]) if index < len(self.orders) else math.inf

    def epsilon(self, delta: Number) -> Fraction:
        """The least epsilon over the listed orders at which events of this curve are (epsilon, delta)-DP, rounded up.
        Source: Canonne, Kamath, Steinke 2020, Proposition 12; Balle et al. 2020, Theorem 21."""
        wanted = exact(delta, "delta")
        left = wanted - self.delta
        if not 0 < left < 1:
            raise InvalidParameter("delta", expected=f"above {self.delta} and below 1", found=delta)
        minus_log_delta = -_log(left)
        a = self.orders - 1
        terms = self.divergences + np.log1p(-1 / self.orders) + (minus_log_delta - np.log(self.orders)) / a
        # Every term is at most a few times the sum of these: widening by them covers the rounding of each operation.
        size = self.divergences + 1 + (abs(minus_log_delta) + np.log(self.orders)) / a
        return round_up(Fraction(float(max(0.0, np.min(terms + 1e-14 * size)))))

    def order(self, delta: Number) -> float:
        """The listed order at which `epsilon` is attained."""
        a = self.orders - 1
        terms = self.divergences + np.log1p(-1 / self.orders) - (_log(exact(delta, "delta")) + np.log(self.orders)) / a
        return float(self.orders[int(np.argmin(terms))])


def renyi_curve(events: Iterable[Event], orders: Floats = ORDERS) -> RenyiCurve:
    """The curve of these events together, fixed in advance.
    orders: (n_orders,) float64, above 1, ascending.  Raises InvalidParameter for others."""
    counted = Counter(flatten(events))
    if orders.ndim != 1 or not np.all(orders > 1) or not np.all(np.diff(orders) > 0):
        raise InvalidParameter("orders", expected="ascending and above 1", found=orders)
    moments = log_moments(counted, orders - 1)
    delta = sum((failure_of(event) * count for event, count in counted.items()), Fraction(0))
    return RenyiCurve(orders, moments / (orders - 1) * (1 + _WIDER), delta)


def log_moments(counted: Mapping[Event, int], a: Floats) -> Floats:
    """Sum over the events of log E[exp(a L)], L the loss under the first law: at least the true value, (n,) float64.
    a: alpha - 1, (n,), above 0. Each event takes the least of three bounds: its own formula where it has one (discrete
    Laplace; randomised response for whatever is pure), a (a + 1) rho, and a epsilon."""
    if not counted:
        return np.zeros_like(a)
    counts = np.array(list(counted.values()), dtype=float)[:, None]
    table = np.array([_parameters(event) for event in counted])
    epsilon, rho, scale, distance = (table[:, [column]] for column in range(4))
    with np.errstate(invalid="ignore"):
        formula = np.where(
            scale > 0,
            _laplace_moment(scale, distance, a),
            np.where(np.isinf(epsilon), np.inf, _pure_moment(epsilon, a)),
        )
        formula = formula * (1 + _WIDER) + _ABOVE
    least = np.minimum(np.minimum(formula, a * epsilon), a * (a + 1) * rho) * (1 + _WIDER)
    total: Floats = np.sum(counts * least, axis=0) * (1 + _WIDER)
    return total


def flatten(events: Iterable[Event]) -> Iterable[Event]:
    """The events inside compositions, one by one."""
    for event in events:
        if isinstance(event, ComposedEvent):
            yield from flatten(event.events)
        else:
            yield event


def failure_of(event: Event) -> Fraction:
    """The failure mass of a single event."""
    return Fraction(event.delta) if isinstance(event, SelectionEvent) else Fraction(0)


def _parameters(event: Event) -> tuple[float, float, float, float]:
    """epsilon, rho, and for Laplace noise scale and distance (else 0 and 1), each a float not below the exact number.
    The exact rho of Laplace noise takes longer than its whole curve; here that of any pure event does."""
    match event:
        case LaplaceEvent(scale, distance) if distance:
            epsilon = _up(distance / scale)
            return epsilon, _rho_of_pure(epsilon), float(scale), float(distance)
        case LaplaceEvent():
            return 0.0, 0.0, 0.0, 1.0
        case GaussianEvent(variance, squared_distance):
            return math.inf, _up(Fraction(squared_distance) / (2 * variance)), 0.0, 1.0
        case ExponentialEvent(epsilon):
            return _up(epsilon), _up(Fraction(epsilon * epsilon) / 8), 0.0, 1.0
        case PureEvent(epsilon) | SelectionEvent(epsilon, _):
            return _up(epsilon), _rho_of_pure(_up(epsilon)), 0.0, 1.0
        case _:
            raise GuaranteeError(f"No curve is known for {type(event).__name__}.")


def _rho_of_pure(epsilon: float) -> float:
    return epsilon * math.tanh(epsilon / 2) * (1 + 1e-15)


def _pure_moment(epsilon: Floats, a: Floats) -> Floats:
    """log E[exp(a L)] of randomised response, which every epsilon-DP mechanism is a randomised map of."""
    finite = np.where(np.isinf(epsilon), 0.0, epsilon)
    moment: Floats = a * finite + np.log1p(np.exp(-(1 + 2 * a) * finite)) - np.log1p(np.exp(-finite))
    return moment


def _laplace_moment(scale: Floats, distance: Floats, a: Floats) -> Floats:
    """log E[exp(a L)] of discrete Laplace noise: L = (d - 2j)/b, j = 0..d, a geometric sum between its two ends.
    d: distance, b: scale, p = exp(-1/b), as in docs/proofs/accounting/rho-of-laplace.md."""
    b = np.where(scale > 0, scale, 1.0)
    p, rate = np.exp(-1 / b), (1 + 2 * a) / b
    inner = -np.expm1(-1 / b) * np.exp(-rate) * np.expm1(-rate * (distance - 1)) / np.expm1(-rate)
    moment: Floats = a * distance / b + np.log1p(inner + np.exp(-rate * distance)) - np.log1p(p)
    return moment


def _up(value: Fraction) -> float:
    return math.nextafter(float(value), math.inf) if value else 0.0


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)
