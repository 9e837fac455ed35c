"""Twenty-two published mechanisms as vectorised samplers, right and wrong ones side by side.

Flow: `catalogue` gives each its parameters, inputs and expected verdict. Each function makes a mechanism
f(answers, n, rng) -> n outcomes, for `sampled`.
Relies on: NumPy's generator. None of these protects anybody: they are what the auditor is tried on.

Noise is rounded to the grid 2^-20 unless said otherwise, so that a row shows its algorithm and not the low bits of
floating-point noise (which the auditor finds first: see `laplace_in_floats`). The answers are on that grid too, so
rounding commutes with adding them and changes no epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dither.audit.families import geometric_sums

__all__ = [
    "Sampler",
    "histogram",
    "laplace_in_floats",
    "noisy_max",
    "numeric_sparse_vector",
    "parallel",
    "prefix_sums",
    "randomised_bits",
    "repeated_laplace",
    "snapped_laplace",
    "sparse_vector",
    "truncated_geometric",
]

Array = NDArray[Any]
Sampler = Callable[[Any, int, np.random.Generator], Array]

_GRID = 2.0**20
FALSE_MARK, ENDED_MARK = -1000.0, -2000.0
"""How sparse vector shows "below the threshold" and "already ended" beside released values."""


def histogram(scale: float) -> Sampler:
    """Laplace noise on every answer: of scale 1/epsilon right, of scale epsilon wrong.
    Source: Ding et al. 2018, Algorithms 9 and 10."""
    return lambda answers, n, rng: answers + _laplace(rng, scale, (n, len(answers)))


def repeated_laplace(scale: float, times: int) -> Sampler:
    """One answer released `times` times, each with fresh Laplace noise."""
    return lambda answers, n, rng: answers[0] + _laplace(rng, scale, (n, times))


def laplace_in_floats(scale: float) -> Sampler:
    """The textbook in double precision: which doubles can come out depends on the answer.
    Source: Mironov 2012, section 4."""
    return lambda answers, n, rng: answers[0] + rng.laplace(0.0, scale, n)


def snapped_laplace(scale: float, bound: float) -> Sampler:
    """clamp(round to a multiple of L (clamp(answer) + scale * sign * ln(uniform))), L the least power of two >= scale.
    Source: Mironov 2012, section 5."""
    step = 2.0 ** math.ceil(math.log2(scale))

    def draw(answers: Array, n: int, rng: np.random.Generator) -> Array:
        noise = scale * np.log(1.0 - rng.random(n)) * rng.choice([-1.0, 1.0], n)
        snapped = step * np.rint((np.clip(answers[0], -bound, bound) + noise) / step)
        return np.asarray(np.clip(snapped, -bound, bound))

    return draw


def truncated_geometric(bits: int, people: int) -> Sampler:
    """GeoSample by its integer inverse. Source: Balcer, Vadhan 2018, Algorithm 4.8."""

    def draw(answers: Array, n: int, rng: np.random.Generator) -> Array:
        total, sums = geometric_sums(bits, people, int(answers[0]))
        return np.asarray(np.searchsorted(sums, rng.integers(1, total + 1, n)))

    return draw


def noisy_max(noise: Literal["laplace", "exponential"], scale: float, *, release: Literal["index", "value"]) -> Sampler:
    """The largest answer + noise: its index is right, its value is not. Source: Ding et al. 2018, Algorithms 5 to 8."""

    def draw(answers: Array, n: int, rng: np.random.Generator) -> Array:
        law = _laplace if noise == "laplace" else _exponential
        noisy = answers + law(rng, scale, (n, len(answers)))
        return np.asarray(noisy.argmax(axis=1) if release == "index" else noisy.max(axis=1))

    return draw


def sparse_vector(
    *,
    threshold: float,
    stops: int | None,
    threshold_scale: float,
    query_scale: float,
    redraw: bool = False,
    release_value: bool = False,
) -> Sampler:
    """The six variants: is answer + noise >= threshold + shared noise, until `stops` answers were (None: to the end).
    redraw: the shared noise after each of them.  release_value: show the noisy answer in place of "above".
    Source: Lyu, Su, Li 2017, Figure 1."""

    def draw(answers: Array, n: int, rng: np.random.Generator) -> Array:
        noisy = answers + _laplace(rng, query_scale, (n, len(answers)))
        limit = np.broadcast_to(threshold + _laplace(rng, threshold_scale, (n, 1)), noisy.shape)
        if redraw:
            limit = _redrawn(noisy, threshold, threshold_scale, rng)
        above = noisy >= limit
        shown = np.where(above, noisy, FALSE_MARK) if release_value else above.astype(np.int8)
        if stops is None:
            return shown
        ended = np.cumsum(above, axis=1) - above >= stops
        return np.where(ended, ENDED_MARK if release_value else np.int8(-1), shown)

    return draw


def numeric_sparse_vector(*, threshold: float, stops: int, epsilon: float) -> Sampler:
    """Sparse vector that answers with noise drawn anew, and 0 below the threshold.
    Source: Wang, Ding, Wang, Kifer, Zhang 2019, NumSVT."""

    def draw(answers: Array, n: int, rng: np.random.Generator) -> Array:
        shape = (n, len(answers))
        limit = threshold + _laplace(rng, 3 / epsilon, (n, 1))
        above = answers + _laplace(rng, 6 * stops / epsilon, shape) >= limit
        shown = np.where(above, answers + _laplace(rng, 3 * stops / epsilon, shape), 0.0)
        return np.where(np.cumsum(above, axis=1) - above >= stops, FALSE_MARK, shown)

    return draw


def randomised_bits(
    positions: Mapping[int, tuple[int, ...]], size: int, one_if_set: float, one_if_clear: float
) -> Sampler:
    """RAPPOR: bits of a Bloom filter, each reported as 1 with one of two chances; `positions` stands for the hashes.
    Source: Erlingsson, Pihur, Korolova 2014, section 2."""

    def draw(answers: Array, n: int, rng: np.random.Generator) -> Array:
        chance = np.full(size, one_if_clear)
        chance[list(positions[int(answers[0])])] = one_if_set
        return (rng.random((n, size)) < chance).astype(np.int8)

    return draw


def prefix_sums(scale: float) -> Sampler:
    """Running totals of noisy answers. Source: Wang, Ding, Wang, Kifer, Zhang 2019, PartialSum."""
    return lambda answers, n, rng: np.cumsum(answers + _laplace(rng, scale, (n, len(answers))), axis=1)


def parallel(*samplers: Sampler) -> Sampler:
    """Several mechanisms on the same answers, independently."""
    return lambda answers, n, rng: np.concatenate([each(answers, n, rng) for each in samplers], axis=1)


def _laplace(rng: np.random.Generator, scale: float, shape: tuple[int, ...]) -> Array:
    return np.rint(rng.laplace(0.0, scale * _GRID, shape)) / _GRID if scale else np.zeros(shape)


def _exponential(rng: np.random.Generator, scale: float, shape: tuple[int, ...]) -> Array:
    return np.rint(rng.exponential(scale * _GRID, shape)) / _GRID


def _redrawn(noisy: Array, threshold: float, scale: float, rng: np.random.Generator) -> Array:
    """The noisy threshold each answer meets: fresh for the first, and after every answer above it."""
    limits = threshold + _laplace(rng, scale, noisy.shape)
    for at in range(1, noisy.shape[1]):
        above = noisy[:, at - 1] >= limits[:, at - 1]
        limits[:, at] = np.where(above, limits[:, at], limits[:, at - 1])
    return limits
