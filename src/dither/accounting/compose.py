"""The least epsilon that several events together are known to cost, and the theorem that says so.

Flow: for people and notebooks; decisions about a budget are `admission`'s. Each bound holds for events fixed in advance
(the ledger's own rule is the one that holds for events chosen along the way).
Relies on: `price`, `convert`, `renyi`, `gdp`, `pld`, `noise.bounds`. Proof: docs/proofs/accounting/composition.md
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.convert import epsilon_of
from dither.accounting.events import Event, LaplaceEvent, PureEvent, SelectionEvent
from dither.accounting.gdp import TradeOff, epsilon_of_gaussian, mu_squared_of
from dither.accounting.losses import NormalLoss, loss_of
from dither.accounting.pld import LEAST_DELTA, privacy_loss
from dither.accounting.price import Price, price
from dither.accounting.renyi import flatten, renyi_curve
from dither.errors import InvalidParameter
from dither.exact import Number, exact, round_up
from dither.noise.bounds import exp_bounds

__all__ = ["Bound", "Composition", "compose", "epsilon_of_equal_pure"]

_MOST_EQUAL_EVENTS = 2000
_MOST_EPSILON = 1000
"""Where the optimal bound is worked out: it sums as many terms as there are events, and above this sum of epsilons it
says little."""
_BITS = 256
_NO_EPSILON = "Gaussian noise has no finite epsilon at delta 0"


@dataclass(frozen=True)
class Bound:
    """One theorem's answer: all events together are (epsilon, delta)-DP."""

    epsilon: Fraction | None
    """Rounded up; None when no theorem gives a finite epsilon at this delta."""
    delta: Fraction
    because: str
    """The theorem, in words."""


@dataclass(frozen=True)
class Composition:
    """Events on the same data, with their prices."""

    events: tuple[Event, ...]
    prices: tuple[Price, ...]

    @property
    def price(self) -> Price:
        return sum(self.prices, Price())

    def epsilon(self, delta: Number = 0) -> Bound:
        """The least epsilon known at this delta, with its theorem: the least of `bounds`."""
        best, *others = self.bounds(delta)
        for bound in others:
            if bound.epsilon is not None and (best.epsilon is None or bound.epsilon < best.epsilon):
                best = bound
        return best

    def bounds(self, delta: Number = 0) -> tuple[Bound, ...]:
        """What every theorem that applies says at this delta: the basic sum, the optimal composition of equal pure
        events, zCDP, the Rényi curve, Gaussian differential privacy, the privacy-loss distribution. delta first pays
        for the events' own failure masses."""
        wanted = exact(delta, "delta")
        left = wanted - self.price.delta
        if not 0 <= wanted < 1 or left < 0:
            raise InvalidParameter("delta", expected=f"below 1 and at least {self.price.delta}", found=delta)
        return tuple(self._bounds(wanted, left))

    def trade_off(self, deltas: Iterable[Number] = ("1e-9", "1e-6", "1e-4", "1e-3", "1e-2", "1e-1")) -> TradeOff:
        """The trade-off curve that the bounds at these deltas give: how often the best attack must miss."""
        wanted = [exact(delta, "delta") for delta in (self.price.delta, *deltas)]
        found = [self.epsilon(delta) for delta in wanted if delta >= self.price.delta]
        return TradeOff(tuple((bound.epsilon, bound.delta) for bound in found if bound.epsilon is not None))

    def _bounds(self, wanted: Fraction, left: Fraction) -> Iterable[Bound]:
        total = self.price
        because = "basic composition: the sum of the epsilons"
        yield Bound(total.epsilon, wanted, because if total.epsilon is not None else _NO_EPSILON)
        if left == 0:
            return
        yield Bound(epsilon_of(total.rho, left), wanted, "zCDP, tight conversion (Canonne, Kamath, Steinke 2020)")
        equal = self._equal_pure()
        if equal is not None:
            bound = epsilon_of_equal_pure(*equal, left)
            yield Bound(bound, wanted, "optimal composition of equal pure events (Kairouz, Oh, Viswanath 2015)")
        try:
            # The optimal composition is the last word on events that are nothing but pure; others may cost less.
            yield from self._float_bounds(wanted, left, equal is not None and all(map(_only_pure, self.events)))
        except OverflowError:
            return  # a scale, distance or epsilon beyond 1e308: the exact theorems above have answered

    def _float_bounds(self, wanted: Fraction, left: Fraction, optimal: bool) -> Iterable[Bound]:
        curve = renyi_curve(self.events)
        yield Bound(curve.epsilon(wanted), wanted, "Rényi curve, tight conversion (Balle et al. 2020)")
        squares = [mu_squared_of(event) for event in self.events]
        if squares and None not in squares:
            # Twice 1e-20 an event: discrete Gaussian noise is a rounding of continuous noise up to that factor.
            slack = Fraction(2 * len(squares), 10**20)
            mu = math.sqrt(float(sum(square for square in squares if square is not None))) * (1 + 1e-15)
            if left > slack:
                bound = epsilon_of_gaussian(mu, left - slack) + slack
                yield Bound(bound, wanted, "Gaussian differential privacy (Dong, Roth, Su 2022)")
        laws = [loss_of(event) for event in set(self.events)]
        closed = optimal or all(isinstance(law, NormalLoss) for law in laws)
        if left >= LEAST_DELTA and not closed and None not in laws:
            bound = privacy_loss(self.events, delta=wanted).epsilon()
            yield Bound(bound, wanted, "privacy-loss distribution, from above (Doroshenko et al. 2022)")

    def _equal_pure(self) -> tuple[Fraction, int] | None:
        """Epsilon and number, when all events that cost anything have one epsilon and are few and small enough."""
        costly = [cost.epsilon for cost in self.prices if cost.epsilon != 0]
        each = costly[0] if costly else None
        equal = len(set(costly)) == 1 and len(costly) <= _MOST_EQUAL_EVENTS
        if each is None or not equal or each * len(costly) > _MOST_EPSILON:
            return None
        return each, len(costly)


