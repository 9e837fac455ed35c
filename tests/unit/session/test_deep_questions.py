"""Questions nested too deeply are refused unpaid, wherever that is noticed; those of eighty levels are answered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dither.errors import QueryRefused
from dither.noise import insecure_seeded
from support.worlds import World, catalog_text

TABLES = """[tables.t]
privacy_unit = "uid"
max_rows_per_unit = 1"""
KINDS = {
    "over results": lambda n: "SELECT " + "(" * n + "COUNT(*)" + "+1)" * n + " FROM t",
    "over rows": lambda n: "SELECT SUM(" + "(" * n + "1" + "+1)" * n + ") FROM t",
    "conditions": lambda n: "SELECT " + "CASE WHEN COUNT(*) > 1 THEN " * n + "1" + " END" * n + " FROM t",
    "tables of results": lambda n: "SELECT * FROM (" * n + "SELECT COUNT(*) AS c FROM t" + ") AS x" * n,
    "tables of rows": lambda n: "SELECT COUNT(*) FROM " + "(SELECT * FROM " * n + "t" + ") AS x" * n,
}


@pytest.fixture
def world() -> Iterator[World]:
    made = World(catalog_text(TABLES), {"t": "uid BIGINT"}, entropy=insecure_seeded(1))
    made.fill("t", "SELECT i FROM range(100) AS r(i)")
    yield made
    made.close()


@pytest.mark.parametrize("levels", [250, 400, 900])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_nested_too_deeply_is_refused(world: World, kind: str, levels: int) -> None:
    # A RecursionError came out, or what DuckDB says of a tree it does not print.
    sql = KINDS[kind](levels)
    for way in (world.session.ask, world.session.explain, world.session.ask_many, world.session.plan_budget):
        with pytest.raises(QueryRefused) as refused:
            way(sql, epsilon=1)
        assert refused.value.code == "P-107"
    assert world.session.budget().spent.epsilon == 0


@pytest.mark.parametrize("kind", KINDS)
def test_eighty_levels_are_answered(world: World, kind: str) -> None:
    answer = world.session.ask(KINDS[kind](80), epsilon=1)
    assert len(answer) == 1 and str(answer) and answer.intervals is not None
