"""The kinds of questions analysts write: `kinds.sql` beside this file, over the tables of `support.register`.

Each answered question equals plain DuckDB's answer and has its columns' names. Each refusal stands at its place, and
what its hint leads to is answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from dither.errors import QueryRefused
from dither.noise import insecure_seeded
from support.exactly import assert_same, exact_answer, plain_answer
from support.register import register
from support.worlds import World

QUESTIONS = Path(__file__).parent / "kinds.sql"


@dataclass(frozen=True)
class Kind:
    sql: str
    code: str = ""
    """Of a refusal; '' where it is answered."""
    at: str = ""
    instead: str = ""


def kinds() -> Iterator[Kind]:
    code = at = instead = ""
    for line in QUESTIONS.read_text(encoding="utf-8").splitlines():
        if line == "-- same":
            code = at = instead = ""
        elif line.startswith("-- refuse "):
            code, _, at = line.removeprefix("-- refuse ").partition(" at ")
            instead = ""
        elif line.startswith("-- instead "):
            instead = line.removeprefix("-- instead ")
        elif line and not line.startswith("--"):
            yield Kind(line.removesuffix(";"), code, at, instead)


ANSWERED = [pytest.param(kind, id=kind.sql) for kind in kinds() if not kind.code]
REFUSED = [pytest.param(kind, id=kind.sql) for kind in kinds() if kind.code]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = register()
    yield found
    found.close()


@pytest.fixture(scope="module")
def plain(world: World) -> duckdb.DuckDBPyConnection:
    return world.plain()


def assert_answered(world: World, plain: duckdb.DuckDBPyConnection, sql: str) -> None:
    answer = exact_answer(world.session, sql)
    assert_same(answer.rows(), plain_answer(plain, sql), sql)
    assert list(answer.columns) == [column[0] for column in plain.execute(sql).description]
    assert len(answer.columns) == len(answer.finished.columns)


def test_there_are_many_kinds() -> None:
    assert len(ANSWERED) >= 100 and len(REFUSED) >= 45


@pytest.mark.parametrize("kind", ANSWERED)
def test_an_answered_question_equals_plain_duckdb_in_values_and_names(
    world: World, plain: duckdb.DuckDBPyConnection, kind: Kind
) -> None:
    assert_answered(world, plain, kind.sql)


@pytest.mark.parametrize("kind", REFUSED)
def test_a_refusal_stands_at_its_place_and_leads_to_an_answer(
    world: World, plain: duckdb.DuckDBPyConnection, kind: Kind
) -> None:
    with pytest.raises(QueryRefused) as caught:
        world.session.ask(kind.sql, epsilon=1)
    refusal = caught.value
    assert refusal.code == kind.code
    start, length = refusal.span or (0, 0)
    assert kind.sql[start : start + length] == kind.at
    if kind.instead:
        assert refusal.hint
        assert_answered(world, plain, kind.instead)


# Not asked above, where what is released is so accurate that its intervals have no width.
COUNTED = "SELECT region, COUNT(*) AS n FROM T WHERE age > 19 GROUP BY region"


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        (f"SELECT n, label FROM ({COUNTED}) AS x LEFT JOIN D USING (region)", 0),
        (f"SELECT * FROM ({COUNTED}) AS x", 1),
        (f"SELECT n - v.target AS gap FROM ({COUNTED}) AS x, (VALUES ('R1', 400)) AS v(r, target) WHERE r = region", 0),
        ("SELECT REGR_SLOPE(income, age) AS slope FROM T WHERE age > 19", 0),
        ("SELECT KURTOSIS(age) AS k FROM T WHERE age > 19", 0),
    ],
)  # fmt: skip
def test_numbers_beside_public_ones_and_new_aggregates_have_intervals(
    world: World, monkeypatch: pytest.MonkeyPatch, sql: str, place: int
) -> None:
    monkeypatch.setattr(world.session, "entropy", insecure_seeded(7))
    answer = world.session.ask(sql, epsilon=1)
    low, high = answer.intervals[place]
    assert (low <= high).all() and (low < high).any()


def test_the_first_row_of_each_person_is_priced_as_one(world: World) -> None:
    for rows in (
        "SELECT DISTINCT ON (uid) uid, region FROM T ORDER BY uid, d",
        "SELECT uid, region FROM T QUALIFY ROW_NUMBER() OVER (PARTITION BY uid ORDER BY d) = 1",
    ):
        (measure,) = world.priced(f"SELECT COUNT(*) FROM ({rows}) AS x").measures
        assert measure.vectors[0].distance == 1
