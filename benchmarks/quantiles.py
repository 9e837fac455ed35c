"""How far quantiles are off in rank, how wide their bought intervals are, and how long they take.

    python benchmarks/run.py quantiles [--runs 200]

Values: lognormal(10.5, 0.8), cut at 10^6, range [0, 10^6], each row its own unit. Seeds are fixed. A: the mechanism, on
one histogram per run. B: through `ask`, one group per run, with and without intervals. C: seconds of the processor.
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction

import numpy as np
import pandas as pd

import dither
from dither.mechanisms import Histograms, choose_quantiles, quantiles
from dither.noise import insecure_seeded

DECILES = [Fraction(i, 10) for i in range(1, 10)]
HALF = [Fraction(1, 2)]
SIZES = (1_000, 20_000)
EPSILONS = (Fraction(1, 10), Fraction(1))
BARS = {(1, Fraction(1)): "1.5", (1, Fraction(1, 10)): "12", (9, Fraction(1)): "7"}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    options = parser.parse_args(arguments)
    print(f"A: mean absolute rank error of the mechanism, {options.runs} runs (spread of the mean)")
    print(f"{'rows':>7s} {'epsilon':>8s} {'quantiles':>10s} {'error':>15s} {'bar':>5s} {'cpu ms':>8s}")
    for n in SIZES:
        for epsilon in EPSILONS:
            for asked in (HALF, DECILES):
                errors, seconds = by_mechanism(asked, n, epsilon, options.runs)
                bar = BARS.get((len(asked), epsilon), "")
                print(
                    f"{n:7,d} {float(epsilon):8g} {len(asked):10d} {shown(errors):>15s} {bar:>5s} {seconds * 1e3:8.2f}",
                    flush=True,
                )
    print("\nB: the same through ask, 100 groups; share of intervals that hold, and their median width in ranks")
    print(f"{'rows':>7s} {'epsilon':>8s} {'quantiles':>10s} {'error':>15s} {'bar':>5s} {'hold':>6s} {'width':>7s}")
    for n in SIZES:
        frame = groups(n, 100)
        for epsilon in EPSILONS:
            for asked in (HALF, DECILES):
                errors, held, width = by_asking(frame, n, asked, epsilon)
                bar = BARS.get((len(asked), epsilon), "")
                print(
                    f"{n:7,d} {float(epsilon):8g} {len(asked):10d} {shown(errors):>15s} {bar:>5s} "
                    f"{held:6.1%} {width:7.0f}",
                    flush=True,
                )
    print("\nC: 1,000 groups of 100 rows, APPROX_QUANTILES(x, 10)")
    frame = groups(100, 1_000)
    with opened(frame, 1_000) as session:
        sql = "SELECT g, APPROX_QUANTILES(x, 10) AS q FROM data GROUP BY g"
        session.explain(sql, epsilon=1)
        start = time.process_time()
        session.ask(sql, epsilon=1)
        print(f"{time.process_time() - start:.2f} s of processor time")


def incomes(n: int, seed: int) -> np.ndarray:
    return np.clip(np.random.default_rng(seed).lognormal(10.5, 0.8, n), 0, 1e6)


def by_mechanism(asked: list[Fraction], n: int, epsilon: Fraction, runs: int) -> tuple[np.ndarray, float]:
    errors, seconds = [], 0.0
    source = insecure_seeded(7)
    for seed in range(runs):
        values = np.sort(incomes(n, seed))
        cells, counts = np.unique(np.rint(values).astype(np.int64), return_counts=True)
        rows = Histograms(cells, counts, np.array([0, len(cells)]), 0, 1_000_000)
        start = time.process_time()
        each = epsilon / quantiles.levels_of(len(asked))
        found = choose_quantiles(rows, asked, epsilon=each, max_rows=1, entropy=source)[:, 0]
        seconds += time.process_time() - start
        ranks = np.searchsorted(values, found / quantiles.PARTS - 0.5)
        errors.append(np.mean([abs(rank - float(q) * n) for rank, q in zip(ranks, asked, strict=True)]))
    return np.array(errors), seconds / runs


def groups(n: int, count: int) -> pd.DataFrame:
    return pd.DataFrame(
        {"g": np.repeat(np.arange(count), n), "x": np.concatenate([incomes(n, seed) for seed in range(count)])}
    )


def opened(frame: pd.DataFrame, count: int) -> dither.Session:
    bounds = {"g": (0, count - 1), "x": (0, 10**6)}
    return dither.open(frame, privacy_unit="row", budget=10**6, bounds=bounds, entropy=insecure_seeded(3))


def by_asking(frame: pd.DataFrame, n: int, asked: list[Fraction], epsilon: Fraction) -> tuple[np.ndarray, float, float]:
    columns = ", ".join(f"QUANTILE_CONT(x, {float(q)})" for q in asked)
    sql = f"SELECT g, {columns} FROM data GROUP BY g ORDER BY g"
    by_group = [np.sort(frame["x"].to_numpy()[g * n : (g + 1) * n]) for g in range(100)]
    errors, held, widths = [], [], []
    with opened(frame, 100) as session:
        plain = [row for row in session.ask(sql, epsilon=epsilon).rows() if row[0] is not None]
    for g, *values in plain:
        ranks = np.searchsorted(by_group[g], values)
        errors.append(np.mean([abs(rank - float(q) * n) for rank, q in zip(ranks, asked, strict=True)]))
    with opened(frame, 100) as session:
        answer = session.ask(sql, epsilon=epsilon, quantile_intervals=True)
        for row, (g, *_) in enumerate(answer.rows()):
            if g is None:
                continue
            for place, q in enumerate(asked):
                low, high = (end[row] for end in answer.intervals[place + 1])
                held.append(low <= np.quantile(by_group[g], float(q)) <= high)
                widths.append(np.diff(np.searchsorted(by_group[g], [low, high]))[0])
    return np.array(errors), float(np.mean(held)), float(np.median(widths))


def shown(errors: np.ndarray) -> str:
    return f"{errors.mean():.2f} ({errors.std() / len(errors) ** 0.5:.2f})"


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
