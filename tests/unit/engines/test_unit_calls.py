"""Spreads within a unit are sums of squares that fit, whatever rows a unit has before it is cut."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import pytest

from dither.errors import QueryRefused
from dither.noise import insecure_seeded
from support.worlds import World, catalog_text

TABLES = """[tables.t]
privacy_unit = "uid"
max_rows_per_unit = 40
[tables.t.columns]
nanos = { type = "integer", bounds = [1700000000000000000, 1700000000086400000] }
near = { type = "double", bounds = [1e15, 1000000000001000.0] }
wide = { type = "integer", bounds = [-3000000000, 3000000000] }
small = { type = "integer", bounds = [-90, -20] }"""


@pytest.fixture
def world() -> Iterator[World]:
    made = World(
        catalog_text(TABLES),
        {"t": "uid BIGINT, nanos BIGINT, near DOUBLE, wide BIGINT, small INTEGER"},
        entropy=insecure_seeded(1),
    )
    yield made
    made.close()


def fill(world: World, uid: str, rows: int) -> None:
    world.fill(
        "t",
        f"SELECT {uid}, 1700000000086400000 - i % 7, 1e15 + 1000 - i % 7, i, -20 - i % 71 FROM range({rows}) AS r(i)",
    )


@pytest.mark.parametrize("column", ["nanos", "near", "small"])
@pytest.mark.parametrize("function", ["STDDEV", "VAR_POP"])
def test_a_unit_of_very_many_rows_makes_no_spread_fail(world: World, column: str, function: str) -> None:
    # 300,000 squares of numbers near 2^60 are more than 128 bits: a sum of them would fail, and so tell of this unit.
    fill(world, "i % 5", 100)
    sql = f"SELECT COUNT(v) FROM (SELECT uid, {function}({column}) AS v FROM t GROUP BY uid) AS x"
    before = world.session.ask(sql, epsilon=1000).scalar()
    fill(world, "77", 300_000)
    world.session.ledger.open_release("with the heavy unit")
    assert world.session.ask(sql, epsilon=1000).scalar() == before + 1


def test_a_spread_within_a_unit_is_that_of_its_values(world: World) -> None:
    fill(world, "1", 30)
    found = world.session.ask(
        "SELECT MAX(v) FROM (SELECT uid, STDDEV(small) AS v FROM t GROUP BY uid) AS x", epsilon=1000
    )
    expected = statistics.stdev(-20 - i % 71 for i in range(30))
    assert found.scalar() == pytest.approx(expected, abs=0.5)


def test_a_spread_of_whole_numbers_too_far_apart_is_refused(world: World) -> None:
    with pytest.raises(QueryRefused) as refused:
        world.session.ask("SELECT AVG(v) FROM (SELECT uid, STDDEV(wide) AS v FROM t GROUP BY uid) AS x", epsilon=1000)
    assert refused.value.code == "B-104"
