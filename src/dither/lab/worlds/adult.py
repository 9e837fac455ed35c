"""Adult, real people of the census of the United States of 1994, from a file the user has: `adult.data` of UCI.

Fifteen fields to a line, separated by commas, no heading. The lab ships no row of it; UCI gives it under CC BY 4.0.
Flow: `dither lab A9 --data adult.data`; `linkage` counts who is alone with some of the columns.
Source: Becker, Kohavi 1996, "Adult", UCI Machine Learning Repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dither.lab.worlds.given import lines_of, wrong

__all__ = ["KNOWN", "LEAST_PEOPLE", "Adult", "read"]

_FIELDS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip
_NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
KNOWN = ("age", "sex", "race", "education", "marital-status", "occupation", "native-country")
"""What a neighbour or a colleague may know. An unknown value, `?`, is a value like any other."""
LEAST_PEOPLE = 200
_EXPECTED = f"adult.data or adult.test of UCI: {len(_FIELDS)} fields to a line, separated by commas"


@dataclass(frozen=True, eq=False)
class Adult:
    """Columns of KNOWN, each value as a number: (people,) arrays."""

    columns: dict[str, NDArray[np.int64]]

    def __len__(self) -> int:
        return len(self.columns[KNOWN[0]])

    def quasi_identifier(self, names: Sequence[str] = KNOWN) -> NDArray[np.int64]:
        """One number for the named columns together."""
        found = np.zeros(len(self), dtype=np.int64)
        for name in names:
            # Numbered anew after each column, so that the product stays small.
            found = found * (self.columns[name].max() + 1) + self.columns[name]
            found = np.unique(found, return_inverse=True)[1].astype(np.int64)
        return found


def read(path: Path) -> Adult:
    """Raises InvalidParameter, with the number of the first line that does not fit."""
    kept: dict[str, list[str]] = {name: [] for name in KNOWN}
    for number, line in lines_of(path, _EXPECTED):
        # adult.test opens with a remark.
        if line.startswith("|"):
            continue
        row = dict(zip(_FIELDS, (field.strip() for field in line.split(",")), strict=False))
        if len(row) < len(_FIELDS) or line.count(",") >= len(_FIELDS) or not all(row[n].isdecimal() for n in _NUMBERS):
            raise wrong(path, _EXPECTED, line=number)
        for name in KNOWN:
            kept[name].append(row[name])
    people = len(kept[KNOWN[0]])
    if people < LEAST_PEOPLE:
        raise wrong(path, f"at least {LEAST_PEOPLE} people", f" with {people}")
    return Adult({n: np.unique(texts, return_inverse=True)[1].astype(np.int64) for n, texts in kept.items()})
