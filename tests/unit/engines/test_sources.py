"""Where rows come from: files of each kind, frames, and what is refused."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dither
from dither.catalog.load import loads
from dither.engines.private_folder import private_folder
from dither.errors import DitherError, EngineError, EngineMismatch, EngineUnavailable
from dither.noise import insecure_seeded
from dither.session.open import open_catalog

ROWS = """SELECT i % 20 AS person, 'g' || (i % 3) AS g, CAST(i AS DOUBLE) / 2 AS x,
  DATE '2024-01-01' + CAST(i % 31 AS INTEGER) AS d FROM range(100) t(i)"""
CATALOG = """
[dataset]
name = "sources"
[source]
url = "{url}"
[unit]
name = "person"
[budget]
epsilon = 1000000
[tables.{table}]
privacy_unit = "person"
max_rows_per_unit = 5
[tables.{table}.columns]
g = {{ type = "text", values = ["g0", "g1", "g2"] }}
x = {{ type = "double", bounds = [0, 50] }}
d = {{ type = "date", bounds = [2024-01-01, 2024-01-31] }}
"""


def answer_of(url: Path, table: str = "visits") -> list[tuple[object, ...]]:
    session = open_catalog(loads(CATALOG.format(url=url, table=table)), ledger="", entropy=insecure_seeded(1))
    question = (
        f"SELECT g, COUNT(*) AS n, SUM(x) AS s FROM {table} WHERE g IS NOT NULL AND d < DATE '2024-01-20' GROUP BY g"
    )
    with session:
        return [(g, n, round(s / 10)) for g, n, s in session.ask(question, epsilon=900000)]


@pytest.fixture
def expected() -> list[tuple[object, ...]]:
    question = f"SELECT g, count(*), sum(x) FROM ({ROWS}) WHERE d < DATE '2024-01-20' GROUP BY g ORDER BY g"
    return [(g, n, round(s / 10)) for g, n, s in duckdb.execute(question).fetchall()]


def test_every_kind_of_file_gives_the_same_answer(tmp_path: Path, expected: list[tuple[object, ...]]) -> None:
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


def test_one_stray_quote_in_a_csv_is_for_the_owner_and_shows_no_value(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text('person,g,x,d\n1,g0,1.5,2024-01-02\n2,"g1,2.5,2024-01-03\n3,g2,3.5,2024-01-04\n')
    with pytest.raises(EngineUnavailable) as caught:
        answer_of(path)
    assert "visits.csv" in str(caught.value) and "g1" not in str(caught.value)


def test_a_value_of_the_wrong_type_in_a_csv_is_null_and_moves_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("person,g,x,d\n1,g0,1.5,2024-01-02\n2,g0,oops,2024-01-03\n3,g0,3.5,2024-01-04\n")
    assert answer_of(path)[0] == ("g0", 3, 0)


def test_a_csv_of_the_same_size_and_date_is_not_answered_from_the_copy_of_another(tmp_path: Path) -> None:
    """The copy's name held size and date only, and stayed for good."""
    path = tmp_path / "visits.csv"
    path.write_text("person,g,x,d\n1,g0,10,2024-01-02\n")
    seen = os.stat(path)
    assert answer_of(path)[0] == ("g0", 1, 1)
    path.unlink()
    path.write_text("person,g,x,d\n1,g0,40,2024-01-02\n")
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert answer_of(path)[0] == ("g0", 1, 4)


@pytest.mark.parametrize(
    ("written", "hour"),
    [("2024-01-02 03:00:00", 3), ("2024-01-02T03:00:00Z", 3), ("2024-01-02 12:00:00+09:00", 3), ("2024-01-01", 0)],
)
def test_a_moment_in_a_csv_is_in_utc_whatever_zone_it_is_written_in(tmp_path: Path, written: str, hour: int) -> None:
    """Its zone was dropped: noon in Tokyo was read as noon in UTC."""
    path = tmp_path / "visits.csv"
    path.write_text(f"person,g,x,d\n1,g0,10,{written}\n")
    text = CATALOG.format(url=path, table="visits")
    catalog = loads(text.replace('"date", bounds = [2024-01-01, 2024-01-31]', '"timestamp"'))
    with open_catalog(catalog, ledger="", entropy=insecure_seeded(1)) as session:
        assert session.ask("SELECT SUM(EXTRACT(HOUR FROM d)) FROM visits", epsilon=900000).scalar() == hour


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"u": range(3), "x": pd.Series(["a", "b\ud800", "c"], dtype="object")}),
        pd.DataFrame({"u": range(5002), "x": pd.Series([1] * 2501 + ["secret"] + [1] * 2500, dtype="object")}),
        pl.DataFrame({"u": range(2), "x": pl.Series([1, 2], dtype=pl.Int128)}),
    ],
)
def test_a_frame_that_cannot_be_read_is_said_when_opened_without_a_value(frame: Any) -> None:
    with pytest.raises(DitherError, match=r"frame cannot be read|data file, or a pandas") as refused:
        dither.open(frame, privacy_unit="u", budget=1)
    assert "secret" not in str(refused.value) and "Another program" not in str(refused.value)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 50, 7]], columns=["u", "A", "a"]),
        pd.DataFrame([[1, 50, 7]], columns=["u", "a", "a"]),
        pl.DataFrame({"u": [1], "A": [50], "a": [7]}),
        pa.table({"u": [1], "A": [50], "a": [7]}),
        pa.table({"u": [1], "A": [50], "a": [7]}).to_reader(),
    ],
)
def test_a_column_of_a_frame_is_not_taken_for_another_that_differs_in_case_alone(frame: Any) -> None:
    """What was asked of `a` was answered from `A`, for DuckDB calls the second one `a_1`."""
    with pytest.raises(EngineMismatch, match="several columns"):
        dither.open(frame, privacy_unit="u", budget=1)


