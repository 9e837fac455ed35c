"""What the ledger did not admit is booked all the same: releases made elsewhere, other ledgers of the same people."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from fractions import Fraction

import pytest

from dither.accounting.price import Price, rho_of_pure
from dither.catalog.model import Analyst, BudgetTerms
from dither.errors import BudgetExceeded, InvalidParameter, LedgerConflict, LedgerCorrupt, PolicyRefused
from dither.ledger.elsewhere import outside_release
from dither.ledger.ledger import Ledger

NINTH = Fraction(1, 10**9)


def release(name: str = "poster", **changes):
    told = {"who": "Dr. Roe", "when": "2026-01-02", "reason": "paper"}
    if "rho" not in changes:
        changes.setdefault("epsilon", "1/3")
    return outside_release(name=name, **{**told, **changes})


def test_an_import_is_charged_exactly_on_both_meters(ledger) -> None:
    assert ledger.import_releases([release(), release("atlas", epsilon="0.1", delta="1e-12")]) == (True, True)
    spent = ledger.spent()
    assert (spent.epsilon, spent.delta) == (Fraction(13, 30), Fraction(1, 10**12))
    assert spent.rho == rho_of_pure(Fraction(1, 3)) + rho_of_pure(Fraction(1, 10))
    assert ledger.totals().keys() == {"hospital"}
    assert ledger.verify().holds


def test_an_import_leaves_less_for_questions(ledger, question) -> None:
    ledger.import_releases([release(epsilon="2.95")])
    with pytest.raises(BudgetExceeded):
        ledger.reserve(question("0.1"))
    ledger.reserve(question("0.05"))


def test_an_import_is_booked_even_beyond_the_budget_and_then_nothing_is_admitted(ledger, question) -> None:
    ledger.import_releases([release(epsilon=5)])
    assert ledger.spent().epsilon == 5 and ledger.overdrawn and ledger.remaining().epsilon == 0
    with pytest.raises(BudgetExceeded):
        ledger.reserve(question("0.001"))
    assert ledger.import_releases([release("another", epsilon=1)]) == (True,)
    assert ledger.spent().epsilon == 6


def test_a_name_is_booked_once(ledger) -> None:
    ledger.import_releases([release()])
    rows = len(ledger.log())
    assert ledger.import_releases([release(), release("atlas"), release("atlas")]) == (False, True, False)
    assert len(ledger.log()) == rows + 1
    assert ledger.spent().epsilon == Fraction(2, 3)


@pytest.mark.parametrize("change", [{"epsilon": "0.3"}, {"who": "Dr. Doe"}, {"analyst": "ada"}, {"when": "2026-01-03"}])
def test_a_name_that_says_something_else_books_nothing_of_the_whole_list(ledger, change) -> None:
    ledger.import_releases([release()])
    rows = len(ledger.log())
    with pytest.raises(LedgerConflict) as refused:
        ledger.import_releases([release("atlas"), release(**change)])
    assert refused.value.code == "L-270" and len(ledger.log()) == rows


def test_an_import_with_an_analyst_is_charged_to_their_allowance_but_not_to_their_day(open_ledger, question) -> None:
    analysts = {"bob": Analyst("bob", epsilon=Fraction(1), daily_epsilon=Fraction(1, 4))}
    ledger = open_ledger("", analysts=analysts)
    ledger.import_releases([release(epsilon="0.9", analyst="Bob")])
    assert ledger.spent("bob").epsilon == ledger.spent().epsilon == Fraction(9, 10)
    assert ledger.spent("bob", today=True).epsilon == 0
    ledger.reserve(question("0.1", "bob"))
    with pytest.raises(BudgetExceeded) as refused:
        ledger.reserve(question("0.1", "bob"))
    assert refused.value.level == "allowance"


def test_an_import_alone_fixes_the_allowance_against_a_richer_catalog(open_ledger, question) -> None:
    open_ledger().import_releases([release(epsilon="0.5", analyst="bob")])
    richer = open_ledger(analysts={"bob": Analyst("bob", epsilon=Fraction(2))})
    assert richer.remaining("bob").epsilon == Fraction(1, 2)
    assert richer.import_releases([release(epsilon="0.5", analyst="bob")]) == (False,)


def test_an_import_names_analysts_of_the_catalog_only(ledger) -> None:
    with pytest.raises(PolicyRefused):
        ledger.import_releases([release(), release("atlas", analyst="eve")])
    assert ledger.spent().epsilon == 0


def test_a_release_in_rho_closes_the_epsilon_meter(open_ledger, question) -> None:
    ledger = open_ledger("", budget=BudgetTerms(epsilon=Fraction(3), delta=NINTH))
    ledger.import_releases([release(rho="0.01")])
    assert ledger.remaining().epsilon is None and not ledger.overdrawn
    ledger.reserve(question("0.1"))
    pure = open_ledger("", dataset="pure")
    pure.import_releases([release(rho="0.01")])
    assert pure.overdrawn


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": "two\nlines"},
        {"who": ""},
        {"reason": "x" * 2001},
        {"when": "last year"},
        {"price": Price(Fraction(-1), Fraction(0))},
        {"price": Price()},
        {"price": Price(Fraction(10**10), Fraction(1))},
    ],
)
def test_a_release_that_says_nothing_usable_is_refused_before_anything_is_booked(ledger, change) -> None:
    with pytest.raises(InvalidParameter):
        ledger.import_releases([release("atlas"), replace(release(), **change)])
    assert len(ledger.log()) == 1


# Other ledgers ------------------------------------------------------------------------------------------------------


@pytest.fixture
def sister(open_ledger, question) -> Ledger:
    """Another data set's ledger on the same promise: one question answered, one given up."""
    ledger = open_ledger("", dataset="hospital-2")
    ledger.reserve(question("1/4"))
    ledger.void(ledger.reserve(question("1/2")), "given up")
    return ledger


