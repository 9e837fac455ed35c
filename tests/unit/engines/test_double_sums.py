"""Sums in doubles are the integers they stand for: against exact rationals, over extreme values, types and bounds."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction

import duckdb
import pytest

from dither.catalog.model import Column
from dither.engines.double_sums import EXACT, NEAR, double_cell, double_sum
from dither.engines.emission import Emission, Extent
from dither.engines.emit import steps_sql
from dither.plan import nodes
from dither.plan.grids import cells_of, grid_of
from dither.plan.nodes import Scan, ScanColumn, Vector
from dither.plan.reads import read_column
from dither.sql.expressions import Expr

SCAN = Scan("t", (ScanColumn("x0", "X"),), "unit", 1, truncated=False)
HUGE = 1.7976931348623157e308
ODD = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    2.0**-1022,
    1e-300,
    1e300,
    HUGE,
    -HUGE,
    math.inf,
    -math.inf,
    math.nan,
    None,
    2.0**53,
    1e17,
]
BOUNDS = [(0, 100), (-1, 1), (33.3, 77.7), (-1e-9, 3e-9), (0, 1e150), (-1e149, -1e140), (5, 5), (0.1, 0.3), (-250, 1)]


def read(kind: str, bounds: tuple[float, float], stored: str) -> Expr:
    number = int if kind == "integer" else lambda end: Fraction(str(end))
    return read_column(Column("X", kind, bounds=(number(bounds[0]), number(bounds[1]))), stored, "x0")  # type: ignore[arg-type,operator]


def vector_of(expr: Expr, *, centered: bool) -> Vector:
    grid = grid_of(expr, centered=centered)
    return Vector("sum", expr, None, grid.lo, grid.hi, grid.step, grid.center)


def emission(extent: Extent | None) -> Emission:
    def unused(*_: object) -> None:
        raise AssertionError("a sum reads no table")

    return Emission(unused, unused, unused, unused, lambda _: extent)  # type: ignore[arg-type]


def contribution(value: float | int | None, vector: Vector) -> int:
    """In exact rationals: the nearest whole number of steps, halves to even, within the ends, less the centre."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return 0
    if isinstance(value, float) and math.isinf(value):
        return vector.hi if value > 0 else vector.lo
    steps = round(Fraction(value) / vector.step) - vector.center
    return max(vector.lo, min(steps, vector.hi))


def summed(values: Sequence[float | int | None], vector: Vector, stored: str, extent: Extent) -> int | None:
    text = double_sum(vector, SCAN, emission(extent), "")
    if text is None:
        return None
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (x0 {stored})")
        connection.executemany("INSERT INTO t VALUES (?)", [[value] for value in values])
        row = connection.execute(f"SELECT {text}, typeof({text}) FROM t").fetchone()
    assert row is not None and row[1] == "BIGINT"
    return row[0]  # type: ignore[no-any-return]


def near(vector: Vector, bounds: tuple[float, float], count: int, draw: random.Random) -> list[float]:
    """Values inside, outside, at the ends, beside them, at halves of steps, and at the end of what is near."""
    lo, hi = bounds
    span = (hi - lo) or 1.0
    step = float(vector.step)
    values = [draw.uniform(lo - span, hi + span) for _ in range(count)]
    for end in (float(lo), float(hi)):
        values += [end, math.nextafter(end, math.inf), math.nextafter(end, -math.inf), end + step / 2, end - step / 2]
    first = round(lo / step)
    values += [(first + k + 0.5) * step for k in range(8)]
    limit = NEAR * step
    if limit < 1e300:
        values += [
            limit,
            -limit,
            math.nextafter(limit, math.inf),
            math.nextafter(-limit, -math.inf),
            limit * 3,
            -limit * 3,
        ]
    return values


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_each_double_counts_as_its_steps(bounds: tuple[float, float], centered: bool) -> None:
    vector = vector_of(read("double", bounds, "DOUBLE"), centered=centered)
    values = [*ODD, *near(vector, bounds, 40, random.Random(1))]
    for value in values:
        assert summed([value, None], vector, "DOUBLE", Extent(2, {})) == (
            None if value is None or math.isnan(value) else contribution(value, vector)
        ), value


