"""Noise for an opaque statistic, settled on public rows alone; then one look at the private ones.

Flow: `sampled_noise` draws m pairs of neighbours from the population and takes the k-th smallest difference of the
statistic's integers as its sensitivity. `SampledNoise.release` runs the statistic once, on n of the private rows, and
adds an exact integer draw. What it costs is known before anything is read.
Relies on: `Population`, `Statistic`; `differences.rank_needed`; the Laplace and Gaussian mechanisms.
Proof: docs/proofs/mechanisms/sampled-statistic.md
Source: Hall, Rinaldo, Wasserman 2012 (the notion); Rubinstein and Aldà 2017 (calibrating to a sample); the rank by
exchangeability, docs/proofs/differences/sampled_sensitivity.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from dither.accounting.convert import rho_star
from dither.accounting.random_dp import RandomLoss
from dither.differences import gamma_of_rank, rank_needed, samples_needed
from dither.errors import InvalidParameter
from dither.exact import Number, exact, positive
from dither.mechanisms.gaussian import gaussian_variance
from dither.mechanisms.laplace import laplace_scale
from dither.mechanisms.release import Integers, add_noise
from dither.mechanisms.sampled.population import Population
from dither.mechanisms.sampled.statistic import Statistic
from dither.mechanisms.sampled.table import Rows, Shape, count_rows, shape_of, table_of, take
from dither.noise import DiscreteGaussian, DiscreteLaplace, Entropy, system_entropy
from dither.secret import Secret, open_secret

__all__ = ["SampledNoise", "SampledRelease", "sampled_noise", "sampled_statistic"]


@dataclass(frozen=True)
class SampledRelease:
    """A noisy answer, safe to show, and what it cost under random DP. Not differentially private."""

    values: tuple[float, ...]
    """In the statistic's own units."""
    half_widths: tuple[float, ...]
    """95 %: each number of the statistic, moved into its bounds, lies within this of its noisy one."""
    noise: SampledNoise
    steps: Integers
    """The noisy answer in steps above the lows: what was drawn, exactly."""

    @property
    def value(self) -> float:
        """The one number of a statistic that gives one."""
        if not self.noise.statistic.scalar:
            raise InvalidParameter("value", expected="a statistic of one number", found=f"{len(self.values)} numbers")
        return self.values[0]

    @property
    def loss(self) -> RandomLoss:
        return self.noise.loss


@dataclass(frozen=True)
class SampledNoise:
    """Everything about a release but the private rows: public, and free to look at."""

    statistic: Statistic
    population: str
    rows: int
    """n: how many rows the statistic is given."""
    shape: Shape
    samples: int
    """m: how many pairs of neighbours were drawn."""
    rank: int
    """k: the sensitivity is the k-th smallest of the m differences."""
    norm: Literal[1, 2]
    distance: int
    """The sensitivity: for norm 1 the L1 distance in steps; for norm 2 its square. At least 1."""
    loss: RandomLoss
    failures: int
    """How many of the 2m evaluations on public rows gave no answer of their own."""

    def release(self, rows: Secret[Rows] | Rows, *, entropy: Entropy | None = None) -> SampledRelease:
        """The statistic of n of these rows, chosen at random, with noise. With fewer rows, or when the statistic gives
        no answer, it is noise about the fixed output, and nothing tells which.
        Never raises for what is in the rows. Raises InvalidParameter for columns other than the population's."""
        private = open_secret(rows) if isinstance(rows, Secret) else table_of(rows)
        if shape_of(private) != dict(self.shape):
            raise InvalidParameter("rows", expected=f"columns {dict(self.shape)}", found=shape_of(private))
        source = entropy or system_entropy()
        chosen = _chosen(private, self.rows, source)
        clean = self.statistic.fallback() if chosen is None else self.statistic(chosen)
        steps = add_noise(clean, self.law, source)
        values = tuple(float(value) for value in self.statistic.value(steps))
        return SampledRelease(values, self.half_widths, self, steps)

    @property
    def law(self) -> DiscreteLaplace | DiscreteGaussian:
        """Of the noise on each number, in steps."""
        if self.norm == 1:
            return DiscreteLaplace(laplace_scale(sensitivity=self.distance, epsilon=self.loss.epsilon))
        rho = rho_star(self.loss.epsilon, self.loss.delta)
        return DiscreteGaussian(gaussian_variance(sensitivity_squared=self.distance, rho=rho))

    @property
    def half_widths(self) -> tuple[float, ...]:
        """Of the 95 % interval of each number, in its own units."""
        half = self.law.half_width(0.95)
        # Half a step more, for the rounding of the statistic to its grid.
        return tuple(float((half + Fraction(1, 2)) * step) for step in self.statistic.steps)

    @property
    def sensitivities(self) -> tuple[float, ...]:
        """The sensitivity, were all of it in this number: in the number's own units."""
        reach = float(self.distance) if self.norm == 1 else float(self.distance) ** 0.5
        return tuple(reach * float(step) for step in self.statistic.steps)


