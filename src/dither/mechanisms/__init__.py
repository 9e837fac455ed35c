"""Private mechanisms on integer arrays: each returns what it released, the law of its noise, and the event it was.

A plain library (NumPy int64 in, Release out) and the noise stage of the SQL path, which hands it Secret vectors.
"""

from dither.mechanisms.above_threshold import AboveThreshold, first_at_or_below
from dither.mechanisms.exponential import Choice, exponential
from dither.mechanisms.gaussian import gaussian, gaussian_variance
from dither.mechanisms.grid import Grid, SumEstimate, choose_grid, laplace_sum, row_steps, sum_steps
from dither.mechanisms.keys import (
    gaussian_threshold,
    laplace_threshold,
    optimal_selection,
    selection_event,
)
from dither.mechanisms.laplace import laplace, laplace_scale
from dither.mechanisms.max_rows import TunedCap, choose_max_rows, row_levels
from dither.mechanisms.release import Neighbours, Release, saturate
from dither.mechanisms.residual import MarginalPlan, MarginalRelease, plan_marginals
from dither.mechanisms.running import RunningPlan, RunningRelease, RunningStream, plan_running_totals, running_totals

__all__ = [
    "laplace",
    "laplace_scale",
    "gaussian",
    "gaussian_variance",
    "Release",
    "Neighbours",
    "saturate",
    "Grid",
    "choose_grid",
    "row_steps",
    "sum_steps",
    "laplace_sum",
    "SumEstimate",
    "laplace_threshold",
    "gaussian_threshold",
    "optimal_selection",
    "selection_event",
    "AboveThreshold",
    "first_at_or_below",
    "choose_max_rows",
    "TunedCap",
    "row_levels",
    "exponential",
    "Choice",
    "plan_marginals",
    "MarginalPlan",
    "MarginalRelease",
    "running_totals",
    "plan_running_totals",
    "RunningPlan",
    "RunningRelease",
    "RunningStream",
]
