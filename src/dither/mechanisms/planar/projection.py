"""A local plane: latitude and longitude to metres about a public centre, and back.

Flow: before `perturb`, and after it. The azimuthal equidistant projection of a sphere of radius 6,371,008.8 m:
distances from the centre are true, others are longer in the plane than on the sphere by at most `stretch`, so that
    distance on the sphere <= distance in the plane <= stretch (distance on the sphere)
for any two places within reach. The metric of the guarantee is the distance in the plane, as computed here. The sphere
itself differs from the ellipsoid of GPS by at most 0.6 %.
Relies on: a centre that is public: one computed from the places would tell of them.
Source: Snyder, Map Projections - A Working Manual, 1987, chapter 25.  Proof: docs/proofs/mechanisms/planar.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import InvalidParameter
from dither.secret import Secret, open_secret

__all__ = ["EARTH_RADIUS_M", "LocalPlane"]

Floats = npt.NDArray[np.float64]
Coordinates = Secret[Any] | npt.ArrayLike

EARTH_RADIUS_M = 6_371_008.8
"""Mean radius of the Earth (IUGG)."""

_LARGEST_REACH_M = 1_000_000.0


@dataclass(frozen=True)
class LocalPlane:
    """x to the east and y to the north of the centre, in metres."""

    latitude: float
    longitude: float
    """Degrees, of the public centre; latitude within 89 degrees of the equator."""
    reach_m: float = 500_000.0
    """Places farther from the centre are refused; at most 1,000 km."""

    def __post_init__(self) -> None:
        for name, limit in (("latitude", 89.0), ("longitude", 180.0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= limit:
                raise InvalidParameter(f"{name} of the centre", expected=f"within ±{limit:g} degrees", found=value)
        if not 0 < self.reach_m <= _LARGEST_REACH_M:
            raise InvalidParameter("reach_m", expected="above 0 and at most 1,000,000 m", found=self.reach_m)

    @property
    def stretch(self) -> float:
        """The largest factor by which the plane lengthens a distance on the sphere, rounded up."""
        angle = self.reach_m / EARTH_RADIUS_M
        return math.nextafter(angle / math.sin(angle), 2.0)

    def metres(self, latitude: Coordinates, longitude: Coordinates) -> Floats:
        """(n, 2) float64: east, north. latitude, longitude: (n,) degrees.
        Raises InvalidParameter, naming no place, where one is missing, out of range or beyond reach."""
        north, east = (_column(name, values) for name, values in (("latitude", latitude), ("longitude", longitude)))
        if north.shape != east.shape:
            raise InvalidParameter("longitude", expected="as many as latitudes", found="another number")
        for name, values, limit in (("latitude", north, 90.0), ("longitude", east, 180.0)):
            if not np.all(np.abs(values) <= limit):  # also false for NaN
                raise InvalidParameter(name, expected=f"a number within ±{limit:g} degrees", found="others among them")
        places, away = self._project(np.radians(north), np.radians(east - self.longitude))
        if not np.all(away <= self.reach_m):
            raise InvalidParameter(
                "points", expected=f"within {self.reach_m / 1000:,.6g} km of the public centre", found="others",
                hint="Give a centre nearer to them, or a larger reach (up to 1,000 km), or leave those points out.",
            )  # fmt: skip
        return places

    def degrees(self, points: npt.ArrayLike) -> tuple[Floats, Floats]:
        """(latitude, longitude) in degrees of plane points (n, 2), anywhere: longitudes in -180 .. 180."""
        east, north = np.asarray(points, dtype=np.float64).T
        away = np.hypot(east, north)
        angle = away / EARTH_RADIUS_M
        centre = math.radians(self.latitude)
        # sin(angle) / away is 1 / radius at the centre itself.
        share = np.divide(np.sin(angle), away, out=np.full_like(away, 1 / EARTH_RADIUS_M), where=away > 0)
        sine = np.cos(angle) * math.sin(centre) + north * share * math.cos(centre)
        latitude = np.arcsin(np.clip(sine, -1.0, 1.0))
        turned = np.arctan2(
            east * share, np.cos(angle) * math.cos(centre) - north * share * math.sin(centre)
        )  # fmt: skip
        longitude = np.remainder(np.degrees(turned) + self.longitude + 180.0, 360.0) - 180.0
        return np.degrees(latitude), longitude

    def _project(self, latitude: Floats, turned: Floats) -> tuple[Floats, Floats]:
        """Plane points and their distances from the centre; radians in. Written with half angles, which keep all digits
        near the centre."""
        centre = math.radians(self.latitude)
        halves = np.sin(turned / 2) ** 2
        chord = np.sin((latitude - centre) / 2) ** 2 + math.cos(centre) * np.cos(latitude) * halves
        angle = 2 * np.arcsin(np.sqrt(np.clip(chord, 0.0, 1.0)))
        sine = np.sin(angle)
        # The antipode has no place in the plane; it is beyond any reach.
        scale = np.divide(angle, sine, out=np.ones_like(angle), where=(angle > 0) & (sine > 0)) * EARTH_RADIUS_M
        east = scale * np.cos(latitude) * np.sin(turned)
        north = scale * (np.sin(latitude - centre) + 2 * math.sin(centre) * np.cos(latitude) * halves)
        return np.column_stack([east, north]), angle * EARTH_RADIUS_M


def _column(name: str, values: Coordinates) -> Floats:
    try:
        array = np.asarray(open_secret(values) if isinstance(values, Secret) else values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(name, expected="numbers, in degrees", found="others") from None
    if array.ndim != 1:
        raise InvalidParameter(name, expected="a one-dimensional array", found=f"{array.ndim} dimensions")
    return array
