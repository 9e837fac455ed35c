"""A file's places, released with planar noise: check, reserve, perturb, record, show.

Flow: `dither perturb`. What may be wrong with the file is found before anything is charged, and told to its owner, who
runs this; nothing is drawn or shown before the loss is durable in the ledger, and nothing is shown before it is
recorded as answered. The notion is metric privacy in metres of one plane; its ledger holds nothing else.
Relies on: `engines.points` to read and write, `mechanisms.planar` for noise, `ledger.apart` for the charge.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dither.accounting.metric import MetricLoss
from dither.engines.points import PARQUET, PointFile
from dither.errors import EngineError, InvalidParameter
from dither.ledger.apart import ApartLedger
from dither.ledger.apart_places import beside
from dither.mechanisms.planar import METRIC, CellNoise, Displacement, LocalPlane, measured, remap
from dither.noise import Entropy, insecure_seeded, system_entropy
from dither.noise.entropy import words64
from dither.secret import Secret, open_secret
from dither.session.places_prior import Prior, read_prior
from dither.session.places_request import PlacesRequest

__all__ = ["Perturbed", "beside_ledger", "check_out", "metric_of", "person_column", "perturb_places"]

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is: 0 where that is not known."""

_TRIALS = 100_000
_TRIALS_REMAPPED = 10_000
_DECIMALS = 12
"""Of degrees: a tenth of a micrometre, less than a tenth of the finest lattice's step."""
_TESTED = 50_000_000
"""Points times corners looked at for one trial: a second."""


@dataclass(frozen=True)
class Perturbed:
    """What was released, what it cost, and how far it moves places."""

    request: PlacesRequest
    points: Floats
    """(n, 2) metres, as written, in the order written."""
    raw: Secret[Floats]
    """The places behind them; opened for the owner's own page alone."""
    left_out: int
    """Rows of people with more points than count."""
    loss: MetricLoss
    total: MetricLoss
    """Of this and all earlier releases in the ledger."""
    left: MetricLoss | None
    law: Displacement
    """Of the noise alone."""
    trial: Displacement
    """Of fresh noise about public places, by the same steps; never of the places themselves."""
    entry: str


_BY_ROW = ", each row by itself"
_BY_PERSON = ", each person of column "


def metric_of(plane: LocalPlane, person: str | None) -> str:
    """The metric of a ledger. Planes about other centres measure other distances, and what a row costs is not what a
    person costs who may have many: they do not add up, so a ledger takes one of them only."""
    unit = _BY_ROW if person is None else f"{_BY_PERSON}{person}"
    return f"{METRIC} about {plane.latitude!r}, {plane.longitude!r}{unit}"


def beside_ledger(request: PlacesRequest, ledger: str, dataset: str) -> PlacesRequest:
    """The same request, charged to a file beside a data set's own ledger, where its statement finds it.
    Raises InvalidParameter where that ledger is in memory, PolicyRefused where it is on a server."""
    start = MetricLoss(request.noise.epsilon * 0, metric_of(request.plane, request.person))
    place = beside(ledger, start)
    if not place:
        raise InvalidParameter("--catalog", expected="a catalog with a ledger", found="one without")
    return replace(request, ledger=Path(place), dataset=dataset)


def person_column(metric: str) -> str | None:
    """The column that told whose a row is, by the metric of a ledger; None: each row was counted by itself."""
    _, by_person, column = metric.partition(_BY_PERSON)
    return column if by_person else None


