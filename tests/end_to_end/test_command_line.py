"""The real executable, as a user meets it: the whole way from a file to an answer, and every wrong turn on it.

Each wrong turn ends with its exit status, one clear message on stderr, nothing on stdout, and nothing charged.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow.ipc
import pytest

from dither.ledger.ledger import Ledger
from support.health import DATA, health_catalog

CATALOG = (
    health_catalog(
        columns='health = { type = "text", values = ["excellent", "good", "fair", "poor"] }\n'
        'sex = { type = "text" }\nvisits = { type = "integer", bounds = [0, 50] }',
    )
    + '[checks]\nanswered = ["SELECT health, COUNT(*) FROM care GROUP BY health"]\nrefused = ["SELECT * FROM care"]\n'
)
# Byte code is kept between runs, as it is after an installation: each start is then a third shorter.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
ENVIRONMENT |= {"COLUMNS": "140", "NO_COLOR": "1"}
COUNTS = "SELECT health, COUNT(*) AS n FROM care GROUP BY health"


def run(
    folder: Path, *arguments: str, status: int = 0, text: str | None = None, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """One command in a folder; fails the test when its exit status is another, or a traceback is seen."""
    done = subprocess.run(
        [sys.executable, "-m", "dither", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        input=text if text is not None else "",
        timeout=60,
        env=ENVIRONMENT | (environment or {}),
        check=False,
    )
    assert done.returncode == status, f"{arguments[:2]}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr + done.stdout
    return done


def spent(folder: Path, ledger: str = "dither.ledger") -> object:
    """What the ledger says was charged; None before there is one."""
    if not (folder / ledger).exists():
        return None
    book = Ledger.open(str(folder / ledger), dataset="health", promise_digest=None, budget=None, analysts={})
    try:
        return book.spent()
    finally:
        book.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(DATA, tmp_path)
    (tmp_path / "dither.toml").write_text(CATALOG, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for commands that must change nothing in it."""
    place = tmp_path_factory.mktemp("shared")
    shutil.copy(DATA, place)
    (place / "dither.toml").write_text(CATALOG, encoding="utf-8")
    run(place, "ask", "SELECT COUNT(*) FROM care", "--epsilon", "0.25")
    return place


def test_the_demo_answers_attacks_and_accounts(tmp_path: Path) -> None:
    shown = run(tmp_path, "demo", "--lang", "zh").stdout
    for expected in (
        "excellent",
        "±",
        "exact",
        "Price: nothing",
        "Chandler has diabetes",
        "left of epsilon 3",
        "隐私预算",
    ):
        assert expected in shown
    assert list(tmp_path.iterdir()) == []


def test_from_a_file_to_a_verified_answer(tmp_path: Path) -> None:
    shutil.copy(DATA, tmp_path)
    run(tmp_path, "init", "randhie.parquet")
    drafted = tmp_path / "dither.toml"
    assert "TODO" in run(tmp_path, "check", status=2).stderr

    drafted.write_text(CATALOG, encoding="utf-8")
    checked = run(tmp_path, "check").stdout
    assert "Ready" in checked and "2 of 2 test questions as meant" in checked

    explained = run(tmp_path, "explain", COUNTS, "--epsilon", "0.5").stdout
    assert "Laplace" in explained and "Price: epsilon 0.5." in explained
    assert spent(tmp_path) is None or spent(tmp_path).epsilon == 0

    asked = run(tmp_path, "ask", COUNTS, "--epsilon", "0.5", "--receipt", "first.json").stdout
    assert "excellent" in asked and "± 30" in asked
    again = run(tmp_path, "ask", COUNTS + " ORDER BY n DESC", "--epsilon", "0.5", "--format", "json").stdout
    answer = json.loads(again)
    assert answer["receipt"]["epsilon"] == "0" and answer["columns"] == ["health", "n"]
    assert len(answer["rows"]) == 5

    assert "0.5" in run(tmp_path, "budget").stdout
    assert COUNTS in run(tmp_path, "budget", "log").stdout
    assert "the receipt's entry is in it" in run(tmp_path, "budget", "verify", "--receipt", "first.json").stdout


