"""Films rated by viewers: Zipf-popular films, lognormal activity, tastes that differ, dates over six years.

Stands in for the Netflix Prize data, which may not be passed on. Dates are spread evenly, as for viewers who rate what
they have just seen; where people enter all ratings in one evening, dates tell less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ratings", "ratings"]

DAYS = 6 * 365


@dataclass(frozen=True, eq=False)
class Ratings:
    """Dense tables (viewers, films)."""

    stars: NDArray[np.int8] | NDArray[np.float32]
    """1 to 5, or 0.5 to 5 in halves; 0 where the viewer did not rate the film."""
    day: NDArray[np.int16] | NDArray[np.int32]
    """From 0."""


def ratings(generator: np.random.Generator, viewers: int = 2000, films: int = 1500) -> Ratings:
    """Each viewer rates between 20 and 600 films, drawn without replacement by popularity (k-th: k^-0.9)."""
    popularity = -0.9 * np.log(np.arange(1, films + 1))
    # The largest of log-weight plus Gumbel noise are a draw without replacement.
    order = np.argsort(-(popularity + generator.gumbel(size=(viewers, films))), axis=1)
    activity = np.clip(np.exp(generator.normal(4.4, 0.8, viewers)), 20, 600).astype(int)
    rated = np.zeros((viewers, films), dtype=bool)
    np.put_along_axis(rated, order, np.arange(films) < activity[:, None], axis=1)
    taste = generator.normal(3.5, 0.4, (viewers, 1)) + generator.normal(0, 0.4, films)
    stars = np.clip(np.rint(taste + generator.normal(0, 1, (viewers, films))), 1, 5).astype(np.int8)
    day = generator.integers(0, DAYS, (viewers, films), dtype=np.int16)
    return Ratings(np.where(rated, stars, 0).astype(np.int8), day)
