"""Faults of the noise: its size, its kind, and noise that is used twice."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dither.audit.pipeline import run
from dither.noise import DiscreteGaussian, DiscreteLaplace, insecure_seeded
from faults.planting import COUNT, SEED, law, moved, plant


@plant("dither.answer.release.add_noise", check="noise", audit=law("a count"))
def half_the_noise(original: Any) -> Any:
    """The draw has half the scale that was priced."""
    return lambda values, law, entropy: original(values, DiscreteLaplace(law.scale / 2), entropy)


@plant("dither.plan.price._noisy", check="sensitivity", audit=moved(COUNT, epsilon=Fraction(13, 10)))
def scale_rounded_down(original: Any) -> Any:
    """The scale of the noise is rounded down to a whole number; the price is that of the exact one."""

    def noisy(vector: Any, distance: int, share: Fraction, offer: Any) -> Any:
        priced = original(vector, distance, share, offer)
        return replace(priced, law=DiscreteLaplace(max(1, int(priced.law.scale))))

    return noisy


@plant("dither.noise.laplace.DiscreteLaplace.sample", check="noise", audit=law("two questions"))
def noise_kept_for_the_next_question(original: Any) -> Any:
    """Draws are kept by scale and size, and serve every question."""
    kept: dict[Any, Any] = {}

    def sample(self: Any, size: int | None = None, *, entropy: Any = None) -> Any:
        if (self.scale, size) not in kept:
            kept[self.scale, size] = original(self, size, entropy=entropy)
        return kept[self.scale, size]

    return sample


@plant("dither.noise.laplace.DiscreteLaplace.sample", check="noise", audit=law("two groups"))
def one_draw_for_all_groups(original: Any) -> Any:
    """One draw is made for the whole vector and added to each of its groups."""
    return lambda self, size=None, *, entropy=None: np.full(size or 1, original(self, 1, entropy=entropy)[0])


@plant("dither.answer.release._noisy", check="noise", audit=law("two columns"))
def one_draw_for_all_columns(original: Any) -> Any:
    """Columns of one question share their noise."""
    last: dict[Any, Any] = {}

    def noisy(vector: Any, values: Any, entropy: Any) -> Any:
        key = (id(entropy), len(values))
        if key in last:
            return values + last.pop(key)
        found = original(vector, values, entropy)
        last[key] = found - values
        return found

    return noisy


@plant(
    "dither.answer.release.add_noise",
    "dither.answer.noisy.handed_over",
    check="noise",
    audit=law("a group of nobody else"),
)
def float_noise(original: Any, handed_over: Any) -> Any:
    """Noise is drawn and added in floating point, above the integers: the last bits tell what is below."""
    generator = np.random.default_rng(SEED)

    def with_noise(recipe: Any, vectors: Any, values: Any) -> Any:
        exact = np.asarray(handed_over(recipe, vectors, values), dtype=np.float64)
        return exact + generator.laplace(scale=2.0, size=exact.shape)

    return (lambda values, law, entropy: np.asarray(values)), with_noise


@plant("dither.answer.chosen.choose_quantile_of_each", check="noise", audit=law("a median of nobody else", 40_000))
def quantile_chosen_too_well(original: Any) -> Any:
    """A quantile is chosen at four times the epsilon that was paid."""

    def choose(rows: Any, *, epsilon: Fraction, **rest: Any) -> Any:
        return original(rows, epsilon=4 * epsilon, **rest)

    return choose


@plant("dither.noise.entropy.SystemEntropy._start", "dither.noise.entropy.SystemEntropy._wipe_pool", check="fork",
       audit=lambda: run(checks=["fork"]).lines)  # fmt: skip
def forked_buffer(start: Any, wipe: Any) -> Any:
    """A forked process goes on with its parent's key and buffers."""
    return (lambda self: None), (lambda self: None)


@plant("dither.session.session.system_entropy", check="noise", audit=law("two questions", seeded=False))
def one_seed_for_every_question(original: Any) -> Any:
    """Each question draws from the start of the same seed."""

    class Seeded:
        def __init__(self) -> None:
            self._source = insecure_seeded(SEED)

        def refresh(self) -> None:
            """Does nothing."""

        def read(self, size_bytes: int) -> bytes:
            return self._source.read(size_bytes)

    return Seeded


@plant("dither.noise.gaussian.DiscreteGaussian.sample", check="noise", audit=law("Gaussian noise"))
def deviation_taken_for_variance(original: Any) -> Any:
    """Gaussian noise has the variance for which the standard deviation was meant."""

    def sample(self: Any, size: int | None = None, *, entropy: Any = None) -> Any:
        deviation = Fraction(math.isqrt(int(self.sigma2 * 10**12)), 10**6)
        return original(DiscreteGaussian(deviation), size, entropy=entropy)

    return sample
