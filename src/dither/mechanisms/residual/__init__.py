"""Many marginals of one table at once: noise on its residuals, each measured once.

Flow: `plan_marginals` shares a rho among the residuals from public facts; the plan's `release` takes the tables, adds
exact noise to integers and gives every wanted marginal back, consistent and unbiased, with exact covariances.
"""

from dither.mechanisms.residual.design import MOST_CELLS, MOST_PARTS, MarginalPlan, Part, plan_marginals
from dither.mechanisms.residual.errors_of import CellErrors
from dither.mechanisms.residual.projection import Nonnegative, nonnegative
from dither.mechanisms.residual.release import MarginalRelease

__all__ = [
    "MOST_CELLS",
    "MOST_PARTS",
    "CellErrors",
    "MarginalPlan",
    "MarginalRelease",
    "Nonnegative",
    "Part",
    "nonnegative",
    "plan_marginals",
]
