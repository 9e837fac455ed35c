"""Trade-off curves: how often an attacker must miss, given how often he may raise a false alarm; and mu-GDP among them.

Everything a mechanism gives away about one person is its trade-off curve f: of all tests that tell two neighbouring
data sets apart with false alarm rate alpha, the best misses with probability f(alpha). (epsilon, delta)-DP says that f
is above two straight lines, mu-GDP that it is above the curve of one draw of N(0, 1) against N(mu, 1).
Flow: for people, the odometer's picture, and as the bound for Gaussian noise; nothing here decides about a budget.
Relies on: math.erfc and a normal tail. Float results are widened outward by far more than their error.
Proof: docs/proofs/accounting/gaussian-dp.md
Source: Dong, Roth, Su 2022; Balle and Wang 2018 for delta(epsilon) of a Gaussian.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from dither.accounting.events import Event, GaussianEvent
from dither.errors import InvalidParameter
from dither.exact import Number, exact, positive, round_up

__all__ = [
    "GaussianTradeOff",
    "TradeOff",
    "compose_gaussian",
    "continuous_mu_squared",
    "delta_of_gaussian",
    "epsilon_of_gaussian",
    "mu_squared_of",
    "mu_star",
]

_WIDER = 1e-12
_NORMAL = NormalDist()


@dataclass(frozen=True)
class TradeOff:
    """The curve of a mechanism that is (epsilon, delta)-DP for each of several pairs: the highest of their lines."""

    pairs: tuple[tuple[Fraction, Fraction], ...]

    def __post_init__(self) -> None:
        if not all(epsilon >= 0 and 0 <= delta <= 1 for epsilon, delta in self.pairs):
            raise InvalidParameter("pairs", expected="epsilon 0 or above, delta from 0 to 1", found=self.pairs)

    def missed(self, alpha: float) -> float:
        """The least miss rate of any test with this false alarm rate, rounded down.  alpha: 0 to 1."""
        _check_rate(alpha)
        lines = [0.0]
        for epsilon, delta in self.pairs:
            e, d = float(epsilon), float(delta)
            lines += [1 - d - math.exp(min(e, 700.0)) * alpha, math.exp(-e) * (1 - d - alpha)]
        return max(0.0, max(lines) - _WIDER)

    def advantage(self) -> Fraction:
        """The largest difference of hit rate and false alarm rate, rounded up: (e^epsilon - 1 + 2 delta)/(e^epsilon +
        1) at the best of the pairs; 1 when there is none."""
        best = min((math.tanh(float(e) / 2) * (1 - float(d)) + float(d) for e, d in self.pairs), default=1.0)
        return round_up(Fraction(min(1.0, best + _WIDER)))


@dataclass(frozen=True)
class GaussianTradeOff:
    """The curve of mu-GDP: N(0, 1) against N(mu, 1)."""

    mu: float

    def __post_init__(self) -> None:
        if not 0 <= self.mu < math.inf:
            raise InvalidParameter("mu", expected="a finite number, 0 or above", found=self.mu)

    def missed(self, alpha: float) -> float:
        """Phi(Phi^-1(1 - alpha) - mu), rounded down.  alpha: 0 to 1."""
        _check_rate(alpha)
        if alpha in (0.0, 1.0):
            return 1 - alpha
        # -Phi^-1(alpha) instead of Phi^-1(1 - alpha): the same, and exact for small alpha.
        return max(0.0, normal_below(-_NORMAL.inv_cdf(alpha) - self.mu) - _WIDER)

    def advantage(self) -> Fraction:
        """2 Phi(mu/2) - 1, rounded up."""
        return round_up(Fraction(min(1.0, math.erf(self.mu / math.sqrt(8)) + _WIDER)))


def compose_gaussian(mus: Iterable[float]) -> float:
    """The mu of several GDP mechanisms together: the root of the sum of squares, rounded up."""
    return math.sqrt(math.fsum(mu * mu for mu in mus)) * (1 + _WIDER)


def mu_squared_of(event: Event) -> Fraction | None:
    """mu^2 such that *discrete* Gaussian noise is mu-GDP up to a factor 1 +- 1e-20 on probabilities; None when the
    noise is too narrow for the statement, or the event is no Gaussian noise.

    Discrete Gaussian noise of variance v is within that factor a randomised rounding of continuous Gaussian noise of
    variance v - r, with r = 5/2 + bits/28 for a squared distance of so many bits: mu^2 = squared distance/(v - r).
    Proof: docs/proofs/accounting/gaussian-dp.md"""
    if not isinstance(event, GaussianEvent) or Fraction(event.squared_distance).denominator != 1:
        return None
    squared = Fraction(event.squared_distance)
    rounding = Fraction(5, 2) + Fraction(squared.numerator.bit_length(), 28)
    # Below 2r the statement is true but weaker than zCDP, which holds for any variance.
    return squared / (event.variance - rounding) if event.variance >= 2 * rounding else None


def continuous_mu_squared(event: GaussianEvent) -> Fraction:
    """mu^2 of *continuous* Gaussian noise of this variance: for display beside the exact price, marked as
    approximate."""
    return Fraction(event.squared_distance) / event.variance


def delta_of_gaussian(mu: float, epsilon: float) -> float:
    """The least delta at which mu-GDP is (epsilon, delta)-DP, rounded up:
    Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).  mu: >= 0.  epsilon: any real number.
    Source: Balle and Wang 2018, Theorem 8; Dong, Roth, Su 2022, Corollary 2.13."""
    if mu == 0:
        return max(0.0, -math.expm1(min(epsilon, 0.0)))
    near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    first, second = normal_below(near), math.exp(min(epsilon + log_normal_below(far), 0.0))
    # Rounding of an argument x moves Phi(x) by about x^2 units of its last place.
    error = 1e-15 * (first + second) * (4 + near * near + far * far)
    return min(1.0, max(0.0, first - second) + error)


def epsilon_of_gaussian(mu: float, delta: Number) -> Fraction:
    """The least epsilon >= 0 at which mu-GDP is (epsilon, delta)-DP, rounded up.
    Raises InvalidParameter for a mu below 0."""
    wanted = _probability(delta)
    if mu < 0 or not math.isfinite(mu):
        raise InvalidParameter("mu", expected="a finite number, 0 or above", found=mu)
    if delta_of_gaussian(mu, 0.0) <= wanted:
        return Fraction(0)
    low, high = 0.0, mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / wanted)) + 1e-9
    while delta_of_gaussian(mu, high) > wanted:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of_gaussian(mu, middle) <= wanted else (middle, high)
    return round_up(Fraction(high * (1 + _WIDER)))


def mu_star(epsilon: Number, delta: Number) -> float:
    """The largest mu that is (epsilon, delta)-DP, rounded down: noise of standard deviation distance/mu spends exactly
    the budget."""
    e, wanted = float(positive(epsilon, "epsilon")), _probability(delta)
    low, high = 0.0, 1.0
    while delta_of_gaussian(high, e) <= wanted:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of_gaussian(middle, e) <= wanted else (low, middle)
    return low * (1 - _WIDER)


def normal_below(x: float) -> float:
    """Phi(x), with full relative precision in both tails."""
    return math.erfc(-x / math.sqrt(2)) / 2


def log_normal_below(x: float) -> float:
    """log Phi(x), also where Phi underflows; there rounded down."""
    if x > -30:
        return math.log(normal_below(x))
    # The asymptotic series alternates and is cut after a negative term: below Phi, by at most 105/x^8 < 2e-10 of it.
    series = -1 / x**2 + 3 / x**4 - 15 / x**6
    return -x * x / 2 - math.log(-x * math.sqrt(2 * math.pi)) + math.log1p(series)


def _probability(delta: Number) -> float:
    wanted = float(exact(delta, "delta"))
    if not 0 < wanted < 1:
        raise InvalidParameter("delta", expected="above 0 and below 1", found=delta)
    # Read downward: a float slightly above delta would promise too much.
    return wanted * (1 - 1e-15)


def _check_rate(alpha: float) -> None:
    if not 0 <= alpha <= 1:
        raise InvalidParameter("alpha", expected="from 0 to 1", found=alpha)
