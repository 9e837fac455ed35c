"""Exact noise against numpy's float samplers, in one run on one machine: speed as a ratio, accuracy beside it.

    python benchmarks/noise.py [repeats]

A million draws a line, best of `repeats` (default 7), numpy re-timed beside every line because machines drift.
`variance` is sample / law; `covered` is the share within the certified 95 % half-width, `law` what it should be.
Exit status 1 when a bar is missed."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dither.noise import DiscreteGaussian, DiscreteLaplace, categorical_exp, system_entropy
from dither.noise.gaussian import gaussian_table
from dither.noise.geometric import geometric_table

SIZE = 1_000_000
LAPLACE = [("1/2", 0.5), ("1", 0.5), ("10/3", 0.5), ("100", 0.5), ("1000", 1.2), ("1000000", 1.2), (str(2**40), 1.2)]
GAUSSIAN = [("1/2", 0.8), ("1", 0.8), ("10", 0.8), ("100", 0.8), ("1000", 1.5), ("1500", 3.0), ("10**6", 3.0)]
GAUSSIAN += [("10**12", 3.0)]


def milliseconds(work: Callable[[], object], repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def line(name: str, law: DiscreteLaplace | DiscreteGaussian, build_ms: float, bar: float, repeats: int) -> bool:
    generator = np.random.default_rng()
    plain = generator.laplace if isinstance(law, DiscreteLaplace) else generator.normal
    numpy_ms = milliseconds(lambda: plain(0.0, 10.0, SIZE), repeats)
    ours_ms = milliseconds(lambda: law.sample(SIZE), repeats)
    drawn = law.sample(SIZE)
    scalar_us = milliseconds(lambda: [law.sample() for _ in range(2000)], 3) / 2
    variance = np.square(drawn.astype(float)).mean() / law.variance()
    width = law.half_width(Fraction(95, 100))
    covered = np.count_nonzero(np.abs(drawn) <= width) / SIZE
    ratio = ours_ms / numpy_ms
    met = ratio <= bar and build_ms <= 25 and scalar_us <= 5
    print(
        f"{name:22} {ours_ms:7.2f} {numpy_ms:7.2f} {ratio:6.2f} {bar:5.1f} {build_ms:8.1f} {scalar_us:7.2f}"
        f" {variance:9.4f} {covered:8.4f} {law.coverage(width):8.4f}  {'met' if met else 'MISSED'}"
    )
    return met


def choices(repeats: int) -> bool:
    """One draw of the exponential mechanism among many candidates; bar: 30 ms at 10^5."""
    met = True
    for count in (1000, 10**5, 10**6):
        steps = np.abs(np.arange(count) - count // 3)
        ours = milliseconds(lambda steps=steps: categorical_exp(steps, Fraction(1, 20)), repeats)
        met &= ours <= 30 or count > 10**5
        print(f"choice among {count:9,}: {ours:7.2f} ms")
    return met


def main() -> int:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        end=", ",
    )
    print(f"numpy {np.__version__}; {SIZE:,} draws, best of {repeats}")
    print(f"{'law':22} {'ours ms':>7} {'numpy':>7} {'ratio':>6} {'bar':>5} {'build ms':>8} {'one us':>7}", end=" ")
    print(f"{'variance':>9} {'covered':>8} {'law':>8}")
    met = []
    for text, bar in LAPLACE:
        scale = Fraction(text)
        build = milliseconds(lambda scale=scale: geometric_table(scale, two_sided=True), 3)
        met.append(line(f"Laplace {text}", DiscreteLaplace(scale), build, bar, repeats))
    for text, bar in GAUSSIAN:
        base, _, power = text.partition("**")
        sigma = Fraction(base) ** int(power or 1)
        build = milliseconds(lambda sigma=sigma: gaussian_table(sigma**2), 3)
        met.append(line(f"Gaussian sigma {text}", DiscreteGaussian(sigma**2), build, bar, repeats))
    met.append(choices(repeats))
    refresh = milliseconds(lambda: [system_entropy().refresh() for _ in range(1000)], 3)
    print(f"fresh bytes mixed in: {refresh:.2f} us a question")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
