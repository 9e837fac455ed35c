"""How much slower a private quantile, distinct count and planning are than DuckDB's own: ratios within one run.

    python benchmarks/run.py aggregates [--repeat 5]

Over the native table of `engine.py` (20 million rows), each after one run to warm up, plain and private in turn: the
row as unit and a person as unit, as the source is and as `dither tune` stored it. And what heavy units cost in time: a
join of a table with itself, with and without one unit of very many rows.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import duckdb
import engine

QUESTIONS = {
    "MEDIAN(x)": ("SELECT MEDIAN(x) FROM visits", 1.5),
    "COUNT(DISTINCT u) by g": ("SELECT g, COUNT(DISTINCT u) FROM visits GROUP BY g", 1.3),
}
TEN_CLAUSES = (
    "WITH v AS (SELECT u, g, x FROM visits WHERE x > 1 AND g < 900) "
    "SELECT g, COUNT(*) AS n, SUM(x), AVG(x) FILTER (WHERE x < 50) FROM v WHERE x BETWEEN 2 AND 90 "
    "GROUP BY g HAVING COUNT(*) > 5 QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC) < 100 ORDER BY n DESC, g LIMIT 20"
)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "data")
    options = parser.parse_args(arguments)
    engine.make(options.folder, 20_000_000)
    source = options.folder / "visits.duckdb"
    print(f"{'question':26s} {'variant':12s} {'seconds':>9s} {'plain':>7s} {'ratio':>7s} {'bar':>5s}")
    for name, (sql, bar) in QUESTIONS.items():
        for unit in ("row", "person"):
            if unit == "row" and "DISTINCT u" in sql:
                continue
            for tuned in (False, True):
                plain, found = _in_turn(source, unit, sql, options.repeat, tuned=tuned)
                variant = f"{unit}{' tuned' if tuned else ''}"
                print(f"{name:26s} {variant:12s} {found:9.3f} {plain:7.3f} {found / plain:7.2f} {bar:5.1f}", flush=True)
    _planning(source)
    _heavy_unit(options.repeat)


def _in_turn(source: Path, unit: str, sql: str, repeat: int, *, tuned: bool) -> tuple[float, float]:
    """Seconds of DuckDB alone and of Dither, medians."""
    connection = duckdb.connect(":memory:")
    connection.execute(f"ATTACH '{source}' AS s (READ_ONLY)")
    connection.execute("USE s")
    with tempfile.TemporaryDirectory() as folder, _open(source, unit, Path(folder)) as session:
        if tuned:
            session.tune("visits")
        both = (lambda: connection.execute(sql).fetchall(), lambda: _ask_anew(session, sql))
        seconds = [[engine.timed(work) for work in both] for _ in range(repeat + 1)][1:]
    plain, found = (statistics.median(times) for times in zip(*seconds, strict=True))
    return plain, found


def _planning(source: Path) -> None:
    from dither.plan.offer import Offer

    with tempfile.TemporaryDirectory() as folder, _open(source, "person", Path(folder)) as session:
        offer = Offer.create(epsilon=1)
        seconds = _median(lambda: session.price_of(session.plan(TEN_CLAUSES), offer), 20)
    print(f"parse, bind, plan and price of a question of ten clauses: {seconds * 1e3:.1f} ms (bar: 15 ms)")


def _heavy_unit(repeat: int) -> None:
    """20,000 rows of 2,000 units, and once 20,000 more of one unit: its join with itself would be 4 * 10^8 rows."""
    import numpy as np
    import pandas as pd

    import dither

    generator = np.random.default_rng(1)
    rows = pd.DataFrame({"u": generator.integers(0, 2000, 20_000), "k": generator.integers(0, 9, 20_000)})
    one = pd.DataFrame({"u": np.full(20_000, 5000), "k": generator.integers(0, 9, 20_000)})
    sql = "SELECT COUNT(*) FROM data AS a JOIN data AS b ON a.u = b.u JOIN data AS c ON a.u = c.u"
    seconds = []
    for frame in (rows, pd.concat([rows, one], ignore_index=True)):
        bounds = {"k": (0, 8)}
        with dither.open(frame, privacy_unit="u", budget=10**6, bounds=bounds, max_rows_per_unit=10) as session:
            seconds.append(_median(lambda s=session: _ask_anew(s, sql), repeat))
    without, with_it = seconds
    print(
        f"three-fold join of a table with itself: {without * 1e3:.1f} ms, with a unit of 20,000 rows "
        f"{with_it * 1e3:.1f} ms ({with_it / without:.2f} times; ranking its rows is what it costs)"
    )


def _open(source: Path, unit: str, folder: Path):  # type: ignore[no-untyped-def]
    from dither.catalog.load import loads
    from dither.session.open import open_catalog

    return open_catalog(loads(engine.catalog_text(source, folder / "one.ledger", row=unit == "row")))


def _ask_anew(session, sql: str) -> None:  # type: ignore[no-untyped-def]
    session.ledger.open_release(f"run {time.time_ns()}")
    session.ask(sql, epsilon=0.5)


def _median(work, repeat: int) -> float:  # type: ignore[no-untyped-def]
    work()
    return statistics.median(engine.timed(work) for _ in range(repeat))


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
