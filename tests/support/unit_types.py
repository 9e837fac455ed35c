"""Units of every type an engine has: values to tell apart, the ends of each type among them, and tables that hold them.

Flow: `tests/properties/test_units_of_any_type.py` walks through `TYPES` and `RELATIONS` over tables t and o, which have
the unit u, of the type, and a whole number x.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from support.worlds import World, catalog_text

__all__ = ["RELATIONS", "TAU", "TYPES", "Row", "fill", "open_world", "plain_rows", "random_rows", "units_of"]

TAU = 3
Row = tuple[str | None, int | None]
"""A unit, as the engine casts it from a text, and x."""

TYPES: dict[str, Sequence[str]] = {
    "TINYINT": ("1", "-128", "127"),
    "BIGINT": ("1", "2", str(2**63 - 1), str(-(2**63))),
    "UBIGINT": ("1", "2", str(2**64 - 1), str(2**64 - 2), str(2**63)),
    "HUGEINT": ("1", "2", str(2**127 - 1), str(2**127 - 2), str(-(2**127)), str(2**63)),
    "UHUGEINT": ("1", "2", str(2**128 - 1), str(2**128 - 2), str(2**127)),
    "DOUBLE": ("1.5", "nan", "inf", "-inf", "0.0", "-0.0", "1e308", "9007199254740992"),
    "FLOAT": ("1.5", "nan", "inf", "-inf", "0.0", "-0.0", "3e38"),
    "DATE": ("2020-01-01", "2020-01-02", "infinity", "-infinity", "290000-01-01", "290000-01-02"),
    "TIMESTAMP": ("2020-01-01", "2020-01-02", "infinity", "-infinity", "290000-01-01", "290000-01-02"),
    "TIMESTAMPTZ": ("2020-01-01", "2020-01-02", "infinity", "-infinity", "290000-01-01", "290000-01-02"),
    "TIMESTAMP_S": ("2020-01-01", "2020-01-02", "infinity", "-infinity", "290000-01-01", "290000-01-02"),
    "TIMESTAMP_MS": ("2020-01-01", "2020-01-02", "infinity", "-infinity", "290000-01-01", "290000-01-02"),
    "TIMESTAMP_NS": ("2020-01-01", "2020-01-02", "2262-04-11", "1677-09-22", "2020-01-01 00:00:00.000000001"),
    "DECIMAL(20, 3)": ("1", "1.001", "99999999999999999.999", "-99999999999999999.999"),
    "DECIMAL(38, 0)": ("1", "2", "9" * 38, "-" + "9" * 38),
    "VARCHAR": ("a", "A", "", "zz"),
    "VARCHAR COLLATE NOCASE": ("a", "A", "", "b", "B"),
    "ENUM ('a', 'b', 'c')": ("a", "b", "c"),
    "UUID": ("00000000-0000-0000-0000-000000000001", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
    "BLOB": ("a", "", "\\xFF\\x00"),
    "BIT": ("0101", "1"),
    "TIME": ("10:00:00", "00:00:00", "24:00:00"),
    "INTERVAL": ("1 day", "1 month", "-3 years"),
    "BOOLEAN": ("true", "false"),
}

# Each gives u and x, whose unit is u where that is not NULL.
RELATIONS = {
    "scan": "SELECT u, x FROM t",
    "inner join": "SELECT t.u, o.x FROM t JOIN o ON t.u = o.u AND t.x <= o.x",
    "self join": "SELECT a.u, b.x FROM t AS a JOIN t AS b ON a.u = b.u",
    "join by IS NOT DISTINCT FROM": "SELECT t.u, o.x FROM t JOIN o ON t.u IS NOT DISTINCT FROM o.u",
    "comma join": "SELECT o.u, t.x FROM t, o WHERE o.u = t.u",
    "join using": "SELECT u, t.x FROM t JOIN o USING (u)",
    "natural join": "SELECT u, x FROM t NATURAL JOIN (SELECT DISTINCT u FROM o) AS q",
    "join of subqueries": "SELECT a.u, b.x FROM (SELECT u FROM t WHERE x > 0) AS a JOIN (SELECT x, u FROM o) AS b "
    "ON b.u = a.u",
    "left join": "SELECT t.u, o.x FROM t LEFT JOIN o ON t.u = o.u AND o.x > t.x",
    "who is missing": "SELECT t.u, t.x FROM t LEFT JOIN o ON t.u = o.u WHERE o.u IS NULL",
    "right join": "SELECT o.u, t.x FROM t RIGHT JOIN o ON t.u = o.u AND o.x > t.x",
    "full join": "SELECT t.u, o.x FROM t FULL JOIN o ON t.u = o.u AND o.x > t.x",
    "full join using": "SELECT u, t.x FROM t FULL JOIN o USING (u)",
    "join of a left join": "SELECT a.u, b.x FROM t AS a LEFT JOIN o ON a.u = o.u JOIN t AS b ON o.u IS NOT DISTINCT "
    "FROM b.u",
    "exists": "SELECT u, x FROM t WHERE EXISTS (SELECT 1 FROM o WHERE o.u = t.u AND o.x >= t.x)",
    "not exists": "SELECT u, x FROM t WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.u = t.u)",
    "in": "SELECT u, x FROM t WHERE u IN (SELECT u FROM o WHERE x > 1)",
    "not in": "SELECT u, x FROM t WHERE u NOT IN (SELECT u FROM o WHERE x > 1)",
    "scalar subquery": "SELECT u, (SELECT COUNT(*) FROM o WHERE o.u = t.u) AS x FROM t",
    "distinct": "SELECT DISTINCT u, x FROM t",
    "only units": "SELECT DISTINCT u, 1 AS x FROM t",
    "groups": "SELECT u, SUM(x) AS x FROM t GROUP BY u HAVING u = u AND COUNT(u) > 1",
    "groups of two keys": "SELECT u, x FROM t GROUP BY u, x",
    "groups of a full join": "SELECT u, COUNT(*) AS x FROM t FULL JOIN o USING (u) GROUP BY u",
    "window": "SELECT u, ROW_NUMBER() OVER (PARTITION BY u ORDER BY x) AS x FROM t",
    "count in a window": "SELECT u, COUNT(u) OVER (PARTITION BY u, x) AS x FROM t",
    "union all": "SELECT u, x FROM t UNION ALL SELECT u, x FROM o",
    "union": "SELECT u, x FROM t UNION SELECT u, x FROM o",
    "except": "SELECT u, x FROM t EXCEPT SELECT u, x FROM o",
    "intersect": "SELECT u, x FROM t INTERSECT SELECT u, x FROM o",
    "groups of a union": "SELECT u, COUNT(*) AS x FROM (SELECT u FROM t UNION ALL SELECT u FROM o) AS q GROUP BY u",
    "join of groups": "SELECT a.u, b.n AS x FROM (SELECT u FROM t GROUP BY u) AS a JOIN "
    "(SELECT u, COUNT(*) AS n FROM o GROUP BY u) AS b ON a.u = b.u",
}

_TABLE = (
    f'[tables.{{}}]\nprivacy_unit = "u"\nmax_rows_per_unit = {TAU}\n'
    'columns = {{ x = {{ type = "integer", bounds = [0, 5] }} }}\n'
)


def open_world(type: str, other: str | None = None) -> World:
    """Tables t and o without rows. other: the type of o's unit, where it is another."""
    text = catalog_text("".join(_TABLE.format(name) for name in ("t", "o")), delta="1e-5")
    return World(text, {"t": f"u {type}, x INTEGER", "o": f"u {other or type}, x INTEGER"})


