"""How fast a ledger takes questions, beside bare SQLite doing the same number of durable transactions.

    python benchmarks/ledger.py [--seconds 5] [--processes 8] [--folder DIR]

Prints one table: pairs of reserve and answer per second, with how long a single call waited. The bare loop commits two
rows of the same size in two transactions per pair, with the same durability, under the same number of processes: what
the disk and SQLite's lock allow. The folder decides which disk is measured.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import sqlalchemy

from dither.accounting.events import LaplaceEvent
from dither.accounting.price import price
from dither.catalog.model import BudgetTerms
from dither.ledger import NewVector, ReservationRequest
from dither.ledger.ledger import Ledger

EVENT = LaplaceEvent(Fraction(1000), 1)
PAYLOAD = random.Random(1).randbytes(400)
Pair = Callable[[], Iterator[None]]
"""Runs one pair of durable steps, yielding after each."""


def main() -> None:
    options = _options()
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"SQLAlchemy {sqlalchemy.__version__}, SQLite {sqlite3.sqlite_version}; "
        f"{options.seconds:g} s each, load {os.getloadavg()[0]:.1f}\n"
    )
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        print(f"one fsync of 4 KiB on this disk: {_fsync_ms(folder):.2f} ms\n")
        print(f"{'':28}{'pairs/s':>9}{'median ms':>11}{'p99 ms':>9}{'longest ms':>12}")
        rates = {}
        for processes in sorted({1, options.processes}):
            for name, start in (("bare SQLite", _bare), ("ledger", _ledger)):
                path = os.path.join(folder, f"{name.split()[0]}-{processes}")
                rates[name, processes] = _measure(name, start, path, processes, options.seconds)
        for processes in sorted({1, options.processes}):
            ratio = rates["ledger", processes] / rates["bare SQLite", processes]
            print(f"\nledger / bare SQLite, {processes} process(es): {ratio:.2f}", end="")
        print(f"\n\nopen an existing ledger: {_open_ms(os.path.join(folder, 'ledger-1')):.1f} ms")
        print(f"import SQLAlchemy and its SQLite dialect, in a fresh process: {_import_s():.2f} s")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--folder", default=None, help="where to put the files; default: the system's")
    return parser.parse_args()


def _ledger(path: str) -> Pair:
    ledger = _open(path)
    cost = price(EVENT)
    name = f"analyst {os.getpid()}"

    def pair() -> Iterator[None]:
        request = ReservationRequest(name, "SELECT count(*) FROM visits", "f" * 64, cost, (EVENT,), ("v" * 64,), "1")
        reservation = ledger.reserve(request)
        yield
        ledger.answer(reservation, [NewVector("v" * 64, {"kind": "laplace", "scale": "1000"}, cost, PAYLOAD)])
        yield

    return pair


def _bare(path: str) -> Pair:
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS entry (id INTEGER PRIMARY KEY, body TEXT)")

    def pair() -> Iterator[None]:
        for _ in range(2):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO entry (body) VALUES (?)", ("x" * 1200,))
            connection.execute("COMMIT")
            yield

    return pair


def _open(path: str) -> Ledger:
    terms = BudgetTerms(epsilon=Fraction(10**9))
    return Ledger.open(path, dataset="d", promise_digest="a" * 64, budget=terms, analysts={}, wait_s=60)


def _measure(name: str, start: Callable[[str], Pair], path: str, processes: int, seconds: float) -> float:
    """Pairs per second of all processes together; prints them with the time single steps took."""
    start(path)
    results = []
    begin = time.monotonic() + 0.5
    for _ in range(processes):
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.close(reader)
            try:
                times = _work(start(path), begin, seconds)
                with os.fdopen(writer, "w") as out:
                    out.write("\n".join(f"{step:.6f}" for step in times))
            finally:
                os._exit(0)
        os.close(writer)
        results.append(reader)
    times = []
    for reader in results:
        with os.fdopen(reader) as said:
            times += [float(line) for line in said.read().split()]
        os.wait()
    rate = len(times) / 2 / seconds
    label = f"{name}, {processes} process{'es' if processes > 1 else ''}"
    p99 = statistics.quantiles(times, n=100)[98]
    print(f"{label:28}{rate:9.0f}{statistics.median(times) * 1e3:11.2f}{p99 * 1e3:9.1f}{max(times) * 1e3:12.0f}")
    return rate


def _work(pair: Pair, begin: float, seconds: float) -> list[float]:
    """How long each step took, until the time is over."""
    times: list[float] = []
    time.sleep(max(0.0, begin - time.monotonic()))
    end = begin + seconds
    while (last := time.monotonic()) < end:
        for _ in pair():
            now = time.monotonic()
            times.append(now - last)
            last = now
    return times


def _fsync_ms(folder: str) -> float:
    times = []
    with open(os.path.join(folder, "fsync"), "wb") as file:
        for _ in range(200):
            start = time.perf_counter()
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def _open_ms(path: str) -> float:
    times = []
    for _ in range(20):
        start = time.perf_counter()
        _open(path).close()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def _import_s() -> float:
    code = "import time; t = time.perf_counter(); import sqlalchemy.dialects.sqlite; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    return min(float(run.stdout) for run in runs)


if __name__ == "__main__":
    os.chdir(Path(__file__).parent)
    main()
