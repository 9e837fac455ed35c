"""A published folder: complete, self-contained, checkable, and never written over anything."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import dither
from dither.answer.publish import NAMES, RECEIPT, check_folder, check_place
from dither.errors import InvalidParameter

COUNTS = 'SELECT region AS "<i>`r`", COUNT(*) AS n FROM people GROUP BY region'


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dither.Answer]:
    file = tmp_path_factory.mktemp("people") / "people.parquet"
    with duckdb.connect(":memory:") as connection:
        rows = "SELECT i AS person, CASE WHEN i % 3 = 0 THEN '<b>&' ELSE 'east' END AS region FROM range(60) AS x(i)"
        connection.execute(f"COPY ({rows}) TO '{file}' (FORMAT parquet)")
    with dither.open(
        file, privacy_unit="person", budget=1000, max_rows_per_unit=1, values={"region": ["<b>&", "east"]}
    ) as opened:
        yield opened.ask(COUNTS, epsilon=1)


def test_a_folder_holds_all_and_checks(answer: dither.Answer, tmp_path: Path) -> None:
    written = answer.publish(tmp_path / "a" / "b")
    assert {path.name for path in written} == {*NAMES, RECEIPT}
    found = check_folder(tmp_path / "a" / "b")
    assert found.receipt.entry == answer.receipt.entry and found.receipt.question == COUNTS
    assert dither.Receipt.load(written[-1]).to_dict().keys() == found.receipt.to_dict().keys()


def test_the_page_loads_nothing_and_escapes(answer: dither.Answer, tmp_path: Path) -> None:
    answer.publish(tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"(src=|href=|@import|url\(|<script)", page)
    assert "&lt;b&gt;&amp;" in page and "<b>&" not in page and "<i>" not in page
    readme = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "\n    SELECT region" in readme and "`<i>'r'`: group" in readme


def test_the_data_are_those_shown_with_their_options(answer: dither.Answer, tmp_path: Path) -> None:
    view = answer.present(round_to=5, reliability=True)
    view.publish(tmp_path / "out")
    with (tmp_path / "out" / "data.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header[1:] == ["n", "n_low", "n_high", "n_reliability"]
    assert [int(row[1]) for row in rows] == [row[1] for row in view.rows()]
    stored = json.loads((tmp_path / "out" / "data.json").read_text(encoding="utf-8"))
    assert any("round_to=5" in note for note in stored["notes"]) and stored["columns"] == header
    assert "round_to=5" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_written_over(answer: dither.Answer, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidParameter) as refused:
        answer.publish(tmp_path)
    assert refused.value.code == "I-121" and name in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text(encoding="utf-8") == "mine"


def test_a_link_to_nowhere_and_a_file_in_place_of_the_folder_are_in_the_way(
    answer: dither.Answer, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / RECEIPT).symlink_to(tmp_path / "elsewhere")
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    for place in ("out", "file", "file/out"):
        with pytest.raises(InvalidParameter) as refused:
            answer.publish(tmp_path / place)
        assert refused.value.code == "I-121"
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("name", ["/proc/out", "x" * 300, "a/" + "y" * 300 + "/b", "nul\0", "/dev/null/out"])
def test_a_folder_that_cannot_be_made_is_known_beforehand_and_nothing_is_left(tmp_path: Path, name: str) -> None:
    # It was found out after the answer had been paid for.
    with pytest.raises(InvalidParameter) as refused:
        check_place(tmp_path / name)
    assert refused.value.code == "I-121" and not list(tmp_path.iterdir())


def test_a_folder_that_can_be_made_is_not_made_by_looking(tmp_path: Path) -> None:
    check_place(tmp_path / "a" / "b")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_one_changed_or_missing_file_is_found(answer: dither.Answer, tmp_path: Path, name: str) -> None:
    answer.publish(tmp_path / "out")
    path = tmp_path / "out" / name
    content = path.read_bytes()
    path.write_bytes(content.replace(b"e", b"E", 1))
    with pytest.raises(InvalidParameter) as refused:
        check_folder(tmp_path / "out")
    assert refused.value.code == "I-122" and refused.value.name == name
    path.unlink()
    with pytest.raises(InvalidParameter) as refused:
        check_folder(tmp_path / "out")
    assert refused.value.name == name
    path.write_bytes(content)
    check_folder(tmp_path / "out")


def test_a_receipt_of_another_answer_is_found(answer: dither.Answer, tmp_path: Path) -> None:
    answer.publish(tmp_path / "out")
    receipt = tmp_path / "out" / RECEIPT
    stored = json.loads(receipt.read_text(encoding="utf-8"))
    for change in ({"entry": "another"}, {"published": []}, {"published": [["data.csv", "0"]]}):
        receipt.write_text(json.dumps(stored | change), encoding="utf-8")
        with pytest.raises(InvalidParameter):
            check_folder(tmp_path / "out")
    receipt.write_text("[]", encoding="utf-8")
    with pytest.raises(InvalidParameter):
        check_folder(tmp_path / "out")
    with pytest.raises(InvalidParameter):
        check_folder(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "change",
    [
        {"entry": 5}, {"hash": 5}, {"digest": "é"}, {"question": None}, {"rho": 1}, {"vectors": [{"what": 1}]},
        {"vectors": {}}, {"versions": [["a"]]}, {"assertions": [1]}, {"published": {"a": 1}}, {"ledger": []},
        {"more": 1}, {"analyst": ["a"]},
    ],
    ids=str,
)  # fmt: skip
def test_a_receipt_whose_fields_are_of_another_kind_is_refused(
    answer: dither.Answer, tmp_path: Path, change: dict[str, object]
) -> None:
    path = tmp_path / "receipt.json"
    stored = answer.receipt.to_dict()
    path.write_text(json.dumps(stored), encoding="utf-8")
    assert dither.Receipt.load(path) == answer.receipt
    path.write_text(json.dumps(stored | change), encoding="utf-8")
    with pytest.raises(InvalidParameter, match="receipt"):
        dither.Receipt.load(path)


@pytest.mark.parametrize("text", ['"x"', "5", "null", "[" * 100_000])
def test_what_is_no_receipt_at_all_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / RECEIPT).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidParameter):
        check_folder(tmp_path)


@pytest.mark.parametrize("name", [*NAMES, RECEIPT])
def test_a_pipe_or_a_device_in_place_of_a_file_is_refused_unread(
    answer: dither.Answer, tmp_path: Path, name: str
) -> None:
    # A folder from somebody else: reading these would never end.
    answer.publish(tmp_path / "out")
    path = tmp_path / "out" / name
    for put in (os.mkfifo, lambda place: place.symlink_to("/dev/zero")):
        path.unlink()
        put(path)
        with pytest.raises(InvalidParameter):
            check_folder(tmp_path / "out")
