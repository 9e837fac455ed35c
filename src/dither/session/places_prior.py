"""Public places with weights, from a file: what remapping and the optimal mechanism lean on.

Flow: `places` and `places_options` read one. Relies on `engines.points`; the whole file is public.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dither.engines.points import PointFile
from dither.mechanisms.planar import LocalPlane
from dither.secret import open_secret

__all__ = ["Prior", "read_prior"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Prior:
    """(m, 2) metres in the plane, and (m,) weights."""

    places: Floats
    weights: Floats
    listed: tuple[Floats, Floats] | None = None
    """Latitudes and longitudes, (m,) degrees each, as the file has them."""


def read_prior(path: Path, latitude: str, longitude: str, plane: LocalPlane) -> Prior:
    """The places of a Parquet or CSV file with these two columns and one named `weight`."""
    with PointFile(path, numbers=[latitude, longitude, "weight"]) as file:
        north, east, weights = (open_secret(file.values(column)) for column in range(3))
        return Prior(plane.metres(north, east), weights, (north, east))
