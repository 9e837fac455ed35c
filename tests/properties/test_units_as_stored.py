"""A unit's column in a question is read as it is stored where its type keeps to our range by itself: what other types
hold must not move an answer further than priced, nor make it fail.
"""

from __future__ import annotations

from typing import Any

import pytest

from dither.errors import QueryRefused
from support.exactly import exact_answer
from support.worlds import World, catalog_text

SECTION = '[tables.t]\nprivacy_unit = "u"\nmax_rows_per_unit = 1\ncolumns = { x = { type = "integer" } }'


def moved(type: str, value: str, sql: str) -> tuple[int, int] | None:
    """How far one more unit, of this value, moves the vectors, and how far it may; None where it is refused."""
    world = World(catalog_text(SECTION, delta="1e-5"), {"t": f"u {type}, x BIGINT"})
    try:
        try:
            (measure,) = world.priced(sql).measures
        except QueryRefused:
            return None
        cursor = world.engine._connection.cursor()
        cursor.execute(f"INSERT INTO \"table t\" SELECT CAST('{_plain(type)}' AS {type}), 1")
        (before,) = world.vectors(measure.measure)
        cursor.execute(f"INSERT INTO \"table t\" SELECT CAST('{value}' AS {type}), 1")
        (after,) = world.vectors(measure.measure)
        return _distance(before, after), measure.vectors[0].distance
    finally:
        world.close()


def _plain(type: str) -> str:
    return "2020-01-01" if type.startswith(("DATE", "TIMESTAMP")) else "1"


def _distance(before: dict[Any, int], after: dict[Any, int]) -> int:
    return sum(abs(before.get(key, 0) - after.get(key, 0)) for key in before.keys() | after.keys())


@pytest.mark.parametrize(
    ("type", "value", "sql"),
    [
        ("BIGINT", "9223372036854775807", "SELECT SUM(u // 9223372036854775807) FROM t"),
        ("UINTEGER", "4294967295", "SELECT SUM(GREATEST(LEAST(u - 5, 10), -10)) FROM t"),
        ("TINYINT", "127", "SELECT SUM(u * 100 % 7) FROM t"),
        ("DATE", "9999-12-31", "SELECT SUM(YEAR(u)) FROM t"),
        ("VARCHAR", "x", "SELECT SUM(LENGTH(LEFT(u, 3))) FROM t"),
        ("DATE", "290000-01-01", "SELECT SUM(YEAR(u)) FROM t"),
        ("DATE", "290000-01-01", "SELECT SUM(u - DATE '2020-01-01') FROM t"),
        ("TIMESTAMP", "290000-01-01", "SELECT SUM(YEAR(u)) FROM t"),
        ("TIMESTAMPTZ", "290000-01-01", "SELECT SUM(YEAR(u)) FROM t"),
        ("UBIGINT", str(2**64 - 1), "SELECT SUM(CAST(u AS DOUBLE) / 1e15) FROM t"),
        ("HUGEINT", str(2**126), "SELECT SUM(SQRT(ABS(u)) / 1e9) FROM t"),
        # These fail after the charge, because of one row.
        ("UBIGINT", str(2**64 - 1), "SELECT COUNT(*) FROM t WHERE u * u > 5"),
        ("HUGEINT", str(2**126), "SELECT COUNT(*) FROM t WHERE u + u > 5"),
        ("DOUBLE", "nan", "SELECT SUM(SIN(u)) FROM t"),
        ("UHUGEINT", str(2**128 - 1), "SELECT SUM(u % 7) FROM t"),
        ("UHUGEINT", str(2**128 - 1), "SELECT COUNT(*) FROM t WHERE u < 5"),
    ],
)
def test_one_unit_moves_an_answer_no_further_than_priced(type: str, value: str, sql: str) -> None:
    found = moved(type, value, sql)
    assert found is None or found[0] <= found[1]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(DISTINCT u) FROM t",
        "SELECT COUNT(*) FROM t AS a JOIN t AS b ON a.u = b.u",
        "SELECT AVG(n) FROM (SELECT u, COUNT(*) AS n FROM t GROUP BY u)",
        "SELECT SUM(n) FROM (SELECT SUM(x) OVER (PARTITION BY u) AS n FROM t)",
        "SELECT COUNT(*) FROM t WHERE u - 5 < 0",
    ],
)
def test_identifiers_without_a_sign_are_units_as_others_are(sql: str) -> None:
    section = (
        '[tables.t]\nprivacy_unit = "u"\nmax_rows_per_unit = 3\ncolumns = { x = { type = "integer", bounds = [0, 9] } }'
    )
    found = []
    for type, far in (("BIGINT", 2**62), ("UBIGINT", 2**64 - 1)):
        world = World(catalog_text(section), {"t": f"u {type}, x BIGINT"})
        world.load("t", [(u, 2) for u in (1, 1, 2, 3, 3, 3, far)])
        distances = [vector.distance for vector in world.priced(sql).measures[0].vectors]
        found.append((distances, exact_answer(world.session, sql).rows()))
        world.close()
    assert found[0] == found[1]
