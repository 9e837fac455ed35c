"""What the additive mechanisms share: integers in, noise added without overflow, a Release out.

Flow: laplace and gaussian call `add_noise`; the SQL path and plain users read a Release.
Relies on: values saturated to +-2^61 (a 1-Lipschitz map, so it moves no sensitivity) and samplers that saturate their
draws at +-2^62. The result is saturated to +-2^61 too: then a draw that met the sampler's end gives the same result
whatever the value was, so the result is a function of value + ideal noise alone, and nothing overflows int64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dither.accounting.events import GaussianEvent, LaplaceEvent
from dither.accounting.price import Price, price
from dither.errors import InvalidParameter
from dither.noise import DiscreteGaussian, DiscreteLaplace, Entropy
from dither.secret import Secret, open_secret

__all__ = ["Integers", "LARGEST", "Neighbours", "Release", "Values", "add_noise", "opened", "saturate"]

Integers: TypeAlias = npt.NDArray[np.int64]
Values: TypeAlias = Secret[Any] | npt.NDArray[Any] | Sequence[int] | int
"""Integers from private rows: an array, a sequence or one integer, wrapped as Secret or not."""
Neighbours = Literal["add_remove", "replace"]

LARGEST = 2**61


@dataclass(frozen=True)
class Release:
    """A noisy integer vector, safe to show, with the law of its noise and the event it was."""

    values: Integers
    law: DiscreteLaplace | DiscreteGaussian
    event: LaplaceEvent | GaussianEvent

    @property
    def price(self) -> Price:
        return price(self.event)

    def half_width(self, confidence: float = 0.95) -> int:
        """h, in steps: each true value lies within h of its noisy one with at least this probability."""
        return self.law.half_width(confidence)


def add_noise(values: Values, law: DiscreteLaplace | DiscreteGaussian, entropy: Entropy | None) -> Integers:
    """saturate(saturate(values) + fresh noise), element by element, in the shape of `values`."""
    clean = saturate(values)
    noise = law.sample(clean.size, entropy=entropy).reshape(clean.shape)
    noisy: Integers = np.clip(clean + noise, -LARGEST, LARGEST)
    return noisy


def saturate(values: Values) -> Integers:
    """The integers as int64 in the same shape, each moved into +-2^61; it adds no noise.
    Raises InvalidParameter for anything but integers."""
    array = opened(values)
    if array.dtype == object:
        if not all(isinstance(value, int) for value in array.flat):
            raise InvalidParameter("values", expected="integers", found="objects of another kind")
        capped = [max(-LARGEST, min(LARGEST, value)) for value in array.flat]
        return np.array(capped, dtype=np.int64).reshape(array.shape)
    if not np.issubdtype(array.dtype, np.integer):
        raise InvalidParameter("values", expected="integers (see grid.py for floats)", found=array.dtype)
    if array.dtype == np.uint64:
        array = np.minimum(array, np.uint64(LARGEST))
    clipped: Integers = np.clip(array.astype(np.int64), -LARGEST, LARGEST)
    return clipped


def opened(values: Values) -> npt.NDArray[Any]:
    """The array inside a Secret, or the array itself."""
    return np.asarray(open_secret(values) if isinstance(values, Secret) else values)
