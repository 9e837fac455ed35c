"""Scores of outcomes: each fitted on training draws, each giving the nested events {score >= t} and {score < t}.

Flow: `sampled` fits all of these on the train share; `select` counts their events.
By Neyman and Pearson the best event of each mass is an upper set of the likelihood ratio, so every score here estimates
its logarithm, or is a half-line that does well where estimates are poor (far tails). A bad score costs power, never
soundness: the events are confirmed on draws that no score has seen.

    coordinates            x[i]                       half-lines in x[i] and in -x[i]
    table                  log ratio per outcome      when few distinct outcomes occur
    naive Bayes            sum of log ratios          per column of cells; over coordinates or their differences
    logistic               linear in bits and values  several coordinates at once
    lattice                lowest set bit of a float  outcomes off the grid that x + noise lives on (Mironov 2012)
    bit pattern            naive Bayes of 64 bits     other traces of floating-point arithmetic
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.audit.drawing import Rows

__all__ = ["Scorer", "fit_scorers"]

Scores = NDArray[np.float64]
Counts = NDArray[np.intp]

_MOST_COORDINATES = 48
_MOST_OUTCOMES, _LEAST_SHARE = 4096, 8
_FINE_CELLS, _COARSE_CELLS = 32, 2
_LOGISTIC_ROWS = 100_000


@dataclass(frozen=True)
class Scorer:
    """A name people can read, and the score of each row."""

    name: str
    score: Callable[[Rows], Scores]


def fit_scorers(first: Rows, second: Rows) -> list[Scorer]:
    """Every scorer that makes sense for these training outcomes of the two inputs."""
    columns = first.shape[1]
    scorers = [_coordinate(index) for index in range(min(columns, _MOST_COORDINATES))]
    table = _table(first, second)
    if table is not None:
        scorers.append(table)
    scorers.append(_naive_bayes(first, second, "values", _values))
    if columns > 1:
        scorers.append(_naive_bayes(first, second, "differences", _differences))
        scorers.append(_shared_bayes(first, second, "values", _values, _COARSE_CELLS))
        scorers.append(_shared_bayes(first, second, "differences", _differences, _COARSE_CELLS))
        scorers.append(_shared_bayes(first, second, "differences", _differences, _FINE_CELLS))
        scorers.append(_logistic(first, second))
    if _fractional(first) or _fractional(second):
        scorers.append(_lattice())
        if columns == 1:
            scorers.append(_bit_pattern(first, second))
    return scorers


def _coordinate(index: int) -> Scorer:
    return Scorer(f"x[{index}]", lambda rows: rows[:, index])


def _values(rows: Rows) -> Rows:
    return rows


def _differences(rows: Rows) -> Rows:
    """x[0], x[1] - x[0], ...: what a running total was summed from."""
    return np.diff(rows, axis=1, prepend=0.0)


def _table(first: Rows, second: Rows) -> Scorer | None:
    """The log ratio of counts of each distinct row; 0 for rows not seen. None when too many differ to be counted."""
    keys = np.concatenate([_keys(first), _keys(second)])
    if len(np.unique(keys[:20_000])) > _MOST_OUTCOMES:
        return None
    outcomes, places = np.unique(keys, return_inverse=True)
    if len(outcomes) > min(_MOST_OUTCOMES, len(keys) // _LEAST_SHARE):
        return None
    counts1 = np.bincount(places[: len(first)], minlength=len(outcomes))
    counts2 = np.bincount(places[len(first) :], minlength=len(outcomes))
    ratios = _log_ratio(counts1, counts2, len(first), len(second))

    def score(rows: Rows) -> Scores:
        wanted = _keys(rows)
        at = np.minimum(np.searchsorted(outcomes, wanted), len(outcomes) - 1)
        return np.where(outcomes[at] == wanted, ratios[at], 0.0)

    return Scorer("log ratio of each outcome", score)


def _keys(rows: Rows) -> NDArray[np.uint64]:
    """A 64-bit hash of each row. A collision merges two outcomes: power, never soundness."""
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)
    keys = np.zeros(len(rows), dtype=np.uint64)
    for column in bits.T:
        keys = (keys ^ column) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    return keys


def _log_ratio(counts1: Counts, counts2: Counts, total1: int, total2: int) -> Scores:
    """ln of the ratio of frequencies, with half a count added so that an unseen cell is large and finite."""
    return np.asarray(np.log((counts1 + 0.5) / (total1 + 0.5)) - np.log((counts2 + 0.5) / (total2 + 0.5)))


def _edges(column: Scores, cells: int) -> Scores:
    """Cell borders at quantiles; a value with over 1 % of the sample (a flag, an integer) gets its own cell."""
    # No constant stride: in a flattened array of rows it could meet one column only.
    sample = np.sort(column[np.linspace(0, len(column) - 1, min(len(column), 100_000)).astype(int)])
    marks = sample[np.linspace(0, len(sample) - 1, cells + 1).astype(int)[1:-1]]
    atoms = marks[np.searchsorted(sample, marks, "right") - np.searchsorted(sample, marks, "left") > 0.01 * len(sample)]
    distinct = np.unique(sample)
    if len(distinct) <= cells:
        atoms, marks = distinct, distinct
    return np.unique(np.concatenate([marks, np.nextafter(atoms, np.inf)]))


def _naive_bayes(first: Rows, second: Rows, name: str, view: Callable[[Rows], Rows]) -> Scorer:
    """The sum over columns of the log ratio of the cell the value is in, each column with its own cells."""
    one, two = view(first), view(second)
    tables = [_cell_ratios(one[:, index], two[:, index], _FINE_CELLS) for index in range(one.shape[1])]

    def score(rows: Rows) -> Scores:
        viewed, total = view(rows), np.zeros(len(rows))
        for index, (edges, ratios) in enumerate(tables):
            total += ratios[np.searchsorted(edges, viewed[:, index], "right")]
        return total

    return Scorer(f"naive Bayes of {name}, {_FINE_CELLS} cells", score)


def _shared_bayes(first: Rows, second: Rows, name: str, view: Callable[[Rows], Rows], cells: int) -> Scorer:
    """As naive Bayes, with one table for all columns: k times the draws, when the columns are alike."""
    edges, ratios = _cell_ratios(view(first).ravel(), view(second).ravel(), cells)

    def score(rows: Rows) -> Scores:
        if len(edges) == 1:  # a comparison is ten times faster than a search
            above = np.count_nonzero(view(rows) >= edges[0], axis=1)
            return np.asarray(above * ratios[1] + (rows.shape[1] - above) * ratios[0])
        return np.asarray(ratios[np.searchsorted(edges, view(rows), "right")].sum(axis=1))

    return Scorer(f"shared naive Bayes of {name}, {cells} cells", score)


def _cell_ratios(one: Scores, two: Scores, cells: int) -> tuple[Scores, Scores]:
    """Borders of cells, and the log ratio of each cell."""
    edges = _edges(np.concatenate([one, two]), cells)
    counts = [np.bincount(np.searchsorted(edges, side, "right"), minlength=len(edges) + 1) for side in (one, two)]
    return edges, _log_ratio(counts[0], counts[1], len(one), len(two))


def _logistic(first: Rows, second: Rows) -> Scorer:
    """Logistic regression on standardised values and on bits {x >= median}, by Newton's method with a small ridge."""
    one, two = first[:_LOGISTIC_ROWS], second[:_LOGISTIC_ROWS]
    pooled = np.concatenate([one, two])
    middle = np.median(pooled, axis=0)
    spread = np.maximum(np.median(np.abs(pooled - middle), axis=0), 1e-12)

    def features(rows: Rows) -> Rows:
        values = np.clip((rows - middle) / spread, -4.0, 4.0)
        return np.concatenate([np.ones((len(rows), 1)), values, rows >= middle], axis=1)

    design, labels = features(pooled), np.repeat([1.0, 0.0], [len(one), len(two)])
    weights = np.zeros(design.shape[1])
    ridge = np.eye(len(weights)) * 1e-4 * len(design)
    for _ in range(6):
        chance = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        gradient = design.T @ (labels - chance) - ridge @ weights
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design + ridge
        weights = weights + np.linalg.solve(curvature, gradient)
    return Scorer("logistic regression", lambda rows: features(rows) @ weights)


