"""What was chosen privately, read back: only what could have been chosen is ever taken for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import dither
from dither.errors import CatalogError

Opener = Callable[[], dither.Session]


@pytest.fixture
def opener(tmp_path: Path) -> Opener:
    source = tmp_path / "t.parquet"
    pd.DataFrame({"u": [i % 50 for i in range(500)], "x": [float(i % 7) for i in range(500)]}).to_parquet(source)
    return lambda: dither.open(source, privacy_unit="u", budget=1000, ledger=tmp_path / "a.ledger")


@pytest.fixture
def tuned(opener: Opener, tmp_path: Path) -> Path:
    with opener() as session:
        session.ask("SELECT SUM(x) FROM t", epsilon=200)
    return tmp_path / "a.tuned.json"


def test_what_was_chosen_holds_in_the_next_session(opener: Opener, tuned: Path) -> None:
    stored = json.loads(tuned.read_text(encoding="utf-8"))
    with opener() as session:
        assert session.taus == {"t": stored["tables"]["t"]["max_rows"]}
        assert session.bounds == {("t", "x"): tuple(stored["columns"]["t"]["x"])}
        assert session.explain("SELECT SUM(x) FROM t", epsilon=200)


@pytest.mark.parametrize("rows", [0, -5, 2.7, True, "7", None, 10_001, 10**30, float("nan")], ids=str)
def test_rows_that_could_not_have_been_chosen_are_refused(opener: Opener, tuned: Path, rows: object) -> None:
    # Zero rows would be answered as zero, surely; nothing in the answer would say why.
    stored = json.loads(tuned.read_text(encoding="utf-8"))
    stored["tables"]["t"]["max_rows"] = rows
    tuned.write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(CatalogError, match="tuned"):
        opener()


@pytest.mark.parametrize(
    "ends",
    [[0, 0], [5, 1], [float("nan"), 1], [0, float("inf")], ["0", "1"], [0, 1, 2], [False, 7], {}, None],
    ids=str,
)
def test_bounds_that_could_not_have_been_chosen_are_refused(opener: Opener, tuned: Path, ends: object) -> None:
    stored = json.loads(tuned.read_text(encoding="utf-8"))
    stored["columns"]["t"]["x"] = ends
    tuned.write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(CatalogError, match="tuned"):
        opener()


@pytest.mark.parametrize("text", ["[]", '"x"', "{", "{}", "[" * 100_000, '{"promise": 1}'], ids=lambda text: text[:5])
def test_what_is_no_such_file_is_refused_also_where_a_choice_was_just_paid_for(
    opener: Opener, tuned: Path, text: str
) -> None:
    good = tuned.read_text(encoding="utf-8")
    if text != '{"promise": 1}':
        tuned.write_text(text, encoding="utf-8")
        with pytest.raises(CatalogError, match="tuned"):
            opener()
        tuned.unlink()
        with opener() as session:
            tuned.write_text(text, encoding="utf-8")
            with pytest.raises(CatalogError, match="tuned"):
                session.ask("SELECT COUNT(*) FROM t", epsilon=100)
            assert tuned.read_text(encoding="utf-8") == text
            # It was paid for once; the question itself is what is paid for now.
            assert session.ask("SELECT COUNT(*) FROM t", epsilon=100).charged.epsilon == 100
    else:
        # Of another promise: not ours to read, and never used.
        tuned.write_text(json.dumps(json.loads(good) | {"promise": 1, "tables": 0}), encoding="utf-8")
        with opener() as session:
            assert not session.taus and not session.bounds


def test_a_choice_that_cannot_be_kept_is_said_and_is_not_paid_for_again(opener: Opener, tuned: Path) -> None:
    tuned.unlink()
    with opener() as session:
        tuned.mkdir()
        with pytest.raises(CatalogError):
            session.ask("SELECT COUNT(*) FROM t", epsilon=100)
        tuned.rmdir()
        assert session.ask("SELECT COUNT(*) FROM t", epsilon=100).charged.epsilon == 100
