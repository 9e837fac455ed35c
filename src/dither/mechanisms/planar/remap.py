"""Bayesian remapping: from a noisy place to the best guess under a public prior.

Flow: after the noise, before a region; post-processing of noisy places and a public list, so it costs nothing. Floats.
Relies on: a prior that is public (a census, a map): one made from the private places would release them.
The posterior of place j given the noisy z is proportional to weight_j exp(-epsilon |z - place_j|).
Source: Chatzikokolakis, ElSalamouny, Palamidessi 2017, "Efficient utility improvement for location privacy".
Proof: docs/proofs/mechanisms/planar.md, part 4
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from dither.errors import InvalidParameter
from dither.exact import Number, positive

__all__ = ["Loss", "MOST_PLACES", "remap"]

Floats = npt.NDArray[np.float64]
Loss = Literal["squared", "distance"]

MOST_PLACES = 20_000

_CELLS = 1 << 18
"""Numbers in one table of posteriors: 2 MB, which stay in the cache."""

_ROUNDS = 60
"""Of Weiszfeld's iteration; it moves by under 1 % of the spread long before on every prior tried."""


def remap(
    noisy: npt.ArrayLike,
    places: npt.ArrayLike,
    weights: npt.ArrayLike,
    *,
    epsilon: Number,
    loss: Loss = "squared",
    progress: Callable[[int], None] | None = None,
) -> Floats:
    """The guesses of least expected loss: posterior means for squared distance, posterior (geometric) medians for
    distance. (n, 2) metres.
    noisy: (n, 2) metres. places, weights: (m, 2) metres and (m,) of the prior, weights >= 0, not all 0, m <= 20,000.
    epsilon: nats per metre, of one point's noise, > 0. progress: told how many were done since it was told last.
    Raises InvalidParameter outside those ranges."""
    where, prior = _checked(places, weights)
    middle = where.mean(axis=0)
    if loss not in ("squared", "distance"):
        raise InvalidParameter("loss", expected="squared or distance", found=loss)
    rate, logs = float(positive(epsilon, "epsilon")), np.log(prior)
    # About the middle of the prior: squares of small numbers keep more digits.
    where, points = where - middle, np.asarray(noisy, dtype=np.float64).reshape(-1, 2) - middle
    guesses: Floats = np.empty_like(points)
    at_once = max(1, _CELLS // len(where))
    for start in range(0, len(points), at_once):
        part = points[start : start + at_once]
        posterior = _posterior(part, where, logs, rate)
        means = posterior @ where
        guesses[start : start + at_once] = means if loss == "squared" else _medians(posterior, where, means)
        if progress is not None:
            progress(len(part))
    guesses += middle
    return guesses


def _posterior(points: Floats, places: Floats, logs: Floats, rate: float) -> Floats:
    """(n, m), rows sum to 1. logs: of the prior."""
    odds = _apart(points, places)
    odds *= -rate
    odds += logs
    odds -= odds.max(axis=1, keepdims=True)
    np.exp(odds, out=odds)
    odds /= odds.sum(axis=1, keepdims=True)
    return odds


def _medians(posterior: Floats, places: Floats, start: Floats) -> Floats:
    """argmin_y sum_j posterior_j |y - place_j| by Weiszfeld's iteration (1937), which never raises that sum; the best
    place of the list is taken instead where it is better, which also serves a median that is one of the places."""
    guesses = start
    for _ in range(_ROUNDS):
        pull = posterior / np.maximum(_apart(guesses, places), 1e-3)
        guesses = (pull @ places) / pull.sum(axis=1, keepdims=True)
    heaviest = places[posterior.argmax(axis=1)]
    ours, theirs = ((posterior * _apart(each, places)).sum(axis=1) for each in (guesses, heaviest))
    chosen: Floats = np.where((theirs < ours)[:, None], heaviest, guesses)
    return chosen


def _apart(points: Floats, places: Floats) -> Floats:
    """(n, m) distances, by |z|^2 + |p|^2 - 2 z p: five times as fast as differences, and right to a centimetre over
    1,000 km, which is far less than the noise."""
    apart: Floats = points @ (-2.0 * places.T)
    apart += np.square(points).sum(axis=1)[:, None]
    apart += np.square(places).sum(axis=1)
    np.maximum(apart, 0.0, out=apart)
    return np.sqrt(apart, out=apart)


def _checked(places: npt.ArrayLike, weights: npt.ArrayLike) -> tuple[Floats, Floats]:
    where, prior = np.asarray(places, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if where.ndim != 2 or where.shape[1:] != (2,) or prior.shape != where.shape[:1]:
        raise InvalidParameter("prior", expected="places (m, 2) and as many weights", found="other shapes")
    with np.errstate(over="ignore"):
        # Their sum too: of weights near the largest float it would be infinite, and every share of it nothing.
        finite = np.all(np.isfinite(where)) and np.isfinite(prior.sum())
    if not (finite and np.all(prior >= 0) and np.any(prior > 0)):
        raise InvalidParameter("prior", expected="finite places, weights of 0 or above, not all 0", found="others")
    if len(where) > MOST_PLACES:
        raise InvalidParameter("prior", expected=f"at most {MOST_PLACES:,} places", found=len(where))
    return where[prior > 0], prior[prior > 0]
