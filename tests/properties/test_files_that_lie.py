"""Files that are not what they say: values beyond what their type can hold, and statistics that are wrong.

One row of such a file still moves no answer further than priced, and decides of no question whether it fails: bounds
are enforced on the values themselves.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dither.catalog.load import loads
from dither.errors import DitherError
from dither.plan.price import distance_of
from dither.secret import open_secret
from dither.session.open import open_catalog
from dither.session.session import Session
from support.exactly import noise_off
from support.worlds import catalog_text

INSIDE = 10
"""The largest value of the other rows, and what the file says is the largest of all."""


def opened(folder: Path, column: str, frame: Any = None) -> Session:
    section = f'[tables.t]\nprivacy_unit = "u"\nmax_rows_per_unit = 2\ncolumns = {{ v = {{ {column} }} }}'
    text = catalog_text(section).replace('url = "memory.duckdb"', f'url = "{folder}"')
    return open_catalog(loads(text), ledger="", frame=frame)


def moved(folder: Path, column: str, sql: str, tables: Sequence[Any]) -> tuple[list[int], list[int]]:
    """How far the vectors of two files lie apart, and how far one unit may move them. tables: write themselves."""
    found = []
    declared: list[int] = []
    for number, write in enumerate(tables):
        place = folder / str(number)
        place.mkdir()
        write(place / "t.parquet")
        with opened(place, column) as session:
            (measure,) = session.plan(sql).measures
            (table,) = open_secret(session.engine.measure([measure]))
            found.append([int(vector.sum()) for vector in table.vectors])
            declared = [distance_of(v, measure.tau, grouped=False, neighbours="add_remove") for v in measure.vectors]
    return [abs(a - b) for a, b in zip(*found, strict=True)], declared


def table_of(values: Sequence[Any], type: pa.DataType) -> pa.Table:
    return pa.table({"u": pa.array(range(len(values)), pa.int64()), "v": pa.array(values, type)})


def with_false_largest(table: pa.Table, true: bytes, said: bytes) -> Any:
    """Write the table with another largest value in its footer than is among its rows."""

    def write(path: Path) -> None:
        pq.write_table(table, path, compression="none", use_dictionary=False)
        data = path.read_bytes()
        start = len(data) - 8 - struct.unpack("<I", data[-8:-4])[0]
        assert true in data[start:]
        path.write_bytes(data[:start] + data[start:].replace(true, said))

    return write


def as_it_is(table: pa.Table) -> Any:
    return lambda path: pq.write_table(table, path)


def _big_endian(value: int, digits: int) -> bytes:
    return value.to_bytes({10: 5, 20: 9}[digits], "big")


DAY, MICROSECOND = dt.date(1970, 1, 1), dt.datetime(1970, 1, 1)
LIES: dict[str, tuple[str, pa.DataType, Any, Any, bytes, bytes, tuple[str, ...]]] = {
    "integer": (
        f'type = "integer", bounds = [0, {INSIDE}]', pa.int64(), INSIDE, 2**40 + 12345,
        struct.pack("<q", 2**40 + 12345), struct.pack("<q", INSIDE),
        ("v", "v * 2", "v - 5", "v // 2", "GREATEST(v, 3)", "CAST(v AS DOUBLE)"),
    ),
    "small integer": (
        f'type = "integer", bounds = [0, {INSIDE}]', pa.int32(), INSIDE, 2**30 + 12345,
        struct.pack("<i", 2**30 + 12345), struct.pack("<i", INSIDE), ("v", "v * 2", "CAST(v AS TINYINT)"),
    ),
    "double": (
        f'type = "double", bounds = [0, {INSIDE}]', pa.float64(), float(INSIDE), 7777777.125,
        struct.pack("<d", 7777777.125), struct.pack("<d", INSIDE), ("v", "v * 2", "SQRT(v)", "CAST(v AS INTEGER)"),
    ),
    "decimal": (
        f'type = "decimal", bounds = [0, {INSIDE}]', pa.decimal128(10, 2), INSIDE, 87654321,
        _big_endian(8765432100, 10), _big_endian(100 * INSIDE, 10), ("v", "v * 2", "ROUND(v)"),
    ),
    "date": (
        'type = "date", bounds = [2020-01-01, 2020-12-31]', pa.date32(), dt.date(2020, 3, 1), dt.date(9000, 3, 1),
        struct.pack("<i", (dt.date(9000, 3, 1) - DAY).days), struct.pack("<i", (dt.date(2020, 3, 1) - DAY).days),
        ("YEAR(v)", "v - DATE '2020-01-01'"),
    ),
    "timestamp": (
        'type = "timestamp", bounds = [2020-01-01 00:00:00, 2020-12-31 00:00:00]', pa.timestamp("us"),
        dt.datetime(2020, 3, 1), dt.datetime(9000, 3, 1),
        struct.pack("<q", (dt.datetime(9000, 3, 1) - MICROSECOND) // dt.timedelta(microseconds=1)),
        struct.pack("<q", (dt.datetime(2020, 3, 1) - MICROSECOND) // dt.timedelta(microseconds=1)),
        ("YEAR(v)", "DATE_DIFF('day', DATE '2020-01-01', v)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_a_file_that_says_all_values_are_within_the_bounds_has_its_values_clamped(name: str, tmp_path: Path) -> None:
    column, type, inside, beyond, true, said, values = LIES[name]
    honest = table_of([inside] * 9, type)
    lying = table_of([inside] * 9 + [beyond], type)
    for number, value in enumerate(values):
        for place, sql in enumerate(
            (
                f"SELECT SUM({value}) FROM t",
                f"SELECT AVG({value}) FROM t WHERE {value} IS NOT NULL",
                f"SELECT SUM(n) FROM (SELECT u, MAX({value}) AS n FROM t GROUP BY u) AS q",
            )
        ):
            folder = tmp_path / f"{number} {place}"
            folder.mkdir()
            far, declared = moved(folder, column, sql, [as_it_is(honest), with_false_largest(lying, true, said)])
            assert all(a <= b for a, b in zip(far, declared, strict=True)), f"{sql}: {far}, priced are {declared}"


# Decimals of more digits than their type has -----------------------------------------------------------------------


def decimals(units: Sequence[int], type: pa.Decimal128Type) -> pa.Table:
    """A table of these last digits, whatever the type says."""
    held = b"".join(unit.to_bytes(16, "little", signed=True) for unit in units)
    column = pa.Array.from_buffers(type, len(units), [None, pa.py_buffer(held)])
    return pa.table({"u": pa.array(range(len(units)), pa.int64()), "v": column})


ENDS = (2**127 - 1, -(2**127), 10**38, -(10**38))
NO_DECIMALS = {
    "38 digits": (pa.decimal128(38, 2), ENDS, {}),
    "38 after the point": (pa.decimal128(38, 38), ENDS, {}),
    "20 digits": (pa.decimal128(20, 2), (2**71 - 1, -(2**71)), {}),
    "12 digits": (pa.decimal128(12, 2), (2**63 - 1, -(2**63)), {"store_decimal_as_integer": True}),
    "4 digits": (pa.decimal128(4, 2), (20_000, 2**31 - 1, -(2**31)), {"store_decimal_as_integer": True}),
}
QUESTIONS = (
    "SELECT COUNT(*) FROM t WHERE -v > 0",
    "SELECT COUNT(*) FROM t WHERE ABS(v) > 0",
    "SELECT COUNT(*) FROM t WHERE CAST(v AS DOUBLE) > 0",
    "SELECT COUNT(*) FROM t WHERE CAST(v AS BIGINT) > 0",
    "SELECT COUNT(*) FROM t WHERE CAST(v AS VARCHAR) > '0'",
    "SELECT COUNT(*) FROM t WHERE ROUND(v) >= 0 OR FLOOR(v) >= 0",
    "SELECT COUNT(*) FROM (SELECT u, MIN(v) AS m, MAX(v) AS n FROM t GROUP BY u) AS q WHERE m <= n",
    "SELECT COUNT(*) FROM (SELECT MAX(v) OVER (PARTITION BY u) AS m FROM t) AS q WHERE m >= 0",
    "SELECT COUNT(DISTINCT v), COUNT(v) FROM t",
    "SELECT SUM(v) FROM t",
    "SELECT AVG(v), MEDIAN(v) FROM t",
)


def seen(session: Session, sql: str) -> Any:
    try:
        with noise_off():
            answer = session.ask(sql, epsilon=1)
            answer.rows()
    except DitherError as error:
        return type(error).__name__, str(error)
    return answer.columns, answer.charged


@pytest.mark.parametrize("bounds", ["", ", bounds = [0, 0.5]"], ids=["unbounded", "bounded"])
@pytest.mark.parametrize("name", NO_DECIMALS)
def test_a_decimal_that_none_is_makes_no_question_fail(name: str, bounds: str, tmp_path: Path) -> None:
    type, beyond, options = NO_DECIMALS[name]
    found = []
    for number, units in enumerate(([1, 2, 3], [1, 2, 3, *beyond])):
        (tmp_path / str(number)).mkdir()
        pq.write_table(decimals(units, type), tmp_path / str(number) / "t.parquet", **options)
        with opened(tmp_path / str(number), f'type = "decimal"{bounds}') as session:
            found.append({sql: seen(session, sql) for sql in QUESTIONS})
    assert found[0] == found[1]
    assert [sql for sql, what in found[1].items() if what[0] in ("EngineError", "GuaranteeError")] == []


def test_a_decimal_of_a_frame_that_none_is_makes_no_question_fail() -> None:
    found = []
    for units in ([1, 2, 3], [1, 2, 3, *ENDS]):
        with opened(Path("frame"), 'type = "decimal"', decimals(units, pa.decimal128(38, 2))) as session:
            found.append({sql: seen(session, sql) for sql in QUESTIONS})
    assert found[0] == found[1]
    assert [sql for sql, what in found[1].items() if what[0] in ("EngineError", "GuaranteeError")] == []


@pytest.mark.parametrize("name", NO_DECIMALS)
def test_a_decimal_that_none_is_moves_a_sum_no_further_than_priced(name: str, tmp_path: Path) -> None:
    type, beyond, options = NO_DECIMALS[name]
    for number, far_off in enumerate(beyond):
        for place, value in enumerate(("v", "-v", "ROUND(v)")):
            folder = tmp_path / f"{number} {place}"
            folder.mkdir()
            writers = [
                lambda path, units=units: pq.write_table(decimals(units, type), path, **options)
                for units in ([1, 2, 3], [1, 2, 3, far_off])
            ]
            sql = f"SELECT SUM({value}) FROM t"
            far, declared = moved(folder, 'type = "decimal", bounds = [0, 0.25]', sql, writers)
            assert all(a <= b for a, b in zip(far, declared, strict=True)), f"{sql}: {far}, priced are {declared}"
