"""A class: fair coins, folders that work as handed out, grades beside the bound, no truth where it is not due."""

from __future__ import annotations

import json
import stat
from fractions import Fraction
from pathlib import Path

import pytest

import dither
from dither.cli import main
from dither.errors import InvalidParameter
from dither.lab import bounds
from dither.lab.classroom import CHANDLER, GUESS, KEY, grade, new_class, overall

TWO = Fraction(2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    new_class(tmp_path / "class", students=4, epsilon=TWO, seed=3)
    return tmp_path / "class"


def key_of(folder: Path) -> dict[str, bool]:
    found: dict[str, bool] = json.loads((folder / KEY).read_text())["ill"]
    return found


def test_the_data_agree_with_the_key(folder: Path) -> None:
    import duckdb

    for name, ill in key_of(folder).items():
        rows = duckdb.sql(f"SELECT number FROM '{folder / name / 'data' / 'ill.parquet'}'").fetchall()
        assert ((CHANDLER,) in rows) == ill
        people = (folder / name / "people.csv").read_text().splitlines()
        assert people[CHANDLER].startswith(f"{CHANDLER},Chandler,")


def test_chandler_is_ill_by_a_fair_coin(tmp_path: Path) -> None:
    # n = 100, seed fixed: 35 to 65 are three standard errors; a coin that says yes always or never is outside.
    new_class(tmp_path / "c", students=100, epsilon=TWO, seed=1)
    assert 35 <= sum(key_of(tmp_path / "c").values()) <= 65


def test_the_same_seed_is_the_same_class_and_another_is_not(tmp_path: Path) -> None:
    keys = []
    for number, seed in enumerate((1, 1, 2)):
        new_class(tmp_path / str(number), students=12, epsilon=TWO, seed=seed)
        keys.append(key_of(tmp_path / str(number)))
    assert keys[0] == keys[1] != keys[2]


def test_nothing_a_student_reads_first_tells_the_secret(folder: Path) -> None:
    assert stat.S_IMODE((folder / KEY).stat().st_mode) == 0o600
    names = sorted(key_of(folder))
    ill, well = (next(n for n in names if key_of(folder)[n] is wanted) for wanted in (True, False))
    assert (folder / ill / "README.md").read_text() == (folder / well / "README.md").read_text()
    assert (folder / ill / "dither.toml").read_text().replace(ill, well) == (folder / well / "dither.toml").read_text()


def test_a_student_asks_until_the_budget_is_spent_and_is_graded(folder: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    name = "student-01"
    with dither.open(folder / name / "dither.toml") as session:
        answer = session.ask(f"SELECT COUNT(*) FROM ill WHERE number = {CHANDLER}", epsilon=2)
        with pytest.raises(dither.BudgetExceeded):
            session.ask("SELECT COUNT(*) FROM ill", epsilon=1)
    (folder / name / GUESS).write_text("Yes.\n" if float(answer.scalar()) > 0.5 else "no")
    (folder / "student-02" / GUESS).write_text("是" if key_of(folder)["student-02"] else "否", encoding="utf-8")
    (folder / "student-03" / GUESS).write_text("perhaps")
    first, second, third, fourth = grade(folder)
    assert (first.spent, first.bound, first.problem) == (TWO, bounds.accuracy(2), "")
    assert first.right is ((first.guess == "yes") == key_of(folder)[name])
    assert (second.right, second.spent, second.bound) == (True, Fraction(0), pytest.approx(0.5))
    assert (third.right, third.guess, fourth.right, fourth.guess) == (None, "perhaps", None, "")
    line = overall(folder, grade(folder))
    assert line is not None and (line.trials, line.bound) == (2, bounds.accuracy(2))
    assert main(["lab", "grade", str(folder)]) == 0
    assert "of 2 right" in capsys.readouterr().out
    assert main(["lab", "grade", str(folder), "--lang", "zh"]) == 0
    shown = capsys.readouterr().out
    assert "2 人中" in shown and "of 2 right" not in shown and "猜对" in shown


def test_the_best_attack_on_the_budget_comes_near_the_bound(tmp_path: Path) -> None:
    # n = 30, real noise: expected 26.4; fewer than 18 happen once in 20,000 classes. Noise of four times the scale
    # would give 18.
    new_class(tmp_path / "c", students=30, epsilon=TWO, seed=1)
    for name in key_of(tmp_path / "c"):
        with dither.open(tmp_path / "c" / name / "dither.toml") as session:
            answer = session.ask(f"SELECT COUNT(*) FROM ill WHERE number = {CHANDLER}", epsilon=2)
        (tmp_path / "c" / name / GUESS).write_text("yes" if float(answer.scalar()) > 0.5 else "no")
    line = overall(tmp_path / "c", grade(tmp_path / "c"))
    assert line is not None and line.hits is not None and line.hits >= 18
    assert line.verdict in ("inconclusive", "below bound")


def test_a_budget_raised_by_the_student_is_pointed_out(folder: Path) -> None:
    catalog = folder / "student-01" / "dither.toml"
    catalog.write_text(catalog.read_text().replace("epsilon = 2", "epsilon = 5"))
    with dither.open(catalog) as session:
        session.ask("SELECT COUNT(*) FROM ill", epsilon=5)
    assert grade(folder)[0].problem == "more than the budget of the class"
    (folder / "student-02" / "student-02.ledger").write_text("not a ledger")
    assert grade(folder)[1].spent is None and "cannot be read" in grade(folder)[1].problem


def test_a_class_is_never_written_over_another_and_grading_wants_one(folder: Path, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidParameter, match="empty"):
        new_class(folder, students=1, epsilon=TWO, seed=1)
    for students in (0, 501):
        with pytest.raises(InvalidParameter, match="students"):
            new_class(tmp_path / "x", students=students, epsilon=TWO, seed=1)
    with pytest.raises(InvalidParameter, match="new-class"):
        grade(tmp_path)
    assert main(["lab", "new-class", "--out", str(folder)]) == 2
    assert main(["lab", "new-class", "--out", str(tmp_path / "y"), "--epsilon", "-1"]) == 2
    assert main(["lab", "grade", str(tmp_path / "nowhere")]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_no_seed_given_is_a_seed_nobody_guesses(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert main(["lab", "new-class", "--students", "2", "--out", str(tmp_path / name), "--lang", "zh"]) == 0
    seeds = {json.loads((tmp_path / name / KEY).read_text())["seed"] for name in ("a", "b")}
    assert len(seeds) == 2 and min(seeds) > 1000
    assert "全班" in (tmp_path / "a" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_pages_say_the_bound_and_promise_nothing(tmp_path: Path, language: str) -> None:
    new_class(tmp_path / "c", students=3, epsilon=TWO, seed=1, language=language)
    for page in (tmp_path / "c" / "README.md", tmp_path / "c" / "student-01" / "README.md"):
        text = page.read_text(encoding="utf-8")
        assert "0.881" in text and "{" not in text
        assert not any(word in text for word in ("safe", "安全", " 0 %"))
