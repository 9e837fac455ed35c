"""One relation per operator over small, nasty tables, and the databases that strain them.

Flow: the tests of separability, sensitivity and truncation walk through `RELATIONS` over random databases from
`random_rows` and the heavy ones of `heavy_rows`.
Tables: t (unit uid; a case-insensitive text, a double, an integer, a decimal, a boolean, a date), o (units of t by
reference, dangling ones too), dim and tiny (public, with repeated keys).
"""

from __future__ import annotations

import datetime as dt
import random
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from support.worlds import World, catalog_text

__all__ = [
    "DDL",
    "RELATIONS",
    "TAU",
    "UNITS",
    "catalog",
    "composed",
    "heavy_rows",
    "open_world",
    "public_rows",
    "random_rows",
    "without",
]

TAU = 2
UNITS = (1, 2, 3, 4)

DDL = {
    "t": "uid BIGINT, region VARCHAR COLLATE NOCASE, x DOUBLE, k INTEGER, p DECIMAL(12, 2), flag BOOLEAN, d DATE",
    "o": "uid BIGINT, amt BIGINT, region VARCHAR",
    "dim": "region VARCHAR, label VARCHAR",
    "tiny": "n INTEGER",
}


def catalog(*, dataset: str = "", delta: str | None = "1e-5", tau: int = TAU) -> str:
    return catalog_text(
        f"""
[tables.t]
privacy_unit = "uid"
max_rows_per_unit = {tau}
[tables.t.columns]
region = {{ type = "text", values = ["a", "b", "B"] }}
x = {{ type = "double", bounds = [-3.5, 10.25] }}
k = {{ type = "integer", bounds = [-2, 7] }}
p = {{ type = "decimal", scale = 2, bounds = [-1.25, 4.75] }}
flag = {{ type = "boolean" }}
d = {{ type = "date", bounds = [2020-01-01, 2020-01-03] }}

[tables.o]
privacy_unit = {{ column = "uid", references = "t" }}
max_rows_per_unit = {tau}
columns = {{ amt = {{ type = "integer", bounds = [0, 5] }}, region = {{ type = "text", values = ["a", "b"] }} }}

[tables.dim]
public = true
[tables.tiny]
public = true
""",
        delta=delta,
        dataset=dataset,
    )


_COLUMNS = "uid, region, x, k, p, flag, d"
_WITH_O = "t.uid, t.region, t.x, t.k, t.p, t.flag, t.d"

