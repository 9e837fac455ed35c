"""Laws of sensitivity, on random functions of small data sets."""

from fractions import Fraction
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from dither.differences import (
    ADD_REMOVE,
    REPLACE,
    dataset_difference,
    difference_norm,
    group_sensitivity,
    inverse,
    lipschitz_constant,
    mixed_difference,
    neighbouring_pairs,
    pairs_within,
    sensitivity,
)

DOMAIN = (0, 1, 2)
relations = st.sampled_from([ADD_REMOVE, REPLACE])
norms = st.sampled_from([1, 2, "inf"])
values = st.lists(st.integers(-30, 30), min_size=3, max_size=3)


class AnyFunction:
    """A function of multisets with answers in Z², drawn on first use."""

    def __init__(self, numbers: st.DataObject) -> None:
        self.numbers, self.answers = numbers, {}

    def __call__(self, data: tuple[int, ...]) -> list[int]:
        key = tuple(sorted(data))
        if key not in self.answers:
            self.answers[key] = self.numbers.draw(st.lists(st.integers(-9, 9), min_size=2, max_size=2))
        return self.answers[key]


@settings(deadline=None)
@given(values, relations)
def test_a_sum_moves_by_its_largest_term_or_its_range(weights, relation) -> None:
    found = sensitivity(lambda d: sum(weights[v] for v in d), neighbouring_pairs(relation, DOMAIN, 3))
    expected = max(map(abs, weights)) if relation == ADD_REMOVE else max(weights) - min(weights)
    assert found.value == expected


@settings(max_examples=40, deadline=None)
@given(st.data(), relations, norms)
def test_what_a_group_does_never_exceeds_its_members_one_by_one(numbers, relation, norm) -> None:
    f = AnyFunction(numbers)
    for k in (1, 2, 3):
        found = group_sensitivity(f, relation, DOMAIN, 3, group=k, norm=norm)
        # Three triangle inequalities of norms rounded up to 1e-18.
        assert found.value <= found.bound + Fraction(3, 10**18)
        assert k > 1 or found.value == found.one_unit


@settings(max_examples=40, deadline=None)
@given(st.data(), relations)
def test_no_pair_exceeds_the_sensitivity_and_the_witness_attains_it(numbers, relation) -> None:
    f = AnyFunction(numbers)
    found = sensitivity(f, neighbouring_pairs(relation, DOMAIN, 3))
    sizes = [sum(abs(v) for v in dataset_difference(f, a, b)) for a, b in pairs_within(relation, DOMAIN, 3, distance=1)]
    assert found.value == max(sizes) and found.pairs == len(sizes)
    assert sum(abs(v) for v in dataset_difference(f, *found.witness)) == found.value


@settings(max_examples=40, deadline=None)
@given(st.data(), st.lists(st.sampled_from(DOMAIN), max_size=2), st.lists(st.sampled_from(DOMAIN), max_size=3))
def test_newtons_formula_over_subsets_rebuilds_any_function(numbers, base, units) -> None:
    f = AnyFunction(numbers)
    rebuilt = [0, 0]
    for count in range(len(units) + 1):
        for chosen in combinations(units, count):
            mixed = mixed_difference(f, tuple(base), chosen)
            rebuilt = [total + mixed[i] for i, total in enumerate(rebuilt)]
    assert rebuilt == f((*base, *units))


@settings(deadline=None)
@given(values, norms)
def test_norms_are_ordered_and_round_up(vector, norm) -> None:
    difference = {i: Fraction(v) for i, v in enumerate(vector)}
    one, two, largest = (difference_norm(difference, n) for n in (1, 2, "inf"))
    assert largest <= two <= one
    square = sum(v * v for v in vector)
    assert two * two >= square
    assert two == 0 or (two - Fraction(1, 10**18)) ** 2 < square


@settings(deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=8, unique=True), st.lists(st.integers(-9, 9), min_size=1))
def test_the_lipschitz_constant_of_a_running_total_is_its_largest_step(points, jumps) -> None:
    total = inverse(lambda k: jumps[k % len(jumps)])
    grid = range(min(points), max(points) + 1)
    found = lipschitz_constant(total, grid).value
    assert found == max(abs(jumps[k % len(jumps)]) for k in grid[:-1])
    assert lipschitz_constant(total, points).value <= found