def _only_pure(event: Event) -> bool:
    """True when the event's worst pair is a randomised response, or the event is free."""
    match event:
        case LaplaceEvent(_, distance):
            return distance <= 1
        case PureEvent() | SelectionEvent():
            return True
        case _:
            return False


def compose(events: Iterable[Event]) -> Composition:
    """The composition of these events, flattened."""
    flat = tuple(flatten(events))
    return Composition(flat, tuple(price(event) for event in flat))


def epsilon_of_equal_pure(each: Fraction, count: int, delta: Fraction) -> Fraction:
    """The epsilon at which `count` events of epsilon `each` are (epsilon, delta)-DP, optimal up to about 1e-9 and
    never below the optimum. The curve is that of `count` independent randomised responses,

        delta(E) = sum over l of C(count, l) q^l (1 - q)^(count - l) max(0, 1 - exp(E - (count - 2l) each))

    with q = 1/(1 + exp(each)). A float bisection proposes E, enclosures confirm it.
    Source: Kairouz, Oh, Viswanath 2015."""
    basic = each * count
    low, high = 0.0, float(basic)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if _float_delta(float(each), count, middle) <= float(delta) else (middle, high)
    slack = Fraction(1, 10**9)
    for _ in range(20):
        proposal = round_up(min(basic, Fraction(high) * (1 + slack) + slack / 10**3))
        if proposal >= basic:
            break
        if _delta_up(each, count, proposal) <= delta:
            return proposal
        slack *= 4
    return round_up(basic)


def _float_delta(each: float, count: int, bound: float) -> float:
    log_q, log_rest = -math.log1p(math.exp(each)), -math.log1p(math.exp(-each))
    total = 0.0
    for l in range(count + 1):
        excess = (count - 2 * l) * each - bound
        if excess <= 0:
            break
        choices = math.lgamma(count + 1) - math.lgamma(l + 1) - math.lgamma(count - l + 1)
        total += math.exp(choices + l * log_q + (count - l) * log_rest) * -math.expm1(-excess)
    return total


def _delta_up(each: Fraction, count: int, bound: Fraction) -> Fraction:
    """delta(bound) from above. Each term is C q^l (1-q)^(count-l) - C q^l (1-q)^(count-l) exp(bound - (count-2l) each);
    the ratio of neighbouring weights is exp(-each), so the weights are enclosed once and then stepped."""
    # The first weight may be as small as 2^-count or exp(-count each): relative bits on top of that.
    bits = _BITS + count + math.ceil(count * each * 3 / 2)
    e_low, e_high = exp_bounds(-each, _BITS + count.bit_length())
    weight_low, weight_high = _power(1 / (1 + e_high), count, bits)[0], _power(1 / (1 + e_low), count, bits)[1]
    gain_low = exp_bounds(bound - count * each, _BITS)[0]
    square_low = exp_bounds(2 * each, _BITS)[0]
    total, choices = Fraction(0), 1
    for l in range(count + 1):
        if (count - 2 * l) * each <= bound:
            break
        total += choices * max(weight_high - weight_low * gain_low, Fraction(0))
        choices = choices * (count - l) // (l + 1)
        weight_low, weight_high = _down(weight_low * e_low, bits), _up(weight_high * e_high, bits)
        gain_low = _down(gain_low * square_low, bits)
    return total


def _power(base: Fraction, exponent: int, bits: int) -> tuple[Fraction, Fraction]:
    """base ** exponent between two dyadic numbers, by squaring with outward rounding."""
    low = high = Fraction(1)
    square_low = square_high = base
    while exponent:
        if exponent & 1:
            low, high = _down(low * square_low, bits), _up(high * square_high, bits)
        square_low, square_high = _down(square_low * square_low, bits), _up(square_high * square_high, bits)
        exponent >>= 1
    return low, high


def _down(value: Fraction, bits: int) -> Fraction:
    return Fraction((value.numerator << bits) // value.denominator, 1 << bits)


def _up(value: Fraction, bits: int) -> Fraction:
    return Fraction(-((-value.numerator << bits) // value.denominator), 1 << bits)
