from __future__ import annotations

import duckdb
import pytest

from dither.sql.naming import apart, item_name
from dither.sql.parse import Tree, parse

ITEMS = [
    "COUNT(*)", "SUM(age)", "sum(DISTINCT age)", "AVG(t.age)", "YEAR(d)", "-age", "age::INT", "age + 1", "'x'", "1.5",
    "COUNT(*) FILTER (WHERE age > 3)", "CASE WHEN age > 1 THEN 'a' END", "age NOT IN (1, 2)", "NOT (age IS NULL)",
    'MAX("share")', "QUANTILE_CONT(age, 0.5)", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age)", "DATE '2020-01-01'",
    "SUM(COUNT(*)) OVER (ORDER BY age)", "age BETWEEN 1 AND 2", "COALESCE(age, 0)", "d - INTERVAL 1 DAY",
]  # fmt: skip


def items(sql: str) -> list[Tree]:
    return parse(sql).children("select_list")


@pytest.mark.parametrize("item", ITEMS)
def test_a_column_without_an_alias_is_called_as_in_duckdb(item: str) -> None:
    plain = duckdb.connect()
    plain.execute('CREATE TABLE t (age INTEGER, d DATE, "share" INTEGER)')
    # Grouped by everything, so that aggregates and columns may stand side by side.
    described = plain.execute(f"SELECT {item} FROM t GROUP BY age, d, share").description
    (tree,) = items(f"SELECT {item} FROM t")
    assert item_name(tree) == described[0][0]


def test_an_alias_is_kept_and_a_column_is_spelled_as_its_table_does() -> None:
    aliased, column, unknown = items("SELECT COUNT(*) AS N, t.Region, foo FROM t")
    spelled = {"region": "region"}
    assert item_name(aliased) == "N"
    assert item_name(column, lambda path: spelled.get(path[-1].lower())) == "region"
    assert item_name(unknown, lambda path: spelled.get(path[-1].lower())) == "foo"


@pytest.mark.parametrize("names", [["a", "a"], ["a", "A", "a"], ["a", "b"], []])
def test_names_of_a_subquery_are_told_apart_as_in_duckdb(names: list[str]) -> None:
    assert apart(names) == (_of_subquery(names) if names else [])


def _of_subquery(names: list[str]) -> list[str]:
    listed = ", ".join(f'1 AS "{name}"' for name in names)
    return [column[0] for column in duckdb.connect().execute(f"SELECT * FROM (SELECT {listed})").description]
