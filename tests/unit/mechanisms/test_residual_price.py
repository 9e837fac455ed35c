"""The price of many marginals, by enumerating neighbours and outcomes; noise put on the wrong numbers is caught."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dither.accounting import epsilon_of
from dither.errors import InvalidParameter
from dither.mechanisms.residual import CellErrors, MarginalPlan, plan_marginals
from dither.mechanisms.residual.integers import residual_of

SHAPES = [
    ((2,), [(0,), ()]),
    ((3,), [(0,)]),
    ((2, 2), [(0,), (1,)]),
    ((2, 3), [(0, 1), ()]),
    ((2, 1, 3), [(0, 1), (1, 2)]),
    ((2, 2, 2), [(0, 1), (1, 2), (0, 2)]),
]


def moves(plan: MarginalPlan, before: np.ndarray, after: np.ndarray) -> Fraction:
    """The sum over all measured integers of (difference)^2 / (2 variance): for discrete Gaussians shifted by whole
    numbers the Renyi divergence of order alpha is alpha times this."""
    axes = tuple(range(len(plan.sizes)))
    total = Fraction(0)
    for part in plan.parts:
        apart = residual_of(after, axes, part.axes) - residual_of(before, axes, part.axes)
        total += Fraction(int((apart**2).sum())) / (2 * part.law.sigma2)
    return total


def tables(sizes: tuple[int, ...], most: int) -> list[np.ndarray]:
    cells = math.prod(sizes)
    return [np.array(v, dtype=np.int64).reshape(sizes) for v in itertools.product(range(most + 1), repeat=cells)]


@pytest.mark.parametrize(("sizes", "wanted"), SHAPES)
def test_the_price_is_what_one_row_moves_exactly_whichever_row(sizes: tuple[int, ...], wanted: list) -> None:
    plan = plan_marginals(sizes, wanted, rho="0.25", neighbours="add_remove")
    assert plan.price.rho == Fraction(1, 4)
    empty = np.zeros(sizes, dtype=np.int64)
    for cell in np.ndindex(*sizes):
        row = empty.copy()
        row[cell] = 1
        assert moves(plan, empty, row) == plan.price.rho


@pytest.mark.parametrize(("sizes", "wanted"), SHAPES[:4])
@pytest.mark.parametrize("tau", [1, 2])
def test_no_unit_of_tau_rows_moves_more_than_the_price(sizes: tuple[int, ...], wanted: list, tau: int) -> None:
    plan = plan_marginals(sizes, wanted, rho="0.25", neighbours="add_remove", max_rows_per_unit=tau)
    units = [table for table in tables(sizes, tau) if table.sum() <= tau]
    empty = np.zeros(sizes, dtype=np.int64)
    assert max(moves(plan, empty, unit) for unit in units) == plan.price.rho == Fraction(1, 4)


@pytest.mark.parametrize(("sizes", "wanted"), SHAPES[:4])
@pytest.mark.parametrize("tau", [1, 2])
def test_replacing_a_unit_moves_no_more_than_the_price(sizes: tuple[int, ...], wanted: list, tau: int) -> None:
    plan = plan_marginals(sizes, wanted, rho="0.25", neighbours="replace", max_rows_per_unit=tau)
    units = [table for table in tables(sizes, tau) if table.sum() <= tau]
    assert max(moves(plan, a, b) for a in units for b in units) <= plan.price.rho


def test_signed_sums_move_no_more_than_the_price() -> None:
    plan = plan_marginals((2, 2), [(0,), (0, 1)], rho="0.25", neighbours="add_remove", largest_step=3)
    units = []
    for cell in np.ndindex(2, 2):
        for value in range(-3, 4):
            unit = np.zeros((2, 2), dtype=np.int64)
            unit[cell] = value
            units.append(unit)
    empty = np.zeros((2, 2), dtype=np.int64)
    assert max(moves(plan, empty, unit) for unit in units) == plan.price.rho


def gaussian_law(sigma2: Fraction, reach: int) -> np.ndarray:
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-(k**2) / (2 * float(sigma2)))
    return weights / weights.sum()


def test_outcomes_enumerated_stay_inside_the_accounts() -> None:
    """All three measured integers of two groups and their total at a small variance: the hockey-stick divergence at
    the epsilon that the accounts give for a delta is at most that delta, and not far below; Renyi's is alpha rho."""
    plan = plan_marginals((2,), [(0,), ()], rho=Fraction(1, 2), neighbours="add_remove")
    laws = [part.law.sigma2 for part in plan.parts for _ in range(2 ** len(part.axes))]
    shifts = [int(v) for part in plan.parts for v in residual_of(np.array([1, 0]), (0,), part.axes).reshape(-1)]
    reach = 24
    p = np.ones(1)
    q = np.ones(1)
    for sigma2, shift in zip(laws, shifts, strict=True):
        law = gaussian_law(sigma2, reach + 2)
        here, there = law[2:-2], np.roll(law, shift)[2:-2]
        p, q = np.multiply.outer(p, here).reshape(-1), np.multiply.outer(q, there).reshape(-1)
    for alpha in (1.5, 2.0, 4.0):
        kept = (p > 0) & (q > 0)
        renyi = math.log(float(np.exp(alpha * np.log(p[kept]) + (1 - alpha) * np.log(q[kept])).sum())) / (alpha - 1)
        assert renyi == pytest.approx(alpha * 0.5, rel=1e-6)
    for delta in (1e-2, 1e-4):
        epsilon = float(epsilon_of(plan.price.rho, Fraction(delta).limit_denominator(10**6)))
        stick = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
        assert 0.02 * delta < stick <= delta


