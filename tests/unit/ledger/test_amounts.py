from __future__ import annotations

from fractions import Fraction

import pytest

from dither.accounting.price import Price
from dither.errors import LedgerCorrupt
from dither.exact import QUANTUM
from dither.ledger.amounts import DELTA_QUANTUM, amount, amount_text, charge_up, price_from_json, price_json, price_text


@pytest.mark.parametrize("value", ["0", "1/3", "3", "1000000000000000000000000000000001/1000000000000000000"])
def test_an_amount_reads_back_as_it_was_written(value: str) -> None:
    assert amount_text(amount(value)) == value


@pytest.mark.parametrize("stored", ["", "x", "1/0", "1/2/3", "0.5", None, 1, 0.5, "1e9", "9" * 500])
def test_what_is_not_an_amount_is_corruption(stored: object) -> None:
    with pytest.raises(LedgerCorrupt):
        amount(stored)


def test_three_thirds_make_one() -> None:
    total = Fraction(0)
    for _ in range(3):
        total = charge_up(total + Fraction(1, 3))
    assert total == 1


def test_unwieldy_charges_round_up_by_less_than_a_quantum() -> None:
    value = Fraction(1, 3 * 10**18 + 1)
    assert value < charge_up(value) == QUANTUM
    delta = Fraction(1, 7 * 10**36 + 1)
    assert delta < charge_up(delta, DELTA_QUANTUM) == DELTA_QUANTUM


@pytest.mark.parametrize("epsilon", [None, Fraction(1, 3)])
def test_a_price_reads_back_as_it_was_written(epsilon: Fraction | None) -> None:
    price = Price(epsilon, Fraction(1, 7), Fraction(1, 10**13))
    assert price_from_json(price_json(price)) == price


def test_a_price_is_shown_on_the_meter_a_person_thinks_in() -> None:
    assert price_text(Price(Fraction(1, 2), Fraction(1, 8))) == "epsilon 0.5"
    assert price_text(Price(None, Fraction(1, 8), Fraction(1, 10**20))) == "rho 0.125, delta 0.00000000000000000001"
