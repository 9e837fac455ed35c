"""How far private answers are from the truth, with nothing set by hand: rows per unit and bounds chosen privately.

    python benchmarks/run.py accuracy [--runs 300]

A  A million rows of 100,000 units (Poisson, mean 10), 10 public groups of unequal size, age in [18, 90]: COUNT, SUM and
   AVG together at epsilon 1, rows per unit chosen out of it; and with the row as unit. RMSE over groups and runs.
B  100,000 units with lognormal, geometric and Zipf rows up to 10,000: RMSE of COUNT by 10 groups at epsilon 1, relative
   to the best fixed cap in hindsight, after `tune` at 0.3 and with the cap chosen inside the question.
C  Sums of 20,000 rows without declared bounds, relative to the best bounds in hindsight, epsilon 1.

The engine reads once for each cap or pair of bounds; choices and noise are drawn anew in every run.
"""

from __future__ import annotations

import argparse
import functools
import math
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

GROUPS = 10
QUESTION = "SELECT g, COUNT(*) AS n, SUM(age) AS total, AVG(age) AS mean FROM t GROUP BY g"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=300)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        _question_a(Path(folder), options.runs)
        _question_b(options.runs)
        _question_c(options.runs)


def _question_a(folder: Path, runs: int) -> None:
    generator = np.random.default_rng(11)
    rows = generator.poisson(10, 100_000)
    uid = np.repeat(np.arange(100_000), rows)
    weights = np.arange(1, GROUPS + 1)
    g = generator.choice(GROUPS, len(uid), p=weights / weights.sum())
    age = generator.integers(18, 91, len(uid))
    path = folder / "t.duckdb"
    connection = duckdb.connect(str(path))
    frame = {"uid": uid, "g": g, "age": age}
    connection.register("frame", {name: np.ascontiguousarray(values) for name, values in frame.items()})
    connection.execute("CREATE TABLE t (uid BIGINT NOT NULL, g INTEGER NOT NULL, age INTEGER NOT NULL)")
    connection.execute("INSERT INTO t SELECT uid, g, age FROM frame")
    connection.close()
    truth = np.array([[np.sum(g == k), age[g == k].sum(), age[g == k].mean()] for k in range(GROUPS)])
    print(f"A: {len(uid):,} rows, epsilon 1, {runs} runs; RMSE of COUNT, SUM(age), AVG(age)")
    print(f"{'':22s} {'COUNT':>8s} {'bar':>6s} {'SUM':>8s} {'bar':>6s} {'AVG':>8s} {'bar':>7s}")
    for unit, bars in (("person", (85, 5500, 0.06)), ("row", (3.0, 200, 0.0025))):
        errors = np.array([found - truth for found in _answers(path, unit, runs)])
        rmse = np.sqrt((errors**2).mean(axis=(0, 1)))
        cells = " ".join(f"{e:8.4g} {b:6g}" for e, b in zip(rmse, bars, strict=True))
        print(f"{unit + ' as unit':22s} {cells}", flush=True)


def _answers(path: Path, unit: str, runs: int) -> list[np.ndarray]:
    """(groups, 3) of each run, over the groups that have rows."""
    from dither.catalog.load import loads
    from dither.mechanisms.max_rows import choose_max_rows, row_levels
    from dither.noise import insecure_seeded
    from dither.plan.choices import LARGEST_CHOICE
    from dither.session.decide import ROWS_SHARE
    from dither.session.open import open_catalog
    from dither.session.tune import _per_level

    entropy = insecure_seeded(5)
    declared = '"row"' if unit == "row" else '"uid"'
    catalog = loads(
        f'[dataset]\nname = "a"\nledger = "{path.parent / unit}.ledger"\n[source]\nurl = "{path}"\n[unit]\n'
        f'name = "person"\n[budget]\nepsilon = 1000000\ndelta = 1e-7\n[tables.t]\nprivacy_unit = {declared}\n'
        "[tables.t.columns]\n"
        'g = { type = "integer", bounds = [0, 9] }\nage = { type = "integer", bounds = [18, 90] }\n'
    )
    levels = row_levels(LARGEST_CHOICE)
    with open_catalog(catalog, entropy=entropy) as session:
        if unit == "person":
            above = _per_level(session.engine.rows_per_unit("t", [0, *levels]))
        found = []
        for _ in range(runs):
            offer = Fraction(1)
            if unit == "person":
                # As `session.decide` does: 22.5 % of the offer, the rest for the question's two vectors.
                cap = choose_max_rows(
                    above, levels, epsilon=ROWS_SHARE, epsilon_query=(1 - ROWS_SHARE) / 2, groups=10, entropy=entropy
                )
                session.taus["t"] = cap.max_rows
                offer -= ROWS_SHARE
            found.append(_noisy(session, offer, entropy))
        return found


