"""Small helpers of the laws: confidence levels in, floats out with a named rounding direction.
Relies on `exact`. Used by `laplace` and `gaussian`."""

from __future__ import annotations

import math
from fractions import Fraction

from dither.errors import InvalidParameter
from dither.exact import Number, exact

__all__ = ["Bounds", "confidence_of", "float_below"]

Bounds = tuple[Fraction, Fraction]
"""low <= the value meant <= high."""


def confidence_of(confidence: Number) -> Fraction:
    """`confidence` as an exact rational in [0, 1): no finite half-width covers everything."""
    level = exact(confidence, "confidence")
    if not 0 <= level < 1:
        raise InvalidParameter("confidence", expected="a number in [0, 1)", found=confidence)
    return level


def float_below(value: Fraction) -> float:
    """The greatest float <= max(value, 0): a probability that is never overstated."""
    if value <= 0:
        return 0.0
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, 0.0)
