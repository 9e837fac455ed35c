"""A unit's column: raw where units are told apart, guarded where something is computed, believed nowhere."""

from __future__ import annotations

import struct
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dither.catalog.model import Column
from dither.plan.reads import read_unit
from dither.sql.expressions import literal
from dither.sql.functions import Call, logic
from dither.sql.printing import print_expr
from dither.sql.types import Kind
from dither.sql.units import identity, over_column, same_units, unit_column

WHOLE = ("TINYINT", "INTEGER", "BIGINT", "UBIGINT")


def call(*args: object) -> Call:
    return Call("=", args, None, (None,) * len(args))  # type: ignore[arg-type]


def test_two_units_are_compared_as_they_are_stored_and_a_unit_with_a_value_through_its_guard() -> None:
    one, other = (read_unit(Column("u", "integer"), "HUGEINT", name) for name in ("a", "b"))
    assert print_expr(logic.compare(call(one, other), "=")) == '("a" = "b")'
    assert print_expr(logic.compare(call(one, other), "is not distinct")) == '("a" IS NOT DISTINCT FROM "b")'
    assert "CASE" in print_expr(logic.compare(call(one, literal(5)), "="))
    assert "CASE" in print_expr(logic.compare(call(one, other), "<"))


def test_a_stored_unit_has_no_range_and_no_function_takes_it() -> None:
    value = read_unit(Column("u", "double"), "DOUBLE", "a")
    stored = identity(value)
    assert stored == unit_column("a") and stored.type.kind is Kind.UNIT and stored.lo is None
    assert identity(literal(5)) is None
    # A double may be NaN, which is read as NULL; a whole number is always read as one.
    assert value.nullable and not read_unit(Column("u", "integer"), "HUGEINT", "a").nullable


def test_units_of_a_type_that_questions_cannot_see_have_no_value() -> None:
    assert read_unit(Column("u", "text"), "BLOB", "a").type.kind is Kind.UNIT


def test_columns_of_several_tables_are_read_in_the_type_that_holds_all() -> None:
    values = [read_unit(Column("u", "integer"), type, type) for type in WHOLE]
    together = over_column(values, "both")
    assert same_units(values) is not None and together.payload[1] == "HUGEINT"  # type: ignore[index]
    assert (together.lo, together.hi) == (-(2**63), 2**64 - 1)
    assert same_units([values[0], read_unit(Column("u", "date"), "DATE", "d")]) is None


@pytest.mark.parametrize("type", WHOLE)
def test_the_value_of_a_unit_is_not_what_a_file_says_it_is(type: str, tmp_path: Path) -> None:
    """The engine keeps the statistics of a unit's column; a guard above the value must not go by them."""
    arrow = {"TINYINT": pa.int8(), "INTEGER": pa.int32(), "BIGINT": pa.int64(), "UBIGINT": pa.uint64()}[type]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"u": pa.array([5, 100], arrow)}), path, compression="none", use_dictionary=False)
    data = path.read_bytes()
    width = "<q" if type in ("BIGINT", "UBIGINT") else "<i"
    start = len(data) - 8 - struct.unpack("<I", data[-8:-4])[0]
    path.write_bytes(data[:start] + data[start:].replace(struct.pack(width, 100), struct.pack(width, 7)))
    connection = duckdb.connect()
    value = print_expr(read_unit(Column("u", "integer"), type, "u"))

    def clamped(sql: str) -> object:
        clamp = f"max(CASE WHEN {sql} BETWEEN 0 AND 10 THEN {sql} ELSE 10 END)"
        return connection.execute(f"SELECT {clamp} FROM read_parquet('{path}')").fetchall()[0][0]

    assert clamped('"u"') == 100, "the file no longer deceives the engine, and this test shows nothing"
    assert clamped(value) == 10
