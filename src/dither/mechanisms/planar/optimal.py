"""The best mechanism on a few cells: least expected distance under a public prior, found by a linear program.

Flow: cells and a prior, both public, to a table of whole numbers; places to noisy cells by exact draws from it.
Relies on: SciPy's HiGHS for a guess. What HiGHS returns satisfies nothing exactly, so the guess is made Lipschitz again
(`_envelope`), mixed with a trace of the uniform law, rounded to multiples of 2^-62, and then every inequality
    k[x, z] <= e^(epsilon |x - x'|) k[x', z]
is checked in whole numbers against certified lower bounds of the exponentials. What is drawn is that table.
Source: Bordenabe, Chatzikokolakis, Palamidessi 2014, "Optimal geo-indistinguishable mechanisms for location privacy".
Proof: docs/proofs/mechanisms/planar-optimal.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.accounting.metric import MetricLoss
from dither.errors import GuaranteeError, InvalidParameter
from dither.exact import Number, positive
from dither.mechanisms.planar.lattice import METRIC
from dither.mechanisms.planar.release import checked_points
from dither.mechanisms.release import Values
from dither.noise import Entropy, exp_bounds, sqrt_bounds, system_entropy, uniform_below

__all__ = ["MOST_CELLS", "OptimalMechanism", "plan_optimal"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_CELLS = 50
"""The program has cells^2 unknowns and up to cells^3 inequalities: about 10 seconds of one core at 49 cells."""

WHOLE = 1 << 62
"""Every row of a table sums to this."""

_BITS = 96
_MIXED = 2.0**-20
_SLACKS = (2.0**-16, 2.0**-12, 2.0**-8, 2.0**-4)
"""Shares of epsilon given up, one after the other, until the rounded table keeps all of it."""

_NEAREST = 4
_VIOLATED = 1e-8
_MOST_ROUNDS = 40


@dataclass(frozen=True)
class OptimalMechanism:
    """A cell is shown as cell z with probability table[x, z] / 2^62."""

    cells: Floats
    """(n, 2) metres in the plane: the places that can be shown."""
    prior: Floats
    """(n,) public, sums to 1."""
    epsilon: Fraction
    """Nats per metre, of one point."""
    table: Ints
    """(n, n) whole numbers; each row sums to 2^62."""

    @property
    def loss(self) -> MetricLoss:
        """Of one point."""
        return MetricLoss(self.epsilon, METRIC)

    @property
    def expected_distance_m(self) -> float:
        """Mean distance between a cell and the one shown for it, over the prior."""
        shares = self.table / float(WHOLE)
        return float(self.prior @ (shares * _distances(self.cells)).sum(axis=1))

    def draw(self, cells: npt.ArrayLike, *, entropy: Entropy | None = None) -> Ints:
        """Positions of the cells shown for these positions, by exact draws. (n,) integers below the number of cells."""
        asked = np.asarray(cells)
        if asked.ndim != 1 or asked.dtype.kind not in "iu" or np.any((asked < 0) | (asked >= len(self.cells))):
            raise InvalidParameter("cells", expected="positions in the list of cells", found="others")
        source, shown = entropy or system_entropy(), np.empty(len(asked), dtype=np.int64)
        points = uniform_below(WHOLE, len(asked), entropy=source)
        running = np.cumsum(self.table, axis=1)
        for cell in range(len(self.cells)):
            here = np.flatnonzero(asked == cell)
            shown[here] = np.searchsorted(running[cell], points[here], side="right")
        return shown

    def perturb(self, points: Values | npt.NDArray[Any], *, reach_m: float, entropy: Entropy | None = None) -> Floats:
        """The cells shown for raw places, (n, 2) metres: each place counts as its nearest cell.
        reach_m: no place may be farther than this from every cell (refused, naming none). Places d apart are then
        protected by epsilon (d + 2 reach_m)."""
        nearest = self.nearest(checked_points(points), reach_m=reach_m)
        shown: Floats = self.cells[self.draw(nearest, entropy=entropy)]
        return shown

    def nearest(self, points: Floats, *, reach_m: float) -> Ints:
        """The position of each point's nearest cell, (n,). points: (n, 2) metres, each within `reach_m` of it."""
        nearest, least = np.zeros(len(points), dtype=np.int64), np.full(len(points), np.inf)
        for position, cell in enumerate(self.cells):
            apart = np.hypot(*(points - cell).T)
            nearer = apart < least
            nearest[nearer], least[nearer] = position, apart[nearer]
        # The distances are rounded, by less than this share of them.
        if not np.all(least <= reach_m * (1 - 2.0**-50)):
            raise InvalidParameter("points", expected=f"within {reach_m:g} m of a cell", found="others among them")
        return nearest

    def certify(self) -> None:
        """Raises GuaranteeError unless the table itself, in whole numbers, keeps every inequality of the guarantee."""
        rows = self.table.tolist()
        if any(sum(row) != WHOLE or min(row) < 0 for row in rows):
            raise GuaranteeError("A row of an optimal mechanism does not sum to 1.")
        if not _keeps(rows, self.cells, self.epsilon):
            raise GuaranteeError("An optimal mechanism breaks an inequality of its guarantee.")


