"""Running totals: an inverse difference of private counts, with noise placed so that totals stay accurate.

totals                  plan and release all totals of an array
stream, arrivals        the same for counts, or rows, that arrive day by day
epochs                  what a stream promises; pending_tree and pending_roots: what it keeps; levels; draws
square_root, tree       the two mechanisms: for rho, and for epsilon
exact_convolution       exact integers before the noise; toeplitz, gains: floating point after it
laplace_sums, normal_sums, bounds   widths of intervals; what no mechanism can beat
"""

from dither.mechanisms.running.arrivals import Arrivals
from dither.mechanisms.running.bounds import least_largest_variance, least_mean_variance
from dither.mechanisms.running.stream import DayTotal, RunningStream
from dither.mechanisms.running.totals import (
    RangeTotal,
    RunningPlan,
    RunningRelease,
    most_countable,
    plan_running_totals,
    running_totals,
)

__all__ = [
    "running_totals",
    "plan_running_totals",
    "most_countable",
    "RunningPlan",
    "RunningRelease",
    "RangeTotal",
    "RunningStream",
    "DayTotal",
    "Arrivals",
    "least_largest_variance",
    "least_mean_variance",
]
