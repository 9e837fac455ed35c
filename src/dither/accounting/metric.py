"""Metric privacy: protection that fades with distance, as for coordinates; a notion of its own.

M is d-private when for all inputs x, x' and every set S: Pr[M(x) in S] <= e^(epsilon d(x, x')) Pr[M(x') in S]. It hides
where somebody is within a neighbourhood, not that he is there. epsilon has a unit (per metre, say) and does not convert
to differential privacy: a `MetricLoss` adds up only with one of the same metric, and anything else is refused.
Flow: planar noise is charged with it; its ledger holds no other notion (`random_dp.one_notion`).
Relies on: exact rationals; log bounds for levels.
Proof: docs/proofs/accounting/metric-and-random.md
Source: Chatzikokolakis, Andres, Bordenabe, Palamidessi 2013; Andres et al. 2013 for level and radius.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.errors import InvalidParameter
from dither.exact import Number, exact, positive, round_down
from dither.noise.bounds import exp_bounds, log_bounds

__all__ = ["MetricLoss"]

_BITS = 128


@dataclass(frozen=True)
class MetricLoss:
    """What d-private releases cost."""

    epsilon: Fraction
    """Nats per unit of the metric, >= 0."""
    metric: str
    """Name of the metric with its unit: "metres in the plane", "years of age"."""

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction | int) or isinstance(self.epsilon, bool) or self.epsilon < 0:
            raise InvalidParameter("epsilon", expected="an exact number, 0 or above", found=self.epsilon)
        if not self.metric:
            raise InvalidParameter("metric", expected="a name with its unit", found=self.metric)

    @classmethod
    def within(cls, radius: Number, *, factor: Number, metric: str) -> MetricLoss:
        """The loss at which points closer than `radius` differ in the odds they give by at most `factor`: 4 within 200
        metres is log(4)/200 per metre. Rounded down, so that the words stay true."""
        r, odds = positive(radius, "radius"), exact(factor, "factor")
        if odds <= 1:
            raise InvalidParameter("factor", expected="above 1", found=factor)
        return cls(round_down(log_bounds(odds, _BITS)[0] / r, Fraction(1, 10**24)), metric)

    def __add__(self, other: MetricLoss) -> MetricLoss:
        """Releases about the same point: metrics add."""
        if not isinstance(other, MetricLoss) or other.metric != self.metric:
            raise InvalidParameter("loss", expected=f"a loss in {self.metric}", found=other)
        return MetricLoss(self.epsilon + other.epsilon, self.metric)

    def __mul__(self, count: int) -> MetricLoss:
        """The loss of `count` such releases; also of one release about `count` points of the same person."""
        if not isinstance(count, int) or count < 0:
            raise InvalidParameter("count", expected="a whole number, 0 or above", found=count)
        return MetricLoss(self.epsilon * count, self.metric)

    __rmul__ = __mul__

    def after(self, lipschitz: Number, metric: str) -> MetricLoss:
        """The loss of M(f(.)), in the metric of f's inputs, when d(f(x), f(x')) <= lipschitz d'(x, x')."""
        constant = exact(lipschitz, "lipschitz")
        if constant < 0:
            raise InvalidParameter("lipschitz", expected="0 or above", found=lipschitz)
        return MetricLoss(self.epsilon * constant, metric)

    def factor(self, distance: Number) -> Fraction:
        """The largest factor by which an answer changes the odds of two points this far apart, rounded up."""
        d = exact(distance, "distance")
        if d < 0:
            raise InvalidParameter("distance", expected="0 or above", found=distance)
        return exp_bounds(self.epsilon * d, _BITS)[1]
