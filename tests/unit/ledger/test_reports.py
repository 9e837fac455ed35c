from __future__ import annotations

from fractions import Fraction

from dither.accounting.events import PureEvent


def test_an_entry_tells_the_whole_life_of_a_question(ledger, question, measured, clock) -> None:
    reservation = ledger.reserve(question("0.1", idempotency_key="k1"))
    receipt = ledger.answer(reservation, measured())
    (entry,) = ledger.entries()
    assert (entry.id, entry.state, entry.analyst, entry.idempotency_key) == (receipt.entry_id, "answered", "ada", "k1")
    assert entry.price.epsilon == Fraction(1, 10) and entry.events == (PureEvent(Fraction(1, 10)),)
    assert entry.text == "SELECT count(*) FROM visits" and entry.vectors == ("v" * 64,)
    assert entry.reserved_at == clock.now.isoformat(timespec="microseconds") == entry.settled_at
    assert entry.settled_hash == receipt.hash and entry.hash == reservation.hash


def test_entries_come_oldest_first_and_for_one_analyst_if_asked(ledger, question) -> None:
    ids = [ledger.reserve(question("0.01", name)).entry_id for name in ("ada", "bob", "ada")]
    assert [entry.id for entry in ledger.entries()] == ids
    assert [entry.id for entry in ledger.entries("ada")] == [ids[0], ids[2]]


def test_an_entry_id_does_not_count_the_questions_of_others(ledger, question) -> None:
    ids = [ledger.reserve(question("0.01")).entry_id for _ in range(20)]
    assert len(set(ids)) == 20 and all(len(name) == 16 for name in ids)
    assert ids != sorted(ids)


def test_each_row_names_the_hash_of_the_row_before(ledger, question) -> None:
    ledger.void(ledger.reserve(question()), "why")
    rows = ledger.log()
    assert [row.kind for row in rows] == ["created", "reserved", "void"]
    assert [row.previous for row in rows[1:]] == [row.hash for row in rows[:-1]]


def test_totals_name_the_data_set_and_every_analyst_who_asked(ledger, question) -> None:
    ledger.reserve(question("0.25", "ada"))
    ledger.reserve(question("0.5", "bob"))
    spent = {name: total.epsilon for name, total in ledger.totals().items()}
    assert spent == {"hospital": Fraction(3, 4), "ada": Fraction(1, 4), "bob": Fraction(1, 2)}


def test_a_question_may_hold_any_text(ledger, question) -> None:
    text = "SELECT '\x00\ud800 \N{GREEK SMALL LETTER EPSILON}' -- " + "x" * 65536
    ledger.reserve(question(text=text))
    assert ledger.entries()[0].text == text and ledger.verify().holds
