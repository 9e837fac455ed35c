"""Files of a table that do not agree, and values in a file that cannot be read: said when it is opened, never later."""

from __future__ import annotations

import math
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dither.catalog.load import loads
from dither.engines.reading import fresh_connection
from dither.engines.sources.parquet_files import columns_of
from dither.errors import EngineMismatch, EngineUnavailable, GuaranteeError
from dither.session.open import open_catalog
from dither.session.session import Session
from support.exactly import exact_answer

CATALOG = """
[dataset]
name = "files"
[source]
url = "{url}"
[unit]
name = "person"
[budget]
epsilon = 1e9
delta = 1e-5
[tables.t]
privacy_unit = "u"
max_rows_per_unit = 2
[tables.t.columns]
x = {{ {x} }}
"""
INTEGER = 'type = "integer", bounds = [0, 100]'


def opened(url: Path, x: str = INTEGER) -> Session:
    return open_catalog(loads(CATALOG.format(url=url, x=x)), ledger="")


def table(values: Any, type: pa.DataType | None = None, **more: Any) -> pa.Table:
    return pa.table({"u": np.arange(len(values)), "x": pa.array(values, type), **more})


def folder(place: Path, *tables: pa.Table) -> Path:
    (place / "t").mkdir()
    for number, each in enumerate(tables):
        pq.write_table(each, place / "t" / f"{number}.parquet")
    return place


def strings(*values: bytes) -> pa.Array:
    """Texts of any bytes, as a writer that does not look leaves them in a file."""
    ends = np.cumsum([0, *map(len, values)]).astype(np.int32)
    return pa.Array.from_buffers(
        pa.string(), len(values), [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(values))]
    )


# Files of one table ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "later"),
    [
        # A whole number too large for the first file's type made the question fail after its charge.
        (table([1, 2], pa.int8()), table([3, 1000], pa.int64())),
        (table([1, 2]), table(["3", "junk"])),
        # Here halves became whole numbers without a word.
        (table([1, 2]), table([0.5, 1.5])),
        (table([1, 2]), pa.table({"u": [1, 2], "other": [1, 2]})),
        (table([1, 2], pa.uint64()), table([-1, 2], pa.int64())),
    ],
)
def test_files_of_a_table_that_differ_in_a_column_are_refused_when_opened(
    tmp_path: Path, first: pa.Table, later: pa.Table
) -> None:
    with pytest.raises(EngineMismatch, match=r"`x`.*1\.parquet|1\.parquet.*`x`"):
        opened(folder(tmp_path, first, later))


def test_columns_that_no_question_reads_may_differ(tmp_path: Path) -> None:
    first, later = table([1, 2], note=["a", "b"]), table([3, 4], note=[1.5, 2.5])
    with opened(folder(tmp_path, first, later)) as session:
        assert exact_answer(session, "SELECT COUNT(*), SUM(x) FROM t").rows() == [(4, 10)]


