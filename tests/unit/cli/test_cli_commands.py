"""Commands called in this process: exit statuses, what errors look like, what an analyst is not told."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dither import errors
from dither.cli import main
from dither.cli.screen import amount
from dither.exact import exact
from support.health import DATA, health_catalog

CATALOG = health_catalog(
    budget="epsilon = 2\ndelta = 1e-9",
    sections="[analysts.research]\nepsilon = 1\n",
    columns='health = { type = "text", values = ["excellent", "good", "fair", "poor"] }\nincome = { type = "integer" }',
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(DATA, tmp_path)
    (tmp_path / "dither.toml").write_text(CATALOG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    return tmp_path


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.InvalidParameter("epsilon", expected="above 0", found=0), 2),
        (errors.QueryRefused("No.", code="S-100"), 2),
        (errors.PolicyRefused("No."), 2),
        (errors.CatalogError("No."), 2),
        (errors.BudgetExceeded("No.", level="data set", requested="1", remaining="0"), 3),
        (errors.LedgerCorrupt("No."), 4),
        (errors.EngineUnavailable("No."), 4),
        (errors.GuaranteeError("No."), 70),
        (ZeroDivisionError("patient 17"), 70),
    ],
)
def test_every_error_has_its_exit_status_and_no_traceback(
    error: Exception, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(path: object) -> object:
        raise error

    monkeypatch.setattr("dither.catalog.load.load", broken)
    assert main(["check"]) == status
    shown = capsys.readouterr()
    assert shown.out == "" and "Traceback" not in shown.err and "patient 17" not in shown.err
    if isinstance(error, errors.DitherError):
        assert error.code in shown.err


def test_an_owner_who_debugs_sees_the_unknown_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(path: object) -> object:
        raise ZeroDivisionError("patient 17")

    monkeypatch.setattr("dither.catalog.load.load", broken)
    monkeypatch.setenv("DITHER_DEBUG", "1")
    assert main(["check"]) == 70
    assert "patient 17" in capsys.readouterr().err


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "demo" in capsys.readouterr().out
    assert main(["release"]) == 2


# DuckDB makes an error of its own of a signal that comes while it finishes a noisy table.
@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("Query interrupted")])
def test_stopping_is_said(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(path: object) -> object:
        raise error

    monkeypatch.setattr("dither.catalog.load.load", stopped)
    assert main(["check"]) == 130
    assert "stays charged" in capsys.readouterr().err


def test_stopping_while_the_database_works_ends_at_once_and_keeps_the_charge(folder: Path) -> None:
    """In a process of its own, lest the signal find another test; hours stand for what it reads."""
    program = """
import os, signal, threading
from dither.cli import main
from dither.engines.duckdb import DuckDBEngine

# Where tests run in the background, their children are born deaf to it.
signal.signal(signal.SIGINT, signal.default_int_handler)

DuckDBEngine.prepare = lambda engine, measures: None

def texts(engine, measures):
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    return ["SELECT count(*) AS v0 FROM range(10000000000000) AS r(i) WHERE i % 7 = 3"]

DuckDBEngine._texts = texts
raise SystemExit(main(["ask", "SELECT COUNT(*) FROM care", "-e", "1/4", "--as", "research"]))
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=100)
    assert ended.returncode == 130 and "stays charged" in ended.stderr
    shown = subprocess.run(
        [sys.executable, "-m", "dither", "budget", "--as", "research"], cwd=folder, capture_output=True, text=True
    )
    assert "0.75" in shown.stdout


def test_an_analyst_is_not_told_what_the_owner_could_change(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = "SELECT SUM(income * 2) FROM care"
    assert main(["explain", question, "-e", "1", "--as", "research"]) == 2
    told = capsys.readouterr().err
    assert "^" in told and "Declare" not in told

    (folder / "dither.toml").write_text(CATALOG.replace("[analysts.research]\nepsilon = 1\n", ""), encoding="utf-8")
    assert main(["explain", question, "-e", "1"]) == 2
    assert "Declare `bounds" in capsys.readouterr().err


def test_with_analysts_declared_nobody_asks_without_a_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "SELECT COUNT(*) FROM care", "-e", "1"]) == 2
    assert "--as NAME" in capsys.readouterr().err
    assert main(["ask", "SELECT COUNT(*) FROM care", "-e", "1", "--as", "stranger"]) == 2


def test_an_analyst_sees_only_their_own_budget(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "SELECT COUNT(*) FROM care", "-e", "1/4", "--as", "research"]) == 0
    capsys.readouterr()
    assert main(["budget", "--as", "research"]) == 0
    own = capsys.readouterr().out
    assert "research" in own and "0.75" in own and "data set" not in own
    assert main(["budget"]) == 0
    whole = capsys.readouterr().out
    assert "data set" in whole and "1.75" in whole and "research" in whole


