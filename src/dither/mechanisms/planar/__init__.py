"""Places with noise (metric privacy, geo-indistinguishability): what a place is shown as tells little of where it is.

    >>> import numpy as np
    >>> from dither.mechanisms import planar
    >>> plane = planar.LocalPlane(latitude=52.37, longitude=4.90)  # a public centre: Amsterdam
    >>> places = plane.metres(np.array([52.3702, 52.3791]), np.array([4.8952, 4.8994]))
    >>> release = planar.perturb(places, radius=200, factor=4)  # level ln 4 within 200 m
    >>> latitude, longitude = plane.degrees(release.points)
    >>> print(f"moved by {release.noise.expected().mean_m:.0f} m on average")
    moved by 289 m on average
    >>> release.loss.metric
    'metres in the plane'

The guarantee: for raw places d metres apart, epsilon (d + sqrt(2) step) per point, k times that for k points of one
person. It hides where somebody is within a neighbourhood, not that they are there, and it never adds to differential
privacy.

    projection   degrees to metres about a public centre, and back
    lattice      exact rounding, and what it costs; release: the noise; accuracy: how far it moves a place
    region, remap   what may be done with noisy places for nothing
    optimal, cells   the best mechanism on at most 50 cells, by a linear program, certified in whole numbers
"""

from dither.mechanisms.planar.accuracy import Displacement, displacement, measured
from dither.mechanisms.planar.cells import CellNoise
from dither.mechanisms.planar.lattice import METRIC, Lattice, choose_step, loss_within
from dither.mechanisms.planar.optimal import OptimalMechanism, plan_optimal
from dither.mechanisms.planar.projection import LocalPlane
from dither.mechanisms.planar.region import Region
from dither.mechanisms.planar.release import PlanarNoise, PlanarRelease, perturb
from dither.mechanisms.planar.remap import remap

__all__ = [
    "perturb",
    "PlanarNoise",
    "PlanarRelease",
    "LocalPlane",
    "Region",
    "remap",
    "plan_optimal",
    "OptimalMechanism",
    "CellNoise",
    "Displacement",
    "displacement",
    "measured",
    "Lattice",
    "choose_step",
    "loss_within",
    "METRIC",
]
