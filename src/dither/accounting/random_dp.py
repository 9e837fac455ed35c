"""Random differential privacy: a guarantee for data drawn from a stated population, and for nothing else.

M is (epsilon, delta, gamma)-random DP when, for neighbours whose units are drawn independently from a population, the
(epsilon, delta) inequality holds with probability 1 - gamma over the draw. Somebody the population does not produce has
no protection at all, so this is no differential privacy, does not convert to it, and a `RandomLoss` refuses to be added
to any other cost. The population must be public or synthetic: drawing it from the protected table voids the claim.
Flow: `differences.sampled_sensitivity` measures; noise scaled to it is charged with this.
Relies on: exact rationals; math.log widened for the two formulas of Rubinstein and Aldà.
Proof: docs/proofs/accounting/metric-and-random.md, docs/proofs/differences/sampled_sensitivity.md
Source: Hall, Rinaldo, Wasserman 2012; Rubinstein and Aldà 2017.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.metric import MetricLoss
from dither.accounting.price import Price
from dither.errors import InvalidParameter
from dither.exact import Number, exact, round_up

__all__ = ["RandomLoss", "SamplePlan", "one_notion", "sample_plan"]


@dataclass(frozen=True)
class RandomLoss:
    """What releases cost that are private for data drawn from one population."""

    epsilon: Fraction
    delta: Fraction
    gamma: Fraction
    """Probability, over the draw of data and of the sensitivity sample, that the inequality fails."""
    population: str
    """The public or synthetic source the units were drawn from."""

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "gamma"):
            value = getattr(self, name)
            if not isinstance(value, Fraction | int) or isinstance(value, bool) or value < 0:
                raise InvalidParameter(name, expected="an exact number, 0 or above", found=value)
        if not self.population:
            raise InvalidParameter("population", expected="a name", found=self.population)

    @classmethod
    def of(cls, *, population: str, epsilon: Number = 0, delta: Number = 0, gamma: Number = 0) -> RandomLoss:
        """The loss of these amounts, each an exact number, 0 or above; all 0 names the notion and costs nothing."""
        return cls(exact(epsilon, "epsilon"), exact(delta, "delta"), exact(gamma, "gamma"), population)

    def __add__(self, other: RandomLoss) -> RandomLoss:
        """Releases about the same data: epsilon, delta and gamma add up."""
        if not isinstance(other, RandomLoss) or other.population != self.population:
            raise InvalidParameter("loss", expected=f"a random-DP loss over {self.population}", found=other)
        return RandomLoss(
            self.epsilon + other.epsilon, self.delta + other.delta, self.gamma + other.gamma, self.population
        )

    def __mul__(self, count: int) -> RandomLoss:
        if not isinstance(count, int) or count < 0:
            raise InvalidParameter("count", expected="a whole number, 0 or above", found=count)
        return RandomLoss(self.epsilon * count, self.delta * count, self.gamma * count, self.population)

    __rmul__ = __mul__


@dataclass(frozen=True)
class SamplePlan:
    """How many pairs of neighbours to draw, and which of their sorted differences to take as the sensitivity."""

    samples: int
    rank: int
    """The rank-th smallest of the `samples` differences; `samples` is the largest."""
    gamma: Fraction


def sample_plan(*, gamma: Number | None = None, samples: int | None = None) -> SamplePlan:
    """The plan of the sensitivity sampler for a wanted gamma (fewest samples), or for a number of samples (least gamma,
    the largest difference). Give one of the two; raises InvalidParameter for both, a gamma outside (0, 1), or fewer
    than 2 samples.

    The share of the population's differences above the chosen one is at most gamma except with probability r over the
    sample, by the Dvoretzky-Kiefer-Wolfowitz inequality; r is a part of gamma and chosen best. Where the largest
    difference may be taken, `differences.samples_needed` needs far fewer: 99 for gamma 0.01 instead of 41,971.
    Source: Rubinstein and Aldà 2017, the sensitivity sampler and its optimisation."""
    if (gamma is None) == (samples is None):
        raise InvalidParameter("gamma, samples", expected="one of the two", found=(gamma, samples))
    if samples is not None:
        if not isinstance(samples, int) or samples < 2:
            raise InvalidParameter("samples", expected="a whole number, 2 or above", found=samples)
        risk = math.exp(_lambert(-1 / (4 * samples)) / 2)
        total = risk + math.sqrt(math.log(1 / risk) / (2 * samples))
        return SamplePlan(samples, samples, round_up(Fraction(min(1.0, total * (1 + 1e-12)))))
    wanted = exact(gamma if gamma is not None else 0, "gamma")
    if not 0 < wanted < 1:
        raise InvalidParameter("gamma", expected="above 0 and below 1", found=gamma)
    g = float(wanted)
    risk = math.exp(_lambert(-g / (2 * math.sqrt(math.e))) + 0.5)
    count = math.ceil(math.log(1 / risk) / (2 * (g - risk) ** 2) * (1 + 1e-12))
    rank = math.ceil(count * (1 - g + risk + math.sqrt(math.log(1 / risk) / (2 * count))))
    return SamplePlan(count, min(rank, count), wanted)


def one_notion(losses: Iterable[object]) -> str:
    """The one notion of these losses: "differential privacy", "metric privacy in ...", or "random DP over ...". Raises
    InvalidParameter when there are two, or none: a data set's ledger holds one."""
    names = set()
    for loss in losses:
        match loss:
            case Price():
                names.add("differential privacy")
            case MetricLoss(_, metric):
                names.add(f"metric privacy in {metric}")
            case RandomLoss():
                names.add(f"random DP over {loss.population}")
            case _:
                raise InvalidParameter("loss", expected="a Price, MetricLoss or RandomLoss", found=loss)
    if len(names) != 1:
        raise InvalidParameter("losses", expected="of one notion", found=sorted(names))
    return names.pop()


def _lambert(x: float) -> float:
    """The lower branch of w e^w = x for -1/e < x < 0: the solution below -1, by Newton's method on log(-w) + w."""
    target = math.log(-x)
    w = target - math.log(-target) if target < -2 else -1 - math.sqrt(2 * max(0.0, -1 - target)) - 1e-9
    for _ in range(50):
        w -= (math.log(-w) + w - target) / (1 / w + 1)
    return w
