"""A sound catalog reads into exactly what it says, with exact numbers and resolved paths."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from pathlib import Path

import pytest

from dither.catalog.load import load, loads, resolve_ledger, resolve_source
from dither.catalog.locations import without_password
from dither.catalog.model import Analyst, BudgetTerms, Catalog, Column, ColumnUnit, ReferenceUnit, RowUnit

CLINIC = """
[dataset]
name   = "clinic-2026"
ledger = "books/clinic.ledger"
neighbours = "replace"
nulls = "drop"
min_units_per_key = 10

[source]
url = "data/*.csv"
csv = { delimiter = ";", quote = "'", null = "NA" }

[unit]
name = "patient"

[budget]
epsilon = 3.0
delta = 1e-9
delta_per_question = 1e-12
minimum_price = 0.01
default_epsilon = 0.1
gaussian = true

[analysts.Research]
epsilon = 1.0
daily_epsilon = 0.2

[tables.Patients]
privacy_unit = "patient_id"
rows = 120_000
[tables.Patients.columns]
age    = { type = "integer", bounds = [0, 110] }
sex    = { type = "text", values = ["F", "M", "X"] }
region = { type = "text" }
weight = { type = "double", bounds = [0.1, 300] }
bill   = { type = "decimal", scale = 2, bounds = [0, 99.95], looked = true }
born   = { type = "date", bounds = [1900-01-01, 2029-12-31] }
seen   = { type = "timestamp", bounds = [2020-01-01T00:00:00, 2030-01-01T02:00:00+02:00] }
alive  = { type = "boolean" }

[tables.visits]
source = "visits-*.csv"
privacy_unit = { column = "pid", references = "PATIENTS" }
max_rows_per_unit = 20
columns = { visit_id = { type = "integer" } }

[tables."main.tests"]
privacy_unit = { column = "visit", references = "visits.visit_id", unique = "asserted" }

[tables.results]
privacy_unit = { column = "test", references = "main.tests.code" }

[tables.complaints]
privacy_unit = "row"

[tables.icd10]
public = true

