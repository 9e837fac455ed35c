"""Which groupings of a question are marginals of one table, and which are not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from dither.errors import QueryRefused
from dither.plan.cubes import cell_places
from dither.plan.nodes import Plan
from support.clinic import CATALOG, DDL, clinic
from support.worlds import World


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = clinic()
    yield found
    found.close()


def shared(plan: Plan) -> list[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """For each cube the sizes of its axes, and the axes of its groupings."""
    return [(cube.sizes, [grouping.axes for grouping in cube.groupings]) for cube in plan.cubes]


def test_a_cube_is_one_table_for_each_additive_aggregate(world: World) -> None:
    plan = world.session.plan("SELECT region, flag, COUNT(*), SUM(age) FROM t GROUP BY CUBE (region, flag)")
    # region and flag have a group for NULL; SUM beside COUNT(*) has a vector for its own count.
    assert [sizes for sizes, _ in shared(plan)] == [(4, 3)] * len(plan.cubes)
    assert len(plan.cubes) == 2 + any(v.kind == "rows" and v.expr is not None for v in plan.measures[0].vectors)
    assert all(sorted(axes) == [(), (0,), (0, 1), (1,)] for _, axes in shared(plan))
    assert plan.apart == ()


def test_keys_grouped_by_together_are_one_axis(world: World) -> None:
    sql = "SELECT COUNT(*) FROM t GROUP BY GROUPING SETS ((region, flag, age), (region, flag), ())"
    assert shared(world.session.plan(sql)) == [((12, 14), [(0, 1), (0,), ()])]


def test_selects_over_the_same_rows_share_whatever_their_order(world: World) -> None:
    sql = (
        "SELECT a.n + b.n FROM (SELECT flag, region, COUNT(*) AS n FROM t WHERE age > 20 GROUP BY flag, region) AS a, "
        "(SELECT region, COUNT(*) AS n FROM t WHERE age > 20 GROUP BY region) AS b"
    )
    assert [sizes for sizes, _ in shared(world.session.plan(sql))] == [(3, 4)]


@pytest.mark.parametrize(
    "sql",
    [
        # Other rows, another aggregate, the same groups twice, one grouping.
        "SELECT a.n, b.n FROM (SELECT region, COUNT(*) AS n FROM t WHERE age > 20 GROUP BY region) AS a, "
        "(SELECT COUNT(*) AS n FROM t WHERE age > 21) AS b",
        "SELECT a.n, b.n FROM (SELECT region, SUM(age) AS n FROM t GROUP BY region) AS a, "
        "(SELECT COUNT(*) AS n FROM t) AS b",
        "SELECT region, COUNT(*) FROM t GROUP BY GROUPING SETS ((region), (region))",
        "SELECT region, COUNT(*) FROM t GROUP BY region",
        # What does not add up over groups, and private groups.
        "SELECT region, COUNT(DISTINCT uid), COUNT(DISTINCT age), MEDIAN(age) FROM t GROUP BY ROLLUP (region)",
        "SELECT note, region, COUNT(*) FROM t GROUP BY GROUPING SETS ((note), (note, region))",
    ],
)  # fmt: skip
def test_other_groupings_are_measured_by_themselves(world: World, sql: str) -> None:
    assert world.session.plan(sql).cubes == ()


def test_groups_that_are_not_all_combinations_are_told(world: World) -> None:
    sql = "SELECT YEAR(d) AS y, MONTH(d) AS m, COUNT(*) FROM t GROUP BY ROLLUP (y, m)"
    plan = world.session.plan(sql)
    # NULL goes with NULL alone, so (year, month) is no table; year and the total are.
    assert [axes for _, axes in shared(plan)] == [[(0,), ()]] or [sorted(a) for _, a in shared(plan)] == [[(), (0,)]]
    assert plan.apart == ("their groups are not all combinations of the same values",)
    explained = world.session.explain(sql, rho="0.1")
    assert any("one by one: their groups are not all combinations" in note for note in explained.notes)


def test_sums_that_could_not_be_held_exactly_are_measured_by_themselves(world: World) -> None:
    sql = "SELECT COUNT(*), SUM(income) FROM t GROUP BY GROUPING SETS ((d, age), (d), ())"
    plan = world.session.plan(sql)
    kinds = [plan.measures[m].vectors[p].kind for cube in plan.cubes for m, p in [cube.groupings[0].place]]
    large = [v for v in plan.measures[0].vectors if v.kind == "sum" and v.largest * 2**30 * 367 * 14 > 2**61]
    assert ("sum" in kinds) != bool(large)
    if large:
        assert "61 bits" in plan.apart[0]


def test_dropped_groups_of_null_are_in_no_cube() -> None:
    text = CATALOG.replace('name = "world"\n', 'name = "world"\nnulls = "drop"\n')
    world = World(text, ddl=DDL)
    plan = world.session.plan("SELECT region, flag, COUNT(*) FROM t GROUP BY CUBE (region, flag)")
    assert plan.cubes == ()
    assert 'nulls = "drop"' in plan.apart[0]
    world.close()


def test_places_rank_values_alike_whatever_the_order_of_rows() -> None:
    text = np.array(["b", None, "a", "b", None, "a"], dtype=object)
    number = np.ma.MaskedArray([1, 1, 1, 0, 0, 0], [False, False, False, True, True, True])
    places, sizes = cell_places([[text], [number]], 6)
    assert sizes == (3, 2)
    assert places.tolist() == [[1, 0], [2, 0], [0, 0], [1, 1], [2, 1], [0, 1]]
    pairs, sizes = cell_places([[text, number]], 6)
    assert sizes == (6,)
    assert sorted(pairs[:, 0].tolist()) == list(range(6))


def test_places_of_many_keys_in_one_axis_stay_apart() -> None:
    # Seventy columns of two values: their product left 64 bits, and groups that differ in the first shared a place.
    first, others = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    places, sizes = cell_places([[first, *[others] * 69]], 4)
    assert sizes == (4,) and sorted(places[:, 0].tolist()) == [0, 1, 2, 3]


@pytest.mark.parametrize("selected", ["1 AS k, region", "region, region AS k", "'all' AS k, region"])
def test_a_constant_or_a_key_twice_is_refused_where_null_says_not_grouped_by(world: World, selected: str) -> None:
    # A constant was shown in the sets without it as well, where DuckDB has NULL: two rows that looked like one group.
    with pytest.raises(QueryRefused, match="K-105"):
        world.session.plan(f"SELECT {selected}, COUNT(*) AS n FROM t GROUP BY CUBE (k, region)")
    assert world.session.plan(f"SELECT {selected}, COUNT(*) AS n FROM t GROUP BY k, region").measures