@pytest.mark.parametrize("stored", ["DOUBLE", "FLOAT"])
@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("bounds", BOUNDS[:4])
def test_sums_of_doubles_are_exact(bounds: tuple[float, float], centered: bool, stored: str) -> None:
    vector = vector_of(read("double", bounds, stored), centered=centered)
    values = near(vector, bounds, 3000, random.Random(2))
    if stored == "FLOAT":
        import numpy as np

        values = [float(np.float32(value)) for value in values]
    finite = Extent(len(values), {"x": (min(values), max(values))})
    expected = sum(contribution(value, vector) for value in values)
    assert summed(values, vector, stored, Extent(len(values), {})) == expected
    assert summed(values, vector, stored, finite) == expected


@pytest.mark.parametrize("stored", ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "UINTEGER"])
def test_each_integer_counts_as_itself_within_its_bounds(stored: str) -> None:
    bits = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "UTINYINT": 8, "UINTEGER": 32}[stored]
    least = 0 if stored.startswith("U") else -(2**bits)
    ends = [least, least + 1, 0, 1, 3, 7, 100, 101, 2**bits - 2, 2**bits - 1]
    for bounds in ((3, 100), (-5, 7), (0, 2**30)):
        for centered in (False, True):
            vector = vector_of(read("integer", bounds, stored), centered=centered)
            for value in [*ends, None]:
                found = summed([value], vector, stored, Extent(1, {}))
                assert found == (None if value is None else contribution(value, vector)), (value, bounds)


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_each_double_is_in_the_cell_of_its_steps(bounds: tuple[float, float], centered: bool) -> None:
    expr = read("double", bounds, "DOUBLE")
    cells = cells_of(expr)
    vector = Vector("histogram", expr, None, cells.lo, cells.hi, cells.step, cells.center)
    values = [*ODD, *near(vector, bounds, 200, random.Random(4))]
    text = double_cell(vector, SCAN, emission(Extent(2**40, {})))
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (i INTEGER, x0 DOUBLE)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(values)))
        found = [row[0] for row in connection.execute(f"SELECT {text} FROM t ORDER BY i").fetchall()]
    for value, cell in zip(values, found, strict=True):
        if value is None:
            assert cell is None
        elif math.isnan(value):
            assert cell > cells.hi, "NaN must be outside of what is counted"
        else:
            assert cell == contribution(value, vector), value


def test_what_could_round_is_left_to_integers() -> None:
    vector = vector_of(read("double", (0, 100), "DOUBLE"), centered=False)
    most = EXACT // vector.hi
    assert double_sum(vector, SCAN, emission(Extent(most, {})), "") is not None
    assert double_sum(vector, SCAN, emission(Extent(most + 1, {})), "") is None
    assert double_sum(vector, SCAN, emission(None), "") is None
    joined = nodes.Join(SCAN, SCAN, "cross", None, None)
    assert double_sum(vector, joined, emission(Extent(10, {})), "") is None


def test_integers_that_are_all_inside_are_added_as_they_are() -> None:
    vector = vector_of(read("integer", (0, 100), "INTEGER"), centered=False)
    assert double_sum(vector, SCAN, emission(Extent(10, {"x": (0, 100)})), "") is None
    assert double_sum(vector, SCAN, emission(Extent(10, {"x": (0, 101)})), "") is not None


def test_far_values_are_looked_for_unless_the_engine_knows_of_none() -> None:
    vector = vector_of(read("double", (0, 100), "DOUBLE"), centered=False)
    near_end = float(NEAR * vector.step)
    for ends, guarded in (
        ((0.0, near_end), False),
        ((0.0, math.nextafter(near_end, math.inf)), True),
        ((-1e300, 0.0), True),
    ):
        text = double_sum(vector, SCAN, emission(Extent(10, {"x": ends})), "")
        assert text is not None and ("CASE" in text) == guarded


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_integers_that_are_added_elsewhere_are_the_same(bounds: tuple[float, float], centered: bool) -> None:
    """Joins, tuned tables and large tables add by `steps_sql`: one question must not depend on which it was."""
    expr = read("double", bounds, "DOUBLE")
    vector = vector_of(expr, centered=centered)
    text = steps_sql(expr, grid_of(expr, centered=centered))
    values = [*ODD, *near(vector, bounds, 200, random.Random(3))]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (i INTEGER, x0 DOUBLE)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(values)))
        found = [row[0] or 0 for row in connection.execute(f"SELECT {text} FROM t ORDER BY i").fetchall()]
    assert found == [contribution(value, vector) for value in values]