def test_a_merge_adds_each_meter_and_closes_the_other(ledger, sister, question) -> None:
    ledger.reserve(question("1/3"))
    found = ledger.merge(sister, reason="one catalog now")
    assert found.price.epsilon == Fraction(1, 4) and found.closed and not found.repeated
    assert ledger.spent().epsilon == Fraction(7, 12)
    assert ledger.spent().rho == Fraction(1, 18) + sister.spent().rho
    assert sister.closed_into == "hospital"
    for asked in (question("0.001"), question("1")):
        with pytest.raises(LedgerConflict) as refused:
            sister.reserve(asked)
        assert refused.value.code == "L-260"
    assert ledger.verify().holds and sister.verify().holds


def test_a_merge_again_charges_nothing(ledger, sister) -> None:
    ledger.merge(sister, reason="one catalog now")
    rows = len(ledger.log()), len(sister.log())
    assert ledger.merge(sister, reason="again").repeated
    assert (len(ledger.log()), len(sister.log())) == rows


def test_a_merge_that_died_between_the_two_ledgers_is_finished_by_the_next(ledger, sister) -> None:
    with sister._journal.writing() as page:
        sister._close(page, into=ledger.dataset, ledger=ledger.id, reason="one catalog now")
    assert ledger.spent().epsilon == 0
    assert not ledger.merge(sister, reason="one catalog now").repeated
    assert ledger.spent().epsilon == Fraction(1, 4) and len(sister.log()) == 5


def test_gaussian_noise_in_the_other_closes_the_epsilon_meter_here(open_ledger, question) -> None:
    terms = BudgetTerms(epsilon=Fraction(3), delta=NINTH)
    ledger, sister = open_ledger("", budget=terms), open_ledger("", dataset="b", budget=terms)
    sister.reserve(question(None, price=Price(None, Fraction(1, 100))))
    ledger.merge(sister, reason="one")
    assert ledger.spent().gaussian and ledger.spent().rho == Fraction(1, 100)


