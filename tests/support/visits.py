"""A table of visits to be written to files of any kind, its catalog, and one question whose answer is known.

Flow: tests of sources write `ROWS` down, and compare `answer_of` the file with `expected_answer`.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from dither.catalog.load import loads
from dither.noise import insecure_seeded
from dither.session.open import open_catalog

__all__ = ["CATALOG", "ROWS", "answer_of", "expected_answer"]

ROWS = """SELECT i % 20 AS person, 'g' || (i % 3) AS g, CAST(i AS DOUBLE) / 2 AS x,
  DATE '2024-01-01' + CAST(i % 31 AS INTEGER) AS d FROM range(100) t(i)"""
CATALOG = """
[dataset]
name = "sources"
[source]
url = "{url}"
[unit]
name = "person"
[budget]
epsilon = 1000000
[tables.{table}]
privacy_unit = "person"
max_rows_per_unit = 5
[tables.{table}.columns]
g = {{ type = "text", values = ["g0", "g1", "g2"] }}
x = {{ type = "double", bounds = [0, 50] }}
d = {{ type = "date", bounds = [2024-01-01, 2024-01-31] }}
"""


def answer_of(url: Path, table: str = "visits") -> list[tuple[object, ...]]:
    session = open_catalog(loads(CATALOG.format(url=url, table=table)), ledger="", entropy=insecure_seeded(1))
    question = (
        f"SELECT g, COUNT(*) AS n, SUM(x) AS s FROM {table} WHERE g IS NOT NULL AND d < DATE '2024-01-20' GROUP BY g"
    )
    with session:
        return [(g, n, round(s / 10)) for g, n, s in session.ask(question, epsilon=900000)]


def expected_answer() -> list[tuple[object, ...]]:
    question = f"SELECT g, count(*), sum(x) FROM ({ROWS}) WHERE d < DATE '2024-01-20' GROUP BY g ORDER BY g"
    return [(g, n, round(s / 10)) for g, n, s in duckdb.execute(question).fetchall()]