# Each gives the columns of t, so that every aggregate can stand above every operator.
RELATIONS = {
    "scan": "SELECT * FROM t",
    "filter": "SELECT * FROM t WHERE k > 0 OR x < 5 OR region = 'B'",
    "expressions": "SELECT uid, region, x / 2 AS x, -k AS k, p + 1 AS p, NOT flag AS flag, d + 1 AS d FROM t",
    "public join": f"SELECT {_WITH_O} FROM t JOIN dim ON t.region = dim.region",
    "public left join": f"SELECT {_WITH_O} FROM t LEFT JOIN dim ON t.region = dim.region AND dim.label <> 'x'",
    "public right join": f"SELECT {_WITH_O} FROM dim RIGHT JOIN t ON t.region = dim.region",
    "public cross join": f"SELECT {_WITH_O} FROM t CROSS JOIN tiny",
    "public join without equality": f"SELECT {_WITH_O} FROM t JOIN tiny ON t.k < tiny.n",
    "self join": "SELECT a.uid, a.region, b.x, a.k, b.p, a.flag, b.d FROM t a JOIN t b ON a.uid = b.uid",
    "comma join": f"SELECT {_WITH_O} FROM t, o WHERE t.uid = o.uid",
    "left join": f"SELECT {_WITH_O} FROM t LEFT JOIN o ON t.uid = o.uid AND o.amt > t.k",
    "right join": f"SELECT o.uid, {_WITH_O.partition(', ')[2]} FROM t RIGHT JOIN o ON t.uid = o.uid AND o.amt > t.k",
    "full join": f"SELECT {_WITH_O} FROM t FULL JOIN o ON t.uid = o.uid AND o.amt > t.k",
    "join using": f"SELECT uid, {_WITH_O.partition(', ')[2]} FROM t JOIN o USING (uid)",
    "exists": "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM o WHERE o.uid = t.uid AND o.amt >= t.k)",
    "not exists": "SELECT * FROM t WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.uid = t.uid AND o.amt >= t.k)",
    "in": "SELECT * FROM t WHERE uid IN (SELECT uid FROM o WHERE amt > 1)",
    "not in": "SELECT * FROM t WHERE uid NOT IN (SELECT uid FROM o WHERE amt > 1)",
    "public in": "SELECT * FROM t WHERE region IN (SELECT region FROM dim)",
    "public not in": "SELECT * FROM t WHERE region NOT IN (SELECT region FROM dim WHERE region > 'a')",
    "distinct": f"SELECT DISTINCT {_COLUMNS} FROM t",
    "unit aggregate": "SELECT uid, MIN(region) AS region, SUM(x) AS x, MAX(k) AS k, MIN(p) AS p, "
    "BOOL_OR(flag) AS flag, "
    "MAX(d) AS d FROM t GROUP BY uid",
    "unit aggregate of counts": "SELECT uid, 'a' AS region, AVG(x) AS x, COUNT(*) AS k, SUM(p) AS p, "
    "BOOL_AND(flag) AS flag, "
    "MIN(d) AS d FROM t GROUP BY uid HAVING COUNT(*) > 0",
    "unit aggregate with a key": "SELECT uid, region, MIN(x) AS x, SUM(k) AS k, MAX(p) AS p, BOOL_OR(flag) AS flag, "
    "MIN(d) AS d FROM t GROUP BY uid, region",
    "row number": "SELECT uid, region, x, ROW_NUMBER() OVER (PARTITION BY uid ORDER BY x) AS k, p, flag, d FROM t",
    "lag": "SELECT uid, region, x, k - LAG(k) OVER (PARTITION BY uid ORDER BY d) AS k, p, flag, d FROM t",
    "running sum": "SELECT uid, region, x, SUM(k) OVER (PARTITION BY uid ORDER BY d ROWS UNBOUNDED PRECEDING) AS k, "
    "SUM(p) OVER (PARTITION BY uid ORDER BY d ROWS UNBOUNDED PRECEDING) AS p, flag, d FROM t",
    "unit count window": "SELECT uid, region, x, COUNT(*) OVER (PARTITION BY uid) AS k, p, flag, d FROM t",
    "union all": f"SELECT {_COLUMNS} FROM t UNION ALL SELECT {_COLUMNS} FROM t WHERE k > 0",
    "union": f"SELECT {_COLUMNS} FROM t UNION SELECT uid, region, x, k, p, NOT flag, d FROM t",
    "except": f"SELECT {_COLUMNS} FROM t EXCEPT SELECT {_COLUMNS} FROM t WHERE k < 0",
    "intersect": f"SELECT {_COLUMNS} FROM t INTERSECT SELECT {_COLUMNS} FROM t WHERE k > 0",
    "aggregate of a join": "SELECT t.uid, t.region, MAX(t.x) AS x, SUM(o.amt) AS k, MIN(t.p) AS p, "
    "BOOL_OR(t.flag) AS flag, "
    "MIN(t.d) AS d FROM t JOIN o ON t.uid = o.uid GROUP BY t.uid, t.region",
}

RELATIONS |= {
    "scalar count": "SELECT uid, region, x, (SELECT COUNT(*) FROM o WHERE o.uid = t.uid) AS k, p, flag, d FROM t",
    "scalar maximum": "SELECT uid, region, x, (SELECT MAX(amt) FROM o WHERE o.uid = t.uid) AS k, p, flag, d FROM t",
    "scalar condition": "SELECT * FROM t WHERE k >= (SELECT MIN(amt) FROM o WHERE o.uid = t.uid)",
}

RELATIONS |= {
    "picked by an order": "SELECT uid, ARG_MAX(region, k) AS region, FIRST(x ORDER BY d DESC) AS x, "
    "ARG_MIN(k, p) AS k, LAST(p ORDER BY x) AS p, BOOL_OR(flag) AS flag, ANY_VALUE(d) AS d FROM t GROUP BY uid",
    "spreads and medians": "SELECT uid, MIN(region) AS region, STDDEV(x) AS x, MAX(k) AS k, SUM(p) AS p, "
    "VARIANCE(k) > QUANTILE_CONT(x, 0.25) AS flag, MAX(d) AS d FROM t GROUP BY uid "
    "HAVING MEDIAN(k) IS NOT NULL OR TRUE",
    "windows of doubles": "SELECT uid, NTH_VALUE(region, 2) OVER w AS region, AVG(x) OVER w AS x, k, p, "
    "PERCENT_RANK() OVER (PARTITION BY uid ORDER BY x) > 0.3 AS flag, d FROM t "
    "WINDOW w AS (PARTITION BY uid ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
    "distinct on": f"SELECT DISTINCT ON (uid, d) {_COLUMNS} FROM t ORDER BY uid, d, k DESC, x",
    "first row": "SELECT * FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY uid ORDER BY x, k) = 1",
    "first rows": f"SELECT {_COLUMNS} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY uid ORDER BY d) AS rn "
    "FROM t) AS q WHERE rn BETWEEN 2 AND 2 AND rn < 9",
    "first row again": f"SELECT a.{_COLUMNS.replace(', ', ', a.')} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY uid "
    "ORDER BY x) AS rn FROM t) a JOIN (SELECT uid AS u, k AS other FROM t) b ON a.uid = b.u WHERE a.rn = 1",
    "values": f"SELECT {_WITH_O} FROM t JOIN (VALUES (7, 'x'), (7, 'y'), (-2, 'z'), (NULL, 'n')) AS v(n, s) "
    "ON t.k = v.n",
    "range": f"SELECT {_WITH_O} FROM t JOIN range(8) AS r ON t.k >= r",
    "column names": f"SELECT {_COLUMNS} FROM (SELECT {_COLUMNS} FROM t) AS q(uid, region, x, k)",
    "rows in a list": "SELECT * FROM t WHERE (k, flag) IN ((7, TRUE), (-2, FALSE)) OR (region, k) NOT IN (('b', 0))",
    "latest rows": "SELECT * FROM t WHERE (uid, d) IN (SELECT uid, MAX(d) FROM t AS u GROUP BY uid)",
    "looked up": "SELECT uid, region, x, k, p, flag, d FROM t WHERE COALESCE((SELECT v.s FROM (VALUES (7, 'x'), "
    "(0, 'y')) AS v(n, s) WHERE v.n = t.k), 'x') = 'x'",
}


