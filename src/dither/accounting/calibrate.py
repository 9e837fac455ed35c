"""The other way round: from what may be spent to the noise that spends it.

Flow: an offer in rho is turned into a Laplace scale, so that Laplace and Gaussian noise can be compared at one price.
Relies on: `rho_of_laplace`, which decides; the search only proposes.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from dither.accounting.price import rho_of_laplace
from dither.errors import InvalidParameter
from dither.exact import Number, positive

__all__ = ["laplace_scale_for_rho"]

_PRECISION = Fraction(1, 2**30)


def laplace_scale_for_rho(rho: Number, distance: int) -> Fraction:
    """A scale b, in steps, at which discrete Laplace noise at this L1 distance costs at most rho: within 1e-9 of the
    least such scale, never below it.  rho: > 0.  distance: steps, >= 1.  Raises InvalidParameter outside these.
    Source: bisection of `rho_of_laplace`, which cites its own."""
    if isinstance(distance, bool) or not isinstance(distance, int) or distance < 1:
        raise InvalidParameter("distance", expected="a whole number of steps, at least 1", found=distance)
    return _least_scale(positive(rho, "rho"), distance)


# Cached behind `positive`: the float 0.1 and Fraction(0.1) are equal keys with different meanings.
@lru_cache(maxsize=1024)
def _least_scale(rho: Fraction, distance: int) -> Fraction:
    # Any epsilon-DP event costs at most epsilon^2 / 2 and at most epsilon: both give a scale that is wide enough.
    epsilon = max(Fraction(math.isqrt(math.floor(2 * rho * 4**60)), 2**60), rho)
    wide = _short(distance / epsilon)
    narrow = wide / 2
    while rho_of_laplace(narrow, distance) <= rho:
        wide, narrow = narrow, narrow / 2
    while wide - narrow > wide * _PRECISION:
        middle = (wide + narrow) / 2
        wide, narrow = (middle, narrow) if rho_of_laplace(middle, distance) <= rho else (wide, middle)
    return wide


def _short(value: Fraction) -> Fraction:
    """`value` rounded up to about 20 significant bits, so that halving it stays cheap."""
    unit = Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length() - 20)
    return math.ceil(value / unit) * unit
