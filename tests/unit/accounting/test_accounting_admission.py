"""Admission: which questions pass, what is left, and what allowances and grants mean."""

from fractions import Fraction

import pytest

from dither.accounting import (
    Budget,
    GaussianEvent,
    LaplaceEvent,
    Price,
    PureEvent,
    SelectionEvent,
    Spent,
    admits,
    allowance_budget,
    how_many_left,
    price,
    remaining,
    rho_star,
    worst_case,
)
from dither.errors import InvalidParameter

PURE = Budget.create(epsilon=1)
APPROXIMATE = Budget.create(epsilon=3, delta="1e-9")
ZCDP = Budget.create(rho="0.1", delta="1e-9")
TENTH = price(PureEvent(Fraction(1, 10)))
GAUSSIAN = price(GaussianEvent(Fraction(50), 1))  # rho 1/100


def spend(budget: Budget, cost: Price, most: int = 10_000) -> Spent:
    spent, count = Spent(), 0
    while count < most and admits(budget, spent, cost):
        spent, count = spent.plus(cost), count + 1
    return spent


def test_a_budget_knows_its_notion_and_splits_delta_one_to_nine():
    assert [b.notion for b in (PURE, APPROXIMATE, ZCDP)] == ["pure", "approximate", "zcdp"]
    assert APPROXIMATE.delta_selection == Fraction(1, 10**10)
    assert APPROXIMATE.delta_selection + APPROXIMATE.delta_conversion == APPROXIMATE.delta
    assert APPROXIMATE.rho_limit == rho_star(3, "9e-10")
    assert ZCDP.delta_selection == Fraction(1, 10**9) and ZCDP.delta_conversion == 0


def test_a_pure_budget_takes_the_sum_of_epsilons_exactly():
    assert spend(PURE, TENTH).epsilon == 1
    thirds = price(LaplaceEvent(Fraction(3), 1))
    assert spend(PURE, thirds).epsilon == 1


@pytest.mark.parametrize(
    "cost", [GAUSSIAN, Price(delta=Fraction(1, 10**30)), price(SelectionEvent(Fraction(0), Fraction(1, 10**9)))]
)
def test_a_pure_budget_admits_neither_gaussian_noise_nor_failure_mass(cost):
    assert not admits(PURE, Spent(), cost)


def test_either_meter_may_carry_many_small_questions_further_than_the_sum():
    cost = price(PureEvent(Fraction(1, 100)))
    by_sum = 300
    assert spend(APPROXIMATE, cost).epsilon / cost.epsilon > 2 * by_sum


def test_one_gaussian_event_closes_the_epsilon_meter():
    after = Spent().plus(GAUSSIAN)
    assert remaining(APPROXIMATE, after).epsilon is None
    assert admits(APPROXIMATE, Spent(), price(PureEvent(Fraction(1, 2))))
    # rho* is .120, and epsilon .5 costs .1225.
    assert not admits(APPROXIMATE, after, price(PureEvent(Fraction(1, 2))))


def test_a_large_pure_question_passes_on_the_epsilon_meter_alone():
    three = price(PureEvent(Fraction(3)))
    assert three.rho > APPROXIMATE.rho_limit
    assert admits(APPROXIMATE, Spent(), three)
    assert not admits(APPROXIMATE, Spent().plus(three), price(PureEvent(Fraction(1, 10**6))))


def test_failure_masses_are_summed_whichever_meter_holds():
    selection = price(SelectionEvent(Fraction(0), APPROXIMATE.delta_selection / 4))
    assert spend(APPROXIMATE, selection).delta == APPROXIMATE.delta_selection
    assert spend(ZCDP, price(SelectionEvent(Fraction(0), Fraction(1, 10**10)))).delta == Fraction(1, 10**9)


def test_a_zcdp_budget_sums_rho_of_every_kind_of_event():
    assert spend(ZCDP, GAUSSIAN).rho == Fraction(1, 10)
    assert remaining(ZCDP, Spent()).epsilon is None


@pytest.mark.parametrize("budget", [PURE, APPROXIMATE, ZCDP], ids=lambda budget: budget.notion)
@pytest.mark.parametrize("cost", [TENTH, GAUSSIAN, TENTH + price(SelectionEvent(Fraction(0), Fraction(1, 10**11)))])
def test_how_many_are_left_is_how_many_are_admitted(budget, cost):
    spent, count = Spent(), 0
    while admits(budget, spent, cost):
        assert how_many_left(budget, spent, cost) > 0
        spent, count = spent.plus(cost), count + 1
    assert how_many_left(budget, Spent(), cost) == count
    assert how_many_left(budget, spent, cost) == 0


def test_a_free_question_is_always_admitted_while_the_budget_holds():
    assert how_many_left(APPROXIMATE, Spent(), Price()) is None
    assert how_many_left(PURE, Spent(), Price()) is None


def test_what_remains_is_rounded_down_and_never_negative():
    spent = Spent(epsilon=Fraction(1, 3))
    left = remaining(PURE, spent)
    assert left.epsilon <= Fraction(2, 3) and admits(PURE, spent, Price(epsilon=left.epsilon))
    assert left.rho == 0 and left.delta == 0
    assert remaining(PURE, Spent(epsilon=Fraction(5))).epsilon == 0
    assert 0 < remaining(APPROXIMATE, Spent()).delta <= APPROXIMATE.delta_selection


def test_an_allowance_has_two_meters_of_its_own():
    allowance = allowance_budget(APPROXIMATE, "0.5")
    assert allowance.rho_limit == rho_star("0.5", APPROXIMATE.delta_conversion)
    assert allowance.rho_limit < APPROXIMATE.rho_limit
    assert allowance_budget(PURE, "0.5").notion == "pure"
    assert allowance_budget(ZCDP, rho="0.01").rho_limit == Fraction(1, 100)


def test_an_allowance_is_of_the_notion_of_the_budget():
    with pytest.raises(InvalidParameter):
        allowance_budget(ZCDP, 1)
    with pytest.raises(InvalidParameter):
        allowance_budget(PURE, rho=1)


def test_a_grant_adds_the_deltas_of_all_levels():
    raised = Budget.create(epsilon=5, delta="1e-9")
    worst = worst_case([APPROXIMATE, raised])
    assert worst.epsilon == 5 and worst.delta == Fraction(2, 10**9)
    assert worst_case([PURE, Budget.create(epsilon=2)]).delta == 0
    with pytest.raises(InvalidParameter):
        worst_case([PURE, ZCDP])


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"epsilon": 1, "rho": 1},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -1},
    ],
)
def test_a_budget_that_means_nothing_is_refused(arguments):
    with pytest.raises(InvalidParameter):
        Budget.create(**arguments)


def test_a_very_large_budget_is_counted_exactly():
    budget = Budget.create(epsilon=10**15)
    spent = Spent(epsilon=Fraction(10**15) - Fraction(1, 10**18))
    assert admits(budget, spent, Price(epsilon=Fraction(1, 10**18)))
    assert not admits(budget, spent, Price(epsilon=Fraction(2, 10**18)))
