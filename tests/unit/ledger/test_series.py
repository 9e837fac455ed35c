"""Series in the ledger: charged and kept in one step, advanced from the newest state only, checked by `verify`."""

from __future__ import annotations

import json
import os
import sqlite3
from fractions import Fraction

import pytest

from dither.accounting.events import PureEvent
from dither.accounting.price import Price
from dither.errors import BudgetExceeded, LedgerConflict, PolicyRefused
from dither.ledger.series import EpochRequest, SeriesBook


def request(epsilon: str = "1/2", state: bytes = b"begun", text: str = "SELECT 1") -> EpochRequest:
    cost = Fraction(epsilon)
    return EpochRequest(
        text, "f" * 64, Price(cost, rho=cost * cost / 2), (PureEvent(cost),), {"first": "2026-01-01"}, state
    )


def test_opening_charges_every_level_and_finds_the_same_series_again(ledger) -> None:
    book = SeriesBook(ledger)
    assert book.find("bob", "s") is None
    opened = book.open("bob", "s", request())
    again = book.open("bob", "s", request("1", text="another"))
    assert again == opened == book.find("bob", "s")
    assert (opened.state, opened.totals, opened.epochs) == (b"begun", (), 1)
    assert ledger.spent().epsilon == ledger.spent("bob").epsilon == ledger.spent("bob", today=True).epsilon == 1 / 2
    assert book.find("ada", "s") is None


def test_what_does_not_fit_opens_nothing(ledger) -> None:
    book = SeriesBook(ledger)
    with pytest.raises(BudgetExceeded):
        book.open("bob", "s", request("2"))
    with pytest.raises(PolicyRefused):
        book.open("eve", "s", request())
    assert book.find("bob", "s") is None and len(ledger.log()) == 1


def test_an_advance_goes_on_from_the_newest_state_only(ledger) -> None:
    book = SeriesBook(ledger)
    opened = book.open("ada", "s", request())
    book.advance(opened, totals=b"one", state=b"after one")
    for late in (lambda: book.advance(opened, totals=b"1", state=b"1"), lambda: book.extend(opened, request())):
        with pytest.raises(LedgerConflict) as refused:
            late()
        assert refused.value.code == "L-410"
    now = book.find("ada", "s")
    assert now is not None and (now.state, now.totals) == (b"after one", (b"one",))
    book.extend(now, request(state=b"second epoch"))
    later = book.find("ada", "s")
    assert later is not None and (later.state, later.totals, later.epochs) == (b"second epoch", (b"one",), 2)
    assert ledger.spent().epsilon == 1
    assert ledger.verify().problem is None


def test_a_closed_or_frozen_ledger_is_not_advanced(open_ledger) -> None:
    ledger = open_ledger()
    book = SeriesBook(ledger)
    opened = book.open("ada", "s", request())
    for _ in range(3):
        book.stalled(opened)
    for blocked in (lambda: book.begin_reading(opened), lambda: book.advance(opened, totals=b"1", state=b"1")):
        with pytest.raises(PolicyRefused):
            blocked()
    ledger.unfreeze("ada", reason="looked")
    open_ledger("", dataset="hospital-2").merge(ledger, reason="one now")
    with pytest.raises(LedgerConflict):
        book.begin_reading(opened)
    assert book.find("ada", "s") == opened


def test_a_death_in_the_middle_of_an_advance_counts_as_a_failure_once(open_ledger, path: str) -> None:
    child = os.fork()
    if child == 0:
        ledger = open_ledger()
        book = SeriesBook(ledger)
        book.begin_reading(book.open("ada", "s", request()))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    kinds = [[row.kind for row in open_ledger().log()] for _ in range(2)]
    assert kinds[0] == kinds[1] == ["created", "reserved", "answered", "stalled"]
    ledger = open_ledger()
    book = SeriesBook(ledger)
    found = book.find("ada", "s")
    assert found is not None and found.state == b"begun"
    # A living session that reads is left alone, and one that is done leaves nothing to find.
    book.begin_reading(found)
    assert open_ledger().log()[-1].kind == "stalled"
    book.advance(found, totals=b"one", state=b"1")
    assert [row.kind for row in open_ledger().log()].count("stalled") == 1
    assert ledger.verify().problem is None


def test_a_new_release_does_not_end_a_series(ledger) -> None:
    book = SeriesBook(ledger)
    opened = book.open("ada", "s", request())
    ledger.open_release("2")
    book.advance(opened, totals=b"one", state=b"1")
    found = book.find("ada", "s")
    assert found is not None and found.totals == (b"one",)
    book.extend(found, request(state=b"2"))
    assert ledger.verify().problem is None


def test_a_question_cannot_take_a_series_key(ledger, question) -> None:
    from dither.errors import InvalidParameter

    SeriesBook(ledger).open("ada", "s", request())
    key = ledger.entries()[0].idempotency_key
    with pytest.raises(InvalidParameter):
        ledger.reserve(question(idempotency_key=key))


@pytest.fixture
def advanced(open_ledger):
    ledger = open_ledger()
    book = SeriesBook(ledger)
    book.advance(book.open("ada", "s", request()), totals=b"one", state=b"after one")
    return ledger


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE dither_series_state SET state = X'00'",
        "UPDATE dither_series_state SET seq = 3",
        "DELETE FROM dither_series_state",
        "DROP TABLE dither_series_state",
        "INSERT INTO dither_series_state VALUES ('x', 2, X'00', NULL)",
        "UPDATE dither_vector SET payload = X'00'",
        "DELETE FROM dither_vector",
    ],
)
def test_whatever_is_changed_of_a_series_is_found(advanced, path: str, change: str) -> None:
    assert advanced.verify().problem is None
    with sqlite3.connect(path) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(change)
    connection.close()
    assert advanced.verify().problem is not None


def test_an_advance_is_no_question_of_its_own(advanced) -> None:
    (entry,) = advanced.entries()
    assert entry.state == "answered"
    assert advanced.totals()["ada"].epsilon == 1 / 2


def test_the_chain_gives_nothing_to_try_a_guessed_state_on(ledger) -> None:
    """Two series in one state have different digests."""
    book = SeriesBook(ledger)
    for name in ("one", "two"):
        book.open("ada", name, request())
    said = [json.loads(row.body)["facts"]["series"]["state"] for row in ledger.log() if row.kind == "answered"]
    assert len(set(said)) == 2


def test_a_failed_advance_is_neither_a_question_nor_an_owners_command(advanced) -> None:
    book = SeriesBook(advanced)
    found = book.find("ada", "s")
    assert found is not None
    book.stalled(found)
    (entry,) = advanced.entries()
    assert entry.state == "answered" and not [row for row in advanced.log() if row.entry is None and row.seq > 1]
    assert advanced.verify().problem is None


def test_a_ledger_without_series_has_no_table_of_states(open_ledger, path: str) -> None:
    """A ledger of an earlier version gets the table with its first series."""
    ledger = open_ledger()
    with sqlite3.connect(path) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    assert "dither_series_state" not in tables
    assert ledger.verify().problem is None


def test_after_a_backup_was_put_back_a_series_is_not_extended_either(ledger) -> None:
    # An extension's state is newer than the row `restored`: were it let through, advances would go on after it.
    book = SeriesBook(ledger)
    opened = book.open("ada", "s", request())
    ledger.charge_worst_case("disk lost")
    ledger.grant(epsilon=3, reason="go on")
    charged = ledger.spent().epsilon
    with pytest.raises(LedgerConflict) as refused:
        book.extend(opened, request())
    assert refused.value.code == "L-420"
    assert ledger.spent().epsilon == charged and book.find("ada", "s") == opened
