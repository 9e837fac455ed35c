"""How far private answers are from the truth, with nothing set by hand: rows per unit and bounds chosen privately.

    python benchmarks/run.py accuracy [--runs 300]

A  A million rows of 100,000 units (Poisson, mean 10), 10 public groups of unequal size, age in [18, 90]: COUNT, SUM and
   AVG together at epsilon 1, rows per unit chosen out of it; and with the row as unit. RMSE over groups and runs.
B  100,000 units with lognormal, geometric and Zipf rows up to 10,000: RMSE of COUNT by 10 groups at epsilon 1, relative
   to the best fixed cap in hindsight, after `tune` at 0.3 and with the cap chosen inside the question.
C  Sums of 20,000 rows without declared bounds, relative to the best bounds in hindsight, epsilon 1.

Every run is `Session.ask` on a ledger of its own: choices and noise are drawn anew. The engine reads each integer once
and remembers it (`Remembering`): the same cap or bounds give the same integers. Two figures of B and C are worked out
rather than seen: the error of an answer given what was chosen, from the engine's own integers and the law of the noise
(what RMSE over endless runs with that choice would be), and that of the best cap or bounds in hindsight, from the data.
"""

from __future__ import annotations

import argparse
import functools
import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

GROUPS = 10
QUESTION = "SELECT g, COUNT(*) AS n, SUM(age) AS total, AVG(age) AS mean FROM t GROUP BY g"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--only", choices=("A", "B", "C"))
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        for name, part in (("A", _question_a), ("B", _question_b), ("C", _question_c)):
            if options.only in (None, name):
                part(Path(folder), options.runs)


def _question_a(folder: Path, runs: int) -> None:
    generator = np.random.default_rng(11)
    rows = generator.poisson(10, 100_000)
    uid = np.repeat(np.arange(100_000), rows)
    weights = np.arange(1, GROUPS + 1)
    g = generator.choice(GROUPS, len(uid), p=weights / weights.sum())
    age = generator.integers(18, 91, len(uid))
    path = _database(folder / "a.duckdb", {"uid": uid, "g": g, "age": age})
    truth = np.array([[np.sum(g == k), age[g == k].sum(), age[g == k].mean()] for k in range(GROUPS)])
    print(f"A: {len(uid):,} rows, epsilon 1, {runs} runs; RMSE of COUNT, SUM(age), AVG(age)")
    print(f"{'':22s} {'COUNT':>8s} {'bar':>6s} {'SUM':>8s} {'bar':>6s} {'AVG':>8s} {'bar':>7s}")
    for unit, bars in (("person", (85, 5500, 0.06)), ("row", (3.0, 200, 0.0025))):
        columns = 'g = { type = "integer", bounds = [0, 9] }\nage = { type = "integer", bounds = [18, 90] }'
        with _Asker(path, "row" if unit == "row" else "uid", columns) as asker:
            errors = np.array([asker.answer(QUESTION)[:, 1:] - truth for _ in range(runs)])
        squares = (errors**2).mean(axis=1)
        rmse, spread = np.sqrt(squares.mean(axis=0)), squares.std(axis=0) / math.sqrt(runs)
        cells = " ".join(f"{e:8.4g} {b:6g}" for e, b in zip(rmse, bars, strict=True))
        print(f"{unit + ' as unit':22s} {cells}")
        cells = " ".join(f"{s / 2 / e:8.2g} {'':6s}" for s, e in zip(spread, rmse, strict=True))
        print(f"{'  standard error':22s} {cells}", flush=True)


