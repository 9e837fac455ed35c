"""A9, linkage: names from a voter list put to hospital records by ZIP, birth date and sex.

Shares of people who are alone with a combination, against the closed form; then the join itself, with its precision and
recall; then the same with birth month and birth year. One real table beside the invented town: RAND HIE.
Source: Sweeney 2000, "Simple demographics often identify people uniquely"; Golle 2006, "Revisiting the uniqueness of
simple demographics in the US population".
"""

from __future__ import annotations

from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from dither.lab.attacks.closest import closest, rows_refused
from dither.lab.games import Line, counted, valued
from dither.lab.result import Options, Result
from dither.lab.worlds import hospital
from dither.lab.worlds.hospital import Town

__all__ = ["a9", "link", "unique_share"]

Ints = NDArray[np.int64]


def a9(options: Options) -> Result:
    town = hospital.town(np.random.default_rng(options.seed), options.times(400_000))
    lines: list[Line] = []
    for birth in ("date", "month", "year"):
        share = unique_share(town.quasi_identifier(birth))
        note = f"by formula {town.unique_share_expected():.3f}" if birth == "date" else "coarsened"
        lines.append(_row(options, f"ZIP, birth {birth}, sex", "alone with it", share, note))
    for birth in ("date", "month", "year"):
        lines.append(_linked(town, birth, options))
    lines.append(_row(options, "RAND HIE, real", "alone with it", *_rand()))
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
        "A9", "released rows", f"joined by birth {birth}", "patients named", right, patients, bound=None,
        baseline=1 / max(1, int(np.sum(town.voter))), seed=options.seed,
        note=f"{given:,} names given, {right:,} of them right; three in five people are on the list",
    )  # fmt: skip


def _rand() -> tuple[float, str]:
    """The share of people of the RAND Health Insurance Experiment who are alone with site, sex, age, family, income."""
    import duckdb

    path = files("dither") / "data" / "randhie.parquet"
    columns = "site, sex, age, family_size, income"
    groups = f"SELECT count(*) AS n FROM read_parquet(?) WHERE year = 1 GROUP BY {columns}"
    sql = f"SELECT count(*) FILTER (WHERE n = 1), sum(n) FROM ({groups})"
    with duckdb.connect() as connection:
        found = connection.execute(sql, [str(path)]).fetchone()
    alone, people = found or (0, 1)
    return alone / int(people), f"{int(people):,} people in year 1 by {columns}"


def _row(options: Options, setting: str, measure: str, share: float, note: str) -> Line:
    return valued("A9", "released rows", setting, measure, share, seed=options.seed, note=note)
