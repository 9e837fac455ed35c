"""Which residuals are measured for a set of marginals, and how accurately: the closed form, in exact rationals.

Flow: `plan_marginals` from public facts; `release` draws from the plan's laws, `errors_of` tells how sure a cell is.
Every subset A of a wanted marginal is a part. Its noise is iid discrete Gaussian on the integers of `residual_of`, of
variance sigma_A^2 times the square of the product of its sizes; its price p_A / (2 sigma_A^2), p_A the product of
(d-1)/d, times the square of the distance. The sigma_A minimise the weighted sum of the variances of the wanted cells.
Source: Xiao, He, Zhang, Kifer 2023 (arXiv 2305.08175), sections 4 and 5; the integers are ours.
Proof: docs/proofs/mechanisms/residuals.md
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from dither.accounting.events import ComposedEvent, GaussianEvent
from dither.accounting.price import Price, price
from dither.errors import InvalidParameter
from dither.exact import QUANTUM, Number, exact, positive, round_down
from dither.mechanisms.release import Neighbours, Values
from dither.noise import DiscreteGaussian, Entropy

if TYPE_CHECKING:
    from dither.mechanisms.residual.release import MarginalRelease

__all__ = [
    "MOST_CELLS",
    "MOST_PARTS",
    "Axes",
    "MarginalPlan",
    "Part",
    "parts_of",
    "plan_at",
    "plan_marginals",
    "shares_of",
]

Axes = tuple[int, ...]

MOST_CELLS = 2**20
"""Of one marginal."""
MOST_PARTS = 4096
"""Subsets of the wanted marginals; each is measured once."""
_UNITS = 2**50
"""Shares of rho are whole numbers of 1/2^50 before they are rounded to what a ledger counts."""


@dataclass(frozen=True)
class Part:
    """One residual, measured once for every marginal that holds its axes."""

    axes: Axes
    law: DiscreteGaussian
    """Of the noise on each of its integers."""
    event: GaussianEvent


@dataclass(frozen=True)
class MarginalPlan:
    """What a set of marginals would cost and how sure they would be; from public facts alone."""

    sizes: tuple[int, ...]
    """How many values each axis has."""
    wanted: tuple[Axes, ...]
    """The marginals, each as its axes in ascending order."""
    parts: tuple[Part, ...]
    """Fewest axes first."""

    @cached_property
    def event(self) -> ComposedEvent:
        return ComposedEvent(tuple(part.event for part in self.parts))

    @cached_property
    def price(self) -> Price:
        return price(self.event)

    @cached_property
    def by_axes(self) -> dict[Axes, Part]:
        return {part.axes: part for part in self.parts}

    def shape(self, axes: Axes) -> tuple[int, ...]:
        return tuple(self.sizes[axis] for axis in axes)

    def release(self, tables: Mapping[Axes, Values], *, entropy: Entropy | None = None) -> MarginalRelease:
        """Noisy marginals of one table: the only step that reads data. tables: for each of `maximal` an integer array
        of its shape, marginals of the same rows; wrapped as Secret or not."""
        from dither.mechanisms.residual.release import release_marginals

        return release_marginals(self, tables, entropy=entropy)

    def below(self, axes: Axes) -> tuple[Part, ...]:
        """The parts that a marginal is made of."""
        return tuple(self.by_axes[part] for part in parts_of([axes], self.sizes))

    @property
    def maximal(self) -> tuple[Axes, ...]:
        """The wanted marginals that are no marginal of another: only their tables are read."""
        return tuple(
            dict.fromkeys(a for a in self.wanted if not any(set(a) < set(other) for other in self.wanted))
        )  # fmt: skip


def plan_marginals(
    sizes: Sequence[int],
    wanted: Iterable[Iterable[int]],
    *,
    rho: Number,
    neighbours: Neighbours,
    weights: Sequence[Number] | None = None,
    max_rows_per_unit: int = 1,
    largest_step: int = 1,
) -> MarginalPlan:
    """How rho buys all wanted marginals of one table at the least weighted sum of their cells' variances.
    Precondition: a unit has at most max_rows_per_unit rows, each adding at most largest_step to one cell, in size.
    sizes: values of each axis, public.  wanted: each marginal as the numbers of its axes; () is the total.
    weights: of one cell of each marginal; all alike by default. With the number of its cells as the weight of each, the
    mean squared error over all cells is least.
    The price is rho to the ledger's last digit, never above it. No marginal is less accurate than if the marginals
    were measured one by one and rho shared among them as best for these weights.
    Raises InvalidParameter for sizes, marginals, weights or rho that cannot be."""
    plan_sizes = tuple(sizes)
    if not all(isinstance(size, int) and size >= 1 for size in plan_sizes):
        raise InvalidParameter("sizes", expected="whole numbers >= 1", found=plan_sizes)
    for name, value in (("max_rows_per_unit", max_rows_per_unit), ("largest_step", largest_step)):
        if value < 1:
            raise InvalidParameter(name, expected="a whole number >= 1", found=value)
    if neighbours not in ("add_remove", "replace"):
        raise InvalidParameter("neighbours", expected="add_remove or replace", found=neighbours)
    marginals = tuple(_checked(axes, plan_sizes) for axes in wanted)
    if not marginals:
        raise InvalidParameter("wanted", expected="at least one marginal", found="none")
    distance = max_rows_per_unit * largest_step * (2 if neighbours == "replace" else 1)
    return plan_at(plan_sizes, marginals, _weights(weights, marginals), positive(rho, "rho"), distance)


def plan_at(
    sizes: tuple[int, ...],
    wanted: tuple[Axes, ...],
    weights: Sequence[Fraction],
    rho: Fraction,
    distance: int,
    total_distance: int | None = None,
) -> MarginalPlan:
    """As `plan_marginals`, for arguments that were checked. distance: L1, in steps, of the whole table between
    neighbours.  total_distance: of its total alone, where that is less."""
    parts = parts_of(wanted, sizes)
    moved = [distance if axes or total_distance is None else total_distance for axes in parts]
    shares = shares_of(parts, moved, sizes, wanted, weights, rho)
    made = []
    for axes, far, share in zip(parts, moved, shares, strict=True):
        # A column of (d I - J) has squared length d (d - 1): the same for every cell, so the bound is met.
        squared = far**2 * math.prod(sizes[axis] * (sizes[axis] - 1) for axis in axes)
        variance = Fraction(squared) / (2 * share)
        made.append(Part(axes, DiscreteGaussian(variance), GaussianEvent(variance, squared)))
    return MarginalPlan(sizes, wanted, tuple(made))


def parts_of(wanted: Iterable[Axes], sizes: Sequence[int] | Mapping[int, int]) -> tuple[Axes, ...]:
    """All subsets of the wanted marginals, fewest axes first; an axis of one value has no residual.
    Raises InvalidParameter where there are more than MOST_PARTS."""
    found: set[Axes] = set()
    for axes in wanted:
        moving = [axis for axis in axes if sizes[axis] > 1]
        if len(moving) > MOST_PARTS.bit_length():
            raise _too_many()
        found.update(part for size in range(len(moving) + 1) for part in itertools.combinations(moving, size))
        if len(found) > MOST_PARTS:
            raise _too_many()
    return tuple(sorted(found, key=lambda axes: (len(axes), axes)))


def shares_of(
    parts: Sequence[Axes],
    moved: Sequence[int],
    sizes: Sequence[int],
    wanted: Sequence[Axes],
    weights: Sequence[Fraction],
    rho: Fraction,
) -> list[Fraction]:
    """The part of rho that each residual gets: proportional to D_A sqrt(c_A p_A), D_A how far its rows move (`moved`),
    c_A the weighted sum over the wanted S that hold A of p_A times the product over S without A of d^-2. They add up to
    rho, rounded down to the ledger's last digit."""
    place = {axes: i for i, axes in enumerate(parts)}
    gains = [0.0] * len(parts)
    for axes, weight in zip(wanted, weights, strict=True):
        for part in parts_of([axes], sizes):
            gains[place[part]] += float(weight) / math.prod(sizes[axis] for axis in axes if axis not in part) ** 2
    roots = [
        far * math.prod((sizes[axis] - 1) / sizes[axis] for axis in part) * math.sqrt(gain)
        for part, far, gain in zip(parts, moved, gains, strict=True)
    ]
    largest = max(roots)
    units = [max(1, int(root / largest * _UNITS)) for root in roots]
    whole = round_down(rho)
    shares = [round_down(whole * Fraction(unit, sum(units))) for unit in units]
    first = units.index(max(units))
    shares[first] += whole - sum(shares)
    if min(shares) <= 0:
        raise InvalidParameter("rho", expected=f"at least {float(QUANTUM * _UNITS):g}", found=float(rho))
    return shares


def _checked(axes: Iterable[int], sizes: Sequence[int]) -> Axes:
    own = tuple(sorted(axes))
    if len(set(own)) != len(own) or not all(0 <= axis < len(sizes) for axis in own):
        raise InvalidParameter("wanted", expected=f"different axes from 0 to {len(sizes) - 1}", found=own)
    if math.prod(sizes[axis] for axis in own) > MOST_CELLS:
        raise InvalidParameter("wanted", expected=f"marginals of at most {MOST_CELLS:,} cells", found=own)
    return own


def _weights(weights: Sequence[Number] | None, wanted: Sequence[Axes]) -> list[Fraction]:
    if weights is None:
        return [Fraction(1)] * len(wanted)
    found = [positive(exact(weight, "weights"), "weights") for weight in weights]
    if len(found) != len(wanted):
        raise InvalidParameter("weights", expected=f"{len(wanted)}, one for each marginal", found=len(found))
    return found


def _too_many() -> InvalidParameter:
    return InvalidParameter(
        "wanted",
        expected=f"marginals with at most {MOST_PARTS:,} subsets of axes among them",
        found="more",
        hint="Ask for fewer axes at once.",
    )
