"""A register of visits, orders and regions: the tables that questions of `tests/golden/kinds.sql` are about.

Two thousand people with 1 to 10 visits each and up to 7 orders; some values of every column are NULL; one region has no
label and one is missing from the public table. Within one person no two visits are on one day, so that "the first
visit" means one row.
"""

from __future__ import annotations

from support.worlds import World, catalog_text

__all__ = ["register"]

CATALOG = catalog_text(
    """
[tables.T]
privacy_unit = "uid"
max_rows_per_unit = 10
[tables.T.columns]
region = { type = "text", values = ["R0", "R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9"] }
age = { type = "integer", bounds = [18, 87] }
income = { type = "double", bounds = [0, 100000] }
d = { type = "date", bounds = [2020-01-01, 2024-12-31] }
[tables.O]
privacy_unit = "uid"
max_rows_per_unit = 20
columns = { amt = { type = "double", bounds = [0, 500] } }
[tables.D]
public = true
""",
    delta="1e-9",
)


def register() -> World:
    world = World(
        CATALOG,
        {
            "t": "uid BIGINT, region VARCHAR, age INTEGER, income DOUBLE, d DATE",
            "o": "uid BIGINT, amt DOUBLE",
            "d": "region VARCHAR, label VARCHAR",
        },
    )
    region = _some(1, "'R' || CAST(FLOOR(SQRT((u * 31 + j * 57) % 100)) AS INTEGER)")
    age, income = _some(2, "18 + (u * 37 + j * 3) % 70"), _some(3, "((u * 7919 + j * 104729) % 400000) / 4")
    day = _some(4, "DATE '2020-01-01' + CAST((u * 31 + j * 181) % 1827 AS INTEGER)")
    people = "FROM range(2000) AS a(u), range(10) AS b(j)"
    world.fill("t", f"SELECT u, {region}, {age}, {income}, {day} {people} WHERE j <= (u * 7) % 10")
    amount = _some(5, "((u * 17 + j * 211) % 2000) / 4")
    world.fill("o", f"SELECT u, {amount} {people} WHERE j < (u * 5) % 8 AND u % 5 <> 0")
    world.fill("d", "SELECT 'R' || i, CASE WHEN i = 7 THEN NULL ELSE 'L' || (i % 3) END FROM range(9) AS x(i)")
    return world


def _some(number: int, value: str) -> str:
    """The value, NULL on some rows of its own."""
    return f"CASE WHEN (u * 31 + j * 17 + {number}) % 23 = 0 THEN NULL ELSE {value} END"
