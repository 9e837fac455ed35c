"""Grants, releases, promises, restored backups: what the owner does, and what is then promised."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dither.catalog.model import Analyst, BudgetTerms
from dither.errors import BudgetExceeded, InvalidParameter, LedgerConflict, LedgerError
from dither.ledger.ledger import Ledger

NINTH = Fraction(1, 10**9)


def test_a_grant_raises_the_budget_and_adds_the_deltas_of_all_levels(open_ledger) -> None:
    ledger = open_ledger("", budget=BudgetTerms(epsilon=Fraction(3), delta=NINTH))
    grant = ledger.grant(epsilon=1, reason="second year")
    assert (ledger.budget.epsilon, ledger.budget.delta) == (4, NINTH)
    assert (grant.epsilon, grant.delta) == (4, 2 * NINTH)
    grant = ledger.grant(delta="1e-9", reason="private keys")
    assert ledger.budget.delta == 2 * NINTH
    assert (ledger.promised.epsilon, ledger.promised.delta) == (grant.epsilon, grant.delta) == (4, 4 * NINTH)
    assert "epsilon 4, delta 0.000000004" in grant.sentence


def test_a_pure_budget_stays_pure_under_grants(ledger, question) -> None:
    ledger.reserve(question("3"))
    grant = ledger.grant(epsilon="0.5", reason="more")
    assert (grant.epsilon, grant.delta) == (Fraction(7, 2), 0)
    ledger.reserve(question("0.5"))


def test_a_grant_to_an_analyst_leaves_the_data_set_as_it_is(ledger, question) -> None:
    ledger.reserve(question("1", "bob"))
    before = ledger.promised
    ledger.grant(epsilon="0.5", analyst="bob", reason="thesis")
    assert ledger.promised == before
    ledger.reserve(question("0.5", "bob"))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(question("0.001", "bob"))


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"epsilon": -1},
        {"rho": 1},
        {"epsilon": 1, "analyst": "ada"},
        {"delta": "1e-9", "analyst": "bob"},
        {"delta": 1},
        {"epsilon": 0},
    ],
)
def test_a_grant_that_means_nothing_is_refused(ledger, arguments) -> None:
    rows = len(ledger.log())
    with pytest.raises(InvalidParameter):
        ledger.grant(**arguments, reason="why")
    assert len(ledger.log()) == rows


def test_editing_the_catalog_neither_resets_nor_enlarges(open_ledger, question) -> None:
    open_ledger(budget=BudgetTerms(epsilon=Fraction(3))).reserve(question("1", "bob"))
    richer = {"ada": Analyst("ada"), "bob": Analyst("bob", epsilon=Fraction(2))}
    ledger = open_ledger(budget=BudgetTerms(epsilon=Fraction(30)), analysts=richer)
    assert ledger.budget.epsilon == 3 and ledger.spent().epsilon == 1
    assert "epsilon 30" in ledger.budget_note and "bob" in ledger.budget_note
    with pytest.raises(BudgetExceeded):
        ledger.reserve(question("0.001", "bob"))


def test_lowering_an_allowance_in_the_catalog_takes_effect(open_ledger, question) -> None:
    open_ledger().reserve(question("0.1", "bob"))
    open_ledger().grant(epsilon="0.25", analyst="bob", reason="thesis")
    poorer = open_ledger(analysts={"bob": Analyst("bob", epsilon=Fraction(1, 2))})
    assert poorer.remaining("bob").epsilon == Fraction(65, 100)


def test_a_limit_given_later_to_an_unlimited_analyst_counts_what_they_spent(open_ledger, question) -> None:
    open_ledger().reserve(question("0.4", "ada"))
    ledger = open_ledger(analysts={"ada": Analyst("ada", epsilon=Fraction(1, 2), daily_epsilon=Fraction(1))})
    assert ledger.remaining("ada").epsilon == Fraction(1, 10)
    assert ledger.remaining("ada", today=True).epsilon == Fraction(3, 5)


def test_no_note_while_catalog_and_ledger_agree(open_ledger, question) -> None:
    ledger = open_ledger()
    ledger.reserve(question("0.1", "bob"))
    assert ledger.budget_note is None


def test_another_promise_is_refused_until_adopted(open_ledger, question) -> None:
    open_ledger().reserve(question("1"))
    with pytest.raises(LedgerConflict, match="promised"):
        open_ledger(promise_digest="b" * 64)
    looking = open_ledger(promise_digest=None, budget=None)
    with pytest.raises(LedgerConflict):
        looking.reserve(question("0.1"))
    looking.adopt_promise("b" * 64, "visits now point at patients")
    ledger = open_ledger(promise_digest="b" * 64)
    assert ledger.spent().epsilon == 1
    assert "visits now point at patients" in ledger.log()[-1].body


def test_a_session_under_the_old_promise_stops_asking(open_ledger, question) -> None:
    old, owner = open_ledger(), open_ledger()
    owner.adopt_promise("b" * 64, "why")
    with pytest.raises(LedgerConflict):
        old.reserve(question())


def test_another_data_set_is_refused(open_ledger) -> None:
    open_ledger()
    with pytest.raises(LedgerConflict):
        open_ledger(dataset="school")


def test_a_ledger_is_not_made_by_looking(open_ledger) -> None:
    with pytest.raises(LedgerError):
        open_ledger(budget=None)
    with pytest.raises(LedgerError):
        open_ledger(promise_digest=None)


def test_releases_are_listed_and_never_reopened(ledger) -> None:
    ledger.open_release("2026-Q2", "quarterly load")
    assert ledger.current_release == "2026-Q2"
    assert [release.name for release in ledger.releases()] == ["1", "2026-Q2"]
    for name in ("1", "2026-Q2", "", "a\nb", "x" * 101):
        with pytest.raises(InvalidParameter):
            ledger.open_release(name)


def test_a_limit_on_another_notion_than_the_budget_is_refused_at_the_opening(open_ledger) -> None:
    with pytest.raises(InvalidParameter):
        open_ledger("", analysts={"ada": Analyst("ada", rho=Fraction(1))})
    zcdp = BudgetTerms(rho=Fraction(1, 10), delta=NINTH)
    for analyst in (Analyst("ada", epsilon=Fraction(1)), Analyst("ada", daily_epsilon=Fraction(1))):
        with pytest.raises(InvalidParameter):
            open_ledger("", budget=zcdp, analysts={"ada": analyst})


def test_a_zcdp_budget_is_spent_in_rho(open_ledger, question) -> None:
    ledger = open_ledger(
        "", budget=BudgetTerms(rho=Fraction(1, 100)), analysts={"ada": Analyst("ada", rho=Fraction(1, 200))}
    )
    ledger.reserve(question("0.1"))
    assert ledger.remaining("ada").rho == 0
    with pytest.raises(BudgetExceeded):
        ledger.reserve(question("0.01"))
    grant = ledger.grant(rho="0.005", analyst="ada", reason="more")
    ledger.reserve(question("0.1"))
    assert grant.epsilon is None and ledger.remaining().rho == 0


@pytest.mark.parametrize(
    "terms",
    [
        BudgetTerms(epsilon=Fraction(3)),
        BudgetTerms(epsilon=Fraction(3), delta=NINTH),
        BudgetTerms(rho=Fraction(1, 10), delta=NINTH),
    ],
)
def test_after_a_restored_backup_everything_may_have_been_spent(open_ledger, question, terms) -> None:
    ledger: Ledger = open_ledger("", budget=terms, analysts={})
    ledger.reserve(question("0.1"))
    ledger.charge_worst_case("backup of Monday")
    left = ledger.remaining()
    assert (left.epsilon or 0, left.rho, left.delta) == (0, 0, 0)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(question("0.001"))
    assert ledger.verify().holds


def test_a_small_grant_after_a_restored_backup_does_not_open_the_other_meter(open_ledger, question) -> None:
    # Three of pure epsilon may be gone, which is a rho of up to 2.7: far beyond rho*(4, 9e-10).
    ledger = open_ledger("", budget=BudgetTerms(epsilon=Fraction(3), delta=NINTH), analysts={})
    ledger.charge_worst_case("backup of Monday")
    ledger.grant(epsilon=1, reason="go on")
    with pytest.raises(BudgetExceeded):
        ledger.reserve(question("0.001"))


@pytest.mark.parametrize("reason", ["x" * 2001, "two\nlines", "\x1b]0;owned\x07", "a\x00b", "\ud800", "\u202egnp"])
def test_a_reason_is_one_printable_line_whatever_the_command(open_ledger, reason) -> None:
    ledger, other = open_ledger(""), open_ledger("", dataset="other")
    rows = len(ledger.log()), len(other.log())
    for command in (
        lambda: ledger.grant(epsilon=1, reason=reason),
        lambda: ledger.unfreeze("ada", reason=reason),
        lambda: ledger.unfreeze(reason=reason),
        lambda: ledger.adopt_promise("b" * 64, reason),
        lambda: ledger.open_release("2", reason),
        lambda: ledger.charge_worst_case(reason),
        lambda: ledger.merge(other, reason=reason),
        lambda: ledger.inherit(other, reason=reason),
    ):
        with pytest.raises(InvalidParameter, match="reason") as refused:
            command()
        assert len(str(refused.value)) < 300
    assert (len(ledger.log()), len(other.log())) == rows


@pytest.mark.parametrize("step", ["1e10", "1e-40", Fraction(1, 3**90), "1e999", Fraction(10**2000)])
def test_a_grant_no_owner_can_mean_is_refused(ledger, step) -> None:
    # Its digits would be in every row from then on; beyond 400 characters no ledger could read them again.
    for terms in ({"epsilon": step}, {"epsilon": 1, "delta": step}, {"epsilon": step, "analyst": "bob"}):
        with pytest.raises(InvalidParameter):
            ledger.grant(**terms, reason="more")
    ledger.grant(epsilon="1/3", reason="more")
    assert ledger.budget.epsilon == Fraction(10, 3) and ledger.verify().holds
