"""Questions written down by hand, with what must happen to each: `questions.sql` and `acceptance.tsv` beside this
file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dither.errors import EngineError, QueryRefused
from support.clinic import clinic
from support.exactly import assert_same, exact_answer, plain_answer
from support.worlds import World, catalog_text

HERE = Path(__file__).parent


def questions() -> Iterator[tuple[str, str]]:
    """(what must happen, the question), in order."""
    expected = ""
    for line in (HERE / "questions.sql").read_text(encoding="utf-8").splitlines():
        if line.startswith("-- ") and line.split()[1].rstrip(":") in ("same", "refuse", "fault"):
            expected = line.removeprefix("-- ")
        elif line and not line.startswith("--"):
            yield expected, line.removesuffix(";")


def cases(kind: str) -> list[object]:
    found = []
    for expected, sql in questions():
        word, _, rest = expected.partition(" ")
        if word.rstrip(":") == kind:
            marks = [pytest.mark.xfail(strict=True, reason=rest)] if kind == "fault" else []
            found.append(pytest.param(rest, sql, marks=marks, id=sql))
    return found


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = clinic()
    yield found
    found.close()


@pytest.fixture(scope="module")
def plain(world: World) -> duckdb.DuckDBPyConnection:
    return world.plain()


def test_there_are_more_than_a_hundred_questions() -> None:
    assert len(list(questions())) > 120


@pytest.mark.parametrize(("rest", "sql"), cases("same"))
def test_an_answered_question_equals_plain_duckdb(
    world: World, plain: duckdb.DuckDBPyConnection, rest: str, sql: str
) -> None:
    assert rest == ""
    assert_same(exact_answer(world.session, sql).rows(), plain_answer(plain, sql), sql)


@pytest.mark.parametrize(("rest", "sql"), cases("refuse"))
def test_a_refused_question_is_refused_with_its_code(world: World, rest: str, sql: str) -> None:
    spent = world.session.budget().spent
    with pytest.raises(QueryRefused) as refusal:
        world.session.ask(sql, epsilon=1)
    assert refusal.value.code.startswith(rest)
    assert world.session.budget().spent == spent


@pytest.mark.parametrize(("rest", "sql"), cases("fault"))
def test_a_mended_fault_is_refused_or_equals_plain_duckdb(
    plain: duckdb.DuckDBPyConnection, rest: str, sql: str
) -> None:
    # A data set of its own: engine failures count towards a freeze of the one that the other tests ask.
    world = clinic()
    try:
        ours = exact_answer(world.session, sql).rows()
    except QueryRefused:
        return
    finally:
        world.close()
    assert_same(ours, plain_answer(plain, sql), rest)


# Acceptance ------------------------------------------------------------------------------------------------------

ACCEPTANCE = catalog_text(
    """
[tables.T]
privacy_unit = "uid"
max_rows_per_unit = 30
[tables.T.columns]
region = { type = "text", values = ["R0", "R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9"] }
age = { type = "integer", bounds = [18, 87] }
income = { type = "double", bounds = [0, 100000] }
d = { type = "date", bounds = [2020-01-01, 2020-12-31] }
[tables.O]
privacy_unit = "uid"
max_rows_per_unit = 20
columns = { amt = { type = "double", bounds = [0, 1000] } }
[tables.D]
public = true
"""
)
# Chosen by the exponential mechanism: near, not equal.
CHOSEN = ("median", "percentile_cont")


def acceptance() -> list[object]:
    lines = (HERE / "acceptance.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return [pytest.param(*line.split("\t"), id=line.split("\t")[0]) for line in lines]


@pytest.fixture(scope="module")
def register() -> Iterator[World]:
    world = World(
        ACCEPTANCE,
        {
            "t": "uid BIGINT, region VARCHAR, age INTEGER, income DOUBLE, d DATE",
            "o": "uid BIGINT, amt DOUBLE",
            "d": "region VARCHAR, label VARCHAR",
        },
    )
    world.fill(
        "t",
        "SELECT (i * 7919) % 2000, 'R' || CAST(FLOOR(SQRT(i * 31 % 100)) AS INTEGER), 18 + (i * 37) % 70, "
        "(i * 97 % 100000) + 0.5, "
        "DATE '2020-01-01' + CAST(i * 13 % 366 AS INTEGER) FROM range(20000) AS x(i)",
    )
    world.fill("o", "SELECT (i * 31) % 2000, (i * 17 % 1000) + 0.25 FROM range(6000) AS x(i)")
    world.fill("d", "SELECT 'R' || i, 'L' || (i % 3) FROM range(10) AS x(i)")
    yield world
    world.close()


@pytest.fixture(scope="module")
def plain_register(register: World) -> duckdb.DuckDBPyConnection:
    return register.plain()


@pytest.mark.parametrize(("name", "expected", "sql"), acceptance())
def test_the_kinds_of_questions_people_ask(
    register: World, plain_register: duckdb.DuckDBPyConnection, name: str, expected: str, sql: str
) -> None:
    if expected == "refuse":
        with pytest.raises(QueryRefused):
            register.session.ask(sql, epsilon=1)
        return
    try:
        rows = exact_answer(register.session, sql).rows()
    except EngineError:
        pytest.fail("accepted, charged, and not answered")
    plain = plain_answer(plain_register, sql)
    if name in CHOSEN:
        assert abs(rows[0][0] - plain[0][0]) <= 1
    else:
        assert_same(rows, plain, sql)
