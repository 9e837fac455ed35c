"""Places with noise: each point rounded to the lattice and moved by exact discrete planar Laplace noise.

Flow: plane coordinates in metres in; a `PlanarRelease` out, which knows its law and what it cost.
Relies on: `noise.planar` for exact draws, `lattice` for exact rounding.
For all points x, x' and every set S: Pr[M(x) in S] <= e^(epsilon (|x - x'| + sqrt(2) step)) Pr[M(x') in S]. It hides
where a point is within a neighbourhood; it does not hide that there is one, nor how many there are.
Source: Andres, Bordenabe, Chatzikokolakis, Palamidessi 2013.  Proof: docs/proofs/mechanisms/planar.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.accounting.metric import MetricLoss
from dither.errors import InvalidParameter
from dither.exact import Number, exact
from dither.mechanisms.planar.accuracy import Displacement, displacement
from dither.mechanisms.planar.lattice import METRIC, Lattice, choose_step, loss_within
from dither.mechanisms.release import LARGEST, Values, opened
from dither.noise import Entropy
from dither.noise.planar import DiscretePlanar
from dither.secret import Secret

__all__ = ["PlanarNoise", "PlanarRelease", "checked_points", "perturb"]

Floats = npt.NDArray[np.float64]

_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class PlanarRelease:
    """Noisy places, safe to show, with the law of their noise and their loss."""

    points: Floats
    """(n, 2) metres in the plane, in the order of the points given; each on the lattice."""
    noise: PlanarNoise
    loss: MetricLoss
    """Of one person: `points_per_person` times the loss of a point."""


@dataclass(frozen=True)
class PlanarNoise:
    """How points are perturbed: a lattice, and the loss of one point."""

    lattice: Lattice
    point_loss: MetricLoss

    def __post_init__(self) -> None:
        if self.point_loss.metric != METRIC or self.point_loss.epsilon <= 0:
            raise InvalidParameter("loss", expected=f"above 0, in {METRIC}", found=self.point_loss)
        _ = self.law  # refuses a lattice too fine for the loss, before anything is charged

    @classmethod
    def within(cls, radius: Number, *, factor: Number, step: Number | None = None) -> PlanarNoise:
        """Noise at which the odds of places within `radius` metres change by at most `factor` ("level ln factor within
        the radius"), rounding included. step: of the lattice, metres, a power of two; `choose_step` by default."""
        lattice = Lattice(choose_step(radius) if step is None else exact(step, "step"))
        return cls(lattice, loss_within(radius, factor=factor, lattice=lattice))

    @property
    def epsilon(self) -> Fraction:
        """Nats per metre, of one point."""
        return self.point_loss.epsilon

    @property
    def law(self) -> DiscretePlanar:
        """Of the noise, in steps of the lattice."""
        return DiscretePlanar(self.epsilon * self.lattice.step)

    @property
    def slack(self) -> Fraction:
        """What rounding may add to a distance, metres."""
        return self.lattice.slack

    def exponent(self, distance: Number, *, points: int = 1) -> Fraction:
        """epsilon (d + sqrt(2) step) times `points`, rounded up: what is guaranteed for raw places d metres apart."""
        return points * self.epsilon * (exact(distance, "distance") + self.lattice.slack)

    def expected(self) -> Displacement:
        """How far a point moves, metres, by the law."""
        return displacement(self.epsilon)

    def add_to(
        self,
        points: Values | npt.NDArray[Any],
        *,
        entropy: Entropy | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Floats:
        """The points with noise, (n, 2) metres. progress: told how many points were done since it was told last."""
        clean = checked_points(points)
        law, noisy = self.law, np.empty(clean.shape)
        for start in range(0, len(clean), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            steps = self.lattice.nearest(clean[part])
            steps += law.sample(len(steps), entropy=entropy)
            noisy[part] = self.lattice.metres(np.clip(steps, -LARGEST, LARGEST))
            if progress is not None:
                progress(len(steps))
        return noisy


def perturb(
    points: Values | npt.NDArray[Any],
    *,
    radius: Number,
    factor: Number,
    step: Number | None = None,
    points_per_person: int = 1,
    entropy: Entropy | None = None,
) -> PlanarRelease:
    """Release places so that the odds of any two within `radius` metres of one another change by at most `factor`.

    points: (n, 2) metres in a plane, finite; a Secret of such an array is opened here.
    radius: metres, above 0. factor: above 1; 4 is the level `ln 4`.
    step: of the lattice, metres, a power of two; by default the largest that costs a thousandth of the radius.
    points_per_person: k points of one person cost k times as much; nothing here can count them.
    Raises InvalidParameter outside those ranges, naming no point."""
    if not isinstance(points_per_person, int) or isinstance(points_per_person, bool) or points_per_person < 1:
        raise InvalidParameter("points_per_person", expected="a whole number, at least 1", found=points_per_person)
    noise = PlanarNoise.within(radius, factor=factor, step=step)
    return PlanarRelease(noise.add_to(points, entropy=entropy), noise, noise.point_loss * points_per_person)


def checked_points(points: Values | npt.NDArray[Any]) -> Floats:
    """(n, 2) float64, finite. Raises InvalidParameter without any of their values."""
    try:
        array = np.asarray(opened(points) if isinstance(points, Secret) else points, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("points", expected="numbers, in metres", found="others") from None
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidParameter("points", expected="an array of shape (n, 2)", found=f"shape {array.shape}")
    if not np.all(np.isfinite(array)):
        raise InvalidParameter("points", expected="finite numbers", found="NaN or infinity among them")
    return array
