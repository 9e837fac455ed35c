"""The other way round, for several questions at once: how many, how large, how much noise.

Flow: for planning a study before any question is asked; each answer is checked against `compose`, so that what is
promised is what the theorems there say. (For one question at a time against a running ledger: `how_many_left`.)
Relies on: `compose`; every bound there grows with the number of events and falls with the noise.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dither.accounting.compose import compose
from dither.accounting.events import Event, PureEvent
from dither.errors import InvalidParameter
from dither.exact import Number, exact, positive, round_down

__all__ = ["epsilon_each", "least_noise", "most_events"]

_MOST = 1 << 20
_STEPS = 40


def most_events(event: Event, *, epsilon: Number, delta: Number = 0) -> int:
    """How many such events, fixed in advance, are (epsilon, delta)-DP together; at most about a million are counted."""
    limit = positive(epsilon, "epsilon")
    low, high = 0, 1
    while high <= _MOST and _holds([event] * high, limit, delta):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _holds([event] * middle, limit, delta) else (low, middle)
    return low


def epsilon_each(count: int, *, epsilon: Number, delta: Number = 0) -> Fraction:
    """The epsilon that each of `count` pure questions may have, so that all together are (epsilon, delta)-DP; rounded
    down, within 1e-9 of the largest.  Raises InvalidParameter for a count below 1."""
    limit = positive(epsilon, "epsilon")
    if count < 1:
        raise InvalidParameter("count", expected="1 or above", found=count)
    low, high = limit / count, limit
    for _ in range(_STEPS):
        middle = round_down((low + high) / 2, Fraction(1, 10**12))
        low, high = (middle, high) if _holds([PureEvent(middle)] * count, limit, delta) else (low, middle)
    return low


def least_noise(
    make: Callable[[Fraction], Event], *, count: int, epsilon: Number, delta: Number, widest: Number = 10**12
) -> Fraction:
    """The least parameter x, within 1e-6 of it and never below, at which `count` events make(x) are (epsilon, delta)-DP
    together: make is a scale's or a variance's event, and costs less as x grows.
    Raises InvalidParameter when even `widest` costs too much."""
    limit = positive(epsilon, "epsilon")
    narrow, wide = Fraction(0), exact(widest, "widest")
    if count < 1 or not _holds([make(wide)] * count, limit, delta):
        raise InvalidParameter("widest", expected="a noise that fits the budget", found=widest)
    while wide > Fraction(1, 10**6) and _holds([make(wide / 2)] * count, limit, delta):
        wide = wide / 2
    narrow = wide / 2
    while wide - narrow > wide / 10**6:
        # A short middle keeps the rationals small.
        middle = _short((narrow + wide) / 2)
        narrow, wide = (narrow, middle) if _holds([make(middle)] * count, limit, delta) else (middle, wide)
    return wide


def _holds(events: list[Event], limit: Fraction, delta: Number) -> bool:
    composition = compose(events)
    if composition.price.delta > exact(delta, "delta"):
        return False
    bound = composition.epsilon(delta)
    return bound.epsilon is not None and bound.epsilon <= limit


def _short(value: Fraction) -> Fraction:
    """`value` within 2^-26 of itself, with few digits."""
    unit = Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length() - 26)
    return round(value / unit) * unit
