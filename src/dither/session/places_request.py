"""What `dither perturb` was asked: radius, level, centre, region and prior, as texts turned into exact public facts.

Flow: the command line fills a `PlacesRequest`; `places` works it off. Nothing here reads the private file.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, exact
from dither.mechanisms.planar import CellNoise, LocalPlane, PlanarNoise, Region
from dither.mechanisms.planar.region import MOST_CORNERS
from dither.session.places_prior import Prior

__all__ = ["PlacesRequest", "plane_of", "read_centre", "read_length", "read_level", "read_region"]

_LENGTH = re.compile(r"\s*([0-9.]+(?:e-?[0-9]+)?)\s*(m|km)\s*", re.IGNORECASE)
_LEVEL = re.compile(r"\s*ln\s*\(?\s*([0-9.e+/-]+)\s*\)?\s*", re.IGNORECASE)
_METRES = {"m": 1, "km": 1000}

Corners = list[tuple[float, float]]
"""(latitude, longitude) in degrees."""


@dataclass(frozen=True)
class PlacesRequest:
    """One release of one file's places."""

    source: Path
    latitude: str
    longitude: str
    """Names of the columns."""
    noise: PlanarNoise | CellNoise
    plane: LocalPlane
    words: str
    """The level and radius as they were asked for, such as "level ln 4 within 200 m"."""
    out: Path
    ledger: Path
    region: Region | None = None
    cells: Prior | None = None
    """The cells that are shown, where the noise is theirs: as they were listed."""
    prior: Path | None = None
    """A Parquet or CSV file of public places, with the same two columns and one named `weight`."""
    loss: str = "squared"
    person: str | None = None
    points_per_person: int = 1
    keep: tuple[str, ...] = ()
    dataset: str | None = None
    """The data set the ledger is of; None: named as the file is."""
    allowance: Fraction | None = None
    """Nats per metre; what all releases about a person together may cost."""


def read_length(text: str, name: str) -> Fraction:
    """Metres, above 0. Raises InvalidParameter unless a number and a unit are there: 200m, 0.2 km."""
    found = _LENGTH.fullmatch(text)
    value = None if found is None else _number(found[1])
    if found is None or value is None or value <= 0:
        raise InvalidParameter(
            name,
            expected="a length above 0 with its unit, as 200m or 0.2km",
            found=text,
            hint="Write the unit: m or km.",
        )
    return value * _METRES[found[2].lower()]


def read_level(text: str, name: str = "--level") -> Fraction:
    """The factor by which odds may change, above 1: 4 for `ln 4`. A bare number is refused: it could mean either."""
    found = _LEVEL.fullmatch(text)
    factor = None if found is None else _number(found[1])
    if factor is None or factor <= 1:
        raise InvalidParameter(
            name, expected="ln of a number above 1, as 'ln 4'", found=text,
            hint="'ln 4' lets what is shown change the odds of two places within the radius by at most 4.",
        )  # fmt: skip
    return factor


def read_centre(text: str) -> tuple[float, float]:
    """(latitude, longitude) in degrees, of `LATITUDE,LONGITUDE`."""
    parts = _floats(text, 2)
    if parts is None:
        raise InvalidParameter("--centre", expected="LATITUDE,LONGITUDE in degrees, as 52.37,4.90", found=text)
    return parts[0], parts[1]


def read_region(text: str) -> Corners:
    """Corners of `SOUTH,WEST,NORTH,EAST`, or of the one polygon of a GeoJSON file."""
    box = _floats(text, 4)
    if box is not None:
        south, west, north, east = box
        if not (-90 < south < north < 90 and -180 <= west < east <= 180):
            raise InvalidParameter(
                "--region", expected="SOUTH,WEST,NORTH,EAST with south < north, west < east", found=text
            )
        return [(south, west), (south, east), (north, east), (north, west)]
    path = Path(text)
    if not path.is_file():
        raise InvalidParameter("--region", expected="SOUTH,WEST,NORTH,EAST in degrees, or a GeoJSON file", found=text)
    try:
        rings = _polygon(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError):
        rings = None
    if rings is None or len(rings) != 1:
        raise InvalidParameter("--region", expected="a GeoJSON file with one polygon without holes", found=text)
    ring = rings[0][:-1] if rings[0][0] == rings[0][-1] else rings[0]
    try:
        corners = [(float(corner[1]), float(corner[0])) for corner in ring]
    except (TypeError, ValueError, LookupError, OverflowError):
        corners = []
    if not 3 <= len(corners) <= MOST_CORNERS or not all(abs(a) < 90 and abs(b) <= 180 for a, b in corners):
        raise InvalidParameter("--region", expected=f"3 to {MOST_CORNERS:,} corners in degrees", found=text)
    return corners


def plane_of(centre: tuple[float, float] | None, corners: Corners | None, reach_m: Fraction) -> LocalPlane:
    """The plane about the centre given, or about the middle of the region. Both are public; the places never say."""
    if centre is None and corners is not None:
        low, high = np.min(corners, axis=0), np.max(corners, axis=0)
        # Rounded to a decimetre, so that the centre can be written down.
        centre = (round(float(low[0] + high[0]) / 2, 6), round(float(low[1] + high[1]) / 2, 6))
    if centre is None:
        raise InvalidParameter(
            "--centre", expected="a public centre, LATITUDE,LONGITUDE, or a public --region", found="neither",
            hint="Dither does not take it from the places: it would tell of them. A town hall serves.",
        )  # fmt: skip
    # Too far is refused there; a number of 400 digits is no float.
    return LocalPlane(*centre, reach_m=float(min(reach_m, Fraction(10**9))))


def _polygon(found: Any) -> list[Any] | None:
    """The rings of the one polygon in a GeoJSON object."""
    match found:
        case {"type": "FeatureCollection", "features": [only]}:
            return _polygon(only)
        case {"type": "Feature", "geometry": geometry}:
            return _polygon(geometry)
        case {"type": "Polygon", "coordinates": [[_, *_], *_] as rings}:
            return list(rings)
        case _:
            return None


def _floats(text: str, count: int) -> list[float] | None:
    parts = text.split(",")
    numbers = [_number(part) for part in parts]
    # No number of degrees is above 360, and one of 400 digits is no float.
    if len(parts) != count or any(each is None or abs(each) > 360 for each in numbers):
        return None
    return [float(each) for each in numbers if each is not None]


def _number(text: Number) -> Fraction | None:
    try:
        return exact(text)
    except InvalidParameter:
        return None
