"""One quantile of plain numbers: clamp, count by cell of a public grid, choose a cell.

Flow: an array in, a number out; the SQL path counts in the database and calls `quantile.choose_quantile` itself.
Relies on: each row's cell depending on that row alone, clamped after rounding.
Proof: docs/proofs/mechanisms/quantile.md
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.accounting.events import ExponentialEvent
from dither.accounting.price import Price, price
from dither.errors import InvalidParameter
from dither.exact import Number, exact, positive
from dither.mechanisms.quantile import choose_quantile
from dither.mechanisms.release import Neighbours, Values, opened
from dither.noise import Entropy

__all__ = ["QuantileRelease", "private_quantile"]

_MOST_CELLS = 2**32


@dataclass(frozen=True)
class QuantileRelease:
    """A released quantile. Its error is in ranks, and how far that is in values depends on the data: no ± is given."""

    value: float
    """The middle of the chosen cell, in units of the data."""
    cell: int
    """0 for the lowest cell."""
    width: float
    """Of a cell, in units of the data."""
    event: ExponentialEvent

    @property
    def price(self) -> Price:
        return price(self.event)


def private_quantile(
    values: Values,
    *,
    quantile: Number,
    bounds: tuple[Number, Number],
    epsilon: Number,
    cells: int = 2**20,
    max_rows_per_unit: int = 1,
    neighbours: Neighbours = "add_remove",
    entropy: Entropy | None = None,
) -> QuantileRelease:
    """The quantile of floats, each clamped to `bounds`, under epsilon-DP (bounded range: epsilon^2/8-zCDP).

    values: (n,) numbers; NaN counts as missing.  quantile: 0 to 1; 0.5 is the median.  bounds: public, low < high.
    epsilon: nats, > 0.  cells: how finely the bounds are cut, 2 to 2^32; public.
    Precondition: one unit holds at most `max_rows_per_unit` of the rows, >= 1.
    Raises InvalidParameter outside these. Source: Smith 2011; Dong, Durfee, Rogers 2020."""
    rank, share = exact(quantile, "quantile"), positive(epsilon, "epsilon")
    low, high = exact(bounds[0], "bounds"), exact(bounds[1], "bounds")
    if not 0 <= rank <= 1:
        raise InvalidParameter("quantile", expected="between 0 and 1", found=quantile)
    if low >= high:
        raise InvalidParameter("bounds", expected="low < high", found=bounds)
    if isinstance(cells, bool) or not isinstance(cells, int) or not 2 <= cells <= _MOST_CELLS:
        raise InvalidParameter("cells", expected="a whole number, 2 to 2^32", found=cells)
    numbers = np.asarray(opened(values), dtype=np.float64).reshape(-1)
    present = numbers[~np.isnan(numbers)]
    width = float((high - low) / cells)
    with np.errstate(over="ignore", invalid="ignore"):
        placed = np.floor((np.clip(present, float(low), float(high)) - float(low)) / width)
    occupied, counts = np.unique(np.clip(placed, 0, cells - 1).astype(np.int64), return_counts=True)
    chosen = choose_quantile(
        occupied,
        counts.astype(np.int64),
        lo=0,
        hi=cells - 1,
        quantile=rank,
        epsilon=share,
        max_rows=max_rows_per_unit,
        neighbours=neighbours,
        entropy=entropy,
    )
    middle = low + (chosen + Fraction(1, 2)) * (high - low) / cells
    return QuantileRelease(float(middle), chosen, width, ExponentialEvent(share))