def plan_optimal(
    cells: npt.ArrayLike,
    prior: npt.ArrayLike,
    *,
    epsilon: Number,
    progress: Callable[[str], None] | None = None,
) -> OptimalMechanism:
    """The mechanism of least expected distance among those that are (epsilon d)-private on these cells, up to a share
    of about 2^-16 of epsilon given to rounding.

    cells: (n, 2) metres, all different, 2 <= n <= 50. prior: (n,) weights >= 0, not all 0; public, both.
    epsilon: nats per metre, of one point. progress: told in words what is being done.
    Raises InvalidParameter outside those ranges; GuaranteeError if no table of whole numbers could be certified."""
    where, weights = _checked(cells, prior)
    rate = positive(epsilon, "epsilon")
    if find_spec("scipy") is None:
        raise InvalidParameter(
            "plan_optimal", expected="SciPy, for its linear programs", found="no SciPy",
            hint="Install it with: pip install 'dither[science]'",
        )  # fmt: skip
    for slack in _SLACKS:
        kept = float(rate) * (1 - slack)
        guess = _solve(where, weights, kept, progress)
        table = _rounded(_envelope(guess, kept, _distances(where)))
        if _keeps(table.tolist(), where, rate):
            made = OptimalMechanism(where, weights, rate, table)
            made.certify()
            return made
    raise GuaranteeError("No table of whole numbers keeps the guarantee on these cells.")


def _solve(cells: Floats, prior: Floats, epsilon: float, progress: Callable[[str], None] | None) -> Floats:
    """HiGHS's answer, (n, n). Inequalities between near cells first; those that the answer breaks are added until it
    breaks none, which takes a tenth of the time of all of them."""
    apart = _distances(cells)
    count = len(cells)
    near = np.zeros((count, count), dtype=np.bool_)
    for cell, order in enumerate(np.argsort(apart, axis=1)[:, 1 : _NEAREST + 1]):
        near[cell, order] = True
    active = np.repeat((near | near.T)[:, :, None], count, axis=2)
    for number in range(1, _MOST_ROUNDS + 1):
        if progress is not None:
            progress(f"linear program, round {number}: {int(active.sum()):,} inequalities")
        answer = _program(apart, prior, epsilon, active)
        broken = answer[:, None, :] * np.exp(-epsilon * apart)[:, :, None] - answer[None, :, :] > _VIOLATED
        if not np.any(broken & ~active):
            return answer
        active |= broken
    return answer  # the envelope repairs what is left, at some cost in distance


