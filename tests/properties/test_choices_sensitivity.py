"""Questions over tables of which nobody said how many rows count or where values lie: what the choices read, and what
is read with what was chosen, moves by no more than is priced. By brute force over small, nasty databases, for two
undecided tables, self-joins, and views of the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import dither
from dither.errors import QueryRefused
from dither.mechanisms.value_bounds import LEVELS, level
from dither.noise import insecure_seeded
from dither.secret import open_secret
from dither.session.session import Session
from dither.session.tune import _per_level
from support.cases import DDL, TAU, UNITS, Rows, catalog, heavy_rows, public_rows, random_rows, without
from support.worlds import World, catalog_text

GRID = [0, 1, 2, 3, 5, 8, 10_000]
NUMBERS = (("t", "x"), ("t", "k"), ("t", "p"), ("o", "amt"))


def undecided(**terms: Any) -> World:
    """The tables of `support.cases` without rows per unit, and without bounds of numbers."""
    text = re.sub(r"max_rows_per_unit = \d+\n", "", catalog(**terms))
    text = re.sub(r", bounds = \[-?[\d.]+, [\d.]+\]", "", text)
    assert text.count("bounds") == 1 and "max_rows" not in text
    world = World(text, DDL)
    for table, rows in zip(("dim", "tiny"), public_rows(), strict=True):
        world.load(table, rows)
    return world


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = undecided()
    yield found
    found.close()


def databases(count: int) -> list[tuple[Rows, Rows]]:
    return [*heavy_rows(), *(random_rows(seed) for seed in range(300, 300 + count))]


def load(world: World, t: Rows, o: Rows) -> None:
    world.load("t", t)
    world.load("o", o)


def counted(world: World) -> tuple[list[Any], list[Any]]:
    """What the choices read: units above each level of rows, and kept rows by level of each number."""
    above = [open_secret(world.engine.rows_per_unit(table, GRID)) for table in ("t", "o")]
    cells = [open_secret(world.engine.values_per_level(table, column, TAU)) for table, column in NUMBERS]
    return above, cells


def test_what_choices_read_moves_by_one_unit_or_its_kept_rows(world: World) -> None:
    reached = np.zeros(len(NUMBERS), dtype=np.int64)
    for t, o in databases(8):
        load(world, t, o)
        above, cells = counted(world)
        for unit in UNITS:
            load(world, without(t, unit), without(o, unit))
            fewer, smaller = counted(world)
            for whole, less in zip(above, fewer, strict=True):
                assert set((whole - less).tolist()) <= {0, 1}
                # One more unit with r rows is in one cell, and in every count of units above fewer than r.
                moved = open_secret(_per_level(dither_secret(whole))) - open_secret(_per_level(dither_secret(less)))
                assert np.abs(moved[1:]).sum() <= 1
            for place, (whole, less) in enumerate(zip(cells, smaller, strict=True)):
                moved = int(np.abs(whole - less).sum())
                assert moved <= TAU
                reached[place] = max(reached[place], moved)
    assert (reached == TAU).all()


def dither_secret(counts: Any) -> Any:
    from dither.secret import Secret

    return Secret(counts)


def test_a_unit_whose_rows_are_replaced_moves_them_one_way_and_twice(world: World) -> None:
    for number, (t, o) in enumerate(databases(4)):
        load(world, t, o)
        above, cells = counted(world)
        # Unit 1 gets the rows that it has in the next database.
        other_t, other_o = databases(5)[number + 1]
        load(
            world,
            without(t, 1) + [row for row in other_t if row[0] == 1],
            without(o, 1) + [row for row in other_o if row[0] == 1],
        )
        changed, moved = counted(world)
        for whole, after in zip(above, changed, strict=True):
            difference = whole - after
            assert np.abs(difference).max() <= 1 and difference.min() * difference.max() >= 0
        assert all(np.abs(whole - after).sum() <= 2 * TAU for whole, after in zip(cells, moved, strict=True))


CHOSEN = (
    ({"t": 2, "o": 1}, (0.0, level(1))),
    ({"t": 1, "o": 3}, (-4.0, 12.5)),
    ({"t": 3, "o": 2}, (-level(LEVELS), level(LEVELS))),
)
# FROM and WHERE, with the table alias whose columns are asked for. Bounds are chosen of columns of tables, not of what
# a subquery makes of them.
FROM = (
    ("t", "t"),
    ("t", "t WHERE x > 2 OR flag"),
    ("a", "t a JOIN t b ON a.uid = b.uid"),
    ("b", "t a LEFT JOIN t b ON a.uid = b.uid AND a.k > b.k"),
    ("t", "t JOIN o ON t.uid = o.uid"),
    ("t", "t LEFT JOIN o ON t.uid = o.uid AND o.amt > t.k"),
    ("t", "t FULL JOIN o ON t.uid = o.uid"),
    ("t", "o RIGHT JOIN t ON t.uid = o.uid"),
    ("t", "t JOIN dim ON t.region = dim.region"),
    ("t", "t CROSS JOIN tiny"),
    ("t", "t WHERE EXISTS (SELECT 1 FROM o WHERE o.uid = t.uid AND o.amt >= t.k)"),
    ("t", "t WHERE uid NOT IN (SELECT uid FROM o WHERE amt > 1) OR flag"),
    ("t", "t WHERE k >= (SELECT MIN(amt) FROM o WHERE o.uid = t.uid)"),
    ("a", "t a JOIN t b ON a.uid = b.uid JOIN o ON o.uid = b.uid"),
)
ASKED = "COUNT(*), SUM({0}.k), SUM({0}.x), AVG({0}.p), VAR_POP({0}.k), SUM(DISTINCT {0}.k)"


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize(("taus", "bounds"), CHOSEN, ids=["least", "middle", "most"])
def test_no_unit_moves_what_is_read_with_what_was_chosen_by_more_than_is_priced(
    taus: dict[str, int], bounds: tuple[float, float], neighbours: str
) -> None:
    world = undecided(dataset=f'neighbours = "{neighbours}"')
    world.session.taus, world.session.bounds = dict(taus), dict.fromkeys(NUMBERS, bounds)
    reached = 0
    for number, (alias, rows) in enumerate(FROM):
        grouped = number % 2 == (bounds[0] < 0)
        key, by = (f"{alias}.region AS r, ", f" GROUP BY {alias}.region") if grouped else ("", "")
        (priced,) = world.priced(f"SELECT {key}{ASKED.format(alias)} FROM {rows}{by}").measures
        for t, o in [*heavy_rows(), random_rows(7)]:
            load(world, t, o)
            whole = world.vectors(priced.measure)
            load(world, without(t, 1), without(o, 1))
            for vector, one, other in zip(priced.vectors, whole, world.vectors(priced.measure), strict=True):
                moved = sum(abs(one.get(key, 0) - other.get(key, 0)) for key in one.keys() | other.keys())
                assert moved <= vector.distance, f"{rows}: {vector.vector} by {moved}, priced {vector.distance}"
                reached += moved == vector.distance
    assert reached > 20
    world.close()


@pytest.mark.parametrize(
    "question",
    [
        "WITH v AS (SELECT * FROM t WHERE flag) SELECT SUM(k) FROM v JOIN o USING (uid)",
        "SELECT SUM(k) FROM (SELECT uid, k FROM t UNION ALL SELECT uid, amt FROM o) AS q",
        "SELECT SUM(s) FROM (SELECT uid, SUM(k) AS s FROM t GROUP BY uid) AS q",
        "SELECT SUM(t.k + o.amt) FROM t JOIN o ON t.uid = o.uid",
    ],
)
def test_of_what_a_subquery_makes_no_bounds_are_chosen_and_nothing_is_paid(world: World, question: str) -> None:
    with pytest.raises(QueryRefused) as refusal:
        world.session.ask(question, epsilon=6)
    assert refusal.value.code == "B-104" and world.ledger.entries() == () and not world.session.taus


@pytest.mark.parametrize(
    ("question", "tables", "columns"),
    [
        ("SELECT COUNT(*) FROM t JOIN o ON t.uid = o.uid", 2, 0),
        ("SELECT SUM(t.k), SUM(o.amt) FROM t JOIN o ON t.uid = o.uid", 2, 2),
        ("SELECT SUM(a.k), SUM(b.k) FROM t a JOIN t b ON a.uid = b.uid", 1, 1),
        ("WITH v AS (SELECT * FROM t WHERE flag) SELECT COUNT(*) FROM v JOIN o USING (uid)", 2, 0),
        ("SELECT COUNT(*) FROM t WHERE k > (SELECT AVG(amt) FROM o)", 2, 1),
        ("SELECT COUNT(*) FROM (SELECT uid FROM t UNION ALL SELECT uid FROM o) AS q", 2, 0),
    ],
)
def test_every_table_and_column_is_chosen_once_and_all_of_it_is_within_the_offer(
    question: str, tables: int, columns: int
) -> None:
    world = undecided()
    world.session.entropy = insecure_seeded(2)
    world.fill("t", "SELECT i % 900, 'a', i % 50, i % 40, (i % 300) / 4, i % 2 = 0, NULL FROM range(2700) AS r(i)")
    world.fill("o", "SELECT i % 900, i % 70, 'a' FROM range(1800) AS r(i)")
    answer = world.session.ask(question, epsilon=6)
    assert len(world.session.taus) == tables and len(world.session.bounds) == columns
    entries = world.ledger.entries()
    assert sum(entry.text.startswith("dither") for entry in entries) == tables + columns
    assert sum((entry.price.epsilon or Fraction(0) for entry in entries), Fraction(0)) == answer.charged.epsilon == 6
    again = world.session.explain(question, epsilon=6)
    assert again.price.epsilon == 0 or "chooses" not in str(again)
    world.close()


def viewed(path: Path, rows: str) -> Session:
    """A DuckDB file whose tables are read through views: one row becomes two, and a join repeats."""
    with duckdb.connect(str(path / "v.duckdb")) as connection:
        connection.execute(f"CREATE TABLE base AS {rows}")
        connection.execute("CREATE TABLE twice AS SELECT * FROM (VALUES (1), (2)) AS v(n)")
        connection.execute("CREATE VIEW seen AS SELECT uid, x * n AS x, n FROM base, twice WHERE x IS NOT NULL")
    section = '[tables.seen]\nprivacy_unit = "uid"\ncolumns = { x = { type = "double" }, n = { type = "integer" } }'
    text = catalog_text(section).replace("memory.duckdb", str(path / "v.duckdb"))
    (path / "dither.toml").write_text(text, encoding="utf-8")
    return dither.open(path / "dither.toml", ledger=path / "one.ledger", entropy=insecure_seeded(3))


def test_a_view_of_the_source_is_counted_as_it_is_seen(tmp_path: Path) -> None:
    found = []
    for name, condition in (("whole", "TRUE"), ("less", "i % 40 <> 7")):
        (tmp_path / name).mkdir()
        rows = f"SELECT i % 40 AS uid, CAST(i % 9 AS DOUBLE) AS x FROM range(200) AS r(i) WHERE {condition}"
        with viewed(tmp_path / name, rows) as db:
            above = open_secret(db.engine.rows_per_unit("seen", GRID))
            cells = open_secret(db.engine.values_per_level("seen", "x", TAU))
            assert above[0] == (40 if name == "whole" else 39) and cells.sum() == TAU * above[0]
            found.append((above, cells))
    (above, cells), (fewer, smaller) = found
    assert set((above - fewer).tolist()) <= {0, 1} and 0 < np.abs(cells - smaller).sum() <= TAU


def test_a_question_over_a_view_is_answered_with_what_it_chose(tmp_path: Path) -> None:
    rows = "SELECT i % 900 AS uid, CAST(i % 90 AS DOUBLE) AS x FROM range(4500) AS r(i)"
    with viewed(tmp_path, rows) as db:
        answer = db.ask("SELECT SUM(x), COUNT(*) FROM seen", epsilon=6)
        total, count = answer.rows()[0]
        assert abs(count - 9000) < 900 and abs(total - 3 * 4500 * 44.5) < 0.1 * 3 * 4500 * 44.5
        assert db.taus["seen"] >= 10 and answer.charged.epsilon == 6