def perturb_places(
    request: PlacesRequest, *, entropy: Entropy | None = None, progress: Progress | None = None
) -> Perturbed:
    """Release the places of a file. Raises DitherError with nothing charged for whatever is wrong before the noise."""
    source, tell = entropy or system_entropy(), progress or (lambda *_: None)
    prior = None
    if request.prior is not None:
        prior = read_prior(request.prior, request.latitude, request.longitude, request.plane)
        # Tried now: what is wrong with it must be said before anything is charged.
        remap(np.zeros((1, 2)), prior.places, prior.weights, epsilon=request.noise.epsilon)
    others = [*request.keep, *([] if request.person is None else [request.person])]
    _check_ledger_place(request.ledger)
    tell("reading", 0, 0)
    with PointFile(request.source, numbers=[request.latitude, request.longitude], other=others) as file:
        if file.size == 0:
            raise InvalidParameter("points", expected="at least one row", found="none")
        places = Secret(request.plane.metres(file.values(0), file.values(1)))
        rows = _chosen_rows(request, file, source)
        chosen = Secret(open_secret(places)[rows])
        if isinstance(request.noise, CellNoise):
            request.noise.check(chosen)
        trial = _trial(request, prior)
        with _ledger(request) as ledger, _claimed(request.out):
            loss = (request.noise.point_loss * request.points_per_person).after(
                1, metric_of(request.plane, request.person)
            )
            entry = ledger.reserve(loss, what=_what(request))
            noisy = request.noise.add_to(
                chosen, entropy=source, progress=_counting(tell, "adding noise", len(rows))
            )  # fmt: skip
            shown = _afterwards(request, prior, noisy, _counting(tell, "remapping", len(rows)))
            tell("writing", 0, 0)
            written = file.write(request.out, rows=rows, numbers=_degrees(request, shown), keep=len(request.keep))
            try:
                entry = ledger.answered(entry, _digest(written))
                request = replace(request, out=_place(written, request.out))
            finally:
                written.unlink(missing_ok=True)
            total, left = ledger.total(), ledger.left()
    law = request.noise.expected()
    return Perturbed(
        request, shown, chosen, file.size - len(rows), loss, total, left, law, trial, entry.id
    )  # fmt: skip


def _ledger(request: PlacesRequest) -> _Open:
    metric = metric_of(request.plane, request.person)
    allowance = None if request.allowance is None else MetricLoss(request.allowance, metric)
    start = MetricLoss(request.noise.epsilon * 0, metric)
    return _Open(
        ApartLedger.open(
            str(request.ledger), start, allowance=allowance, dataset=request.dataset or request.source.stem
        )
    )


class _Open:
    """A ledger that is closed at the end of a `with`."""

    def __init__(self, ledger: ApartLedger[MetricLoss]) -> None:
        self._ledger = ledger

    def __enter__(self) -> ApartLedger[MetricLoss]:
        return self._ledger

    def __exit__(self, *_: object) -> None:
        self._ledger.close()


def _check_ledger_place(path: Path) -> None:
    """Raises InvalidParameter for a file that is no ledger: opening it as one would take other people's access away."""
    try:
        with path.open("rb") as file:
            is_database = file.read(16) == b"SQLite format 3\0"
    except FileNotFoundError:
        return
    except OSError:
        is_database = False
    if not is_database:
        raise InvalidParameter("--ledger", expected="a ledger, or a file that is not there yet", found=str(path))


def _what(request: PlacesRequest) -> str:
    """For the ledger and the statement: the words of the request, and nothing of the rows."""
    count = "one point" if request.points_per_person == 1 else f"{request.points_per_person} points"
    who = "each row a person of its own" if request.person is None else f"at most {count} of a person"
    return f"{request.words}, {who}"


def _chosen_rows(request: PlacesRequest, file: PointFile, entropy: Entropy) -> npt.NDArray[np.int64]:
    """Which rows are released, in which order. Both are drawn at random: the file's own order may tell of places, as
    in one sorted by street, and so may which of a person's rows come first."""
    order = _drawn_order(file.size, entropy)
    if request.person is None:
        return order
    people = open_secret(file.codes(len(request.keep)))
    if np.any(people < 0):
        raise InvalidParameter(
            "--person", expected="a person in every row", found="rows without one",
            hint="Leave those rows out: whose points they are is not known, so what they cost is not either.",
        )  # fmt: skip
    drawn = people[order]
    together = np.argsort(drawn, kind="stable")
    grouped = drawn[together]
    first = np.flatnonzero(np.concatenate([[True], grouped[1:] != grouped[:-1]]))
    rank = np.arange(len(grouped)) - np.repeat(first, np.diff(np.append(first, len(grouped))))
    kept = np.sort(together[rank < request.points_per_person])
    chosen: npt.NDArray[np.int64] = order[kept]
    return chosen


def _drawn_order(count: int, entropy: Entropy) -> npt.NDArray[np.int64]:
    """A permutation, each equally likely: that of independent uniform words, drawn again if two are the same."""
    while True:
        words = words64(entropy, count)
        order = np.argsort(words)
        drawn = words[order]
        if not np.any(drawn[1:] == drawn[:-1]):
            return order.astype(np.int64)


