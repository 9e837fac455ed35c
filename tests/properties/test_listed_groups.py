"""Lists of groups over public tables: short, for rows of a table and joined rows stay together, and never too short.

Over random databases with NULLs, repeated and dangling keys, every group that plain DuckDB finds must be listed with
its number of rows: a group that is missing would be left out of the answer, without anybody being told.
"""

from __future__ import annotations

import itertools
import random

import pytest

from support.exactly import assert_same, exact_answer
from support.worlds import World, catalog_text

TABLES = """
[tables.t]
privacy_unit = "uid"
max_rows_per_unit = 6
[tables.t.columns]
region = { type = "text", values = ["a", "b", "c", "d"] }
zone = { type = "integer", bounds = [0, 3] }
flag = { type = "boolean" }
[tables.o]
privacy_unit = "uid"
max_rows_per_unit = 3
[tables.o.columns]
kind = { type = "text", values = ["a", "b", "c", "d"] }
[tables.d]
public = true
[tables.z]
public = true
"""
DDL = {
    "t": "uid BIGINT, region VARCHAR, zone INTEGER, flag BOOLEAN",
    "o": "uid BIGINT, kind VARCHAR",
    "d": "region VARCHAR, label VARCHAR, zone INTEGER",
    "z": "zone INTEGER, name VARCHAR",
}
RELEASES = itertools.count()
# FROM clause and keys; t, d, z, o as above.
RELATIONS = [
    ("t JOIN d ON t.region = d.region", "d.region, d.label"),
    ("t JOIN d ON t.region = d.region", "t.region, d.label"),
    ("t JOIN d USING (region)", "region, label"),
    ("t JOIN d ON t.region = d.region AND t.zone < d.zone", "t.region, d.label, t.zone"),
    ("t JOIN d ON t.region = d.region", "d.label, d.zone % 2"),
    ("t JOIN d ON t.region = d.region WHERE d.zone > 1", "d.label"),
    ("t JOIN d ON t.region = d.region WHERE d.label IS NULL OR t.flag", "d.region, t.flag"),
    ("t, d WHERE t.region = d.region AND d.label <> 'x'", "t.region, d.zone"),
    ("t LEFT JOIN d ON t.region = d.region", "t.region, d.label"),
    ("t LEFT JOIN d ON t.region = d.region", "d.region, d.label"),
    ("t LEFT JOIN d ON t.region = d.region AND d.zone > 1", "t.region, d.label"),
    ("t LEFT JOIN d ON t.region = d.region AND t.flag", "t.region, d.label"),
    ("t LEFT JOIN d ON t.region = d.region AND t.zone = d.zone", "t.region, d.label, d.zone"),
    ("t LEFT JOIN d ON t.region = d.region WHERE d.label IS NULL", "t.region, d.label"),
    ("t LEFT JOIN (SELECT region, label FROM d WHERE zone > 1) AS x ON t.region = x.region", "t.region, x.label"),
    ("t LEFT JOIN (SELECT region AS r, label FROM d) AS x ON t.region = x.r", "t.region, x.label, x.r"),
    ("t LEFT JOIN (SELECT region, UPPER(label) AS up FROM d) AS x ON t.region = x.region", "t.region, x.up"),
    ("t JOIN d ON t.region = d.region JOIN z ON d.zone = z.zone", "d.label, z.name"),
    ("t JOIN d ON t.region = d.region JOIN z ON d.zone = z.zone", "t.region, z.name"),
    ("t LEFT JOIN d ON t.region = d.region LEFT JOIN z ON d.zone = z.zone", "t.region, z.name"),
    ("t LEFT JOIN d ON t.region = d.region LEFT JOIN z ON d.zone = z.zone", "d.label, z.name"),
    ("t LEFT JOIN d ON t.region = d.region JOIN z ON d.zone = z.zone", "t.region, z.name"),
    ("t JOIN d ON t.region = d.region LEFT JOIN z ON t.zone = z.zone", "d.label, z.name, t.zone"),
    ("t LEFT JOIN (d JOIN z ON d.zone = z.zone) ON t.region = d.region", "t.region, d.label, z.name"),
    ("t JOIN d AS a ON t.region = a.region JOIN d AS b ON t.zone = b.zone", "a.label, b.label"),
    ("t JOIN d AS a ON t.region = a.region JOIN d AS b ON a.zone = b.zone", "a.label, b.region"),
    ("t JOIN (SELECT * FROM d UNION ALL SELECT * FROM d) AS x ON t.region = x.region", "x.region, x.label"),
    ("t JOIN (SELECT DISTINCT region, label FROM d) AS x ON t.region = x.region", "x.region, x.label"),
    ("t JOIN (VALUES ('a', 1), ('b', 2), ('b', 3), (NULL, 4)) AS v(r, n) ON t.region = v.r", "v.r, v.n"),
    ("t LEFT JOIN (VALUES ('a', 1), ('b', 2), ('b', 3)) AS v(r, n) ON t.region = v.r", "t.region, v.n"),
    ("t JOIN o ON t.uid = o.uid AND t.region = o.kind", "t.region, o.kind"),
    ("t LEFT JOIN o ON t.uid = o.uid AND t.region = o.kind", "t.region, o.kind"),
    ("t JOIN o ON t.uid = o.uid JOIN d ON o.kind = d.region", "t.region, d.label"),
    ("t FULL JOIN o ON t.uid = o.uid AND t.region = o.kind", "t.region, o.kind"),
    ("(SELECT t.uid, t.region, d.label FROM t LEFT JOIN d ON t.region = d.region) AS x JOIN o ON x.uid = o.uid",
     "x.region, x.label, o.kind"),
    ("o LEFT JOIN (SELECT t.uid, t.region, d.label FROM t JOIN d ON t.region = d.region) AS x ON x.uid = o.uid",
     "x.region, x.label"),
    ("(SELECT t.uid, d.region, d.label FROM t JOIN d ON t.region = d.region GROUP BY ALL) AS x", "x.region, x.label"),
    ("(SELECT DISTINCT t.uid, d.region, d.zone FROM t JOIN d ON t.region = d.region) AS x", "x.region, x.zone"),
    ("(SELECT d.region, d.label FROM t JOIN d ON t.region = d.region UNION ALL "
     "SELECT d.label, d.region FROM t JOIN d ON t.region = d.region) AS x(a, b)", "x.a, x.b"),
    ("t JOIN d ON t.region = d.region WHERE EXISTS (SELECT 1 FROM z WHERE z.zone = d.zone)", "d.label, d.zone"),
    ("t JOIN d ON t.region = d.region WHERE d.zone NOT IN (SELECT zone FROM z WHERE zone IS NOT NULL)", "d.region"),
]  # fmt: skip


