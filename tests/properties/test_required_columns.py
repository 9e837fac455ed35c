"""Columns the engine keeps from being NULL: fewer vectors, no NULL group; NULL again wherever a join makes it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.exactly import assert_same, exact_answer
from support.worlds import World, catalog_text

CATALOG = catalog_text(
    """
[tables.t]
privacy_unit = "uid"
max_rows_per_unit = 5
columns = { k = { type = "integer", bounds = [0, 4] }, flag = { type = "boolean" }, x = { type = "double", \
bounds = [0, 10] }, r = { type = "text", values = ["a", "b"] } }
[tables.o]
privacy_unit = "uid"
max_rows_per_unit = 5
columns = { m = { type = "integer", bounds = [0, 4] } }
"""
)
DDL = {
    "t": "uid BIGINT NOT NULL, k INTEGER NOT NULL, flag BOOLEAN NOT NULL, x DOUBLE NOT NULL, r VARCHAR NOT NULL",
    "o": "uid BIGINT NOT NULL, m INTEGER NOT NULL",
}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = World(CATALOG, DDL)
    found.load("t", [(u, u % 5, u % 2 == 0, u / 2, "ab"[u % 2]) for u in range(1, 15) for _ in range(1 + u % 3)])
    found.load("o", [(u, u % 5) for u in range(1, 15, 2) for _ in range(1 + u % 2)])
    yield found
    found.close()


QUESTIONS = [
    "SELECT k, COUNT(*) AS n, COUNT(k) AS c, SUM(k) AS s, AVG(k) AS a FROM t GROUP BY k",
    "SELECT flag, COUNT(*) AS n, AVG(x) AS a FROM t GROUP BY flag",
    "SELECT m, COUNT(*) AS n, COUNT(m) AS c, SUM(m) AS s, AVG(m) AS a FROM t LEFT JOIN o ON t.uid = o.uid GROUP BY m",
    "SELECT m, COUNT(m) AS c FROM o RIGHT JOIN t ON t.uid = o.uid AND o.m > 2 GROUP BY m",
    "SELECT flag, m, COUNT(*) AS n FROM t FULL JOIN o ON t.uid = o.uid AND o.m = t.k GROUP BY flag, m",
    "SELECT COUNT(*) AS n FROM t LEFT JOIN o ON t.uid = o.uid WHERE o.m IS NULL",
    "SELECT top, COUNT(*) AS n FROM (SELECT uid, MAX(k) AS top FROM t GROUP BY uid) AS q GROUP BY top",
    "SELECT v, COUNT(*) AS n FROM (SELECT uid, k AS v FROM t UNION ALL SELECT uid, NULLIF(m, 3) FROM o) AS q "
    "GROUP BY v",
    "SELECT before, COUNT(*) AS n FROM (SELECT LAG(k) OVER (PARTITION BY uid ORDER BY x, k) AS before FROM t) AS q "
    "GROUP BY before",
    "SELECT COUNT(*) AS n, SUM(CASE WHEN flag THEN k END) AS s, COUNT(CASE WHEN flag THEN k END) AS c FROM t",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_equal_plain_duckdbs(world: World, question: str) -> None:
    plain = world.plain().execute(question).fetchall()
    keys = len(plain[0]) - sum(name in ("n", "c", "s", "a") for name in world.session.plan(question).columns)
    groups = {row[:keys] for row in plain}
    ours = [row for row in exact_answer(world.session, question).rows() if row[:keys] in groups]
    assert_same(ours, plain, question)


def test_a_required_column_has_no_null_group_and_needs_no_count_of_its_own(world: World) -> None:
    (measure,) = world.session.plan("SELECT k, COUNT(*), AVG(k) FROM t GROUP BY k").measures
    assert measure.domain.size == 5 and len(measure.vectors) == 2
    # NaN and values outside the list become NULL whatever the engine enforces.
    for column in ("x", "r"):
        vectors = world.session.plan(f"SELECT COUNT(*), COUNT({column}) FROM t").measures[0].vectors
        assert len(vectors) == 2
    (measure,) = world.session.plan("SELECT m, COUNT(*) FROM t LEFT JOIN o ON t.uid = o.uid GROUP BY m").measures
    assert measure.domain.size == 6


def test_a_view_or_a_file_enforces_nothing(world: World) -> None:
    plain = World(CATALOG, {"t": DDL["t"].replace(" NOT NULL", ""), "o": "uid BIGINT, m INTEGER"})
    (measure,) = plain.session.plan("SELECT k, COUNT(*), AVG(k) FROM t GROUP BY k").measures
    assert measure.domain.size == 6 and len(measure.vectors) == 3
    plain.close()
