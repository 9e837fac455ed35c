"""Which source a location is: files of each kind, folders, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from dither.errors import EngineUnavailable
from support.visits import ROWS, answer_of, expected_answer


def test_every_kind_of_file_gives_the_same_answer(tmp_path: Path) -> None:
    expected = expected_answer()
    database = tmp_path / "source.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"CREATE TABLE visits AS {ROWS}")
    duckdb.execute(f"COPY ({ROWS}) TO '{tmp_path}/visits.parquet' (FORMAT parquet)")
    folder = tmp_path / "folder"
    folder.mkdir()
    duckdb.execute(f"COPY ({ROWS}) TO '{folder}/visits.csv' (FORMAT csv, HEADER)")
    assert answer_of(database) == expected
    assert answer_of(tmp_path / "visits.parquet") == expected
    assert answer_of(folder) == expected


def test_a_table_that_was_exported_twice_is_not_read_twice(tmp_path: Path) -> None:
    duckdb.execute(f"COPY ({ROWS}) TO '{tmp_path}/visits.parquet' (FORMAT parquet)")
    duckdb.execute(f"COPY ({ROWS}) TO '{tmp_path}/Visits.csv' (FORMAT csv, HEADER)")
    with pytest.raises(EngineUnavailable, match=r"Visits\.csv, visits\.parquet"):
        answer_of(tmp_path)
    (tmp_path / "Visits.csv").unlink()
    assert answer_of(tmp_path) == expected_answer()
    (tmp_path / "visits").mkdir()
    os.link(tmp_path / "visits.parquet", tmp_path / "visits" / "1.parquet")
    with pytest.raises(EngineUnavailable, match=r"visits\.parquet, visits/"):
        answer_of(tmp_path)
