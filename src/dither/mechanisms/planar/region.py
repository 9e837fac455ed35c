"""A public region of the plane, and the nearest of its points: what moves noisy places off the sea.

Flow: after the noise, on public points: post-processing, so it costs nothing. Plain floats serve.
Relies on: a region that was not drawn about the private places.
Proof: docs/proofs/mechanisms/planar.md, part 4
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dither.errors import InvalidParameter

__all__ = ["MOST_CORNERS", "Region"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

MOST_CORNERS = 2_000

_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Region:
    """A polygon, convex or not, its border included."""

    corners: Floats
    """(m, 2) metres in the plane, in order around it, the first not repeated; m >= 3."""

    def __post_init__(self) -> None:
        corners = np.array(self.corners, dtype=np.float64)
        if corners.ndim != 2 or corners.shape[1:] != (2,) or not 3 <= len(corners) <= MOST_CORNERS:
            raise InvalidParameter("region", expected=f"3 to {MOST_CORNERS:,} corners", found=f"shape {corners.shape}")
        if not np.all(np.isfinite(corners)):
            raise InvalidParameter("region", expected="finite corners", found="others")
        if _doubled_area(corners) == 0:
            raise InvalidParameter("region", expected="a polygon with an inside", found="one without area")
        object.__setattr__(self, "corners", corners)

    @classmethod
    def box(cls, low: tuple[float, float], high: tuple[float, float]) -> Region:
        """The rectangle with these opposite corners, metres."""
        (west, south), (east, north) = low, high
        return cls(np.array([[west, south], [east, south], [east, north], [west, north]]))

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """West, south, east, north."""
        west, south = self.corners.min(axis=0).tolist()
        east, north = self.corners.max(axis=0).tolist()
        return west, south, east, north

    def nearest(self, points: npt.ArrayLike) -> Floats:
        """Each point itself where the region holds it, else the region's nearest point. (n, 2) metres."""
        moved = np.array(points, dtype=np.float64)
        for start in range(0, len(moved), _AT_ONCE):
            part = moved[start : start + _AT_ONCE]
            outside = np.flatnonzero(~self.holds(part))
            part[outside] = self._onto_border(part[outside])
        return moved

    def holds(self, points: npt.ArrayLike) -> Flags:
        """Which points are inside, by the parity of the borders to the east of them."""
        x, y = np.asarray(points, dtype=np.float64).T
        inside = np.zeros(len(x), dtype=np.bool_)
        for (x1, y1), (x2, y2) in self._edges():
            if y1 == y2:
                continue
            crosses = (y1 > y) != (y2 > y)
            inside ^= crosses & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
        return inside

    def _onto_border(self, points: Floats) -> Floats:
        best, least = points.copy(), np.full(len(points), np.inf)
        for start, end in self._edges():
            along = end - start
            length = float(along @ along)
            share = np.clip((points - start) @ along / length, 0.0, 1.0) if length else np.zeros(len(points))
            candidate = start + share[:, None] * along
            apart = np.square(points - candidate).sum(axis=1)
            nearer = apart < least
            best[nearer], least[nearer] = candidate[nearer], apart[nearer]
        return best

    def _edges(self) -> list[tuple[Floats, Floats]]:
        return list(zip(self.corners, np.roll(self.corners, -1, axis=0), strict=True))


def _doubled_area(corners: Floats) -> float:
    x, y = (corners - corners[0]).T
    return float(np.abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)))
