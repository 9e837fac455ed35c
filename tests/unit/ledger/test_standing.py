from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.accounting.price import Price
from dither.errors import LedgerCorrupt
from dither.ledger.chain import canonical
from dither.ledger.effects import levels_of, standings_after
from dither.ledger.standing import DATASET, Standing, Terms

amounts = st.fractions(min_value=0, max_value=10**15, max_denominator=10**20)
prices = st.builds(Price, st.none() | amounts, amounts, amounts)
terms = st.builds(Terms, st.none() | amounts, amounts, st.none() | amounts)
standings = st.builds(
    Standing,
    recorded=terms,
    grants=st.lists(terms, max_size=3).map(tuple),
    epsilon=amounts,
    rho=amounts,
    delta=amounts,
    gaussians=st.integers(0, 5),
    failures=st.integers(0, 12),
    promise=st.sampled_from(["", "a" * 64]),
    release=st.sampled_from(["", "2026-Q4"]),
)


@given(standings)
def test_a_standing_reads_back_as_it_was_written(standing: Standing) -> None:
    assert Standing.from_json(json.loads(canonical(standing.to_json()))) == standing


@given(standings, prices)
def test_a_charge_never_books_less_than_the_price(standing: Standing, price: Price) -> None:
    after = standing.charge(price)
    assert after.epsilon >= standing.epsilon + (price.epsilon or 0)
    assert after.rho >= standing.rho + price.rho
    assert after.delta >= standing.delta + price.delta
    assert after.spent.gaussian == (standing.spent.gaussian or price.gaussian)


@given(standings, prices)
def test_a_refund_never_leaves_less_than_before_the_charge(standing: Standing, price: Price) -> None:
    after = standing.charge(price).refund(price)
    assert after.epsilon >= standing.epsilon and after.rho >= standing.rho and after.delta >= standing.delta
    assert after.gaussians == standing.gaussians


def test_voiding_the_only_gaussian_question_opens_the_epsilon_meter_again() -> None:
    gaussian = Price(None, Fraction(1, 100))
    charged = Standing().charge(gaussian)
    assert charged.spent.gaussian
    assert not charged.refund(gaussian).spent.gaussian


def test_grants_add_up_level_by_level() -> None:
    recorded = Terms(Fraction(3), Fraction(1, 10**9))
    step = Terms(Fraction(1))
    levels = Standing(recorded=recorded, grants=(step, Terms(None, Fraction(1, 10**9)))).levels
    assert [level.epsilon for level in levels] == [3, 4, 4]
    assert [level.delta * 10**9 for level in levels] == [1, 1, 2]


@pytest.mark.parametrize("stored", [None, [], {"epsilon": "x"}, {"recorded": ["1"]}, {"grants": [3]}])
def test_an_unreadable_standing_is_corruption(stored: object) -> None:
    with pytest.raises(LedgerCorrupt):
        Standing.from_json(stored)


def test_a_void_pays_back_to_the_day_that_was_charged() -> None:
    levels = levels_of("void", {"day": "2026-03-01"}, analyst="ada", day="2026-03-02")
    assert levels == (DATASET, "analyst:ada", "day:2026-03-01:ada")


def test_a_first_question_records_the_allowance_for_the_analyst_and_not_for_the_day() -> None:
    facts = {"price": {"epsilon": "1", "rho": "0", "delta": "0"}, "recorded": ["2", "0", None]}
    after = standings_after("reserved", facts, {DATASET: Standing()}, analyst="ada", day="2026-03-01")
    assert after["analyst:ada"].recorded == Terms(Fraction(2))
    assert after["day:2026-03-01:ada"].recorded == Terms()
    assert {standing.epsilon for standing in after.values()} == {1}


def test_an_unknown_kind_of_row_is_corruption() -> None:
    with pytest.raises(LedgerCorrupt):
        levels_of("refunded", {}, analyst="ada", day="2026-03-01")
