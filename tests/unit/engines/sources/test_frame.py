"""Frames are copied once; what cannot be copied is said when they are opened, without a value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dither
from dither.errors import DitherError, EngineMismatch, InvalidParameter
from dither.noise import insecure_seeded


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


def test_changing_a_frame_after_opening_changes_no_answer() -> None:
    frame = pd.DataFrame({"u": [1, 2, 3], "x": [1, 2, 3]})
    session = dither.open(
        frame, privacy_unit="u", budget=10**6, max_rows_per_unit=1, bounds={"x": (0, 10)}, entropy=insecure_seeded(2)
    )
    frame.loc[:, "x"] = 10
    assert round(session.ask("SELECT SUM(x) FROM data", epsilon=10**5).scalar()) == 6


@pytest.mark.parametrize("source", [None, 3, object()])
def test_what_is_no_table_is_refused_whatever_lies_around(
    source: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # None was taken for the folder one stands in, and its one data file for the table.
    duckdb.execute(f"COPY (SELECT 1 AS u) TO '{tmp_path}/visits.parquet' (FORMAT parquet)")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidParameter, match="a pandas, Polars or Arrow table"):
        dither.open(source, privacy_unit="u", budget=1)
