"""Which groups are listed over public tables: those that a row can be in, and no other combination."""

from __future__ import annotations

import pytest

from dither.plan import listing
from support.worlds import World, catalog_text

TABLES = """
[tables.t]
privacy_unit = "uid"
max_rows_per_unit = 2
[tables.t.columns]
region = { type = "text", values = ["a", "b", "c"] }
zone = { type = "integer", bounds = [1, 3] }
[tables.d]
public = true
[tables.z]
public = true
"""
DDL = {
    "t": "uid BIGINT, region VARCHAR NOT NULL, zone INTEGER NOT NULL",
    "d": "region VARCHAR, label VARCHAR, zone INTEGER",
    "z": "zone INTEGER, name VARCHAR",
}


@pytest.fixture(scope="module")
def world() -> World:
    made = World(catalog_text(TABLES), DDL)
    made.load("d", [("a", "x", 1), ("a", "y", 2), ("b", "x", 2), ("e", None, 3)])
    made.load("z", [(1, "north"), (2, "south"), (2, "south"), (9, "none")])
    return made


def groups(world: World, source: str, keys: str) -> list[tuple[object, ...]]:
    (measure,) = world.session.plan(f"SELECT {keys}, COUNT(*) FROM {source} GROUP BY {keys}").measures
    columns = [measure.domain.columns[key.id].tolist() for key in measure.keys]
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize(
    ("source", "keys", "expected"),
    [
        ("t JOIN d ON t.region = d.region", "d.region, d.label", [("a", "x"), ("a", "y"), ("b", "x"), ("e", None)]),
        ("t JOIN d ON t.region = d.region", "t.region, d.label", [("a", "x"), ("a", "y"), ("b", "x")]),
        ("t JOIN d USING (region)", "label, d.zone", [("x", 1), ("x", 2), ("y", 2), (None, 3)]),
        ("t JOIN d ON t.region = d.region WHERE d.zone = 2", "d.label", [("x",), ("y",)]),
        ("t JOIN d ON t.region = d.region WHERE d.zone = t.zone", "d.label, t.zone",
         [("x", 1), ("x", 2), ("y", 2), (None, 3)]),
        (
            "t LEFT JOIN d ON t.region = d.region",
            "t.region, d.label",
            [("a", "x"), ("a", "y"), ("b", "x"), ("c", None), (None, None)],
        ),
        # Which rows of zone 9 nobody reaches.
        ("t JOIN d ON t.region = d.region JOIN z ON d.zone = z.zone", "d.label, z.name",
         [("x", "north"), ("x", "south"), ("y", "south")]),
        # d is no key here, and links the keys.
        ("t JOIN d ON t.region = d.region JOIN z ON d.zone = z.zone", "t.region, z.name",
         [("a", "north"), ("a", "south"), ("b", "south")]),
        ("t JOIN (VALUES ('a', 1), ('b', 2)) AS v(r, n) ON t.region = v.r", "v.r, v.n", [("a", 1), ("b", 2)]),
    ],
)  # fmt: skip
def test_joined_keys_are_listed_as_they_meet(
    world: World, source: str, keys: str, expected: list[tuple[object, ...]]
) -> None:
    assert groups(world, source, keys) == expected


def test_a_large_public_table_is_not_read_for_a_condition(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its key column alone is, as short as that may be: here four labels, whatever their zones."""
    monkeypatch.setattr(listing, "MOST_ROWS_LOOKED_AT", 3)
    assert groups(world, "t JOIN d ON t.region = d.region WHERE d.zone = 2", "d.label") == [("x",), ("y",), (None,)]


def test_too_many_combinations_are_not_tried(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither side of this left join's condition is linked with the other's: all pairs would be looked up."""
    monkeypatch.setattr(listing, "LARGEST_PRODUCT", 10)
    listed = groups(world, "t LEFT JOIN d ON t.region = d.region AND t.zone = d.zone", "t.region, t.zone, d.label")
    # Each of three regions, or none, and three zones with each of x, y and NULL.
    assert len(listed) == 4 * 3 * 3


@pytest.mark.parametrize(
    ("stored", "values", "condition"),
    [
        ("DECIMAL(20, 6)", ("12345678901234.123456", "12345678901234.123457"), "d.code = 12345678901234.123457"),
        ("BIGINT", ("9007199254740993", "9007199254740992"), "d.code = 9007199254740992"),
        ("DOUBLE", ("0.1", "0.30000000000000004"), "d.code > 0.3"),
        ("TIMESTAMP", ("2020-01-01 00:00:00.000001", "2020-01-01 00:00:00.000002"),
         "d.code = TIMESTAMP '2020-01-01 00:00:00.000002'"),
    ],
)  # fmt: skip
def test_conditions_tell_values_apart_that_doubles_do_not(stored: str, values: tuple[str, ...], condition: str) -> None:
    made = World(catalog_text(TABLES), DDL | {"d": f"region VARCHAR, label VARCHAR, code {stored}"})
    made.load("d", [("a", "x", values[0]), ("b", "y", values[1])])
    assert groups(made, f"t JOIN d ON t.region = d.region WHERE {condition}", "d.label") == [("y",)]
    made.close()
