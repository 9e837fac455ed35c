"""How far one unit moves what is measured: everything there is on short ranges, by enumeration."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from dither.mechanisms.running import plan_running_totals

LARGEST = 1000


def moves(n, rows, steps):
    """All ways in which a unit's rows can move n counts: at most `rows` rows, each adding one of `steps`."""
    found = {(0,) * n}
    for count in range(1, rows + 1):
        for places in combinations_with_replacement(range(n), count):
            for sizes in product(steps, repeat=count):
                move = np.zeros(n, dtype=int)
                np.add.at(move, list(places), list(sizes))
                found.add(tuple(int(v) for v in move))
    return [np.array(move) for move in found]


def measured_moves(plan, rows, steps, *, replace):
    """The integer vectors by which measurements differ between all neighbours."""
    base = np.arange(plan.n) - 3
    single = moves(plan.n, rows, steps)
    pairs = [a - b for a in single for b in single] if replace else single
    before = plan.design.measure(base, LARGEST)
    return [plan.design.measure(base + move, LARGEST) - before for move in pairs]


def arguments(rows, steps, neighbours):
    return {
        "neighbours": neighbours,
        "max_rows_per_unit": rows,
        "largest_step": max(map(abs, steps)),
        "signed": min(steps) < 0,
        "largest_count": LARGEST,
    }


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize(("rows", "steps"), [(1, (1,)), (3, (1,)), (2, (0, 1, 3)), (2, (-2, 2))])
def test_the_declared_l2_distance_is_the_largest_there_is(n, rows, steps):
    plan = plan_running_totals(n, rho=1, **arguments(rows, steps, "add_remove"))
    found = max(int(np.dot(move, move)) for move in measured_moves(plan, rows, steps, replace=False))
    assert found == plan.event.squared_distance


@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_replaced_unit_with_signed_rows_moves_twice_as_far(n):
    plan = plan_running_totals(n, rho=1, **arguments(2, (-1, 1), "replace"))
    found = max(int(np.dot(move, move)) for move in measured_moves(plan, 2, (-1, 1), replace=True))
    once = plan_running_totals(n, rho=1, **arguments(2, (-1, 1), "add_remove"))
    assert found == plan.event.squared_distance == 4 * once.event.squared_distance


@pytest.mark.parametrize(("n", "rows", "steps"), [(1, 2, (0, 1)), (3, 1, (0, 1)), (6, 2, (0, 1)), (4, 2, (0, 2))])
def test_a_replaced_unit_without_negative_rows_moves_root_two_as_far_at_most(n, rows, steps):
    plan = plan_running_totals(n, rho=1, **arguments(rows, steps, "replace"))
    found = max(int(np.dot(move, move)) for move in measured_moves(plan, rows, steps, replace=True))
    once = plan_running_totals(n, rho=1, **arguments(rows, steps, "add_remove"))
    assert found <= plan.event.squared_distance == 2 * once.event.squared_distance
    # One row moved far away leaves hardly any overlap: the bound is nearly reached on longer ranges.
    far = plan_running_totals(60, rho=1, **arguments(1, (1,), "replace"))
    move = np.zeros(60, dtype=int)
    move[0], move[59] = 1, -1
    shift = far.design.measure(move, LARGEST)
    assert 0.9 * far.event.squared_distance < int(np.dot(shift, shift)) <= far.event.squared_distance


@pytest.mark.parametrize("n", [1, 3, 30])
@pytest.mark.parametrize(("rows", "steps"), [(1, (1,)), (2, (1,)), (2, (-3, 3))])
def test_the_declared_l1_distance_is_the_largest_there_is(n, rows, steps):
    plan = plan_running_totals(n, epsilon=1, **arguments(rows, steps, "add_remove"))
    assert plan.design.levels == (2 if n == 30 else 1)
    found = max(int(np.abs(move).sum()) for move in measured_moves(plan, rows, steps, replace=False))
    assert found == plan.event.distance


@pytest.mark.parametrize("n", [2, 30])
def test_a_replaced_unit_moves_twice_as_far_in_l1(n):
    plan = plan_running_totals(n, epsilon=1, **arguments(1, (1,), "replace"))
    found = max(int(np.abs(move).sum()) for move in measured_moves(plan, 1, (1,), replace=True))
    assert found == plan.event.distance


def test_counts_beyond_the_public_maximum_are_clamped_so_that_distances_hold():
    from dither.noise import insecure_seeded

    plan = plan_running_totals(3, rho=10**6, neighbours="add_remove", largest_count=10)
    release = plan.release(np.array([2**62, -(2**62), 3]), entropy=insecure_seeded(1))
    assert np.allclose(release.totals, [10, 0, 3], atol=0.02)
