"""What DuckDB would do unasked when it opens a file: fetch programs, read folders' names, read other files."""

from __future__ import annotations

import shutil
import socket
import sqlite3
import threading
from pathlib import Path

import duckdb
import pytest

import dither
from dither.cli import main
from dither.engines.points import PointFile
from dither.errors import EngineMismatch, EngineUnavailable, InvalidParameter
from dither.noise import insecure_seeded
from dither.secret import open_secret

CATALOG = """
[dataset]
name = "x"
[source]
url = "{place}"
[unit]
name = "person"
[budget]
epsilon = 1000
[tables.d]
privacy_unit = "u"
max_rows_per_unit = 1
[tables.d.columns]
age = {{ type = "integer", bounds = [0, 9] }}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "age=5"
    place.mkdir()
    rows = "SELECT i AS u, i % 2 AS age FROM range(200) AS r(i)"
    duckdb.sql(f"COPY ({rows}) TO '{place}/d.parquet'")
    duckdb.sql(f"COPY ({rows}) TO '{place}/d.csv' (HEADER)")
    return tmp_path


@pytest.mark.parametrize("place", ["age=5/d.parquet", "age=5", "age=*/d.csv", "age=5/d.csv"])
def test_a_folders_name_is_no_value_of_a_column(folder: Path, place: str) -> None:
    # Every row had age 5: DuckDB takes `age=5` in a path for the values of a column, over those in the file.
    (folder / "age=5" / ("d.parquet" if place.endswith("csv") else "d.csv")).unlink()
    (folder / "dither.toml").write_text(CATALOG.format(place=place), encoding="utf-8")
    with dither.open(folder / "dither.toml", entropy=insecure_seeded(1)) as db:
        answer = db.ask("SELECT age, COUNT(*) AS n FROM d GROUP BY age ORDER BY age", epsilon=100)
        assert [round(row[1]) for row in answer.rows()][:6] == [100, 100, 0, 0, 0, 0]


BY_YEAR = CATALOG.replace("age = {{ type", "year = {{ type").replace("[0, 9]", "[2000, 2030]")


@pytest.mark.parametrize(
    ("place", "source"),
    [(".", 'source = "d/*/part.parquet"'), ("d/*/part.parquet", ""), ("d/year=2024/part.parquet", "")],
)
@pytest.mark.parametrize("wanted", ["year", "Year"])
def test_a_column_that_only_folders_name_is_said_to_be_none(
    folder: Path, place: str, source: str, wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # "has no column `year`, remove it" left its owner to find out why other programs see one.
    for year in (2024, 2025):
        (folder / "d" / f"year={year}").mkdir(parents=True)
        rows = f"SELECT 1000 * {year} + i AS u FROM range(200) AS r(i)"
        duckdb.sql(f"COPY ({rows}) TO '{folder}/d/year={year}/part.parquet'")
    text = BY_YEAR.format(place=place).replace("year = {", f"{wanted} = {{")
    (folder / "dither.toml").write_text(text.replace("[tables.d]\n", f"[tables.d]\n{source}\n"), encoding="utf-8")
    with pytest.raises(EngineMismatch, match="no column") as refused:
        dither.open(folder / "dither.toml")
    assert f"`{wanted}=...`" in str(refused.value.hint) and "hive_partitioning = true" in str(refused.value.hint)
    assert main(["check"]) == 2
    assert "not read as a column" in " ".join(capsys.readouterr().out.split())
    # What it says is a way forward.
    files = f"{folder}/d/*/part.parquet"
    duckdb.sql(f"COPY (SELECT * FROM read_parquet('{files}', hive_partitioning = true)) TO '{folder}/whole.parquet'")
    (folder / "dither.toml").write_text(BY_YEAR.format(place="whole.parquet"), encoding="utf-8")
    with dither.open(folder / "dither.toml", entropy=insecure_seeded(1)) as db:
        assert abs(db.ask("SELECT COUNT(*) AS n FROM d WHERE year = 2025", epsilon=100).scalar() - 200) < 2


def test_a_unit_or_a_bound_that_only_a_folder_names_is_said_to_be_none(folder: Path) -> None:
    file = folder / "town=5" / "d.parquet"
    file.parent.mkdir()
    duckdb.sql(f"COPY (SELECT i AS u FROM range(200) AS r(i)) TO '{file}'")
    for given in ({"privacy_unit": "town"}, {"privacy_unit": "u", "bounds": {"town": (0, 9)}}):
        with pytest.raises(InvalidParameter) as refused:
            dither.open(file, budget=1, **given)
        assert "`town=...`" in str(refused.value.hint)


def test_a_column_that_is_nowhere_is_not_said_to_be_in_a_folder(folder: Path) -> None:
    text = CATALOG.format(place="age=5/d.parquet").replace("age = {", "agee = {")
    (folder / "dither.toml").write_text(text, encoding="utf-8")
    with pytest.raises(EngineMismatch, match="no column") as refused:
        dither.open(folder / "dither.toml")
    assert "age" in str(refused.value.hint) and "=..." not in str(refused.value.hint)


@pytest.mark.parametrize("name", ["d.parquet", "d.csv"])
def test_a_folders_name_is_no_place(folder: Path, name: str) -> None:
    with PointFile(folder / "age=5" / name, numbers=["age"]) as file:
        assert set(open_secret(file.values(0)).tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_name_that_is_a_pattern_is_not_read_as_another_file(folder: Path, ending: str) -> None:
    from dither.engines.describing import describe

    shutil.copy(folder / "age=5" / f"d.{ending}", folder / f"v1.{ending}")
    (folder / f"v[1].{ending}").write_bytes((folder / f"v1.{ending}").read_bytes())
    (folder / "dither.toml").write_text(
        CATALOG.format(place=f"v[1].{ending}").replace("[tables.d]", '[tables.d]\nsource = "v[1]"'), encoding="utf-8"
    )
    with pytest.raises(EngineUnavailable, match="pattern"):
        dither.open(folder / "dither.toml")
    if ending == "parquet":
        with pytest.raises(EngineUnavailable, match="pattern"):
            describe(str(folder / "v[1].parquet"))


@pytest.mark.parametrize("look", [[], ["--look"]])
def test_a_file_of_another_database_fetches_no_program(
    folder: Path, look: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # For a SQLite file DuckDB asked its makers' server for an extension, over plain HTTP, and would have run it.
    connection = sqlite3.connect("other.db")
    connection.execute("CREATE TABLE t (a INTEGER)")
    connection.commit()
    connection.close()
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)

        def listen() -> None:
            try:
                while True:
                    caller, _ = server.accept()
                    asked.append(caller.recv(100))
                    caller.close()
            except OSError:
                return

        threading.Thread(target=listen, daemon=True).start()
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{server.getsockname()[1]}")
        assert main(["init", "other.db", *look]) == 4
        server.shutdown(socket.SHUT_RDWR)
    assert asked == []


def test_only_one_place_opens_a_database_beside_the_engines() -> None:
    source = Path(dither.__file__).parent
    # The lab and the demo hold invented people only; the engine and the finish have settings of their own.
    allowed = {"engines/duckdb.py", "engines/reading.py", "sql/embedded.py", "cli/demo.py"}
    found = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if "duckdb.connect(" in path.read_text(encoding="utf-8") and "lab" not in path.relative_to(source).parts
    }
    assert found == allowed
