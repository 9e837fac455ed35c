"""Marginals made of noisy residuals: exact integers, consistent tables, the errors that are claimed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.mechanisms.residual import CellErrors, plan_marginals
from dither.mechanisms.residual.integers import residual_of, whole_marginals
from dither.mechanisms.residual.projection import onto_simplex
from dither.secret import Secret

SIZES = (3, 4, 1, 5)
WANTED = [(0, 1), (1, 3), (2,), ()]


def marginal(table: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return table.sum(axis=tuple(i for i in range(table.ndim) if i not in axes))


def counts() -> np.ndarray:
    return np.random.default_rng(1).integers(0, 1000, SIZES)


def released(rho: str = "0.1"):
    table = counts()
    plan = plan_marginals(SIZES, WANTED, rho=rho, neighbours="add_remove")
    return table, plan.release({axes: marginal(table, axes) for axes in plan.maximal})


def test_residuals_are_exact_on_integers_of_every_size() -> None:
    """Against Python's own integers: the limbs must carry, and saturate only at 2^61."""
    generator = np.random.default_rng(2)
    for largest in (10, 2**20, 2**40, 2**58, 2**61):
        table = generator.integers(-largest, largest, (3, 2, 4), endpoint=True)
        for kept in [s for k in range(4) for s in itertools.combinations(range(3), k)]:
            exact = table.astype(object)
            exact = exact.sum(axis=tuple(i for i in range(3) if i not in kept)) if len(kept) < 3 else exact
            exact = np.asarray(exact, dtype=object)
            for dimension, size in enumerate(exact.shape):
                exact = size * exact - np.asarray(exact.sum(axis=dimension, keepdims=True), dtype=object)
            wanted = [max(-(2**61), min(2**61, int(v))) for v in exact.reshape(-1)]
            assert residual_of(table, (0, 1, 2), kept).reshape(-1).tolist() == wanted


def test_saturated_tables_stay_neighbours() -> None:
    """At the ends of the range a residual moves no further than it should: no wrap to the other end."""
    top = np.array([2**62, 2**62, 5])
    assert residual_of(top, (0,), (0,)).tolist() == [2**61 - 5, 2**61 - 5, -(2**61)]
    assert int(residual_of(top, (0,), ())) == 2**61


def test_totals_of_whole_tables_agree_exactly() -> None:
    _, release = released()
    for axes in ((0, 1), (1, 3)):
        table = release.whole(axes)
        for place, axis in enumerate(axes):
            assert (table.sum(axis=place) == release.whole(tuple(a for a in axes if a != axis))).all()
    assert release.whole(()) == release.whole((2,))[0] == release.whole((0, 1)).sum() == release.whole((1, 3)).sum()
    assert release.whole((0, 1)).dtype == np.int64


def test_whole_cells_are_within_their_rounding_of_the_table() -> None:
    _, release = released()
    for axes in ((0, 1), (1, 3), (0,), ()):
        assert np.abs(release.whole(axes) - release.table(axes)).max() <= 2 ** (len(axes) - 1) + 1e-6


def test_rounding_does_not_pile_up_in_large_tables() -> None:
    generator = np.random.default_rng(4)
    table = generator.normal(0, 50, (60, 70))
    parts = {(0, 1): table, (0,): table.sum(1), (1,): table.sum(0), (): table.sum()}
    whole = whole_marginals({axes: np.asarray(value) for axes, value in parts.items()})
    assert np.abs(whole[0, 1] - table).max() <= 2
    assert (whole[0, 1].sum(0) == whole[1,]).all()
    assert (whole[0, 1].sum(1) == whole[0,]).all()


def test_sums_beyond_2_to_the_52_are_not_cut() -> None:
    # Seven million contributions of 700 million: the total stopped at 2^52, and the last cell was what was left.
    plan = plan_marginals((2, 3), [(), (0,), (0, 1)], rho=1, neighbours="add_remove", largest_step=2**27)
    for cell in (2**50, 2**55, -(2**55)):
        release = plan.release({(0, 1): np.full((2, 3), cell, dtype=np.int64)})
        for axes, factor in (((), 6), ((0,), 3), ((0, 1), 1)):
            off = np.abs(release.whole(axes) - cell * factor)
            assert (off <= 5 * release.half_width(axes)).all()
        assert int(release.whole((0, 1)).sum()) == int(release.whole(())[()])


