"""Refusals on record: what a record holds, what it leaves alone, and how many one analyst can write."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3

import pytest

from dither.catalog.model import BudgetTerms
from dither.ledger.chain import digest
from dither.ledger.ledger import Ledger
from dither.ledger.standing import Standing, analyst_level


def recorded(ledger: Ledger) -> list[dict[str, object]]:
    return [json.loads(row.body)["facts"] for row in ledger.log() if row.kind == "refused"]


def test_a_refusal_is_in_the_chain_and_changes_no_total(ledger, question, measured) -> None:
    ledger.answer(ledger.reserve(question("1/3")), measured())
    before = ledger.spent(), ledger.spent("ada"), ledger.remaining("bob"), ledger.frozen("ada"), ledger.entries()
    assert ledger.record_refusal("ada", "SELECT *", "S-104")
    assert recorded(ledger) == [
        {"code": "S-104", "text": "SELECT *", "digest": digest(b"SELECT *"), "last": False}
    ]  # fmt: skip
    assert (
        ledger.spent(),
        ledger.spent("ada"),
        ledger.remaining("bob"),
        ledger.frozen("ada"),
        ledger.entries(),
    ) == before
    (row,) = [row for row in ledger.log() if row.kind == "refused"]
    assert row.analyst == "ada" and row.entry is None and ledger.verify().holds


def test_an_analyst_s_records_of_a_day_are_bounded(ledger, clock) -> None:
    kept = [ledger.record_refusal("ada", f"question {number}", "P-100") for number in range(130)]
    assert kept == [True] * 100 + [False] * 30
    assert [facts["last"] for facts in recorded(ledger)] == [False] * 99 + [True]
    assert ledger.record_refusal("bob", "another's", "P-100")
    clock.now += dt.timedelta(days=1)
    assert ledger.record_refusal("ada", "the next day's", "P-100")
    assert ledger.verify().holds and len(ledger.log()) == 1 + 100 + 2


def test_beyond_the_bound_nobody_waits_for_the_writers_turn(open_ledger, question) -> None:
    ledger = open_ledger(wait_s=0.3)
    ledger.REFUSALS_A_DAY = 2
    for _ in range(2):
        assert ledger.record_refusal("ada", "SELECT", "P-100")
    with ledger._journal.writing():
        # Another writer has the turn: who waits for it would fail.
        assert not ledger.record_refusal("ada", "SELECT", "P-100")


def test_a_long_text_is_cut_and_named_by_its_digest(ledger) -> None:
    text = "SELECT '" + "x\x00\ud800" * 100_000
    assert ledger.record_refusal("ada", text, "P-100")
    (facts,) = recorded(ledger)
    assert facts["text"] == text[:500] and facts["digest"] == digest(text.encode("utf-8", "surrogatepass"))
    assert max(len(row.body) for row in ledger.log()) < 5000


def test_a_name_that_is_none_of_the_catalog_s_writes_nothing(ledger) -> None:
    assert not ledger.record_refusal("mallory", "SELECT", "C-310")
    assert recorded(ledger) == []


def test_a_questioner_s_day_of_charges_is_left_alone(ledger, question) -> None:
    """An older Dither drops what it does not know from a standing it writes: it must never write this one."""
    ledger.reserve(question("1/3"))
    ledger.record_refusal("ada", "SELECT", "P-100")
    ledger.reserve(question("1/3"))
    rows = [json.loads(row.body)["standings"] for row in ledger.log()]
    assert [sorted(standings) for standings in rows] == [
        ["dataset"],
        sorted(["dataset", analyst_level("ada"), "day:2026-03-01:ada"]),
        ["refusals:2026-03-01:ada"],
        sorted(["dataset", analyst_level("ada"), "day:2026-03-01:ada"]),
    ]
    assert Standing.from_json({"refusals": 3}).to_json() == {"refusals": 3}


@pytest.mark.parametrize("change", ["drop", "alter"])
def test_verify_finds_a_refusal_taken_out_or_rewritten(open_ledger, path, change) -> None:
    ledger = open_ledger(budget=BudgetTerms(epsilon=3))
    for number in range(3):
        ledger.record_refusal("ada", f"question {number}", "P-100")
    ledger.close()
    with sqlite3.connect(path) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        if change == "drop":
            connection.execute("DELETE FROM dither_log WHERE seq = 3")
        else:
            connection.execute("UPDATE dither_log SET body = replace(body, 'question 1', 'question 9') WHERE seq = 3")
    connection.close()
    assert open_ledger(budget=BudgetTerms(epsilon=3)).verify().first_broken in (3, 4)