def _fractional(rows: Rows) -> bool:
    """Are most values no integers: is this the output of floating-point arithmetic?"""
    return bool(np.mean(rows[:1000] != np.floor(rows[:1000])) > 0.5)


def _lattice() -> Scorer:
    """The exponent of the lowest set bit, the least over columns: x is a multiple of 2^score."""

    def score(rows: Rows) -> Scores:
        fraction, exponent = np.frexp(rows)
        digits = np.abs(fraction * 2.0**53).astype(np.int64)
        lowest = np.frexp((digits & -digits).astype(np.float64))[1] - 1
        return np.asarray(np.where(rows == 0, 1100, exponent - 53 + lowest).min(axis=1), dtype=np.float64)

    return Scorer("exponent of the lowest set bit", score)


def _bit_pattern(first: Rows, second: Rows) -> Scorer:
    """Naive Bayes over the 64 bits of the IEEE representation."""
    frequencies = [_bits(side[:_LOGISTIC_ROWS]).mean(axis=0) for side in (first, second)]
    one, two = (np.clip(each, 1e-5, 1 - 1e-5) for each in frequencies)
    weights = np.log(one / two) - np.log((1 - one) / (1 - two))
    return Scorer("naive Bayes of the bit pattern", lambda rows: np.asarray(_bits(rows) @ weights))


def _bits(rows: Rows) -> NDArray[np.uint8]:
    return np.unpackbits(np.ascontiguousarray(rows[:, :1]).view(np.uint8), axis=1)
