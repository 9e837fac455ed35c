"""The finish over large and empty tables: what is refused, and what has no interval; and what needs no database."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dither.answer.finishing import finish
from dither.errors import QueryRefused
from dither.noise import insecure_seeded
from dither.sql import embedded
from support.clinic import clinic
from support.worlds import World, catalog_text

FIRST = dt.date(100, 1, 1)
RUNNING = "SELECT d, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY d) AS total FROM t GROUP BY d ORDER BY d"


def world(days: int, *, bounded: bool = True) -> World:
    last = FIRST + dt.timedelta(days=days - 1)
    bounds = f", bounds = [{FIRST.isoformat()}, {last.isoformat()}]" if bounded else ""
    tables = f'[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 1\ncolumns = {{ d = {{ type = "date"{bounds} }} }}'
    return World(catalog_text(tables, delta="1e-6"), {"t": "uid BIGINT, d DATE NOT NULL"}, entropy=insecure_seeded(5))


def test_an_answer_without_rows_is_shown_too() -> None:
    thin = world(10, bounded=False)
    answer = thin.session.ask("SELECT d, COUNT(*) AS n, 2 * COUNT(*) AS twice FROM t GROUP BY d", epsilon=1)
    assert len(answer) == 0 and "No rows" in str(answer)
    assert "twice" in answer._repr_html_()


def test_running_totals_over_a_million_days() -> None:
    many = world(10**6)
    many.fill("t", f"SELECT range, DATE '{FIRST.isoformat()}' + (range * 7919 % 1000000)::INTEGER FROM range(100000)")
    answer = many.session.ask(RUNNING, epsilon=100)
    steps, totals = (np.asarray(answer.finished.columns[position], dtype=np.int64) for position in (1, 2))
    # A date outside the bounds counts as none: that group is listed too.
    assert len(answer) == 10**6 + 1
    assert np.array_equal(np.cumsum(steps), totals)
    # The largest standard deviation of a total is below 1 at epsilon 100; off by 20 has no chance.
    assert abs(int(totals[-1]) - 100_000) < 20
    assert str(answer).count("\n") < 130 and "more rows" in str(answer)


def test_a_join_of_noisy_tables_cannot_fill_the_memory() -> None:
    some = world(3000)
    groups = "(SELECT d, COUNT(*) AS n FROM t GROUP BY d)"
    with pytest.raises(QueryRefused) as refused:
        some.session.ask(f"SELECT a.n, b.n FROM {groups} AS a CROSS JOIN {groups} AS b", epsilon=1)
    assert refused.value.code == "F-174"
    assert not some.ledger.entries()
    joined = some.session.ask(f"SELECT a.d, a.n, b.n FROM {groups} AS a JOIN {groups} AS b ON a.d = b.d", epsilon=1)
    assert len(joined) == 3000  # NULL joins nothing


GROUPS = "(SELECT d, COUNT(*) AS n FROM t GROUP BY d)"


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (f"SELECT a.n, b.n FROM {GROUPS} AS a CROSS JOIN {GROUPS} AS b", "F-175"),
        (f"SELECT a.n, b.n FROM {GROUPS} AS a JOIN {GROUPS} AS b ON TRUE ORDER BY 1", "F-175"),
        (f"SELECT SUM(a.n * b.n) AS s FROM {GROUPS} AS a, {GROUPS} AS b", "F-175"),
        (f"SELECT COUNT(*) AS c FROM (SELECT a.n FROM {GROUPS} AS a, {GROUPS} AS b ORDER BY 1 LIMIT 9) AS x", "F-175"),
        (f"SELECT a.n, b.n FROM {GROUPS} AS a, {GROUPS} AS b WHERE a.n > -1000000 ORDER BY 1", "F-174"),
        (f"SELECT n FROM {GROUPS} AS a UNION ALL SELECT b.n FROM {GROUPS} AS b, {GROUPS} AS c", "F-175"),
    ],
)
def test_a_join_of_far_too_many_rows_is_refused_at_once(question: str, code: str) -> None:
    # All 10^11 pairs were counted first: 17 seconds of both cores for a free explanation.
    many = world(316_000)
    begun = time.process_time()
    with pytest.raises(QueryRefused) as refused:
        many.session.explain(question, epsilon=1)
    assert refused.value.code == code and time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        (f"SELECT a.n FROM {GROUPS} AS a JOIN {GROUPS} AS b ON TRUE LIMIT 5", 5),
        (f"SELECT a.n FROM {GROUPS} AS a, {GROUPS} AS b WHERE a.d = b.d ORDER BY 1 LIMIT 7", 7),
        (f"SELECT a.n FROM {GROUPS} AS a JOIN {GROUPS} AS b USING (d)", 316_000),
        (
            f"SELECT a.n / b.s AS share FROM {GROUPS} AS a CROSS JOIN (SELECT SUM(n) AS s FROM {GROUPS} AS x) AS b",
            316_001,
        ),
    ],
)
def test_joins_of_large_tables_that_stay_small_are_answered(question: str, rows: int) -> None:
    assert len(world(316_000).session.ask(question, epsilon=1)) == rows


def test_derived_columns_of_very_many_groups_have_no_interval() -> None:
    many = world(30_000)
    answer = many.session.ask("SELECT d, 2 * COUNT(*) AS twice FROM t GROUP BY d ORDER BY d", epsilon=1)
    low, high = answer.intervals[1]
    assert np.isnan(low).all() and np.isnan(high).all() and len(low) == 30_001
    assert "No interval is known for twice" in str(answer)


def test_a_finish_that_takes_too_long_is_refused_before_it_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = f"max_execution_time={embedded.LONGEST_S * 1000}"
    quick = tuple(line.replace(limit, "max_execution_time=200") for line in embedded.SETTINGS)
    monkeypatch.setattr(embedded, "SETTINGS", quick)
    monkeypatch.setattr(embedded, "_database", None)
    some = world(3000)
    groups = "(SELECT d, COUNT(*) AS n FROM t GROUP BY d)"
    joined = f"SELECT COUNT(*) AS c FROM {groups} AS a CROSS JOIN {groups} AS b CROSS JOIN {groups} AS c"
    with pytest.raises(QueryRefused) as refused:
        some.session.ask(f"{joined} WHERE a.n * b.n + c.n = 12345", epsilon=1)
    assert refused.value.code == "F-175"
    assert not some.ledger.entries()


@pytest.fixture(scope="module")
def patients() -> Iterator[World]:
    found = clinic()
    yield found
    found.close()


COLUMNS = {
    "a number, a total and a mean": "SELECT COUNT(*) AS n, SUM(income) AS s, AVG(price) AS m FROM t",
    "integers and NULL": "SELECT age, COUNT(*) AS n, SUM(age) AS s FROM t GROUP BY age",
    "texts and NULL": "SELECT region, SUM(price) AS s FROM t GROUP BY region",
    "private texts": "SELECT note, COUNT(*) AS n FROM t GROUP BY note",
    "booleans and NULL": "SELECT flag, COUNT(*) AS n FROM t GROUP BY flag",
    "dates": "SELECT d, COUNT(*) AS n FROM t GROUP BY d",
    "moments": "SELECT DATE_TRUNC('month', ts) AS month, COUNT(*) AS n FROM t GROUP BY month",
    "decimals": "SELECT FLOOR(price / 100) AS p, COUNT(*) AS n FROM t GROUP BY p",
    "one column twice": "SELECT COUNT(*), COUNT(*), region FROM t GROUP BY region",
    "undefined means": "SELECT d, AVG(income) AS m, BOOL_OR(flag) AS b FROM t GROUP BY d",
    "quantiles": "SELECT region, MEDIAN(age) AS m, MAX(d) AS last FROM t GROUP BY region",
    "no group": "SELECT note, COUNT(*) AS n FROM t WHERE age > 40 GROUP BY note",
}


@pytest.mark.parametrize("sql", COLUMNS.values(), ids=COLUMNS)
def test_columns_shown_as_they_are_are_those_that_the_database_gives(patients: World, sql: str) -> None:
    """Catches a NULL, a type or a kind of array that comes out else without a database."""
    # So little that means over days without people are undefined.
    answer = patients.session.ask(sql, epsilon=0.05)
    assert answer.plan.picked is not None
    by_database = finish(replace(answer.plan, picked=None), answer.tables)
    assert answer.finished.types == by_database.types
    for ours, theirs in zip(answer.finished.columns, by_database.columns, strict=True):
        assert (type(ours), ours.dtype, ours.tolist()) == (type(theirs), theirs.dtype, theirs.tolist())


def test_counts_and_sums_of_listed_groups_take_no_database(patients: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: Any) -> Any:
        raise AssertionError("the finish ran in the database")

    answer = patients.session.ask("SELECT region, COUNT(*) AS n, SUM(income) AS s FROM t GROUP BY region", epsilon=1)
    monkeypatch.setattr(embedded, "run", run)
    again = finish(answer.plan, answer.tables)
    assert [column.tolist() for column in again.columns] == [column.tolist() for column in answer.finished.columns]
    # A change of the answer's own columns is none of what its intervals are computed from.
    assert not any(np.shares_memory(again.columns[1], values) for values in answer.tables[0].values)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT region, COUNT(*) AS n FROM t GROUP BY region ORDER BY n",
        "SELECT region, COUNT(*) AS n FROM t GROUP BY region LIMIT 1",
        "SELECT DISTINCT COUNT(*) AS n FROM t GROUP BY region",
        "SELECT region, COUNT(*) AS n FROM t GROUP BY region HAVING COUNT(*) > 5",
        "SELECT region, COUNT(*) AS n FROM t GROUP BY region QUALIFY ROW_NUMBER() OVER (ORDER BY n) = 1",
        "SELECT region, 2 * COUNT(*) AS n FROM t GROUP BY region",
        "SELECT region, COUNT(*) AS n FROM t GROUP BY ROLLUP (region)",
        "SELECT n FROM (SELECT region, COUNT(*) AS n FROM t GROUP BY region) AS x WHERE n > 3",
        "SELECT region, COUNT(*) AS n FROM t GROUP BY region UNION ALL SELECT kind, COUNT(*) FROM o GROUP BY kind",
        "SELECT (SELECT COUNT(*) FROM t) AS a, (SELECT COUNT(*) FROM o) AS b",
    ],
)
def test_a_finish_that_does_something_is_run(patients: World, sql: str) -> None:
    assert patients.session.plan(sql).picked is None
