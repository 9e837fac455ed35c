"""Which tables of WITH are in reach where."""

from __future__ import annotations

import pytest

from dither.errors import QueryRefused
from dither.plan.with_clause import Environment, with_clause
from dither.sql.parse import parse


def reach(sql: str, environment: Environment | None = None) -> Environment:
    return with_clause(parse(sql), environment or Environment())


def test_a_table_of_with_sees_those_before_it_and_not_itself() -> None:
    found = reach("WITH a AS (SELECT 1), b AS (SELECT * FROM a), c AS (SELECT * FROM b) SELECT * FROM c").ctes
    assert list(found) == ["a", "b", "c"]
    assert [list(found[name][2].ctes) for name in found] == [[], ["a"], ["a", "b"]]


def test_an_inner_table_hides_an_outer_one_of_its_name_in_any_spelling() -> None:
    outer = reach("WITH a AS (SELECT 1), b AS (SELECT 2) SELECT 3")
    inner = reach('WITH "A" (x, y) AS (SELECT 4, 5) SELECT 6', outer)
    assert list(inner.ctes) == ["a", "b"]
    assert inner.ctes["a"][1] == ["x", "y"]
    # Inside, the outer one is what the name means; and the outer question keeps its own.
    assert inner.ctes["a"][2].ctes["a"] is outer.ctes["a"]
    assert outer.ctes["a"][1] == []


def test_a_recursive_table_is_refused() -> None:
    sql = "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT COUNT(*) FROM r"
    with pytest.raises(QueryRefused) as refused:
        reach(sql)
    assert refused.value.code == "S-152"