@pytest.fixture(scope="module")
def world() -> World:
    return World(catalog_text(TABLES, delta="1e-5"), DDL)


def rows_of(dice: random.Random) -> dict[str, list[tuple[object, ...]]]:
    """Every public list is complete over them or not, as it falls; no unit has more rows than it may."""
    texts, labels, zones = ["a", "b", "c", "d", None], ["x", "y", "z", None], [0, 1, 2, 3, None]
    t = [
        (uid, dice.choice(texts), dice.choice(zones), dice.choice([True, False, None]))
        for uid in range(12)
        for _ in range(dice.randrange(7))
    ]
    o = [(uid, dice.choice(texts)) for uid in range(2, 14) for _ in range(dice.randrange(4))]
    d = [(dice.choice([*texts, "e"]), dice.choice(labels), dice.choice([*zones, 7])) for _ in range(dice.randrange(7))]
    z = [(dice.choice([*zones, 9]), dice.choice(["n", "s", None])) for _ in range(dice.randrange(5))]
    return {"t": t, "o": o, "d": d, "z": z}


def compare(world: World, source: str, keys: str, databases: range) -> None:
    sql = f"SELECT {keys}, COUNT(*) AS n FROM {source} GROUP BY {keys}"
    for seed in databases:
        for table, rows in rows_of(random.Random(seed)).items():
            world.load(table, rows)
        # Other rows are another release, or what was answered before would be used again; and public tables are read
        # anew when the source has another version.
        world.source.stamp = f"rows {next(RELEASES)}"
        world.ledger.open_release(world.source.stamp)
        answer = exact_answer(world.session, sql)
        with world.plain() as plain:
            assert_same(answer.rows(), plain.execute(sql).fetchall(), f"{sql} on database {seed}")


@pytest.mark.parametrize(("source", "keys"), RELATIONS)
def test_no_group_of_the_data_is_missing(world: World, source: str, keys: str) -> None:
    compare(world, source, keys, range(4))


@pytest.mark.long
@pytest.mark.parametrize(("source", "keys"), RELATIONS)
def test_no_group_of_the_data_is_missing_in_many_databases(world: World, source: str, keys: str) -> None:
    compare(world, source, keys, range(1000, 1150))
