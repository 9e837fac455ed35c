"""Decimals keep all their digits: what is asked of them equals plain DuckDB's answer to the last digit and in its type,
and no unit moves a sum of them by more than is priced, whatever the scale and the bounds.

Questions are drawn from a grammar of decimal expressions, below the aggregates and above; noise is off.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dither.errors import QueryRefused
from dither.plan.nodes import Vector
from dither.secret import open_secret
from support.exactly import exact_answer, plain_answer
from support.worlds import World, catalog_text

SETTINGS = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
LONG = settings(SETTINGS, max_examples=1500, derandomize=False)


def one_of(*texts: str) -> st.SearchStrategy[str]:
    return st.sampled_from(texts)


# Questions ---------------------------------------------------------------------------------------------------------

values = st.deferred(
    lambda: st.one_of(
        one_of(
            "price", "price", "-price", "price * 1.08", "price + 0.125", "price * age", "COALESCE(price, 0.5)",
            "CAST(age AS DECIMAL(9, 3))", "ROUND(price, 1)", "ROUND(price, -1)", "ABS(price - 250)", "price % 7",
            "CASE WHEN flag THEN price ELSE 0 END", "GREATEST(price, age)", "NULLIF(price, 0)", "TRUNC(price)",
        ),
        st.builds("({} {} {})".format, values, one_of("+", "-"), one_of("price", "0.75", "age", "2")),
    )
)  # fmt: skip
filters = one_of("", "", " FILTER (WHERE flag)", " FILTER (WHERE price > 100.01)")
sums = st.one_of(
    st.builds("SUM({}){}".format, values, filters),
    st.builds("SUM(DISTINCT {})".format, values),
)
others = one_of("SUM(age)", "COUNT(*)", "COUNT(price)", "2", "0.1", "1.005", "-3")
numbers = st.deferred(
    lambda: st.one_of(
        sums,
        st.builds("({} {} {})".format, numbers, one_of("+", "-", "*", "%"), st.one_of(sums, others)),
        st.builds("{}({})".format, one_of("ABS", "FLOOR", "CEIL", "TRUNC", "ROUND", "-"), numbers),
        st.builds("ROUND({}, {})".format, numbers, st.integers(-3, 3)),
        st.builds("CASE WHEN {} > {} THEN {} ELSE {} END".format, numbers, others, numbers, others),
        st.builds("{}({}, {})".format, one_of("COALESCE", "GREATEST", "LEAST", "NULLIF"), numbers, others),
        st.builds("CAST({} AS DECIMAL(30, {}))".format, numbers, st.integers(0, 5)),
    )
)
shown = st.one_of(
    numbers,
    st.builds("CAST({} AS VARCHAR)".format, numbers),
    st.builds("{} {} {}".format, numbers, one_of("=", "<", ">=", "IS DISTINCT FROM"), st.one_of(numbers, others)),
    st.builds("{} / {}".format, numbers, one_of("3", "7", "0.5")),
    st.builds("{} BETWEEN {} AND 9999999.99".format, numbers, others),
)
tables = one_of(
    "t",
    "t",
    "(SELECT uid, flag, age, region, SUM(price) AS price FROM t GROUP BY uid, flag, age, region) AS q",
    "(SELECT uid, flag, age, region, MAX(price) AS price FROM t GROUP BY ALL HAVING SUM(price) <> 12.34) AS q",
    "(SELECT uid, flag, age, region, SUM(price) OVER (PARTITION BY uid ORDER BY ts, price) AS price FROM t) AS q",
    "(SELECT uid, flag, age, region, price * 0.5 AS price FROM t UNION ALL SELECT uid, flag, age, region, price "
    "FROM t) AS q",
    "(SELECT DISTINCT uid, flag, age, region, price FROM t) AS q",
)


@st.composite
def questions(draw: st.DrawFn) -> str:
    items = draw(st.lists(shown, min_size=1, max_size=3))
    listed = ", ".join(f"{item} AS c{i}" for i, item in enumerate(items))
    table = draw(tables)
    alone = f"SELECT {listed} FROM {table}"
    # Sums over all groups are noise that is placed for running totals, in wider steps: not among these.
    grouped = f"SELECT region, {listed}, COUNT(*) AS n FROM {table} GROUP BY region HAVING COUNT(*) > 0"
    together = f"{alone} UNION ALL {alone}"
    over = f"SELECT SUM(c0) AS a, MAX(c0) AS b, COUNT(*) AS n FROM (SELECT {draw(numbers)} AS c0 FROM {table} " + draw(
        one_of("GROUP BY region HAVING COUNT(*) > 0) AS x", "UNION ALL SELECT SUM(age) FROM t) AS x")
    )
    return draw(one_of(alone, grouped, together, over))


INTEGERS = {"BIGINT", "HUGEINT", "INTEGER", "TINYINT", "SMALLINT"}


def check(world: World, plain: duckdb.DuckDBPyConnection, sql: str) -> bool:
    """Was it answered, by plain DuckDB and by ours? Then they agree to the last digit of a decimal, and in types."""
    try:
        wanted = plain_answer(plain, sql)
        types = [str(column[1]) for column in plain.execute(sql).description]
    except duckdb.Error:
        return False
    try:
        answer = exact_answer(world.session, sql)
    except QueryRefused:
        return False
    assert [_kind(t) for t in answer.finished.types] == [_kind(t) for t in types], sql
    ours, theirs = (sorted(map(_row, rows), key=repr) for rows in (answer.rows(), wanted))
    assert ours == theirs, f"{sql}\n{ours}\n{theirs}"
    return True


def _kind(type: str) -> str:
    # Whole numbers are HUGEINT in DuckDB's sums and BIGINT in ours, and beside them a decimal gets another width.
    return "integer" if type in INTEGERS else re.sub(r"\(\d+,", "(", type)


def _row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    # The text of a decimal shows digits that == would not look at; doubles are all quotients here.
    return tuple(str(v) if isinstance(v, Decimal) else round(v, 9) if isinstance(v, float) else v for v in row)


ANSWERED: list[bool] = []


@SETTINGS
@given(sql=questions())
def test_decimal_questions_equal_plain_duckdb_to_the_last_digit(
    world: World, plain: duckdb.DuckDBPyConnection, sql: str
) -> None:
    ANSWERED.append(check(world, plain, sql))


def test_most_of_the_decimal_questions_were_answered() -> None:
    """A refusal and a failure of plain DuckDB compare nothing."""
    if ANSWERED:
        assert sum(ANSWERED) > len(ANSWERED) / 2


@pytest.mark.long
@LONG
@given(sql=questions())
def test_many_decimal_questions_equal_plain_duckdb_to_the_last_digit(
    world: World, plain: duckdb.DuckDBPyConnection, sql: str
) -> None:
    check(world, plain, sql)


# Sensitivity ---------------------------------------------------------------------------------------------------------

ONE_TABLE = """
[tables.t]
privacy_unit = "uid"
max_rows_per_unit = 2
columns = { v = { type = "decimal", bounds = [%s, %s] } }
"""
# (scale, bounds): of few steps, of one value, far from zero, just below and above where the last digit is a step,
# wider, with ends between two decimals, and of all the digits there are.
GRIDS = [
    (2, "0", "0.05"),
    (2, "-1.25", "4.75"),
    (2, "7.5", "7.5"),
    (0, "-3", "1000"),
    (2, "999999.98", "1000000"),
    (2, "0", "2684354.55"),
    (2, "-21474836.48", "21474836.48"),
    (2, "0", "21474836.50"),
    (4, "0", "987654321.1234"),
    (2, "-0.003", "0.018"),
    (2, "-0.005", "0.015"),
    (9, "-0.000000001", "123456789.987654321"),
    (30, "0", "0.5000000011641532"),
    (37, "-1.5", "0.1"),
    (38, "0.00000000000000000010842021724855044339", "0.10000000000000000000000000000000000001"),
    (0, "-99999999999999999999999999", "10"),
    (0, "-999999999999999999999999999999", "10"),
]


def worlds() -> Iterator[tuple[World, int, Fraction, Fraction]]:
    for scale, lo, hi in GRIDS:
        yield (
            World(catalog_text(ONE_TABLE % (lo, hi)), {"t": f"uid BIGINT, v DECIMAL(38, {scale})"}),
            scale,
            Fraction(lo),
            Fraction(hi),
        )


def values_of(scale: int, lo: Fraction, hi: Fraction, step: Fraction) -> list[Decimal]:
    """The ends, what is beyond them, what lies about halfway between two steps, and some more."""
    unit = Fraction(1, 10**scale)
    draw = random.Random(f"{scale} {lo} {hi}")
    inside = [lo + (hi - lo) * draw.randrange(0, 1000) / 999 for _ in range(6)]
    halves = [(round(x / step) + Fraction(1, 2)) * step for x in (lo, hi, *inside)]
    near = [x + k * unit for x in (lo, hi, Fraction(0), *inside, *halves) for k in (-1, 0, 1)]
    most = 10**38 - 1
    whole = {min(most, max(-most, round(x / unit))) for x in (*near, lo - 1, hi + 1)}
    return [Decimal(n).scaleb(-scale) if abs(n) < 10**27 else Decimal(f"{n}E-{scale}") for n in sorted(whole)]


@pytest.mark.parametrize(
    "aggregate", ["SUM(v)", "AVG(v)", "SUM(DISTINCT v)", "SUM(v), AVG(v)", "VAR_POP(v)", "SUM(-v)", "SUM(v / 3)"]
)
def test_no_unit_moves_a_sum_of_decimals_by_more_than_is_priced(aggregate: str) -> None:
    for world, scale, lo, hi in worlds():
        (measure,) = world.priced(f"SELECT {aggregate} FROM t").measures
        farthest = [0] * len(measure.vectors)
        step = max(priced.vector.step for priced in measure.vectors if priced.vector.kind == "sum")
        for value in values_of(scale, lo, hi, step):
            # Two rows of one unit, of the same value: none was there before.
            world.load("t", [(1, value)] * 2)
            for i, vector in enumerate(world.vectors(measure.measure)):
                farthest[i] = max(farthest[i], abs(vector.get((0,), 0)))
        for found, priced in zip(farthest, measure.vectors, strict=True):
            assert found <= priced.distance, f"{scale} [{lo}, {hi}] {priced.vector}"
            if _is_of_v(priced.vector) and aggregate != "SUM(DISTINCT v)":
                # Nothing is priced that no row reaches, but for ends which lie about halfway between two steps.
                assert found >= priced.distance - 2, f"{scale} [{lo}, {hi}] {priced.vector}"
                if priced.vector.step == Fraction(1, 10**scale):
                    # No distance is priced below 1.
                    assert max(found, 1) == priced.distance
        world.close()


def _is_of_v(vector: Vector) -> bool:
    return vector.kind == "sum" and vector.expr is not None and vector.expr.op == "read"


def test_a_sum_of_decimals_counts_last_digits_while_they_fit() -> None:
    """Each value is read as the very number of steps it is, centred or not, and wider steps round to the nearest."""
    exact = 0
    for world, scale, lo, hi in worlds():
        (measure,) = world.priced("SELECT SUM(v) FROM t").measures
        (vector,) = (priced.vector for priced in measure.vectors)
        times = vector.step * 10**scale
        assert times.denominator == 1 and times % 2 == 1
        exact += times == 1
        for value in values_of(scale, lo, hi, vector.step):
            world.load("t", [(1, value)])
            (found,) = world.vectors(measure.measure)
            kept = min(max(Fraction(value), lo), hi)
            off = abs(found.get((0,), 0) * vector.step - kept)
            # A bound between two decimals is the one beyond it.
            assert off <= vector.step / 2 + max(vector.step / 2**8, Fraction(1, 10**scale) / 2)
            if times == 1 and lo <= Fraction(value) <= hi:
                assert off == 0
        world.close()
    assert exact >= 6


def test_cells_of_a_decimal_hold_every_value_it_can_have() -> None:
    for world, scale, lo, hi in worlds():
        (measure,) = world.priced("SELECT MEDIAN(v) FROM t").measures
        (vector,) = (priced.vector for priced in measure.vectors)
        rows = values_of(scale, lo, hi, vector.step)
        world.load("t", list(enumerate(rows)))
        (table,) = open_secret(world.engine.measure([measure.measure]))
        (histogram,) = table.histograms.values()
        assert histogram.cells.min() >= vector.lo and histogram.cells.max() <= vector.hi, f"{scale} [{lo}, {hi}]"
        assert histogram.counts.sum() == len(rows)
        assert vector.hi - vector.lo <= 2**20 + 2
        world.close()


def test_steps_too_wide_for_a_decimal_are_answered_in_doubles() -> None:
    types = []
    for world, scale, _, _ in worlds():
        answer = world.session.ask("SELECT SUM(v) AS s, COUNT(*) AS n FROM t", epsilon=1)
        types.append(answer.finished.types[0])
        assert types[-1] in (f"DECIMAL(38,{scale})", "DOUBLE")
        assert types[-1] == "DOUBLE" or abs(answer.rows()[0][0].as_tuple().exponent) == scale
        world.close()
    # Of DECIMAL(38, 30) and DECIMAL(38, 37) two billion of the largest are more than the type holds.
    assert [scale for (scale, _, _), found in zip(GRIDS, types, strict=True) if found == "DOUBLE"] == [30, 37, 38, 0]
