"""From wishes to a budget: each figure is on its safe side; wishes that cross are refused with what could be had."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.accounting.choosing import (
    Accuracy,
    Guess,
    choose,
    delta_for,
    epsilon_for_accuracy,
    epsilon_for_guess,
    half_width_at,
    odds_sentences,
    read_share,
)
from dither.accounting.odds import guess_after
from dither.errors import BudgetError, InvalidParameter

ONE = Fraction(1, 100)


def test_the_example_of_the_documents() -> None:
    """1 % may become 2.7 %: epsilon 1 about being in the data, half of it about what rows say."""
    assert float(epsilon_for_guess(Guess(ONE, Fraction("0.0268"), 1))) == pytest.approx(1.0, abs=0.01)
    assert float(epsilon_for_guess(Guess(ONE, Fraction("0.0268"), 2))) == pytest.approx(0.5, abs=0.01)


@given(st.integers(1, 998), st.integers(1, 998), st.sampled_from([1, 2]))
def test_a_guess_never_becomes_more_than_was_allowed(low: int, more: int, steps: int) -> None:
    before, after = Fraction(low, 1000), Fraction(min(low + more, 999), 1000)
    epsilon = epsilon_for_guess(Guess(before, after, steps)) if after > before else None
    if epsilon is not None:
        assert guess_after(before, steps * epsilon)[1] <= after
        # Not needlessly small: a percent more would be too much, or nearly.
        assert guess_after(before, steps * epsilon * Fraction(102, 100))[1] > after


@given(st.integers(1, 300), st.integers(1, 2000), st.integers(1, 40))
def test_the_epsilon_for_an_accuracy_reaches_it_and_hardly_less_does(count: int, within: int, rows: int) -> None:
    epsilon = epsilon_for_accuracy(Accuracy(count, Fraction(within), rows))
    assert half_width_at(epsilon / count, rows) <= within
    assert half_width_at(epsilon / count * Fraction(97, 100), rows) >= within


@pytest.mark.parametrize(
    ("people", "delta"), [(1, "1e-6"), (999, "1e-6"), (1001, "1e-7"), (10_000, "1e-8"), (5900, "1e-8")]
)
def test_delta_is_a_power_of_ten_below_one_over_n_squared(people: int, delta: str) -> None:
    assert delta_for(people) == Fraction(delta)
    assert delta_for(people) <= Fraction(1, people**2)


def test_accuracy_decides_within_what_the_guess_allows() -> None:
    chosen = choose(guess=Guess(ONE, Fraction(1, 2), 2), accuracy=Accuracy(20, Fraction(400), 5), people=5900)
    assert chosen.epsilon == epsilon_for_accuracy(Accuracy(20, Fraction(400), 5)) < 1
    assert chosen.delta == Fraction(1, 10**8)
    assert choose(guess=Guess(ONE, Fraction(1, 2), 2)).epsilon == epsilon_for_guess(Guess(ONE, Fraction(1, 2), 2))
    assert choose(epsilon="0.7").epsilon == Fraction(7, 10) and choose(epsilon="0.7").delta == 0


def test_wishes_that_cross_are_refused_and_the_ways_out_hold() -> None:
    asked = Accuracy(20, Fraction(60), 5)
    with pytest.raises(BudgetError, match="Both cannot be had") as refused:
        choose(guess=Guess(ONE, Fraction("0.05"), 2), accuracy=asked)
    allowed = epsilon_for_guess(Guess(ONE, Fraction("0.05"), 2))
    hint = refused.value.hint or ""
    assert f"± {half_width_at(allowed / 20, 5)}" in hint
    fewer = int(hint.split(", or ")[1].split()[0])
    assert epsilon_for_accuracy(Accuracy(fewer, Fraction(60), 5)) <= allowed
    with pytest.raises(BudgetError, match="was stated"):
        choose(epsilon=3, guess=Guess(ONE, Fraction("0.05"), 2))
    with pytest.raises(BudgetError, match="the accuracy needs"):
        choose(epsilon="0.1", accuracy=asked)


def test_the_sentences_say_both_guesses_and_what_may_fail() -> None:
    one, failing = odds_sentences(Fraction(1), Fraction(1, 10**9), unit="patient", replace=False)
    assert "at most 2.7 %" in one and "at most 7 %" in one
    assert "3.8e-09" in failing
    (alone,) = odds_sentences(Fraction(1), Fraction(0), unit="patient", replace=True)
    assert "at most 2.7 %" in alone and "rows" not in alone


@pytest.mark.parametrize(
    ("written", "share"), [("2.7 %", "0.027"), ("2.7%", "0.027"), ("0.027", "0.027"), ("1/4", "1/4")]
)
def test_shares_are_read_as_people_write_them(written: str, share: str) -> None:
    assert read_share(written, "x") == Fraction(share)


@pytest.mark.parametrize("written", ["2.7", "100 %", "0", "-1 %", "much", ""])
def test_what_is_no_share_is_refused(written: str) -> None:
    with pytest.raises(InvalidParameter):
        read_share(written, "x")


@pytest.mark.parametrize(
    "wishes",
    [
        {},
        {"epsilon": 0},
        {"epsilon": 1, "delta": 1},
        {"guess": Guess(ONE, ONE, 1)},
        {"accuracy": Accuracy(0, Fraction(1))},
        {"accuracy": Accuracy(1, Fraction(0))},
        {"epsilon": 1, "people": 0},
    ],
)
def test_wishes_that_mean_nothing_are_refused(wishes: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        choose(**wishes)  # type: ignore[arg-type]
