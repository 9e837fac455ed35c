"""Reserve, answer, void, fail, reuse: the rules, on a ledger in memory."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from fractions import Fraction

import pytest

from dither.accounting.price import Price
from dither.catalog.model import Analyst, BudgetTerms
from dither.errors import BudgetExceeded, GuaranteeError, InvalidParameter, LedgerConflict, PolicyRefused
from dither.ledger import NewVector


def test_a_reservation_is_charged_to_data_set_analyst_and_day(ledger, question) -> None:
    ledger.reserve(question("0.1"))
    assert ledger.spent().epsilon == ledger.spent("ada").epsilon == ledger.spent("ada", today=True).epsilon
    assert ledger.spent().epsilon == Fraction(1, 10)
    assert ledger.spent("bob").epsilon == 0


def test_an_answer_changes_no_balance_and_keeps_the_vectors(ledger, question, measured) -> None:
    reservation = ledger.reserve(question())
    before = ledger.totals()
    receipt = ledger.answer(reservation, measured(payload=b"\x00\x01"))
    assert ledger.totals() == before
    (vector,) = ledger.released("v" * 64, "1")
    assert (vector.payload, vector.paid_by, vector.entry_id) == (b"\x00\x01", {"ada"}, receipt.entry_id)
    assert vector.law == {"kind": "laplace", "scale": "10"}


def test_a_void_takes_the_charge_back_before_anything_was_read(ledger, question) -> None:
    reservation = ledger.reserve(question())
    ledger.void(reservation, "the offer was withdrawn")
    assert ledger.spent().epsilon == ledger.spent("ada").epsilon == ledger.spent("ada", today=True).epsilon == 0
    (entry,) = ledger.entries()
    assert (entry.state, entry.reason) == ("void", "the offer was withdrawn")


def test_a_void_after_midnight_pays_back_to_the_day_before(ledger, question, clock) -> None:
    reservation = ledger.reserve(question())
    clock.now += dt.timedelta(days=1)
    ledger.reserve(question("0.2"))
    ledger.void(reservation, "too late")
    assert ledger.spent("ada", today=True).epsilon == Fraction(1, 5)
    assert ledger.verify().holds


def test_nothing_is_voided_once_reading_began(ledger, question) -> None:
    reservation = ledger.reserve(question())
    ledger.begin_reading(reservation)
    with pytest.raises(GuaranteeError):
        ledger.void(reservation, "changed my mind")
    assert ledger.spent().epsilon == Fraction(1, 10)


def test_a_failure_keeps_the_charge(ledger, question) -> None:
    ledger.fail(ledger.reserve(question()))
    assert ledger.spent().epsilon == Fraction(1, 10)
    assert ledger.entries()[0].state == "failed"


@pytest.mark.parametrize("first", ["answer", "void", "fail"])
@pytest.mark.parametrize("second", ["answer", "void", "fail"])
def test_an_entry_is_settled_once(ledger, question, measured, first, second) -> None:
    acts = {
        "answer": lambda r: ledger.answer(r, measured()),
        "void": lambda r: ledger.void(r, "why"),
        "fail": ledger.fail,
    }
    reservation = ledger.reserve(question())
    acts[first](reservation)
    spent = ledger.spent()
    with pytest.raises(LedgerConflict, match="already"):
        acts[second](reservation)
    assert ledger.spent() == spent


def test_thirty_tenths_fit_three_exactly(ledger, question) -> None:
    for _ in range(30):
        ledger.reserve(question("0.1"))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(question("1e-18"))
    assert ledger.remaining().epsilon == 0


def test_a_budget_of_1e15_counts_every_1e_minus_18(open_ledger, question) -> None:
    ledger = open_ledger("", budget=BudgetTerms(epsilon=Fraction(10**15)))
    ledger.reserve(question(str(10**15 - Fraction(1, 10**18))))
    ledger.reserve(question("1e-18"))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(question("1e-18"))


def test_the_analyst_is_told_their_own_remainder_only(ledger, question) -> None:
    ledger.reserve(question("0.75", "bob"))
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.reserve(question("0.5", "bob"))
    assert (refusal.value.level, refusal.value.remaining) == ("allowance", "epsilon 0.25")
    assert refusal.value.requested == "epsilon 0.5"


def test_an_exhausted_data_set_tells_no_balance(ledger, question) -> None:
    ledger.reserve(question("2.875"))
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.reserve(question("0.25", "bob"))
    assert (refusal.value.level, refusal.value.remaining) == ("data set", "")
    assert "0.125" not in str(refusal.value) and "2.875" not in str(refusal.value) and "ada" not in str(refusal.value)
    assert ledger.remaining("bob").epsilon == 1


def test_a_refusal_charges_nothing_and_leaves_no_row(ledger, question) -> None:
    rows = len(ledger.log())
    with pytest.raises(BudgetExceeded):
        ledger.reserve(question("3.5"))
    assert len(ledger.log()) == rows


def test_the_daily_limit_starts_anew_at_midnight_utc(open_ledger, question, clock) -> None:
    ledger = open_ledger("", analysts={"ada": Analyst("ada", daily_epsilon=Fraction(1, 5))})
    clock.now = dt.datetime(2026, 3, 1, 23, 59, tzinfo=dt.UTC)
    ledger.reserve(question("0.2"))
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.reserve(question("0.1"))
    assert refusal.value.level == "daily limit"
    clock.now += dt.timedelta(minutes=2)
    ledger.reserve(question("0.2"))


def test_a_clock_set_back_does_not_open_an_earlier_day_again(open_ledger, question, clock) -> None:
    # Spending day 1, then day 2, then setting the clock to day 1 or before would otherwise refresh the limit each time.
    ledger = open_ledger("", analysts={"ada": Analyst("ada", daily_epsilon=Fraction(1, 5))})
    ledger.reserve(question("0.2"))
    for days in (-1, -30):
        clock.now += dt.timedelta(days=days)
        with pytest.raises(BudgetExceeded):
            ledger.reserve(question("0.2"))
        assert ledger.remaining("ada", today=True).epsilon == 0


def test_a_gaussian_question_closes_the_epsilon_meter_of_each_level_it_is_booked_on(open_ledger, question) -> None:
    ledger = open_ledger("", budget=BudgetTerms(epsilon=Fraction(3), delta=Fraction(1, 10**9)))
    ledger.reserve(question(None, price=Price(None, Fraction(1, 100))))
    assert ledger.remaining().epsilon is None
    # rho 0.125 at epsilon 0.5 passes rho*(3, 9e-10), about 0.12, though three epsilon are unspent.
    with pytest.raises(BudgetExceeded):
        ledger.reserve(question("0.5"))


def test_a_pure_budget_admits_no_gaussian_question(ledger, question) -> None:
    with pytest.raises(BudgetExceeded):
        ledger.reserve(question(None, price=Price(None, Fraction(1, 1000))))


def test_a_free_question_is_not_reserved(ledger, question) -> None:
    with pytest.raises(InvalidParameter):
        ledger.reserve(question("0"))


def test_only_declared_analysts_may_ask(ledger, question) -> None:
    with pytest.raises(PolicyRefused):
        ledger.reserve(question(analyst="eve"))


def test_without_declared_analysts_anyone_may_ask(open_ledger, question) -> None:
    ledger = open_ledger("", analysts={})
    ledger.reserve(question(analyst="eve"))
    assert ledger.remaining("eve") is None


def test_a_question_planned_in_an_old_release_is_refused(ledger, question) -> None:
    ledger.open_release("2026-Q2")
    with pytest.raises(LedgerConflict):
        ledger.reserve(question())
    ledger.reserve(question(release="2026-Q2"))


def test_an_idempotency_key_finds_its_entry_and_charges_once(ledger, question, measured) -> None:
    first = ledger.reserve(question(idempotency_key="k1"))
    again = ledger.reserve(question(idempotency_key="k1"))
    assert again.repeated and (again.entry_id, again.state) == (first.entry_id, "reserved")
    ledger.answer(first, measured())
    after = ledger.reserve(question(idempotency_key="k1"))
    assert after.state == "answered" and ledger.vectors_of(after)[0].payload == b"keys and integers"
    assert ledger.spent().epsilon == Fraction(1, 10)
    with pytest.raises(GuaranteeError):
        ledger.answer(again, measured())


def test_an_idempotency_key_is_of_one_analyst_and_one_question(ledger, question) -> None:
    ledger.reserve(question(idempotency_key="k1"))
    assert not ledger.reserve(question(analyst="bob", idempotency_key="k1")).repeated
    with pytest.raises(InvalidParameter):
        ledger.reserve(question(idempotency_key="k1", fingerprint="e" * 64))


def test_only_reserved_vectors_at_most_at_the_reserved_price_are_kept(ledger, question, measured) -> None:
    reservation = ledger.reserve(question("0.1"))
    with pytest.raises(GuaranteeError):
        ledger.answer(reservation, measured(identity="w" * 64))
    with pytest.raises(GuaranteeError):
        ledger.answer(reservation, measured("0.2"))
    ledger.answer(reservation, measured("0.1"))


def test_reuse_is_charged_once_to_the_analyst_and_never_to_the_data_set(ledger, question, measured) -> None:
    ledger.answer(ledger.reserve(question()), measured())
    (vector,) = ledger.released("v" * 64, "1")
    assert ledger.record_reuse("ada", vector, vector.price) is None
    receipt = ledger.record_reuse("bob", vector, vector.price)
    assert receipt is not None and ledger.verify(receipt).holds
    assert ledger.record_reuse("bob", vector, vector.price) is None
    assert ledger.spent("bob").epsilon == Fraction(1, 10) == ledger.spent().epsilon
    assert ledger.released("v" * 64, "1")[0].paid_by == {"ada", "bob"}
    assert [entry.kind for entry in ledger.entries("bob")] == ["reuse"]


def test_reuse_beyond_the_allowance_is_refused(ledger, question, measured) -> None:
    ledger.answer(ledger.reserve(question("2")), measured("2"))
    (vector,) = ledger.released("v" * 64, "1")
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.record_reuse("bob", vector, vector.price)
    assert refusal.value.remaining == "epsilon 1"
    assert ledger.released("v" * 64, "1")[0].paid_by == {"ada"}


def test_a_vector_the_ledger_does_not_hold_is_not_reused(ledger, question, measured) -> None:
    ledger.answer(ledger.reserve(question()), measured())
    (vector,) = ledger.released("v" * 64, "1")
    with pytest.raises(GuaranteeError):
        ledger.record_reuse("bob", replace(vector, position=1), vector.price)
    assert ledger.spent("bob").epsilon == 0


def test_vectors_of_an_earlier_release_are_not_reused(ledger, question, measured) -> None:
    ledger.answer(ledger.reserve(question()), measured())
    (vector,) = ledger.released("v" * 64, "1")
    ledger.open_release("2026-Q2")
    assert ledger.released("v" * 64, "2026-Q2") == []
    with pytest.raises(LedgerConflict):
        ledger.record_reuse("bob", vector, vector.price)


def test_three_failures_pause_an_analyst_until_the_owner_looked(ledger, question) -> None:
    for _ in range(3):
        ledger.fail(ledger.reserve(question("0.01")))
    assert ledger.frozen("ada") and not ledger.frozen()
    with pytest.raises(PolicyRefused):
        ledger.reserve(question("0.01"))
    ledger.reserve(question("0.01", "bob"))
    ledger.unfreeze("ada", reason="disk replaced")
    ledger.reserve(question("0.01"))


def test_ten_failures_pause_the_data_set_with_the_same_words(open_ledger, question) -> None:
    ledger = open_ledger("", analysts={name: Analyst(name) for name in "abcde"})
    for name in "aaabbbcccd":
        ledger.fail(ledger.reserve(question("0.01", name)))
    assert ledger.frozen()
    with pytest.raises(PolicyRefused) as by_dataset:
        ledger.reserve(question("0.01", "e"))
    ledger.unfreeze(reason="looked")
    ledger.reserve(question("0.01", "e"))
    with pytest.raises(PolicyRefused) as by_analyst:
        ledger.reserve(question("0.01", "a"))
    assert str(by_dataset.value) == str(by_analyst.value)


def test_a_question_may_measure_nothing_or_several_vectors(ledger, question) -> None:
    ledger.answer(ledger.reserve(question()), [])
    price = Price(Fraction(1, 20), Fraction(1, 800))
    two = [NewVector(name * 64, {"kind": "laplace", "scale": "20"}, price, name.encode()) for name in "vw"]
    reservation = ledger.reserve(question(vectors=("v" * 64, "w" * 64)))
    ledger.answer(reservation, two)
    assert [vector.payload for vector in ledger.vectors_of(reservation)] == [b"v", b"w"]
    assert ledger.verify().holds


def test_a_law_with_a_float_is_our_own_mistake_and_stores_nothing(ledger, question) -> None:
    reservation = ledger.reserve(question())
    with pytest.raises(GuaranteeError):
        ledger.answer(reservation, [NewVector("v" * 64, {"scale": 0.5}, Price(Fraction(1, 10)), b"")])
    assert ledger.entries()[0].state == "reserved"
