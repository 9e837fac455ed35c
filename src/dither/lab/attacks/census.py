"""A6, a census block: whole people out of small tables about them, by SAT.

Eight people live in a block. Three tables are published of it: people by age and sex, by race and age in tens, by race
and sex. No table says who is what; together they often leave one set of people, or a few. Then a list of names with
ages and sexes, as anybody can buy, tells the race of each. Where tables carry noise they contradict each other, and the
adversary, who is even given the list, takes the sets of people that fit best.
Success is counted in people. Races are drawn evenly from four, so a guess without tables is right once in four; the
bound is that of one of four values, for a row exchanged.  Proof: docs/proofs/lab/bounds.md
Source: Garfinkel, Abowd, Martindale 2019; Dick et al. 2023 (compare with a guess from the population alone).
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.lab import bounds
from dither.lab.attacks.tables_by_sat import Place, Sum, fitting
from dither.lab.engines import Engine, Exact, Maker, Reply, Rounding, Suppression, dither
from dither.lab.games import Line, counted, setting_of
from dither.lab.optional import needs
from dither.lab.result import Options, Result
from dither.lab.worlds.table import Table

__all__ = ["SmallCells", "Tables", "a6", "blocks_of_people"]

Ints = NDArray[np.int64]

PEOPLE, AGES, TENS, SEXES, RACES = 8, 80, 10, 2, 4
BLOCKS = 300
_EXACT, _NOISY = 100, 20
"""Solutions looked at in a block, at most."""


class SmallCells(Suppression):
    """As census offices do it: counts below three are withheld. The groups are listed."""

    name = "suppression, k = 3"
    k = 3


@dataclass(frozen=True)
class Tables:
    """How an adversary reads the tables of one engine."""

    off: int = 0
    """How far a number shown may be from the count."""
    withheld: int = 0
    """The largest count that is withheld."""
    empty: int = 0
    """The largest count of a group that looks empty: above 0, where all groups are listed and small counts hidden."""
    noisy: bool = False

    def read(self, shown: dict[tuple[int, ...], Any], key: tuple[int, ...]) -> tuple[int, int]:
        """(least, most) people of a group."""
        if key not in shown:
            return 0, self.empty
        # A group that is listed has somebody in it, unless empty ones are listed too.
        least = 0 if self.noisy or self.empty else 1
        if shown[key] is None:
            return least, self.withheld
        number = round(shown[key])
        return (number, number) if self.noisy else (max(number - self.off, least), number + self.off)


def blocks_of_people(generator: np.random.Generator, blocks: int) -> tuple[Table, Ints, Ints, Ints]:
    """The table, and ages, sexes and races: (blocks, PEOPLE), all even and independent."""
    age, sex, race = (generator.integers(0, most, (blocks, PEOPLE)) for most in (AGES, SEXES, RACES))
    columns = {
        "block": np.repeat(np.arange(blocks), PEOPLE), "age": age.ravel(), "sex": sex.ravel(), "race": race.ravel()
    }  # fmt: skip
    limits = {"block": (0, blocks - 1), "age": (0, AGES - 1), "sex": (0, SEXES - 1), "race": (0, RACES - 1)}
    return Table(columns, limits), age, sex, race


def a6(options: Options) -> Result:
    needs("pysat", "python-sat", "which solves the tables of A6", extra="lab")
    few, many = options.times(BLOCKS // 3), options.times(BLOCKS)
    small, fives = SmallCells.k - 1, Rounding.base // 2
    exact = (_rows(Exact, Tables(), few, options), _races(Exact, Tables(), Fraction(1), few, options))
    lines: list[Line] = []
    for maker, tables in ((SmallCells, Tables(withheld=small)), (Rounding, Tables(off=fives))):
        lines += [_rows(maker, tables, few, options), _races(maker, tables, Fraction(1), few, options)]
    for other, tables in (
        (SmallCells, Tables(withheld=small, empty=small)),
        (Rounding, Tables(off=fives, empty=fives)),
    ):
        lines.append(_races(other, tables, Fraction(1), few, options, note="empty groups look like small ones"))
    lines += [_races(dither(), Tables(noisy=True), e, many, options) for e in options.epsilons]
    best = {line.measure: line.value for line in exact}
    return Result("A6", (*exact, *(replace(line, oracle=best[line.measure]) for line in lines)))


def _rows(maker: Maker, tables: Tables, blocks: int, options: Options) -> Line:
    """Age, sex and race together, from the three tables and the number of people in a block."""
    started = time.monotonic()
    generator = np.random.default_rng(options.seed)
    table, age, sex, race = blocks_of_people(generator, blocks)
    hits, solutions = 0, []
    with maker(table, Fraction(1), options.seed) as engine:
        first = _shown(engine.ask("SELECT block, age, sex, COUNT(*) FROM data GROUP BY block, age, sex"))
        by_age, by_sex = _by_race(engine, Fraction(1))
        name, asked, refused = engine.name, engine.questions, engine.refusals
    for block in range(blocks):
        places = [Place(key[1], key[2], *tables.read(first, key)) for key in sorted(first) if key[0] == block]
        found = _solved(block, places, by_age, by_sex, tables, generator)
        solutions.append(len(found))
        truth = Counter(zip(age[block].tolist(), sex[block].tolist(), race[block].tolist(), strict=True))
        hits += sum((_likeliest(places, found) & truth).values())
    once = sum(n == 1 for n in solutions)
    usual = int(np.median(solutions))
    return counted(
        "A6", name, "no prices", "people, whole rows", hits, blocks * PEOPLE, bound=None, spent="no ledger",
        questions=asked, refusals=refused, baseline=1 - (1 - 1 / (AGES * SEXES * RACES)) ** PEOPLE, seed=options.seed,
        seconds=time.monotonic() - started,
        note=f"one solution in {once} of {blocks} blocks; {'at least ' * (usual >= _EXACT)}{usual} in the middle block",
    )  # fmt: skip


def _races(maker: Maker, tables: Tables, epsilon: Fraction, blocks: int, options: Options, note: str = "") -> Line:
    """The race of each person of a list with ages and sexes, from the two tables with races."""
    started = time.monotonic()
    generator = np.random.default_rng(options.seed)
    table, age, sex, race = blocks_of_people(generator, blocks)
    hits = 0
    with maker(table, epsilon, options.seed) as engine:
        by_age, by_sex = _by_race(engine, epsilon)
        name, spend, asked, refused = engine.name, engine.spend(), engine.questions, engine.refusals
    for block in range(blocks):
        people = list(zip(age[block].tolist(), sex[block].tolist(), strict=True))
        listed = Counter(people)
        places = [Place(*key, number, number) for key, number in sorted(listed.items())]
        found = _solved(block, places, by_age, by_sex, tables, generator)
        guesses = dict(zip(sorted(listed), _means(found, len(places)).argmax(axis=1).tolist(), strict=True))
        hits += sum(guesses[person] == r for person, r in zip(people, race[block].tolist(), strict=True))
    bound = bounds.one_of(RACES, bounds.replaced(spend.epsilon)) if spend.has_ledger else None
    return counted(
        "A6", name, setting_of(epsilon, spend), "race of a listed person", hits, blocks * PEOPLE, bound=bound,
        baseline=1 / RACES, spent=str(spend), questions=asked,
        refusals=refused, seconds=time.monotonic() - started, seed=options.seed, note=note or _NOTES[spend.has_ledger],
        at=float(epsilon),
    )  # fmt: skip


_NOTES = {False: "", True: "half the budget for each table; one of four races, a row exchanged counts twice epsilon"}


def _by_race(engine: Engine, epsilon: Fraction) -> tuple[dict[tuple[int, ...], Any], dict[tuple[int, ...], Any]]:
    questions = (
        "SELECT block, age // 10, race, COUNT(*) FROM data GROUP BY block, age // 10, race",
        "SELECT block, sex, race, COUNT(*) FROM data GROUP BY block, sex, race",
    )
    by_age, by_sex = (_shown(engine.ask(question, epsilon / 2)) for question in questions)
    return by_age, by_sex


def _shown(reply: Reply) -> dict[tuple[int, ...], Any]:
    """The last column by the others."""
    return {tuple(map(int, row[:-1])): row[-1] for row in reply.rows if None not in row[:-1]}


def _solved(
    block: int, places: list[Place], by_age: dict[tuple[int, ...], Any], by_sex: dict[tuple[int, ...], Any],
    tables: Tables, generator: np.random.Generator,
) -> Ints:  # fmt: skip
    sums = []
    for ten in range(AGES // TENS):
        there = tuple(i for i, place in enumerate(places) if place.age // TENS == ten)
        sums += [Sum(there, race, *tables.read(by_age, (block, ten, race)), tables.noisy) for race in range(RACES)]
    for sex in range(SEXES):
        there = tuple(i for i, place in enumerate(places) if place.sex == sex)
        sums += [Sum(there, race, *tables.read(by_sex, (block, sex, race)), tables.noisy) for race in range(RACES)]
    limit = _NOISY if tables.noisy else _EXACT
    useful = [one for one in sums if one.places]
    return fitting(places, useful, people=PEOPLE, races=RACES, limit=limit, generator=generator)


def _means(found: Ints, places: int) -> NDArray[np.float64]:
    """(places, races): people in the mean of all solutions."""
    return found.mean(axis=0) if len(found) else np.zeros((places, RACES))


def _likeliest(places: list[Place], found: Ints) -> Counter[tuple[int, int, int]]:
    """The people of the solution that shares most with all others."""
    if not len(found):
        return Counter()
    best = found[np.argmax((found * _means(found, len(places))).sum(axis=(1, 2)))]
    return Counter({(p.age, p.sex, race): int(best[i, race]) for i, p in enumerate(places) for race in range(RACES)})
