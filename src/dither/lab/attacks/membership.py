"""A7 and A8, membership: was this person among those whose averages, or counts by place and hour, were published?

Each candidate is in by a fair coin, on its own. The score is <a - mu, y - mu>: does the release lean from the reference
towards the candidate's own record y? The threshold is tuned on half of the releases and the other half is counted.
For pure epsilon the number of right guesses in one release is at most that of coins with the ledger's accuracy,
although candidates share the release.  Source: Homer et al. 2008; Dwork et al. 2015 (the score); Pyrgelis, Troncoso,
De Cristofaro 2018 (places); Steinke, Nasr, Jagielski 2023, Corollary 4.4 (many candidates in one release).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dither.lab.engines import Exact, Maker, Spend, dither
from dither.lab.games import Bits, Line, counted, score_threshold, setting_of, spend_bound, valued
from dither.lab.result import Figure, Options, Result, Series, bound_curve, curve
from dither.lab.worlds import mobility
from dither.lab.worlds.table import Table

__all__ = ["Crowd", "a7", "a8", "area_under", "genomes", "places"]

Floats = NDArray[np.float64]

CANDIDATES = 200
REFERENCE = 100


@dataclass(frozen=True, eq=False)
class Crowd:
    """Records as 0 and 1: (people, features), of candidates and of a separate reference."""

    candidates: NDArray[np.bool_]
    reference: NDArray[np.bool_]
    most: int
    """Rows kept per person: features one record can have."""
    weigh: bool = False
    """Rare features count for more."""


class _World(Protocol):
    def __call__(self, generator: np.random.Generator) -> Crowd: ...


def genomes(generator: np.random.Generator, features: int = 1000) -> Crowd:
    """Independent features, each with a frequency between 0.05 and 0.95."""
    frequency = generator.uniform(0.05, 0.95, features)
    people = generator.random((CANDIDATES + REFERENCE, features)) < frequency
    return Crowd(people[:CANDIDATES], people[CANDIDATES:], features)


def places(generator: np.random.Generator) -> Crowd:
    """Features are antenna and half day; a record has those where its person was seen."""
    found = mobility.traces(generator, CANDIDATES + REFERENCE)
    slots = mobility.HOURS // 12
    people = np.zeros((found.people, mobility.ANTENNAS * slots), dtype=bool)
    people[found.person, found.antenna * slots + found.hour // 12] = True
    return Crowd(people[:CANDIDATES], people[CANDIDATES:], 150, weigh=True)


def a7(options: Options) -> Result:
    return _result("A7", genomes, options, "averages of 1,000 features of about 100 people", "averages")


def a8(options: Options) -> Result:
    return _result("A8", places, options, "people by antenna and half day, 18,000 counts", "counts")


def area_under(scores: Floats, truth: Bits) -> float:
    """P(a score of one who is in > a score of one who is out), ties half: the area under the ROC curve."""
    inside, outside = np.sort(scores[truth]), scores[~truth]
    below = np.searchsorted(inside, outside, "left") + np.searchsorted(inside, outside, "right")
    return float(1 - below.mean() / (2 * len(inside)))


def _result(key: str, world: _World, options: Options, note: str, released: str) -> Result:
    releases = 2 * options.times(5)
    exact = _measure(key, world, Exact, Fraction(1), releases, options.seed, note)
    found = [
        tuple(
            replace(line, oracle=best.value)
            for line, best in zip(_measure(key, world, dither(), e, releases, options.seed, ""), exact, strict=True)
        )
        for e in options.epsilons
    ]
    accuracy = [pair[0] for pair in found]
    figure = Figure(
        "epsilon",
        (
            curve("right guesses on Dither", accuracy),
            bound_curve("the ledger's bound", accuracy),
            Series(f"exact {released}", tuple((line.at or 0.0, exact[0].value) for line in accuracy)),
        ),
        True,
    )
    return Result(key, tuple(line for pair in (exact, *found) for line in pair), figure)


def _measure(
    key: str, world: _World, maker: Maker, epsilon: Fraction, releases: int, seed: int, note: str
) -> tuple[Line, Line]:
    """Accuracy with interval and verdict, and the area under the curve."""
    started = time.monotonic()
    scores, truth, spend = [], [], Spend()
    for release in range(releases):
        generator = np.random.default_rng([seed, release])
        crowd = world(generator)
        inside = generator.random(len(crowd.candidates)) < 0.5
        with maker(_table(crowd, inside), epsilon, seed * 1000 + release) as engine:
            reply = engine.ask("SELECT feature, COUNT(*) FROM data GROUP BY feature", epsilon)
            counts, name = reply.column(crowd.candidates.shape[1]), engine.name
            spend = spend.most(engine.spend())
        scores.append(_scores(crowd, counts))
        truth.append(inside)
    hits, trials = score_threshold(np.concatenate(scores), np.concatenate(truth))
    bound = spend_bound(spend) if spend.has_ledger else None
    setting = setting_of(epsilon, spend)
    area = float(np.mean([area_under(s, t) for s, t in zip(scores, truth, strict=True)]))
    first = counted(
        key, name, setting, "accuracy", hits, trials, bound=bound, baseline=0.5, spent=str(spend), seed=seed,
        questions=releases, seconds=time.monotonic() - started, note=note, at=float(epsilon),
    )  # fmt: skip
    second = valued(
        key, name, setting, "area under curve", area, bound=bound, baseline=0.5, spent=str(spend), seed=seed
    )
    return first, second


def _table(crowd: Crowd, inside: Bits) -> Table:
    person, feature = np.nonzero(crowd.candidates & inside[:, None])
    bounds = {"feature": (0, crowd.candidates.shape[1] - 1)}
    return Table({"person": person, "feature": feature}, bounds, {}, "person", crowd.most)


def _scores(crowd: Crowd, counts: Floats) -> Floats:
    mean = crowd.reference.mean(axis=0)
    expected = len(crowd.candidates) / 2
    # How many are in follows from the sum of all counts; where noise makes nonsense of it, near what is expected.
    members = np.clip(counts.sum() / mean.sum(), 0.8 * expected, 1.2 * expected)
    lean = counts / members - mean
    if crowd.weigh:
        lean = lean / (mean + 1 / REFERENCE)
    return np.asarray((crowd.candidates - mean) @ lean)