def test_formats_are_written_where_they_are_asked_for(folder: Path) -> None:
    run(folder, "ask", "-", "-e", "0.5", "--format", "csv", "--intervals", "--output", "a.csv", text=COUNTS)
    lines = (folder / "a.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "health,n,n_low,n_high" and len(lines) == 6
    run(folder, "ask", COUNTS, "-e", "0.5", "--format", "arrow", "--output", "a.arrow")
    assert pyarrow.ipc.open_stream((folder / "a.arrow").read_bytes()).read_all().num_rows == 5


def test_several_questions_of_a_file_are_one_release(folder: Path) -> None:
    terms = CATALOG.replace("epsilon = 2", "epsilon = 2\ndelta = 1e-6")
    (folder / "dither.toml").write_text(terms, encoding="utf-8")
    (folder / "q.sql").write_text(
        COUNTS
        + ";\n-- weight=2\nSELECT health, flat, COUNT(*) AS n FROM (SELECT health, visits > 3 AS flat FROM care) AS c "
        "GROUP BY health, flat;\nSELECT AVG(visits) AS m FROM care",
        encoding="utf-8",
    )
    assert "Question 3 is measured by itself" in run(folder, "ask-many", "q.sql", "--rho", "0.05", "--explain").stdout
    assert spent(folder) is None or spent(folder).rho == 0
    shown = run(folder, "ask-many", "q.sql", "--rho", "0.05", "--receipt", "r.json", "--output", ".").stdout
    assert "1: SELECT health" in shown and "Asked with 2 other question(s), for one price." in shown
    assert (folder / "2.csv").read_text(encoding="utf-8").splitlines()[0] == "health,flat,n,n_low,n_high"
    assert "the receipt's entry is in it" in run(folder, "budget", "verify", "--receipt", "r.json").stdout
    assert "--rho NUMBER" in run(folder, "ask-many", "q.sql", status=2).stderr
    assert "--output" in run(folder, "ask-many", "q.sql", "--rho", "1", "--output", "none", status=2).stderr


def test_trying_is_marked_and_costs_nothing(folder: Path) -> None:
    counted = run(folder, "try", COUNTS).stdout
    rows = run(folder, "try", "SELECT * FROM care").stdout
    assert "INVENTED" in counted and "INVENTED" in rows
    assert "visits" in rows
    assert spent(folder) is None


def test_more_budget_is_granted_and_logged_and_a_release_measures_anew(folder: Path) -> None:
    run(folder, "ask", "SELECT COUNT(*) FROM care", "-e", "2")
    run(folder, "ask", COUNTS, "-e", "0.5", status=3)
    assert "epsilon 3" in run(folder, "budget", "grant", "--epsilon", "1", "--reason", "second wave").stdout
    run(folder, "ask", COUNTS, "-e", "0.5")
    assert "second wave" in run(folder, "budget", "log").stdout
    run(folder, "release", "open", "2026-Q4")
    assert "2026-Q4" in run(folder, "release", "list").stdout
    assert "Price: epsilon 0.25" in run(folder, "ask", "SELECT COUNT(*) FROM care", "-e", "0.25").stdout


def test_tuning_asks_before_it_spends(folder: Path) -> None:
    catalog = folder / "dither.toml"
    catalog.write_text(CATALOG.replace("max_rows_per_unit = 5\n", ""), encoding="utf-8")
    run(folder, "tune", "care", "--epsilon", "0.5", status=2)
    assert spent(folder) is None
    assert "rows per unit" in run(folder, "tune", "care", "--epsilon", "0.5", "--yes").stdout
    assert spent(folder).epsilon > 0


QUESTION = "SELECT COUNT(*) FROM care WHERE visits > 7"
BAD_OFFERS = [
    (("--epsilon", "0"), 2, "epsilon must be a number above 0"),
    (("--epsilon", "-1"), 2, "epsilon must be a number above 0"),
    (("--epsilon", "nan"), 2, "epsilon must be a finite number"),
    (("--epsilon", "abc"), 2, "epsilon must be a finite number"),
    ((), 2, "Nothing is charged without a stated offer"),
    (("--epsilon", "1", "--rho", "1"), 2, "found 'epsilon and rho'"),
    (("--epsilon", "100"), 3, "does not fit"),
]
BAD_QUESTIONS = [
    ("SELECT nothing FROM care", 2, "There is no column `nothing` here."),
    ("SELECT COUNT(*) FROM nowhere", 2, "There is no table `nowhere` here."),
    ("SELEC COUNT(*) FROM care", 2, "This is not SQL Dither can read"),
    ("SELECT COUNT(*) FROM care; SELECT 1 FROM care", 2, "Ask one question at a time"),
    ("SELECT * FROM care", 2, "rows of people"),
    ("SELECT COUNT(*) FROM care -- " + "x" * 65536, 2, "longer than 65,536 bytes"),
    (
        "SELECT COUNT(*) FROM care WHERE " + "(" * 500 + "visits" + "+1)" * 500 + " > 1",
        2,
        "nested too deeply",
    ),
]


@pytest.mark.parametrize(("offer", "status", "message"), BAD_OFFERS)
def test_a_wrong_offer_is_named_and_nothing_is_charged(
    shared: Path, offer: tuple[str, ...], status: int, message: str
) -> None:
    before = spent(shared)
    done = run(shared, "ask", QUESTION, *offer, status=status)
    assert message in done.stderr and done.stdout == ""
    assert spent(shared) == before


@pytest.mark.parametrize(("question", "status", "message"), BAD_QUESTIONS)
def test_a_wrong_question_is_refused_and_nothing_is_charged(
    shared: Path, question: str, status: int, message: str
) -> None:
    before = spent(shared)
    done = run(shared, "ask", "-", "--epsilon", "0.5", status=status, text=question)
    assert message in done.stderr and done.stdout == ""
    assert spent(shared) == before


def test_five_hundred_plain_parentheses_are_no_reason_to_fail(shared: Path) -> None:
    question = "SELECT COUNT(*) FROM care WHERE " + "(" * 500 + "visits > 7" + ")" * 500
    assert "Price: epsilon 0.5" in run(shared, "explain", "-", "--epsilon", "0.5", text=question).stdout


BAD_CATALOGS = [
    ("randhie.parquet", "elsewhere.parquet", 4, "There are no files for care"),
    ('visits = { type = "integer", bounds = [0, 50] }', 'visits = { type = "date" }', 4, "declared date"),
    ("visits = {", "visitz = {", 4, "no column `visitz`"),
    ("[0, 50]", "[50, 0]", 2, "expected the low bound first"),
    ("[unit]", "[unit", 2, "expected valid TOML"),
    ("max_rows_per_unit = 5", "max_rows_per_unit = 0", 2, "max_rows_per_unit"),
    ("epsilon = 2", 'epsilon = "two"', 2, "budget.epsilon"),
]


@pytest.mark.parametrize(("old", "new", "status", "message"), BAD_CATALOGS)
def test_a_wrong_catalog_is_located_and_nothing_is_charged(
    folder: Path, old: str, new: str, status: int, message: str
) -> None:
    assert old in CATALOG
    (folder / "dither.toml").write_text(CATALOG.replace(old, new), encoding="utf-8")
    done = run(folder, "ask", QUESTION, "--epsilon", "0.5", status=status)
    assert message in done.stderr and done.stdout == ""
    assert spent(folder) is None


def test_a_missing_catalog_says_how_to_get_one(tmp_path: Path) -> None:
    assert "dither init" in run(tmp_path, "ask", QUESTION, "-e", "1", status=2).stderr
    assert "dither init" in run(tmp_path, "explain", QUESTION, "-e", "1", "-c", "other.toml", status=2).stderr


def test_a_catalog_is_never_overwritten_and_an_answer_has_a_place_before_it_is_paid(folder: Path) -> None:
    run(folder, "init", "randhie.parquet", status=2)
    assert (folder / "dither.toml").read_text(encoding="utf-8") == CATALOG
    run(folder, "ask", QUESTION, "-e", "1", "--output", "no/such/folder.csv", status=2)
    run(folder, "ask", QUESTION, "-e", "1", "--receipt", "no/such/folder.json", status=2)
    assert spent(folder) is None


def test_a_wrong_command_line_shows_where_help_is(tmp_path: Path) -> None:
    assert "--help" in run(tmp_path, "asks", status=2).stderr
    assert "--help" in run(tmp_path, "ask", "--epsilonn", "1", status=2).stderr


@pytest.fixture
def locked(folder: Path) -> Iterator[Path]:
    """The folder with its data in a DuckDB file that another process holds open for writing."""
    with duckdb.connect(str(folder / "care.duckdb")) as connection:
        connection.execute(f"CREATE TABLE care AS SELECT * FROM '{folder / 'randhie.parquet'}'")
    (folder / "dither.toml").write_text(CATALOG.replace("randhie.parquet", "care.duckdb"), encoding="utf-8")
    holding = "import duckdb, sys; c = duckdb.connect('care.duckdb'); print('held', flush=True); sys.stdin.read()"
    writer = subprocess.Popen(
        [sys.executable, "-c", holding], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None and writer.stdout.readline() == "held\n"
    yield folder
    writer.communicate("")


def test_a_database_held_by_a_writer_is_named_and_nothing_is_charged(locked: Path) -> None:
    done = run(locked, "ask", QUESTION, "--epsilon", "0.5", status=4)
    assert "care.duckdb" in done.stderr and "Another program" in done.stderr
    assert spent(locked) is None


def test_a_changed_ledger_row_is_found_and_a_broken_file_stops_everything(folder: Path) -> None:
    run(folder, "ask", QUESTION, "--epsilon", "0.5")
    ledger = folder / "dither.ledger"
    whole = ledger.read_bytes()
    assert QUESTION.encode() in whole
    ledger.write_bytes(whole.replace(QUESTION.encode(), QUESTION.replace("7", "8").encode()))
    assert "row 2" in run(folder, "budget", "verify", status=4).stderr
    for left in folder.glob("dither.ledger-*"):
        left.unlink()
    ledger.write_bytes(b"this is no ledger")
    done = run(folder, "ask", QUESTION, "--epsilon", "0.5", status=4)
    assert "the file is not a ledger" in done.stderr and done.stdout == ""


def test_an_unknown_error_shows_nothing_of_itself_unless_the_owner_debugs(folder: Path) -> None:
    sabotage = folder / "sitecustomize.py"
    sabotage.write_text(
        "import dither.catalog.load as load\ndef broken(path): raise RuntimeError('patient 17')\nload.load = broken\n",
        encoding="utf-8",
    )
    environment = {"PYTHONPATH": str(folder)}
    done = run(folder, "ask", QUESTION, "-e", "1", status=70, environment=environment)
    assert "patient 17" not in done.stderr and "DITHER_DEBUG" in done.stderr
