"""The same logical values in many physical ways: Parquet, frames, database files and text files.

Flow: `tests/properties/test_physical_storage.py` takes each `Way`, has it store the values under a folder, opens what
it gives back, and asks. `values` are the logical ones, as `support.logical` writes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from support.logical import KINDS, Kind, literal, moment, units

__all__ = ["Way", "arrow_table", "in_database", "ways"]

Values = Sequence[Any]


@dataclass(frozen=True)
class Way:
    name: str
    kind: str
    values: tuple[Any, ...]
    store: Callable[[Path, Values], Any]
    """(an empty folder, the values) -> a location, or a frame."""
    quick: bool = False
    """Among those asked each time; the others are in the long sweep."""

    @property
    def scale(self) -> int | None:
        return 2 if self.kind == "decimal" else None


PLAIN: dict[str, pa.DataType] = {
    "integer": pa.int64(), "double": pa.float64(), "decimal": pa.decimal128(10, 2), "text": pa.string(),
    "boolean": pa.bool_(), "date": pa.date32(), "timestamp": pa.timestamp("us"),
}  # fmt: skip


def arrow_table(values: Values, column: Any) -> pa.Table:
    return pa.table({"u": pa.array(units(values), pa.int64()), "a": column, "b": column, "c": column})


def column_of(values: Values, type: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(type):
        counts = [None if v is None else _scaled(v, type.unit) for v in values]
        return pa.array(counts, pa.int64()).cast(type)
    if pa.types.is_date64(type):
        return pa.array([None if v is None else v * 86_400_000 for v in values], pa.int64()).cast(type)
    if pa.types.is_float16(type):
        return pa.array([None if v is None else np.float16(v) for v in values], type)
    return pa.array(values, type, from_pandas=False)


def ways() -> Iterator[Way]:
    yield from _parquet_files()
    yield from _parquet_types()
    yield from _folders()
    yield from _frames()
    yield from _databases()
    yield from _texts()


# What is stored ----------------------------------------------------------------------------------------------------


def _selections(kind: Kind) -> dict[str, tuple[Any, ...]]:
    """Values whose smallest and largest tell an engine that it need not look: inside the bounds, all alike, none."""
    known = [v for v in kind.stored if v is not None and v == v]
    inside = [v for v in known if kind.bounds is None or kind.bounds[0] <= v <= kind.bounds[1]]
    nan = [math.nan] if kind.type == "double" else []
    found = {
        "inside": [*inside, *nan, None, inside[0]],
        "alike": [inside[1]] * 3 + nan + [inside[1]],
        "none": [None] * 4,
        "one and none": [inside[0], None, *nan, inside[0]],
    }
    if nan:
        found["nan alone"] = nan * 4
        found["zeros"] = [-0.0, 0.0, math.nan, -0.0, 0.0]
        found["below"] = [-100.0, -50.0, math.nan, -70.0, -60.0]
    if kind.bounds is not None:
        found["outside"] = [kind.cuts[-1], kind.cuts[0], *nan, kind.cuts[-1], kind.cuts[0], inside[0]]
    return {name: tuple(values) for name, values in found.items()}


OPTIONS: dict[str, dict[str, Any]] = {
    "row groups": {"row_group_size": 3},
    "no statistics": {"write_statistics": False},
    "no dictionary": {"use_dictionary": False, "row_group_size": 4},
    "page index": {"write_page_index": True, "data_page_size": 16, "row_group_size": 8, "use_dictionary": False},
    "pages v2": {"data_page_version": "2.0", "row_group_size": 5, "compression": "zstd"},
    "one row a group": {"compression": "none", "row_group_size": 1},
    "format 1.0": {"version": "1.0", "compression": "gzip"},
}


def _parquet_files() -> Iterator[Way]:
    quick = {
        "row groups": ("integer", "double", "decimal", "text", "timestamp"),
        "page index": ("double", "text"),
        "pages v2": ("integer", "timestamp"),
    }
    for name, options in OPTIONS.items():
        for kind, found in KINDS.items():
            store = _parquet(PLAIN[kind], **options)
            yield Way(f"parquet {name}", kind, found.stored, store, quick=kind in quick.get(name, ()))
    for kind, found in KINDS.items():
        for name, values in _selections(found).items():
            quickly = kind == "double" or (kind, name) in (("integer", "alike"), ("text", "none"), ("date", "outside"))
            yield Way(f"parquet {name}", kind, values, _parquet(PLAIN[kind], row_group_size=3), quick=quickly)
        if kind != "decimal":
            yield Way("polars parquet", kind, found.stored, _polars_parquet(PLAIN[kind]), quick=kind == "double")
            yield Way("pandas parquet", kind, found.stored, _pandas_parquet(PLAIN[kind]))


def _parquet_types() -> Iterator[Way]:
    integers, doubles, texts = KINDS["integer"].stored, KINDS["double"].stored, KINDS["text"].stored
    positive = [v for v in integers if v is None or v >= 0]
    for type in (pa.int8(), pa.int16(), pa.int32()):
        yield Way(f"parquet {type}", "integer", integers, _parquet(type, row_group_size=3))
    for type, last in ((pa.uint8(), 2**8), (pa.uint16(), 2**16), (pa.uint32(), 2**32), (pa.uint64(), 2**64)):
        values = (*positive, last - 1, last // 2, last // 2 - 1, 5)
        yield Way(f"parquet {type}", "integer", values, _parquet(type), quick=last == 2**64)
        yield Way(f"parquet {type} last", "integer", (last - 1,) * 4, _parquet(type), quick=last == 2**64)
    ends = (*integers, 2**63 - 1, -(2**63), 2**53 + 1, -(2**53) - 1, 5)
    yield Way("parquet ends", "integer", ends, _parquet(pa.int64(), row_group_size=4), quick=True)
    half = tuple(v for v in doubles if v is None or v != v or (abs(v) < 2**15 and (v == 0 or abs(v) > 2**-10)))
    for type, values in ((pa.float32(), doubles), (pa.float16(), half)):
        for name, options in (("", {}), (" groups", {"row_group_size": 3})):
            yield Way(f"parquet {type}{name}", "double", values, _parquet(type, **options), quick=not name)
        yield Way(f"parquet {type} inside", "double", (1.0, 2.0, math.nan, 0.5, 7.25), _parquet(type), quick=True)
    for digits in (4, 9, 18, 38):
        yield Way(f"parquet {digits} digits", "decimal", KINDS["decimal"].stored, _parquet(pa.decimal128(digits, 2)))
    as_integers = _parquet(pa.decimal128(9, 2), store_decimal_as_integer=True)
    yield Way("parquet decimals as integers", "decimal", KINDS["decimal"].stored, as_integers, quick=True)
    wide = (Decimal("9" * 36 + ".99"), Decimal("-" + "9" * 36 + ".99"), None, Decimal("0.25"), Decimal(7))
    yield Way("parquet decimal ends", "decimal", wide, _parquet(pa.decimal128(38, 2)), quick=True)
    for type in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        yield Way(f"parquet {type}"[:24], "text", texts, _parquet(type))
    odd = ("a\0b", "a", "a\0c", None, "a\0b", "\0", "")
    yield Way("parquet NUL", "text", odd, _parquet(pa.string()), quick=True)
    yield Way("parquet date64", "date", KINDS["date"].stored, _parquet(pa.date64()))
    days = (*KINDS["date"].stored, 2**31 - 1, -(2**31), 2**31 - 2, 2_932_897, -719_163, 3)
    yield Way("parquet date ends", "date", days, _parquet(pa.date32(), row_group_size=4), quick=True)
    for unit in ("ms", "us", "ns"):
        for zone in (None, "UTC", "Asia/Tokyo")[: 1 if unit == "ns" else 3]:
            type = pa.timestamp(unit, zone)
            quick = (unit, zone) in (("ms", "Asia/Tokyo"), ("ns", None))
            yield Way(f"parquet {type}", "timestamp", _seconds(), _parquet(type, row_group_size=4), quick=quick)
    old = _parquet(pa.timestamp("us"), use_deprecated_int96_timestamps=True)
    yield Way("parquet INT96", "timestamp", _seconds(), old, quick=True)
    moments = (*KINDS["timestamp"].stored, 2**63 - 1, -(2**63), 2**63 - 2, 5)
    yield Way("parquet moments' ends", "timestamp", moments, _parquet(pa.timestamp("us")), quick=True)


def _folders() -> Iterator[Way]:
    values = KINDS["integer"].stored
    for name in (
        "two files",
        "other order",
        "more columns",
        "narrower later",
        "no rows first",
        "nested beside",
        "hive",
    ):
        yield Way(f"folder {name}", "integer", values, _folder(name), quick=name in ("other order", "nested beside"))


def _frames() -> Iterator[Way]:
    integers, doubles, texts = KINDS["integer"].stored, KINDS["double"].stored, KINDS["text"].stored
    for dtype in ("Int8", "Int64", "object"):
        yield Way(f"pandas {dtype}", "integer", integers, _pandas(dtype), quick=dtype == "Int8")
    missing = tuple(math.nan if v is None else v for v in doubles)
    yield Way("pandas float64", "double", missing, _pandas("float64"), quick=True)
    for dtype in ("Float64", "object", "float32"):
        yield Way(f"pandas {dtype}", "double", doubles, _pandas(dtype))
    for dtype in ("object", "str", "category"):
        yield Way(f"pandas {dtype}", "text", texts, _pandas(dtype), quick=dtype == "category")
    yield Way("pandas boolean", "boolean", KINDS["boolean"].stored, _pandas("boolean"))
    yield Way("pandas decimals", "decimal", KINDS["decimal"].stored, _pandas("object"))
    for unit in ("s", "ms", "us"):
        yield Way(f"pandas {unit}", "timestamp", _seconds(), _pandas_moments(unit))
    for type in (pl.Int8, pl.Int64, pl.Float32, pl.Float64):
        kind = "integer" if type.is_integer() else "double"
        yield Way(f"polars {type}", kind, KINDS[kind].stored, _polars(type))
    yield Way("polars enum", "text", texts, _polars(pl.Enum(sorted({v for v in texts if v is not None}, reverse=True))))
    yield Way("polars categories", "text", texts, _polars(pl.Categorical), quick=True)
    yield Way("polars ms", "timestamp", _seconds(), _polars_moments)
    yield Way("arrow chunks", "text", texts, _chunks, quick=True)
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "Asia/Tokyo")[: 1 if unit == "ns" else 2]:
            yield Way(f"arrow {unit} {zone}", "timestamp", _seconds(), _arrow(pa.timestamp(unit, zone)))
    for unit in ("s", "ms"):
        # Beyond what microseconds hold, by which a cast raised.
        far = (None, moment(2020), (2**62) * _US[unit], -(2**63) * _US[unit], moment(10000), moment(0), moment(2020), 3)
        yield Way(f"arrow far {unit}", "timestamp", far, _arrow(pa.timestamp(unit)), quick=True)


def _databases() -> Iterator[Way]:
    integers, doubles, texts = KINDS["integer"].stored, KINDS["double"].stored, KINDS["text"].stored
    signed = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "HUGEINT": 127}
    for type, bits in signed.items():
        ends = (-(2**bits), 2**bits - 1, None, 0, *integers)
        yield Way(f"database {type}", "integer", ends, in_database(type), quick=type in ("TINYINT", "HUGEINT"))
    for type, bits in {"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 64}.items():
        ends = (2**bits - 1, 2 ** (bits - 1), *(v for v in integers if v is None or v >= 0))
        yield Way(f"database {type}", "integer", ends, in_database(type), quick=type == "UBIGINT")
    yield Way("database FLOAT", "double", doubles, in_database("FLOAT"), quick=True)
    deleted = "INSERT INTO t SELECT 999, 'nan', 'nan', 'nan'; CHECKPOINT; DELETE FROM t WHERE u = 999; CHECKPOINT"
    yield Way(
        "database deleted", "double", (1.0, None, 0.5, 7.25, 2.0), in_database("DOUBLE", after=deleted), quick=True
    )
    inside = (1.0, 2.0, math.nan, 0.5, None, 7.25, 7.25)
    yield Way("database inside", "double", inside, in_database("DOUBLE", after="CHECKPOINT"), quick=True)
    yield Way("duckdb parquet inside", "double", inside, _duckdb_parquet, quick=True)
    for digits in (4, 9, 18, 38):
        yield Way(f"database {digits} digits", "decimal", KINDS["decimal"].stored, in_database(f"DECIMAL({digits}, 2)"))
    for collation in ("NOCASE", "NOACCENT", "NOCASE.NOACCENT"):
        store = in_database(f"VARCHAR COLLATE {collation}")
        yield Way(f"database {collation}", "text", texts, store, quick="." in collation)
    members = sorted({v for v in texts if v is not None}, reverse=True)
    made = f"CREATE TYPE e AS ENUM ({', '.join(literal('text', v) for v in members)})"
    yield Way("database ENUM", "text", texts, in_database("e", before=made), quick=True)
    identifiers = ("0" * 8 + "-0000" * 3 + "-" + "0" * 12, "f" * 8 + "-ffff" * 3 + "-" + "f" * 12, None, None)
    yield Way("database UUID", "text", (*identifiers, identifiers[1], identifiers[0]), in_database("UUID"), quick=True)
    for type in ("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ"):
        yield Way(f"database {type}", "timestamp", _seconds(), in_database(type), quick=type == "TIMESTAMPTZ")
    known = tuple(v for v in integers if v is not None)
    yield Way("database NOT NULL", "integer", known, in_database("INTEGER NOT NULL"))
    for name, after in {
        "index": "CREATE INDEX i ON t (a); CREATE INDEX j ON t (u)",
        "updated": "CHECKPOINT; UPDATE t SET a = a + 1000, c = c - 9; CHECKPOINT; UPDATE t SET a = a - 1000, c = c + 9",
        "altered": "ALTER TABLE t ALTER a TYPE BIGINT; ALTER TABLE t ALTER b TYPE HUGEINT",
        "view": "ALTER TABLE t RENAME TO base; CREATE VIEW t AS SELECT * FROM base",
        "view that computes": "ALTER TABLE t RENAME TO base; CREATE VIEW t AS SELECT u, CAST(CAST(a AS VARCHAR) AS "
        "SMALLINT) AS a, b + 0 AS b, c FROM base WHERE a IS NULL OR a + 0 = a",
        "union": "ALTER TABLE t RENAME TO base; CREATE VIEW t AS SELECT * FROM base WHERE rowid % 2 = 0 UNION ALL "
        "SELECT * FROM base WHERE rowid % 2 = 1",
        "generated": "ALTER TABLE t RENAME TO base; CREATE TABLE t (u BIGINT, c INTEGER, a BIGINT AS (c + 0), "
        "b INTEGER AS (c)); INSERT INTO t (u, c) SELECT u, c FROM base",
    }.items():
        yield Way(f"database {name}", "integer", integers, in_database("INTEGER", after=after), quick="view t" in name)
    alike = "CREATE OR REPLACE TABLE base AS SELECT u FROM t; DROP TABLE t; CREATE VIEW t AS SELECT u, 3 AS a, "
    alike += "3::TINYINT AS b, 3::HUGEINT AS c FROM base"
    yield Way("database constants", "integer", (3,) * 5, in_database("INTEGER", after=alike), quick=True)


def _texts() -> Iterator[Way]:
    for name, options in {
        "": {},
        " crlf": {"end": "\r\n"},
        " mark": {"mark": True},
        " quoted": {"quoted": True},
    }.items():
        yield Way(f"csv{name}", "integer", KINDS["integer"].stored, _csv(**options))
    texts = tuple(v for v in KINDS["text"].stored if v != "")
    yield Way("csv quoted", "text", (*texts, "a\nb", "a,b", 'q"q', "a\r\nb", "x"), _csv(quoted=True), quick=True)
    yield Way("csv inside", "double", (1.0, 2.0, math.nan, 0.5, 7.25, 7.25), _csv(), quick=True)
    yield Way("csv", "double", tuple(v for v in KINDS["double"].stored), _csv(), quick=True)
    yield Way("csv", "timestamp", KINDS["timestamp"].stored, _csv(zone=0))
    yield Way("csv with zone", "timestamp", KINDS["timestamp"].stored, _csv(zone=9), quick=True)


# How it is stored --------------------------------------------------------------------------------------------------

_US = {"s": 10**6, "ms": 1000, "us": 1}


def _scaled(us: int, unit: str) -> int:
    return us * 1000 if unit == "ns" else us // _US[unit]


def _seconds() -> tuple[Any, ...]:
    """Moments that are whole seconds, which all units can hold."""
    return tuple(v if v is None else v // 10**6 * 10**6 for v in KINDS["timestamp"].stored)


def _parquet(type: pa.DataType, **options: Any) -> Callable[[Path, Values], Path]:
    def store(folder: Path, values: Values) -> Path:
        pq.write_table(arrow_table(values, column_of(values, type)), folder / "t.parquet", **options)
        return folder / "t.parquet"

    return store


def _polars_parquet(type: pa.DataType) -> Callable[[Path, Values], Path]:
    def store(folder: Path, values: Values) -> Path:
        frame = pl.from_arrow(arrow_table(values, column_of(values, type)))
        assert isinstance(frame, pl.DataFrame)
        frame.write_parquet(folder / "t.parquet", row_group_size=4)
        return folder / "t.parquet"

    return store


def _pandas_parquet(type: pa.DataType) -> Callable[[Path, Values], Path]:
    def store(folder: Path, values: Values) -> Path:
        table = arrow_table(values, column_of(values, type))
        table.to_pandas(types_mapper=pd.ArrowDtype).to_parquet(folder / "t.parquet")
        return folder / "t.parquet"

    return store


def _duckdb_parquet(folder: Path, values: Values) -> Path:
    database = in_database("DOUBLE")(folder, values)
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"COPY t TO '{folder}/t.parquet' (FORMAT parquet)")
    return folder / "t.parquet"


def _folder(name: str) -> Callable[[Path, Values], Path]:
    def store(folder: Path, values: Values) -> Path:
        place = folder / "t"
        place.mkdir()
        first, later = (table := arrow_table(values, column_of(values, pa.int64()))).slice(0, 7), table.slice(7)
        match name:
            case "other order":
                later = later.select(["c", "b", "a", "u"])
            case "more columns":
                later = later.append_column("more", pa.array(["x"] * len(later)))
            case "narrower later":
                later = later.set_column(1, "a", later["a"].cast(pa.int16()))
            case "no rows first":
                pq.write_table(first.slice(0, 0), place / "0.parquet")
            case "nested beside":
                nested = pa.array([{"a": 1, "u": [5, 6]}] * len(first))
                first = first.add_column(0, "nested", nested)
            case "hive":
                place = folder / "a=5"
                place.mkdir()
        pq.write_table(first, place / "1.parquet")
        pq.write_table(later, place / "2.parquet")
        return folder if name != "hive" else place / "*.parquet"

    return store


def _pandas(dtype: str) -> Callable[[Path, Values], Any]:
    def store(folder: Path, values: Values) -> Any:
        series = pd.Series(list(values), dtype=dtype)  # type: ignore[call-overload]
        return pd.DataFrame({"u": pd.array(units(values), "Int64"), "a": series, "b": series, "c": series})

    return store


def _pandas_moments(unit: str) -> Callable[[Path, Values], Any]:
    def store(folder: Path, values: Values) -> Any:
        counts = ["NaT" if v is None else _scaled(v, unit) for v in values]
        series = pd.Series(np.array([np.datetime64(n, unit) for n in counts], dtype=f"datetime64[{unit}]"))
        return pd.DataFrame({"u": pd.array(units(values), "Int64"), "a": series, "b": series, "c": series})

    return store


def _polars(type: Any) -> Callable[[Path, Values], Any]:
    def store(folder: Path, values: Values) -> Any:
        series = pl.Series(list(values), dtype=type, strict=not type.is_float())
        return pl.DataFrame({"u": units(values), "a": series, "b": series, "c": series})

    return store


def _polars_moments(folder: Path, values: Values) -> Any:
    series = pl.Series([None if v is None else v // 1000 for v in values], dtype=pl.Int64).cast(pl.Datetime("ms"))
    return pl.DataFrame({"u": units(values), "a": series, "b": series, "c": series})


def _arrow(type: pa.DataType) -> Callable[[Path, Values], Any]:
    return lambda folder, values: arrow_table(values, column_of(values, type))


def _chunks(folder: Path, values: Values) -> Any:
    """Two chunks with a dictionary each, and one without a row between them."""
    parts = [pa.array(part, pa.string()).dictionary_encode() for part in (values[:9], [], values[9:])]
    return arrow_table(values, pa.chunked_array(parts, parts[0].type))


def in_database(type: str, *, before: str = "", after: str = "") -> Callable[[Path, Values], Path]:
    """A DuckDB file, filled row by row."""

    def store(folder: Path, values: Values) -> Path:
        path = folder / "t.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute("SET TimeZone='UTC'")
            connection.execute(before or "SELECT 1")
            bare = type.removesuffix(" NOT NULL")
            connection.execute(f"CREATE TABLE t (u BIGINT, a {type}, b {bare}, c {bare})")
            for unit, value in zip(units(values), values, strict=True):
                shown = f"CAST({_sql(value, bare)} AS {bare.partition(' COLLATE')[0]})"
                connection.execute(f"INSERT INTO t SELECT {unit or ('NULL' if unit is None else 0)}" + f", {shown}" * 3)
            for statement in filter(None, after.split("; ")):
                connection.execute(statement)
        return path

    return store


def _sql(value: Any, type: str) -> str:
    if value is None:
        return "NULL"
    if type.startswith("TIMESTAMP"):
        return f"make_timestamp({value})"
    return literal("text", value) if isinstance(value, str) else f"'{value}'"


def _csv(
    *, end: str = "\n", mark: bool = False, quoted: bool = False, zone: int | None = None
) -> Callable[[Path, Values], Path]:
    def shown(value: Any) -> str:
        if value is None:
            return ""
        if zone is not None:
            local = literal("timestamp", value + zone * 3_600_000_000).split("'")[1]
            return f"{local}+{zone:02}:00" if zone else local
        text = str(value)
        return '"' + text.replace('"', '""') + '"' if quoted else text

    def store(folder: Path, values: Values) -> Path:
        lines = ["u,a,b,c"]
        for unit, value in zip(units(values), values, strict=True):
            lines.append(",".join(["" if unit is None else str(unit)] + [shown(value)] * 3))
        text = end.join(lines) + end
        path = folder / "t.csv"
        path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + text.encode())
        return path

    return store
