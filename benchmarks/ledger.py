"""How fast a ledger takes questions, beside bare SQLite doing the same number of durable transactions.

    python benchmarks/ledger.py [--seconds 5 | --spends 1000] [--processes 8] [--folder DIR] [--postgres URL]

Prints one table: spends (pairs of reserve and answer) per second, with how long a single call waited. The bare loop
commits two rows of the same size in two transactions per pair, with the same durability, under the same number of
processes: what the disk and SQLite's lock allow. The folder decides which disk is measured. A PostgreSQL server is
started for the run, as the tests do, where its programs are installed; or name a database without a ledger.
With --spends every process does that many, and all totals are compared with what was spent. The bars: the ledger in a
file at 500 spends a second or 0.6 of the bare loop, no call above one second, every total exact. Exit status 1 when
one is missed.
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
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

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
    size = f"{options.spends} spends a process" if options.spends else f"{options.seconds:g} s each"
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}; {size}, load {os.getloadavg()[0]:.1f}\n"
    )
    missed: list[str] = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, _postgres(options.postgres) as server:
        print(f"one fsync of 4 KiB on this disk: {_fsync_ms(folder):.2f} ms\n")
        print(f"{'':28}{'spends/s':>9}{'median ms':>11}{'p99 ms':>9}{'longest ms':>12}")
        rates = {}
        for processes in sorted({1, options.processes}):
            places = [
                ("bare SQLite", _bare, f"{folder}/bare-{processes}"),
                ("ledger", _ledger, f"{folder}/l-{processes}"),
            ]
            if server is not None:
                places.append(("PostgreSQL", _ledger, _schema(server, f"p{processes}")))
            for name, start, place in places:
                rate, longest = _measure(name, start, place, processes, options)
                rates[name, processes] = rate
                if start is _ledger:
                    missed += _missed(name, place, processes, options.spends, longest)
        for processes in sorted({1, options.processes}):
            rate = rates["ledger", processes]
            ratio = rate / rates["bare SQLite", processes]
            print(f"\nledger / bare SQLite, {processes} process(es): {ratio:.2f}", end="")
            if rate < 500 and ratio < 0.6:
                missed.append(f"ledger, {processes} process(es): {rate:.0f} spends/s, {ratio:.2f} of the bare loop")
        print(f"\n\nopen an existing ledger: {_open_ms(os.path.join(folder, 'l-1')):.1f} ms")
        seconds, megabytes = _first_open(os.path.join(folder, "l-1"))
        print(f"the same in a fresh process, imports included: {seconds:.2f} s, {megabytes:.1f} MB resident then")
    if missed:
        sys.exit("missed: " + "; ".join(missed))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--spends", type=int, default=0, help="how many each process does; default: as --seconds allow")
    parser.add_argument("--postgres", default=None, help="postgresql://…; default: a server of its own, if installed")
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


@contextmanager
def _postgres(url: str | None) -> Iterator[str | None]:
    """A server's URL; None where there is none."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from contracts import ledger_postgres

    if url is not None:
        yield url
    elif reason := ledger_postgres.missing():
        print(f"PostgreSQL is not measured: {reason}\n")
        yield None
    else:
        with ledger_postgres.server() as started:
            yield started


def _schema(server: str, name: str) -> str:
    from contracts import ledger_postgres

    return ledger_postgres.schema_of(server, name)


def _missed(name: str, place: str, processes: int, spends: int, longest_s: float) -> list[str]:
    """The bars that a run missed: its longest call, and, where it is known what was spent, the totals."""
    label = f"{name}, {processes} process(es)"
    missed = [f"{label}: a call took {longest_s:.2f} s"] if longest_s > 1 else []
    if spends:
        ledger = _open(place)
        spent, whole = ledger.spent(), processes * spends
        cost = price(EVENT)
        exact = (spent.epsilon, spent.rho) == (whole * cost.epsilon, whole * cost.rho)
        if not (exact and len(ledger.entries()) == whole and ledger.verify().holds):
            missed.append(f"{label}: totals are not what was spent")
        ledger.close()
    return missed


def _measure(
    name: str, start: Callable[[str], Pair], path: str, processes: int, options: argparse.Namespace
) -> tuple[float, float]:
    """(spends per second of all processes together, longest step in seconds); prints them."""
    start(path)
    results = []
    begin = time.monotonic() + 0.5
    for _ in range(processes):
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.close(reader)
            try:
                times = _work(start(path), begin, options)
                with os.fdopen(writer, "w") as out:
                    out.write("\n".join(f"{step:.6f}" for step in (time.monotonic() - begin, *times)))
            finally:
                os._exit(0)
        os.close(writer)
        results.append(reader)
    times, taken = [], 0.0
    for reader in results:
        with os.fdopen(reader) as said:
            whole, *steps = [float(line) for line in said.read().split()]
        times += steps
        taken = max(taken, whole)
        os.wait()
    rate = len(times) / 2 / taken
    label = f"{name}, {processes} process{'es' if processes > 1 else ''}"
    p99 = statistics.quantiles(times, n=100)[98]
    print(f"{label:28}{rate:9.0f}{statistics.median(times) * 1e3:11.2f}{p99 * 1e3:9.1f}{max(times) * 1e3:12.0f}")
    return rate, max(times)


def _work(pair: Pair, begin: float, options: argparse.Namespace) -> list[float]:
    """How long each step took, until all is spent or the time is over."""
    times: list[float] = []
    time.sleep(max(0.0, begin - time.monotonic()))
    end, steps = begin + options.seconds, 2 * options.spends
    while len(times) < steps if steps else time.monotonic() < end:
        last = time.monotonic()
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


def _first_open(path: str) -> tuple[float, float]:
    """(seconds, megabytes resident) of a process that opens a ledger and does nothing else, the fastest of five."""
    code = (
        "import time; start = time.perf_counter(); from dither.ledger.ledger import Ledger; "
        f"Ledger.open({path!r}, dataset='d', promise_digest=None, budget=None, analysts={{}}); "
        "seconds = time.perf_counter() - start; pages = int(open('/proc/self/statm').read().split()[1]); "
        "import resource; print(seconds, pages * resource.getpagesize() / 2**20)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    seconds, megabytes = min(tuple(map(float, run.stdout.split())) for run in runs)
    return seconds, megabytes


if __name__ == "__main__":
    os.chdir(Path(__file__).parent)
    main()
