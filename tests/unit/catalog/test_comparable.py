"""Which stored types may hold one identifier: held against what DuckDB does with values at the types' ends."""

from __future__ import annotations

from itertools import product

import duckdb
import pytest

from dither.catalog.schema import comparable, identifier_type

INTEGERS = {
    "TINYINT": [-128, 127], "BIGINT": [-(2**63), 2**63 - 1, 2**53, 2**53 + 1],
    "UBIGINT": [0, 2**64 - 1, 2**63, 2**53, 2**53 + 1], "HUGEINT": [-(2**127), 2**127 - 1, 2**53, 2**53 + 1, 2**63],
    "UHUGEINT": [0, 2**128 - 1, 2**63, 2**53, 2**53 + 1],
}  # fmt: skip
DECIMALS = {
    "DECIMAL(38,0)": ["9" * 38, "1"], "DECIMAL(38,10)": ["9" * 28 + ".5", "1"], "DECIMAL(4,4)": ["0.5"],
    "DECIMAL(36,0)": ["9" * 36, "1"], "DECIMAL(18,2)": ["9" * 16 + ".99", "1"],
}  # fmt: skip
MOMENTS = {
    "TIMESTAMP": ["2020-01-01", "0001-01-01", "290000-01-01", "infinity"], "TIMESTAMP_S": ["2020-01-01", "infinity"],
    "TIMESTAMP_NS": ["2020-01-01"], "TIMESTAMP WITH TIME ZONE": ["2020-01-01", "290000-01-01", "infinity"],
}  # fmt: skip
OTHERS = {"VARCHAR": ["a"], "BLOB": ["a"], "DATE": ["2020-01-01", "infinity"], "INTEGER[]": ["[1]"], "FLOAT": ["0.5"]}
SAME_KIND = [*product(INTEGERS, INTEGERS), *product(DECIMALS, DECIMALS), *product(MOMENTS, MOMENTS)]
VALUES = {**INTEGERS, **DECIMALS, **MOMENTS, **OTHERS}


@pytest.mark.parametrize(("left", "right"), [*SAME_KIND, *((name, name) for name in OTHERS)])
def test_what_is_comparable_matches_exactly_where_it_is_equal(left: str, right: str) -> None:
    connection = duckdb.connect()
    connection.execute("SET TimeZone='UTC'")
    for name, type in (("l", left), ("r", right)):
        connection.execute(f"CREATE TABLE {name} (v {type})")
        for value in VALUES[type]:
            connection.execute(f"INSERT INTO {name} VALUES ('{value}')")
    same = len(set(map(str, VALUES[left])) & set(map(str, VALUES[right])))
    try:
        found = connection.execute("SELECT count(*) FROM l JOIN r ON l.v = r.v").fetchall()[0][0]
    except duckdb.Error:
        found = None
    if comparable(left, right):
        assert found == same
    # Seconds would fail on a moment that no text can be cast to; see tests/support/storage.py.
    elif "TIMESTAMP_S" not in (left, right):
        assert found != same or "TIMESTAMP_NS" in (left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("BIGINT", "VARCHAR"),
        ("BLOB", "INTEGER[]"),
        ("DECIMAL(10,2)", "BIGINT"),
        ("DATE", "TIMESTAMP"),
        ("numeric", "DECIMAL(9,2)"),
    ],
)
def test_types_that_are_not_read_alike_are_not_comparable(left: str, right: str) -> None:
    assert not comparable(left, right) and not comparable(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("bigint", "INTEGER"),
        ("uuid", "VARCHAR"),
        ("timestamp without time zone", "TIMESTAMPTZ"),
        ("numeric", "numeric"),
    ],
)
def test_other_databases_names_are_known(left: str, right: str) -> None:
    assert comparable(left, right)


TYPES = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
    "FLOAT", "DOUBLE", "DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE",
    "DECIMAL(10,2)", "DECIMAL(12,5)", "DECIMAL(38,10)", "BOOLEAN", "BLOB",
)  # fmt: skip


@pytest.mark.parametrize("left", TYPES)
def test_identifiers_are_compared_in_the_type_that_duckdb_brings_both_to(left: str) -> None:
    connection = duckdb.connect()
    for right in TYPES:
        known = identifier_type([left, right])
        assert (known is None) == (not comparable(left, right))
        if known is not None:
            both = f"SELECT CAST(NULL AS {left}) AS v UNION ALL SELECT CAST(NULL AS {right})"
            assert connection.execute(f"SELECT typeof(v) FROM ({both}) LIMIT 1").fetchall() == [(known,)]


def test_identifiers_of_several_types_have_one_that_holds_all() -> None:
    assert identifier_type(["TINYINT", "UINTEGER", "SMALLINT"]) == "BIGINT"
    assert identifier_type(["UBIGINT", "BIGINT", "bigint"]) == "HUGEINT"
    assert identifier_type(["UHUGEINT", "UBIGINT", "BIGINT"]) is None
    assert identifier_type(["uuid", "VARCHAR"]) == "VARCHAR"
    assert identifier_type([]) is None
