"""Each way a catalog and a database can disagree is found, at its key, with a way forward."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dither.catalog.check import CheckReport, check, ready
from dither.catalog.load import loads
from dither.catalog.schema import SchemaColumn, SchemaTable
from dither.errors import CatalogError

CATALOG = """
[source]
url = "x.duckdb"
[unit]
name = "patient"
[budget]
epsilon = 3.0
delta = 1e-9
[analysts.research]
epsilon = 1.0
[tables.patients]
privacy_unit = "patient_id"
columns.age = { type = "integer", bounds = [0, 110] }
columns.region = { type = "text" }
columns.bill = { type = "decimal", bounds = [0, 99.95] }
[tables.visits]
privacy_unit = { column = "patient_id", references = "patients" }
max_rows_per_unit = 20
[tables.icd10]
public = true
"""
PATIENTS = SchemaTable(
    "patients",
    (
        SchemaColumn("patient_id", "BIGINT", unique=True),
        SchemaColumn("age", "INTEGER"),
        SchemaColumn("region", "VARCHAR"),
        SchemaColumn("bill", "DECIMAL(10,2)"),
    ),
)
VISITS = SchemaTable("visits", (SchemaColumn("patient_id", "BIGINT"),))
ICD10 = SchemaTable("icd10", (SchemaColumn("code", "VARCHAR"),))


def with_column(table: SchemaTable, name: str, engine_type: str | None) -> SchemaTable:
    """The table with that column's type changed and unique no more; without it for None; with it added when new."""
    changed = [] if engine_type is None else [SchemaColumn(name, engine_type)]
    return replace(table, columns=(*(column for column in table.columns if column.name != name), *changed))


def found(text: str = CATALOG, *schema: SchemaTable) -> CheckReport:
    given = {table.name: table for table in (PATIENTS, VISITS, ICD10, *schema)}
    return check(loads(text), list(given.values()))


def test_a_catalog_that_fits_has_nothing_to_report() -> None:
    report = found()
    assert report.problems == ()
    assert report.ok
    assert str(report) == "0 errors, 0 warnings, 0 notes"


AGE, BILL, VISIT = "tables.patients.columns.age", "tables.patients.columns.bill", "tables.visits.privacy_unit"
PATH = '{ column = "patient_id", references = "patients" }'

SCHEMA_CASES = [
    # the column changed, its new type, severity, place, words of the message, words of the way forward
    ("patients.age", None, "error", AGE, "no column `age`", "Remove it"),
    ("patients.age", "VARCHAR", "error", f"{AGE}.type", "now VARCHAR, which is read as text", 'type = "text"'),
    ("patients.age", "INTERVAL", "error", f"{AGE}.type", "INTERVAL, which questions cannot see", "a view"),
    ("patients.bill", "DECIMAL(10,1)", "error", f"{BILL}.bounds", "more than 1 digits", "Round"),
    ("patients.patient_id", None, "error", "tables.patients.privacy_unit", "no column `patient_id`", "the unit"),
    ("patients.patient_id", "BIGINT", "error", VISIT, "does not enforce that `patients.patient_id`", "asserted"),
    ("visits.patient_id", None, "error", VISIT, "no column `patient_id`", "Name the column"),
    ("visits.patient_id", "VARCHAR", "error", VISIT, "they cannot match", "same type"),
    ("patients.shoe", "INTEGER", "note", "tables.patients.columns", "not visible: `shoe`", ""),
    ("staff.name", "VARCHAR", "note", "tables", "not visible: `staff`", ""),
]

CATALOG_CASES = [
    # the words replaced, by what, severity, place, words of the message, words of the way forward
    ("[tables.icd10]", "[tables.icd9]", "error", "tables.icd9", "no table `icd9`", "Did you mean `icd10`?"),
    ("columns.age", "columns.ages", "error", f"{AGE}s", "no column `ages`", "Did you mean `age`?"),
    ("bounds = [0, 99.95]", "scale = 3", "error", f"{BILL}.scale", "declared scale 3", "scale = 2"),
    ("110] }", "110], looked = true }", "error", f"{AGE}.looked", "looking at the data", "delete `looked`"),
    ('"patients" }', '"patients.nr" }', "error", VISIT, "no `patients.nr`", "table.key"),
    ("1e-9", "1e-4", "warning", "budget.delta", "0.0001 is above 1e-05", "1/n²"),
    ("3.0", "20", "warning", "budget.epsilon", "20 is above 10", "below 10"),
    ("1.0", "5.0", "warning", "analysts.research", "above the whole budget", ""),
    (f"{PATH}\nmax_rows_per_unit = 20", '"row"', "warning", VISIT, "other tables protect a patient", "row by row"),
    ("delta = 1e-9", "", "note", "budget.delta", "no question can group by `region`", "List `values`"),
    (", bounds = [0, 110]", "", "note", AGE, "no bounds", "bounds = [low, high]"),
    ("max_rows_per_unit = 20", "", "note", "tables.visits", "no `max_rows_per_unit`", "dither tune visits"),
]


