"""Running totals of an array: variances against matrices, known figures and lower bounds, ranges, prices, edges."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.accounting import GaussianEvent, LaplaceEvent
from dither.differences import backward, inverse
from dither.errors import InvalidParameter
from dither.mechanisms.running import (
    least_largest_variance,
    least_mean_variance,
    plan_running_totals,
    running_totals,
)
from dither.mechanisms.running.laplace_sums import half_width_of_sum
from dither.mechanisms.running.square_root import square_root, square_root_for
from dither.mechanisms.running.tree import BalancedTree, balanced_digits, choose_tree, most_nodes
from dither.noise import DiscreteLaplace, insecure_seeded
from dither.secret import Secret

OFFERS = [{"rho": "1/2"}, {"epsilon": 1}]
KNOWN = {"rho": {10: 9.49, 16: 19.3, 20: 27.8}, "epsilon": {10: 324, 16: 1184, 20: 2200}}


def plan_of(n, offer, **more):
    return plan_running_totals(n, neighbours="add_remove", **{**offer, **more})


def noise_matrix(design):
    """B, column by column, from what the design does to each single noise."""
    width = len(design.measure(np.zeros(design.n, dtype=np.int64), 1))
    return np.array([design.totals((np.arange(width) == i).astype(np.int64)) for i in range(width)]).T


@pytest.mark.parametrize(
    "design", [square_root(1), square_root(2), square_root(70), square_root(2500), choose_tree(300)]
)
def test_variances_are_the_row_norms_of_the_noise_matrix(design):
    matrix = noise_matrix(design)
    assert np.allclose(design.gains, (matrix**2).sum(axis=1), rtol=1e-9)
    for first, last in [(0, 0), (0, design.n - 1), (design.n // 3, design.n // 2), (design.n - 1, design.n - 1)]:
        row = matrix[last] - (matrix[first - 1] if first else 0)
        assert math.isclose(design.gain_between(first, last), (row**2).sum(), rel_tol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 9, 100, 1000])
@pytest.mark.parametrize("k", [3, 5, 9])
def test_all_ranges_of_a_tree_count_the_nodes_that_differ(n, k):
    levels = next(h for h in range(1, 20) if (k**h - 1) // 2 >= n)
    tree = BalancedTree(n, k, levels)
    matrix = noise_matrix(tree) if n <= 100 else None
    assert set(np.unique(matrix)) <= {-1, 0, 1} if matrix is not None else True
    for last in range(min(n, 30)):
        for first in range(last + 1):
            if matrix is not None:
                row = matrix[last] - (matrix[first - 1] if first else 0)
                assert np.abs(row).max() <= 1 and tree.gain_between(first, last) == np.abs(row).sum()
    assert tree.gains.max() <= most_nodes(n, k)
    assert most_nodes(n, k) == max(sum(map(abs, balanced_digits(t, k))) for t in range(1, n + 1))


@pytest.mark.parametrize("bits", [10, 16, 20])
@pytest.mark.parametrize("offer", OFFERS)
def test_the_largest_variance_is_near_the_best_known_and_above_what_is_possible(bits, offer):
    n, plan = 1 << bits, plan_of(1 << bits, offer)
    name = next(iter(offer))
    laplace = 2 if name == "epsilon" else 1
    assert laplace * least_largest_variance(n) <= plan.largest_variance <= 1.05 * KNOWN[name][bits]
    assert laplace * least_mean_variance(n) <= plan.variances.mean()


@pytest.mark.parametrize("n", range(1, 70))
def test_no_length_goes_below_the_lower_bounds(n):
    assert plan_of(n, {"rho": "1/2"}).largest_variance >= least_largest_variance(n) * (1 - 1e-9)
    assert plan_of(n, {"rho": "1/2"}).variances.mean() >= least_mean_variance(n) * (1 - 1e-9)


def test_lower_bounds_are_those_of_the_running_total():
    singular = np.linalg.svd(np.tril(np.ones((40, 40))), compute_uv=False)
    assert math.isclose(least_mean_variance(40), (singular.sum() / 40) ** 2, rel_tol=1e-12)
    # One position: noise of variance 1. Two: the best factorization of [[1, 0], [1, 1]] has 4/3 (Mathias' bound 1.28).
    assert least_largest_variance(1) == pytest.approx(1.0)
    assert 1.25 < least_largest_variance(2) <= 4 / 3 + 1e-9


@pytest.mark.parametrize("n", [1, 28, 100, 1000])
def test_the_tree_chosen_is_the_best_of_all_balanced_trees(n):
    chosen = choose_tree(n)
    error = chosen.levels**2 * most_nodes(n, chosen.k)
    for k in range(3, 2 * n + 2, 2):
        levels = next(h for h in range(1, 20) if (k**h - 1) // 2 >= n)
        assert error <= levels**2 * most_nodes(n, k)


@pytest.mark.parametrize("offer", OFFERS)
@pytest.mark.parametrize("n", [1, 2, 3, 64, 65, 1000, 3000])
def test_almost_without_noise_totals_are_the_inverse_difference(offer, n):
    dear = dict.fromkeys(offer, 10**9)
    counts = np.random.default_rng(n).integers(-5, 1000, n)
    release = running_totals(counts, neighbours="add_remove", entropy=insecure_seeded(n), **dear)
    assert np.abs(release.totals - inverse(counts)).max() < 0.01


@pytest.mark.parametrize("offer", OFFERS)
@pytest.mark.parametrize("n", [1, 7, 100, 5000])
def test_totals_and_steps_agree_to_the_last_bit(offer, n):
    counts = np.random.default_rng(n).integers(0, 10**6, n)
    release = running_totals(counts, neighbours="add_remove", entropy=insecure_seeded(n), **offer)
    assert np.array_equal(release.steps, backward(release.totals))
    assert np.array_equal(np.cumsum(release.steps), release.totals)
    part = release.between(n // 3, n - 1)
    assert part.value == release.steps[n // 3 :].sum()
    assert part.variance <= release.variances[n - 1] + (release.variances[n // 3 - 1] if n // 3 else 0) + 1e-9


@pytest.mark.parametrize("offer", OFFERS)
def test_a_range_of_the_first_positions_has_the_error_of_their_total(offer):
    plan = plan_of(3000, offer)
    for last in (0, 17, 2999):
        assert math.isclose(plan.variance_between(0, last), plan.variances[last], rel_tol=1e-9)
        assert plan.half_width_between(0, last) == pytest.approx(plan.half_widths()[last], rel=1e-3)


def test_prices_are_exactly_what_was_offered():
    root = plan_of(100, {"rho": "1/3"}, max_rows_per_unit=4, largest_step=7)
    assert isinstance(root.event, GaussianEvent) and root.price.rho == Fraction(1, 3) and root.price.gaussian
    tree = plan_of(100, {"epsilon": "1/3"}, max_rows_per_unit=4, largest_step=7)
    assert isinstance(tree.event, LaplaceEvent) and tree.price.epsilon == Fraction(1, 3)


@pytest.mark.parametrize("offer", OFFERS)
def test_more_rows_per_unit_cost_their_square_in_variance(offer):
    one, four = plan_of(50, offer), plan_of(50, offer, max_rows_per_unit=2, largest_step=2)
    assert four.largest_variance / one.largest_variance == pytest.approx(16, rel=0.1)
    both = plan_running_totals(50, neighbours="replace", **offer)
    assert both.largest_variance / one.largest_variance == pytest.approx(4, rel=0.1)


def test_without_negative_rows_a_replaced_unit_costs_half_as_much_under_rho():
    signed = plan_running_totals(50, rho=1, neighbours="replace")
    assert (
        signed.largest_variance
        == 2 * plan_running_totals(50, rho=1, neighbours="replace", signed=False).largest_variance
    )


@pytest.mark.parametrize("offer", OFFERS)
def test_an_empty_range_costs_nothing(offer):
    release = running_totals(np.zeros(0, dtype=np.int64), neighbours="add_remove", **offer)
    assert len(release.totals) == len(release.steps) == len(release.variances) == len(release.half_widths()) == 0
    assert release.price.rho == 0 and not release.price.epsilon
    with pytest.raises(InvalidParameter):
        release.between(0, 0)


@pytest.mark.parametrize("offer", OFFERS)
def test_a_million_positions_of_zeros_stay_within_a_few_deviations(offer):
    release = running_totals(
        np.zeros(10**6, dtype=np.int64), neighbours="add_remove", entropy=insecure_seeded(5), **offer
    )
    limit = 6.5 * math.sqrt(1.05 * KNOWN[next(iter(offer))][20])
    assert np.any(release.totals) and np.abs(release.totals).max() < limit


def test_a_secret_gives_the_same_release_and_stays_secret():
    counts = np.arange(20)
    plain = running_totals(counts, rho=1, neighbours="add_remove", entropy=insecure_seeded(1))
    secret = running_totals(Secret(counts), rho=1, neighbours="add_remove", entropy=insecure_seeded(1))
    assert np.array_equal(plain.totals, secret.totals)


def test_larger_counts_take_coarser_weights_and_then_none():
    fine, coarse = square_root_for(2000, 2**27), square_root_for(2000, 2**34)
    assert int(fine.weights.max()) == 4096 and 256 <= int(coarse.weights.max()) < 4096
    assert coarse.largest_count >= 2**34
    ratio = coarse.gains.max() * coarse.column_squared / (fine.gains.max() * fine.column_squared)
    assert 1 <= ratio < 1.03
    with pytest.raises(InvalidParameter, match="largest_count"):
        square_root_for(2000, 2**50)


def test_the_largest_counts_allowed_do_not_overflow():
    design = square_root(500)
    top = np.full(500, design.largest_count)
    measured = design.measure(top, design.largest_count)
    assert 0.9 * 2**61 < int(measured.max()) <= 2**61 and int(measured.min()) > 0
    assert design.measure(-top, design.largest_count).tolist() == (-measured).tolist()


@pytest.mark.parametrize(
    ("n", "offer", "words"),
    [
        (1024, {"rho": "1/2"}, ["normalised square root", "9.496", "1,024", "8.466"]),
        (1024, {"epsilon": 1}, ["13-ary tree of 3 levels", "321", "binary tree"]),
        (10, {"epsilon": 1}, ["One noisy count per position", "10 positions"]),
    ],
)
def test_the_reason_is_a_sentence_with_figures(n, offer, words):
    reason = plan_of(n, offer).reason
    assert reason.endswith(".") and all(word in reason for word in words)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"rho": 1, "epsilon": 1},
        {"rho": 0},
        {"epsilon": -1},
        {"rho": 1, "max_rows_per_unit": 0},
        {"rho": 1, "largest_step": 1.5},
        {"rho": 1, "neighbours": "adjacent"},
        {"epsilon": 1, "largest_count": 2**61},
    ],
)
def test_a_plan_without_a_meaning_is_refused(wrong):
    with pytest.raises(InvalidParameter):
        plan_running_totals(10, **{"neighbours": "add_remove", **wrong})


@pytest.mark.parametrize("counts", [[[1, 2], [3, 4]], 5, [1, 2, 3], [1.5, 2.5]])
def test_a_plan_releases_only_counts_of_its_shape(counts):
    with pytest.raises(InvalidParameter):
        plan_of(2, {"rho": 1}).release(np.array(counts))


@pytest.mark.parametrize("scale", ["1/3", "2", "40"])
@pytest.mark.parametrize("draws", [1, 2, 9])
def test_the_width_for_a_sum_of_draws_is_the_least_that_covers(scale, draws):
    law = DiscreteLaplace(scale)
    reach = int(60 * law.scale) + 60
    single = np.array([float(law.pmf_bounds(k)[0]) for k in range(-reach, reach + 1)])
    total = np.ones(1)
    for _ in range(draws):
        total = np.convolve(total, single)
    width, middle = half_width_of_sum(((law, draws),), "0.95"), len(total) // 2
    assert total[middle - width : middle + width + 1].sum() >= 0.95 - 1e-9
    assert width == 0 or total[middle - width + 1 : middle + width].sum() < 0.95


def test_wide_laws_and_mixed_laws_have_widths_a_little_above_the_least():
    wide = half_width_of_sum(((DiscreteLaplace(10**6), 4),), "0.95")
    narrow = half_width_of_sum(((DiscreteLaplace(64), 4),), "0.95")
    assert narrow / 64 <= wide / 10**6 <= 1.02 * narrow / 64
    assert half_width_of_sum(((DiscreteLaplace(64), 2), (DiscreteLaplace(64), 2)), "0.95") == narrow
    assert half_width_of_sum((), "0.95") == half_width_of_sum(((DiscreteLaplace(2), 0),), "0.95") == 0
    with pytest.raises(InvalidParameter):
        half_width_of_sum(((DiscreteLaplace(2), 2),), 1 - Fraction(1, 10**12))
