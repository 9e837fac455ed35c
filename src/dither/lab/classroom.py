"""A class attacks Dither: for each student a small data set, a catalog, a ledger to throw away, and one secret to find.

    class/README.md, key.json              for the teacher: how to run it; who is ill
    class/student-01/README.md             the task
    class/student-01/dither.toml, data/    what questions are asked of
    class/student-01/people.csv            what everybody knows
    class/student-01/guess.txt             the student's answer

A row of the list is a person who is ill, so whether Chandler is ill is one row in or out: the change that the ledger
prices. `grade` sets right guesses beside the bound of what the ledgers say was spent.
Flow: `dither lab new-class`, `dither lab grade`. Relies on: `dither.open` to read a ledger, `bounds`, `games.counted`.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dither.errors import DitherError, InvalidParameter
from dither.exact import decimal_text
from dither.lab import bounds
from dither.lab.games import Line, counted
from dither.lab.texts import Language
from dither.lab.worlds.hospital import FIRST_FIVE

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["CHANDLER", "MOST_STUDENTS", "Graded", "grade", "new_class", "overall"]

PEOPLE, CHANDLER = 60, 5
MOST_STUDENTS = 500
_ILL = 0.4
KEY, GUESS = "key.json", "guess.txt"
_WORDS = {"yes": True, "ill": True, "y": True, "1": True, "是": True, "有": True,
          "no": False, "well": False, "n": False, "0": False, "否": False, "没有": False}  # fmt: skip

_CATALOG = """# The list of those who are ill: one row each. Everybody knows who the {people} people are: people.csv.
[dataset]
name = "{name}"
ledger = "{name}.ledger"

[source]
url = "data"

[unit]
name = "person"

[budget]
epsilon = {epsilon}

[tables.ill]
privacy_unit = "person"
max_rows_per_unit = 1

[tables.ill.columns]
number = {{ type = "integer", bounds = [1, {people}] }}
age = {{ type = "integer", bounds = [10, 18] }}
sex = {{ type = "text", values = ["F", "M"] }}
"""


@dataclass(frozen=True)
class Graded:
    """One student's guess beside what their ledger says. right is None where there is no guess that can be read."""

    name: str
    guess: str
    right: bool | None
    spent: Fraction | None
    """epsilon; None where the ledger cannot be read."""
    problem: str = ""
    """What the teacher should look into."""

    @property
    def bound(self) -> float | None:
        return None if self.spent is None else bounds.accuracy(self.spent)


def new_class(out: Path, *, students: int, epsilon: Fraction, seed: int, language: Language = "en") -> None:
    """Write the folder. Everything but the noise of later answers follows from the seed.
    Raises InvalidParameter when the folder holds something, or cannot be written."""
    import duckdb

    if not 1 <= students <= MOST_STUDENTS:
        raise InvalidParameter("students", expected=f"1 to {MOST_STUDENTS}", found=students)
    names = [f"student-{number:0{max(2, len(str(students)))}}" for number in range(1, students + 1)]
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise InvalidParameter(
                "--out", expected="a folder that is not there yet, or empty", found=str(out),
                hint="A class holds answers and ledgers: move the old one away, or name another folder.",
            )  # fmt: skip
        with duckdb.connect() as connection:
            truth = {
                name: _write_student(out / name, epsilon, np.random.default_rng([seed, number]), language, connection)
                for number, name in enumerate(names)
            }
        key = {"seed": seed, "epsilon": decimal_text(epsilon), "ill": truth}
        _private(out / KEY, json.dumps(key, indent=1) + "\n")
        (out / "README.md").write_text(_page("teacher", language, epsilon, students), encoding="utf-8")
    except OSError as error:
        raise InvalidParameter("--out", expected="a folder to write to", found=f"{out}: {error.strerror}") from None


def grade(folder: Path) -> list[Graded]:
    """All students of the key, in order. Raises InvalidParameter when it is not a class."""
    key = _key(folder)
    return [_graded(folder / name, truth, Fraction(key["epsilon"])) for name, truth in key["ill"].items()]