def composed(outer: str, inner: str) -> str:
    """The outer relation with the inner one wherever it reads t."""
    below = f"({RELATIONS[inner]})"
    text = re.sub(r"(FROM|JOIN|,) t\b(?!\.)(?! (a|b)\b)(?! AS)", rf"\1 {below} AS t", RELATIONS[outer])
    return re.sub(r"(FROM|JOIN) t (a|b)\b", rf"\1 {below} AS \2", text)


_NAN, _INF = float("nan"), float("inf")
_POOL: dict[str, list[Any]] = {
    "uid": [*UNITS, None],
    "region": ["a", "A", "b", "B", "zz", "", None],
    "x": [0.0, -0.0, _NAN, _INF, -_INF, 10.25, -3.5, 4.0, 1e308, -1e308, None],
    "k": [-2, 7, 0, 3, 2**31 - 1, -(2**31), None],
    "p": [
        Decimal("-1.25"),
        Decimal("4.75"),
        Decimal("0.01"),
        Decimal("9999999999.99"),
        Decimal("-9999999999.99"),
        None,
    ],
    "flag": [True, False, None],
    "d": [dt.date(2020, 1, 1), dt.date(2020, 1, 3), dt.date(1, 1, 1), dt.date(9999, 12, 31), None],
}
_O_POOL: dict[str, list[Any]] = {
    "uid": [*UNITS, 77, None],
    "amt": [0, 5, 3, 2**62, -(2**62), None],
    "region": ["a", "b", "A", None],
}

Rows = list[tuple[Any, ...]]


def random_rows(seed: int) -> tuple[Rows, Rows]:
    """Rows of t and o: few different values, so that duplicates and ties are common."""
    generator = random.Random(seed)

    def draw(pool: dict[str, list[Any]], count: int) -> Rows:
        rows = [tuple(generator.choice(values) for values in pool.values()) for _ in range(count)]
        return rows + [generator.choice(rows) for _ in range(count // 3)]

    return draw(_POOL, generator.randint(4, 14)), draw(_O_POOL, generator.randint(3, 9))


def heavy_rows() -> Iterator[tuple[Rows, Rows]]:
    """Databases in which unit 1 has more rows than are kept, all at one end of every range and in one group, and one in
    which it has as many different rows as are kept."""
    ends = ((10.25, 7, Decimal("4.75"), 5), (-3.5, -2, Decimal("-1.25"), 5), (-3.5, -2, Decimal("4.75"), 0))
    for number, (x, k, p, amt) in enumerate(ends):
        row = ("a", x, k, p, number < 2, dt.date(2020, 1, 3))
        t = [(1, *row)] * (TAU + 1) + [(2, "a", 1.0, 1, Decimal(1), True, dt.date(2020, 1, 1))]
        yield t, [(1, amt, "a")] * (TAU + 1) + [(2, 1, "b")]
    # Different rows, for operators that merge equal ones.
    different = [(1, "ab"[i], 10.25, 7 - i, Decimal("4.75"), True, dt.date(2020, 1, 1 + i)) for i in range(TAU)]
    yield different, [(1, 5, "a"), (1, 4, "a")]


def open_world(*, dataset: str = "", **terms: Any) -> World:
    """A data set of these tables, its public ones filled."""
    world = World(catalog(dataset=dataset), DDL, **terms)
    dim, tiny = public_rows()
    world.load("dim", dim)
    world.load("tiny", tiny)
    return world


def public_rows() -> tuple[Rows, Rows]:
    """dim holds `a` twice and a NULL; tiny has three rows."""
    return [("a", "x"), ("a", "y"), ("b", "z"), (None, "z"), ("c", "x")], [(0,), (5,), (9,)]


def without(rows: Rows, unit: int) -> Rows:
    return [row for row in rows if row[0] != unit]
