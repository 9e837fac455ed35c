"""What a row of the catalogue is, and the three families most rows belong to.

Flow: `rows` lists what is made here. Relies on: `specimens` (samplers) and `audit.families` (laws); a builder gives
both the same parameters, so that the sampled and the exact audit speak of one mechanism.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dither.audit import families
from dither.audit.catalogue import specimens
from dither.audit.catalogue.specimens import Sampler
from dither.audit.exact import Pair, product
from dither.audit.quadrature import exponential_law, laplace_law
from dither.audit.verdicts import Verdict

__all__ = [
    "BLOOM",
    "ONES",
    "TWOS_ZEROS",
    "Row",
    "bits_law",
    "fresh_answers_law",
    "laplace_row",
    "noisy_answers_law",
    "noisy_max_row",
    "sparse_vector_law",
    "sparse_vector_pair_law",
    "sparse_vector_row",
]

Answers = tuple[float, ...]

ONES5, ONES = (1.0,) * 5, (1.0,) * 10
TWOS_ZEROS = (2.0,) * 5 + (0.0,) * 5
BLOOM = {0: (0, 1, 2, 3), 1: (3, 4, 5, 6), 2: (8, 9, 10, 11)}
"""Bits of three values, in place of hashes: 0 and 1 differ in six bits, 0 and 2 in eight."""

Noise = Literal["laplace", "exponential"]
Release = Literal["index", "value"]


@dataclass(frozen=True)
class Row:
    """One mechanism with one pair of inputs."""

    number: int
    name: str
    about: str
    sampler: Sampler
    pair: tuple[Answers, Answers]
    claimed: float
    true_epsilon: float | None
    """The least epsilon over all neighbouring inputs; inf where none is enough, None where nobody knows."""
    expected: Verdict
    """What a perfect auditor says of the claim, for this pair."""
    law: Callable[[], Pair] | None
    published: float
    """DP-Sniper's best lower bound (90 % confidence, 614 M to 1.26 G calls)."""
    right: int | None = None
    """The row of the right mechanism that this one gets wrong."""

    @property
    def inputs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return np.array(self.pair[0]), np.array(self.pair[1])


def laplace_row(number: int, name: str, about: str, scale: str, shifts: tuple[float, ...], **rest: Any) -> Row:
    """A row of independent Laplace noise on answers (1, 1, ...), where `shifts` are added on the other side."""
    first = tuple(1.0 for _ in shifts)
    pair = first, tuple(1.0 + each for each in shifts)
    cells = 64 if sum(map(bool, shifts)) == 1 else 1
    law = lambda: families.laplace_vector(scale, shifts, cells=cells)  # noqa: E731
    return Row(number, name, about, specimens.histogram(float(scale)), pair, law=law, **rest)


def sparse_vector_row(
    number: int,
    name: str,
    about: str,
    *,
    threshold: float,
    stops: int | None = 1,
    scales: tuple[float, float],
    pattern: Callable[[], Pair] | None = None,
    redraw: bool = False,
    release_value: bool = False,
    **rest: Any,
) -> Row:
    """A row of sparse vector on ten answers 1 against five 2 and five 0. scales: of threshold and query noise."""
    sampler = specimens.sparse_vector(
        threshold=threshold,
        stops=stops,
        threshold_scale=scales[0],
        query_scale=scales[1],
        redraw=redraw,
        release_value=release_value,
    )
    return Row(
        number,
        name,
        about,
        sampler,
        (ONES, TWOS_ZEROS),
        claimed=0.1,
        law=pattern or (lambda: sparse_vector_law(threshold, stops, scales)),
        **rest,
    )


def sparse_vector_law(threshold: float, stops: int | None, scales: tuple[float, float]) -> Pair:
    return families.sparse_vector(
        laplace_law(scales[0]),
        laplace_law(scales[1]),
        threshold=threshold,
        stops=stops,
        first=ONES,
        second=TWOS_ZEROS,
    )


def noisy_answers_law(threshold: float, stops: int, scales: tuple[float, float]) -> Pair:
    return families.sparse_vector_with_noisy_answers(
        *scales, threshold=threshold, stops=stops, first=ONES, second=TWOS_ZEROS
    )


def fresh_answers_law(threshold: float, stops: int, scales: tuple[float, float, int]) -> Pair:
    """scales: of threshold, query and answer noise."""
    return families.sparse_vector_with_fresh_answers(
        laplace_law(scales[0]),
        laplace_law(scales[1]),
        scales[2],
        threshold=threshold,
        stops=stops,
        first=ONES,
        second=TWOS_ZEROS,
    )


def noisy_max_row(
    number: int, name: str, about: str, noise: Noise, release: Release, second: Answers, **rest: Any
) -> Row:
    """A row of noisy maximum over five answers 1, noise scale 20."""
    law = laplace_law(20.0) if noise == "laplace" else exponential_law(20.0)
    build = (
        (lambda: families.noisy_argmax(law, ONES5, second))
        if release == "index"
        else (lambda: families.noisy_maximum(law, ONES5, second, laplace_noise=noise == "laplace"))
    )
    return Row(
        number,
        name,
        about,
        specimens.noisy_max(noise, 20.0, release=release),
        (ONES5, second),
        claimed=0.1,
        law=build,
        **rest,
    )


def sparse_vector_pair_law() -> Pair:
    """SVT3 and SVT4 at once, two stops each."""
    return product(noisy_answers_law(1.0, 2, (20.0, 40.0)), sparse_vector_law(1.0, 2, (40.0, 40 / 3)))


def bits_law(one_if_set: str, one_if_clear: str) -> Pair:
    clear = [[int(bit in BLOOM[value]) for bit in range(20)] for value in (0, 1)]
    return families.flipped_bits(one_if_set, one_if_clear, *clear)