def test_a_column_is_not_taken_for_another_that_differs_in_case_alone(tmp_path: Path) -> None:
    """DuckDB calls the second one `x_1`; what the catalog calls `x` was answered from `X`."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"X": [50] * 3, "u": [1, 2, 3], "x": [1, 2, 3]}), path)
    with pytest.raises(EngineMismatch, match="`X`, `x`"):
        opened(path)


def test_columns_are_those_of_the_file_and_not_of_what_is_nested_in_them(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    nested = pa.array([{"x": 5, "deep": [{"u": 1}]}] * 2)
    pq.write_table(
        pa.table({"s": nested, "u": [1, 2], "m": pa.array([[("k", 1)]] * 2, pa.map_("string", "int8"))}), path
    )
    with fresh_connection() as connection:
        found = columns_of(connection, [str(path)], None)
    assert [column.name for column in found] == ["s", "u", "m"]
    assert [column.type for column in found[1:]] == ["BIGINT", "MAP(VARCHAR, TINYINT)"]
    assert not any(column.narrow for column in found)


# Values that cannot be read ----------------------------------------------------------------------------------------


def test_a_text_that_is_no_utf_8_makes_no_question_fail(tmp_path: Path) -> None:
    """It did, after the charge: one person's row decided."""
    path = tmp_path / "t.parquet"
    texts = strings(b"ok", b"\xff\xfe", b"ok", b"caf\xe9 noir", b"a" * 40 + b"\xc3(")
    for options in ({}, {"use_dictionary": False, "row_group_size": 1, "write_page_index": True}):
        pq.write_table(pa.table({"u": np.arange(5), "x": texts}), path, **options)
        with opened(path, 'type = "text"') as session:
            assert exact_answer(session, "SELECT COUNT(*), COUNT(x) FROM t WHERE x <> 'no'").rows() == [(5, 5)]
            groups = dict(exact_answer(session, "SELECT x, COUNT(*) AS n FROM t GROUP BY x").rows())
            assert len(groups) == 4 and groups["ok"] == 2
            listed = exact_answer(session, "SELECT COUNT(*) FROM t WHERE x IN ('ok', '??')").rows()
            assert listed == [(2 + groups.get("??", 0),)]


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("count", [2**63 - 1 - 10**9, 2**62, -(2**62)])
def test_a_moment_that_cannot_be_read_is_said_when_opened(tmp_path: Path, count: int, statistics: bool) -> None:
    """Milliseconds reach further than DuckDB's moments; reading one that does raises, whatever the question."""
    path = tmp_path / "t.parquet"
    pq.write_table(table([0, count, 5], pa.timestamp("ms")), path, write_statistics=statistics)
    with pytest.raises(EngineUnavailable, match="Column `x` of `t` cannot be read") as refused:
        opened(path, 'type = "timestamp"')
    assert str(count) not in str(refused.value)


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize(
    "seen",
    [
        pa.array([0, 2**62, 5], pa.timestamp("ms")),
        pa.array([[0], [2**62], [5]], pa.list_(pa.timestamp("ms"))),
        pa.array([{"a": 0}, {"a": 2**62}, {"a": 5}], pa.struct([("a", pa.timestamp("ms"))])),
    ],
)
def test_the_same_moment_in_a_column_that_no_question_reads_stops_nobody(
    tmp_path: Path, seen: pa.Array, later: bool
) -> None:
    """DuckDB looks at the statistics of every column that a view names, and failed on them after the charge."""
    first = table([7], seen=pa.array([None], seen.type))
    with opened(folder(tmp_path, *([first] if later else []), table([1, 2, 3], seen=seen))) as session:
        assert exact_answer(session, "SELECT SUM(x) FROM t").rows() == [(13 if later else 6,)]


def test_a_moment_of_the_old_96_bits_that_cannot_be_read_is_said_when_opened(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    options = {"use_deprecated_int96_timestamps": True, "compression": "none", "use_dictionary": False}
    pq.write_table(table([0, 1_000_000, 5], pa.timestamp("us")), path, **options)
    one_second = struct.pack("<qi", 10**9, 2_440_588)
    written = path.read_bytes()
    assert written.count(one_second) == 1
    path.write_bytes(written.replace(one_second, struct.pack("<qi", 0, 2**31 - 1)))
    with pytest.raises(EngineUnavailable, match="Column `x` of `t` cannot be read"):
        opened(path, 'type = "timestamp"')


# Files that are replaced while they are open --------------------------------------------------------------------------


@pytest.mark.parametrize("other", [table([1.5, math.nan, 2.0]), table(["1", "2", "3"]), pa.table({"u": [1, 2, 3]})])
def test_a_file_replaced_by_one_with_other_columns_is_not_read_as_the_old_one(tmp_path: Path, other: pa.Table) -> None:
    """NaN was read as the upper bound: it was planned for whole numbers."""
    path = tmp_path / "t.parquet"
    pq.write_table(table([1, 2, 3]), path)
    with opened(path) as session:
        pq.write_table(other, tmp_path / "new.parquet")
        os.replace(tmp_path / "new.parquet", path)
        with pytest.raises((EngineMismatch, GuaranteeError)):
            exact_answer(session, "SELECT SUM(x) FROM t")


@pytest.mark.parametrize("columns", [["u", "x"], ["x", "u"]])
def test_a_file_replaced_by_one_with_the_same_columns_is_read_as_it_is(tmp_path: Path, columns: list[str]) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(table([1, 2, 3]), path)
    with opened(path) as session:
        pq.write_table(table([4, 5, 6]).select(columns), path)
        assert exact_answer(session, "SELECT SUM(x) FROM t").rows() == [(15,)]


def test_a_file_of_the_same_size_and_date_is_another_version(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(table([1, 2, 3]), path)
    seen = os.stat(path)
    with opened(path) as session:
        before = session.engine._source.version()  # type: ignore[attr-defined]
        with path.open("r+b") as file:
            file.write(path.read_bytes())
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        assert session.engine._source.version() != before  # type: ignore[attr-defined]


def test_a_file_that_is_gone_is_no_fault_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(table([1, 2, 3]), path)
    with opened(path) as session:
        path.unlink()
        with pytest.raises(EngineUnavailable):
            session.ask("SELECT SUM(x) FROM t", epsilon=1)
