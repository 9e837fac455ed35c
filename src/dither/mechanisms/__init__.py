"""Private mechanisms on plain arrays: each returns what it released, the law of its noise, and the event it was.

Integers in, integers out, noise of exactly the stated law; `laplace_sum` and `private_quantile` take floats, which they
put on a grid first. It is also the noise stage of the SQL path, which hands it Secret vectors. Loads NumPy and no
database.

    >>> import numpy as np
    >>> from dither.mechanisms import *
    >>> from dither.noise import insecure_seeded          # for a page that repeats; leave `entropy` out otherwise
    >>> released = laplace(np.array([120, 45, 7]), sensitivity=1, epsilon="0.5", entropy=insecure_seeded(1))
    >>> released.values, released.half_width(0.95), released.price.epsilon
    (array([118,  46,   7]), 6, Fraction(1, 2))

A mechanism adds nothing up: keep the events (`released.event`) and ask `accounting.compose`. More, ten lines each:
docs/how-to/use-as-a-library.md.
"""

from dither.mechanisms import planar
from dither.mechanisms.above_threshold import AboveThreshold, first_at_or_below
from dither.mechanisms.exponential import Choice, exponential
from dither.mechanisms.gaussian import gaussian, gaussian_variance
from dither.mechanisms.grid import Grid, SumEstimate, choose_grid, laplace_sum, row_steps, sum_steps
from dither.mechanisms.histograms import Histograms
from dither.mechanisms.keys import (
    gaussian_threshold,
    laplace_threshold,
    optimal_selection,
    selection_event,
)
from dither.mechanisms.laplace import laplace, laplace_scale
from dither.mechanisms.max_rows import TunedCap, choose_max_rows, row_levels
from dither.mechanisms.quantile import choose_quantile, choose_quantile_of_each
from dither.mechanisms.quantile_ends import choose_end, choose_end_of_each
from dither.mechanisms.quantile_release import QuantileRelease, private_quantile
from dither.mechanisms.quantiles import choose_quantiles
from dither.mechanisms.release import Neighbours, Release, saturate
from dither.mechanisms.residual import MarginalPlan, MarginalRelease, plan_marginals
from dither.mechanisms.running import RunningPlan, RunningRelease, RunningStream, plan_running_totals, running_totals
from dither.mechanisms.sampled import (
    Population,
    SampledNoise,
    SampledRelease,
    Statistic,
    sampled_noise,
    sampled_statistic,
)

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
    "private_quantile",
    "QuantileRelease",
    "choose_quantile",
    "choose_quantile_of_each",
    "choose_quantiles",
    "choose_end",
    "choose_end_of_each",
    "Histograms",
    "plan_marginals",
    "MarginalPlan",
    "MarginalRelease",
    "running_totals",
    "plan_running_totals",
    "RunningPlan",
    "RunningRelease",
    "RunningStream",
    "planar",
    "sampled_statistic",
    "sampled_noise",
    "SampledNoise",
    "SampledRelease",
    "Population",
    "Statistic",
]
