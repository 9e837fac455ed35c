"""Offers and wishes of hundreds of digits, and what an explanation says of Gaussian noise in each kind of budget."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import dither
from dither.cli import main

CATALOG = """
[dataset]
name = "x"
[source]
url = "d.parquet"
[unit]
name = "person"
[budget]
{budget}
[tables.d]
privacy_unit = "u"
max_rows_per_unit = 1
[tables.open]
source = "d"
privacy_unit = "u"
[tables.open.columns]
g = {{ type = "integer", bounds = [0, 1] }}
[tables.d.columns]
g = {{ type = "integer", bounds = [0, 1] }}
h = {{ type = "integer", bounds = [0, 2] }}
"""
QUESTION = "SELECT g, h, COUNT(*) AS n FROM d GROUP BY CUBE (g, h)"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    duckdb.sql(f"COPY (SELECT i AS u, i % 2 AS g, i % 3 AS h FROM range(50) AS r(i)) TO '{tmp_path}/d.parquet'")
    (tmp_path / "dither.toml").write_text(CATALOG.format(budget="rho = 4"), encoding="utf-8")
    (tmp_path / "plain.sql").write_text(QUESTION, encoding="utf-8")
    (tmp_path / "wide.sql").write_text(f"-- within 1e400\n{QUESTION}", encoding="utf-8")
    (tmp_path / "narrow.sql").write_text(f"-- within 1e-400\n{QUESTION}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    yield tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["ask", QUESTION, "--rho", "1e400"], ["explain", QUESTION, "--rho", "1e400"],
        ["explain", QUESTION, "--epsilon", "1e400"], ["explain", f"{QUESTION} -- rho 1e400\n"],
        ["ask", QUESTION, "--rho", "0.1", "--round-to", "1e400"],
        ["ask", QUESTION, "--rho", "0.1", "--suppress-below", "1e-400"],
        ["ask", QUESTION, "--within", "3", "--at-most", "1e400"], ["ask", QUESTION, "--within", "1e400"],
        ["tune", "open", "--epsilon", "1e400", "--yes"],
        ["tune", "open", "--epsilon", "1", "--for-epsilon", "1e400", "--yes"],
        ["ask-many", "plain.sql", "--rho", "1e400"], ["budget", "plan", "plain.sql", "--rho", "1e400"],
        ["budget", "plan", "wide.sql", "--rho", "1"], ["budget", "plan", "narrow.sql", "--rho", "1"],
    ],
)  # fmt: skip
def test_a_number_of_hundreds_of_digits_is_one_error(
    folder: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    # An OverflowError where a share of it, or the wish, was made a float.
    assert main(command) == 2
    assert "does not know" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ("rho = 4", None), ("epsilon = 4", "cannot pay for Gaussian noise"),
        ("epsilon = 4\ndelta = 1e-7", "closes the epsilon meter"),
    ],
)  # fmt: skip
def test_an_explanation_says_what_gaussian_noise_does_to_this_budget(
    folder: Path, budget: str, said: str | None
) -> None:
    # A budget of rho was said to lose an epsilon meter that it does not have.
    (folder / "dither.toml").write_text(CATALOG.format(budget=budget), encoding="utf-8")
    with dither.open(folder / "dither.toml") as db:
        notes = [note for note in db.explain(QUESTION, rho="0.1").notes if "Gaussian noise" in note]
        assert len(notes) == (said is not None) and (said is None or said in notes[0])
        if "epsilon alone" in "".join(notes):
            with pytest.raises(dither.errors.BudgetExceeded):
                db.ask(QUESTION, rho="0.1")
        elif said is not None:
            assert db.ask(QUESTION, rho="0.1").charged.rho > 0
