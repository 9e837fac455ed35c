"""Linear difference equations: iterated, solved, beside their differential twins."""

import math
from fractions import Fraction

import pytest

from dither.differences import (
    DifferenceEquation,
    affine_growth,
    arithmetic_progression,
    exponential_growth,
    forward,
    geometric_progression,
    linear_growth,
)
from dither.differences.roots import characteristic_roots
from dither.errors import InvalidParameter


def test_progressions_are_exact_at_any_distance() -> None:
    assert arithmetic_progression(Fraction(1, 3), 2)(10**9) == Fraction(1, 3) + 2 * 10**9
    assert geometric_progression(5, Fraction(2, 3))(50) == 5 * Fraction(2, 3) ** 50
    assert forward([arithmetic_progression(7, -4)(t) for t in range(6)]) == [-4] * 5
    assert [geometric_progression(3, 0)(t) for t in range(3)] == [3, 0, 0]


def test_fibonacci_by_iteration_and_by_binet() -> None:
    fibonacci = DifferenceEquation((1, 1), (0, 1))
    assert fibonacci.iterate(10) == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]
    solution = fibonacci.solve()
    assert not solution.exact
    golden = (1 + math.sqrt(5)) / 2
    assert max(abs(complex(term.root)) for term in solution.terms) == pytest.approx(golden, rel=1e-14)
    assert [round(solution(t)) for t in range(60)] == fibonacci.iterate(60)


@pytest.mark.parametrize(
    ("coefficients", "initial", "constant"),
    [
        ((Fraction(1, 2),), (3,), 1),  # rest point
        ((Fraction(1000003, 1000033),), (3,), 1),  # a root no small fraction is near
        ((1,), (3,), 5),  # the constant meets root 1
        ((5, -6), (1, 4), 0),  # roots 2, 3
        ((2, -1), (1, 4), 7),  # double root 1 and a constant: triple
        ((0, 0, 8), (1, 2, 3), 0),  # not exact: 2 and a complex pair
        ((0, 0), (6, 7), 0),  # dies after two steps: double root 0
        ((Fraction(3, 2), Fraction(-3, 4), Fraction(1, 8)), (1, 0, 2), 0),  # triple root 1/2
        ((0, -1), (1, 0), 0),  # rotation: roots i, -i
        ((4, -4, 0), (1, 2, 3), Fraction(1, 2)),
    ],
)
def test_the_closed_form_agrees_with_iteration(
    coefficients: tuple[Fraction, ...], initial: tuple[int, ...], constant: int
) -> None:
    equation = DifferenceEquation(coefficients, initial, constant)
    solution = equation.solve()
    values = equation.iterate(25)
    if solution.exact:
        assert [solution(t) for t in range(25)] == values
    else:
        assert [solution(t) for t in range(25)] == pytest.approx([float(v) for v in values], rel=1e-11, abs=1e-11)


def test_only_irrational_roots_make_a_solution_inexact() -> None:
    assert DifferenceEquation((5, -6), (1, 4)).solve().exact
    assert DifferenceEquation((Fraction(1000003, 1000033),), (3,), 1).solve().exact
    assert not DifferenceEquation((0, -1), (1, 0)).solve().exact


def test_multiplicities_are_exact_where_floating_point_sees_distinct_roots() -> None:
    # (z - 1/3)^4 (z² - 2)²: numeric roots of the expanded polynomial are spread by 1e-4.
    polynomial = [Fraction(1)]
    for factor in [[Fraction(-1, 3), Fraction(1)]] * 4 + [[Fraction(-2), Fraction(0), Fraction(1)]] * 2:
        polynomial = [
            sum(
                (polynomial[i] * factor[k - i] for i in range(len(polynomial)) if 0 <= k - i < len(factor)), Fraction(0)
            )
            for k in range(len(polynomial) + len(factor) - 1)
        ]
    roots = characteristic_roots(polynomial)
    assert roots.pop(Fraction(1, 3)) == 4
    assert set(roots.values()) == {2}
    assert sorted(complex(root).real for root in roots) == pytest.approx([-math.sqrt(2), math.sqrt(2)])


def test_an_equation_needs_as_many_starting_values_as_coefficients() -> None:
    for coefficients, initial in (((1, 1), (0,)), ((), ())):
        with pytest.raises(InvalidParameter, match="initial"):
            DifferenceEquation(coefficients, initial)


@pytest.mark.parametrize(("rate", "constant"), [(Fraction(1, 10), 0), (Fraction(-1, 2), 3), (0, 4)])
def test_twins_obey_their_equations_and_meet_as_the_step_shrinks(rate: Fraction, constant: int) -> None:
    gaps = []
    for step in (Fraction(1, 2), Fraction(1, 16), Fraction(1, 128)):
        twins = affine_growth(rate, constant, start=2, step=step)
        y = twins.discrete
        assert y(0) == 2 and twins.continuous(0) == pytest.approx(2)
        for t in (0, 1, 5):
            assert forward(y, step=step)(t) / step == rate * y(t) + constant
        slope = (twins.continuous(1 + 1e-6) - twins.continuous(1 - 1e-6)) / 2e-6
        assert slope == pytest.approx(float(rate * Fraction(twins.continuous(1)) + constant), rel=1e-6)
        gaps.append(abs(float(y(4)) - twins.continuous(4)))
    # The error of Euler's steps is of order h.
    assert gaps[2] < gaps[1] / 6 < gaps[0] / 30 or max(gaps) == 0


def test_compound_interest_and_a_straight_line() -> None:
    assert exponential_growth(Fraction(5, 100), start=100).discrete(2) == Fraction(11025, 100)
    assert exponential_growth(0.05, start=100).continuous(2) == pytest.approx(100 * math.exp(0.1))
    line = linear_growth(3, start=1, step=Fraction(1, 2))
    assert line.discrete(5) == line.continuous(5) == 16
    with pytest.raises(InvalidParameter, match="step"):
        linear_growth(1, start=0, step=0)
    with pytest.raises(InvalidParameter, match="whole number of steps"):
        line.discrete(Fraction(1, 3))
