"""No function raises on any row, leaves the range and length it states, or gives another value than plain DuckDB.

Every function of the list is used over a table of edge values (NULL, NaN, infinities, least and greatest integers,
empty and long texts, other scripts, years far away), by itself and put into others. A function without a use fails
here.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from dither.errors import QueryRefused
from dither.sql.functions import BUILDERS, FUNCTIONS
from dither.sql.types import Kind
from support.edges import KEPT_MOMENT, KEPT_NUMBER, KEPT_REAL, EdgeTable
from support.function_cases import CASES, FORMS, FUNCTION_CASES, HOLES

PLACES = {
    Kind.INTEGER: ("integer", "number"),
    Kind.DECIMAL: ("number",),
    Kind.DOUBLE: ("number",),
    Kind.TEXT: ("text",),
    Kind.DATE: ("moment",),
    Kind.TIMESTAMP: ("moment",),
    Kind.BOOLEAN: ("truth",),
}
# Uses that make a date or timestamp of the years 1 to 9999, or NULL.
MADE = re.compile(r"^(make_|epoch_ms\(\{integer|epoch_ms\(i|(TRY_)?CAST\(\{text\} AS (DATE|TIMESTAMP))")


@pytest.fixture(scope="module")
def table() -> EdgeTable:
    return EdgeTable()


@pytest.fixture(scope="module")
def nested(table: EdgeTable) -> dict[str, list[str]]:
    """Place -> what can be put there, by the type that each use gives."""
    pools: dict[str, list[str]] = {place: [] for place in HOLES}
    for use in (*(use for _, use in FUNCTION_CASES), *FORMS):
        kind = table.bind(filled(use, random.Random(1))).type.kind if accepted(table, use) else None
        for place in PLACES.get(kind, ()) if kind is not None else ():
            pools[place].append(use)
    return pools


class Hole:
    """Formats as something that fits the place."""

    def __init__(self, place: str, chance: random.Random, pools: dict[str, list[str]], depth: int) -> None:
        self.place, self.chance, self.pools, self.depth = place, chance, pools, depth

    def __format__(self, spec: str) -> str:
        if self.depth > 0 and self.chance.random() < 0.6:
            use = self.chance.choice(self.pools[self.place])
            inner = filled(use, self.chance, self.pools, self.depth - 1)
            if self.place == "number":
                return (
                    f"{KEPT_NUMBER}{KEPT_REAL}{inner}))"
                    if use.endswith(("::real", "AS FLOAT)"))
                    else f"{KEPT_NUMBER}{inner})"
                )
            return f"{KEPT_MOMENT if MADE.search(use) else '('}{inner})"
        return self.chance.choice(HOLES[self.place])


def filled(use: str, chance: random.Random, pools: dict[str, list[str]] | None = None, depth: int = 0) -> str:
    return use.format(**{place: Hole(place, chance, pools or {}, depth) for place in HOLES})


def accepted(table: EdgeTable, use: str) -> bool:
    try:
        table.bind(filled(use, random.Random(1)))
    except QueryRefused:
        return False
    return True


def test_there_are_at_least_120_functions_besides_their_other_names() -> None:
    assert len(FUNCTIONS) >= 120
    assert len(BUILDERS) > len(FUNCTIONS)


def test_every_function_has_a_use_here() -> None:
    assert set(CASES) == set(FUNCTIONS)


@pytest.mark.parametrize("name", list(CASES))
def test_some_use_of_every_function_is_accepted(table: EdgeTable, name: str) -> None:
    assert any(accepted(table, use) for use in CASES[name])


def fillings(use: str) -> Iterator[str]:
    """A use with leaves at its places: once where it has none, else several, the same in every run."""
    chance = random.Random(use)
    yield from dict.fromkeys(filled(use, chance) for _ in range(12 if "{" in use else 1))


@pytest.mark.parametrize(("name", "use"), [*FUNCTION_CASES, *(("", form) for form in FORMS)])
def test_a_function_is_total_within_its_range_and_as_in_plain_duckdb(table: EdgeTable, name: str, use: str) -> None:
    for text in fillings(use):
        try:
            wrong = table.check(text)
        except QueryRefused:
            continue
        assert wrong is None, f"{text}\n{wrong}"


def check_random(table: EdgeTable, pools: dict[str, list[str]], chance: random.Random) -> bool:
    """One random expression. Was it accepted?"""
    place = chance.choice(list(pools))
    text = filled(chance.choice(pools[place]), chance, pools, depth=3)
    try:
        wrong = table.check(text)
    except QueryRefused:
        return False
    assert wrong is None, f"{text}\n{wrong}"
    return True


def test_functions_put_into_each_other_are_total_too(table: EdgeTable, nested: dict[str, list[str]]) -> None:
    chance = random.Random(20261130)
    asked = [check_random(table, nested, chance) for _ in range(400)]
    assert sum(asked) > 150


@pytest.mark.long
def test_many_more_functions_put_into_each_other(nested: dict[str, list[str]]) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(10):
        other = EdgeTable(chance.randrange(2**32))
        for _ in range(600):
            check_random(other, nested, chance)
