"""Files that commands write: never over what a data set rests on, and what cannot be written is known uncharged."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from dither.cli import main
from dither.cli.context import owner_ledger, read_catalog
from dither.cli.written import check_outputs, write
from dither.errors import InvalidParameter
from support.health import DATA, health_catalog

Captured = pytest.CaptureFixture[str]

CATALOG = health_catalog(
    budget="epsilon = 2\ndelta = 1e-9",
    columns='health = { type = "text", values = ["excellent", "good", "fair", "poor"] }\nincome = { type = "integer" }',
)
QUESTION = "SELECT health, COUNT(*) AS n FROM care GROUP BY health"
ASK = ["ask", QUESTION, "--epsilon", "0.1"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(DATA, tmp_path)
    (tmp_path / "dither.toml").write_text(CATALOG, encoding="utf-8")
    (tmp_path / "questions.sql").write_text(QUESTION, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ledger_name(folder: Path) -> str:
    from dither.catalog.load import resolve_ledger

    return Path(resolve_ledger(read_catalog(folder / "dither.toml"))).name


def spent(folder: Path) -> Fraction:
    if not (folder / ledger_name(folder)).exists():
        return Fraction(0)
    with owner_ledger(read_catalog(folder / "dither.toml")) as ledger:
        return ledger.spent().epsilon


@pytest.mark.parametrize("option", ["--output", "--receipt"])
@pytest.mark.parametrize("ending", ["", "-wal", "-shm", ".lock"])
def test_an_answer_is_never_written_over_the_ledger(folder: Path, option: str, ending: str, capsys: Captured) -> None:
    # Over the ledger, everything spent was forgotten; before its first charge it is not there to be seen.
    for _ in range(2):
        assert main([*ASK, option, ledger_name(folder) + ending]) == 2
        assert f"{option} must be a file of its own" in capsys.readouterr().err
        assert spent(folder) in (0, Fraction(1, 10))
        assert main(ASK) == 0
    assert spent(folder) == Fraction(1, 10)


def test_an_answer_is_never_written_over_the_data_or_the_catalog(folder: Path, capsys: Captured) -> None:
    (folder / "link.csv").symlink_to(folder / DATA.name)
    before = {name: (folder / name).read_bytes() for name in (DATA.name, "dither.toml")}
    for place in (*before, "link.csv", f"../{folder.name}/{DATA.name}"):
        assert main([*ASK, "--output", place, "--format", "csv"]) == 2
        assert main(["statement", "--out", place]) == 2
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert "Traceback" not in capsys.readouterr().err and spent(folder) == 0


def test_two_options_do_not_write_to_one_file(folder: Path, capsys: Captured) -> None:
    # The receipt, written first, was lost under the answer.
    assert main([*ASK, "--output", "one.json", "--receipt", "./one.json"]) == 2
    assert "--output and --receipt" in capsys.readouterr().err
    assert main(["ask-many", "questions.sql", "--epsilon", "0.1", "--output", ".", "--receipt", "1.csv"]) == 2
    assert spent(folder) == 0 and not (folder / "one.json").exists() and not (folder / "1.csv").exists()


@pytest.mark.parametrize(
    "command",
    [
        [*ASK, "--output"], [*ASK, "--receipt"], [*ASK, "--plot"],
        ["ask-many", "questions.sql", "--epsilon", "0.1", "--receipt"], ["statement", "--out"],
        ["audit", "proof", "--report"], ["lab", "A1", "--scale", "0.02", "--report"], ["lab", "seed", "--out"],
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_written_is_one_error_before_any_charge(
    folder: Path, command: list[str], capsys: Captured
) -> None:
    # Folders may refuse files whatever their modes say: /proc does, even for the owner of the machine.
    (folder / "page.html").mkdir()
    for place in ("/proc/page.html", "page.html", "absent/page.html"):
        assert main([*command, place]) == 2
        assert capsys.readouterr().err.startswith("InvalidParameter"), (command, place)
    assert spent(folder) == 0


def test_tables_of_many_questions_are_not_written_over_the_data(folder: Path) -> None:
    text = (folder / "dither.toml").read_text(encoding="utf-8").replace(DATA.name, "1.csv")
    (folder / "dither.toml").write_text(text, encoding="utf-8")
    shutil.move(folder / DATA.name, folder / "1.csv")
    before = (folder / "1.csv").read_bytes()
    assert main(["ask-many", "questions.sql", "--epsilon", "0.1", "--output", "."]) == 2
    assert (folder / "1.csv").read_bytes() == before and spent(folder) == 0


def test_an_ordinary_file_may_be_written_again(folder: Path) -> None:
    for _ in range(2):
        assert main([*ASK, "--output", "a.csv", "--format", "csv", "--receipt", "r.json"]) == 0
    assert (folder / "a.csv").read_text(encoding="utf-8").startswith("health,n")
    assert json.loads((folder / "r.json").read_text(encoding="utf-8"))["question"] == QUESTION


def test_looking_leaves_nothing_behind_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("as it was", encoding="utf-8")
    check_outputs({"--a": tmp_path / "new", "--b": tmp_path / "there", "--c": None, "--d": Path("/dev/null")})
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert (tmp_path / "there").read_text(encoding="utf-8") == "as it was"


def test_what_fails_while_it_is_written_is_one_error_too() -> None:
    with pytest.raises(InvalidParameter, match="No space left"):
        write("--output", Path("/dev/full"), "x" * 100_000)
