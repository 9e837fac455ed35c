"""Published tables of one census block as clauses, and the blocks of people who fit them.

A place is an age and a sex; its variables say `at least j people of this race live here`, so that a solution is a table
of people and no two solutions are the same people in another order. Each published number limits a sum of variables, by
an interval where the defence is exact to so much, or by a cost of one for each person off where it carries noise: the
cheapest solutions are then the likeliest under Laplace noise.
Flow: `census` reads tables and asks here. Relies on: python-sat (the extra `lab`), loaded when it is wanted.
Source: Garfinkel, Abowd, Martindale 2019, "Understanding database reconstruction attacks on public data".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Place", "Sum", "fitting"]

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Place:
    """An age and a sex at which between `least` and `most` people live."""

    age: int
    sex: int
    least: int
    most: int


@dataclass(frozen=True)
class Sum:
    """A published number: people of one race over some places, by position."""

    places: tuple[int, ...]
    race: int
    low: int
    high: int
    noisy: bool = False
    """Then low = high is only the likeliest: each person off costs one."""


def fitting(
    places: Sequence[Place], sums: Sequence[Sum], *, people: int, races: int, limit: int, generator: np.random.Generator
) -> Counts:
    """(found, places, races): up to `limit` tables of `people` people that fit all sums; where sums are noisy, that fit
    them best. Solutions are looked for in random directions. Found is 0 where nothing fits."""
    block = _Block(places, races)
    every = [literal for cell in block.cells for literal in cell]
    block.limit(every, people, people)
    for position, place in enumerate(places):
        block.limit([x for race in range(races) for x in block.cell(position, race)], place.least, place.most)
    for one in sums:
        literals = [x for position in one.places for x in block.cell(position, one.race)]
        if one.noisy:
            block.prefer(literals, one.low)
        else:
            block.limit(literals, one.low, one.high)
    models = _cheapest(block) if block.wishes else _models(block, every, generator)
    found = [block.counts(model) for model in islice(models, limit)]
    return np.array(found, dtype=np.int64).reshape(len(found), len(places), races)


class _Block:
    """Clauses over numbered variables; `cells` holds those of each place and race, at least 1, at least 2, ..."""

    def __init__(self, places: Sequence[Place], races: int) -> None:
        self.races = races
        self.shape = (len(places), races)
        self.top = 0
        self.clauses: list[list[int]] = []
        self.wishes: list[int] = []
        self.cells = [self._new(place.most) for place in places for _ in range(races)]

    def cell(self, place: int, race: int) -> list[int]:
        return self.cells[place * self.races + race]

    def limit(self, literals: list[int], low: int, high: int) -> None:
        """Between low and high of the literals hold."""
        if low > len(literals) or high < 0:
            # Noise apart, tables can contradict each other only if they are not of one block.
            self.clauses.append([])
        at_least = self._at_least(literals)
        self.clauses += [[x] for x in at_least[: max(low, 0)]]
        self.clauses += [[-x] for x in at_least[max(high, 0) : high + 1]]

    def prefer(self, literals: list[int], number: int) -> None:
        """Each one more or fewer than `number` costs one."""
        at_least = self._at_least(literals)
        self.wishes += [x if position <= number else -x for position, x in enumerate(at_least, 1)]

    def counts(self, model: Iterable[int]) -> Counts:
        holds = set(model)
        return np.array([sum(x in holds for x in cell) for cell in self.cells]).reshape(self.shape)

    def _new(self, most: int) -> list[int]:
        found = list(range(self.top + 1, self.top + most + 1))
        self.top += most
        # At least two people are at least one.
        self.clauses += [[-more, fewer] for fewer, more in pairwise(found)]
        return found

    def _at_least(self, literals: list[int]) -> list[int]:
        """Literals `at least 1 of them hold`, `at least 2`, ..., true exactly then."""
        if len(literals) < 2:
            return literals
        half = len(literals) // 2
        left, right = self._at_least(literals[:half]), self._at_least(literals[half:])
        found = self._new(len(literals))
        for i in range(len(left) + 1):
            for j in range(len(right) + 1):
                # i on the left and j on the right make i + j; fewer than i + 1 and j + 1 make fewer than i + j + 1.
                if i + j > 0:
                    self.clauses.append(
                        [
                            *(-x for x in left[max(i - 1, 0) : i]),
                            *(-x for x in right[max(j - 1, 0) : j]),
                            found[i + j - 1],
                        ]
                    )
                if i + j < len(literals):
                    self.clauses.append([*left[i : i + 1], *right[j : j + 1], -found[i + j]])
        return found


def _models(block: _Block, literals: list[int], generator: np.random.Generator) -> Iterator[list[int]]:
    """All solutions, one after the other."""
    from pysat.solvers import Solver

    if [] in block.clauses:
        return
    with Solver("m22", bootstrap_with=block.clauses) as solver:
        while True:
            solver.set_phases([x if generator.random() < 0.5 else -x for x in literals])
            if not solver.solve():
                return
            model: list[int] = solver.get_model()
            yield model
            # Not this one again.
            solver.add_clause([-model[x - 1] for x in literals])


def _cheapest(block: _Block) -> Iterator[list[int]]:
    """Solutions of the least cost."""
    from pysat.examples.rc2 import RC2
    from pysat.formula import WCNF

    formula: Any = WCNF()
    formula.extend(block.clauses)
    formula.extend([[x] for x in block.wishes], weights=[1] * len(block.wishes))
    with RC2(formula, solver="g3", adapt=True, exhaust=True, minz=True) as solver:
        cheapest = None
        for model in solver.enumerate():
            if cheapest is not None and solver.cost > cheapest:
                return
            cheapest = solver.cost
            yield model