def _question_b(folder: Path, runs: int) -> None:
    from dither.mechanisms.max_rows import row_levels

    generator = np.random.default_rng(7)
    units, levels = 100_000, row_levels(10_000)
    shapes = {
        "lognormal(1.5, 1.2)": np.clip(generator.lognormal(1.5, 1.2, units).astype(np.int64), 1, 10_000),
        "geometric, mean 10": generator.geometric(0.1, units),
        "Zipf 1.8": np.minimum(generator.zipf(1.8, units), 10_000),
    }
    print(f"\nB: COUNT by {GROUPS} groups at epsilon 1, RMSE relative to the best fixed cap, mean over {runs} choices")
    print(
        f"{'rows per unit':22s} {'tuned at 0.3':>12s} {'bar':>5s} {'in question':>12s} {'bar':>5s}   RMSE over all runs"
    )
    for number, (name, rows) in enumerate(shapes.items()):
        uid = np.repeat(np.arange(units), rows)
        g = generator.integers(0, GROUPS, len(uid))
        path = _database(folder / f"b{number}.duckdb", {"uid": uid, "g": g})
        truth = np.bincount(g, minlength=GROUPS)
        best = min(_error_of_count(rows, cap) for cap in levels)
        given, seen = [], []
        for epsilon in (0.3, None):
            with _Asker(path, "uid", 'g = { type = "integer", bounds = [0, 9] }') as asker:
                ratios, squares = [], []
                for _ in range(runs):
                    question = "SELECT g, COUNT(*) FROM t GROUP BY g"
                    found = asker.answer(question, tuned=epsilon)[:, 1]
                    squares.append(((found - truth) ** 2).mean())
                    bias, deviation = asker.behind(truth)
                    ratios.append(math.sqrt((bias**2).mean() + deviation**2) / best)
            given.append(np.mean(ratios))
            seen.append(math.sqrt(np.mean(squares)) / best)
        print(
            f"{name:22s} {given[0]:12.2f} {1.3:5.1f} {given[1]:12.2f} {1.8:5.1f}   {seen[0]:.2f}, {seen[1]:.2f}",
            flush=True,
        )


def _error_of_count(rows: np.ndarray, cap: int) -> float:
    """Rows cut off, evenly over the groups, and Laplace noise at epsilon 1: what a fixed cap would give."""
    return math.hypot(np.maximum(rows - cap, 0).sum() / GROUPS, math.sqrt(2) * cap)


def _question_c(folder: Path, runs: int) -> None:
    from dither.mechanisms.value_bounds import LEVELS, level

    generator = np.random.default_rng(3)
    n = 20_000
    sizes = np.array([level(k) for k in range(LEVELS + 1)])
    values = {
        "uniform 18 to 90": generator.integers(18, 90, n).astype(float),
        "normal(0, 50)": generator.normal(0, 50, n),
        "lognormal(3, 1)": generator.lognormal(3, 1, n),
        "Pareto 2.5": 10 * (1 + generator.pareto(2.5, n)),
    }
    print(f"\nC: SUM of {n:,} rows at epsilon 1, bounds chosen inside: RMSE relative to the best bounds, {runs} runs")
    print(f"{'values':22s} {'ratio':>6s} {'bar':>5s}   RMSE over all runs")
    for number, (name, x) in enumerate(values.items()):
        path = _database(folder / f"c{number}.duckdb", {"x": x})
        error = functools.partial(_error_of_sum, x)
        lows = [0.0] if x.min() >= 0 else list(sizes)
        best = min(error(-lo, hi, math.sqrt(2) * max(lo, hi)) for lo in lows for hi in sizes[1:])
        given, seen = [], []
        with _Asker(path, "row", 'x = { type = "double" }') as asker:
            for _ in range(runs):
                found = asker.answer("SELECT SUM(x) FROM t")[0, 0]
                seen.append((found - x.sum()) ** 2)
                ((lo, hi),) = asker.session.bounds.values()
                given.append(error(lo, hi, asker.behind(np.zeros(1))[1]) ** 2)
        print(f"{name:22s} {math.sqrt(np.mean(given)) / best:6.2f} {3.0:5.1f}   {math.sqrt(np.mean(seen)) / best:.2f}")


def _error_of_sum(x: np.ndarray, lo: float, hi: float, deviation: float) -> float:
    """Without luck: what is clamped at one end does not make up for what is clamped at the other."""
    return math.hypot(np.abs(x - np.clip(x, lo, hi)).sum(), deviation)


