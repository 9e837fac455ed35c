"""Release an opaque statistic under random differential privacy: sensitivity from a sample of a stated population.

    table       rows as columns of arrays, in an order that tells nothing: what the statistic is given
    population  where neighbours are drawn from: public or synthetic, and named
    statistic   an opaque function made total, with integers on a fixed grid as its answers
    release     the noise, settled before anything private is read, and the release

It is not differential privacy and never converts to it (`accounting.random_dp`).
Statement: docs/proofs/mechanisms/sampled-statistic.md
"""

from dither.mechanisms.sampled.population import Population
from dither.mechanisms.sampled.release import SampledNoise, SampledRelease, sampled_noise, sampled_statistic
from dither.mechanisms.sampled.statistic import Statistic
from dither.mechanisms.sampled.table import Kind, Rows, Shape, count_rows, shape_of, table_of

__all__ = [
    "Kind",
    "Population",
    "Rows",
    "SampledNoise",
    "SampledRelease",
    "Shape",
    "Statistic",
    "count_rows",
    "sampled_noise",
    "sampled_statistic",
    "shape_of",
    "table_of",
]
