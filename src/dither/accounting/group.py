"""What holds for k people at once, or for one person in k units: group privacy.

Flow: an event's distances are those of one unit; `grouped` gives the event as k units see it. The rules for bare
(epsilon, delta), rho, mu and Rényi curves are here for figures whose event is not known.
Relies on: events and exact rationals; the (epsilon, delta) rule is rounded up.
Proof: docs/proofs/accounting/group-privacy.md
"""

from __future__ import annotations

from fractions import Fraction

from dither.accounting.events import (
    ComposedEvent,
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    SelectionEvent,
)
from dither.accounting.renyi import RenyiCurve
from dither.errors import GuaranteeError, InvalidParameter
from dither.exact import Number, exact, round_up
from dither.noise.bounds import exp_bounds

__all__ = ["group_approximate", "group_gaussian", "group_renyi", "group_zcdp", "grouped"]

_BITS = 128


def grouped(event: Event, size: int) -> Event:
    """The same event between data sets that differ in `size` units: noise stays, distances grow with the group.
    Distances add up along a path of single changes, for every kind of noise; a choice of bounded range has `size` times
    the range.  Raises GuaranteeError for a class of event without a rule."""
    k = _size(size)
    match event:
        case LaplaceEvent(scale, distance):
            return LaplaceEvent(scale, k * distance)
        case GaussianEvent(variance, squared_distance):
            return GaussianEvent(variance, k * k * squared_distance)
        case ExponentialEvent(epsilon):
            return ExponentialEvent(k * epsilon)
        case PureEvent(epsilon):
            return PureEvent(k * epsilon)
        case SelectionEvent(epsilon, delta):
            total, failure = group_approximate(epsilon, delta, k)
            return SelectionEvent(total, failure)
        case ComposedEvent(events):
            return ComposedEvent(tuple(grouped(part, k) for part in events))
        case _:
            raise GuaranteeError(f"No group rule is known for {type(event).__name__}.")


def group_approximate(epsilon: Number, delta: Number, size: int) -> tuple[Fraction, Fraction]:
    """(epsilon, delta)-DP for one unit is (k epsilon, delta (e^(k epsilon) - 1)/(e^epsilon - 1))-DP for k units; delta
    is rounded up to 1e-36, and at most 1.
    Source: Dwork and Roth 2014, Theorem 2.2, with the geometric series kept."""
    e, d, k = _at_least_zero(epsilon, "epsilon"), _at_least_zero(delta, "delta"), _size(size)
    if d == 0:
        return k * e, d
    # 1 + e^epsilon + ... + e^((k-1) epsilon), so that epsilon 0 needs no limit.
    growth = exp_bounds(e, _BITS)[1]
    total = Fraction(0)
    for _ in range(k):
        total = round_up(1 + growth * total, Fraction(1, 2**_BITS))
        if d * total >= 1:
            return k * e, Fraction(1)
    return k * e, round_up(d * total, Fraction(1, 10**36))


def group_zcdp(rho: Number, size: int) -> Fraction:
    """rho-zCDP for one unit is k^2 rho-zCDP for k. Source: Bun and Steinke 2016, Proposition 1.9."""
    return _size(size) ** 2 * _at_least_zero(rho, "rho")


def group_gaussian(mu: float, size: int) -> float:
    """mu-GDP for one unit is k mu-GDP for k. Source: Dong, Roth, Su 2022, Theorem 2.14."""
    return mu * _size(size) * (1 + 1e-15)


def group_renyi(curve: RenyiCurve, size: int) -> RenyiCurve:
    """The curve for k = 2^c units: at order alpha/k, 3^c times the divergence at alpha, for alpha >= 2k.
    size: a power of two.  Source: Mironov 2017, group privacy (arXiv 1702.07476). Where the events are known,
    `grouped` is tighter.  Raises InvalidParameter for other sizes, and for a curve with failure mass."""
    k = _size(size)
    c = k.bit_length() - 1
    if k != 1 << c:
        raise InvalidParameter("size", expected="a power of two", found=size)
    if curve.delta:
        raise InvalidParameter("curve", expected="a curve without failure mass", found=curve.delta)
    kept = curve.orders >= 2 * k if c else curve.orders > 1
    return RenyiCurve(curve.orders[kept] / k, curve.divergences[kept] * 3**c * (1 + 1e-15))


def _size(size: int) -> int:
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise InvalidParameter("size", expected="a whole number, 1 or above", found=size)
    return size


def _at_least_zero(value: Number, name: str) -> Fraction:
    number = exact(value, name)
    if number < 0:
        raise InvalidParameter(name, expected="0 or above", found=value)
    return number
