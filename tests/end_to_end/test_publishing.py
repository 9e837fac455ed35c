"""The commands around an answer: a wished ±, offers in the text, presentation, a published folder and its check."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from end_to_end.test_command_line import CATALOG, DATA, run, spent

COUNTS = "SELECT health, COUNT(*) AS n FROM care GROUP BY health"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(DATA, tmp_path)
    (tmp_path / "dither.toml").write_text(CATALOG, encoding="utf-8")
    return tmp_path


def test_a_wish_is_explained_refused_above_at_most_and_kept(folder: Path) -> None:
    explained = run(folder, "explain", COUNTS, "--within", "60", "--plot", "--svg", "p.svg")
    assert "The least offer that keeps the wish: epsilon 0.247" in explained.stdout
    assert "95 % within 60" in explained.stdout and "<svg" in (folder / "p.svg").read_text(encoding="utf-8")
    run(folder, "explain", COUNTS, "--within", "60", "--svg", "p.svg", status=2)
    refused = run(folder, "ask", COUNTS, "--within", "60", "--at-most", "0.2", status=3)
    assert "M-122" in refused.stderr and "would buy n ±" in refused.stderr and not refused.stdout
    before = spent(folder)
    assert "± 60" in run(folder, "ask", COUNTS, "--within", "n=60", "--at-most", "0.3").stdout
    assert spent(folder) != before


def test_an_offer_in_the_text_is_enough(folder: Path) -> None:
    text = f"/* epsilon=0.5 */ {COUNTS}"
    assert "Price: epsilon 0.5" in run(folder, "ask", "-", text=text).stdout
    assert "Price: nothing" in run(folder, "ask", text, "--epsilon", "0.5").stdout
    assert "M-121" in run(folder, "ask", text, "--epsilon", "0.4", status=2).stderr
    assert "M-121" in run(folder, "ask", text, "--within", "50", status=2).stderr
    assert "M-101" in run(folder, "ask", COUNTS, status=2).stderr
    clause = COUNTS.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.1, max_groups_contributed=1)")
    refused = run(folder, "ask", clause, status=2)
    assert "P-113" in refused.stderr and "max_rows_per_unit" in refused.stderr and "^^^" in refused.stderr
    assert "INVENTED" in run(folder, "try", text).stdout


def test_questions_of_a_catalog_may_carry_their_offers(folder: Path) -> None:
    checks = 'answered = ["-- within 50\\nSELECT COUNT(*) AS n FROM care", "SELECT COUNT(*) FROM care /* epsilon=2 */"]'
    refused = 'refused = ["SELECT COUNT(*) FROM care /* epsilon=x */"]'
    before = CATALOG.split("[checks]")[0]
    (folder / "dither.toml").write_text(f"{before}[checks]\n{checks}\n{refused}\n", encoding="utf-8")
    run(folder, "check")


def test_a_folder_that_could_not_be_published_into_is_known_before_the_charge(folder: Path) -> None:
    # The answer was charged, shown, and then not published.
    for options in (["--publish", "/proc/out"], ["--publish", "out", "--receipt", "out/receipt.json"]):
        (folder / "out").mkdir(exist_ok=True)
        refused = run(folder, "ask", COUNTS, "--epsilon", "0.5", *options, status=2)
        assert "publish" in refused.stderr and not refused.stdout
        assert not list((folder / "out").iterdir()) and not list(folder.glob("*.ledger"))


def test_from_a_question_to_a_verified_folder(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    options = ("--round-to", "10", "--suppress-below", "500", "--nonnegative", "--reliability")
    shown = run(folder, "ask", COUNTS, "--epsilon", "1", *options, "--publish", "out", "--about").stdout
    assert "< 500" in shown and shown.count("round_to=10") == 2
    entry = json.loads((folder / "out" / "receipt.json").read_text(encoding="utf-8"))["entry"]
    assert f"In the ledger: {entry}. The ledger holds." in run(folder, "verify", "out").stdout

    elsewhere = tmp_path_factory.mktemp("elsewhere")
    shutil.copytree(folder / "out", elsewhere / "out")
    assert "no ledger is at hand" in run(elsewhere, "verify", "out").stdout
    assert "C-1" in run(elsewhere, "verify", "out", "--catalog", "none.toml", status=2).stderr
    data = elsewhere / "out" / "data.json"
    data.write_text(data.read_text(encoding="utf-8").replace("excellent", "splendid"), encoding="utf-8")
    changed = run(elsewhere, "verify", "out", status=2)
    assert "I-122" in changed.stderr and "data.json" in changed.stderr and not changed.stdout
    run(folder, "budget", "verify", "--receipt", "out/receipt.json")


def test_an_entry_that_is_not_in_the_ledger_is_found(folder: Path) -> None:
    run(folder, "ask", COUNTS, "--epsilon", "0.5", "--publish", "first")
    kept = (folder / "dither.ledger").read_bytes()
    run(folder, "ask", COUNTS, "--epsilon", "1", "--publish", "second")
    for name in ("dither.ledger-wal", "dither.ledger-shm"):
        (folder / name).unlink(missing_ok=True)
    (folder / "dither.ledger").write_bytes(kept)
    with sqlite3.connect(folder / "dither.ledger") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert "In the ledger: " in run(folder, "verify", "first").stdout
    assert "L-3" in run(folder, "verify", "second", status=4).stderr


def test_a_receipt_that_borrows_the_signature_of_another_answer_is_found(folder: Path) -> None:
    run(folder, "ask", COUNTS, "--epsilon", "0.5", "--publish", "first")
    run(folder, "ask", "SELECT COUNT(*) FROM care WHERE health = 'good'", "--epsilon", "1", "--publish", "second")
    first, second = (
        json.loads((folder / name / "receipt.json").read_text(encoding="utf-8")) for name in ("first", "second")
    )
    signed = {key: second[key] for key in ("entry", "hash", "digest")}
    for changes in (signed, {"analyst": "somebody"}, {"release": "2"}, {"question": "SELECT COUNT(*) FROM care"}):
        shutil.rmtree(folder / "forged", ignore_errors=True)
        shutil.copytree(folder / "first", folder / "forged")
        data = folder / "forged" / "data.json"
        content = json.loads(data.read_text(encoding="utf-8"))
        content["receipt"] |= changes
        data.write_text(json.dumps(content), encoding="utf-8")
        digests = dict(first["published"]) | {"data.json": hashlib.sha256(data.read_bytes()).hexdigest()}
        forged = first | changes | {"published": list(digests.items())}
        (folder / "forged" / "receipt.json").write_text(json.dumps(forged), encoding="utf-8")
        refused = run(folder, "verify", "forged", status=4).stderr
        assert "L-3" in refused and "another" in refused


def test_a_folder_of_numbers_used_again_names_the_entry_that_measured_them(folder: Path) -> None:
    run(folder, "ask", COUNTS, "--epsilon", "1", "--receipt", "paid.json")
    run(folder, "ask", COUNTS, "--epsilon", "1", "--publish", "out")
    paid = json.loads((folder / "paid.json").read_text(encoding="utf-8"))["entry"]
    checked = run(folder, "verify", "out").stdout
    assert f"In the ledger: {paid}. The ledger holds." in checked and "without a signature" in checked
    for name in folder.glob("dither.ledger*"):
        name.unlink()
    run(folder, "ask", "SELECT COUNT(*) FROM care", "--epsilon", "1")
    assert paid in run(folder, "verify", "out", status=4).stderr


def test_wrong_options_are_refused_before_the_charge(folder: Path) -> None:
    (folder / "taken").mkdir()
    (folder / "taken" / "data.csv").write_text("mine", encoding="utf-8")
    for options in (
        ("--round-to", "0"),
        ("--suppress-below", "few"),
        ("--other", "rest"),
        ("--publish", "taken"),
        ("--within", "50"),
    ):
        refused = run(folder, "ask", COUNTS, "--epsilon", "0.5", *options, status=2)
        assert refused.stderr and not refused.stdout
    assert spent(folder) is None
    assert (folder / "taken" / "data.csv").read_text(encoding="utf-8") == "mine"


def test_an_option_that_does_not_fit_the_answer_leaves_the_answer_shown(folder: Path) -> None:
    done = run(
        folder, "ask", "SELECT AVG(visits) AS m FROM care", "--epsilon", "0.5", "--suppress-below", "5", status=2
    )
    assert "Price: epsilon 0.5" in done.stdout and "suppress_below" in done.stderr


def test_all_intervals_can_hold_together(folder: Path) -> None:
    shown = run(folder, "ask", COUNTS, "--epsilon", "1", "--simultaneous", "--format", "json", "--intervals").stdout
    low, high = json.loads(shown)["rows"][0][2:4]
    assert high - low == 46
