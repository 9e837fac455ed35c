"""The notebooks in examples/ run from top to bottom, say what their text says, and are kept without outputs."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def cells_of(notebook: Path, kind: str) -> list[dict[str, Any]]:
    stored = json.loads(notebook.read_text(encoding="utf-8"))
    return [cell for cell in stored["cells"] if cell["cell_type"] == kind]


def test_there_is_a_notebook() -> None:
    assert "attack_lab.ipynb" in {notebook.name for notebook in NOTEBOOKS}


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_without_outputs(notebook: Path) -> None:
    stored = json.loads(notebook.read_text(encoding="utf-8"))
    assert (stored["nbformat"], stored["nbformat_minor"]) == (4, 5)
    identities = [cell["id"] for cell in stored["cells"]]
    assert len(identities) == len(set(identities))
    for cell in cells_of(notebook, "code"):
        assert (cell["outputs"], cell["execution_count"]) == ([], None)
        ast.parse("".join(cell["source"]))


def test_the_attack_lab_runs_and_shows_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cells run in order in one namespace, as in a kernel: nbclient is not needed for that."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for number, cell in enumerate(cells_of(EXAMPLES / "attack_lab.ipynb", "code"), 1):
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    shown = capsys.readouterr().out
    assert "Q5 = 3, Q4 = 2, Q5 - Q4 = 1" in shown
    assert 0.4 < names["right"] < names["lab"].bounds.accuracy(1)
    assert names["bare"].value > 0.6 > names["kept"].value
    assert "99 of 100 refused" not in shown and "198 of 200 refused" in shown
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert report.startswith("<!doctype html>") and report.count("<svg") == 2
    assert "ABOVE BOUND" in report
