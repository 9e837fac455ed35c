"""Exact planar noise against NumPy's float one, in one run on one machine: speed as a ratio, accuracy beside it.

    python benchmarks/planar.py [repeats]

A million places, `exact` the whole of it (rounding to the lattice and noise), best of `repeats` (default 5); `float`
is a gamma radius and a uniform angle, which leaks low bits. `mean`, `median` and `95 %` are measured over the law's.
Then the way from degrees to degrees, remapping, and the optimal mechanism. Times are of the processor, so that other
programs do not count. Exit status 1 when a bar is missed: 1 s of one core for a million places, means within 1 %."""

from __future__ import annotations

import math
import os
import platform
import sys
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dither.mechanisms import planar

SIZE = 1_000_000
CASES = [
    ("200 m, ln 4", 200, 4, None),
    ("200 m, ln 4, step 1 m", 200, 4, 1),
    ("200 m, ln 4, step 1/128 m", 200, 4, "1/128"),
]
CASES += [("5 km, ln 2", 5000, 2, None), ("10 m, ln 10", 10, 10, None)]


def seconds(work: Callable[[], object], repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def line(name: str, radius: int, factor: int, step: str | int | None, repeats: int) -> bool:
    places = np.random.default_rng(1).uniform(-50_000, 50_000, size=(SIZE, 2))
    noise = planar.PlanarNoise.within(radius, factor=factor, step=step)
    generator = np.random.default_rng()

    def floats() -> np.ndarray:
        away, angle = generator.gamma(2.0, 1 / float(noise.epsilon), SIZE), generator.uniform(0, 2 * math.pi, SIZE)
        return places + np.column_stack([away * np.cos(angle), away * np.sin(angle)])

    build = seconds(lambda: noise.add_to(places[:1]), 1)
    exact, plain = seconds(lambda: noise.add_to(places), repeats), seconds(floats, repeats)
    found, law = planar.measured(noise.add_to(places), places), noise.expected()
    ratios = [found.mean_m / law.mean_m, found.median_m / law.median_m, found.within_95_m / law.within_95_m]
    met = exact <= 1.0 and all(abs(ratio - 1) <= 0.01 for ratio in ratios)
    print(
        f"{name:26} {exact * 1e3:8.1f} {plain * 1e3:8.1f} {exact / plain:6.2f} {build * 1e3:8.1f} {law.mean_m:9.1f}"
        f" {ratios[0]:7.4f} {ratios[1]:7.4f} {ratios[2]:7.4f}  {'met' if met else 'MISSED'}"
    )
    return met


def others(repeats: int) -> None:
    plane, generator = planar.LocalPlane(52.37, 4.90), np.random.default_rng(2)
    latitude, longitude = 52.37 + generator.normal(0, 0.1, SIZE), 4.90 + generator.normal(0, 0.1, SIZE)
    points = plane.metres(latitude, longitude)
    print(f"\ndegrees to metres, 10^6: {seconds(lambda: plane.metres(latitude, longitude), repeats) * 1e3:.0f} ms")
    print(f"metres to degrees, 10^6: {seconds(lambda: plane.degrees(points), repeats) * 1e3:.0f} ms")
    prior, weights = points[:1000], np.ones(1000)
    for loss, count in (("squared", 100_000), ("distance", 2_000)):
        start = time.process_time()
        planar.remap(points[:count], prior, weights, epsilon="0.007", loss=loss)
        took = time.process_time() - start
        print(f"remapping {count:,} places over 1,000, {loss}: {took:.2f} s")
    for side in (3, 5, 7):
        cells = np.array([(100.0 * i, 100.0 * j) for i in range(side) for j in range(side)])
        prior_of_cells = np.random.default_rng(side).dirichlet(np.ones(side * side))
        start = time.process_time()
        made = planar.plan_optimal(cells, prior_of_cells, epsilon=Fraction("0.00693"))
        took = time.process_time() - start
        check = seconds(made.certify, 1)
        picked = np.random.default_rng(3).choice(len(cells), size=50_000, p=made.prior)
        noisy = planar.PlanarNoise.within(200, factor=4).add_to(cells[picked])
        best = planar.remap(noisy, cells, made.prior, epsilon="0.00693", loss="distance")
        remapped = float(np.hypot(*(best - cells[picked]).T).mean())
        print(
            f"optimal on {side * side:2} cells: {took:6.2f} s, certified in {check:.2f} s; expected distance "
            f"{made.expected_distance_m:.1f} m (planar noise remapped {remapped:.1f} m)"
        )


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, NumPy {np.__version__}")
    print(
        f"\n{'case':26} {'exact ms':>8} {'float ms':>8} {'ratio':>6} {'first ms':>8} {'mean m':>9}"
        "    mean  median    95 %"
    )
    met = [line(*case, repeats) for case in CASES]
    others(repeats)
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
