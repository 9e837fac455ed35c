"""The export of a ledger is checked and added up by the script in its documentation, which knows nothing of Dither."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from dither.accounting.price import Price
from dither.catalog.model import BudgetTerms
from dither.ledger.elsewhere import outside_release

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "ledger-export.md"


def documented() -> str:
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return code


def checked(lines: list[str], tmp_path: Path) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "ledger.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    # -I: without the source tree on the path, so that it cannot lean on ours.
    return subprocess.run(
        [sys.executable, "-I", "-c", documented(), str(file)], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def lines(open_ledger, question, measured) -> list[str]:
    """The export of a ledger with every kind of row, Gaussian noise and prices that do not add to round numbers."""
    ledger = open_ledger(budget=BudgetTerms(epsilon=Fraction(9), delta=Fraction(1, 10**6)))
    ledger.answer(ledger.reserve(question("1/3")), measured())
    ledger.void(ledger.reserve(question("1/7")), "why")
    ledger.fail(ledger.reserve(question("0.1")))
    ledger.record_reuse("bob", ledger.released("v" * 64, "1")[0], measured()[0].price)
    ledger.grant(epsilon=1, reason="more")
    ledger.grant(epsilon="0.5", analyst="bob", reason="more")
    ledger.unfreeze("ada", reason="looked")
    ledger.record_refusal("ada", "SELECT 'ε' FROM visits", "S-104")
    ledger.open_release("2")
    ledger.adopt_promise("a" * 64, "the same again")
    told = {"who": "Dr. Roe", "when": "2026-01-02", "reason": 'Träger\'s "paper"'}
    ledger.import_releases(
        [
            outside_release(name="poster", epsilon="0.123456789012345678", delta="1e-20", analyst="bob", **told),
            outside_release(name="atlas", epsilon="1e-17", **told),
        ]
    )
    sister = open_ledger("", dataset="hospital-2")
    sister.reserve(question("1/11"))
    ledger.merge(sister, reason="one now")
    ledger.reserve(question(None, release="2", price=Price(None, rho=Fraction(1, 999))))
    ledger.charge_worst_case("a copy was put back")
    return list(ledger.export())


def test_the_documented_script_re_adds_the_ledger(lines, tmp_path) -> None:
    done = checked(lines, tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{len(lines) - 2} rows hold" in done.stdout
    kinds = {json.loads(line)["kind"] for line in lines[1:-1]}
    assert kinds == {
        "created", "reserved", "answered", "void", "failed", "reused", "granted", "unfrozen", "release", "promise",
        "imported", "merged", "restored", "refused",
    }  # fmt: skip


def test_the_totals_are_those_the_ledger_goes_by(open_ledger, question, tmp_path) -> None:
    ledger = open_ledger()
    for epsilon in ("1/3", "0.1", "2/7"):
        ledger.reserve(question(epsilon))
    last = json.loads(list(ledger.export())[-1])
    assert last["levels"]["dataset"]["epsilon"] == str(ledger.spent().epsilon) == "151/210"
    assert last["levels"]["analyst:ada"]["rho"] == str(ledger.spent("ada").rho)
    assert last["head"] == ledger.verify().head


@pytest.mark.parametrize(
    ("number", "old", "new"),
    [
        (2, "1/3", "1/4"),
        (2, '"kind":"reserved"', '"kind":"answered"'),
        (4, '"analyst":"ada"', '"analyst":"eve"'),
        (-2, '"sign":1', '"sign":0'),
        (-1, '"gaussians":2', '"gaussians":1'),
    ],
)
def test_the_script_notices_what_was_changed(lines, tmp_path, number, old, new) -> None:
    assert old in lines[number]
    lines[number] = lines[number].replace(old, new)
    done = checked(lines, tmp_path)
    assert done.returncode != 0 and "AssertionError" in done.stderr


@pytest.mark.parametrize("number", [1, 3, -2, -1])
def test_the_script_notices_a_lost_line(lines, tmp_path, number) -> None:
    del lines[number]
    assert checked(lines, tmp_path).returncode != 0


def test_the_key_and_the_noisy_answers_stay_behind(open_ledger, question, measured) -> None:
    ledger = open_ledger()
    ledger.answer(ledger.reserve(question()), measured(payload=b"twenty-seven patients"))
    text = "\n".join(ledger.export())
    assert ledger._key.hex() not in text
    assert "twenty-seven" not in text and b"twenty-seven patients".hex() not in text


def test_a_closed_ledger_exports_its_end(open_ledger, question, tmp_path) -> None:
    ledger, sister = open_ledger(), open_ledger("", dataset="hospital-2")
    sister.reserve(question())
    ledger.merge(sister, reason="one now")
    lines = list(sister.export())
    assert json.loads(lines[-2])["kind"] == "closed"
    assert checked(lines, tmp_path).returncode == 0
