"""One unit moves a series by at most what is paid for, however late and however many of its rows come.

Rows have a day and a time at which they come; each evening the days that are due are measured over what has come by
then. Neighbours are two such histories, one without the unit's rows.
"""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from dither.answer.complete import complete
from dither.plan import nodes
from dither.plan.series import SeriesQuestion, causal
from dither.secret import open_secret
from dither.session.series import _lowered
from support.worlds import World, catalog_text

TAU, DAYS = 2, 4
FIRST = dt.date(2026, 1, 1)
CATALOG = """
[tables.v]
privacy_unit = "uid"
max_rows_per_unit = 2
[tables.v.columns]
day = { type = "date" }
x = { type = "integer", bounds = [-3, 5] }
"""
Arrival = tuple[int, int, int]
"""(evening by which the row has come, its day, its x)"""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = World(catalog_text(CATALOG), {"v": "uid BIGINT, day DATE, x BIGINT"})
    yield found
    found.close()


def released(
    world: World,
    question: SeriesQuestion,
    rows: dict[int, Sequence[Arrival]],
    evenings: Sequence[int],
    cut: Callable[..., nodes.Measure] = causal,
) -> list[int]:
    """What is counted of each day: measured on the first of these evenings after it, over what has come."""
    counts: list[int] = []
    for evening in evenings:
        here = [
            (u, FIRST + dt.timedelta(days=d), x) for u, own in rows.items() for came, d, x in own if came <= evening
        ]
        world.load("v", here)
        due, through = (FIRST + dt.timedelta(days=d) for d in (len(counts), evening))
        measure = cut(question, since=FIRST, due=due, through=through)
        (found,) = complete(open_secret(world.engine.measure([measure]))[0], measure.domain)
        counts += found.tolist()
    return counts


def expected(own: Sequence[Arrival], evenings: Sequence[int]) -> list[int]:
    """min(rows of the day, what rows of earlier days leave of tau), all as of the evening on which it is measured."""
    counts = []
    for day in range(DAYS):
        evening = next(e for e in evenings if e >= day)
        here = [d for came, d, _ in own if came <= evening and d >= 0]
        counts.append(min(here.count(day), max(0, TAU - sum(d < day for d in here))))
    return counts


def histories(seed: int, count: int) -> Iterator[list[Arrival]]:
    chance = random.Random(seed)
    for _ in range(count):
        rows = []
        for _ in range(chance.randint(1, 7)):
            day = chance.randint(-1, DAYS)
            rows.append((chance.randint(max(day, 0), DAYS), day, chance.choice([-9, -3, 0, 4, 5, 99])))
        yield rows


OTHERS = {7: [(0, 0, 1), (1, 1, 1), (2, 2, 1), (3, 1, 2)], 8: [(3, 3, 5), (3, 3, 4), (3, 3, 3)]}


@pytest.mark.parametrize("evenings", [(0, 1, 2, 3), (1, 3), (3,)], ids=str)
def test_a_unit_adds_its_first_rows_in_order_of_day_and_no_more(world: World, evenings: tuple[int, ...]) -> None:
    question = _lowered(world.session, "SELECT day, COUNT(*) FROM v GROUP BY day")
    without = released(world, question, OTHERS, evenings)
    assert sum(without) > 0
    for own in histories(sum(evenings), 40):
        counts = released(world, question, OTHERS | {1: own}, evenings)
        moved = [a - b for a, b in zip(counts, without, strict=True)]
        assert moved == expected(own, evenings), own
        assert sum(map(abs, moved)) <= TAU


def test_a_unit_moves_sums_by_at_most_its_rows_times_the_largest_step(world: World) -> None:
    question = _lowered(world.session, "SELECT day, SUM(x) FROM v WHERE x <> 0 GROUP BY day")
    evenings = tuple(range(DAYS))
    most = TAU * question.vector.largest
    without = released(world, question, OTHERS, evenings)
    reached = 0
    for own in histories(5, 60):
        moved = [a - b for a, b in zip(released(world, question, OTHERS | {1: own}, evenings), without, strict=True)]
        assert sum(map(abs, moved)) <= most, own
        reached = max(reached, sum(map(abs, moved)))
    assert reached == most, "the declared distance is reached"


def test_every_way_of_three_rows_to_come_late(world: World) -> None:
    """By enumeration: three rows of one unit on two days, each coming on its day or on any later evening."""
    question = _lowered(world.session, "SELECT day, COUNT(*) FROM v GROUP BY day")
    ways = [(came, day, 1) for day in range(2) for came in range(day, 3)]
    for own in itertools.combinations_with_replacement(ways, 3):
        moved = released(world, question, {1: own}, (0, 1, 2, 3))
        assert moved == expected(own, (0, 1, 2, 3)), own
        assert sum(moved) <= TAU


def test_the_cut_of_other_questions_would_not_do(world: World) -> None:
    """The fault this is for: rows kept by their hash alone, anew every evening, add more than tau over the days."""
    question = _lowered(world.session, "SELECT day, COUNT(*) FROM v GROUP BY day")

    def by_hash(question: SeriesQuestion, *, since: dt.date, due: dt.date, through: dt.date) -> nodes.Measure:
        whole = causal(question, since=since, due=due, through=through)
        assert isinstance(whole.input, nodes.Filter)
        return replace(whole, input=nodes.Filter(question.measure.input, whole.input.condition))

    own = [(evening, evening, n) for evening in range(DAYS) for n in range(2)]
    assert sum(released(world, question, {1: own}, (0, 1, 2, 3), by_hash)) > TAU
    assert sum(released(world, question, {1: own}, (0, 1, 2, 3))) == TAU


def test_where_every_row_is_a_unit_all_count(world: World) -> None:
    text = CATALOG.replace('privacy_unit = "uid"\nmax_rows_per_unit = 2', 'privacy_unit = "row"')
    alone = World(catalog_text(text), {"v": "uid BIGINT, day DATE, x BIGINT"})
    question = _lowered(alone.session, "SELECT day, COUNT(*) FROM v GROUP BY day")
    assert released(alone, question, {1: [(0, 0, 1)] * 5, 2: [(1, 1, 1)]}, (0, 1, 2, 3)) == [5, 1, 0, 0]
    alone.close()