def _program(apart: Floats, prior: Floats, epsilon: float, active: npt.NDArray[np.bool_]) -> Floats:
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    count = len(prior)
    one, other, shown = np.nonzero(active)
    rows = np.arange(len(one))
    # k[x, z] e^(-epsilon d) <= k[x', z]: coefficients at most 1 keep the program well scaled.
    limits = coo_matrix(
        (
            np.concatenate([np.exp(-epsilon * apart[one, other]), -np.ones(len(one))]),
            (np.concatenate([rows, rows]), np.concatenate([one * count + shown, other * count + shown])),
        ),
        shape=(len(one), count * count),
    )
    sums = coo_matrix((np.ones(count * count), (np.repeat(np.arange(count), count), np.arange(count * count))))
    found = linprog(
        (prior[:, None] * apart).ravel(), A_ub=limits.tocsr(), b_ub=np.zeros(len(one)), A_eq=sums.tocsr(),
        b_eq=np.ones(count), bounds=(0, 1), method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )  # fmt: skip
    if found.x is None:
        raise GuaranteeError("The linear program of an optimal mechanism was not solved.")
    answer: Floats = np.clip(found.x.reshape(count, count), 0.0, 1.0)
    return answer


def _envelope(guess: Floats, epsilon: float, apart: Floats) -> Floats:
    """The largest table below the guess that keeps the inequalities at epsilon, but for its rows' sums:
    min over x' of e^(epsilon |x - x'|) guess[x', z]."""
    growth = np.exp(np.minimum(epsilon * apart, 600.0))
    table: Floats = (growth[:, :, None] * (guess + 1e-15)[None, :, :]).min(axis=1)
    return table


def _rounded(table: Floats) -> Ints:
    """Rows of whole numbers that sum to 2^62: normalised, mixed with a trace of the uniform law so that no entry is too
    small to be rounded well, and what is missing put on the largest entry."""
    shares = table / table.sum(axis=1, keepdims=True)
    mixed = (1 - _MIXED) * shares + _MIXED / len(table)
    whole = [[int(share * WHOLE) for share in row] for row in mixed.tolist()]
    for row in whole:
        row[row.index(max(row))] += WHOLE - sum(row)
    return np.array(whole, dtype=np.int64)


def _keeps(rows: list[list[int]], cells: Floats, epsilon: Fraction) -> bool:
    """Whether k[x, z] <= e^(epsilon |x - x'|) k[x', z] holds for all x, x', z, decided in whole numbers."""
    places = [(Fraction(x), Fraction(y)) for x, y in cells.tolist()]
    for one, other in combinations(range(len(rows)), 2):
        squared = (places[one][0] - places[other][0]) ** 2 + (places[one][1] - places[other][1]) ** 2
        least = exp_bounds(epsilon * sqrt_bounds(squared, _BITS)[0], _BITS)[0]
        factor = int(least * (1 << _BITS))  # rounded down: what is allowed is never overstated
        for a, b in zip(rows[one], rows[other], strict=True):
            if a << _BITS > factor * b or b << _BITS > factor * a:
                return False
    return True


def _distances(cells: Floats) -> Floats:
    apart: Floats = np.hypot(cells[:, None, 0] - cells[None, :, 0], cells[:, None, 1] - cells[None, :, 1])
    return apart


def _checked(cells: npt.ArrayLike, prior: npt.ArrayLike) -> tuple[Floats, Floats]:
    where, weights = np.asarray(cells, dtype=np.float64), np.asarray(prior, dtype=np.float64)
    if where.ndim != 2 or where.shape[1:] != (2,) or not np.all(np.isfinite(where)):
        raise InvalidParameter("cells", expected="finite places of shape (n, 2)", found=f"shape {where.shape}")
    if not 2 <= len(where) <= MOST_CELLS:
        raise InvalidParameter(
            "cells", expected=f"2 to {MOST_CELLS} cells", found=len(where),
            hint="Use `perturb` and `remap` for more: they cost no linear program.",
        )  # fmt: skip
    if len(np.unique(where, axis=0)) < len(where):
        raise InvalidParameter("cells", expected="cells that are all different", found="two that are the same")
    with np.errstate(over="ignore"):
        # An infinite sum of finite weights would make every share of it nothing.
        finite = weights.shape == (len(where),) and np.isfinite(weights.sum())
    if not finite or np.any(weights < 0) or not weights.any():
        raise InvalidParameter("prior", expected="a weight of 0 or above per cell, not all 0", found="others")
    return where, weights / weights.sum()
