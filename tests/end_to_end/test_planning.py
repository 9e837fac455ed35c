"""The real executable: a budget is chosen on a terminal, planned, spent as planned, and stated."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

import dither

DATA = Path(dither.__file__).parent / "data" / "randhie.parquet"
CATALOG = """\
[dataset]
name = "health"
[source]
url = "randhie.parquet"
[unit]
name = "TODO"
[budget]
epsilon = "TODO"
[tables.care]
privacy_unit = "person"
max_rows_per_unit = 5
[tables.care.columns]
health = { type = "text", values = ["excellent", "good", "fair", "poor"] }
visits = { type = "integer", bounds = [0, 50] }
"""
QUESTIONS = """\
-- within 60
SELECT health, COUNT(*) AS n FROM care GROUP BY health;
SELECT health, COUNT(*) AS n, SUM(visits) AS visits FROM care GROUP BY health;
"""
ENVIRONMENT = os.environ | {"COLUMNS": "140", "NO_COLOR": "1"}
COMMAND = [sys.executable, "-m", "dither"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(DATA, tmp_path)
    (tmp_path / "dither.toml").write_text(CATALOG, encoding="utf-8")
    (tmp_path / "questions.sql").write_text(QUESTIONS, encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str, status: int = 0) -> str:
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, timeout=60, env=ENVIRONMENT, check=False
    )
    assert done.returncode == status, f"{arguments[:2]}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr + done.stdout
    return done.stdout


def talk(folder: Path, arguments: list[str], answers: list[tuple[str, str]]) -> tuple[int, str]:
    """Run a command on a terminal of its own, answering each prompt as it comes: status, and all that was shown."""
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, stdin=terminal, stdout=terminal, stderr=terminal, env=ENVIRONMENT
    )
    os.close(terminal)
    shown, seen, left = "", 0, list(answers)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        ready, _, _ = select.select([main], [], [], 0.2)
        if ready:
            try:
                shown += os.read(main, 65536).decode(errors="replace")
            except OSError:
                break
        elif process.poll() is not None:
            break
        if left and left[0][0] in shown[seen:]:
            seen = len(shown)
            os.write(main, f"{left.pop(0)[1]}\n".encode())
    status = process.wait(timeout=10)
    os.close(main)
    assert not left, shown
    return status, shown


INTERVIEW = [
    ("Whom do the answers protect", "patient"),
    ("What may a guess of 1 % become", "20 %"),
    ("May groups appear", "y"),
    ("About how many", "6000"),
]


def test_an_interview_ends_in_a_budget_that_is_planned_spent_and_stated(folder: Path) -> None:
    status, shown = talk(folder, ["choose"], [*INTERVIEW, ("Write this", "y")])
    assert status == 0 and "epsilon 0.5: a guess of 1 % can become at most 2.7 %" in shown, shown
    assert 'name = "patient"' in (folder / "dither.toml").read_text(encoding="utf-8")
    run(folder, "check")

    plan = json.loads(run(folder, "budget", "plan", "questions.sql", "--epsilon", "1.2", "--format", "json"))
    assert plan["fits"] and not (folder / "dither.ledger").exists()
    for each in plan["questions"]:
        run(folder, "ask", each["question"], "--epsilon", each["offer"])
    run(folder, "statement", "--format", "html", "--out", "statement.html")
    figures = json.loads(run(folder, "statement", "--format", "json"))["figures"]
    assert Fraction(figures["spent"]["epsilon"]) == Fraction(plan["total"])
    assert figures["unit"] == "patient" and figures["promised"]["delta"] == "0.00000001"
    page = (folder / "statement.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "patient" in page
    assert "隐私单位" in run(folder, "statement", "--lang", "zh")
    run(folder, "choose", "--epsilon", "1", "--listed-groups", "--yes", status=4)


def test_an_answer_of_no_writes_nothing(folder: Path) -> None:
    status, shown = talk(folder, ["choose"], [*INTERVIEW, ("Write this", "n")])
    assert status == 130 and "Stopped" in shown
    assert (folder / "dither.toml").read_text(encoding="utf-8") == CATALOG


def test_a_statement_begins_no_ledger_and_needs_a_finished_catalog(folder: Path) -> None:
    run(folder, "statement", status=2)
    run(folder, "choose", "--unit", "patient", "--epsilon", "1", "--listed-groups", "--yes")
    assert "No question has been asked" in run(folder, "statement")
    assert not (folder / "dither.ledger").exists()
    run(folder, "statement", "--out", "no/such/folder.md", status=2)
    run(folder, "statement", "--format", "pdf", status=2)


def test_a_plan_that_does_not_fit_ends_with_its_own_status(folder: Path) -> None:
    run(folder, "choose", "--unit", "patient", "--epsilon", "1", "--listed-groups", "--yes")
    assert "would be enough" in run(folder, "budget", "plan", "questions.sql", "--epsilon", "0.1", status=3)
    assert "would be enough" in run(
        folder, "budget", "--catalog", "dither.toml", "plan", "questions.sql", "--epsilon", "0.1", status=3
    )