class _Asker:
    """Asks one database over and over, each time as if for the first time: nothing chosen, nothing released."""

    def __init__(self, path: Path, unit: str, columns: str) -> None:
        from dither.catalog.load import loads
        from dither.noise import insecure_seeded
        from dither.session.open import open_catalog

        self.catalog = loads(
            f'[dataset]\nname = "accuracy"\n[source]\nurl = "{path}"\n[unit]\nname = "person"\n'
            "[budget]\nepsilon = 100\ndelta = 1e-7\n"
            f'[tables.t]\nprivacy_unit = "{unit}"\n[tables.t.columns]\n{columns}\n'
        )
        self.session = open_catalog(self.catalog, ledger="", entropy=insecure_seeded(5))
        self.engine = Remembering(self.session.engine)
        self.session.engine = self.engine

    def answer(self, question: str, *, tuned: float | None = None) -> np.ndarray:
        """(groups, columns) at epsilon 1, groups in order, without the group of rows that have none."""
        self._forget()
        if tuned is not None:
            self.session.tune("t", epsilon=tuned, for_epsilon=1, groups=GROUPS)
        rows = self.session.ask(question, epsilon=1).rows()
        return np.array(sorted(row for row in rows if row[0] is not None), dtype=float)

    def behind(self, truth: np.ndarray) -> tuple[np.ndarray, float]:
        """Of the last answer's one vector: its integers without noise, less the truth, group by group; and the standard
        deviation of the noise the ledger holds for it."""
        from dither.session.vectors import law_from_facts

        ledger = self.session.ledger
        entry = ledger.entries()[-1]
        (released,) = ledger.released(entry.vectors[0], entry.release)
        ((measure, table),) = self.engine.last
        (vector,) = measure.vectors
        step = float(vector.step)
        present = np.zeros(len(truth))
        keys = [np.ma.asarray(column) for column in table.keys.values()]
        for place, value in enumerate(table.vectors[0]):
            if not keys:
                present[0] = value * step
            elif not np.ma.getmaskarray(keys[0])[place]:
                present[int(keys[0][place])] = value * step
        return present - truth, math.sqrt(law_from_facts(released.law).variance()) * step

    def _forget(self) -> None:
        from dither.ledger.ledger import Ledger

        self.session.taus = {} if self.catalog.tables["t"].unit is not None else self.session.taus
        self.session.bounds = {}
        self.session.ledger.close()
        self.session.ledger = Ledger.open(
            "",
            dataset=self.catalog.name,
            promise_digest=self.catalog.promise_digest(),
            budget=self.catalog.budget,
            analysts=self.catalog.analysts,
        )

    def __enter__(self) -> _Asker:
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()


class Remembering:
    """An engine that reads the same thing once. It holds private integers in the clear: for benchmarks alone."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.read: dict[object, Any] = {}
        self.last: Sequence[tuple[Any, Any]] = ()

    def measure(self, measures: Sequence[Any]) -> Any:
        from dither.secret import open_secret

        found = self._once(("measure", repr(measures)), lambda: self.inner.measure(measures))
        self.last = list(zip(measures, open_secret(found), strict=True))
        return found

    def rows_per_unit(self, table: str, levels: Sequence[int]) -> Any:
        return self._once(("rows", table, tuple(levels)), lambda: self.inner.rows_per_unit(table, levels))

    def values_per_level(self, table: str, column: str, tau: int) -> Any:
        return self._once(("values", table, column, tau), lambda: self.inner.values_per_level(table, column, tau))

    def store_kept(self, table: str, tau: int) -> None:
        """Stored rows are read faster, and are the same: here each cap is read once anyway."""

    def _once(self, key: object, read: Any) -> Any:
        if key not in self.read:
            self.read[key] = read()
        return self.read[key]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def _database(path: Path, columns: Mapping[str, np.ndarray]) -> Path:
    """A file with one table `t`, no column of which may be NULL: else COUNT(*) and COUNT(x) are two vectors."""
    types = {"i": "BIGINT", "f": "DOUBLE"}
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", {name: np.ascontiguousarray(values) for name, values in columns.items()})
        declared = ", ".join(f"{name} {types[values.dtype.kind]} NOT NULL" for name, values in columns.items())
        connection.execute(f"CREATE TABLE t ({declared})")
        connection.execute("INSERT INTO t SELECT * FROM frame")
    return path


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