def test_noise_on_base_counts_would_cost_more_than_its_price() -> None:
    """The planted fault: discrete Gaussian noise of variance sigma_A^2 on the counts of two groups, their difference
    kept. In the reals this is the same mechanism; on whole numbers it costs 1.67 times as much at sigma^2 = 0.1."""
    sigma2, reach = Fraction(1, 10), 40
    single = gaussian_law(sigma2, reach)
    both = np.convolve(single, single)
    claimed = 0.5 / (2 * float(sigma2))  # p_A / (2 sigma_A^2), p_A = 1/2

    def rho_of(law: np.ndarray, alpha: float) -> float:
        """Renyi's divergence of order alpha over alpha, for a shift of one: a lower bound on rho."""
        here, there = law[1:], law[:-1]
        kept = (here > 1e-250) & (there > 1e-250)
        terms = alpha * np.log(here[kept]) + (1 - alpha) * np.log(there[kept])
        return float(np.log(np.exp(terms - terms.max()).sum()) + terms.max()) / (alpha - 1) / alpha

    assert max(rho_of(both, alpha) for alpha in (1.01, 1.5, 2, 4)) > 1.6 * claimed
    # Ours: (d I - J) of the two counts, noise of variance 4 sigma^2 on each, moved by (1, -1).
    ours = gaussian_law(4 * sigma2, reach)
    for alpha in (1.01, 2, 4):
        assert 2 * rho_of(ours, alpha) == pytest.approx(claimed, rel=1e-3)


def test_shares_add_up_to_the_rho_offered_and_never_above() -> None:
    for rho in ("0.01497", "1", "0.1234567890123456789123", 7):
        plan = plan_marginals((7, 5, 3, 2), [(0, 1), (1, 2), (2, 3), ()], rho=rho, neighbours="add_remove")
        offered = Fraction(rho)
        assert offered - Fraction(1, 10**18) < plan.price.rho <= offered
        booked = [Fraction(part.event.squared_distance) / (2 * part.event.variance) for part in plan.parts]
        assert plan.price.rho == sum(booked)


def test_no_marginal_is_less_accurate_than_measured_by_itself() -> None:
    """Statement 5 of the note, for weights of every kind: at most what the best split among single marginals gives."""
    generator = np.random.default_rng(3)
    for _ in range(60):
        axes = int(generator.integers(1, 5))
        sizes = tuple(int(d) for d in generator.integers(1, 7, axes))
        every = [s for k in range(axes + 1) for s in itertools.combinations(range(axes), k)]
        chosen = [every[i] for i in generator.choice(len(every), size=min(len(every), 5), replace=False)]
        weights = [Fraction(int(w), 4) for w in generator.integers(1, 40, len(chosen))]
        rho = Fraction(1, 100)
        plan = plan_marginals(sizes, chosen, rho=rho, weights=weights, neighbours="add_remove")
        errors = CellErrors.of(plan)
        roots = sum(math.sqrt(w) for w in weights)
        for marginal, weight in zip(chosen, weights, strict=True):
            alone = roots / math.sqrt(weight) / (2 * float(rho))
            assert errors.variance(marginal) <= alone * (1 + 1e-6)


def test_wrong_arguments_are_refused() -> None:
    for change in (
        {"sizes": (0, 2)},
        {"wanted": [(0, 5)]},
        {"wanted": []},
        {"wanted": [(0, 0)]},
        {"rho": 0},
        {"weights": [1]},
        {"weights": [1, -1]},
        {"max_rows_per_unit": 0},
        {"neighbours": "swap"},
        {"sizes": (2**11, 2**11)},
        {"sizes": (2,) * 20, "wanted": [tuple(range(20)), ()]},
    ):
        given = {"sizes": (2, 3), "wanted": [(0, 1), ()], "rho": 1, "neighbours": "add_remove", **change}
        with pytest.raises(InvalidParameter):
            plan_marginals(given.pop("sizes"), given.pop("wanted"), **given)