def _afterwards(
    request: PlacesRequest, prior: Prior | None, noisy: Floats, progress: Callable[[int], None] | None
) -> Floats:
    """Post-processing: the guess under the prior, then the nearest point of the region."""
    shown = noisy
    if prior is not None:
        shown = remap(
            shown, prior.places, prior.weights, epsilon=request.noise.epsilon,
            loss="distance" if request.loss == "distance" else "squared", progress=progress,
        )  # fmt: skip
    return shown if request.region is None else request.region.nearest(shown)


def _degrees(request: PlacesRequest, shown: Floats) -> tuple[Floats, Floats]:
    """(latitude, longitude): a cell as it was listed, any other place by the shortest decimal that tells it from all
    others. The way into the plane and back leaves 4.900000000000006 of 4.9."""
    latitude, longitude = (np.round(degrees, _DECIMALS) + 0.0 for degrees in request.plane.degrees(shown))
    if request.cells is not None and request.cells.listed is not None:
        for place, *listed in zip(request.cells.places, *request.cells.listed, strict=True):
            here = np.all(shown == place, axis=1)
            latitude[here], longitude[here] = listed
    return latitude, longitude


def _trial(request: PlacesRequest, prior: Prior | None) -> Displacement:
    """How far fresh noise moves public places: those of the prior, of the region, or the centre. It shares nothing with
    the noise that is released, so a seed does."""
    generator = np.random.default_rng(1)
    count = _TRIALS if prior is None else _TRIALS_REMAPPED
    if isinstance(request.noise, CellNoise):
        prior = Prior(request.noise.mechanism.cells, request.noise.mechanism.prior)
    if prior is not None:
        picked = generator.choice(len(prior.places), size=count, p=prior.weights / prior.weights.sum())
        places = prior.places[picked]
    elif request.region is not None:
        west, south, east, north = request.region.extent
        count = min(count, _TESTED // len(request.region.corners))
        box = generator.uniform((west, south), (east, north), size=(4 * count, 2))
        inside = box[request.region.holds(box)][:count]
        places = inside if len(inside) else request.region.nearest(box[:count])
    else:
        places = np.zeros((count, 2))
    noisy = request.noise.add_to(places, entropy=insecure_seeded(1))
    if isinstance(request.noise, CellNoise):
        return measured(noisy, places)
    return measured(_afterwards(request, prior, noisy, None), places)


def _counting(tell: Progress, what: str, whole: int) -> Callable[[int], None]:
    done = 0

    def progress(more: int) -> None:
        nonlocal done
        done += more
        tell(what, done, whole)

    return progress


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _place(written: Path, out: Path) -> Path:
    """Give the release its name, or, where somebody has taken that since it was claimed, the next free one. Says which.
    It is there as a whole or not at all, and takes nothing away."""
    for number in range(1, 1000):
        name = out if number == 1 else out.with_name(f"{out.stem}-{number}{out.suffix}")
        try:
            try:
                os.link(written, name)
            except FileExistsError:
                raise
            except OSError:
                # A file system without links: the name is taken first, and for that moment is an empty file.
                os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
                written.replace(name)
        except FileExistsError:
            continue
        except OSError:
            break
        return name
    raise EngineError("The noisy places could not be put into place. The charge stands.")


def check_out(out: Path) -> None:
    """Raises InvalidParameter unless the noisy places can be written to `out` without taking anything away."""
    if out.suffix.lower() not in (*PARQUET, ".csv") or not out.absolute().parent.is_dir() or os.path.lexists(out):
        raise _in_the_way(out)


@contextmanager
def _claimed(out: Path) -> Iterator[None]:
    """Hold the name `out` from before the charge on: what cannot be written there, or is being written by another
    process, is found out while nothing is charged. By a lock on a hidden file, which goes with the process however that
    ends: `out` itself is there only when the release is."""
    claim = out.with_name(f".{out.name}.being-written")
    try:
        held = os.open(claim, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _in_the_way(out, error.strerror or "not a usable path") from None
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise _in_the_way(out, "another process is writing it") from None
        try:
            if os.path.lexists(out):
                raise _in_the_way(out, "a file that is there")
            yield
        finally:
            claim.unlink(missing_ok=True)
    finally:
        os.close(held)


def _in_the_way(out: Path, reason: str = "") -> InvalidParameter:
    return InvalidParameter(
        "--out", expected="a new file in a folder that exists, ending in .parquet, .pq or .csv",
        found=f"{out}: {reason}" if reason else str(out),
        hint="Nothing was charged. A release that is there already is not written over.",
    )  # fmt: skip
