"""A draft is honest about what it does not know: it does not load until the owner has decided."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import pytest

from dither.catalog.draft import coarse_bounds, draft, likely_unit
from dither.catalog.load import loads
from dither.catalog.model import ColumnUnit, ReferenceUnit
from dither.catalog.schema import SchemaColumn, SchemaTable, column_type, decimal_scale
from dither.errors import CatalogError, InvalidParameter

SCHEMA = [
    SchemaTable(
        "patients",
        [
            SchemaColumn("patient_id", "BIGINT", unique=True),
            SchemaColumn("age", "INTEGER"),
            SchemaColumn("full_name", "VARCHAR"),
            SchemaColumn("region", "VARCHAR"),
            SchemaColumn("bill", "DECIMAL(10,2)"),
            SchemaColumn("born", "DATE"),
        ],
    ),
    SchemaTable(
        "visits",
        [
            SchemaColumn("visit_id", "BIGINT"),
            SchemaColumn("patient_id", "BIGINT"),
            SchemaColumn("cost", "DOUBLE"),
            SchemaColumn("Cost", "DOUBLE"),
            SchemaColumn("tags", "VARCHAR[]"),
        ],
    ),
    SchemaTable("main.tests", [SchemaColumn("visit_id", "BIGINT"), SchemaColumn("value", "DOUBLE")]),
    SchemaTable("icd10", [SchemaColumn("code", "VARCHAR")]),
]


def decided(text: str) -> str:
    """The draft as an owner might finish it."""
    text = text.replace('name = "TODO"', 'name = "patient"').replace('epsilon = "TODO"', "epsilon = 1.0")
    tables = text.split('privacy_unit = "TODO"')
    path = 'privacy_unit = { column = "visit_id", references = "visits.visit_id" }'
    units = ['privacy_unit = "patient_id"', 'privacy_unit = "patient_id"', path, "public = true"]
    return tables[0] + "".join(unit + rest for unit, rest in zip(units, tables[1:], strict=True))


def test_a_fresh_draft_does_not_load_and_lists_every_decision_left() -> None:
    text = draft(SCHEMA, source="hospital.duckdb", name="hospital")
    with pytest.raises(CatalogError) as caught:
        loads(text)
    said = caught.value.message
    assert "found 6 TODOs left" in said
    for key in ("unit.name", "budget.epsilon", "tables.patients.privacy_unit", 'tables."main.tests".privacy_unit'):
        line = next(part for part in said.split(", ") if f"`{key}`" in part).partition("(line ")[2].partition(")")[0]
        assert '"TODO"' in text.splitlines()[int(line) - 1]


def test_a_finished_draft_loads_with_the_types_of_the_schema() -> None:
    catalog = loads(decided(draft(SCHEMA, source="hospital.duckdb", name="hospital")))
    assert (catalog.name, catalog.source) == ("hospital", "hospital.duckdb")
    units = [table.unit for table in catalog.tables.values()]
    assert units == [ColumnUnit("patient_id")] * 2 + [ReferenceUnit("visit_id", "visits", "visit_id"), None]
    kinds = {key: column.type for table in catalog.tables.values() for key, column in table.columns.items()}
    assert kinds == {
        "age": "integer",
        "region": "text",
        "bill": "decimal",
        "born": "date",
        "visit_id": "integer",
        "cost": "double",
        "value": "double",
        "code": "text",
    }


def test_names_unit_columns_and_unknown_types_are_drafted_as_comments_with_the_reason() -> None:
    lines = draft(SCHEMA, source="x.duckdb", name="x").splitlines()
    for start, reason in [
        ("# full_name = ", "identifies people"),
        ("# patient_id = ", "identifies people"),
        ("# tags: type VARCHAR[]", "not one that questions can see"),
        ("# Cost: ", "upper and lower case"),
    ]:
        assert any(line.startswith(start) and reason in line for line in lines), start


def test_guesses_of_the_unit_stand_in_comments_only() -> None:
    text = draft(SCHEMA, source="x.duckdb", name="x")
    guesses = [line for line in text.splitlines() if "perhaps" in line]
    assert all(line.startswith("# TODO: by its name") for line in guesses)
    assert '"patient_id"' in guesses[0]
    assert '{ column = "visit_id", references = "visits.visit_id" }' in guesses[2]
    assert text.count('privacy_unit = "TODO"') == 4


@pytest.mark.parametrize(
    ("names", "unit"),
    [
        (["id", "user_id"], "user_id"),
        (["driver", "passenger_id"], "passenger_id"),
        (["PatientID", "age"], "PatientID"),
        (["uid", "x"], "uid"),
        (["id", "x"], "id"),
        (["visit_id", "age"], None),
    ],
)
def test_the_likely_unit_is_the_column_named_after_a_person(names: list[str], unit: str | None) -> None:
    assert likely_unit(SchemaTable("t", [SchemaColumn(name, "BIGINT") for name in names])) == unit


def test_looked_bounds_are_coarse_marked_and_stop_at_the_type() -> None:
    proposals = {
        ("patients", "age"): (3, 97),
        ("patients", "born"): (dt.date(1931, 2, 3), dt.date(2024, 5, 1)),
        ("patients", "bill"): ("0.07", "98765432.10"),
        ("visits", "cost"): (-0.037, 1.7e308),
        ("visits", "visit_id"): (0, 2**63 - 1),
    }
    text = draft(SCHEMA, source="x.duckdb", name="x", proposals=proposals)
    assert "come from looking at the data" in text
    columns = {key: one for table in loads(decided(text)).tables.values() for key, one in table.columns.items()}
    assert all(columns[name].looked for name in ("age", "born", "bill", "cost"))
    assert columns["age"].bounds == (2, 100)
    assert columns["born"].bounds == (dt.date(1930, 1, 1), dt.date(2029, 12, 31))
    assert columns["bill"].bounds == (Fraction(1, 20), Fraction(10**8))
    cost = columns["cost"].bounds
    assert cost is not None
    assert cost[0] == Fraction(-1, 20)
    assert float(cost[1]) == 1.7976931348623157e308  # type: ignore[arg-type]
    assert "bounds = [0, 9223372036854775807]" in text


def test_a_password_in_the_source_does_not_reach_the_draft() -> None:
    text = draft(SCHEMA, source="postgresql://me:hunter2@h/d", name="x")
    assert "hunter2" not in text
    assert 'url = "postgresql://me@h/d"' in text
    assert "PGPASSWORD" in text


def test_names_that_look_like_toml_stay_names() -> None:
    hostile = 'x" }\n[budget]\nepsilon = 100 #'
    text = draft([SchemaTable("t\n[u]", [SchemaColumn(hostile, "INTEGER\n[v]")])], source="x", name=hostile)
    with pytest.raises(CatalogError, match="3 TODOs left"):
        loads(text)


def test_text_files_are_drafted_as_text_with_the_request_to_declare_types() -> None:
    text = draft([SchemaTable("t", [SchemaColumn("age", "VARCHAR")], typed=False)], source="x.csv", name="x")
    assert 'age = { type = "text" }  # TODO: in a text file all is text until you declare' in text


@pytest.mark.parametrize(
    ("low", "high", "rounded"),
    [
        (18, 97, (10, 100)),
        (0, 0, (0, 0)),
        (-3, 7, (-5, 10)),
        (-97, -18, (-100, -10)),
        (100, 1000, (100, 1000)),
        (101, 1001, (100, 2000)),
        ("0.003", "0.003", (Fraction(1, 500), Fraction(1, 200))),
    ],
)
def test_coarse_bounds_round_outward_to_one_two_five(
    low: int | str, high: int | str, rounded: tuple[Fraction, Fraction]
) -> None:
    assert coarse_bounds(low, high) == rounded


def test_coarse_bounds_of_days_are_decades_within_the_calendar() -> None:
    assert coarse_bounds(dt.date(1, 2, 3), dt.date(9999, 1, 1)) == (dt.date(1, 1, 1), dt.date(9999, 12, 31))
    moments = coarse_bounds(dt.datetime(2021, 5, 6, 7), dt.datetime(2021, 5, 6, 8))
    assert moments == (dt.datetime(2020, 1, 1), dt.datetime(2029, 12, 31, 23, 59, 59, 999_999))


@pytest.mark.parametrize(("low", "high"), [(0, float("inf")), (0, dt.date(2020, 1, 1)), (float("nan"), 0)])
def test_coarse_bounds_refuse_what_is_not_finite_or_of_two_kinds(low: Any, high: Any) -> None:
    with pytest.raises(InvalidParameter):
        coarse_bounds(low, high)


@pytest.mark.parametrize(
    ("engine_type", "kind"),
    [
        ("TINYINT", "integer"),
        ("HUGEINT", "integer"),
        ("UBIGINT", "integer"),
        ("integer", "integer"),
        ("int8", "integer"),
        ("FLOAT", "double"),
        ("double precision", "double"),
        ("float8", "double"),
        ("DECIMAL(18,3)", "decimal"),
        ("numeric", "decimal"),
        ("VARCHAR", "text"),
        ("character varying(20)", "text"),
        ("UUID", "text"),
        ("ENUM('a', 'b(c)')", "text"),
        ("BOOLEAN", "boolean"),
        ("DATE", "date"),
        ("TIMESTAMP_NS", "timestamp"),
        ("TIMESTAMP WITH TIME ZONE", "timestamp"),
        ("timestamp(3) without time zone", "timestamp"),
        ("TIME", None),
        ("INTERVAL", None),
        ("BLOB", None),
        ("JSON", None),
        ("INTEGER[]", None),
        ("DECIMAL(10,2)[3]", None),
        ("STRUCT(a INTEGER)", None),
        ("MAP(VARCHAR, INTEGER)", None),
        ("array<string>", None),
        ("USER-DEFINED", None),
    ],
)
def test_engine_types_are_read_as_ours_or_not_at_all(engine_type: str, kind: str | None) -> None:
    assert column_type(engine_type) == kind


def test_a_decimal_type_tells_its_scale() -> None:
    assert [decimal_scale(one) for one in ("DECIMAL(18,3)", "numeric(5)", "numeric", "DOUBLE")] == [3, 0, None, None]
