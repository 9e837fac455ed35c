"""Choose one event: count every candidate on the select share, keep the one promising most after confirmation.

Flow: between `scorers` (fitted on the train share) and the confirmation of `sampled`.
Relies on: `bounds`. Nothing here is a guarantee; it decides where the confirm draws are looked at.

A candidate's promise is the bound that confirmation would give at rates p1_low and p2_high, one-sided 0.5 % bounds of
the select counts: that fears both the luck of the best of many candidates and the price of a rare event. (At 2 % rare
events win by luck: 92.5 % power instead of 97 % at 20,000 draws a side.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.audit.bounds import Numbers, probability_above, probability_below
from dither.audit.confirm import Confirmation
from dither.audit.drawing import Rows
from dither.audit.scorers import Scorer
from dither.audit.verdicts import Event, Point

__all__ = ["Choice", "Tally", "choose", "tally", "thresholds"]

_SELECT_ERRORS = (0.005, 0.05, 0.3)
_MOST_THRESHOLDS = 80


@dataclass(frozen=True)
class Tally:
    """How many of `trials` outcomes of one input had a score >= each threshold of each scorer."""

    above: tuple[NDArray[np.int64], ...]
    trials: int


@dataclass(frozen=True)
class Choice:
    event: Event
    confirmation: Confirmation
    points: tuple[Point, ...]
    """(P2(S), P1(not S)) of events on the lower edge: an estimate of the trade-off curve."""


def thresholds(scorer: Scorer, first: Rows, second: Rows) -> Numbers:
    """Candidates for one scorer: quantiles of the pooled training scores, dense in both tails; ascending."""
    scores = np.sort(np.concatenate([scorer.score(first), scorer.score(second)]))
    distinct = np.unique(scores)
    if len(distinct) <= _MOST_THRESHOLDS:
        return distinct
    tail = np.geomspace(10 / len(scores), 0.05, _MOST_THRESHOLDS // 4)
    masses = np.concatenate([tail, np.linspace(0.05, 0.95, _MOST_THRESHOLDS // 2), 1 - tail])
    return np.unique(scores[np.minimum((masses * len(scores)).astype(int), len(scores) - 1)])


def tally(scorers: list[Scorer], cuts: list[Numbers], batches: Iterable[Rows]) -> Tally:
    """Counts over a stream of outcomes; holds one batch at a time."""
    above = [np.zeros(len(each), dtype=np.int64) for each in cuts]
    trials = 0
    for rows in batches:
        trials += len(rows)
        for count, cut, scorer in zip(above, cuts, scorers, strict=True):
            # Sorting the scores and looking up the few cuts is five times faster than the other way round.
            count += len(rows) - np.searchsorted(np.sort(scorer.score(rows)), cut, "left")
    return Tally(tuple(above), trials)


def choose(
    scorers: list[Scorer],
    cuts: list[Numbers],
    tallies: tuple[Tally, Tally],
    *,
    confirm: int,
    confirmations: list[Confirmation],
) -> Choice:
    """The most promising of all scorers, thresholds, sides, directions and confirming methods.
    confirm: draws a side that the confirmation will have."""
    place, upper, swapped = _candidates(cuts)
    first, second = (_hits(cuts, each) for each in tallies)
    trials1, trials2 = (each.trials for each in tallies)
    hits = np.where(swapped, second, first), np.where(swapped, first, second)
    trials = np.where(swapped, trials2, trials1), np.where(swapped, trials1, trials2)
    # Fear of luck must not end with the trivial event: where nothing promises anything, fear less.
    for error in _SELECT_ERRORS:
        low = probability_below(hits[0], trials[0], error)
        high = probability_above(hits[1], trials[1], error)
        ranks = [each.rank(low * confirm, high * confirm, confirm) for each in confirmations]
        chosen = int(np.argmax([float(each.max()) for each in ranks]))
        best = int(np.argmax(ranks[chosen]))
        if ranks[chosen][best] > 0:
            break
    scorer, threshold = place[best]
    event = Event(scorers[scorer], float(cuts[scorer][threshold]), bool(upper[best]), bool(swapped[best]))
    edge = _lower_edge(second / trials2, 1 - first / trials1)
    return Choice(event, confirmations[chosen], edge)


def _candidates(cuts: list[Numbers]) -> tuple[list[tuple[int, int]], NDArray[np.bool_], NDArray[np.bool_]]:
    """(scorer, threshold), is it the upper set, are the inputs swapped: the four events of each threshold in turn."""
    place = [(scorer, threshold) for scorer, cut in enumerate(cuts) for threshold in range(len(cut))]
    count = len(place)
    return place * 4, np.repeat([True, False, True, False], count), np.repeat([False, False, True, True], count)


def _hits(cuts: list[Numbers], counts: Tally) -> NDArray[np.int64]:
    """Hits of every candidate, in the order of `_candidates`."""
    above = np.concatenate(counts.above)
    return np.concatenate([above, counts.trials - above] * 2)


def _lower_edge(false_positive: Numbers, false_negative: Numbers) -> tuple[Point, ...]:
    """The lower convex hull of all events tried, from (0, 1) to (1, 0), thinned to a drawable number; a test may also
    toss a coin between two events."""
    lowest: dict[float, float] = {}
    pairs = zip([0.0, 1.0, *false_positive.tolist()], [1.0, 0.0, *false_negative.tolist()], strict=True)
    for x, y in sorted(pairs):
        lowest.setdefault(x, y)
    hull: list[Point] = []
    for point in lowest.items():
        while len(hull) > 1 and _is_above(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return (*hull[: -1 : max(1, len(hull) // 200)], hull[-1])


def _is_above(one: Point, two: Point, three: Point) -> bool:
    """Is `two` on or above the line from `one` to `three`?"""
    return (two[1] - one[1]) * (three[0] - one[0]) >= (three[1] - one[1]) * (two[0] - one[0])