def sampled_noise(
    statistic: Statistic,
    population: Population,
    *,
    rows: int,
    gamma: Number,
    epsilon: Number,
    samples: int | None = None,
    norm: Literal[1, 2] = 1,
    delta: Number = 0,
) -> SampledNoise:
    """Measure a statistic's sensitivity on pairs of neighbours of a population, and settle the noise. Reads nothing
    private. It evaluates the statistic twice for each pair.

    rows: n, the number of rows neighbours have; public, >= 1.
    gamma: in (0, 1), the probability that typical neighbours are not protected.  epsilon: nats, > 0.
    samples: m; None for the fewest that serve, of which the largest difference is taken. With more, it is the k-th
    smallest: about as large, but no longer hanging on one pair.
    norm: 1 for Laplace noise; 2 for Gaussian noise, which needs a delta in (0, 1).
    Raises InvalidParameter for arguments outside these, and where the statistic fails on every public row set."""
    wanted = exact(gamma, "gamma")
    m = samples_needed(wanted) if samples is None else samples
    rank = rank_needed(wanted, samples=m)
    failure = _delta(norm, delta)
    size = _size(rows)
    loss = RandomLoss(positive(epsilon, "epsilon"), failure, gamma_of_rank(rank, samples=m), population.name)
    differences: list[int] = []
    problems: list[str] = []
    shape: Shape = {}
    for number in range(m):
        drawn = population.rows(size + 1)
        if number and shape_of(drawn) != shape:
            raise InvalidParameter("draw", expected=f"the same columns every time, {shape}", found=shape_of(drawn))
        shape = shape_of(drawn)
        shared = np.arange(size - 1)
        one, other = (statistic.outcome(take(drawn, np.append(shared, last))) for last in (size - 1, size))
        problems += [problem for _, problem in (one, other) if problem is not None]
        differences.append(_distance(one[0], other[0], norm))
    if len(problems) == 2 * m:
        raise InvalidParameter("f", expected="a function that answers for rows of the population", found=problems[-1])
    # Where no difference was seen, one step: noise of scale zero would be the exact answer.
    distance = max(1, sorted(differences)[rank - 1])
    return SampledNoise(statistic, population.name, size, shape, m, rank, norm, distance, loss, len(problems))


def sampled_statistic(
    f: Callable[[Rows], Any],
    table: Any,
    *,
    population: Population,
    bounds: tuple[Number, Number] | Sequence[tuple[Number, Number]],
    rows: int,
    gamma: Number,
    epsilon: Number,
    samples: int | None = None,
    norm: Literal[1, 2] = 1,
    delta: Number = 0,
    otherwise: Number | Sequence[Number] | None = None,
    entropy: Entropy | None = None,
) -> SampledRelease:
    """Release f of a table under (epsilon, delta, gamma)-random DP over a population.

    table: columns by name, or a pandas or Polars table; one row for each person.  rows: how many of them f is given,
    a public number.  f, bounds, otherwise: see `Statistic.of`; the rest: see `sampled_noise`.
    For neighbours that differ in one row, all rows drawn from the population: with probability at least 1 - gamma over
    these and the sample, Pr[release in S] <= e^epsilon Pr'[release in S] + delta for every set S.
    Source: Hall, Rinaldo, Wasserman 2012; Rubinstein and Aldà 2017.
    Proof: docs/proofs/mechanisms/sampled-statistic.md"""
    statistic = Statistic.of(f, bounds=bounds, otherwise=otherwise)
    noise = sampled_noise(
        statistic, population, rows=rows, gamma=gamma, epsilon=epsilon, samples=samples, norm=norm, delta=delta
    )
    return noise.release(table_of(table), entropy=entropy)


def _distance(one: Integers, other: Integers, norm: Literal[1, 2]) -> int:
    """L1 in steps, or squared L2, exactly: entries are below 2^32, and there are at most 2^10."""
    apart = [abs(a - b) for a, b in zip(one.tolist(), other.tolist(), strict=True)]
    return sum(apart) if norm == 1 else sum(step * step for step in apart)


def _chosen(rows: Rows, size: int, entropy: Entropy) -> Rows | None:
    """`size` rows at random places, whatever is in them; None where there are fewer."""
    count = count_rows(rows)
    if count < size:
        return None
    # 64 random bits for each row: the places with the smallest are a uniform choice but for ties, which the order of
    # storage decides, never the contents.
    keys = np.frombuffer(entropy.read(8 * count), dtype=np.uint64)
    return take(rows, np.sort(np.argsort(keys, kind="stable")[:size]))


def _delta(norm: object, delta: Number) -> Fraction:
    found = exact(delta, "delta")
    if norm not in (1, 2):
        raise InvalidParameter("norm", expected="1 or 2", found=norm)
    if norm == 1 and found != 0:
        raise InvalidParameter("delta", expected="0 with norm 1, whose noise needs none", found=delta)
    if norm == 2 and not 0 < found < 1:
        raise InvalidParameter("delta", expected="above 0 and below 1 with norm 2", found=delta)
    return found


def _size(rows: int) -> int:
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise InvalidParameter("rows", expected="a whole number of at least 1, which is public", found=rows)
    return rows
