"""The odometer's two kinds of figures, odds in words, and solving for noise or numbers."""

import math
from fractions import Fraction

import pytest

from dither.accounting import (
    Budget,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    SelectionEvent,
    compose,
    epsilon_each,
    guess_after,
    in_words,
    least_noise,
    most_events,
    mu_star,
    odometer,
    right_at_most,
)
from dither.errors import InvalidParameter

TENTH = PureEvent(Fraction(1, 10))
BUDGET = Budget.create(epsilon=3, delta="1e-6")


def test_what_is_certain_is_the_sum_and_the_budget():
    sum_of_epsilons, promise = odometer([TENTH] * 20, BUDGET).certain()
    assert (sum_of_epsilons.epsilon, sum_of_epsilons.delta) == (2, 0)
    assert (promise.epsilon, promise.delta) == (3, Fraction(1, 10**6))


def test_gaussian_noise_leaves_only_the_budget_certain():
    reading = odometer([TENTH, GaussianEvent(Fraction(100), 1)], BUDGET)
    assert [bound.epsilon for bound in reading.certain()] == [3]
    assert odometer([GaussianEvent(Fraction(100), 1)]).certain() == ()


def test_failure_mass_is_counted_at_what_the_budget_allows_not_at_what_was_spent():
    selection = SelectionEvent(Fraction(1, 2), Fraction(1, 10**9))
    reading = odometer([selection], BUDGET)
    assert reading.certain()[0].delta == BUDGET.delta_selection > selection.delta
    # Without a budget nothing caps the failure mass beforehand, so nothing is certain.
    assert odometer([selection]).certain() == ()


def test_the_sharper_figures_come_with_their_condition():
    reading = odometer([TENTH] * 20, BUDGET)
    fixed = reading.fixed_in_advance("1e-6")
    assert fixed[0].epsilon < 2 and "Kairouz" in fixed[0].because
    assert [bound.epsilon for bound in fixed] == sorted(bound.epsilon for bound in fixed)
    words = reading.in_words("1e-6")
    certain, promised, sharp, odds = words.splitlines()
    assert certain.startswith("certain: epsilon 2 ") and "budget's own promise" in promised
    assert sharp.startswith("if this spend had been fixed in advance: epsilon 1.78")
    assert odds == "A guess about one patient can go from 1 % to at most 7 %."


def test_a_zcdp_budget_promises_its_rho():
    reading = odometer([GaussianEvent(Fraction(100), 1)], Budget.create(rho="0.1", delta="1e-9"))
    assert reading.certain() == () and reading.certain_rho() == Fraction(1, 10)
    assert "certain: rho 0.1" in reading.in_words("1e-6")
    assert 0.5 < reading.certain_trade_off().missed(0.05) < 0.95


def test_the_certain_curve_is_below_the_sharper_one():
    reading = odometer([TENTH] * 20, BUDGET)
    for alpha in (0.001, 0.05, 0.5):
        assert reading.certain_trade_off().missed(alpha) <= reading.trade_off().missed(alpha)
    assert reading.trade_off().missed(0.05) > 0.8


def test_events_that_the_budget_did_not_admit_are_refused():
    with pytest.raises(InvalidParameter):
        odometer([PureEvent(Fraction(4))], BUDGET)
    with pytest.raises(InvalidParameter):
        odometer([SelectionEvent(Fraction(0), Fraction(1, 10**6))], BUDGET)


def test_epsilon_one_moves_one_percent_to_at_most_two_point_seven():
    assert in_words(1) == "A guess about one patient can go from 1 % to at most 2.7 %."
    assert in_words("0.5", "1e-6", unit="customer") == (
        "A guess about one customer can go from 1 % to at most 1.7 %, "
        "apart from a failure that has a chance of at most 1 in 1,000,000."
    )


@pytest.mark.parametrize("epsilon", ["0", "0.001", "1", "7", "40"])
@pytest.mark.parametrize("prior", ["0.01", "0.5", "0.999"])
def test_a_guess_moves_no_further_than_bayes_allows_and_the_words_stay_true(epsilon, prior):
    p, growth = float(prior), math.exp(float(epsilon))
    least, most = guess_after(prior, epsilon)
    assert float(least) == pytest.approx(p / (p + (1 - p) * growth), abs=2e-18, rel=1e-12)
    assert float(most) == pytest.approx(p * growth / (1 - p + p * growth), abs=2e-18, rel=1e-12)
    said = Fraction(in_words(epsilon, prior=prior).split("at most ")[1].split(" %")[0]) / 100
    assert most <= said <= 1


def test_certainty_stays_certainty_and_a_boundless_epsilon_moves_anything():
    assert guess_after(0, 5) == (0, 0) and guess_after(1, 5) == (1, 1)
    assert guess_after("0.5", 10**9) == (0, 1) and right_at_most(10**9) == 1


def test_the_best_guess_between_two_data_sets():
    assert right_at_most(0) == Fraction(1, 2)
    assert float(right_at_most(1)) == pytest.approx((1 + math.tanh(0.5)) / 2)
    assert float(right_at_most(1, "0.1")) == pytest.approx((math.e + 0.1) / (math.e + 1))


def test_most_events_is_where_the_bound_crosses():
    for event, delta in [
        (LaplaceEvent(Fraction(10), 1), "1e-6"),
        (TENTH, 0),
        (GaussianEvent(Fraction(400), 1), "1e-6"),
    ]:
        count = most_events(event, epsilon=2, delta=delta)
        assert (
            compose([event] * count).epsilon(delta).epsilon <= 2 < compose([event] * (count + 1)).epsilon(delta).epsilon
        )
    assert most_events(TENTH, epsilon=2) == 20
    assert most_events(SelectionEvent(Fraction(0), Fraction(1, 10)), epsilon=2, delta="0.01") == 0


def test_epsilon_each_spends_the_budget_and_beats_equal_shares():
    each = epsilon_each(100, epsilon=5, delta="1e-6")
    assert each > 2 * Fraction(5, 100)
    assert compose([PureEvent(each)] * 100).epsilon("1e-6").epsilon <= 5
    assert compose([PureEvent(each + Fraction(1, 10**6))] * 100).epsilon("1e-6").epsilon > 5
    assert 0 <= Fraction(1, 7) - epsilon_each(7, epsilon=1) <= Fraction(1, 10**9)


def test_least_noise_meets_the_reference_noise():
    # Continuous noise for 100 answers at (1, 1e-6) has sigma 42.246789; discrete noise is charged a little more.
    variance = least_noise(lambda v: GaussianEvent(v, 1), count=100, epsilon=1, delta="1e-6")
    sigma = 10 / mu_star(1, "1e-6")
    assert sigma**2 <= float(variance) <= sigma**2 + 2.6
    with pytest.raises(InvalidParameter):
        least_noise(lambda v: GaussianEvent(v, 1), count=100, epsilon=1, delta="1e-6", widest=10)


@pytest.mark.parametrize(
    "call",
    [
        lambda: in_words(-1),
        lambda: guess_after(2, 1),
        lambda: right_at_most(1, 2),
        lambda: most_events(TENTH, epsilon=0),
        lambda: epsilon_each(0, epsilon=1),
    ],
)
def test_what_means_nothing_is_refused(call):
    with pytest.raises(InvalidParameter):
        call()
