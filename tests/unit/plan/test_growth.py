"""No short question grows without end, in memory or in time, before or after it is charged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dither.errors import QueryRefused
from support.exactly import assert_same, exact_answer, plain_answer
from support.worlds import World, catalog_text

TABLES = """
[tables.t]
privacy_unit = "uid"
max_rows_per_unit = 2
columns = { region = { type = "text", values = ["a", "b"] }, k = { type = "integer", bounds = [0, 9] } }
"""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = World(catalog_text(TABLES), {"t": "uid BIGINT, region VARCHAR, k INTEGER"})
    found.load("t", [(i, "ab"[i % 2], i % 10) for i in range(60)])
    yield found
    found.close()


def nested(first: str, step: str, times: int) -> str:
    """`step` with `{}` for the text so far, that many times over."""
    for _ in range(times):
        first = step.replace("{}", first)
    return first


LABEL = "SELECT CASE WHEN COUNT(*) > 0 THEN 'aaaa' END AS n FROM t"
REPLACED = nested("region", "REPLACE({}, 'a', 'aaaaaaaaaaaaaaaa')", 6)
EVERYWHERE = nested("n", "REGEXP_REPLACE({}, 'a', 'aaaaaaaa', 'g')", 6)
GROUPS = nested("n", r"REGEXP_REPLACE({}, '(.+)', '\1\1\1')", 9)
SEPARATED = nested("n", "CONCAT_WS(n, {}, {}, {})", 5)
LEVELS = nested(LABEL, "SELECT n || n || n || n AS n FROM ({}) AS q", 9)
DOUBLED = ", ".join(f"w{i + 1} AS (SELECT x.n FROM w{i} AS x JOIN w{i} AS y ON x.n = y.n)" for i in range(14))
ALIASES = ", ".join(f"a{i} + a{i} AS a{i + 1}" for i in range(20))
KEYS = nested("SELECT uid, k AS n FROM t", "SELECT uid, CASE WHEN n > 3 THEN n ELSE n END AS n FROM ({}) AS q", 14)


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        (f"SELECT {REPLACED}, COUNT(*) FROM t GROUP BY region", "F-173"),
        (f"SELECT {EVERYWHERE} FROM ({LABEL}) AS q", "F-173"),
        (f"SELECT {GROUPS} FROM ({LABEL}) AS q", "F-173"),
        (f"SELECT LENGTH({SEPARATED}) FROM ({LABEL}) AS q", "F-173"),
        (f"SELECT LENGTH(n) FROM ({LEVELS}) AS q", "F-173"),
        (f"WITH w0 AS (SELECT COUNT(*) AS n FROM t), {DOUBLED} SELECT n FROM w14", "P-109"),
        (f"SELECT COUNT(*) AS a0, {ALIASES} FROM t", "P-109"),
        (f"SELECT n AS a0, {ALIASES} FROM (SELECT COUNT(*) AS n FROM t) AS q", "P-109"),
        (f"SELECT n, COUNT(*) FROM ({KEYS}) AS q GROUP BY n", "P-109"),
    ],
    ids=["replace", "regexp", "groups", "separator", "levels", "with", "aliases", "aliases over noise", "keys"],
)
def test_what_would_grow_without_end_is_refused_before_it_is_charged(world: World, sql: str, code: str) -> None:
    before = world.ledger.spent()
    with pytest.raises(QueryRefused) as refused:
        world.session.ask(sql, epsilon=1)
    assert refused.value.code == code
    assert world.ledger.spent() == before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT REPLACE(REPLACE(region, 'a', 'Alpha'), 'b', 'Beta') , COUNT(*) FROM t GROUP BY region",
        "SELECT REGEXP_REPLACE(region, '(.)', '[\\1\\1]', 'g') || region, COUNT(*) FROM t GROUP BY region",
        "SELECT CONCAT_WS(', ', region, 'north', region) AS r, COUNT(*) FROM t GROUP BY region",
        "WITH w AS (SELECT k, COUNT(*) AS n FROM t GROUP BY k) SELECT x.k, x.n FROM w AS x JOIN w AS y ON x.k = y.k",
        "SELECT COUNT(*) AS a, a + 1 AS b, b * 2 + a AS c, c - b AS d FROM t",
    ],
)
def test_labels_and_aliases_as_people_write_them_are_answered(world: World, sql: str) -> None:
    assert_same(exact_answer(world.session, sql).rows(), plain_answer(world.plain(), sql), sql)


def test_as_many_quantiles_as_are_allowed_come_as_one_list(world: World) -> None:
    ((listed,),) = world.session.ask("SELECT APPROX_QUANTILES(k, 999) AS q FROM t", epsilon=10).rows()
    assert len(listed) == 1000 and listed == sorted(listed)
