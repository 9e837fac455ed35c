"""A data set whose public groups all have rows, every value within its bounds, every unit within its rows kept.

Flow: the guard compares answers without noise over it with plain DuckDB's. t has 3,000 rows of 300 units, o 900 rows of
350 (so both hold units the other lacks), dim is public.
"""

from __future__ import annotations

from support.worlds import World, catalog_text

__all__ = ["CATALOG", "DDL", "clinic"]

_TABLES = """
[tables.t]
privacy_unit = "uid"
max_rows_per_unit = 12
[tables.t.columns]
region = { type = "text", values = ["R0", "R1", "R2"] }
note = { type = "text" }
flag = { type = "boolean" }
age = { type = "integer", bounds = [18, 30] }
income = { type = "double", bounds = [0, 1000] }
price = { type = "decimal", scale = 2, bounds = [0, 500] }
d = { type = "date", bounds = [2020-01-01, 2020-12-31] }
ts = { type = "timestamp", bounds = [2020-01-01 00:00:00, 2020-12-31 00:00:00] }

[tables.o]
privacy_unit = "uid"
max_rows_per_unit = 5
[tables.o.columns]
amt = { type = "integer", bounds = [0, 100] }
kind = { type = "text", values = ["a", "b"] }

[tables.dim]
public = true
[tables.dim.columns]
region = { type = "text" }
label = { type = "text" }
n = { type = "integer", bounds = [0, 10] }
"""

CATALOG = catalog_text(_TABLES, delta="1e-5")

DDL = {
    "t": "uid BIGINT, region VARCHAR, note VARCHAR, flag BOOLEAN, age INTEGER, income DOUBLE, price DECIMAL(10, 2), "
    "d DATE, ts TIMESTAMP",
    "o": "uid BIGINT, amt INTEGER, kind VARCHAR",
    "dim": "region VARCHAR, label VARCHAR, n INTEGER",
}

_ROWS = {
    "t": "SELECT (i * 7919) % 300, CASE WHEN i % 11 > 0 THEN 'R' || (i % 3) END, 'n' || (i % 50), "
    "CASE WHEN i % 13 > 0 THEN i % 2 = 0 END, CASE WHEN i % 17 > 0 THEN 18 + (i * 31) % 13 END, "
    "CASE WHEN i % 19 > 0 THEN (i * 37 % 1000) + 0.25 END, CAST(((i * 53) % 50000) / 100 AS DECIMAL(10, 2)), "
    "DATE '2020-01-01' + CAST((i * 29) % 366 AS INTEGER), "
    "TIMESTAMP '2020-01-01 00:00:00' + to_minutes((i * 997) % 500000) FROM range(3000) AS x(i)",
    "o": "SELECT (i * 31) % 350, CASE WHEN i % 23 > 0 THEN (i * 17) % 101 END, "
    "CASE WHEN i % 7 > 0 THEN CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END END FROM range(900) AS x(i)",
    "dim": "VALUES ('R0', 'north', 1), ('R1', 'south', 2), ('R2', 'south', 3), ('R9', 'none', 4), ('R2', 'west', 5)",
}


def clinic(catalog: str = CATALOG) -> World:
    world = World(catalog, DDL)
    for table, select in _ROWS.items():
        world.fill(table, select)
    return world
