"""A hospital: patients in rows for differencing, and a town with voters and admissions for linkage.

The first five patients are those of every introduction to differencing: Ross 1, Monica 1, Joey 0, Phoebe 0, Chandler 1
(1: has diabetes). The town is drawn so that about four in five are alone with their ZIP, birth date and sex, as in the
United States (Sweeney 2000: 87 in 100 of the 1990 census; Golle 2006: 63 in 100 of the 2000 census).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.lab.worlds.table import Table

__all__ = ["FIRST_FIVE", "Town", "town", "ward"]

Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]

FIRST_FIVE = (("Ross", 1), ("Monica", 1), ("Joey", 0), ("Phoebe", 0), ("Chandler", 1))

ZIP_CODES = 60
BIRTH_YEARS = 78
DAYS = 365


def ward(generator: np.random.Generator, trials: int, *, rows: int = 5, coin: bool = False) -> tuple[Table, Bits]:
    """`trials` hospitals of `rows` patients each, in columns trial, row_number, diabetes; and the bit of each
    hospital's fifth patient, a fair coin. The first hospital is that of FIRST_FIVE.
    coin: in that one too Chandler's bit is drawn, as a game needs it to be."""
    diabetes = generator.integers(0, 2, (trials, rows))
    diabetes[0, : 4 if coin else 5] = [bit for _, bit in FIRST_FIVE[: 4 if coin else 5]]
    columns = {
        "trial": np.repeat(np.arange(trials), rows),
        "row_number": np.tile(np.arange(1, rows + 1), trials),
        "diabetes": diabetes.ravel(),
    }
    bounds = {"trial": (0, trials - 1), "row_number": (1, rows), "diabetes": (0, 1)}
    return Table(columns, bounds), diabetes[:, 4] == 1


@dataclass(frozen=True, eq=False)
class Town:
    """People by position: (n,) arrays."""

    zip_code: Ints
    birth_day: Ints
    """Days since the first birthday that occurs."""
    sex: Ints
    voter: Bits
    """On the voter list, which has names."""
    admitted: Bits
    """In the hospital's list, which has diagnoses and no names."""
    diabetes: Bits

    def quasi_identifier(self, birth: str = "date") -> Ints:
        """One number for ZIP, birth (date, month or year) and sex together."""
        days = {"date": 1, "month": DAYS / 12, "year": DAYS}[birth]
        born = np.floor(self.birth_day / days).astype(np.int64)
        return (self.zip_code * (BIRTH_YEARS * DAYS + 1) + born) * 2 + self.sex

    def unique_share_expected(self) -> float:
        """Mean over people of (1 - 1/b)^(n-1): n people of the ZIP spread over b birth dates and sexes evenly."""
        sizes = np.bincount(self.zip_code, minlength=ZIP_CODES)
        cells = BIRTH_YEARS * DAYS * 2
        return float(np.sum(sizes * np.exp((sizes - 1) * np.log1p(-1 / cells))) / np.sum(sizes))


def town(generator: np.random.Generator, people: int = 400_000) -> Town:
    """ZIP codes by a Zipf law of exponent 0.7; birth dates over 78 years and sex even."""
    weights = np.arange(1, ZIP_CODES + 1) ** -0.7
    return Town(
        generator.choice(ZIP_CODES, people, p=weights / weights.sum()),
        generator.integers(0, BIRTH_YEARS * DAYS, people),
        generator.integers(0, 2, people),
        generator.random(people) < 0.6,
        generator.random(people) < 0.05,
        generator.random(people) < 0.1,
    )
