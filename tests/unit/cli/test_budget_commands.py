"""Owners' commands on a ledger: bookings, the export, the chart. What is charged, what is shown, what is refused."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from dither.accounting import RandomLoss
from dither.catalog.load import load
from dither.cli import main
from dither.cli.context import ledger_path, owner_ledger
from dither.ledger.apart import ApartLedger
from dither.ledger.apart_places import beside
from support.health import DATA, health_catalog

CATALOG = health_catalog(budget="epsilon = 2\ndelta = 1e-9")
RELEASE = {"name": "poster", "who": "Dr. Roe", "when": "2026-01-02", "reason": "paper", "epsilon": 0.25}
ASK = ["ask", "SELECT COUNT(*) FROM care", "-e", "1/4"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(DATA, tmp_path)
    (tmp_path / "dither.toml").write_text(CATALOG, encoding="utf-8")
    (tmp_path / "sister.toml").write_text(CATALOG.replace('"health"', '"sister"'), encoding="utf-8")
    (tmp_path / "releases.jsonl").write_text(json.dumps(RELEASE) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def spent(catalog: str = "dither.toml") -> str:
    with owner_ledger(load(catalog)) as ledger:
        assert ledger.verify().holds
        return str(ledger.spent().epsilon)


def test_an_import_shows_what_was_booked_and_what_is_left(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["budget", "import", "releases.jsonl"]) == 0
    shown = capsys.readouterr()
    assert "poster" in shown.out and "booked" in shown.out and "1.75" in shown.out and shown.err == ""
    assert main(["budget", "import", "releases.jsonl"]) == 0
    assert "booked before" in capsys.readouterr().out
    assert spent() == "1/4"
    assert main(["budget", "log"]) == 0
    assert "poster, released elsewhere by Dr. Roe on 2026-01-02: paper" in capsys.readouterr().out


def test_the_log_shows_what_was_refused_and_no_analyst_steers_the_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(ASK) == 0
    assert main(["ask", "SELECT * FROM care", "-e", "1"]) == 2
    assert main(["ask", "SELECT COUNT(*) FROM care", "-e", "9"]) == 3
    assert main(["ask", "SELECT '\x1b]0;owned\x07\u202e' FROM care", "-e", "1"]) == 2
    capsys.readouterr()
    assert main(["budget", "log"]) == 0
    shown = capsys.readouterr().out
    lines = [line for line in shown.splitlines() if "refused" in line]
    assert len(lines) == 3 and "SELECT * FROM care" in lines[0] and "M-100" in lines[1]
    assert "\x1b" not in shown and "\x07" not in shown and "\u202e" not in shown
    assert main(["budget", "verify"]) == 0
    assert spent() == "1/4"


def test_an_import_beyond_the_budget_is_booked_and_says_what_follows(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "releases.toml").write_text(
        "[[release]]\nname = 'atlas'\nwho = 'us'\nwhen = 2026-01-02\nreason = 'map'\nepsilon = 5\n"
    )
    assert main(["budget", "import", "releases.toml"]) == 0
    assert "Nothing more is admitted" in capsys.readouterr().err
    assert main(ASK) == 3
    assert main(["budget"]) == 0
    assert "More counts as spent" in capsys.readouterr().err


def test_an_import_in_rho_says_that_the_epsilon_meter_is_closed(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    release = {key: value for key, value in RELEASE.items() if key != "epsilon"} | {"rho": "0.01"}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(release)))
    assert main(["budget", "import", "-"]) == 0
    assert "rho meter alone" in capsys.readouterr().err


@pytest.mark.parametrize("file", ["missing.jsonl", ".", "randhie.parquet", "dither.toml"])
def test_a_file_that_is_no_list_of_releases_is_refused(
    folder: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["budget", "import", file]) == 2
    assert "InvalidParameter" in capsys.readouterr().err
    assert not (folder / "dither.ledger").exists()


def test_a_merge_takes_over_the_spend_and_closes_the_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sister = ["-c", "sister.toml"]
    assert main(ASK) == 0 and main([*ASK, *sister]) == 0
    assert "budgets add" in capsys.readouterr().err
    assert main(["budget", "merge", "sister.ledger", "--reason", "one now"]) == 0
    assert "is taken over: epsilon 0.25" in capsys.readouterr().out
    assert spent() == "1/2"
    assert main(["ask", "SELECT COUNT(*) FROM care", "-e", "1/2", *sister]) == 4
    assert "L-260" in capsys.readouterr().err
    assert main(["budget", "merge", "sister.toml", "--reason", "again"]) == 0
    assert "taken over before" in capsys.readouterr().out and spent() == "1/2"
    assert main(["budget", *sister]) == 0
    assert "This ledger was closed: that of health" in capsys.readouterr().err


@pytest.mark.parametrize("other", ["missing.ledger", "missing.toml", ".", "randhie.parquet"])
def test_a_merge_with_what_is_no_ledger_changes_nothing(folder: Path, other: str) -> None:
    assert main(ASK) == 0
    mode = (folder / "randhie.parquet").stat().st_mode
    assert main(["budget", "merge", other, "--reason", "why"]) == 2
    assert spent() == "1/4" and not (folder / "missing.ledger").exists()
    assert (folder / "randhie.parquet").read_bytes() == DATA.read_bytes()
    assert (folder / "randhie.parquet").stat().st_mode == mode
    assert not list(folder.glob("randhie.parquet?*"))


def test_a_merge_with_itself_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ASK) == 0
    assert main(["budget", "merge", "dither.ledger", "--reason", "why"]) == 4
    assert "L-280" in capsys.readouterr().err and spent() == "1/4"


def test_a_split_begins_a_ledger_with_the_spend_and_tells_the_worst_case(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = CATALOG.replace('"health"', '"part"').replace("tables.care", "tables.part")
    (folder / "part.toml").write_text(part + 'source = "care"\n', encoding="utf-8")
    assert main(ASK) == 0
    split = ["budget", "split", "part.toml", "--reason", "children apart"]
    assert main(split) == 4
    assert "L-290" in capsys.readouterr().err
    # A ledger begun and left without the spend would let it be spent again.
    assert not (folder / "part.ledger").exists()
    assert main([*split, "--another-promise"]) == 0
    shown = capsys.readouterr().out
    assert "epsilon 2, delta 1e-09 and epsilon 2, delta 1e-09" in shown
    assert spent("part.toml") == spent() == "1/4"


def test_restoring_shows_the_charge_and_ends_asking_until_a_grant(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["budget", "restored", "--reason", "disk failure"]) == 4
    assert main(ASK) == 0
    assert main(["budget", "restored"]) == 2
    assert spent() == "1/4"
    capsys.readouterr()
    assert main(["budget", "restored", "--reason", "disk failure"]) == 0
    shown = capsys.readouterr()
    assert "Charged: rho 1.49" in shown.out and "Nothing new is answered until a grant" in shown.out
    assert main(["ask", "SELECT COUNT(*) FROM care", "-e", "1"]) == 3
    # What was released can be used again.
    assert main(ASK) == 0


def test_an_export_goes_to_a_new_private_file_or_to_the_screen(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(ASK) == 0
    capsys.readouterr()
    assert main(["budget", "export"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["line"] for line in lines] == ["ledger", "row", "row", "row", "totals"]
    assert main(["budget", "export", "out.jsonl"]) == 0
    assert (folder / "out.jsonl").read_text().splitlines() == lines
    assert stat.S_IMODE((folder / "out.jsonl").stat().st_mode) == 0o600
    assert main(["budget", "export", "out.jsonl"]) == 2
    assert main(["budget", "export", "no/such/folder.jsonl"]) == 2
    assert (folder / "out.jsonl").read_text().splitlines() == lines


def test_a_chart_is_drawn_in_the_terminal_as_a_page_and_as_a_spec(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(ASK) == 0
    capsys.readouterr()
    assert main(["budget", "chart"]) == 0
    shown = capsys.readouterr().out
    assert "epsilon: 0.25 of 2 spent" in shown and "█" in shown and "certain: epsilon 0.25" in shown
    assert main(["budget", "chart", "--html", "chart.html", "--vega", "chart.json"]) == 0
    page = (folder / "chart.html").read_text()
    assert "epsilon: 0.25 of 2" in page and "<script" not in page and "http" not in page
    assert json.loads((folder / "chart.json").read_text())["vconcat"][0]["data"]["values"][-1]["spent"] == 0.25
    assert main(["budget", "chart", "--html", "chart.html"]) == 2
    for part in page.split("<svg")[1:]:
        ElementTree.fromstring("<svg" + part.split("</svg>")[0] + "</svg>")


def test_check_tells_of_another_ledger_and_stays_ready(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ASK) == 0
    capsys.readouterr()
    assert main(["check"]) == 0
    assert "another ledger" not in capsys.readouterr().out
    assert main(["check", "-c", "sister.toml"]) == 0
    shown = capsys.readouterr().out
    assert "another ledger too, of data set 'health'" in shown and "1 warning" in shown
    assert not (folder / "sister.ledger").exists()


def test_verify_checks_ledgers_of_other_notions_too(folder, capsys) -> None:
    assert main(ASK) == 0
    zero = RandomLoss.of(population="adults")
    place = beside(ledger_path(load("dither.toml")), zero)
    most = RandomLoss.of(population="adults", epsilon=2, gamma="0.05")
    ledger = ApartLedger.open(place, zero, allowance=most, dataset="health")
    ledger.reserve(RandomLoss.of(population="adults", epsilon=1, gamma="0.01"), what="a mean")
    ledger.close()
    capsys.readouterr()
    assert main(["budget"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Beside the budget: random DP over adults, spent epsilon 1, gamma 0.01, left epsilon 1, gamma 0.04" in shown
    assert "It is not differential privacy." in shown
    assert main(["budget", "verify"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "The ledger of random DP over adults holds: 2 rows" in shown and "charged epsilon 1, gamma 0.01" in shown
    with sqlite3.connect(place) as other:
        other.execute("DROP TRIGGER dither_apart_log_no_update")
        other.execute("UPDATE dither_apart_log SET at = '' WHERE seq = 2")
    other.close()
    assert main(["budget", "verify"]) == 4
    assert "The ledger of random DP over adults" in " ".join(capsys.readouterr().err.split())
