"""Notes of which ledgers protect a source: found where they are, never in the way where they are not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dither.ledger import registry
from dither.ledger.registry import NOTE, other_ledgers, remember


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "dither" / "sources"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    file = folder / "hospital.duckdb"
    file.touch()
    return file


def ledger_file(tmp_path: Path, name: str) -> str:
    path = tmp_path / name
    path.touch()
    return str(path)


def kinds(source: object, ledger: str, identity: str | None) -> list[tuple[str, str]]:
    found = other_ledgers(str(source), ledger=ledger, identity=identity)
    return sorted((Path(other.location).name, other.kind) for other in found)


def test_a_second_ledger_of_the_same_file_is_found_and_the_own_is_not(tmp_path: Path, source: Path) -> None:
    a, b = ledger_file(tmp_path, "a.ledger"), ledger_file(tmp_path, "b.ledger")
    assert remember(str(source), ledger=a, identity="A", dataset="hospital")
    assert kinds(source, a, "A") == []
    assert kinds(source, b, "B") == [("a.ledger", "other")]
    assert remember(str(source), ledger=b, identity="B", dataset="hospital-2")
    assert kinds(source, a, "A") == [("b.ledger", "other")]
    (other,) = other_ledgers(str(source), ledger=a, identity="A")
    assert "'hospital-2'" in other.sentence and "budgets add" in other.sentence


def test_another_file_beside_it_is_another_source(tmp_path: Path, source: Path) -> None:
    remember(str(source), ledger=ledger_file(tmp_path, "a.ledger"), identity="A", dataset="hospital")
    assert kinds(source.with_name("school.duckdb"), ledger_file(tmp_path, "b.ledger"), "B") == []


@pytest.mark.parametrize("whole", ["", "*.duckdb"])
def test_a_folder_and_a_file_in_it_are_the_same_source(tmp_path: Path, source: Path, whole: str) -> None:
    a, b = ledger_file(tmp_path, "a.ledger"), ledger_file(tmp_path, "b.ledger")
    folder = source.parent / whole if whole else source.parent
    remember(str(folder), ledger=a, identity="A", dataset="hospital")
    assert kinds(source, b, "B") == [("a.ledger", "other")]
    remember(str(source), ledger=b, identity="B", dataset="hospital-2")
    assert kinds(folder, a, "A") == [("b.ledger", "other")]


def test_a_link_to_the_file_is_the_same_source(tmp_path: Path, source: Path) -> None:
    link = tmp_path / "elsewhere.duckdb"
    link.symlink_to(source)
    remember(str(source), ledger=ledger_file(tmp_path, "a.ledger"), identity="A", dataset="hospital")
    assert kinds(link, ledger_file(tmp_path, "b.ledger"), "B") == [("a.ledger", "other")]


def test_a_deleted_ledger_still_spent_what_it_spent(tmp_path: Path, source: Path) -> None:
    a = ledger_file(tmp_path, "a.ledger")
    remember(str(source), ledger=a, identity="A", dataset="hospital")
    os.unlink(a)
    assert kinds(source, a, None) == [("a.ledger", "gone")]
    Path(a).touch()
    assert kinds(source, a, "A2") == [("a.ledger", "gone")]
    assert kinds(source, ledger_file(tmp_path, "b.ledger"), "B") == [("a.ledger", "other")]


def test_a_moved_ledger_is_the_same_and_a_copied_one_is_told(tmp_path: Path, source: Path) -> None:
    a = ledger_file(tmp_path, "a.ledger")
    remember(str(source), ledger=a, identity="A", dataset="hospital")
    moved = str(tmp_path / "moved.ledger")
    os.rename(a, moved)
    assert kinds(source, moved, "A") == []
    remember(str(source), ledger=moved, identity="A", dataset="hospital")
    assert len(json.loads((source.parent / NOTE).read_text())["ledgers"]) == 1
    copy = ledger_file(tmp_path, "copy.ledger")
    assert kinds(source, copy, "A") == [("moved.ledger", "copy")]
    remember(str(source), ledger=copy, identity="A", dataset="hospital")
    assert kinds(source, moved, "A") == [("copy.ledger", "copy")]


def test_a_note_says_no_more_than_places_ledgers_and_data_sets(tmp_path: Path, source: Path) -> None:
    for _ in range(2):
        remember(str(source), ledger="postgresql://ada:secret@db/ledger", identity="A", dataset="hospital")
    stored = json.loads((source.parent / NOTE).read_text())
    line = {"source": source.name, "ledger": "postgresql://ada@db/ledger", "id": "A", "dataset": "hospital"}
    assert stored == {"format": "dither ledgers 1", "ledgers": [line]}
    assert [file.name for file in source.parent.iterdir() if file.suffix == ".new"] == []


def test_a_note_cannot_steer_the_terminal(tmp_path: Path, source: Path) -> None:
    remember(str(source), ledger=str(tmp_path / "a\x1b[2J.ledger"), identity="A", dataset="x\x07")
    (other,) = other_ledgers(str(source), ledger=str(tmp_path / "b.ledger"), identity="B")
    assert other.sentence.isprintable() and "[2J" in other.sentence


def test_where_the_folder_cannot_be_written_the_note_is_in_the_state_folder(
    tmp_path: Path, source: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = ledger_file(tmp_path, "a.ledger"), ledger_file(tmp_path, "b.ledger")
    # Root may write anywhere, so a folder in the note's place stands for a closed door.
    (source.parent / NOTE).mkdir()
    assert remember(str(source), ledger=a, identity="A", dataset="hospital")
    assert len(list(state.iterdir())) == 1
    assert kinds(source, b, "B") == [("a.ledger", "other")]


def test_a_database_on_a_server_is_known_by_its_name(tmp_path: Path, state: Path) -> None:
    a, b = ledger_file(tmp_path, "a.ledger"), ledger_file(tmp_path, "b.ledger")
    remember("postgresql://ada@db.example:5432/hospital", ledger=a, identity="A", dataset="hospital")
    assert kinds("postgres://bob@DB.example/hospital?sslmode=require", b, "B") == [("a.ledger", "other")]
    assert kinds("postgresql://db.example/school", b, "B") == []


@pytest.mark.parametrize("content", ["", "not json", "[]", '{"format": "of another program"}', '{"ledgers": 3}'])
def test_a_file_that_is_no_note_is_left_alone_and_stops_nothing(
    tmp_path: Path, source: Path, state: Path, content: str
) -> None:
    (source.parent / NOTE).write_text(content)
    assert remember(str(source), ledger=ledger_file(tmp_path, "a.ledger"), identity="A", dataset="hospital")
    assert (source.parent / NOTE).read_text() == content and state.exists()
    assert kinds(source, ledger_file(tmp_path, "b.ledger"), "B") == [("a.ledger", "other")]


def test_without_any_place_for_a_note_nothing_happens(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_state_notes", lambda place: ())
    (source.parent / NOTE).mkdir()
    assert remember(str(source), ledger="a.ledger", identity="A", dataset="hospital") is False
    assert kinds(source, "b.ledger", "B") == []


@pytest.mark.parametrize("source", ["", "\0", "no/such/folder/file.duckdb", "~nobody-at-all/x", "postgresql://[broken"])
def test_odd_sources_raise_nothing(source: str, tmp_path: Path) -> None:
    remember(source, ledger=str(tmp_path / "a.ledger"), identity="A", dataset="hospital")
    other_ledgers(source, ledger="", identity=None)


def test_a_ledger_in_memory_leaves_no_note_but_learns_of_others(tmp_path: Path, source: Path) -> None:
    assert remember(str(source), ledger="", identity="M", dataset="frame") is False
    assert not (source.parent / NOTE).exists()
    remember(str(source), ledger=ledger_file(tmp_path, "a.ledger"), identity="A", dataset="hospital")
    assert kinds(source, "", "M") == [("a.ledger", "other")]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("what", ["pipe", "folder", "link", "huge", "device", "dangling link"])
def test_whatever_else_lies_where_a_note_would_be_is_neither_followed_nor_waited_for_nor_changed(
    tmp_path: Path, source: Path, what: str
) -> None:
    note, a = source.parent / NOTE, ledger_file(tmp_path, "a.ledger")
    elsewhere = tmp_path / "elsewhere.json"
    line = {"source": source.name, "ledger": str(tmp_path / "b.ledger"), "id": "B", "dataset": "b"}
    elsewhere.write_text(json.dumps({"format": "dither ledgers 1", "ledgers": [line]}))
    match what:
        case "pipe":
            os.mkfifo(note)
        case "folder":
            note.mkdir()
        case "link":
            note.symlink_to(elsewhere)
        case "huge":
            with open(note, "wb") as file:
                file.truncate(1 << 40)
        case "device":
            note.symlink_to("/dev/zero")
        case _:
            note.symlink_to(tmp_path / "nothing")
    before = os.lstat(note)
    assert kinds(source, a, "A") == []
    # The user's own folder takes the note instead.
    assert remember(str(source), ledger=a, identity="A", dataset="hospital")
    after = os.lstat(note)
    assert (after.st_ino, after.st_mode, after.st_size) == (before.st_ino, before.st_mode, before.st_size)
