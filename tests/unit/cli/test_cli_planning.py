"""`dither budget plan` and `dither choose` in this process: what they print, leave alone and refuse."""

from __future__ import annotations

import io
import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from dither.catalog.load import load
from dither.cli import main
from support.health import DATA, health_catalog

CATALOG = health_catalog(
    budget="epsilon = 2   # agreed in May\ndelta = 1e-9",
    columns='health = { type = "text", values = ["excellent", "good", "fair", "poor"] }\n'
    'sex = { type = "text" }\nvisits = { type = "integer", bounds = [0, 50] }',
)
QUESTIONS = """\
-- within 50
SELECT health, COUNT(*) AS n FROM care GROUP BY health;
SELECT health, COUNT(*) AS n, SUM(visits) AS visits FROM care GROUP BY health;
"""

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(DATA, tmp_path)
    (tmp_path / "dither.toml").write_text(CATALOG, encoding="utf-8")
    (tmp_path / "questions.sql").write_text(QUESTIONS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


def test_a_plan_is_printed_and_can_be_asked(folder: Path, capsys: Captured) -> None:
    assert main(["budget", "plan", "questions.sql", "--epsilon", "1", "--format", "json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["fits"] and Fraction(plan["total"]) <= 1
    assert sum(Fraction(each["price"]["epsilon"]) for each in plan["questions"]) == Fraction(plan["total"])
    # No ledger is begun by planning: it would put the budget on record.
    assert not (folder / "dither.ledger").exists()
    for each in plan["questions"]:
        assert main(["ask", each["question"], "-e", each["offer"], "--format", "json"]) == 0
        receipt = json.loads(capsys.readouterr().out)["receipt"]
        assert Fraction(receipt["epsilon"]) == Fraction(each["price"]["epsilon"])

    assert main(["budget", "plan", "questions.sql", "--epsilon", "1"]) == 0
    shown = capsys.readouterr().out
    assert "answers kept in the ledger" in shown and "free" in shown


def test_a_plan_that_does_not_fit_says_what_would(folder: Path, capsys: Captured) -> None:
    assert main(["budget", "plan", "questions.sql", "-e", "0.2"]) == 3
    shown = capsys.readouterr().out
    assert "would be enough" in shown and "instead of 50" in shown


def test_wishes_come_from_a_file_and_questions_from_standard_input(
    folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "wishes.txt").write_text("1: within 30\n2: weight=2\n", encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO(QUESTIONS.replace("-- within 50\n", "")))
    assert main(["budget", "plan", "-", "-e", "2", "--within", "wishes.txt", "-f", "json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert {each["number"]: each["columns"][0]["wanted"] for each in plan["questions"]} == {1: 30.0, 2: None}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["questions.sql"], "--epsilon 2"),
        (["questions.sql", "-e", "1", "--rho", "1"], "both"),
        (["questions.sql", "-e", "x"], "finite number"),
        (["questions.sql", "-e", "1", "--delta", "2"], "delta"),
        (["missing.sql", "-e", "1"], "No such file"),
        (["randhie.parquet", "-e", "1"], "UTF-8"),
        (["dither.toml", "-e", "1"], "Question 1"),
        (["questions.sql", "-e", "1", "--within", "questions.sql"], "of the wishes"),
        (["questions.sql", "-e", "1", "-c", "none.toml"], "dither init"),
    ],
)
def test_a_plan_that_cannot_be_made_is_one_error(
    folder: Path, capsys: Captured, arguments: list[str], says: str
) -> None:
    assert main(["budget", "plan", *arguments]) == 2
    shown = capsys.readouterr()
    assert says in shown.err and shown.out == "" and shown.err.count("[") < 4
    assert not (folder / "dither.ledger").exists()


def test_a_choice_is_written_with_its_reasons_and_nothing_else_changes(folder: Path, capsys: Captured) -> None:
    arguments = ["--at-most", "50 %", "--questions", "20", "--within", "400", "--people", "20000", "--yes"]
    assert main(["choose", *arguments]) == 0
    shown = capsys.readouterr().out
    assert "+epsilon = 0.748" in shown and "-delta" not in shown
    written = (folder / "dither.toml").read_text(encoding="utf-8")
    assert "# before: epsilon = 2   # agreed in May" in written and "# why: 20 counts with ± 400" in written
    kept = [line for line in written.splitlines() if not line.startswith(("#", "epsilon", "delta"))]
    assert kept == [line for line in CATALOG.splitlines() if not line.startswith(("epsilon", "delta"))]
    budget = load("dither.toml").budget
    assert (budget.epsilon, budget.delta) == (Fraction(748, 1000), Fraction(1, 10**9))
    assert main(["choose", *arguments]) == 0
    assert "says so already" in capsys.readouterr().out


def test_a_draft_gets_its_unit_and_budget(folder: Path, capsys: Captured) -> None:
    assert main(["init", "randhie.parquet", "-o", "draft.toml"]) == 0
    assert main(["choose", "-c", "draft.toml", "--unit", "patient", "-e", "1", "--listed-groups", "-y"]) == 0
    drafted = (folder / "draft.toml").read_text(encoding="utf-8")
    assert 'name = "patient"' in drafted and "\nepsilon = 1\n" in drafted and 'privacy_unit = "TODO"' in drafted
    assert "at most 2.7 %" in capsys.readouterr().out


def test_a_budget_on_record_is_raised_by_a_grant_only(folder: Path, capsys: Captured) -> None:
    assert main(["ask", "SELECT COUNT(*) FROM care", "-e", "1"]) == 0
    assert main(["choose", "-e", "1", "--listed-groups", "--yes"]) == 4
    assert "dither budget grant" in capsys.readouterr().err
    assert (folder / "dither.toml").read_text(encoding="utf-8") == CATALOG


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        ([], 2, "--at-most"),
        (["-e", "1"], 2, "--listed-groups"),
        (["-e", "1", "--listed-groups"], 2, "--yes"),
        (["--at-most", "2.7", "--listed-groups", "-y"], 2, "2.7 %"),
        (["--at-most", "0.5 %", "--listed-groups", "-y"], 2, "guess"),
        (["--questions", "5", "--listed-groups", "-y"], 2, "--within"),
        (["--within", "5", "--listed-groups", "-y"], 2, "--questions"),
        (["-e", "-1", "--listed-groups", "-y"], 2, "above 0"),
        (["-e", "1/3", "--listed-groups", "-y"], 2, "decimal"),
        (["-e", "1", "--delta", "1.5", "-y"], 2, "delta"),
        (["-e", "1", "--unit", "", "--listed-groups", "-y"], 2, "--unit"),
        (["-e", "9", "--at-most", "5 %", "--listed-groups", "-y"], 3, "Both cannot be had"),
        (["-e", "1", "--listed-groups", "-y", "-c", "none.toml"], 2, "dither init"),
    ],
)
def test_a_choice_that_cannot_be_made_is_one_error_and_changes_nothing(
    folder: Path, capsys: Captured, arguments: list[str], status: int, says: str
) -> None:
    assert main(["choose", *arguments]) == status
    assert says in capsys.readouterr().err
    assert (folder / "dither.toml").read_text(encoding="utf-8") == CATALOG


def test_a_budget_that_contradicts_the_allowances_is_not_written(folder: Path, capsys: Captured) -> None:
    text = CATALOG.replace("epsilon = 2   # agreed in May\ndelta = 1e-9\n", "rho = 0.5\n[analysts.a]\nrho = 0.1\n")
    (folder / "dither.toml").write_text(text, encoding="utf-8")
    assert main(["choose", "-e", "1", "--listed-groups", "-y"]) == 2
    assert "analysts.a" in capsys.readouterr().err
    assert (folder / "dither.toml").read_text(encoding="utf-8") == text
