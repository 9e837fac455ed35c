"""Accounting: speed and tightness of every notion, on one machine in one run.

    python benchmarks/accounting.py [repeats]

Times are processor time (best of `repeats`, default 7; the bar is on this) and wall clock (median), on one thread, with
caches emptied before each. `epsilon` is at delta 1e-6, beside the least known value and the excess over it.
dp-accounting, where installed, does the same work once.
Exit status 1 when a bar is missed."""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module

import numpy as np

from dither.accounting import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    compose,
    epsilon_of_gaussian,
    privacy_loss,
    renyi_curve,
    rho_of_laplace,
    rho_of_pure,
    to_dp_accounting,
)

DELTA = "1e-6"
LAPLACE: list[Event] = [LaplaceEvent(Fraction(1000 + 7 * i, 100), 1 + i % 5) for i in range(1000)]
WIDE: list[Event] = [LaplaceEvent(Fraction(10**9 + 7 * i, 100), 10**6 + 10**4 * i) for i in range(1000)]
MIXED: list[Event] = [
    (
        LaplaceEvent(Fraction(1000 + 7 * i, 100), 1 + i % 5),
        PureEvent(Fraction(50 + i, 1000)),
        ExponentialEvent(Fraction(50 + i, 1000)),
        GaussianEvent(Fraction(500 + i), 1),
        LaplaceEvent(Fraction(10**8 + 7 * i, 100), 10**4 * (i % 9 + 1)),
    )[i % 5]
    for i in range(1000)
]
SMALL: list[Event] = [
    PureEvent(Fraction(100)),
    GaussianEvent(Fraction(9, 10_000), 1),
    LaplaceEvent(Fraction(1, 100), 1),
]


def timed(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Best processor time and median wall clock, milliseconds."""
    taken, wall = [], []
    for _ in range(repeats):
        rho_of_laplace.cache_clear()
        rho_of_pure.cache_clear()
        start, begin = time.process_time(), time.perf_counter()
        work()
        taken.append((time.process_time() - start) * 1e3)
        wall.append((time.perf_counter() - begin) * 1e3)
    return min(taken), statistics.median(wall)


def line(name: str, work: Callable[[], object], bar_ms: float, repeats: int) -> bool:
    best, wall = timed(work, repeats)
    met = best <= bar_ms
    print(f"{name:44} {best:9.2f} {wall:9.2f} {bar_ms:9.0f}  {'met' if met else 'MISSED'}")
    return met


def appended(loss: object, event: Event) -> Fraction:
    return loss.plus(event).epsilon()  # type: ignore[attr-defined,no-any-return]


def speed(repeats: int) -> bool:
    print(f"{'1,000 different events':44} {'cpu ms':>9} {'wall ms':>9} {'bar':>9}")
    met = True
    for name, events in (
        ("Laplace, small distances", LAPLACE),
        ("Laplace, large distances", WIDE),
        ("five kinds", MIXED),
    ):
        met &= line(f"zCDP: {name}", lambda e=events: compose(e).price.rho, 50, repeats)  # type: ignore[misc]
        met &= line(f"Renyi curve: {name}", lambda e=events: renyi_curve(e).epsilon(DELTA), 50, repeats)  # type: ignore[misc]
        met &= line(
            f"loss distribution: {name}",
            lambda e=events: privacy_loss(e, delta=DELTA).epsilon(),  # type: ignore[misc]
            1000,
            repeats,
        )
    loss = privacy_loss(MIXED, delta=DELTA)
    met &= line("append one event and read epsilon", lambda: appended(loss, PureEvent(Fraction(1, 17))), 3, 5 * repeats)
    for event in SMALL:
        met &= line(
            f"small noise: {type(event).__name__}",
            lambda e=event: privacy_loss([e], delta=DELTA).epsilon(),  # type: ignore[misc]
            1000,
            repeats,
        )
    return met


def tightness() -> bool:
    """Where the least epsilon is known by another route: equal pure events, and Gaussian noise."""
    print(f"\n{'epsilon at delta 1e-6':44} {'ours':>11} {'least':>11} {'excess':>9}")
    met = True
    for count, each in ((10, "1/10"), (100, "1/10"), (1000, "1/100"), (100, "1")):
        events = [PureEvent(Fraction(each))] * count
        least = compose(events).epsilon(DELTA).epsilon
        met &= excess(f"loss distribution, {count} pure of {each}", privacy_loss(events, delta=DELTA).epsilon(), least)
    for count in (1, 100, 1000):
        noise = [GaussianEvent(Fraction(10**14), 10**12)] * count
        least = epsilon_of_gaussian(float(np.sqrt(count / 100)), DELTA)
        met &= excess(f"loss distribution, {count} Gaussian", privacy_loss(noise, delta=DELTA).epsilon(), least)
    return met


def excess(name: str, ours: Fraction, least: Fraction | None) -> bool:
    share = float(ours / least) - 1 if least else 0.0
    print(
        f"{name:44} {float(ours):11.6f} {float(least or 0):11.6f} {share:9.1e}  {'met' if share <= 5e-4 else 'MISSED'}"
    )
    return share <= 5e-4


def peers() -> None:
    try:
        pld = import_module("dp_accounting.pld")
    except ImportError:
        print("\ndp-accounting is not installed: no comparison")
        return
    for step in (1e-3, 1e-4):
        accountant = pld.PLDAccountant(value_discretization_interval=step)
        start = time.perf_counter()
        for event in LAPLACE[:100]:
            accountant.compose(to_dp_accounting(event))
        theirs = accountant.get_epsilon(1e-6)
        taken = (time.perf_counter() - start) * 1e3
        print(f"\ndp-accounting, 100 different Laplace, grid {step}: {taken:.0f} ms, epsilon {theirs:.6f}", end="")
    best, _ = timed(lambda: privacy_loss(LAPLACE[:100], delta=DELTA).epsilon(), 3)
    print(f"\nours: {best:.0f} ms, epsilon {float(privacy_loss(LAPLACE[:100], delta=DELTA).epsilon()):.6f}")


def main() -> int:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    machine = f"{os.cpu_count()} processors, {platform.machine()}"
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {machine}\n")
    met = speed(repeats)
    met &= tightness()
    peers()
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