def test_budgets_of_different_kinds_mix_on_their_meters(open_ledger, question) -> None:
    ledger = open_ledger("", budget=BudgetTerms(rho=Fraction(1)), analysts={"ada": Analyst("ada")})
    sister = open_ledger("", dataset="b", budget=BudgetTerms(epsilon=Fraction(3)))
    sister.reserve(question("1", "ada"))
    ledger.merge(sister, reason="one")
    assert ledger.remaining().rho == Fraction(1, 2)


def test_other_promises_are_refused_unless_the_owner_says_they_are_about_the_same_people(open_ledger, question) -> None:
    ledger, other = open_ledger(""), open_ledger("", dataset="b", promise_digest="b" * 64)
    with pytest.raises(LedgerConflict) as refused:
        ledger.merge(other, reason="one")
    assert refused.value.code == "L-290" and other.closed_into is None
    ledger.merge(other, reason="one", another_promise=True)
    assert json.loads(ledger.log()[-1].body)["facts"]["another_promise"] is True


def test_a_ledger_is_not_merged_into_itself_or_its_copy(open_ledger, path, tmp_path) -> None:
    ledger = open_ledger()
    with sqlite3.connect(path) as source, sqlite3.connect(tmp_path / "copy.ledger") as target:
        source.backup(target)
    for other in (ledger, open_ledger(str(tmp_path / "copy.ledger"))):
        with pytest.raises(LedgerConflict, match="same ledger"):
            ledger.merge(other, reason="one")


def test_a_closed_ledger_takes_nothing_more_in(open_ledger, ledger, sister) -> None:
    """What a closed ledger books after its total was taken over would be counted nowhere."""
    third = open_ledger("", dataset="third")
    ledger.merge(sister, reason="one")
    for booking in (
        lambda: sister.import_releases([release()]),
        lambda: sister.merge(third, reason="two"),
        lambda: third.inherit(sister, reason="part"),
        lambda: third.merge(sister, reason="two"),
    ):
        with pytest.raises(LedgerConflict):
            booking()
    assert third.closed_into is None and third.spent().epsilon == 0


def test_a_ledger_that_does_not_hold_is_not_taken_over(open_ledger, question, tmp_path, ledger) -> None:
    other = open_ledger(str(tmp_path / "other.ledger"), dataset="b")
    other.reserve(question("1"))
    with sqlite3.connect(tmp_path / "other.ledger") as connection:
        connection.execute("DROP TRIGGER dither_log_no_update")
        connection.execute("UPDATE dither_log SET body = replace(body, '\"1\"', '\"0\"') WHERE seq = 2")
    connection.close()
    with pytest.raises(LedgerCorrupt):
        ledger.merge(other, reason="one")


def test_an_old_copy_of_a_merged_ledger_is_noticed(open_ledger, question, tmp_path, ledger) -> None:
    file, copy = str(tmp_path / "b.ledger"), str(tmp_path / "copy.ledger")
    other = open_ledger(file, dataset="b")
    with sqlite3.connect(file) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    ledger.merge(other, reason="one")
    with pytest.raises(LedgerConflict, match="older copy"):
        ledger.merge(open_ledger(copy, dataset="b"), reason="one")


def test_a_part_begins_with_the_spend_so_far_and_both_go_on(open_ledger, question) -> None:
    whole, part = open_ledger(""), open_ledger("", dataset="hospital-children", promise_digest="b" * 64)
    whole.reserve(question("1/3"))
    found = part.inherit(whole, reason="children apart", another_promise=True)
    assert not found.closed and part.spent().epsilon == Fraction(1, 3)
    whole.reserve(question("1"))
    part.reserve(question("1"))
    assert part.inherit(whole, reason="again", another_promise=True).repeated
    assert part.spent().epsilon == Fraction(4, 3)
    with pytest.raises(LedgerConflict, match="twice"):
        part.merge(whole, reason="together again", another_promise=True)
    assert part.verify().holds


# The promise --------------------------------------------------------------------------------------------------------


def test_inside_the_budget_an_import_changes_no_promise(ledger) -> None:
    before = ledger.promised
    ledger.import_releases([release(epsilon=1)])
    assert ledger.promised == before and not ledger.overdrawn


