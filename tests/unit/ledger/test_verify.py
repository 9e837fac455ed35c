"""Whatever is changed behind the ledger's back is found, at the row where it was changed."""

from __future__ import annotations

import json
import shutil
import sqlite3

import pytest

from dither.errors import LedgerCorrupt, LedgerError
from dither.ledger import Receipt
from dither.ledger.chain import GENESIS, canonical, row_hash
from dither.ledger.effects import levels_of, standings_after
from dither.ledger.elsewhere import outside_release


@pytest.fixture
def used(open_ledger, question, measured):
    """A ledger file with every kind of row; returns it with the receipt of its last answer."""
    ledger = open_ledger()
    ledger.answer(ledger.reserve(question()), measured())
    ledger.void(ledger.reserve(question()), "why")
    ledger.fail(ledger.reserve(question()))
    ledger.record_reuse("bob", ledger.released("v" * 64, "1")[0], measured()[0].price)
    ledger.grant(epsilon=1, reason="more")
    ledger.grant(epsilon="0.5", analyst="bob", reason="more")
    ledger.unfreeze("ada", reason="looked")
    ledger.open_release("2")
    ledger.adopt_promise("a" * 64, "the same again")
    receipt = ledger.answer(ledger.reserve(question(release="2")), measured())
    return ledger, receipt


def edit(path: str, *statements: str) -> None:
    """Write to the file as its owner could: triggers dropped first, foreign keys off."""
    with sqlite3.connect(path) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            assert connection.execute(statement).rowcount > 0
    connection.close()


def test_an_untouched_ledger_holds_and_knows_its_receipts(used) -> None:
    ledger, receipt = used
    found = ledger.verify(receipt)
    assert found.holds and found.rows == 15 and found.head == receipt.hash
    assert Receipt.from_dict(json.loads(json.dumps(receipt.to_dict()))) == receipt


@pytest.mark.parametrize("table", ["identity", "log", "standing", "vector", "payer"])
@pytest.mark.parametrize("verb", ["UPDATE dither_{} SET {} = {}", "DELETE FROM dither_{}"])
def test_tables_refuse_changes(used, path, table, verb) -> None:
    column = {"identity": "dataset", "log": "body", "standing": "body", "vector": "payload", "payer": "analyst"}[table]
    with (
        sqlite3.connect(path) as connection,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        connection.execute(verb.format(table, column, column))
    connection.close()


@pytest.mark.parametrize("seq", [1, 2, 3, 7, 15])
@pytest.mark.parametrize("change", ["analyst = 'eve'", "at = '2020'", "body = replace(body, 'facts', 'fact')"])
def test_a_changed_row_is_the_first_broken_one(used, path, seq, change) -> None:
    ledger, _ = used
    edit(path, f"UPDATE dither_log SET {change} WHERE seq = {seq}")
    assert ledger.verify().first_broken == seq


@pytest.mark.parametrize("seq", [1, 5, 12])
def test_a_deleted_row_breaks_the_chain_at_the_next(used, path, seq) -> None:
    ledger, _ = used
    edit(path, f"DELETE FROM dither_log WHERE seq = {seq}")
    assert ledger.verify().first_broken == seq + 1


def test_a_wrong_total_is_found_even_under_a_chain_hashed_anew(used, path) -> None:
    ledger, _ = used
    rows = ledger.log()
    statements, previous = [], rows[1].previous
    for row in rows[1:]:
        body = json.loads(row.body)
        for standing in body["standings"].values():
            if standing.get("epsilon") == "1/10":
                standing["epsilon"] = "1/100"
        text = canonical(body)
        columns = (row.seq, row.kind, row.entry, row.analyst, row.request, row.at, row.day, text)
        fresh = row_hash(previous, columns)
        quoted = text.replace("'", "''")
        statements.append(
            f"UPDATE dither_log SET body = '{quoted}', previous = '{previous}', hash = '{fresh}' WHERE seq = {row.seq}"
        )
        previous = fresh
    edit(path, *statements)
    found = ledger.verify()
    assert found.first_broken == 2 and "totals" in found.problem


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE dither_standing SET body = '{}' WHERE seq = 2 AND level = 'dataset'", "totals kept for row 2"),
        ("DELETE FROM dither_standing WHERE seq = 14 OR seq = 12", "totals kept for row 12"),
        ("UPDATE dither_vector SET payload = x'00'", "vectors kept"),
        ("UPDATE dither_vector SET \"release\" = '1' WHERE \"release\" = '2'", "another release"),
        ("UPDATE dither_vector SET law = '{}'", "vectors kept"),
        ("DELETE FROM dither_payer WHERE analyst = 'bob'", "Who paid"),
        ("INSERT INTO dither_payer SELECT entry, position, 'eve' FROM dither_vector", "Who paid"),
    ],
)
def test_tables_that_repeat_the_log_must_repeat_it(used, path, statement, words) -> None:
    ledger, _ = used
    edit(path, statement)
    assert words in ledger.verify().problem


def test_an_old_backup_put_back_lacks_the_receipts_entry(open_ledger, question, measured, path) -> None:
    ledger = open_ledger()
    ledger.answer(ledger.reserve(question()), measured())
    ledger.close()
    shutil.copy(path, path + ".monday")
    ledger = open_ledger()
    receipt = ledger.answer(ledger.reserve(question()), measured())
    ledger.close()
    shutil.copy(path + ".monday", path)
    ledger = open_ledger()
    assert ledger.verify().holds
    assert "older copy" in ledger.verify(receipt).problem
    # Asking on from the old copy does not hide it.
    ledger.answer(ledger.reserve(question()), measured())
    assert "older copy" in ledger.verify(receipt).problem