def test_variances_and_covariances_are_those_of_the_linear_map() -> None:
    """Against the matrix from measured noise to cells, built column by column: exact to float accuracy."""
    from dither.mechanisms.residual.integers import marginal_from, projected

    plan = plan_marginals((2, 3), [(0, 1), (0,)], rho="0.01", neighbours="add_remove")
    places = [(part.axes, cell) for part in plan.parts for cell in np.ndindex(*plan.shape(part.axes))]
    columns: dict[tuple[int, ...], list[np.ndarray]] = {(0, 1): [], (0,): [], (): []}
    spread = []
    for axes, cell in places:
        unit = {part.axes: np.zeros(plan.shape(part.axes), dtype=np.int64) for part in plan.parts}
        unit[axes][cell] = 1
        residuals = {a: projected(v) for a, v in unit.items()}
        for wanted in columns:
            columns[wanted].append(marginal_from(residuals, wanted, plan.sizes).reshape(-1))
        spread.append(plan.by_axes[axes].law.variance())
    errors = CellErrors.of(plan)
    for first, second in itertools.product(columns, repeat=2):
        exact = (np.array(columns[first]).T * np.array(spread)) @ np.array(columns[second])
        for i, cell in enumerate(np.ndindex(*plan.shape(first))):
            for j, other in enumerate(np.ndindex(*plan.shape(second))):
                assert errors.covariance(first, cell, second, other) == pytest.approx(exact[i, j], abs=1e-9)


def test_intervals_and_comparisons_cover_and_cells_are_unbiased() -> None:
    """n = 800 releases of 12 + 20 cells. False alarm below 1e-9; catches variances wrong by a tenth, or covariances
    left out of a comparison (then 88 % or 99 %)."""
    table = counts()
    plan = plan_marginals(SIZES, WANTED, rho="0.002", neighbours="add_remove")
    tables = {axes: marginal(table, axes) for axes in plan.maximal}
    errors = CellErrors.of(plan)
    cells: dict[tuple[int, ...], list[np.ndarray]] = {(0, 1): [], (1, 3): []}
    inside = []
    n = 800
    for _ in range(n):
        release = plan.release(tables)
        for axes in cells:
            cells[axes].append(release.whole(axes) - marginal(table, axes))
        apart = release.difference((0, 1), (1, 2), (1,), (2,))
        inside.append(abs(apart.value - (tables[0, 1][1, 2] - marginal(table, (1,))[2])) <= apart.half_width)
    for axes, found in cells.items():
        noise = np.array(found, dtype=np.float64)
        count = noise.size
        covered = (np.abs(noise) <= errors.half_width(axes, 0.95)).mean()
        # Cells of a table are correlated: a fifth of them count as independent.
        assert abs(covered - 0.95) < 6.2 * math.sqrt(0.95 * 0.05 / (count / 5)) + 0.004
        assert abs(noise.mean()) < 6.2 * math.sqrt(errors.variance(axes) / (count / 5))
        assert noise.var() == pytest.approx(errors.variance(axes), rel=6.2 * math.sqrt(2 / (count / 5)))
    assert abs(np.mean(inside) - 0.95) < 6.2 * math.sqrt(0.95 * 0.05 / n)


def test_tables_may_be_secret_and_must_fit() -> None:
    table = counts()
    plan = plan_marginals(SIZES, WANTED, rho="0.1", neighbours="add_remove")
    hidden = {axes: Secret(marginal(table, axes)) for axes in plan.maximal}
    assert plan.release(hidden).table((0, 1)).shape == (3, 4)
    with pytest.raises(InvalidParameter):
        plan.release({})
    with pytest.raises(InvalidParameter):
        plan.release({**hidden, (0, 1): np.zeros((4, 3), dtype=np.int64)})
    with pytest.raises(InvalidParameter):
        plan.release(hidden).table((0, 3))


def test_a_projected_table_has_no_negative_cell_its_total_and_a_bias_that_is_said() -> None:
    table = np.zeros((4, 25), dtype=np.int64)
    table[0, 0] = 400
    plan = plan_marginals((4, 25), [(0, 1)], rho="0.005", neighbours="add_remove")
    true_bias = np.zeros_like(table, dtype=np.float64)
    said = np.zeros_like(true_bias)
    n = 60
    for _ in range(n):
        release = plan.release({(0, 1): table})
        shown = release.nonnegative((0, 1))
        assert shown.values.min() >= 0
        assert shown.values.sum() == pytest.approx(max(float(release.table(()).sum()), 0.0), abs=1e-6)
        true_bias += (shown.values - table) / n
        said += shown.bias / n
    # The large cell loses what the empty ones gain; the estimate sees at least half of it and not twice as much.
    assert true_bias[0, 0] < -20
    assert 0.5 < said[0, 0] / true_bias[0, 0] < 2
    assert released()[1].nonnegative((0, 1)).mean_bias < 1


def test_the_nearest_table_on_the_simplex() -> None:
    assert onto_simplex(np.array([0.2, 0.8]), 1.0).tolist() == pytest.approx([0.2, 0.8])
    assert onto_simplex(np.array([3.0, -1.0, 1.0]), 3.0).tolist() == pytest.approx([2.5, 0.0, 0.5])
    assert onto_simplex(np.array([-5.0, -4.0]), 0.0).tolist() == [0.0, 0.0]