def test_a_table_that_was_exported_twice_is_not_read_twice(tmp_path: Path, expected: list[tuple[object, ...]]) -> None:
    duckdb.execute(f"COPY ({ROWS}) TO '{tmp_path}/visits.parquet' (FORMAT parquet)")
    duckdb.execute(f"COPY ({ROWS}) TO '{tmp_path}/Visits.csv' (FORMAT csv, HEADER)")
    with pytest.raises(EngineUnavailable, match=r"Visits\.csv, visits\.parquet"):
        answer_of(tmp_path)
    (tmp_path / "Visits.csv").unlink()
    assert answer_of(tmp_path) == expected
    (tmp_path / "visits").mkdir()
    os.link(tmp_path / "visits.parquet", tmp_path / "visits" / "1.parquet")
    with pytest.raises(EngineUnavailable, match=r"visits\.parquet, visits/"):
        answer_of(tmp_path)


def test_changing_a_frame_after_opening_changes_no_answer() -> None:
    frame = pd.DataFrame({"u": [1, 2, 3], "x": [1, 2, 3]})
    session = dither.open(
        frame, privacy_unit="u", budget=10**6, max_rows_per_unit=1, bounds={"x": (0, 10)}, entropy=insecure_seeded(2)
    )
    frame.loc[:, "x"] = 10
    assert round(session.ask("SELECT SUM(x) FROM data", epsilon=10**5).scalar()) == 6


def test_a_source_that_changes_between_planning_and_reading_is_a_failure_that_stays_charged(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    duckdb.execute(f"COPY ({ROWS}) TO '{path}' (FORMAT parquet)")
    session = open_catalog(loads(CATALOG.format(url=path, table="visits")), ledger="")
    engine = session.engine
    version, measure = engine._source.version, engine.measure  # type: ignore[attr-defined]
    seen = iter(["before", "after"])

    def measure_while_it_changes(measures: object) -> object:
        engine._source.version = lambda: next(seen, version())  # type: ignore[attr-defined]
        return measure(measures)  # type: ignore[arg-type]

    engine.measure = measure_while_it_changes  # type: ignore[method-assign,assignment]
    with pytest.raises(EngineError, match="could not answer"):
        session.ask("SELECT COUNT(*) FROM visits", epsilon=0.5)
    assert float(session.ledger.spent().epsilon) == 0.5


@pytest.mark.parametrize("how", ["renamed", "written over", "removed"])
def test_a_database_that_was_replaced_is_not_answered_from_the_old_file(tmp_path: Path, how: str) -> None:
    """It was, for as long as the session lived; where it was written over, perhaps from parts of both."""
    path, other = tmp_path / "visits.duckdb", tmp_path / "other.duckdb"
    for place, more in ((path, ""), (other, " WHERE i < 50")):
        with duckdb.connect(str(place)) as connection:
            connection.execute(f"CREATE TABLE visits AS {ROWS}{more}")
    with open_catalog(loads(CATALOG.format(url=path, table="visits")), ledger="") as session:
        assert session.ask("SELECT COUNT(*) FROM visits", epsilon=9000).scalar() == 100
        if how == "renamed":
            os.replace(other, path)
        elif how == "removed":
            path.unlink()
        else:
            shutil.copyfile(other, path)
        with pytest.raises(EngineMismatch, match="replaced"):
            session.ask("SELECT COUNT(x) FROM visits", epsilon=9000)
    if how != "removed":
        with open_catalog(loads(CATALOG.format(url=path, table="visits")), ledger="") as session:
            assert session.ask("SELECT COUNT(*) FROM visits", epsilon=9000).scalar() == 50


def test_the_engine_is_locked(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    duckdb.execute(f"COPY ({ROWS}) TO '{path}' (FORMAT parquet)")
    session = open_catalog(loads(CATALOG.format(url=path, table="visits")), ledger="")
    cursor = session.engine._cursor()  # type: ignore[attr-defined]
    for forbidden in (
        f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
        "SELECT * FROM read_text('/etc/hostname')",
        f"ATTACH '{tmp_path}/other.duckdb'",
        "SET threads = 1",
        "INSTALL httpfs",
    ):
        with pytest.raises(duckdb.Error):
            cursor.execute(forbidden)


def test_a_private_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = private_folder()
    assert stat.S_IMODE(os.stat(made).st_mode) == 0o700
    made.chmod(0o755)
    with pytest.raises(EngineUnavailable, match="can be read by others"):
        private_folder()