def assert_reports(report: CheckReport, severity: str, place: str, message: str, way: str) -> None:
    problem = next(one for one in report.problems if (one.severity, one.place) == (severity, place))
    assert message in problem.message
    assert way in problem.way_forward
    assert report.ok == (not report.errors) == (severity != "error")
    assert f"{severity}: `{place}`: {problem.message}" in str(report)


@pytest.mark.parametrize(("changed", "engine_type", "severity", "place", "message", "way"), SCHEMA_CASES)
def test_a_change_of_the_database_is_reported_at_its_key(
    changed: str, engine_type: str | None, severity: str, place: str, message: str, way: str
) -> None:
    name, _, column = changed.partition(".")
    before = {"patients": PATIENTS, "visits": VISITS}.get(name, SchemaTable(name, ()))
    assert_reports(found(CATALOG, with_column(before, column, engine_type)), severity, place, message, way)


@pytest.mark.parametrize(("old", "new", "severity", "place", "message", "way"), CATALOG_CASES)
def test_what_a_catalog_gets_wrong_or_leaves_weak_is_reported_at_its_key(
    old: str, new: str, severity: str, place: str, message: str, way: str
) -> None:
    assert CATALOG.count(old) == 1
    assert_reports(found(CATALOG.replace(old, new)), severity, place, message, way)


def test_an_assertion_that_the_database_does_not_enforce_is_noted() -> None:
    text = CATALOG.replace('"patients" }', '"patients", unique = "asserted" }')
    report = found(text, with_column(PATIENTS, "patient_id", "BIGINT"))
    assert_reports(report, "note", VISIT, "you assert that `patients.patient_id` is unique", "")
    assert VISIT not in [one.place for one in found(text).problems]


def test_unit_columns_of_different_types_are_not_one_identifier() -> None:
    report = found(CATALOG.replace(PATH, '"patient_id"'), with_column(VISITS, "patient_id", "VARCHAR"))
    assert_reports(report, "error", VISIT, "another type than the unit column of `patients`", "one identifier")


def test_columns_that_differ_in_case_only_must_be_written_exactly() -> None:
    both = with_column(PATIENTS, "Age", "INTEGER")
    assert found(CATALOG, both).ok
    report = found(CATALOG.replace("columns.age", "columns.AGE"), both)
    assert_reports(report, "error", "tables.patients.columns.AGE", "in upper and lower case only", "exactly")


def test_columns_of_text_files_may_be_declared_of_any_type() -> None:
    csv = SchemaTable("patients", [SchemaColumn(c.name, "VARCHAR") for c in PATIENTS.columns], typed=False)
    assert not [one for one in found(CATALOG, csv).errors if one.place.endswith(".type")]


def test_a_table_is_found_under_its_name_in_the_source() -> None:
    text = CATALOG.replace("[tables.icd10]", '[tables.codes]\nsource = "ICD10"')
    assert found(text).problems == ()


def test_errors_come_first() -> None:
    text = CATALOG.replace("1e-9", "1e-4").replace(", bounds = [0, 110]", "")
    severities = [one.severity for one in found(text, with_column(VISITS, "patient_id", None)).problems]
    assert severities == ["error", "warning", "note"]


def test_a_catalog_with_looked_bounds_is_not_ready() -> None:
    ready(loads(CATALOG))
    with pytest.raises(CatalogError, match=r"found `looked = true` on `tables\.patients\.columns\.age`") as caught:
        ready(loads(CATALOG.replace("110] }", "110], looked = true }")))
    assert (caught.value.code, caught.value.key) == ("C-171", "tables.patients.columns.age.looked")
