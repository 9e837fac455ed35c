"""Units counted by bits: as many as COUNT(DISTINCT) finds, only where the memory is less, and never an error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from dither.engines import unit_bits
from support.exactly import assert_same, exact_answer
from support.worlds import World, catalog_text

TABLES = """
[tables.t]
privacy_unit = "uid"
max_rows_per_unit = 3
[tables.t.columns]
g = { type = "integer", bounds = [0, 4] }
name = { type = "text" }
"""
BY_GROUP = "SELECT g, COUNT(DISTINCT uid) AS n FROM t GROUP BY g"


@pytest.fixture
def world() -> Iterator[World]:
    made = World(catalog_text(TABLES, delta="1e-5"), {"t": "uid BIGINT, g INTEGER, name VARCHAR"})
    # Units on both sides of zero, none in the middle, one beyond the others, some of them NULL.
    made.fill("t", "SELECT CASE WHEN i % 7 > 0 THEN i // 3 - 40 END, i % 5, 'n' || (i % 3) FROM range(300) AS r(i)")
    made.fill("t", "VALUES (200, 3, 'n1')")
    yield made
    made.close()


def text(world: World, question: str) -> str:
    return " ".join(world.engine._texts(world.session.plan(question).measures))


@pytest.mark.parametrize(
    "question",
    [
        BY_GROUP,
        "SELECT COUNT(DISTINCT uid) AS n FROM t",
        "SELECT COUNT(DISTINCT uid) AS n FROM t WHERE g > 99",
        "SELECT g % 2 AS k, COUNT(DISTINCT uid) FILTER (WHERE name = 'n1') AS n FROM t GROUP BY k",
        "SELECT g, COUNT(DISTINCT uid) AS n FROM t WHERE name <> 'n2' GROUP BY g",
    ],
)
def test_bits_count_what_distinct_counts(world: World, question: str) -> None:
    assert "bitstring_agg" in text(world, question)
    with world.plain() as plain:
        assert_same(exact_answer(world.session, question).rows(), plain.execute(question).fetchall(), question)


def test_a_unit_that_the_statistics_deny_is_not_counted_and_nothing_fails(world: World) -> None:
    extent = world.engine._extent("t")
    assert extent is not None and extent.ends["uid"] == (-40.0, 200.0)
    version = world.engine._extents["t"][0]
    for ends in ((-40.0, 100.0), (-3.0, 3.0), (1000.0, 1001.0)):
        world.engine._extents["t"] = (version, replace(extent, ends={"uid": ends}))
        world.ledger.open_release(f"believed {ends}")
        low, high = ends
        (expected,) = world.run(f'SELECT count(DISTINCT uid) FROM "table t" WHERE uid BETWEEN {low} AND {high}')[0]
        assert exact_answer(world.session, "SELECT COUNT(DISTINCT uid) AS n FROM t").scalar() == expected


@pytest.mark.parametrize(
    ("question", "limit", "value"),
    [
        (BY_GROUP, "MOST_BYTES", 10),
        (BY_GROUP, "MOST_BITS_PER_ROW", 1),
        (BY_GROUP, "EXACT", 100),
        # Who the groups are is told by the data: how many, too.
        ("SELECT name, COUNT(DISTINCT uid) AS n FROM t GROUP BY name", None, None),
        # The unit of a join may be either side's.
        ("SELECT COUNT(DISTINCT a.uid) AS n FROM t AS a JOIN t AS b ON a.uid = b.uid", None, None),
    ],
)
def test_pairs_are_kept_where_bits_would_take_more(
    world: World, monkeypatch: pytest.MonkeyPatch, question: str, limit: str | None, value: int | None
) -> None:
    if limit is not None:
        monkeypatch.setattr(unit_bits, limit, value)
    assert "bitstring_agg" not in text(world, question)
    assert "count(DISTINCT" in text(world, question)


@pytest.mark.parametrize("stored", ["VARCHAR", "DOUBLE", "HUGEINT", "UBIGINT", "UUID"])
def test_units_of_other_types_are_pairs(stored: str) -> None:
    made = World(catalog_text(TABLES, delta="1e-5"), {"t": f"uid {stored}, g INTEGER, name VARCHAR"})
    assert "bitstring_agg" not in text(made, BY_GROUP)
    made.close()