def overall(folder: Path, graded: list[Graded]) -> Line | None:
    """All guesses together, beside the bound of the whole budget; None before the first guess.

    What a guess is worth is bounded after every transcript, so leaving out who gave none does not raise the bound."""
    key = _key(folder)
    right = [one.right for one in graded if one.right is not None]
    if not right:
        return None
    epsilon = Fraction(key["epsilon"])
    return counted(
        "class", "Dither", f"epsilon {float(epsilon):g}", "accuracy", sum(right), len(right),
        bound=bounds.accuracy(epsilon), baseline=0.5, spent=f"epsilon {float(epsilon):g}", seed=int(key["seed"]),
    )  # fmt: skip


def _write_student(
    folder: Path, epsilon: Fraction, generator: np.random.Generator, language: Language, connection: DuckDBPyConnection
) -> bool:
    """Write one student's folder; whether Chandler is ill."""
    ages, sexes = generator.integers(10, 19, PEOPLE), generator.choice(["F", "M"], PEOPLE)
    ill = generator.random(PEOPLE) < _ILL
    # The secret is a fair coin: a guess without asking is right half the time.
    ill[CHANDLER - 1] = generator.integers(0, 2) == 1
    sexes[CHANDLER - 1] = "M"
    (folder / "data").mkdir(parents=True)
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["number", "name", "age", "sex"])
        first = [name for name, _ in FIRST_FIVE]
        for i in range(PEOPLE):
            rows.writerow([i + 1, first[i] if i < len(first) else f"person {i + 1}", ages[i], sexes[i]])
    numbers = np.arange(1, PEOPLE + 1)[ill]
    listed = {"person": numbers, "number": numbers, "age": ages[ill], "sex": sexes[ill].astype(object)}
    connection.register("listed", listed)
    target = str(folder / "data" / "ill.parquet").replace("'", "''")
    connection.execute(f"COPY (SELECT * FROM listed) TO '{target}' (FORMAT parquet)")
    catalog = _CATALOG.format(name=folder.name, epsilon=decimal_text(epsilon), people=PEOPLE)
    (folder / "dither.toml").write_text(catalog, encoding="utf-8")
    (folder / "README.md").write_text(_page("student", language, epsilon, 1), encoding="utf-8")
    (folder / GUESS).write_text("", encoding="utf-8")
    return bool(ill[CHANDLER - 1])


def _page(reader: str, language: Language, epsilon: Fraction, students: int) -> str:
    """A page of `class_pages`, with its numbers filled in."""
    text = (files("dither.lab") / "class_pages" / f"{reader}.{language}.md").read_text(encoding="utf-8")
    whole, half = bounds.accuracy(epsilon), bounds.accuracy(epsilon / 2)
    return text.format(
        epsilon=decimal_text(epsilon), half=decimal_text(epsilon / 2), students=students, people=PEOPLE,
        chandler=CHANDLER, before=CHANDLER - 1, bound=f"{whole:.3f}", half_bound=f"{half:.3f}",
        expected=f"{whole * students:.1f}",
    )  # fmt: skip


def _private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")


def _key(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / KEY).read_text(encoding="utf-8"))
        Fraction(found["epsilon"]), int(found["seed"]), dict(found["ill"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidParameter(
            "folder", expected="a class made by `dither lab new-class`", found=f"{folder}, without a {KEY} to read"
        ) from None
    return found


def _graded(folder: Path, truth: bool, budget: Fraction) -> Graded:
    try:
        words = (folder / GUESS).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        words = []
    said = _WORDS.get(words[0].lower().strip(".!,;。")) if words else None
    guess = "" if not words else words[0][:12] if said is None else "yes" if said else "no"
    right = None if said is None else said == bool(truth)
    try:
        spent = _spent(folder)
    except DitherError as error:
        return Graded(folder.name, guess, right, None, f"the ledger cannot be read: {error.code}")
    # The catalog is the student's to edit; the ledger tells what was spent all the same.
    return Graded(folder.name, guess, right, spent, "more than the budget of the class" if spent > budget else "")


def _spent(folder: Path) -> Fraction:
    """epsilon, as the ledger says; a ledger begins with the first question."""
    if not (folder / f"{folder.name}.ledger").exists():
        return Fraction(0)
    import dither

    with dither.open(folder / "dither.toml") as session:
        return Fraction(session.budget().spent.epsilon)
