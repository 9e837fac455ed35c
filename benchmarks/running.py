"""Running totals: variance beside speed, for both offers, at 2^10, 2^16 and 2^20 positions.

    python benchmarks/running.py [repeats]

Variances are for mu = 1 (rho = 1/2) and epsilon = 1, one row per unit, in squared counts. `simulated` is the mean
squared error of one run (a few correlated draws of it: expect several per cent), beside the mean variance `expected`.
Times are for the whole release once the counts are there: `first` with everything made anew, `again` the best of
`repeats` (default 3) with the factorization kept; `intervals` makes the half-widths of all totals, once per length.
Exit status 1 when a bar is missed: 100 ms at 2^16, 2 s and 1.2 s at 2^20, 5 % above the known variances."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dither.mechanisms.running import least_largest_variance, least_mean_variance, plan_running_totals, running_totals
from dither.mechanisms.running.bounds import binary_tree_largest_variance
from dither.mechanisms.running.square_root import square_root
from dither.mechanisms.running.tree import choose_tree

KNOWN = {("rho", 10): 9.49, ("rho", 16): 19.3, ("rho", 20): 27.8}
KNOWN |= {("epsilon", 10): 324.0, ("epsilon", 16): 1184.0, ("epsilon", 20): 2200.0}
FIRST_S = {10: 0.1, 16: 0.1, 20: 2.0}
AGAIN_S = {10: 0.1, 16: 0.1, 20: 1.2}
OFFERS: dict[str, dict[str, Any]] = {"rho": {"rho": "1/2"}, "epsilon": {"epsilon": 1}}


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def line(offer: str, bits: int, repeats: int) -> bool:
    n = 1 << bits
    counts = np.random.default_rng(bits).integers(0, 1000, n)

    def release() -> np.ndarray:
        return running_totals(counts, neighbours="add_remove", **OFFERS[offer]).totals

    square_root.cache_clear()
    choose_tree.cache_clear()
    first = seconds(release)
    again = min(seconds(release) for _ in range(repeats))
    plan = plan_running_totals(n, neighbours="add_remove", **OFFERS[offer])
    intervals = seconds(plan.half_widths)
    simulated = np.square(release() - np.cumsum(counts)).mean()
    mean, largest, least = plan.variances.mean(), plan.largest_variance, least_largest_variance(n)
    floor = least if offer == "rho" else 2 * least
    met = first <= FIRST_S[bits] and again <= AGAIN_S[bits]
    met &= floor <= largest <= 1.05 * KNOWN[offer, bits] and mean >= least_mean_variance(n)
    print(
        f"{offer:8} 2^{bits:<3} {largest:9.2f} {KNOWN[offer, bits]:8.2f} {floor:8.2f}"
        f" {binary_tree_largest_variance(n, pure=offer == 'epsilon'):8d} {mean:9.2f} {simulated:9.2f}"
        f" {first * 1e3:9.1f} {again * 1e3:9.1f} {intervals * 1e3:9.1f}  {'met' if met else 'MISSED'}",
        flush=True,
    )
    return met


def main() -> int:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"numpy {np.__version__}"
    )
    print(
        f"{'offer':8} {'n':5} {'largest':>9} {'known':>8} {'least':>8} {'binary':>8} {'expected':>9} {'simulated':>9}"
        f" {'first ms':>9} {'again ms':>9} {'intervals':>9}"
    )
    met = [line(offer, bits, repeats) for offer in OFFERS for bits in (10, 16, 20)]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
