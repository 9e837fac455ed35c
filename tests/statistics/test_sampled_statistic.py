"""Random DP: the sampler's gamma holds over simulated populations, and a sampler that is off by one is caught.

Each trial takes a population of its own (family, parameters, number of rows), lets `sampled_noise` measure a statistic
on it, draws one further pair, and sees whether that pair is farther apart than the noise is made for. The noise itself
is exact, so that this is the whole event which gamma bounds: on its complement Pr <= e^epsilon Pr' for every set.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dither.mechanisms import Population, Statistic, sampled_noise
from dither.mechanisms.sampled import release, table_of
from dither.mechanisms.sampled.table import take

Rows = Any
Statistics = dict[str, Statistic]


def trimmed(rows: Rows) -> Any:
    values = np.sort(rows["x"])
    cut = len(values) // 10
    return values[cut : len(values) - cut].mean()


def picky(rows: Rows) -> Any:
    """Fails on large values, as a program somebody wrote may."""
    if rows["x"].max() > 50:
        raise ValueError(rows["x"].max())
    return rows["x"].mean()


CONTINUOUS: Statistics = {
    "mean": Statistic.of(lambda rows: rows["x"].mean(), bounds=(-1000, 1000)),
    "trimmed": Statistic.of(trimmed, bounds=(-1000, 1000)),
    "spread": Statistic.of(lambda rows: rows["x"].std(), bounds=(0, 1000)),
}
"""No two differences are equal, so that the chance is gamma exactly, not only at most."""
WITH_TIES: Statistics = {
    "median": Statistic.of(lambda rows: np.median(rows["x"]), bounds=(-1000, 1000)),
    "maximum": Statistic.of(lambda rows: rows["x"].max(), bounds=(0, 1000)),
    "picky": Statistic.of(picky, bounds=(-1000, 1000)),
    "pair": Statistic.of(lambda rows: [rows["x"].mean(), (rows["x"] > 0).mean()], bounds=[(-100, 100), (0, 1)]),
}


def population_of(generator: np.random.Generator) -> Population:
    """A population with a family and parameters of its own."""
    kind, size = int(generator.integers(4)), float(generator.uniform(0.2, 1.5))
    draws: list[Callable[[int], Any]] = [
        lambda count: generator.lognormal(0, size, count),
        lambda count: generator.normal(0, size, count),
        lambda count: generator.pareto(1 + size, count),
        lambda count: np.where(generator.random(count) < 0.1, generator.normal(20, 5, count), generator.random(count)),
    ]
    return Population("simulated", lambda count: {"x": draws[kind](count)})


def share_beyond(
    statistics: Statistics, *, trials: int, gamma: str, samples: int | None, norm: Any, seed: int
) -> float:
    """In which share of trials a further pair is farther apart than the noise is made for."""
    generator = np.random.default_rng(seed)
    chosen = list(statistics.values())
    delta = "1e-6" if norm == 2 else 0
    beyond = 0
    for trial in range(trials):
        statistic, population = chosen[trial % len(chosen)], population_of(generator)
        size = int(generator.integers(2, 30))
        noise = sampled_noise(
            statistic, population, rows=size, gamma=gamma, epsilon=1, samples=samples, norm=norm, delta=delta
        )
        drawn, places = population.rows(size + 1), np.arange(size + 1)
        one, other = (statistic(take(table_of(drawn), np.delete(places, gone))) for gone in (size, size - 1))
        beyond += release._distance(one, other, norm) > noise.distance
    return beyond / trials


def errors(share: float, gamma: float, trials: int) -> float:
    """How many standard errors the share is above gamma."""
    return (share - gamma) / math.sqrt(gamma * (1 - gamma) / trials)


SHORT = 1500
LONG = 10_000
FAR = 5
"""Standard errors: a false alarm has a chance below 3e-7 on each side."""


def test_a_third_of_further_pairs_are_beyond_the_larger_of_two() -> None:
    """1,500 populations, gamma 1/3, two samples. Both sides, so that it catches one sample too few (1/2: 14 standard
    errors above) and one too many (1/4: 7 below)."""
    share = share_beyond(CONTINUOUS, trials=SHORT, gamma="1/3", samples=None, norm=1, seed=1)
    assert abs(errors(share, 1 / 3, SHORT)) < FAR


@pytest.mark.parametrize("norm", [1, 2])
def test_with_ties_and_errors_the_share_is_at_most_gamma(norm: int) -> None:
    """1,500 populations, gamma 1/3 from 5 samples (rank 4)."""
    share = share_beyond(WITH_TIES, trials=SHORT, gamma="1/3", samples=5, norm=norm, seed=2)
    assert errors(share, 1 / 3, SHORT) < FAR


def test_a_rank_one_too_small_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the 3rd of 5 differences for the 4th, gamma 1/2 instead of 1/3."""
    right = release.rank_needed
    monkeypatch.setattr(release, "rank_needed", lambda gamma, *, samples: right(gamma, samples=samples) - 1)
    share = share_beyond(CONTINUOUS, trials=SHORT, gamma="1/3", samples=5, norm=1, seed=1)
    assert errors(share, 1 / 3, SHORT) > FAR


def test_a_sample_one_too_small_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: gamma taken for 1/m, so that one sample serves for two."""
    right = release.samples_needed
    monkeypatch.setattr(release, "samples_needed", lambda gamma: right(gamma) - 1)
    monkeypatch.setattr(release, "rank_needed", lambda gamma, *, samples: samples)
    share = share_beyond(CONTINUOUS, trials=SHORT, gamma="1/3", samples=None, norm=1, seed=1)
    assert errors(share, 1 / 3, SHORT) > FAR


def test_pairs_that_do_not_differ_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: pairs of the same rows twice, whose differences are all zero."""
    right = release.take
    monkeypatch.setattr(release, "take", lambda rows, places: right(rows, np.arange(len(places))))
    share = share_beyond(CONTINUOUS, trials=100, gamma="1/3", samples=None, norm=1, seed=1)
    assert errors(share, 1 / 3, 100) > FAR


@pytest.mark.long
@pytest.mark.parametrize(("gamma", "samples"), [("1/5", None), ("1/5", 9), ("1/10", 9)])
def test_gamma_holds_in_ten_thousand_populations(gamma: str, samples: int | None) -> None:
    """10,000 populations. At gamma 1/5 both sides: one sample too few (1/4) is 12 standard errors above, the 7th of 9
    for the 8th (3/10) 25; one too many is 8 below."""
    share = share_beyond(CONTINUOUS, trials=LONG, gamma=gamma, samples=samples, norm=1, seed=20)
    numerator, denominator = gamma.split("/")
    assert abs(errors(share, int(numerator) / int(denominator), LONG)) < FAR


@pytest.mark.long
@pytest.mark.parametrize("norm", [1, 2])
def test_gamma_holds_in_ten_thousand_populations_with_ties_and_errors(norm: int) -> None:
    share = share_beyond(WITH_TIES, trials=LONG, gamma="1/5", samples=9, norm=norm, seed=21)
    assert errors(share, 1 / 5, LONG) < FAR
