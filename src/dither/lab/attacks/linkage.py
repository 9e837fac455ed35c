"""A9, linkage: names from a voter list put to hospital records by ZIP, birth date and sex.

Shares of people who are alone with a combination, against the closed form; then the join itself, with its precision and
recall; then the same with birth month and birth year, and with birth dates moved. One real table beside the invented
town: RAND HIE; Adult too, where the user has it, and there what a tenth of the people lets its holder estimate, by
Pitman's law.
Source: Sweeney 2000, "Simple demographics often identify people uniquely"; Golle 2006, "Revisiting the uniqueness of
simple demographics in the US population".
"""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from dither.lab.attacks.closest import closest, rows_refused
from dither.lab.attacks.estimate import from_samples
from dither.lab.attacks.moved import METRIC, moved_days, named_by_nearest
from dither.lab.games import Line, counted, valued
from dither.lab.result import Options, Result
from dither.lab.worlds import hospital
from dither.lab.worlds.adult import KNOWN, Adult
from dither.lab.worlds.hospital import Town

__all__ = ["a9", "alone_in_given", "link", "rand_people", "unique_share"]

Ints = NDArray[np.int64]

_SAMPLE, _SAMPLES = 0.1, 50
"""A tenth of the people, and how many such samples: one alone is some points off."""
_MOVED = (3, 30)
_RAND_COLUMNS = ("site", "sex", "age", "family_size", "income")


def a9(options: Options) -> Result:
    town = hospital.town(np.random.default_rng(options.seed), options.times(400_000))
    lines: list[Line] = []
    for birth in ("date", "month", "year"):
        share = unique_share(town.quasi_identifier(birth))
        note = f"by formula {town.unique_share_expected():.3f}" if birth == "date" else ""
        lines.append(_row(options, f"ZIP, birth {birth}, sex", "alone with it", share, note, _released(birth)))
    for birth in ("date", "month", "year"):
        lines.append(_linked(town, birth, options))
    lines += [_moved(town, days, options) for days in _MOVED]
    people = rand_people()
    words = f"{len(people):,} people in year 1 by {', '.join(_RAND_COLUMNS)}"
    lines.append(_row(options, "RAND HIE, real", "alone with it", unique_share(people), words))
    if isinstance(options.given, Adult):
        lines += alone_in_given(options.given, options)
    note = f"rows: {rows_refused('*', options)} Instead, the game of A2: a count by ZIP, birth date and sex"
    return Result("A9", (*lines, *closest("A9", options, note)))


def unique_share(combination: Ints) -> float:
    """The share of entries that occur once."""
    _, counts = np.unique(combination, return_counts=True)
    return float(np.sum(counts == 1) / len(combination))


def link(town: Town, birth: str) -> tuple[int, int, int]:
    """(right names, names given, patients): a name is given where one voter and one patient share a combination.
    A match can be wrong: the patient's neighbour votes, the patient does not."""
    combination = town.quasi_identifier(birth)
    voters, patients = np.flatnonzero(town.voter), np.flatnonzero(town.admitted)
    alone = [people[_alone(combination[people])] for people in (voters, patients)]
    _, one, other = np.intersect1d(combination[alone[0]], combination[alone[1]], return_indices=True)
    return int(np.sum(alone[0][one] == alone[1][other])), len(one), len(patients)


def _alone(combination: Ints) -> NDArray[np.bool_]:
    _, inverse, counts = np.unique(combination, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse] == 1)


def _linked(town: Town, birth: str, options: Options) -> Line:
    right, given, patients = link(town, birth)
    return counted(
        "A9", _released(birth), f"joined by birth {birth}", "patients named", right, patients, bound=None,
        baseline=1 / max(1, int(np.sum(town.voter))), seed=options.seed,
        note=f"{given:,} names given, {right:,} of them right; three in five people are on the list",
    )  # fmt: skip


def _released(birth: str) -> str:
    return "pseudonymised rows" if birth == "date" else "coarsened rows"


def _moved(town: Town, days: int, options: Options) -> Line:
    right, patients = named_by_nearest(town, moved_days(town.birth_day, days, options.seed * 1000 + days))
    return counted(
        "A9", METRIC, f"birth dates moved by {days} days", "patients named", right, patients, bound=None,
        baseline=1 / max(1, int(np.sum(town.voter))), seed=options.seed,
        note="on average; everybody gets the nearest name of their ZIP and sex",
    )  # fmt: skip


def alone_in_given(adult: Adult, options: Options) -> list[Line]:
    """Who is alone in Adult with a few columns, with some more, with all of KNOWN; and what a tenth tells of it."""
    lines = []
    for names in (KNOWN[:2], KNOWN[:4], KNOWN):
        share, words = unique_share(adult.quasi_identifier(names)), f"by {', '.join(names)}"
        lines.append(_row(options, f"Adult, real, {len(names)} columns", "alone with them", share, words))
    lines[0] = replace(lines[0], note=f"{len(adult):,} people; UCI, CC BY 4.0; {lines[0].note}")
    return [*lines, *_estimated("Adult, a tenth", adult.quasi_identifier(), options)]


def rand_people() -> Ints:
    """A number for site, sex, age, family and income of each person of the RAND Health Insurance Experiment."""
    import duckdb

    path = files("dither") / "data" / "randhie.parquet"
    # Numbers in the order of the values, so that samples follow from the seed.
    ranked = f"SELECT dense_rank() OVER (ORDER BY {', '.join(_RAND_COLUMNS)}) AS r FROM read_parquet(?) WHERE year = 1"
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT r FROM ({ranked}) ORDER BY r", [str(path)]).fetchnumpy()
    return np.asarray(found["r"], dtype=np.int64)


def _estimated(setting: str, people: Ints, options: Options) -> list[Line]:
    """What samples of a tenth say of the whole, by Pitman's law."""
    generator = np.random.default_rng([options.seed, 9])
    found = from_samples(people, generator, share=_SAMPLE, samples=_SAMPLES)
    if found is None:
        return []
    truth = unique_share(people)
    note = (
        f"mean of {found.samples} of {_SAMPLES} samples, each off by {found.spread:.3f} or so; true {truth:.3f}; "
        f"alone in the sample {found.unique_in_sample:.3f}"
    )
    return [_row(options, setting, "alone among all, estimated", found.mean, note)]


def _row(
    options: Options, setting: str, measure: str, share: float, note: str, engine: str = "pseudonymised rows"
) -> Line:
    return valued("A9", engine, setting, measure, share, seed=options.seed, note=note)
