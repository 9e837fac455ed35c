"""`dither init --look` proposes bounds from what a catalog can write, whatever else is there."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import duckdb
import pytest

from dither.catalog.draft import draft
from dither.engines.describing import describe
from dither.session.look import look_at


@pytest.mark.parametrize("type", ["DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"])
def test_moments_that_no_catalog_can_write_are_left_out(tmp_path: Path, type: str) -> None:
    """One such row made `init --look` fail for the whole database, and showed itself in the error."""
    path = tmp_path / "d.duckdb"
    moments = ["2020-05-05", "1985-05-05"]
    moments += [] if type.endswith("NS") else ["290000-01-01", "0044-03-15 (BC)", "infinity", "-infinity"]
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t (u BIGINT, x {type})")
        for moment in moments:
            connection.execute(f"INSERT INTO t VALUES (1, '{moment}')")
    tables = describe(str(path))
    found = look_at(str(path), tables)
    low, high = found["t", "x"]
    assert isinstance(low, dt.date) and isinstance(high, dt.date)
    assert (low.year, high.year) == (1985, 2020)
    assert "bounds = [1980-01-01" in draft(tables, source=str(path), name="d", proposals=found)


def test_what_is_infinite_or_no_number_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (x DOUBLE, y DOUBLE, z DATE)")
        connection.execute("INSERT INTO t VALUES ('nan', 'nan', NULL), ('inf', 'inf', 'infinity'), (3, NULL, NULL)")
    assert look_at(str(path), describe(str(path))) == {("t", "x"): (3.0, 3.0)}
