"""How much slower a private answer is than the plain GROUP BY: ratios within one run, memory beside speed.

    python benchmarks/run.py engine [--rows 20000000] [--repeat 5] [--source native|parquet|both]

Data: rows assigned at random, 20 a unit on average, of which 28 are kept (3.4 % of units have more); 1000 groups; a
value in [0, 100], outside it in 1 % (or 8 %) of the rows. Each variant runs in its own process for its peak memory.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import duckdb

TAU = 28
VARIANTS = ("plain", "row", "row tuned", "unit tuned", "unit cold", "row 8 % clamped", "row tuned 8 % clamped",
            "unit tuned 8 % clamped")  # fmt: skip
BARS = {"row": 1.5, "row tuned": 1.5, "unit tuned": 1.8, "unit cold": 15.0}
MEMORY_BARS = {"row": 1.3, "row tuned": 1.3, "unit tuned": 1.3, "unit cold": 2.5}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--source", default="both")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "data")
    parser.add_argument("--one", nargs=2)
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(_measure(options.folder, *options.one, options.repeat)))
        return
    make(options.folder, options.rows)
    kinds = ("native", "parquet") if options.source == "both" else (options.source,)
    for kind in kinds:
        # Stored once by a process of its own, as an owner would, so that questions do not bear its memory.
        for unit in ("row", "unit"):
            _in_process(options, kind, f"{unit} tune once")
        results = {variant: _in_process(options, kind, variant) for variant in VARIANTS}
        _print(kind, results, options.rows)
    _overhead()
    _cold_start()


def _print(kind: str, results: dict[str, dict[str, float]], rows: int) -> None:
    plain = results["plain"]
    print(f"\n{kind}, {rows:,} rows, duckdb {duckdb.__version__}: COUNT(*), SUM(x) by 1000 groups, median (spread)")
    print(f"{'variant':24s} {'seconds':>16s} {'ratio':>7s} {'bar':>5s} {'peak MB':>8s} {'ratio':>6s} {'bar':>5s}")
    for variant, found in results.items():
        seconds = f"{found['median']:.3f} ({found['low']:.3f}-{found['high']:.3f})"
        ratio, memory = found["median"] / plain["median"], found["peak_mb"] / plain["peak_mb"]
        bar, memory_bar = BARS.get(variant, ""), MEMORY_BARS.get(variant, "")
        peak = f"{found['peak_mb']:8.0f} {memory:6.2f} {memory_bar!s:>5s}"
        print(f"{variant:24s} {seconds:>16s} {ratio:7.2f} {bar!s:>5s} {peak}")


def _in_process(options: argparse.Namespace, kind: str, variant: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", kind, variant, "--repeat", str(options.repeat)]
    command += ["--folder", str(options.folder)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def _measure(folder: Path, kind: str, variant: str, repeat: int) -> dict[str, float]:
    source = folder / ("visits.duckdb" if kind == "native" else "visits.parquet")
    column = "y" if "8 %" in variant else "x"
    times = _plain(source, kind, repeat) if variant == "plain" else _private(source, kind, variant, column, repeat)
    # Not ru_maxrss: that is inherited from the parent, which made the data.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    return {"median": statistics.median(times), "low": min(times), "high": max(times), "peak_mb": peak}


def _plain(source: Path, kind: str, repeat: int) -> list[float]:
    connection = duckdb.connect(":memory:")
    table = f"'{source}'"
    if kind == "native":
        connection.execute(f"ATTACH '{source}' AS s (READ_ONLY)")
        table = "s.visits"
    query = f"SELECT g, count(*), sum(x) FROM {table} GROUP BY g"
    connection.execute(query).fetchall()
    return [timed(lambda: connection.execute(query).fetchall()) for _ in range(repeat)]


def _private(source: Path, kind: str, variant: str, column: str, repeat: int) -> list[float]:
    import dither
    from dither.catalog.load import loads
    from dither.session.open import open_catalog

    del dither
    tuned = "tune" in variant
    ledger = source.parent / f"{kind}-{variant.split()[0]}{'-tuned' if tuned else ''}.ledger"
    catalog = loads(catalog_text(source, ledger, row=variant.startswith("row")))
    ledger.unlink(missing_ok=True)
    session = open_catalog(catalog)
    if "tune once" in variant:
        session.tune("visits")
        return [0.0, 0.0]
    times = []
    for i in range(repeat + 1):
        # COUNT(x) and the sum would share a vector; the question is the plain one.
        question = f"SELECT g, COUNT(*), SUM({column}) FROM visits GROUP BY g"
        session.ledger.open_release(f"run {i} {time.time_ns()}")
        times.append(timed(lambda q=question: session.ask(q, epsilon=0.5)))
    return times[1:]


def catalog_text(source: Path, ledger: Path, *, row: bool) -> str:
    """The catalog over the table: the row as unit, or the person."""
    unit = '"row"' if row else f'"u"\nmax_rows_per_unit = {TAU}'
    return (
        f'[dataset]\nname = "bench"\nledger = "{ledger}"\n[source]\nurl = "{source}"\n[unit]\nname = "person"\n'
        f"[budget]\nepsilon = 1000000\n[tables.visits]\nprivacy_unit = {unit}\n[tables.visits.columns]\n"
        'g = { type = "integer", bounds = [0, 999] }\nx = { type = "double", bounds = [0, 100] }\n'
        'y = { type = "double", bounds = [0, 100] }\n'
    )


def timed(work: object) -> float:
    start = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - start


def make(folder: Path, rows: int) -> None:
    """The table, once: 2.5 % of units with 100 rows each, the rest evenly random."""
    folder.mkdir(exist_ok=True)
    database, parquet = folder / "visits.duckdb", folder / "visits.parquet"
    if database.exists():
        with duckdb.connect(str(database), read_only=True) as connection:
            if connection.execute("SELECT count(*) FROM visits").fetchone() == (rows,):
                return
    for path in (database, parquet):
        path.unlink(missing_ok=True)
    connection = duckdb.connect(str(database))
    connection.execute("SELECT setseed(0.5)")
    connection.execute(
        f"""CREATE TABLE visits AS SELECT
              CAST(floor(random() * {rows // 20}) AS BIGINT) AS u,
              CAST(floor(random() * 1000) AS INTEGER) AS g,
              CASE WHEN random() < 0.01 THEN random() * 1000 - 500 ELSE random() * 100 END AS x,
              CASE WHEN random() < 0.08 THEN random() * 1000 - 500 ELSE random() * 100 END AS y
            FROM range({rows}) AS t(i)"""
    )
    connection.execute(f"COPY visits TO '{parquet}' (FORMAT parquet, COMPRESSION zstd)")
    connection.close()


def _overhead() -> None:
    """What an ask costs apart from its engine: small data, warm, against two fsyncs measured here."""
    import os
    import tempfile

    import numpy as np
    import pandas as pd

    import dither

    generator = np.random.default_rng(1)
    frame = pd.DataFrame({"u": generator.integers(0, 500, 5000), "g": generator.integers(0, 100, 5000)})
    with tempfile.TemporaryDirectory() as folder:
        session = dither.open(
            frame,
            privacy_unit="u",
            budget=10**6,
            bounds={"g": (0, 99)},
            max_rows_per_unit=20,
            ledger=f"{folder}/l.ledger",
        )
        inside = [0.0]

        def watch(work: object) -> object:
            def watched(*args: object) -> object:
                start = time.perf_counter()
                result = work(*args)  # type: ignore[operator]
                inside[0] += time.perf_counter() - start
                return result

            return watched

        # The engine's share: binding and planning the SQL, and running it.
        for name in ("prepare", "measure"):
            setattr(session.engine, name, watch(getattr(session.engine, name)))
        owns = []
        for i in range(60):
            inside[0] = 0.0
            question = f"SELECT g, COUNT(*) FROM data WHERE g < {i + 10} GROUP BY g"
            total = timed(lambda q=question: session.ask(q, epsilon=0.1))
            owns.append(total - inside[0])
        own = statistics.median(owns[10:])
        with open(f"{folder}/sync", "wb") as file:
            syncs = []
            for _ in range(50):
                file.write(b"x" * 4096)
                file.flush()
                syncs.append(timed(lambda: os.fsync(file.fileno())))
        two = 2 * statistics.median(syncs)
    print(f"\noverhead of ask: {own * 1e3:.1f} ms, of which two fsyncs {two * 1e3:.1f} ms (bar: 10 ms + two fsyncs)")


def _cold_start() -> None:
    """From process start to the first answer, one million rows of Parquet."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.parquet"
        duckdb.execute(
            f"COPY (SELECT i // 10 AS u, i % 100 AS g FROM range(1000000) AS t(i)) TO '{path}' (FORMAT parquet)"
        )
        code = (
            f"import dither; db = dither.open({str(path)!r}, privacy_unit='u', budget=1, max_rows_per_unit=10, "
            "bounds={'g': (0, 99)}); db.ask('SELECT g, COUNT(*) FROM million GROUP BY g', epsilon=0.5)"
        )
        times = [timed(lambda: subprocess.run([sys.executable, "-c", code], check=True)) for _ in range(5)]
    print(f"cold process to first answer, 1M rows: {statistics.median(times):.2f} s (bar: 1.0 s)")


if __name__ == "__main__":
    main(sys.argv[1:])
