"""CSV is parsed strictly into copies, in which nobody's row changes another's.

The copies hold people's records: there is one for each file as it is now, and none of what is gone.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import duckdb
import pytest

from dither.catalog.load import loads
from dither.catalog.model import Table
from dither.engines.csv_copy import parquet_of
from dither.errors import EngineUnavailable
from dither.noise import insecure_seeded
from dither.session.open import open_catalog
from support import visits
from support.visits import answer_of

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
    text = visits.CATALOG.format(url=path, table="visits")
    catalog = loads(text.replace('"date", bounds = [2024-01-01, 2024-01-31]', '"timestamp"'))
    with open_catalog(catalog, ledger="", entropy=insecure_seeded(1)) as session:
        assert session.ask("SELECT SUM(EXTRACT(HOUR FROM d)) FROM visits", epsilon=900000).scalar() == hour
