"""Copies of CSV files hold people's records: there is one for each file as it is now, and none of what is gone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import duckdb
import pytest

from dither.catalog.load import loads
from dither.catalog.model import Table
from dither.engines.csv_copy import parquet_of

CATALOG = """
[dataset]
name = "d"
[source]
url = "{path}"
[unit]
name = "person"
[budget]
epsilon = 1
[tables.visits]
privacy_unit = "u"
max_rows_per_unit = 1
[tables.visits.columns]
age = {{ type = "{type}", bounds = [0, 99] }}
"""


@pytest.fixture(autouse=True)
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / f"dither-{os.getuid()}"


def table(path: Path, type: str = "integer") -> Table:
    return loads(CATALOG.format(path=path, type=type)).tables["visits"]


def copies(private: Path) -> set[str]:
    return {str(path) for path in private.glob("*.parquet")}


def test_one_copy_serves_until_the_file_changes_and_is_then_removed(tmp_path: Path, private: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("u,age\n1,40\n")
    first = parquet_of(path, table(path), {})
    assert stat.S_IMODE(os.stat(first).st_mode) == 0o600
    before = os.stat(first).st_mtime_ns
    assert parquet_of(path, table(path), {}) == first
    assert os.stat(first).st_mtime_ns == before
    path.write_text("u,age\n1,41\n2,30\n")
    second = parquet_of(path, table(path), {})
    assert copies(private) == {second} != {first}
    assert duckdb.sql(f"SELECT age FROM '{second}' ORDER BY u").fetchall() == [(41,), (30,)]


def test_another_reading_of_the_file_keeps_its_own_copy(tmp_path: Path, private: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("u,age\n1,40\n")
    as_integers, as_doubles = (parquet_of(path, table(path, type), {}) for type in ("integer", "double"))
    assert copies(private) == {as_integers, as_doubles}
    assert parquet_of(path, table(path), {}) == as_integers


@pytest.mark.parametrize("name", ["visits.csv", "it's 50% of 'visits', 就诊.csv"])
def test_a_copy_of_a_file_that_is_gone_goes_when_another_is_made(tmp_path: Path, private: Path, name: str) -> None:
    gone, stays, new = (tmp_path / folder / name for folder in ("gone", "stays", "new"))
    for path in (gone, stays, new):
        path.parent.mkdir()
        path.write_text("u,age\n1,40\n")
    old, kept = (parquet_of(path, table(path), {}) for path in (gone, stays))
    gone.unlink()
    assert copies(private) == {old, kept}
    made = parquet_of(new, table(new), {})
    assert copies(private) == {kept, made}
