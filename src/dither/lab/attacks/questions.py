"""The questions a searching adversary may ask of a ward, and plans of several.

A question is a count or a sum over some rows, chosen by row number. A plan is a few questions, and whether they share
the budget or each is offered all of it: a ledger pays for the first of those only.
Flow: `search` tries plans.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ROWS", "TARGET", "Plan", "Question", "Space"]

ROWS, TARGET = 8, 5
"""Rows of a ward, numbered from 1, and the row that the adversary is after."""


@dataclass(frozen=True)
class Question:
    what: str
    part: str
    at: int

    def __str__(self) -> str:
        return f"{self.what} {self._where()}"

    def sql(self) -> str:
        return f"SELECT trial, {self.what} FROM data WHERE {self._where()} GROUP BY trial"

    def rows(self) -> NDArray[np.bool_]:
        """(ROWS,): which rows it asks about."""
        numbers = np.arange(1, ROWS + 1)
        chosen = {
            "<=": numbers <= self.at, ">": numbers > self.at, "<>": numbers != self.at, "=": numbers == self.at,
            "%": numbers % 2 == self.at,
        }  # fmt: skip
        return np.asarray(chosen[self.part], dtype=np.bool_)

    def _where(self) -> str:
        return f"row_number % 2 = {self.at}" if self.part == "%" else f"row_number {self.part} {self.at}"


@dataclass(frozen=True)
class Space:
    """What questions may be made of."""

    whats: tuple[str, ...] = ("COUNT(*)",)
    parts: tuple[str, ...] = ("<=", ">", "<>", "%")
    """Ways to choose rows; with "=" a question may name one row alone."""

    def questions(self) -> list[Question]:
        """All of them; none is about no row."""
        places = {"%": range(2), ">": range(1, ROWS)}
        return [
            Question(what, part, at)
            for what in self.whats
            for part in self.parts
            for at in places.get(part, range(1, ROWS + 1))
        ]


@dataclass(frozen=True)
class Plan:
    questions: tuple[Question, ...] = ()
    shared: bool = True
    """Whether the questions share the budget; otherwise each is offered all of it."""

    def __str__(self) -> str:
        asked = "; ".join(str(one) for one in self.questions)
        return asked if self.shared or len(self.questions) == 1 else f"{asked}; each at the full price"
