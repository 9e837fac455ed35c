"""Neighbours and sensitivities, each against a value worked out by hand."""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from dither.differences import (
    ADD_REMOVE,
    REPLACE,
    dataset_difference,
    datasets,
    group_sensitivity,
    lipschitz_constant,
    mixed_difference,
    neighbouring_pairs,
    pairs_within,
    sampled_sensitivity,
    samples_needed,
    sensitivity,
)
from dither.differences.neighbours import NeighbouringRelation
from dither.errors import InvalidParameter

AMOUNTS = (-3, 0, 2, 9)


def clamped_sum(data: tuple[int, ...]) -> int:
    return sum(min(max(v, -1), 5) for v in data)


def histogram(data: tuple[int, ...]) -> Counter[int]:
    return Counter(data)


@pytest.mark.parametrize(
    ("f", "relation", "norm", "expected"),
    [
        (len, ADD_REMOVE, 1, 1),
        (len, REPLACE, 1, 0),
        (clamped_sum, ADD_REMOVE, 1, 5),  # max(|-1|, 5)
        (clamped_sum, REPLACE, 1, 6),  # 5 - (-1)
        (histogram, ADD_REMOVE, 1, 1),
        (histogram, REPLACE, 1, 2),
        (histogram, REPLACE, "inf", 1),
        (max, REPLACE, 1, 12),
        (lambda data: [len(data), clamped_sum(data)], ADD_REMOVE, 1, 6),
        (lambda data: [3 * len(data), 4 * len(data)], ADD_REMOVE, 2, 5),
        (lambda data: np.cumsum(np.array([*data, 0])), REPLACE, "inf", 12),
    ],
)
def test_exhaustive_sensitivity_equals_the_hand_value(
    f: object, relation: NeighbouringRelation, norm: object, expected: int
) -> None:
    found = sensitivity(f, neighbouring_pairs(relation, AMOUNTS, 3), norm=norm)
    assert found.value == expected
    assert found.norm == norm and found.pairs > 0


def test_the_witness_attains_the_sensitivity() -> None:
    found = sensitivity(clamped_sum, neighbouring_pairs(REPLACE, AMOUNTS, 2))
    assert found.witness is not None
    assert abs(dataset_difference(clamped_sum, *found.witness)) == found.value == 6
    assert sensitivity(len, []).witness is None
    quarters = sensitivity(lambda d: Fraction(sum(d), 4), neighbouring_pairs(ADD_REMOVE, (1, 3, 2), 1))
    assert (quarters.value, quarters.witness, quarters.pairs) == (Fraction(3, 4), ((), (3,)), 3)


def test_a_missing_clamp_is_found() -> None:
    # The fault an audit looks for: the rule claims 5, the code forgets the clamp.
    assert sensitivity(sum, neighbouring_pairs(ADD_REMOVE, AMOUNTS, 2)).value == 9


def test_the_l2_norm_is_exact_when_rational_and_rounded_up_otherwise() -> None:
    found = sensitivity(histogram, neighbouring_pairs(REPLACE, AMOUNTS, 2), norm=2).value
    assert found * found >= 2 > (found - Fraction(1, 10**18)) ** 2
    assert sensitivity(lambda d: [Fraction(3, 7) * len(d)], neighbouring_pairs(ADD_REMOVE, (1,), 2), norm=2).value == (
        Fraction(3, 7)
    )


def test_a_dataset_difference_has_the_shape_of_the_answer() -> None:
    assert dataset_difference(len, (1, 2), (1,)) == 1
    assert dataset_difference(lambda d: (len(d), sum(d)), (1, 2), (1,)) == [1, 2]
    assert dataset_difference(histogram, (1, 2), (1, 3)) == {1: 0, 2: 1, 3: -1}
    assert dataset_difference(lambda d: np.array([[sum(d)], [len(d)]]), (5,), ()) == [5, 1]
    assert dataset_difference(lambda d: np.float64(sum(d)), (0.5,), ()) == Fraction(1, 2)
    assert dataset_difference(lambda d: Decimal(len(d)) / 4, (0,), ()) == Fraction(1, 4)


def test_float_answers_count_as_the_number_they_hold() -> None:
    assert dataset_difference(lambda d: 0.1 * len(d), (0,), ()) == Fraction(0.1) != Fraction(1, 10)


@pytest.mark.parametrize("answer", [math.nan, math.inf, "text", None, 1j, [1, None]])
def test_answers_that_are_not_finite_numbers_are_refused(answer: object) -> None:
    with pytest.raises(InvalidParameter, match="finite numbers"):
        sensitivity(lambda d: answer, [((), (1,))])


def test_sequences_of_different_length_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="one length"):
        sensitivity(list, [((), (1,))])


def test_an_unknown_norm_or_relation_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="norm"):
        sensitivity(len, [((), (1,))], norm=3)
    for make in (
        lambda: list(neighbouring_pairs("swap", (1,), 1)),
        lambda: list(neighbouring_pairs("swap", (1,), 1, ordered=True)),
    ):
        with pytest.raises(InvalidParameter, match="relation"):
            make()


