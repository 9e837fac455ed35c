"""A disk that is full, read-only or damaged while questions are asked: what is said, and what is charged."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import stat
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from dither.errors import DitherError, LedgerCorrupt, LedgerError
from dither.ledger.ledger import Ledger
from support.forked import forked


def limited(size_bytes: int) -> None:
    """No file of this process may grow beyond this: writing further fails, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def ask_until_refused(ledger: Ledger, question: Callable, measured: Callable, writer: int) -> None:
    """One question after another; says each step that returned, and the code of the first that failed."""
    try:
        for number in range(400):
            reservation = ledger.reserve(question("1/1000", text="x" * 500))
            os.write(writer, f"R {reservation.entry_id}\n".encode())
            ledger.answer(reservation, measured("1/1000", payload=b"%d" % number + b"p" * 700))
            os.write(writer, f"A {reservation.entry_id}\n".encode())
    except DitherError as error:
        os.write(writer, f"E {type(error).__name__} {error.code}\n".encode())


@pytest.mark.parametrize("size", [90_000, 131_072, 200_000, 500_000])
@pytest.mark.parametrize("reopened", [True, False], ids=["opened before", "opened under the limit"])
def test_a_disk_that_gets_full_is_said_and_every_answer_is_charged(
    open_ledger, question, measured, path, size, reopened
) -> None:
    open_ledger().close()

    def live(writer: int) -> None:
        if reopened:
            ledger = open_ledger(wait_s=2)
            limited(size)
        else:
            limited(size)
            ledger = open_ledger(wait_s=2)
        ask_until_refused(ledger, question, measured, writer)

    lines, killed = forked(live)
    assert not killed and lines[-1] in ("E LedgerError L-120", "E LedgerError L-130")
    # With room again, everything acknowledged is there, and at most the question under way beyond it.
    ledger = open_ledger()
    reserved = {line[2:] for line in lines if line[0] == "R"}
    answered = {line[2:] for line in lines if line[0] == "A"}
    entries = {entry.id: entry.state for entry in ledger.entries()}
    assert answered == {entry for entry, state in entries.items() if state == "answered"}
    assert reserved <= entries.keys() and len(entries) <= len(reserved) + 1
    assert ledger.spent().epsilon == len(entries) * Fraction(1, 1000)
    assert {vector.entry_id for vector in ledger.released("v" * 64, "1")} == answered
    assert ledger.verify().holds
    ledger.reserve(question())


def test_a_ledger_that_cannot_begin_for_want_of_room_leaves_none_half_begun(open_ledger, question, path) -> None:
    for size in (0, 100, 4096, 8192, 20_000, 40_000):

        def live(writer: int, size: int = size) -> None:
            limited(size)
            try:
                open_ledger(wait_s=1)
            except LedgerError as error:
                os.write(writer, error.code.encode())

        lines, _ = forked(live)
        assert lines in ([], ["L-120"], ["L-130"]), lines
    ledger = open_ledger()
    ledger.reserve(question())
    assert ledger.verify().holds


def test_a_question_on_a_full_disk_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way: the engine is not asked when the charge could not be written."""
    import pandas as pd

    import dither

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    place = tmp_path / "x.ledger"
    frame = pd.DataFrame({"u": range(50)})

    def live(writer: int) -> None:
        db = dither.open(frame, privacy_unit="u", budget=100, max_rows_per_unit=1, ledger=place)
        measure = db.engine.measure

        def told(measures: object) -> object:
            os.write(writer, b"read\n")
            return measure(measures)  # type: ignore[arg-type]

        db.engine.measure = told  # type: ignore[method-assign, assignment]
        limited(150_000)
        try:
            for number in range(300):
                db.ask(f"SELECT COUNT(*) FROM data WHERE u < {number}", epsilon="0.1")
                os.write(writer, b"answered\n")
        except LedgerError as error:
            os.write(writer, f"E {error.code}\n".encode())

    lines, _ = forked(live)
    assert lines[-1] in ("E L-120", "E L-130")
    with dither.open(frame, privacy_unit="u", budget=100, max_rows_per_unit=1, ledger=place) as db:
        states = [entry.state for entry in db.ledger.entries()]
        assert lines.count("answered") == states.count("answered")
        assert lines.count("read") <= len(states) and db.ledger.verify().holds
        assert db.ledger.spent().epsilon == Fraction(len(states), 10)


def test_a_file_that_becomes_read_only_is_said_and_nothing_is_charged(open_ledger, question, path) -> None:
    open_ledger().reserve(question())

    def live(writer: int) -> None:
        for end in ("", "-wal", "-shm"):
            if os.path.exists(path + end):
                os.chmod(path + end, stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        if os.geteuid() == 0:
            # Root may write anywhere: be nobody, who may read here.
            folder = Path(path).parent
            for above in (folder, folder.parent, folder.parent.parent):
                os.chmod(above, 0o755)
            os.chmod(path + ".lock", 0o666)
            os.setuid(65534)
        try:
            open_ledger(wait_s=1).reserve(question())
        except LedgerError as error:
            os.write(writer, error.code.encode())

    lines, _ = forked(live)
    assert lines in (["L-110"], ["L-140"])
    for end in ("", "-wal", "-shm"):
        if os.path.exists(path + end):
            os.chmod(path + end, 0o600)
    assert len(open_ledger().entries()) == 1


@pytest.mark.parametrize("where", ["first", "middle", "last"])
def test_a_damaged_page_is_said_by_whatever_meets_it_and_by_verify(
    open_ledger, question, measured, path, where
) -> None:
    ledger = open_ledger()
    for number in range(40):
        ledger.answer(ledger.reserve(question("1/100")), measured("1/100", payload=b"%d" % number))
    ledger.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    pages = os.path.getsize(path) // page
    number = {"first": 1, "middle": pages // 2, "last": pages - 1}[where]
    with open(path, "r+b") as file:
        file.seek(number * page)
        file.write(os.urandom(page))
    acknowledged = 0
    try:
        damaged = open_ledger()
        assert not damaged.verify().holds
        for _ in range(3):
            damaged.answer(damaged.reserve(question("1/100")), measured("1/100"))
            acknowledged += 1
    except LedgerError as error:
        assert isinstance(error, LedgerCorrupt) and error.code in ("L-300", "L-310")
        assert "Restore a backup" in str(error) or "verify" in str(error)
    with sqlite3.connect(path) as connection:
        try:
            charged = connection.execute("SELECT count(*) FROM dither_log WHERE kind = 'reserved'").fetchone()[0]
        except sqlite3.DatabaseError:
            charged = 40 + acknowledged
    connection.close()
    assert charged >= acknowledged


def test_a_clock_set_back_opens_no_day_again_and_breaks_no_chain(open_ledger, question, clock) -> None:
    import datetime as dt

    from dither.catalog.model import Analyst
    from dither.errors import BudgetExceeded

    analysts = {"ada": Analyst("ada", daily_epsilon=Fraction(1, 4))}
    ledger = open_ledger(analysts=analysts)
    ledger.reserve(question("1/4"))
    clock.now += dt.timedelta(days=1)
    ledger.reserve(question("1/4"))
    for back in (dt.timedelta(days=1), dt.timedelta(days=400), dt.timedelta(hours=13)):
        now, clock.now = clock.now, clock.now - back
        with pytest.raises(BudgetExceeded):
            ledger.reserve(question("1/4"))
        assert not ledger.record_refusal("mallory", "x", "M-100") and ledger.record_refusal("ada", "x", "M-100")
        clock.now = now
    assert ledger.verify().holds and ledger.spent().epsilon == Fraction(1, 2)
