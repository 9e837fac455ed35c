"""Tables written out in a question: what is read of them, and what is refused before anything is evaluated."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dither.errors import QueryRefused
from dither.plan import nodes, written
from support.clinic import clinic
from support.worlds import World


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = clinic()
    yield found
    found.close()


def table(world: World, from_clause: str) -> nodes.Given:
    (measure,) = world.session.plan(f"SELECT COUNT(*), COUNT(w.v) FROM t, {from_clause}").measures
    (given,) = (node for node in nodes.walk_rows(measure.input) if isinstance(node, nodes.Given))
    return given


@pytest.mark.parametrize(
    ("from_clause", "rows"),
    [("(VALUES (1), (NULL), (-2)) AS w(v)", ((1,), (None,), (-2,))),
     ("(VALUES ('a'), ('b')) AS w(v)", (("a",), ("b",))),
     ("range(3) AS w(v)", ((0,), (1,), (2,))),
     ("generate_series(2, 6, 2) AS w(v)", ((2,), (4,), (6,))),
     ("unnest([TRUE, FALSE]) AS w(v)", ((True,), (False,))),
     ("(VALUES (1 + 1), (ABS(-3))) AS w(v)", ((2,), (3,)))],
)  # fmt: skip
def test_rows_are_those_that_are_written(world: World, from_clause: str, rows: tuple[object, ...]) -> None:
    assert table(world, from_clause).rows == rows


def test_rows_count_for_how_many_rows_one_person_can_make(world: World) -> None:
    def tau(question: str) -> int:
        return world.session.plan(question).measures[0].tau

    alone = tau("SELECT COUNT(*) FROM t")
    assert tau("SELECT COUNT(*) FROM t, range(3) AS r") == 3 * alone
    assert tau("SELECT COUNT(*) FROM t JOIN (VALUES (20), (20), (21)) AS v(a) ON t.age = v.a") == 2 * alone
    assert tau("SELECT COUNT(*) FROM t JOIN (VALUES (20), (21)) AS v(a) ON t.age = v.a") == alone


@pytest.mark.parametrize(
    ("from_clause", "code"),
    [("read_csv('/etc/passwd') AS w(v)", "P-123"), ("duckdb_settings() AS w(v)", "P-123"),
     ("(VALUES (getenv('HOME'))) AS w(v)", "F-101"), ("(VALUES (age)) AS w(v)", "N-101"),
     ("range((SELECT 3)) AS w(v)", "S-160"), ("(VALUES (RANDOM())) AS w(v)", "F-102"),
     (f"range({written.MOST_ROWS + 1}) AS w(v)", "P-131"), ("range(1000000000000) AS w(v)", "P-131"),
     ("(VALUES (12345678901234.123456)) AS w(v)", "P-131"), ("(VALUES (18446744073709551617)) AS w(v)", "P-131"),
     ("(VALUES (1), ('a')) AS w(v)", "P-131"), ("(VALUES (1)) AS w(v, u)", "P-124")],
)  # fmt: skip
def test_what_is_no_table_of_constants_is_refused(world: World, from_clause: str, code: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        world.session.plan(f"SELECT COUNT(*), COUNT(w.v) FROM t, {from_clause}")
    assert caught.value.code == code