def multiset_distance(a: tuple[int, ...], b: tuple[int, ...], relation: NeighbouringRelation) -> int:
    extra_a, extra_b = Counter(a) - Counter(b), Counter(b) - Counter(a)
    return extra_a.total() + extra_b.total() if relation == ADD_REMOVE else extra_a.total()


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("distance", [1, 2, 3, 4])
def test_pairs_within_are_all_pairs_at_that_distance_each_once(relation: NeighbouringRelation, distance: int) -> None:
    domain, size = (0, 1, 2), 3
    sizes = range(size + 1) if relation == ADD_REMOVE else [size]
    everything = [d for n in sizes for d in datasets(domain, n)]
    expected = {
        frozenset((a, b)) for a, b in combinations(everything, 2) if multiset_distance(a, b, relation) <= distance
    }
    found = [
        frozenset((tuple(sorted(a)), tuple(sorted(b))))
        for a, b in pairs_within(relation, domain, size, distance=distance)
    ]
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_ordered_neighbours_are_each_found_once() -> None:
    added = list(neighbouring_pairs(ADD_REMOVE, (0, 1), 2, ordered=True))
    assert len(added) == len(set(added)) == 2 + 2 + 4  # () and one unit; (a, a) loses one; (a, b) loses either
    replaced = list(neighbouring_pairs(REPLACE, (0, 1, 2), 2, ordered=True))
    assert len({frozenset(p) for p in replaced}) == len(replaced) == 2 * 3 * 3


def test_order_matters_only_when_asked_for() -> None:
    def first(data: tuple[int, ...]) -> int:
        return data[0] if data else 0

    assert sensitivity(first, neighbouring_pairs(ADD_REMOVE, (0, 7), 2, ordered=True)).value == 7


def test_sums_of_groups_move_exactly_as_much_as_their_members() -> None:
    for k in (1, 2, 3):
        found = group_sensitivity(clamped_sum, ADD_REMOVE, AMOUNTS, 4, group=k)
        assert found.value == found.bound == 5 * k
        assert not any(found.interactions)


def test_a_function_with_interaction_moves_less_than_its_bound() -> None:
    # Distinct values: a second unit with the same value adds nothing.
    found = group_sensitivity(lambda d: len(set(d)), ADD_REMOVE, (1, 2), 4, group=3)
    assert (found.one_unit, found.value, found.bound) == (1, 2, 3)
    # f(D+a+a) - 2 f(D+a) + f(D) = -1; at order 3: f(aaa) - 3 f(aa) + 3 f(a) - f() = 1.
    assert found.interactions == (1, 1)


def test_group_sensitivity_under_replacement() -> None:
    found = group_sensitivity(histogram, REPLACE, (1, 2, 3), 3, group=2)
    assert (found.one_unit, found.value, found.bound) == (2, 4, 4)
    assert found.witness is not None


def test_mixed_differences_rebuild_the_function_by_newton() -> None:
    def f(data: tuple[int, ...]) -> int:
        return max(data, default=0) * len(data)

    base, units = (4,), (1, 7, 3)
    rebuilt = sum(mixed_difference(f, base, chosen)[0] for n in range(4) for chosen in combinations(units, n))
    assert rebuilt == f((*base, *units))


def test_lipschitz_constants_are_largest_divided_differences() -> None:
    found = lipschitz_constant(lambda x: x * x, range(-3, 5))
    assert found.value == 7 and set(found.witness or ()) == {3, 4}
    plane = [(0, 0), (3, 4), (6, 8)]
    assert lipschitz_constant(lambda p: p, plane, distance=math.dist, norm=2).value == 1
    assert lipschitz_constant(lambda p: p, plane, distance=math.dist, norm=1).value == Fraction(7, 5)
    assert lipschitz_constant(lambda x: 1, [2, 2]).value == 0
    with pytest.raises(InvalidParameter, match="distance"):
        lipschitz_constant(lambda p: p, [1, 2], distance=lambda a, b: 0)


def test_sampled_sensitivity_is_labelled_and_bounded_by_the_true_one() -> None:
    stream = iter(np.random.default_rng(3).choice(AMOUNTS, 10_000).tolist())
    for relation, true in ((ADD_REMOVE, 5), (REPLACE, 6)):
        found = sampled_sensitivity(clamped_sum, lambda: next(stream), size=5, samples=99, relation=relation)
        # With 99 pairs the extreme ones (probability 1/4 and 1/8 each) are missed with probability < 2e-6.
        assert found.value == true
        assert (found.gamma, found.samples, found.notion) == (Fraction(1, 100), 99, "random DP")
        assert found.witness is not None and abs(dataset_difference(clamped_sum, *found.witness)) == true


def test_samples_needed_for_a_gamma() -> None:
    assert [samples_needed(g) for g in (0.01, "1/3", 0.5, "2/3")] == [99, 2, 1, 1]
    for gamma in (0, 1, -1):
        with pytest.raises(InvalidParameter, match="gamma"):
            samples_needed(gamma)
    with pytest.raises(InvalidParameter, match="relation"):
        sampled_sensitivity(len, lambda: 0, size=1, samples=1, relation="swap")