def test_beyond_the_budget_the_promise_is_what_was_spent(open_ledger) -> None:
    pure = open_ledger("")
    pure.import_releases([release(epsilon=5)])
    assert (pure.promised.epsilon, pure.promised.delta) == (5, 0)

    approximate = open_ledger("", dataset="b", budget=BudgetTerms(epsilon=Fraction(3), delta=NINTH))
    approximate.import_releases([release(epsilon=1, delta="1e-6")])
    assert approximate.overdrawn and approximate.promised.epsilon == 3
    # The failure mass that was booked, and the budget's own delta for whoever was promised that before.
    assert approximate.promised.delta == NINTH + Fraction(1, 10**6)

    zcdp = open_ledger("", dataset="c", budget=BudgetTerms(rho=Fraction(1, 10)), analysts={})
    zcdp.import_releases([release(rho="0.25")])
    assert zcdp.promised.rho == Fraction(1, 4) and zcdp.promised.epsilon is None


def test_gaussian_noise_on_a_pure_budget_is_promised_with_a_delta(ledger) -> None:
    ledger.import_releases([release(rho="0.5")])
    promised = ledger.promised
    # epsilon(0.5, 1e-9) is 6.6 by the tight conversion; without a delta no epsilon would be true.
    assert 6 < promised.epsilon < 7 and promised.delta == NINTH


def test_a_grant_after_an_overdraft_tells_the_worst_of_all_levels(open_ledger, question) -> None:
    ledger = open_ledger("")
    ledger.import_releases([release(epsilon=5)])
    grant = ledger.grant(epsilon=1, reason="not enough")
    assert grant.epsilon == 5 and ledger.overdrawn
    grant = ledger.grant(epsilon=2, reason="enough")
    assert grant.epsilon == 6 and not ledger.overdrawn
    ledger.reserve(question("1"))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(question("0.001"))


# Verification -------------------------------------------------------------------------------------------------------


def test_verification_knows_a_booking_made_twice_and_a_charge_after_the_end(open_ledger, question, ledger) -> None:
    other = open_ledger("", dataset="b")
    facts = ledger._release_facts(release())
    for _ in range(2):
        with ledger._journal.writing() as page:
            page.append("imported", facts=facts)
    found = ledger.verify()
    assert found.first_broken == 3 and "booked before" in found.problem

    with other._journal.writing() as page:
        other._close(page, into="hospital", ledger=ledger.id, reason="one")
    with other._journal.writing() as page:
        page.append("imported", facts=facts)
    assert "closed" in other.verify().problem


def test_history_tells_when_the_meters_moved(open_ledger, question, measured, clock) -> None:
    ledger = open_ledger("")
    ledger.answer(ledger.reserve(question("1/4")), measured())
    ledger.import_releases([release(epsilon=1)])
    ledger.grant(epsilon=1, reason="more")
    ledger.open_release("2")
    readings = ledger.history()
    assert [reading.what for reading in readings] == ["created", "reserved", "imported", "granted"]
    assert [reading.spent.epsilon for reading in readings] == [0, Fraction(1, 4), Fraction(5, 4), Fraction(5, 4)]
    assert [reading.budget.epsilon for reading in readings] == [3, 3, 3, 4]


def test_readings_of_the_odometer_are_spread_over_the_questions(ledger, question) -> None:
    assert ledger.odometer() is None and ledger.odometers() == ()
    for _ in range(7):
        ledger.reserve(question("0.1"))
    sums = [reading.composition.price.epsilon * 10 for _, reading in ledger.odometers(most=3)]
    assert sums == [2, 4, 7]
    assert len(ledger.odometers()) == 7 and ledger.odometer() == ledger.odometers()[-1][1]


def test_the_odometer_reads_questions_and_nothing_it_does_not_know(ledger, question) -> None:
    ledger.reserve(question("1/4"))
    ledger.void(ledger.reserve(question("1")), "given up")
    assert ledger.odometer().composition.price.epsilon == Fraction(1, 4)
    ledger.import_releases([release()])
    assert ledger.odometer() is None
