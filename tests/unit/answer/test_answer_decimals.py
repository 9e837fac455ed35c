"""Decimals on their way out: as Python's, in frames and files, and where noise leaves them no room."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dither.answer import files
from dither.answer.evaluate import evaluate, handed_over
from dither.answer.finishing import IN_DOUBLES
from dither.noise import insecure_seeded
from support.exactly import exact_answer
from support.worlds import World, catalog_text

TABLES = """
[tables.t]
privacy_unit = "uid"
max_rows_per_unit = 1
[tables.t.columns]
g = { type = "text", values = ["a", "b", "c"] }
v = { type = "decimal", scale = 2, bounds = [-100, 500] }
w = { type = "decimal", scale = 2, bounds = [0, 99999999999999] }
"""
ROWS = [(1, "a", Decimal("0.07"), Decimal("0.01")), (2, "a", Decimal("1.10"), Decimal("99999999999999"))]
ROWS += [(3, "b", Decimal("-99.99"), Decimal("12345678901234.56"))]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    ddl = {"t": "uid BIGINT, g VARCHAR, v DECIMAL(10, 2), w DECIMAL(20, 2)"}
    found = World(catalog_text(TABLES), ddl, entropy=insecure_seeded(3))
    found.load("t", ROWS)
    yield found
    found.close()


QUESTION = "SELECT g, SUM(v) AS s, AVG(v) AS m, COUNT(*) AS n FROM t GROUP BY g ORDER BY g"


def test_rows_hold_python_decimals_with_all_their_digits(world: World) -> None:
    answer = exact_answer(world.session, "SELECT g, SUM(v) AS s FROM t GROUP BY g ORDER BY g")
    assert [str(s) for _, s in answer.rows()[:3]] == ["1.17", "-99.99", "0.00"]
    assert all(isinstance(s, Decimal) for _, s in answer)
    assert answer.finished.types == ["VARCHAR", "DECIMAL(38,2)"]


def test_frames_have_decimals_where_they_know_them(world: World) -> None:
    import pandas
    import polars
    import pyarrow

    answer = exact_answer(world.session, QUESTION)
    frame = answer.df(intervals=True)
    assert frame["s"].dtype == np.float64 and frame["s"][0] == 1.17 and isinstance(frame, pandas.DataFrame)
    assert answer.pl()["s"].dtype == polars.Decimal(38, 2) and answer.pl()["s"][0] == Decimal("1.17")
    column = answer.arrow(intervals=True).column("s")
    assert column.type == pyarrow.decimal128(38, 2) and column.to_pylist()[1] == Decimal("-99.99")


def test_files_have_decimals_as_numbers_with_all_their_digits(world: World) -> None:
    answer = exact_answer(world.session, QUESTION)
    text = files.to_json(answer, intervals=True).decode()
    assert '["a", 1.17, ' in text and json.loads(text, parse_float=Decimal)["rows"][2][1] == Decimal("0.00")
    assert json.loads(text)["columns"][:2] == ["g", "s"]
    rows = list(csv.reader(io.StringIO(files.to_csv(answer, intervals=False).decode())))
    assert [row[1] for row in rows[:4]] == ["s", "1.17", "-99.99", "0.00"]


def test_an_answer_with_decimals_is_shown_drawn_compared_and_presented(world: World) -> None:
    answer = exact_answer(world.session, QUESTION)
    assert "1.2 ± 3.2" in str(answer) and "-100.0" in answer._repr_html_()
    assert answer.compare(0, 1, "s").difference == pytest.approx(101.16)
    assert "<svg" in answer.plot().svg
    page = answer.present(round_to=10, reliability=True)
    assert page.rows()[0][1] == 0 and page.raw.rows()[0][1] == Decimal("1.17")
    assert answer.simultaneous(0.9).rows()[0][1] == Decimal("1.17")


def test_a_sum_beyond_the_digits_of_a_double_keeps_all_of_them(world: World) -> None:
    answer = exact_answer(world.session, "SELECT SUM(v) * 1000000000000000000 + 0.01 AS s, SUM(v) AS v FROM t")
    assert str(answer.rows()[0][0]) == "-98819999999999999999.99"
    assert dict(answer.columns_with_intervals())["s"] == [answer.rows()[0][0]] and "-9.882e+19" in str(answer)
    assert answer.arrow()["s"].to_pylist() == [answer.rows()[0][0]]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(v) * SUM(v) * SUM(v) * SUM(v) * SUM(v) * SUM(v) * 1000000000000000 AS s FROM t",
        "SELECT g, SUM(v) AS s FROM t GROUP BY g HAVING SUM(v) * 100000000000000000000 * 1000000000000000000 <> 7",
        "SELECT SUM(v) = CAST(0.1 AS DECIMAL(38, 37)) AS s FROM t",
    ],
)
def test_decimals_without_room_are_computed_in_doubles_and_said_to_be(world: World, sql: str) -> None:
    """Noise decides how large a sum is: what was paid for is answered, with its ± too."""
    answer = world.session.ask(sql, epsilon=1)
    assert IN_DOUBLES in answer.notes and IN_DOUBLES in " ".join(str(answer).split())
    assert "DECIMAL(38,2)" not in answer.finished.types
    assert len(answer.rows()) in (1, 4)


def test_decimals_with_room_stay_decimals(world: World) -> None:
    answer = world.session.ask("SELECT SUM(v) * SUM(v) AS s FROM t", epsilon=1)
    assert IN_DOUBLES not in answer.notes and answer.finished.types == ["DECIMAL(38,4)"]


def test_what_is_handed_over_is_the_value_in_whole_units(world: World) -> None:
    answer = world.session.ask("SELECT SUM(v) AS s, AVG(v) AS m, MAX(v) AS x FROM t", epsilon=1)
    (table,) = answer.tables
    for recipe in table.recipes:
        if recipe.digits is not None:
            whole, value = (f(recipe, table.vectors, table.values) for f in (handed_over, evaluate))
            assert whole.dtype == np.int64
            assert np.allclose(whole * float(recipe.digits.unit), value, atol=0.01)


def test_a_sum_out_of_a_count_and_a_mean_never_leaves_64_bits(world: World) -> None:
    answer = world.session.ask("SELECT SUM(v) AS s, AVG(v) AS m FROM t", epsilon=1)
    (table,) = answer.tables
    (recipe,) = (r for r in table.recipes if r.kind == "sum_from_mean")
    assert recipe.digits is not None and recipe.center == 200
    huge = replace(table, values=tuple(np.array([2**62]) for _ in table.values))
    assert handed_over(recipe, huge.vectors, huge.values).tolist() == [2**62]
    small = replace(table, values=tuple(np.array([3]) for _ in table.values))
    assert handed_over(recipe, small.vectors, small.values).tolist() == [60_003]
    assert Fraction(60_003) * recipe.digits.unit == Fraction("600.03")
