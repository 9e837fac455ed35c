"""`dither series` from the command line: a series' whole life, in tables and in JSON, and its refusals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from dither.cli import main

CATALOG = """\
[dataset]
name = "clinic"
ledger = "clinic.ledger"
[source]
url = "clinic.duckdb"
[unit]
name = "patient"
[budget]
epsilon = 3
[tables.visits]
privacy_unit = "patient"
max_rows_per_unit = 5
[tables.visits.columns]
day = { type = "date" }
"""
QUESTION = "SELECT day, COUNT(*) AS visits FROM visits GROUP BY day"
OPEN = ["series", "open", "all", QUESTION, "--first", "2026-01-01", "--days", "3", "--epsilon", "1"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    connection = duckdb.connect(str(tmp_path / "clinic.duckdb"))
    connection.execute(
        "CREATE TABLE visits AS SELECT i % 700 AS patient, DATE '2026-01-01' + CAST(i % 4 AS INTEGER) AS day "
        "FROM range(2000) AS x(i)"
    )
    connection.close()
    (tmp_path / "dither.toml").write_text(CATALOG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    capsys.readouterr()
    assert main(arguments) == status
    found = capsys.readouterr()
    return found.out if status == 0 else found.err


def test_a_series_lives_through_its_commands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened = run(capsys, *OPEN)
    assert "2026-01-01 to 2026-01-03; no day released yet" in opened
    assert "epsilon 2" in opened and "added only" in opened
    advanced = run(capsys, "series", "advance", "all", "--through", "2026-01-02")
    assert "2026-01-02" in advanced and "2026-01-03" not in advanced and "±" in advanced
    rows = json.loads(run(capsys, "series", "advance", "all", "--format", "json"))["rows"]
    assert [row[0] for row in rows] == ["2026-01-03"]
    assert abs(rows[0][1] - 1500) < 10 * rows[0][2]
    shown = json.loads(run(capsys, "series", "show", "all", "-f", "json"))["rows"]
    assert len(shown) == 3 and shown[-1] == rows[0]
    a_sum = json.loads(run(capsys, "series", "show", "all", "--from", "2026-01-02", "--to", "2026-01-03", "-f", "json"))
    assert a_sum["value"] == shown[2][1] - shown[0][1]
    assert "visits of 2026-01-02 to 2026-01-03: " in run(
        capsys, "series", "show", "all", "--from", "2026-01-02", "--to", "2026-01-03"
    )
    extended = json.loads(run(capsys, "series", "extend", "all", "-f", "json"))
    assert (extended["last"], extended["price"]["epsilon"]) == ("2026-01-09", "2")
    about = json.loads(run(capsys, "series", "show", "all", "--about", "-f", "json"))
    assert about == extended
    assert "2026-01-09" in run(capsys, "series", "advance", "all", "--through", "2026-01-09")
    assert "series" not in run(capsys, "budget", "log").split("\n")[0]
    run(capsys, "budget", "verify")


def test_a_series_can_be_looked_at_before_it_is_paid_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = json.loads(run(capsys, *OPEN, "--dry-run", "-f", "json"))
    assert not (folder / "clinic.ledger").exists()
    assert "Price: epsilon 1" in run(capsys, *OPEN, "--dry-run")
    assert before | {"opened": True} == json.loads(run(capsys, *OPEN, "-f", "json"))


def test_nothing_new_is_said_and_is_no_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, *OPEN)
    run(capsys, "series", "advance", "all")
    assert run(capsys, "series", "advance", "all") == ""
    assert json.loads(run(capsys, "series", "advance", "all", "-f", "json"))["rows"] == []


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["series", "show", "none"], 2, "no series 'none'"),
        (["series", "advance", "all", "--through", "2026-01-04"], 2, "paid for"),
        (["series", "show", "all", "--from", "2026-01-01"], 2, "--to"),
        (["series", "show", "all", "--from", "2026-01-01", "--to", "2026-01-02"], 2, "none yet"),
        (["series", "extend", "all"], 2, "not yet released"),
        ([*OPEN[:3], QUESTION.replace("COUNT(*)", "COUNT(day)"), *OPEN[4:]], 4, "L-400"),
        ([*OPEN[:2], "b", QUESTION.replace("COUNT(*)", "MAX(day)"), *OPEN[4:]], 2, "A-130] at 1:13"),
        ([*OPEN[:2], "b", *OPEN[3:-1], "9"], 3, "M-100"),
        (OPEN[:-2], 2, "M-101"),
    ],
)
def test_what_cannot_be_done_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, says: str
) -> None:
    run(capsys, *OPEN)
    assert says in run(capsys, *arguments, status=status)


def test_looking_for_a_series_begins_no_ledger(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "series", "show", "all", status=2)
    assert not (folder / "clinic.ledger").exists()


def test_a_series_is_taken_up_from_a_moved_folder(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, *OPEN)
    first = json.loads(run(capsys, "series", "advance", "all", "--through", "2026-01-01", "-f", "json"))["rows"]
    shutil.move(str(folder), str(folder) + "-moved")
    monkeypatch.chdir(str(folder) + "-moved")
    run(capsys, "series", "advance", "all")
    assert json.loads(run(capsys, "series", "show", "all", "-f", "json"))["rows"][:1] == first