def test_a_changed_promise_is_refused_until_it_is_adopted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["ask", "SELECT COUNT(*) FROM care", "-e", "1/4", "--as", "research"]
    assert main(ask) == 0
    (folder / "dither.toml").write_text(CATALOG.replace('name = "person"', 'name = "patient"'), encoding="utf-8")
    assert main(ask) == 4
    assert main(["budget", "adopt", "--reason", "the word was wrong"]) == 0
    assert main(ask) == 0
    capsys.readouterr()
    assert main(["budget", "log"]) == 0
    assert "the word was wrong" in capsys.readouterr().out


def test_the_ledger_is_looked_at_before_it_exists_only_by_commands_that_may_begin_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["budget", "log"]) == 4
    assert main(["budget", "verify"]) == 4
    assert main(["release", "list"]) == 4
    assert not (folder / "dither.ledger").exists()


def test_a_receipt_without_an_entry_is_told_from_a_broken_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = ["ask", "SELECT COUNT(*) FROM care", "-e", "1/4", "--as", "research"]
    assert main(ask) == 0
    assert main([*ask, "--receipt", "free.json"]) == 0
    assert main(["budget", "verify", "--receipt", "free.json"]) == 2
    assert "needed nothing new" in capsys.readouterr().err
    (folder / "broken.json").write_text("{", encoding="utf-8")
    assert main(["budget", "verify", "--receipt", "broken.json"]) == 2


def test_looking_proposes_marked_bounds_for_files_and_databases(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import duckdb

    with duckdb.connect("care.duckdb") as connection:
        connection.execute("CREATE TABLE care AS SELECT person, age, DATE '1977-05-03' AS day FROM 'randhie.parquet'")
        connection.execute("CREATE TABLE odd AS SELECT 'NaN'::DOUBLE AS x, 2.5 AS y")
    for source, output in (
        ("randhie.parquet", "a.toml"),
        (".", "b.toml"),
        ("*.parquet", "c.toml"),
        ("care.duckdb", "d.toml"),
    ):
        assert main(["init", source, "--look", "--output", output]) == 0
        drafted = (folder / output).read_text(encoding="utf-8")
        assert 'age = { type = "integer", bounds = [0, 100], looked = true }' in drafted
    assert "[1970-01-01, 1979-12-31]" in drafted
    assert 'x = { type = "double" }' in drafted
    assert main(["check", "-c", "a.toml"]) == 2


def test_a_draft_elsewhere_still_finds_its_source(folder: Path) -> None:
    (folder / "catalogs").mkdir()
    assert main(["init", "randhie.parquet", "--output", "catalogs/health.toml"]) == 0
    assert 'url = "../randhie.parquet"' in (folder / "catalogs" / "health.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("value", "shown"), [("1/3", "0.333333333"), ("3", "3"), ("1e-9", "1e-09"), ("0", "0"), ("2.50", "2.5")]
)
def test_an_amount_is_never_shown_as_more_than_it_is(value: str, shown: str) -> None:
    assert amount(exact(value)) == shown


def test_an_answer_is_drawn_into_a_new_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_health = ["ask", "SELECT health, COUNT(*) AS n FROM care GROUP BY health", "-e", "1/10", "--as", "research"]
    assert main([*by_health, "--plot", "a.html"]) == 0
    assert "excellent" in capsys.readouterr().out
    assert "<svg" in (folder / "a.html").read_text(encoding="utf-8")
    # Where it could not be written, nothing is charged.
    for place in ("a.html", "a.png", "none/a.svg"):
        assert main(["ask", "SELECT COUNT(*) AS n FROM care", "-e", "1/4", "--as", "research", "--plot", place]) == 2
        assert "I-125" in capsys.readouterr().err
    assert main(["budget", "--as", "research"]) == 0
    assert "0.9" in capsys.readouterr().out


def test_an_answer_without_a_picture_is_shown_and_the_error_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ask", "SELECT COUNT(*) AS n FROM care", "-e", "1/4", "--as", "research", "--plot", "a.svg"]) == 2
    shown = capsys.readouterr()
    assert "±" in shown.out and "I-124" in shown.err and not (folder / "a.svg").exists()


def test_intervals_of_quantiles_are_explained_before_they_are_bought(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    question = ["SELECT MEDIAN(LEAST(GREATEST(income, 0), 100000)) AS m FROM care", "-e", "1/2", "--as", "research"]
    assert main(["explain", *question, "--quantile-intervals"]) == 0
    assert "lower end of MEDIAN" in capsys.readouterr().out
    assert main(["ask", *question, "--quantile-intervals"]) == 0
    shown = capsys.readouterr().out
    assert "[" in shown or "±" in shown
    assert main(["ask", "SELECT COUNT(*) FROM care", "-e", "1/4", "--as", "research", "--quantile-intervals"]) == 2
    assert "I-123" in capsys.readouterr().err


def test_what_a_question_says_does_not_drive_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "SELECT \x1b[31m FROM care", "-e", "1/4", "--as", "research"]) == 2
    (folder / "many.sql").write_text("SELECT COUNT(*) AS n FROM care WHERE health <> '\x1b[31m'", encoding="utf-8")
    assert main(["ask-many", "many.sql", "-e", "1/4", "--as", "research"]) == 0
    shown = capsys.readouterr()
    assert "\x1b" not in shown.err + shown.out and "[31m" in shown.err and "[31m" in shown.out
