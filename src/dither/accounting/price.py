"""What an event costs on each meter: pure epsilon, zCDP rho, and the failure mass delta.

Flow: events in; prices out; `admission` books prices. Costs are never rounded down.
Relies on: `noise.bounds` for certified enclosures of exp. Proofs: docs/proofs/accounting/rho-of-laplace.md,
docs/proofs/accounting/pure-to-zcdp.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

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
from dither.exact import QUANTUM, round_up
from dither.noise.bounds import exp_neg

__all__ = ["Price", "price", "rho_of_laplace", "rho_of_pure"]

_BITS = 96


@dataclass(frozen=True)
class Price:
    """The cost of one or more events. Every event that has a finite epsilon is priced on both meters."""

    epsilon: Fraction | None = Fraction(0)
    """Pure epsilon outside the failure mass; None when there is none (Gaussian noise)."""
    rho: Fraction = Fraction(0)
    """zCDP outside the failure mass."""
    delta: Fraction = Fraction(0)
    """Failure mass of key selection; the conversion of rho to (epsilon, delta) has its own share elsewhere."""

    @property
    def gaussian(self) -> bool:
        return self.epsilon is None

    def __add__(self, other: Price) -> Price:
        epsilon = None if self.epsilon is None or other.epsilon is None else self.epsilon + other.epsilon
        return Price(epsilon, self.rho + other.rho, self.delta + other.delta)

    def __mul__(self, count: int) -> Price:
        """The price of `count` such events."""
        if count < 0:
            raise InvalidParameter("count", expected="0 or above", found=count)
        if count == 0:
            return Price()
        return Price(None if self.epsilon is None else self.epsilon * count, self.rho * count, self.delta * count)

    __rmul__ = __mul__

    def __le__(self, other: Price) -> bool:
        """True when this costs no more than `other` on every meter (a partial order: both may be False)."""
        epsilon_fits = other.epsilon is None or (self.epsilon is not None and self.epsilon <= other.epsilon)
        return epsilon_fits and self.rho <= other.rho and self.delta <= other.delta


def price(event: Event) -> Price:
    """The cost of an event: exact, or rounded up to 1e-18 where the exact value is irrational or unwieldy.
    Raises GuaranteeError for a class of event that has no price."""
    match event:
        case LaplaceEvent(scale, distance):
            epsilon = Fraction(distance) / scale
            return Price(_cost(epsilon), rho_of_laplace(scale, distance))
        case GaussianEvent(variance, squared_distance):
            # Canonne, Kamath, Steinke 2020, Theorem 14: the discrete Gaussian has the rho of the continuous one.
            return Price(None, _cost(Fraction(squared_distance) / (2 * variance)))
        case ExponentialEvent(epsilon):
            # Bounded range: Cesar and Rogers 2021, Lemma 3.2.
            return Price(_cost(epsilon), _cost(epsilon * epsilon / 8))
        case PureEvent(epsilon):
            return Price(_cost(epsilon), rho_of_pure(epsilon))
        case SelectionEvent(epsilon, delta):
            return Price(_cost(epsilon), rho_of_pure(epsilon), delta)
        case ComposedEvent(events):
            return sum((price(part) for part in events), Price())
        case _:
            raise GuaranteeError(f"No price is known for {type(event).__name__}.")


@lru_cache(maxsize=4096)
def rho_of_laplace(scale: Fraction, distance: int) -> Fraction:
    """The zCDP of discrete Laplace noise of this scale at this L1 distance (both in grid steps), rounded up.
    [d - 2p(1 - p^d)/(1 - p^2)]/b with p = exp(-1/b): tight for one coordinate, and the worst over all integer
    vectors of that L1 norm.
    Source: Harrison and Manurangsi, FORC 2026 (arXiv 2510.25746).  Proof: docs/proofs/accounting/rho-of-laplace.md"""
    if distance == 0:
        return Fraction(0)
    if distance == 1:  # two losses: randomised response
        return rho_of_pure(1 / scale)
    # The bracket cancels to about distance/scale of its terms, and 1 - p^2 is about 2/scale: pay for both in bits.
    bits = _BITS + 2 * max(0, int(scale).bit_length()) + distance.bit_length()
    p_low, _ = exp_neg(1 / scale, bits)
    power_low, power_high = exp_neg(distance / scale, bits)
    # In whole numbers, units of 2^-bits: reducing fractions of this size takes longer than all the rest.
    unit = 1 << bits
    subtracted, over = 2 * p_low * max(unit - power_high, 0), unit * unit - p_low * p_low
    closed_form = _ratio_up((distance * over - subtracted) * scale.denominator, over * scale.numerator)
    pure = _ratio_up(distance * scale.denominator * (unit - power_low), scale.numerator * (unit + power_low))
    return min(closed_form, pure)


@lru_cache(maxsize=4096)
def rho_of_pure(epsilon: Fraction) -> Fraction:
    """The zCDP of any epsilon-DP mechanism, epsilon * tanh(epsilon / 2), rounded up: tight for randomised response.
    Proof: docs/proofs/accounting/pure-to-zcdp.md"""
    if epsilon == 0:
        return Fraction(0)
    low, _ = _decay(epsilon, _BITS)
    return round_up(epsilon * (1 - low) / (1 + low))


def _ratio_up(numerator: int, denominator: int) -> Fraction:
    """numerator/denominator rounded up to 1e-18, as `round_up` does."""
    return Fraction(-(-numerator * QUANTUM.denominator // denominator), QUANTUM.denominator)


def _decay(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """low <= exp(-x) <= high, width 2^(1 - bits); the low end may be 0."""
    low, high = exp_neg(x, bits)
    return Fraction(low, 1 << bits), Fraction(high, 1 << bits)


def _cost(value: Fraction) -> Fraction:
    """`value` itself while its denominator is at most 1e18 (three times 1/3 is 1, not more), else rounded up."""
    return Fraction(value) if value.denominator <= QUANTUM.denominator else round_up(Fraction(value))