def fill(world: World, tables: dict[str, list[Row]]) -> None:
    """Make these the rows of the tables; the engine casts the units."""
    cursor = world.engine._connection.cursor()
    for name, rows in tables.items():
        cursor.execute(f'DELETE FROM "table {name}"')
        type = world.ddl[name].partition(" ")[2].rpartition(", ")[0].partition(" COLLATE")[0]
        for start in range(0, len(rows), 500):
            listed = ", ".join(
                f"({_text(unit)}, {'NULL' if x is None else x})" for unit, x in rows[start : start + 500]
            )
            cursor.execute(f'INSERT INTO "table {name}" SELECT CAST(v AS {type}), x FROM (VALUES {listed}) AS r(v, x)')
    world.engine._extents.clear()


def units_of(rows: Sequence[Row]) -> list[set[str]]:
    """The units there are, each as the texts that stand for it: -0.0 is 0.0."""
    found: dict[str, set[str]] = {}
    for unit, _ in rows:
        if unit is not None:
            found.setdefault("0.0" if unit == "-0.0" else unit, set()).add(unit)
    return list(found.values())


def random_rows(type: str, seed: int, *, most: int) -> dict[str, list[Row]]:
    """Rows of t and o: few different values, so that there are duplicates. most: rows of a unit in each."""
    generator = random.Random(f"{type} {seed}")
    tables: dict[str, list[Row]] = {}
    for name in ("t", "o"):
        rows: list[Row] = [(None, generator.choice((1, None))) for _ in range(generator.randint(0, 2))]
        for unit, *others in map(sorted, units_of([(unit, 1) for unit in TYPES[type]])):
            rows += [
                (generator.choice([unit, *others]), generator.choice((0, 1, 2, 9, -4, None)))
                for _ in range(generator.randint(0, most))
            ]
        generator.shuffle(rows)
        tables[name] = rows
    return tables


def plain_rows(type: str) -> dict[str, list[Row]]:
    """Rows without NULLs, within the bounds of x and the rows kept, in which some units are in one table only."""
    tables: dict[str, list[Row]] = {"t": [], "o": []}
    for number, unit in enumerate(TYPES[type]):
        count = 1 if unit in ("0.0", "-0.0") else TAU
        tables["t"] += [(unit, x) for x in range(count)] if number % 3 != 2 else []
        tables["o"] += [(unit, x + 1) for x in range(count)] if number % 3 != 1 else []
    return tables


def _text(unit: str | None) -> str:
    return "CAST(NULL AS VARCHAR)" if unit is None else "'" + unit.replace("'", "''") + "'"
