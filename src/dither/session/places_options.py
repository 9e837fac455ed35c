"""The options of `dither perturb`, as texts, and the exact public facts they mean.

Flow: the command line fills `PlacesOptions`; `request_of` makes the `PlacesRequest` that `places` works off. The
private file is not opened here; files of cells are public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dither.accounting.metric import MetricLoss
from dither.catalog.model import fold
from dither.errors import InvalidParameter
from dither.exact import round_down
from dither.mechanisms.planar import METRIC, CellNoise, PlanarNoise, Region
from dither.session.places_prior import Prior, read_prior
from dither.session.places_request import (
    PlacesRequest,
    plane_of,
    read_centre,
    read_length,
    read_level,
    read_region,
)

__all__ = ["PlacesOptions", "request_of"]


@dataclass(frozen=True)
class PlacesOptions:
    """As written on the command line; None where nothing was."""

    source: Path
    lat: str | None
    lon: str | None
    radius: str | None
    level: str | None
    out: Path
    ledger: Path
    centre: str | None = None
    region: str | None = None
    reach: str = "500km"
    person: str | None = None
    points_per_person: int | None = None
    remap: Path | None = None
    loss: str = "squared"
    cells: Path | None = None
    cell_reach: str | None = None
    lattice: str | None = None
    keep: tuple[str, ...] = ()
    allowance: str | None = None


def request_of(asked: PlacesOptions, tell: Callable[[str], None] | None = None) -> PlacesRequest:
    """Raises InvalidParameter for what is missing, out of range or does not go together. tell: what takes long."""
    needed = {"--lat": asked.lat, "--lon": asked.lon, "--radius": asked.radius, "--level": asked.level}
    if asked.lat is None or asked.lon is None or asked.radius is None or asked.level is None:
        raise InvalidParameter(
            " and ".join(name for name, given in needed.items() if given is None), expected="given", found="nothing",
            hint="As in: dither perturb places.csv --lat lat --lon lon --radius 200m --level 'ln 4' --centre 52.4,4.9",
        )  # fmt: skip
    _check_together(asked)
    metres, factor = read_length(asked.radius, "--radius"), read_level(asked.level)
    corners = None if asked.region is None else read_region(asked.region)
    centre = None if asked.centre is None else read_centre(asked.centre)
    plane = plane_of(centre, corners, read_length(asked.reach, "--reach"))
    cells = None if asked.cells is None else read_prior(asked.cells, asked.lat, asked.lon, plane)
    noise = _noise(asked, cells, metres, factor, tell)
    area, limit = None, None
    if corners is not None:
        area = Region(plane.metres([corner[0] for corner in corners], [corner[1] for corner in corners]))
    if asked.allowance is not None:
        most = MetricLoss.within(
            metres + noise.slack, factor=read_level(asked.allowance, "--allowance"), metric=METRIC
        )  # fmt: skip
        limit = round_down(most.epsilon)
    words = " ".join(f"level {asked.level} within {asked.radius}".split())
    return PlacesRequest(
        asked.source, asked.lat, asked.lon, noise, plane, words, asked.out,
        asked.ledger, region=area, cells=cells, prior=asked.remap, loss=asked.loss, person=asked.person,
        points_per_person=asked.points_per_person or 1, keep=asked.keep, allowance=limit,
    )  # fmt: skip


def _check_together(asked: PlacesOptions) -> None:
    written = [fold(name) for name in (asked.lat, asked.lon, *asked.keep) if name is not None]
    if len(set(written)) < len(written):
        raise InvalidParameter(
            "--lat, --lon and --keep", expected="different columns", found="one of them twice",
            hint="The coordinates are written with noise; kept as they are they would be the raw ones.",
        )  # fmt: skip
    if (asked.person is None) != (asked.points_per_person is None):
        raise InvalidParameter(
            "--person and --points-per-person", expected="both or neither", found="one of them",
            hint="The price is that of so many points of one person; the column tells whose each row is.",
        )  # fmt: skip
    if (asked.cells is None) != (asked.cell_reach is None):
        raise InvalidParameter(
            "--cells and --cell-reach", expected="both or neither", found="one of them",
            hint="A place counts as its nearest cell; how far away it may be is part of the guarantee.",
        )  # fmt: skip
    if asked.cells is not None and (asked.remap or asked.region or asked.lattice):
        raise InvalidParameter(
            "--cells", expected="without --remap, --region and --lattice", found="one of them too",
            hint="The optimal mechanism shows the cells themselves, and its table has the prior in it already.",
        )  # fmt: skip


def _noise(
    asked: PlacesOptions,
    cells: Prior | None,
    radius: Fraction,
    factor: Fraction,
    tell: Callable[[str], None] | None,
) -> PlanarNoise | CellNoise:
    if cells is None or asked.cell_reach is None:
        step = None if asked.lattice is None else read_length(asked.lattice, "--lattice")
        return PlanarNoise.within(radius, factor=factor, step=step)
    reach = read_length(asked.cell_reach, "--cell-reach")
    return CellNoise.within(
        radius, factor=factor, cells=cells.places, prior=cells.weights, reach=reach, progress=tell
    )  # fmt: skip
