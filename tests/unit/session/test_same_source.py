"""Whoever owns a source is told of every ledger that protects it; nobody else is, and nothing depends on it."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import pytest

import dither
from dither.catalog.load import load
from dither.ledger.registry import NOTE
from dither.session.open import open_catalog
from dither.session.same_source import look_beside
from support.health import DATA, health_catalog

ANALYSTS = "[analysts.research]\nepsilon = 1\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shutil.copy(DATA, tmp_path)
    for name in ("first", "second"):
        (tmp_path / f"{name}.toml").write_text(health_catalog(name=name), encoding="utf-8")
    return tmp_path


def test_opening_a_second_catalog_warns_and_says_what_it_means(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dither.open(folder / "first.toml").close()
        dither.open(folder / "first.toml").close()
    with pytest.warns(UserWarning, match=r"data set 'first'.*budgets add"):
        session = dither.open(folder / "second.toml")
    assert [other.dataset for other in session.other_ledgers] == ["first"]
    session.close()
    with pytest.warns(UserWarning, match="data set 'second'"):
        dither.open(folder / "first.toml").close()


def test_an_analyst_is_not_warned(folder: Path) -> None:
    dither.open(folder / "first.toml").close()
    text = (folder / "second.toml").read_text() + ANALYSTS
    (folder / "second.toml").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dither.open(folder / "second.toml", analyst="research").close()
    assert [other.dataset for other in look_beside(load(folder / "second.toml"))] == ["first"]


def test_a_deleted_ledger_is_not_forgotten(folder: Path) -> None:
    dither.open(folder / "first.toml").close()
    for file in folder.glob("first.ledger*"):
        file.unlink()
    assert [other.kind for other in look_beside(load(folder / "first.toml"))] == ["gone"]
    with pytest.warns(UserWarning, match="no longer there"):
        dither.open(folder / "first.toml").close()


def test_a_merged_ledger_is_no_longer_another_one(folder: Path) -> None:
    first = open_catalog(load(folder / "first.toml"))
    second = open_catalog(load(folder / "second.toml"))
    assert look_beside(load(folder / "first.toml"))
    first.ledger.merge(second.ledger, reason="one now")
    first.close()
    second.close()
    assert not look_beside(load(folder / "first.toml")) and not look_beside(load(folder / "second.toml"))


def test_two_parts_go_on_being_told_of_each_other(folder: Path) -> None:
    first = open_catalog(load(folder / "first.toml"))
    second = open_catalog(load(folder / "second.toml"))
    second.ledger.inherit(first.ledger, reason="children apart")
    first.close()
    second.close()
    assert [other.dataset for other in look_beside(load(folder / "second.toml"))] == ["first"]
    assert [other.dataset for other in look_beside(load(folder / "first.toml"))] == ["second"]


def test_a_file_without_catalog_and_a_ledger_in_memory_learn_of_the_others(folder: Path) -> None:
    dither.open(folder / "first.toml").close()
    with pytest.warns(UserWarning, match="data set 'first'"):
        dither.open(folder / "randhie.parquet", privacy_unit="person", budget=1, max_rows_per_unit=5).close()
    assert (folder / NOTE).read_text().count('"dataset"') == 1


def test_answers_do_not_depend_on_notes(folder: Path) -> None:
    (folder / NOTE).write_text("rubbish")
    (folder / "state").write_text("no folder")
    with dither.open(folder / "first.toml") as session:
        assert session.other_ledgers == ()
        session.ask("SELECT COUNT(*) FROM care", epsilon=1)
    assert (folder / NOTE).read_text() == "rubbish"


def test_looking_leaves_nothing_behind(folder: Path) -> None:
    before = sorted(path.name for path in folder.iterdir())
    assert look_beside(load(folder / "first.toml")) == ()
    assert sorted(path.name for path in folder.iterdir()) == before