def test_an_invented_receipt_is_told_from_a_rollback(used) -> None:
    ledger, receipt = used
    invented = Receipt(receipt.entry_id, "0" * 64, receipt.digest)
    assert "not written by this ledger" in ledger.verify(invented).problem
    assert "not written by this ledger" in ledger.verify(Receipt("0" * 16, receipt.hash, receipt.digest)).problem


def test_a_damaged_page_is_found(used, open_ledger, path) -> None:
    ledger, _ = used
    with sqlite3.connect(path) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'dither_vector'").fetchone()[0]
    connection.close()
    ledger.close()
    with open(path, "r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xff" * 4096)
    assert "damaged" in open_ledger().verify().problem


def test_a_closed_ledger_says_so(used) -> None:
    ledger, _ = used
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.verify()


def rewrite(path: str, ledger, change) -> None:
    """Change facts, and write chain and totals anew as whoever knows the format could."""
    previous, standings = GENESIS, {}
    statements = ["DELETE FROM dither_standing"]
    for row in ledger.log():
        facts = json.loads(row.body)["facts"]
        change(row.kind, facts)
        names = levels_of(row.kind, facts, analyst=row.analyst, day=row.day)
        before = {name: standings[name] for name in names if name in standings}
        after = standings_after(row.kind, facts, before, analyst=row.analyst, day=row.day)
        standings |= after
        stored = {name: standing.to_json() for name, standing in after.items()}
        body = canonical({"facts": facts, "standings": stored})
        fresh = row_hash(previous, (row.seq, row.kind, row.entry, row.analyst, row.request, row.at, row.day, body))
        statements.append(
            f"UPDATE dither_log SET body = '{body}', previous = '{previous}', hash = '{fresh}' WHERE seq = {row.seq}"
        )
        statements += [
            f"INSERT INTO dither_standing VALUES ('{name}', {row.seq}, '{canonical(value)}')"
            for name, value in stored.items()
        ]
        previous = fresh
    edit(path, *statements)


@pytest.mark.parametrize(
    ("kind", "price", "words"),
    [
        ("reserved", "1/100", "more than was reserved"),
        ("reused", "1/100", "for less than its price"),
        ("imported", "-1", "below nothing"),
        ("merged", "-1", "below nothing"),
        ("restored", "-1", "below nothing"),
    ],
)
def test_a_price_no_ledger_writes_is_found_even_where_all_is_hashed_anew(
    used, path, open_ledger, question, kind, price, words
) -> None:
    ledger, _ = used
    other = open_ledger("", dataset="hospital-2")
    other.reserve(question())
    ledger.merge(other, reason="one now")
    told = {"name": "n", "who": "w", "when": "2026-01-01", "reason": "r"}
    ledger.import_releases([outside_release(epsilon=1, **told)])
    ledger.charge_worst_case("put back")
    rewrite(path, ledger, lambda *_: None)
    assert ledger.verify().holds

    def change(found: str, facts: dict) -> None:
        if found == kind:
            facts["price"]["epsilon"] = price

    rewrite(path, ledger, change)
    assert words in ledger.verify().problem


def test_a_vector_that_was_not_reserved_is_found(used, path) -> None:
    def change(kind: str, facts: dict) -> None:
        if kind == "reserved":
            facts["vectors"] = ["another"]

    rewrite(path, used[0], change)
    assert "not reserved" in used[0].verify().problem


@pytest.mark.parametrize("column", ["law", "price"])
def test_a_table_that_cannot_be_read_is_said(used, path, column) -> None:
    edit(path, f"UPDATE dither_vector SET {column} = 'x'")
    assert "cannot be read" in used[0].verify().problem


@pytest.mark.parametrize(
    "statement", ["UPDATE dither_identity SET dataset = 'other'", "UPDATE dither_identity SET created_at = '2020'"]
)
def test_a_ledger_under_another_s_name_is_found(used, open_ledger, path, statement) -> None:
    # Its spend would be counted for other people.
    ledger, _ = used
    edit(path, statement)
    assert "first row says" in ledger.verify().problem
    ledger.close()
    for dataset in ("hospital", "other"):
        with pytest.raises(LedgerCorrupt):
            open_ledger(dataset=dataset)


def test_a_second_identity_is_found(used, open_ledger, path) -> None:
    ledger, _ = used
    columns = "schema_version, dataset, hex(zeroblob(32)), created_at"
    edit(path, f"INSERT INTO dither_identity SELECT 0, {columns} FROM dither_identity")
    assert not ledger.verify().holds
    with pytest.raises(LedgerCorrupt):
        open_ledger()


def test_a_chain_written_anew_holds_by_itself_and_fails_every_receipt_of_the_old_one(
    open_ledger, question, measured, path
) -> None:
    """What docs/proofs/ledger/hash-chain.md says a chain cannot show, and what does."""
    ledger = open_ledger()
    first = ledger.answer(ledger.reserve(question("0.2")), measured("0.2"))
    later = ledger.answer(ledger.reserve(question("0.1")), measured("0.1"))
    head, rows = GENESIS, []
    for row in ledger.log():
        body = json.loads(row.body)
        if row.kind == "reserved":
            body["facts"]["text"] = "SELECT 1"
        columns = (row.seq, row.kind, row.entry, row.analyst, row.request, row.at, row.day, canonical(body))
        previous, head = head, row_hash(head, columns)
        rows.append((columns[-1], previous, head, row.seq))
    ledger.close()
    with sqlite3.connect(path) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.executemany("UPDATE dither_log SET body = ?, previous = ?, hash = ? WHERE seq = ?", rows)
    connection.close()
    rewritten = open_ledger()
    assert rewritten.verify().holds
    for receipt in (first, later):
        assert not rewritten.verify(receipt).holds