[checks]
answered = ["SELECT COUNT(*) FROM patients"]
refused = ["SELECT * FROM patients"]
"""

SMALL = '[source]\nurl = "x.duckdb"\n[unit]\nname = "person"\n[budget]\nepsilon = 1\n[tables.t]\nprivacy_unit = "id"\n'


@pytest.fixture(scope="module")
def clinic() -> Catalog:
    return loads(CLINIC)


def test_data_set_source_and_unit_are_read(clinic: Catalog) -> None:
    assert (clinic.name, clinic.ledger, clinic.source) == ("clinic-2026", "books/clinic.ledger", "data/*.csv")
    assert (clinic.neighbours, clinic.nulls, clinic.min_units_per_key) == ("replace", "drop", 10)
    assert (clinic.unit_name, clinic.csv) == ("patient", {"delimiter": ";", "quote": "'", "null": "NA"})


def test_amounts_are_the_exact_decimals_written(clinic: Catalog) -> None:
    assert clinic.budget == BudgetTerms(
        epsilon=Fraction(3),
        delta=Fraction(1, 10**9),
        delta_per_question=Fraction(1, 10**12),
        minimum_price=Fraction(1, 100),
        gaussian=True,
        default_epsilon=Fraction(1, 10),
    )
    assert clinic.analyst("RESEARCH") == Analyst("Research", Fraction(1), Fraction(1, 5))


def test_columns_keep_their_order_names_types_and_domains(clinic: Catalog) -> None:
    patients = clinic.table("patients")
    assert patients is not None
    assert (patients.name, patients.unit, patients.rows) == ("Patients", ColumnUnit("patient_id"), 120_000)
    assert list(patients.columns.values()) == [
        Column("age", "integer", (0, 110)),
        Column("sex", "text", values=("F", "M", "X")),
        Column("region", "text"),
        Column("weight", "double", (Fraction(1, 10), Fraction(300))),
        Column("bill", "decimal", (Fraction(0), Fraction(9995, 100)), scale=2, looked=True),
        Column("born", "date", (dt.date(1900, 1, 1), dt.date(2029, 12, 31))),
        Column("seen", "timestamp", (dt.datetime(2020, 1, 1), dt.datetime(2030, 1, 1))),
        Column("alive", "boolean"),
    ]


def test_paths_to_the_unit_are_looked_up_across_tables(clinic: Catalog) -> None:
    units = {name: table.unit for name, table in clinic.tables.items()}
    assert units == {
        "patients": ColumnUnit("patient_id"),
        "visits": ReferenceUnit("pid", "Patients", "patient_id"),
        "main.tests": ReferenceUnit("visit", "visits", "visit_id", asserted=True),
        "results": ReferenceUnit("test", "main.tests", "code"),
        "complaints": RowUnit(),
        "icd10": None,
    }
    assert [table.name for table in clinic.protected] == ["Patients", "visits", "main.tests", "results", "complaints"]


def test_the_key_of_a_reference_is_the_column_of_the_same_name_if_the_target_has_it() -> None:
    named = SMALL + 'columns = { code = { type = "integer" } }\n[tables.u]\n'
    table = loads(named + 'privacy_unit = { column = "CODE", references = "t" }\n').table("u")
    assert table is not None
    assert table.unit == ReferenceUnit("CODE", "t", "CODE")


def test_fixtures_are_kept_for_check_to_run(clinic: Catalog) -> None:
    assert clinic.fixtures.answered == ("SELECT COUNT(*) FROM patients",)
    assert clinic.fixtures.refused == ("SELECT * FROM patients",)


def test_a_small_catalog_takes_the_documented_defaults() -> None:
    small = loads(SMALL, file="folder/people.toml")
    assert (small.name, small.ledger) == ("people", "people.ledger")
    assert small.budget == BudgetTerms(epsilon=Fraction(1))
    assert (small.neighbours, small.nulls, small.min_units_per_key, small.path) == ("add_remove", "group", 1, None)


def test_a_budget_in_rho_has_allowances_in_rho() -> None:
    zcdp = loads(SMALL.replace("epsilon = 1", "rho = 0.1\ngaussian = true\n[analysts.a]\nrho = 0.05"))
    assert (zcdp.budget.rho, zcdp.budget.epsilon) == (Fraction(1, 10), None)
    assert zcdp.analysts["a"].rho == Fraction(1, 20)


def test_relative_places_are_relative_to_the_catalogs_folder(tmp_path: Path) -> None:
    file = tmp_path / "dither.toml"
    file.write_text(CLINIC, encoding="utf-8-sig")  # editors on Windows write a byte order mark
    clinic = load(file)
    assert clinic.path == file
    assert clinic.source == "data/*.csv"  # as written: the ledger's promise holds it
    assert resolve_source(clinic) == str(tmp_path / "data/*.csv")
    assert resolve_ledger(clinic) == str(tmp_path / "books/clinic.ledger")


@pytest.mark.parametrize(
    "place", ["postgresql://me@h/d", "spark://h:7077", "sc://h:15002/;user_id=me", "/data/x.duckdb"]
)
def test_urls_and_absolute_paths_stay_as_they_are(place: str) -> None:
    assert resolve_source(loads(SMALL.replace("x.duckdb", place))) == place


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("postgresql://me:pw@h:5432/d?sslmode=require", "postgresql://me@h:5432/d?sslmode=require"),
        ("postgresql://h/d?password=pw&sslmode=require", "postgresql://h/d?sslmode=require"),
        ("postgresql://h/d?sslmode=require&PASSWORD=pw", "postgresql://h/d?sslmode=require"),
        ("postgresql://me:p/w@h/d", "postgresql://me@h/d"),
        ("postgresql://me:p@ss@h/d", "postgresql://me@h/d"),
        ("sc://h:15002/;token=t;user_id=me", "sc://h:15002/;user_id=me"),
        ("postgresql://me:@h/d", "postgresql://me:@h/d"),
        ("postgresql://h:5432/d?user=me@org", "postgresql://h:5432/d?user=me@org"),
        ("postgresql://[::1]:5432/d?user=me@org", "postgresql://[::1]:5432/d?user=me@org"),
        ("postgresql://h/a&b", "postgresql://h/a&b"),
        ("folder/a:b@c.duckdb", "folder/a:b@c.duckdb"),
    ],
)
def test_only_passwords_are_taken_out_of_a_place(written: str, kept: str) -> None:
    assert without_password(written) == kept


def test_a_listed_value_may_be_the_word_todo() -> None:
    listed = loads(SMALL + 'columns = { state = { type = "text", values = ["TODO", "DONE"] } }\n')
    assert listed.tables["t"].columns["state"].values == ("TODO", "DONE")


def test_the_promise_digest_changes_with_the_promise_only() -> None:
    digest = loads(CLINIC).promise_digest()
    assert loads(CLINIC.replace("bounds = [0, 110]", "bounds = [0, 120]")).promise_digest() == digest
    for old, new in [('"replace"', '"add_remove"'), (', unique = "asserted"', ""), ('"row"', '"patient_id"')]:
        assert loads(CLINIC.replace(old, new)).promise_digest() != digest
