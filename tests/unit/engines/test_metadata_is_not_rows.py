"""What a file says about its rows decides no answer: statistics that leave NaN out, or those of a file since replaced.

DuckDB folds conditions by a file's smallest and largest values. Most writers leave NaN out of these; a condition folded
so let a NaN through to a cast that raised, and so one person's row decided whether a charged question failed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dither
from dither.session.session import Session
from support.exactly import exact_answer

INSIDE = np.array([1.0, 2.0, 50.0, 98.5] * 25)


def write(path: Path, values: npt.NDArray[np.float64]) -> None:
    pq.write_table(pa.table({"u": np.arange(len(values)), "x": values}), path)


def opened(path: Path) -> Session:
    return dither.open(
        str(path), privacy_unit="u", budget=10**6, max_rows_per_unit=1, bounds={"x": (0, 100)}, ledger=f"{path}.ledger"
    )


QUESTIONS = {
    "SELECT COUNT(x), SUM(x) FROM v": (100, 3787.5),
    "SELECT COUNT(*) FROM v WHERE x > 60": (25,),
    "SELECT COUNT(*) FROM v WHERE x <= 100": (100,),
    "SELECT COUNT(*) FROM v WHERE x IS NULL": (1,),
    "SELECT COUNT(*) FROM v WHERE NOT x BETWEEN 0 AND 100": (0,),
    "SELECT COUNT_IF(x <> 1) FROM v": (75,),
    "SELECT SUM(CASE WHEN x >= 0 THEN 1 ELSE 0 END) FROM v": (100,),
    "SELECT SUM(CAST(x AS INTEGER)) FROM v": (3775,),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_nan_is_null_though_the_statistics_leave_it_out(tmp_path: Path, question: str) -> None:
    path = tmp_path / "v.parquet"
    write(path, np.append(INSIDE, np.nan))
    statistics = pq.ParquetFile(path).metadata.row_group(0).column(1).statistics
    assert statistics.max == 98.5, "the writer no longer leaves NaN out: this test shows nothing"
    with opened(path) as session:
        assert exact_answer(session, question).rows() == [QUESTIONS[question]]


def test_a_file_replaced_before_it_is_read_is_read_as_it_is_now(tmp_path: Path) -> None:
    """A question is bound before it is charged, and DuckDB folds by what the file holds then."""
    path = tmp_path / "v.parquet"
    write(path, INSIDE)
    with opened(path) as session:
        prepare = session.engine.prepare

        def prepare_and_replace(measures: object) -> None:
            prepare(measures)  # type: ignore[arg-type]
            write(path, np.full(7, 1e9))

        session.engine.prepare = prepare_and_replace  # type: ignore[method-assign]
        assert exact_answer(session, "SELECT COUNT(x), SUM(x) FROM v").rows() == [(7, 700.0)]
