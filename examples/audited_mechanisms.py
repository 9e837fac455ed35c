"""Three mechanisms to audit: two of other libraries, as their documentation shows them, and one of our own making.

    cd examples
    dither audit --target audited_mechanisms:diffprivlib_laplace --inputs 0 1 --calls 20000
    dither audit --target audited_mechanisms:opendp_laplace --inputs 0 1 --calls 20000
    dither audit --target audited_mechanisms:own_mean --inputs "[1, 1, 1, 1]" "[1, 1, 1, 0]" --calls 20000

Needs `pip install diffprivlib "scikit-learn<1.8"` for the first and `pip install opendp` for the second.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["diffprivlib_laplace", "opendp_laplace", "own_mean"]


def diffprivlib_laplace(data: float, n: int) -> list[float]:
    """Claims epsilon 1."""
    from diffprivlib.mechanisms import Laplace

    mechanism = Laplace(epsilon=1, sensitivity=1)
    return [mechanism.randomise(float(data)) for _ in range(n)]


def opendp_laplace(data: float, n: int) -> list[float]:
    """Claims epsilon 1: scale 1, sensitivity 1."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    laplace = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)
    return [laplace(float(data)) for _ in range(n)]


def own_mean(data: Sequence[float], n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Claims epsilon 1 for the mean of values in [0, 1], one of which is replaced: the sensitivity is 1/4 for four
    values. The mistake: the noise is made for a fifth value that is not there. (It is rounded to 2^-20 before it is
    added to a multiple of that, so that its floats tell nothing.)"""
    sensitivity = 1 / (len(data) + 1)
    noise = np.rint(rng.laplace(scale=sensitivity, size=n) * 2**20) / 2**20
    return np.mean(data) + noise
