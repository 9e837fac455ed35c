"""The audit's own catalog and questions: one of each shape that the pipeline treats in a way of its own.

Flow: `run` audits these unless it is given a catalog and questions of somebody's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypedDict

from dither.audit.pipeline.world import Tables
from dither.catalog.load import loads
from dither.catalog.model import Catalog
from dither.session.invented import invented_rows

__all__ = ["DDL", "MUST_BE_REFUSED", "NASTY", "QUESTIONS", "WISHED", "Offer", "Question", "own_catalog", "public_rows"]


class Offer(TypedDict):
    epsilon: Fraction | None
    rho: Fraction | None


@dataclass(frozen=True)
class Question:
    """A SELECT and what it may cost: epsilon, or, where that is None, rho; neither where the text states an offer."""

    sql: str
    epsilon: Fraction | None = Fraction(1)
    rho: Fraction | None = None

    @property
    def offer(self) -> Offer:
        return {"epsilon": self.epsilon, "rho": self.rho}


_CATALOG = """
[dataset]
name = "audit"
{terms}
[source]
url = "invented.duckdb"
[unit]
name = "person"
[budget]
epsilon = {epsilon}
delta = {delta}
{budget}
{analysts}
[tables.t]
privacy_unit = "uid"
max_rows_per_unit = 3
[tables.t.columns]
region = {{ type = "text", values = ["a", "b", "B"] }}
note = {{ type = "text" }}
x = {{ type = "double", bounds = [-3.5, 10.25] }}
k = {{ type = "integer", bounds = [-2, 7] }}
flag = {{ type = "boolean" }}
d = {{ type = "date", bounds = [2020-01-01, 2020-01-03] }}
[tables.o]
privacy_unit = {{ column = "uid", references = "t" }}
max_rows_per_unit = 2
columns = {{ amt = {{ type = "integer", bounds = [0, 5] }} }}
[tables.dim]
public = true
columns = {{ region = {{ type = "text" }}, label = {{ type = "text" }} }}
"""
DDL = {
    # A case-insensitive text column shows 'a' or 'A' by the order of storage, unless the pipeline sees to it.
    "t": "uid BIGINT, region VARCHAR COLLATE NOCASE, note VARCHAR, x DOUBLE, k BIGINT, flag BOOLEAN, d DATE",
}
_PUBLIC: Tables = {"dim": [("a", "north"), ("a", "south"), ("b", "south"), (None, "none"), ("c", "north")]}


def own_catalog(
    *, replace: bool = False, epsilon: str = "1e9", delta: str = "1e-5", budget: str = "", analysts: str = ""
) -> Catalog:
    terms = 'neighbours = "replace"' if replace else ""
    return loads(_CATALOG.format(terms=terms, epsilon=epsilon, delta=delta, budget=budget, analysts=analysts))


def public_rows(catalog: Catalog) -> Tables:
    """Rows of the public tables: the audit's own, or invented ones of somebody's catalog."""
    if catalog.name == "audit" and "dim" in catalog.tables:
        return _PUBLIC
    invented = invented_rows(catalog)
    return {
        key: [tuple(row.values()) for row in invented[key]] for key, table in catalog.tables.items() if table.is_public
    }


WISHED = "/* within 20 */ SELECT COUNT(*), SUM(k) FROM t WHERE flag"
"""An offer by the accuracy wanted, in the text."""
QUESTIONS = (
    Question("SELECT COUNT(*) FROM t"),
    Question("SELECT region, COUNT(*), SUM(k), SUM(x) FROM t GROUP BY region"),
    Question("SELECT AVG(x), VAR_POP(x), CORR(x, k) FROM t"),
    Question("SELECT region, SUM(k * 0.25), AVG(CAST(k AS DECIMAL(9, 2))) FROM t GROUP BY region"),
    Question("SELECT COUNT(DISTINCT uid), COUNT(DISTINCT k) FROM t WHERE x > 0"),
    Question("SELECT COUNT(*), SUM(k) FROM t", epsilon=None, rho=Fraction(1, 3)),
    Question("SELECT label, COUNT(*) FROM t JOIN dim ON t.region = dim.region GROUP BY label"),
    Question("SELECT SUM(o.amt), COUNT(*) FROM t JOIN o ON t.uid = o.uid"),
    Question("SELECT COUNT(*) FROM t a JOIN t b ON a.uid = b.uid"),
    Question("SELECT SUM(k) FROM t WHERE EXISTS (SELECT 1 FROM o WHERE o.uid = t.uid AND o.amt >= t.k)"),
    Question("SELECT SUM(n) FROM (SELECT uid, COUNT(*) AS n FROM t GROUP BY uid) AS q"),
    Question("SELECT COUNT(*) FROM (SELECT uid, SUM(x) AS s FROM t GROUP BY uid) AS q WHERE s > 0.6"),
    Question(
        "SELECT SUM(k) FROM (SELECT k, ROW_NUMBER() OVER (PARTITION BY uid ORDER BY x) AS r FROM t) AS q WHERE r = 1"
    ),
    Question("SELECT SUM(a), COUNT(m) FROM (SELECT uid, ARG_MAX(k, d) AS a, MEDIAN(x) AS m FROM t GROUP BY uid) AS q"),
    Question("SELECT COUNT(*) FROM (SELECT uid, STDDEV(x) AS s FROM t GROUP BY uid) AS q WHERE s > 0.6"),
    Question("SELECT SUM(k) FROM (SELECT DISTINCT ON (uid) uid, k FROM t ORDER BY uid, d) AS q"),
    Question(
        "SELECT v.s, COUNT(*) FROM t JOIN (VALUES (7, 'x'), (7, 'y'), (0, 'z')) AS v(n, s) ON t.k = v.n GROUP BY v.s"
    ),
    Question("SELECT REGR_SLOPE(x, k), SKEWNESS(k) FROM t"),
    Question("SELECT region, MEDIAN(x), MAX(k) FROM t GROUP BY region"),
    Question("SELECT note, COUNT(*), SUM(k) FROM t GROUP BY note"),
    Question("SELECT region, flag, COUNT(*) FROM t GROUP BY GROUPING SETS ((region, flag), (region), ())"),
    Question(
        "SELECT region, flag, COUNT(*), SUM(k) FROM t GROUP BY CUBE (region, flag)", epsilon=None, rho=Fraction(1, 3)
    ),
    Question("SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(x) FROM t)"),
    Question(
        "SELECT COUNT(*) FROM t JOIN (SELECT region, COUNT(*) AS n FROM t GROUP BY region) AS q "
        "ON t.region = q.region WHERE q.n > 2"
    ),
    Question("SELECT d, SUM(COUNT(*)) OVER (ORDER BY d) AS running FROM t GROUP BY d"),
    Question("SELECT COUNT(*) FROM (SELECT uid, region FROM t UNION ALL SELECT uid, 'a' FROM o) AS q"),
    Question(WISHED, epsilon=None),
)

# What would fail in an ordinary database on the values of one row, and on no other.
NASTY = (
    Question("SELECT COUNT(*) FROM t WHERE CAST(note AS INTEGER) > 1"),
    Question("SELECT COUNT(*) FROM t WHERE note = 1"),
    Question("SELECT COUNT(*) FROM t WHERE note"),
    Question("SELECT COUNT(*) FROM t WHERE k * 2000000000 > 1 OR 10 / k > 1 OR 10 % k > 1"),
    Question("SELECT COUNT(*) FROM t WHERE LN(x) > 0 OR SQRT(x) > 1 OR EXP(x * 1000) > 1"),
    Question("SELECT SUM(LEAST(GREATEST(1 / x, -5), 5)) FROM t"),
    Question("SELECT COUNT(*) FROM t WHERE CAST(x AS INTEGER) > 1 OR d + k > d"),
    Question("SELECT COUNT(*) FROM o"),
    Question("SELECT CAST('x' AS INTEGER) + COUNT(*) FROM t"),
    Question("SELECT COUNT(*) FROM t", epsilon=Fraction(1, 10**6)),
    Question("SELECT COUNT(*) FROM t", epsilon=Fraction(10**12)),
)

# Each of these mixes people, or depends on how rows are stored: to accept one is a violation by itself.
MUST_BE_REFUSED = (
    "SELECT * FROM t",
    "SELECT uid, COUNT(*) FROM t GROUP BY uid",
    "SELECT COUNT(*) FROM t a CROSS JOIN t b",
    "SELECT COUNT(*) FROM t a JOIN t b ON a.region = b.region",
    "SELECT COUNT(*) FROM dim LEFT JOIN t ON dim.region = t.region",
    "SELECT COUNT(*) FROM t RIGHT JOIN dim ON dim.region = t.region",
    "SELECT COUNT(*) FROM dim FULL JOIN t ON dim.region = t.region",
    "SELECT COUNT(*) FROM dim WHERE EXISTS (SELECT 1 FROM t WHERE t.region = dim.region)",
    "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM o WHERE o.amt = t.k)",
    "SELECT COUNT(*) FROM (SELECT * FROM t LIMIT 5) AS q",
    "SELECT COUNT(*) FROM (SELECT * FROM t ORDER BY x LIMIT 5) AS q",
    "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY x) AS r FROM t) AS q WHERE r = 1",
    "SELECT COUNT(*) FROM t USING SAMPLE 10 ROWS",
    "SELECT COUNT(*) FROM t WHERE RANDOM() > 0.5",
    "SELECT COUNT(*) FROM (SELECT region FROM t UNION ALL SELECT region FROM dim) AS q",
    "SELECT ANY_VALUE(k) FROM t",
    "SELECT FIRST(k ORDER BY d) FROM t",
    "SELECT SUM(a) FROM (SELECT uid, FIRST(k) AS a FROM t GROUP BY uid) AS q",
    "SELECT COUNT(*) FROM (SELECT DISTINCT ON (region) uid, region FROM t ORDER BY region, x) AS q",
    "SELECT COUNT(*) FROM (SELECT DISTINCT ON (uid) uid, region FROM t) AS q",
    "SELECT STRING_AGG(note, ',') FROM t",
    "SELECT SUM(LENGTH(note) * 1e200) FROM t",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT COUNT(*) FROM r, t",
)
