"""A ledger of a notion that stands apart: what it charges, what it refuses, and that it never mixes."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import subprocess
import sys
import textwrap
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.accounting import MetricLoss, Price, RandomLoss
from dither.accounting.admission import Spent
from dither.errors import BudgetExceeded, InvalidParameter, LedgerConflict, LedgerCorrupt, LedgerError
from dither.ledger import OutsideRelease, Verification
from dither.ledger.apart import ApartLedger
from dither.ledger.apart_rows import ApartEntry

DIGEST = "d" * 64
METRES = "metres in the plane"
ADULTS = "adults, synthetic"


def metric(epsilon: str = "0", name: str = METRES) -> MetricLoss:
    return MetricLoss(Fraction(epsilon), name)


def random(epsilon: str = "0", gamma: str = "0", delta: str = "0", name: str = ADULTS) -> RandomLoss:
    return RandomLoss(Fraction(epsilon), Fraction(delta), Fraction(gamma), name)


@pytest.fixture
def apart(tmp_path: Path) -> str:
    return str(tmp_path / "x.apart")


@pytest.mark.parametrize(("start", "loss"), [(metric(), metric("0.01")), (random(), random("0.5", "0.01"))])
def test_what_is_reserved_is_charged_and_kept(apart: str, start: Any, loss: Any) -> None:
    ledger = ApartLedger.open(apart, start)
    entry = ledger.reserve(loss, what="points of one day")
    assert entry.state == "reserved" and not entry.repeated
    done = ledger.answered(entry, DIGEST, released="[1, 2]")
    assert (done.id, done.state, done.digest, done.released) == (entry.id, "answered", DIGEST, "[1, 2]")
    ledger.reserve(loss, what="points of another day")
    ledger.close()
    again = ApartLedger.open(apart, start)
    assert again.total() == loss * 2 and again.left() is None
    assert [(one.what, one.state) for one in again.log()] == [
        ("points of one day", "answered"),
        ("points of another day", "reserved"),
    ]
    assert again.verify().holds and again.verify(entry.hash).holds
    assert not again.verify("0" * 64).holds


def test_a_ledger_says_its_notion_in_words() -> None:
    assert ApartLedger.open("", metric()).notion == "metric privacy in metres in the plane"
    assert ApartLedger.open("", random()).notion == "random DP over adults, synthetic"


def test_an_allowance_refuses_and_a_refusal_charges_nothing(apart: str) -> None:
    ledger = ApartLedger.open(apart, random(), allowance=random("1", "0.02", "0"))
    ledger.reserve(random("0.5", "0.01"), what="a mean")
    assert ledger.left() == random("0.5", "0.01")
    for too_much in (random("0.6", "0.01"), random("0.1", "0.011"), random("0.1", "0.001", delta="1e-9")):
        with pytest.raises(BudgetExceeded, match="random DP over adults") as refusal:
            ledger.reserve(too_much, what="more")
        assert refusal.value.code == "M-100" and refusal.value.remaining == "epsilon 0.5, gamma 0.01"
    assert ledger.total() == random("0.5", "0.01") and len(ledger.log()) == 1
    ledger.reserve(random("0.5", "0.01"), what="the rest")
    assert ledger.left() == random()


def test_a_lower_allowance_counts_and_a_higher_one_needs_the_owner(apart: str) -> None:
    ApartLedger.open(apart, metric(), allowance=metric("1")).close()
    assert ApartLedger.open(apart, metric()).allowance() == metric("1")
    assert ApartLedger.open(apart, metric(), allowance=metric("5")).allowance() == metric("1")
    assert ApartLedger.open(apart, metric(), allowance=metric("0.5")).allowance() == metric("0.5")
    ledger = ApartLedger.open(apart, metric())
    ledger.raise_allowance(metric("2"), reason="a second year")
    assert ApartLedger.open(apart, metric(), allowance=metric("5")).allowance() == metric("2")
    ledger.reserve(metric("1.5"), what="points")
    assert ledger.left() == metric("0.5") and ledger.verify().holds


def test_a_ledger_in_memory_can_be_held_to_less() -> None:
    ledger = ApartLedger.open("", metric(), allowance=metric("2"))
    ledger.restrict(metric("5"))
    assert ledger.allowance() == metric("2")
    ledger.restrict(metric("0.5"))
    ledger.restrict(metric("1"))
    assert ledger.allowance() == metric("0.5")
    with pytest.raises(BudgetExceeded):
        ledger.reserve(metric("0.6"), what="points")
    with pytest.raises(InvalidParameter):
        ledger.restrict(metric("1", "years"))


def test_a_key_seen_before_finds_its_entry_and_charges_nothing(apart: str) -> None:
    ledger = ApartLedger.open(apart, metric())
    first = ledger.reserve(metric("0.1"), what="points", key="monday")
    again = ApartLedger.open(apart, metric()).reserve(metric("0.1"), what="points", key="monday")
    assert again.id == first.id and again.repeated and again.state == "reserved"
    ledger.answered(first, DIGEST, released="7")
    assert ledger.reserve(metric("0.1"), what="points", key="monday").released == "7"
    assert ledger.total() == metric("0.1")
    for loss, what in ((metric("0.1"), "other points"), (metric("0.2"), "points")):
        with pytest.raises(InvalidParameter) as refusal:
            ledger.reserve(loss, what=what, key="monday")
        assert refusal.value.code == "I-180"
    assert ledger.reserve(metric("0.1"), what="points", key="tuesday").id != first.id
    assert ledger.total() == metric("0.2")


def test_a_repeated_key_is_admitted_although_nothing_is_left(apart: str) -> None:
    ledger = ApartLedger.open(apart, metric(), allowance=metric("0.1"))
    first = ledger.reserve(metric("0.1"), what="points", key="k")
    assert ledger.reserve(metric("0.1"), what="points", key="k").id == first.id


def test_an_entry_is_answered_once(apart: str) -> None:
    ledger = ApartLedger.open(apart, metric())
    entry = ledger.reserve(metric("0.1"), what="points")
    ledger.answered(entry, DIGEST)
    with pytest.raises(LedgerConflict) as twice:
        ledger.answered(entry, DIGEST)
    with pytest.raises(LedgerConflict) as unknown:
        ledger.answered(ApartEntry("f" * 16, "x", metric("1"), "reserved", "", "0" * 64), DIGEST)
    assert (twice.value.code, unknown.value.code) == ("L-250", "L-240")


def test_losses_that_no_number_of_digits_holds_are_rounded_up(apart: str) -> None:
    ledger = ApartLedger.open(apart, metric())
    odd = MetricLoss(Fraction(1, 3**50), METRES)
    for _ in range(3):
        ledger.reserve(odd, what="points")
    assert 3 * odd.epsilon <= ledger.total().epsilon <= 3 * odd.epsilon + Fraction(3, 10**18)
    assert ledger.total().epsilon.denominator <= 10**18 and ledger.verify().holds


@pytest.mark.parametrize(
    ("began", "comes", "says"),
    [
        (metric(), metric(name="years of age"), "of metric privacy in metres in the plane, not of .* years of age"),
        (metric(), random(), "of metric privacy in metres in the plane, not of random DP"),
        (random(), random(name="children"), "random DP over adults, synthetic, not of random DP over children"),
    ],
)
def test_a_file_of_another_notion_is_refused(apart: str, began: Any, comes: Any, says: str) -> None:
    ApartLedger.open(apart, began).close()
    with pytest.raises(LedgerConflict, match=says) as refusal:
        ApartLedger.open(apart, comes)
    assert refusal.value.code == "L-500"


def test_neither_kind_of_ledger_opens_the_other(apart: str, open_ledger, path) -> None:
    ApartLedger.open(apart, metric()).close()
    with pytest.raises(LedgerConflict, match="metric privacy or random DP, another notion") as refusal:
        open_ledger(apart)
    assert refusal.value.code == "L-500"
    open_ledger(path)
    with pytest.raises(LedgerConflict, match="a ledger of differential privacy") as refusal:
        ApartLedger.open(path, metric())
    assert refusal.value.code == "L-500"


def test_no_loss_of_a_notion_apart_is_ever_booked_on_a_ledger_of_differential_privacy(ledger, question) -> None:
    for loss in (metric("0.1"), random("0.1", "0.01")):
        with pytest.raises(InvalidParameter, match="differential privacy"):
            ledger.reserve(question(price=loss))
        with pytest.raises(InvalidParameter, match="differential privacy"):
            ledger.import_releases([OutsideRelease("r", "me", "2026-01-01", "because", loss)])
        with pytest.raises(InvalidParameter, match="differential privacy"):
            Spent().plus(loss)
    assert ledger.spent() == Spent() and not ledger.entries()


@pytest.mark.parametrize("start", [metric(), random()])
def test_no_price_of_differential_privacy_is_ever_booked_here(start: Any) -> None:
    ledger = ApartLedger.open("", start)
    others = [Price(Fraction(1, 10)), metric("0.1", "years"), random("0.1", name="others"), Fraction(1), None]
    others.append(random("0.1") if isinstance(start, MetricLoss) else metric("0.1"))
    for loss in others:
        with pytest.raises(InvalidParameter, match=re.escape(f"a loss of {ledger.notion}")):
            ledger.reserve(loss, what="x")  # type: ignore[arg-type]
    assert ledger.total() == start and ledger.log() == ()


def test_a_type_checker_refuses_to_mix_notions(tmp_path: Path) -> None:
    program = """
        from fractions import Fraction
        from dither.accounting import MetricLoss, Price, RandomLoss
        from dither.ledger import ReservationRequest
        from dither.ledger.apart import ApartLedger

        ledger = ApartLedger.open("", RandomLoss(Fraction(0), Fraction(0), Fraction(0), "adults"))
        ledger.reserve(RandomLoss(Fraction(1), Fraction(0), Fraction(0), "adults"), what="fine")
        ledger.reserve(Price(Fraction(1)), what="line 9")
        ledger.reserve(MetricLoss(Fraction(1), "metres"), what="line 10")
        ApartLedger.open("", Price(Fraction(0)))
        ReservationRequest("a", "q", "f", RandomLoss(Fraction(1), Fraction(0), Fraction(0), "adults"), (), (), "1")
        ReservationRequest("a", "q", "f", ledger.total(), (), (), "1")
    """
    file = tmp_path / "mixing.py"
    file.write_text(textwrap.dedent(program))
    root = Path(__file__).parents[3]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(file)],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
        env={**os.environ, "MYPYPATH": str(root / "src")},
    )
    found = {int(line) for line in re.findall(r"mixing\.py:(\d+): error", checked.stdout)}
    assert found == {9, 10, 11, 12, 13}, checked.stdout + checked.stderr


def test_wrong_arguments_are_refused() -> None:
    for start in (metric("0.1"), random(gamma="0.1"), Price(Fraction(0)), "metres", None):
        with pytest.raises(InvalidParameter, match="start"):
            ApartLedger.open("", start)  # type: ignore[type-var]
    with pytest.raises(InvalidParameter, match="allowance"):
        ApartLedger.open("", metric(), allowance=metric("1", "years"))
    with pytest.raises(InvalidParameter, match="path"):
        ApartLedger.open("postgresql://localhost/x", metric())
    ledger = ApartLedger.open("", metric())
    for what in ("", "a\nb", "x" * 2001, None):
        with pytest.raises(InvalidParameter, match="what"):
            ledger.reserve(metric("1"), what=what)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="key"):
        ledger.reserve(metric("1"), what="x", key="k" * 201)
    entry = ledger.reserve(metric("1"), what="x")
    for digest in ("", "g" * 64, "D" * 64, None):
        with pytest.raises(InvalidParameter, match="digest"):
            ledger.answered(entry, digest)  # type: ignore[arg-type]


def test_looking_finds_out_the_notion_and_makes_no_file(apart: str, tmp_path: Path) -> None:
    ledger = ApartLedger.open(apart, random(), dataset="hospital")
    ledger.reserve(random("0.5", "0.01"), what="a mean")
    found = ApartLedger.look(apart)
    assert found.notion == ledger.notion and found.dataset == "hospital" and found.total() == random("0.5", "0.01")
    with pytest.raises(LedgerError) as refusal:
        ApartLedger.look(str(tmp_path / "nowhere"))
    assert refusal.value.code == "L-170" and not (tmp_path / "nowhere").exists()


def test_a_ledger_of_another_data_set_is_refused(apart: str) -> None:
    ApartLedger.open(apart, metric(), dataset="hospital").close()
    ApartLedger.open(apart, metric()).close()
    with pytest.raises(LedgerConflict) as refusal:
        ApartLedger.open(apart, metric(), dataset="school")
    assert refusal.value.code == "L-220"


def test_its_files_are_readable_by_their_owner_alone(apart: str) -> None:
    previous = os.umask(0)
    try:
        ledger = ApartLedger.open(apart, metric())
        ledger.reserve(metric("1"), what="x")
    finally:
        os.umask(previous)
    for end in ("", "-wal", "-shm", ".lock"):
        assert stat.S_IMODE(os.stat(apart + end).st_mode) == 0o600, end


def test_the_file_itself_refuses_changes_and_verify_sees_them(apart: str) -> None:
    ledger = ApartLedger.open(apart, metric())
    ledger.answered(ledger.reserve(metric("0.5"), what="points"), DIGEST)
    kept = ledger.reserve(metric("0.25"), what="points")
    ledger.close()
    for statement in ("DELETE FROM dither_apart_log", "UPDATE dither_apart_log SET at = ''"):
        with sqlite3.connect(apart) as other, pytest.raises(sqlite3.IntegrityError, match="append-only"):
            other.execute(statement)
        other.close()
    changes = {
        "UPDATE dither_apart_log SET body = replace(body, '1/2', '1/4') WHERE seq = 2": 2,
        "UPDATE dither_apart_log SET body = replace(body, 'dddd', 'eeee') WHERE seq = 3": 3,
        "DELETE FROM dither_apart_log WHERE seq = 2": 3,
        "UPDATE dither_apart_log SET body = 'x' WHERE seq = 4": 4,
    }
    whole = Path(apart).read_bytes()
    for change, row in changes.items():
        put_back(apart, whole)
        edit(apart, change)
        found = checked(apart)
        assert not found.holds and found.first_broken == row, change
    # A ledger cut short is a chain like any other: only a hash noted outside tells.
    put_back(apart, whole)
    edit(apart, "DELETE FROM dither_apart_log WHERE seq = 4")
    assert checked(apart).holds and not checked(apart, kept.hash).holds


def test_a_chain_hashed_anew_with_a_wrong_total_does_not_hold(apart: str) -> None:
    from dither.ledger.apart_rows import ApartRow, replayed
    from dither.ledger.chain import row_hash

    ledger = ApartLedger.open(apart, metric())
    ledger.reserve(metric("0.5"), what="points")
    with sqlite3.connect(apart) as other:
        stored = [ApartRow(*row) for row in other.execute("SELECT * FROM dither_apart_log ORDER BY seq")]
    other.close()
    assert replayed(stored, metric(), None).holds
    body = stored[1].body.replace('"total":{"epsilon":"1/2"}', '"total":{"epsilon":"1/4"}')
    assert body != stored[1].body
    columns = (2, "reserved", stored[1].entry, None, stored[1].at, body)
    forged = ApartRow(*columns, previous=stored[0].hash, hash=row_hash(stored[0].hash, columns))
    assert "totals" in str(replayed([stored[0], forged], metric(), None).problem)


def test_a_ledger_without_a_readable_first_row_is_said_to_be_corrupt(apart: str) -> None:
    ApartLedger.open(apart, metric()).close()
    edit(apart, "UPDATE dither_apart_log SET body = '{}'")
    with pytest.raises(LedgerCorrupt):
        ApartLedger.open(apart, metric())
    edit(apart, "DELETE FROM dither_apart_log")
    with pytest.raises(LedgerCorrupt):
        ApartLedger.open(apart, metric())


def checked(path: str, head: str | None = None) -> Verification:
    ledger = ApartLedger.look(path)
    try:
        return ledger.verify(head)
    finally:
        ledger.close()


def put_back(path: str, whole: bytes) -> None:
    for end in ("-wal", "-shm"):
        Path(path + end).unlink(missing_ok=True)
    Path(path).write_bytes(whole)


def edit(path: str, statement: str) -> None:
    """Change a ledger the way somebody with the file could, who removes the triggers first."""
    with sqlite3.connect(path) as other:
        names = [name for (name,) in other.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        for name in names:
            other.execute(f"DROP TRIGGER {name}")
        other.execute(statement)
    other.close()