def _noisy(session: Any, offer: Fraction, entropy: Any) -> np.ndarray:
    """One answer with fresh noise over integers read once per cap."""
    from dither.answer.finishing import finish
    from dither.answer.release import release
    from dither.plan.price import Offer
    from dither.secret import open_secret
    from dither.session.session import _table

    plan = session.plan(QUESTION)
    priced = session.price_of(plan, Offer.create(epsilon=offer))
    (measure,) = priced.measures
    tau = measure.measure.tau
    if tau not in _READ.setdefault(id(session), {}):
        _READ[id(session)][tau] = open_secret(session.engine.measure([measure.measure]))[0]
    places = list(range(len(measure.vectors)))
    _, values = release(measure, places, _READ[id(session)][tau], session.catalog.neighbours, entropy)
    keys = measure.measure.domain.columns
    table = _table(measure, plan, keys, tuple(values), tuple(vector.law for vector in measure.vectors))
    columns = finish(plan, [table]).columns
    present = ~np.ma.getmaskarray(np.ma.asarray(columns[0]))
    order = np.argsort(np.ma.getdata(columns[0])[present])
    return np.stack([np.ma.getdata(column)[present].astype(float)[order] for column in columns[1:]], axis=1)


_READ: dict[int, dict[int, Any]] = {}


def _question_b(runs: int) -> None:
    from dither.mechanisms.max_rows import choose_max_rows, row_levels
    from dither.noise import insecure_seeded

    levels = row_levels(10_000)
    generator = np.random.default_rng(7)
    units = 100_000
    shapes = {
        "lognormal(1.5, 1.2)": np.clip(generator.lognormal(1.5, 1.2, units).astype(np.int64), 1, 10_000),
        "geometric, mean 10": generator.geometric(0.1, units),
        "Zipf 1.8": np.minimum(generator.zipf(1.8, units), 10_000),
    }
    print(f"\nB: COUNT by {GROUPS} groups at epsilon 1, RMSE relative to the best fixed cap, mean over {runs} choices")
    print(f"{'rows per unit':22s} {'tuned at 0.3':>12s} {'bar':>5s} {'in question':>12s} {'bar':>5s}")
    for name, rows in shapes.items():
        histogram = np.zeros(len(levels) + 1, dtype=np.int64)
        np.add.at(histogram, np.searchsorted(levels, rows), 1)
        best = min(_error_of_count(rows, cap, 1.0) for cap in levels)
        entropy = insecure_seeded(3)
        ratios = []
        for share, left in (("0.3", 1.0), ("0.225", 0.775)):
            chosen = [
                choose_max_rows(
                    histogram, levels, epsilon=share, epsilon_query=Fraction(str(left)), groups=GROUPS, entropy=entropy
                ).max_rows
                for _ in range(runs)
            ]
            ratios.append(np.mean([_error_of_count(rows, cap, left) for cap in chosen]) / best)
        print(f"{name:22s} {ratios[0]:12.2f} {1.3:5.1f} {ratios[1]:12.2f} {1.8:5.1f}", flush=True)


def _error_of_count(rows: np.ndarray, cap: int, epsilon: float) -> float:
    """Rows cut off, evenly over the groups, and Laplace noise: the law of the pipeline's own COUNT."""
    return math.hypot(np.maximum(rows - cap, 0).sum() / GROUPS, math.sqrt(2) * cap / epsilon)


def _question_c(runs: int) -> None:
    from dither.mechanisms.value_bounds import LEVELS, choose_bounds, level
    from dither.noise import insecure_seeded

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
    print(f"{'values':22s} {'ratio':>6s} {'bar':>5s}")
    for name, x in values.items():
        counts = np.zeros(2 * LEVELS + 1, dtype=np.int64)
        np.add.at(counts, LEVELS + np.sign(x).astype(int) * np.searchsorted(sizes, np.abs(x)), 1)
        error = functools.partial(_error_of_sum, x)
        lows = [0.0] if x.min() >= 0 else list(sizes)
        best = min(error(-lo, hi, 1.0) for lo in lows for hi in sizes[1:])
        entropy = insecure_seeded(9)
        found = [choose_bounds(counts, epsilon="0.25", epsilon_query="0.75", entropy=entropy) for _ in range(runs)]
        rmse = math.sqrt(np.mean([error(c.lo, c.hi, 0.75) ** 2 for c in found]))
        print(f"{name:22s} {rmse / best:6.2f} {3.0:5.1f}", flush=True)


def _error_of_sum(x: np.ndarray, lo: float, hi: float, epsilon: float) -> float:
    # Without luck: what is clamped at one end does not make up for what is clamped at the other.
    return math.hypot(np.abs(x - np.clip(x, lo, hi)).sum(), math.sqrt(2) * max(-lo, hi) / epsilon)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
