from __future__ import annotations

import duckdb
import pytest

from dither.errors import QueryRefused
from dither.plan import stars
from dither.sql.parse import Tree, parse

COLUMNS = [("x", "a"), ("x", "b"), ("y", "c")]


def star(written: str) -> Tree:
    (item,) = parse(f"SELECT {written} FROM x, y").children("select_list")
    return item


def plain(written: str) -> list[str]:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE x (a INTEGER, b INTEGER); CREATE TABLE y (c INTEGER)")
    return [column[0] for column in connection.execute(f"SELECT {written} FROM x, y").description]


@pytest.mark.parametrize(
    "written",
    ["*", "x.*", "Y.*", "* EXCLUDE (b)", "* RENAME (a AS z)", "* REPLACE (b + 1 AS b)", "x.* EXCLUDE (A)",
     "COLUMNS('a|c')", "COLUMNS(['c', 'a'])", "COLUMNS(*)"],
)  # fmt: skip
def test_a_star_stands_for_the_columns_it_stands_for_in_duckdb(written: str) -> None:
    assert [shown.name for shown in stars.expand(star(written), COLUMNS)] == plain(written)


def test_replace_puts_its_expression_in_the_columns_place() -> None:
    shown = stars.expand(star("* REPLACE (b + 1 AS b)"), COLUMNS)
    assert [one.replaced is not None for one in shown] == [False, True, False]


@pytest.mark.parametrize(
    ("written", "code"),
    [("* EXCLUDE (q)", "N-101"), ("* REPLACE (1 AS q)", "N-101"), ("* RENAME (q AS z)", "N-101"), ("z.*", "N-100"),
     ("COLUMNS(['q'])", "N-101"), ("COLUMNS('q')", "N-101"), ("COLUMNS('(')", "P-129"), ("COLUMNS(c -> TRUE)", "P-129"),
     ("* EXCLUDE (a, b, c)", "N-101")],
)  # fmt: skip
def test_a_star_that_names_what_is_not_there_is_refused(written: str, code: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        stars.expand(star(written), COLUMNS)
    assert caught.value.code == code


def test_an_expression_of_columns_becomes_one_per_column() -> None:
    item = star("MAX(COLUMNS('a|b')) - MIN(COLUMNS('a|b'))")
    assert stars.holds_columns(item)
    assert [one.alias for one in stars.per_column(item, COLUMNS)] == plain("MAX(COLUMNS('a|b')) - MIN(COLUMNS('a|b'))")
    with pytest.raises(QueryRefused):
        stars.per_column(star("MAX(COLUMNS('a')) - MIN(COLUMNS('b'))"), COLUMNS)
