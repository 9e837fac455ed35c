"""Ways to get a catalog wrong: the error names line and key, and says what was expected and what was found.

Each case edits one line of a sound catalog, or adds one; what is missing is reported at its section."""

from __future__ import annotations

from pathlib import Path

import pytest

from dither.catalog import domains
from dither.catalog.load import load, loads
from dither.errors import CatalogError

SOUND = """\
[dataset]
name = "hospital-2026"
ledger = "hospital.ledger"
neighbours = "add_remove"
nulls = "group"

[source]
url = "hospital.duckdb"

[unit]
name = "patient"

[budget]
epsilon = 3.0
delta = 1e-9

[analysts.research]
epsilon = 1.0

[tables.patients]
privacy_unit = "patient_id"
[tables.patients.columns]
age = { type = "integer", bounds = [0, 110] }
sex = { type = "text", values = ["F", "M", "X"] }
weight = { type = "double", bounds = [0.0, 300.0] }
bill = { type = "decimal", scale = 2, bounds = [0, 99.95] }
born = { type = "date", bounds = [1900-01-01, 2029-12-31] }
seen = { type = "timestamp" }
alive = { type = "boolean" }
[tables.visits]
privacy_unit = { column = "patient_id", references = "patients" }
max_rows_per_unit = 20
[tables.icd10]
public = true
"""

CASES = [
    # line replaced, by what, line of the mistake, key, in expected, in found
    (1, "[datasets]", 1, "datasets", "`dataset`", "`datasets`"),
    (5, "null = 1", 5, "dataset.null", "`nulls`", "`null`"),
    (2, "name = 2026", 2, "dataset.name", "a text in quotes", "2026"),
    (2, 'name = " "', 2, "dataset.name", "not blank", 'the text " "'),
    (4, 'neighbours = "swap"', 4, "dataset.neighbours", '"replace"', '"swap"'),
    (5, "nulls = true", 5, "dataset.nulls", '"group" or "drop"', "true"),
    (5, "min_units_per_key = 0", 5, "dataset.min_units_per_key", "from 1", "0"),
    (3, 'ledger = ":memory:"', 3, "dataset.ledger", "file", ":memory:"),
    (3, 'ledger = "mysql://h/d"', 3, "dataset.ledger", "postgresql://", "mysql"),
    (8, 'url = "s3://bucket"', 8, "source.url", "a path, or a URL", "s3://bucket"),
    (8, "", 7, "source.url", "the place of the data", "nothing"),
    (8, 'url = "postgresql://u:pw@h/d"', 8, "source.url", "without", "password"),
    (8, 'url = "postgres://h/d?password=pw"', 8, "source.url", "without", "passw"),
    (8, 'url = "sc://h:1/;token=pw"', 8, "source.url", "without", "password"),
    (8, 'url = "a"\ncsv = { delimiter = ";;" }', 9, "source.csv.delimiter", "single", ";;"),
    (8, 'url = "a"\ncsv = { quote = "," }', 9, "source.csv.quote", "not the", '","'),
    (8, 'url = "a"\ncsv = { header = true }', 9, "source.csv.header", "`null`", "`header`"),
    (11, "", 10, "unit.name", "the word for what is protected", "nothing"),
    (14, "", 13, "budget.epsilon", "exactly one of `epsilon` and `rho`", "neither"),
    (14, "epsilon = 3.0\nrho = 0.1", 15, "budget.rho", "exactly one", "both"),
    (14, "epsilon = 0", 14, "budget.epsilon", "above 0", "0"),
    (14, 'epsilon = "3"', 14, "budget.epsilon", "a number above 0", 'the text "3"'),
    (14, "epsilon = true", 14, "budget.epsilon", "a number above 0", "true"),
    (14, "epsilon = inf", 14, "budget.epsilon", "a number above 0", "inf"),
    (14, "epsilon = nan", 14, "budget.epsilon", "a number above 0", "nan"),
    (14, "epsilon = 1e999999999", 14, "budget.epsilon", "above 0", "1e999999999"),
    (15, "delta = 1", 15, "budget.delta", "from 0 to below 1", "1"),
    (15, "delta = -1e-30", 15, "budget.delta", "from 0 to below 1", "-1e-30"),
    (15, "delta_per_question = 1e-9", 15, "budget.delta_per_question", "`delta`", "1e-09"),
    (15, "gaussian = true", 15, "budget.gaussian", "`delta` above 0", "a pure budget"),
    (15, "minimum_price = 4", 15, "budget.minimum_price", "`epsilon` can pay", "4"),
    (15, "default_epsilon = 4", 15, "budget.default_epsilon", "`epsilon` can pay", "4"),
    (15, "epsilom = 1", 15, "budget.epsilom", "`epsilon`", "`epsilom`"),
    (18, "", 17, "analysts.research.epsilon", "an allowance", "nothing"),
    (18, "rho = 0.1", 18, "analysts.research.rho", "in epsilon", "one in rho"),
    (18, "epsilon = 1\ndaily_epsilon = 2", 19, "analysts.research.daily_epsilon", "most", "2"),
    (18, "epsilon = 1\n[analysts.Research]", 19, "analysts.Research", "differ", "`Research`"),
    (21, "", 20, "tables.patients.privacy_unit", "public = true", "nothing"),
    (21, "privacy_unit = 7", 21, "tables.patients.privacy_unit", '"row"', "7"),
    (34, 'public = true\nprivacy_unit = "x"', 34, "tables.icd10.public", "one of", "`privacy_"),
    (34, 'public = "yes"', 34, "tables.icd10.public", "true or false", '"yes"'),
    (32, "max_rows_per_unit = 0", 32, "tables.visits.max_rows_per_unit", "from 1", "0"),
    (32, "max_rows_per_unit = 2.5", 32, "tables.visits.max_rows_per_unit", "whole", "2.5"),
    (34, "public = true\nmax_rows_per_unit = 3", 35, "tables.icd10.max_rows_per_unit", "no lim", "3"),
    (34, "public = true\nrows = -1", 35, "tables.icd10.rows", "from 1", "-1"),
    (32, "max_rows = 20", 32, "tables.visits.max_rows", "`max_rows_per_unit`", "`max_rows`"),
    (34, "public = true\n[tables.ICD10]\npublic = true", 35, "tables.ICD10", "differ", "`icd10`"),
    (34, 'public = true\n[tables.""]\npublic = true', 35, 'tables.""', "1 to 200", 'the text ""'),
    (23, 'Sex = { type = "text" }', 24, "tables.patients.columns.sex", "upper and lower", "`Sex`"),
]

COLUMNS = [
    # the declaration, key below the column, in expected, in found
    ('"boolean"', "", "a table", '"boolean"'),
    ("{ bounds = [0, 1] }", ".type", "a column type", "nothing"),
    ('{ type = "int" }', ".type", '"integer"', '"int"'),
    ('{ type = "integer", bound = [0, 1] }', ".bound", "`bounds`", "`bo"),
    ('{ type = "integer", bounds = [110, 0] }', ".bounds", "low", "[110, 0]"),
    ('{ type = "integer", bounds = [0] }', ".bounds", "two", "[0]"),
    ('{ type = "integer", bounds = 9 }', ".bounds", "two", "9"),
    ('{ type = "integer", bounds = [0, 1.5] }', ".bounds[1]", "who", "1.5"),
    ('{ type = "integer", bounds = [0, 9223372036854775808] }', ".bounds[1]", "64 bits", "9223372036854775808"),
    ('{ type = "double", bounds = [0, inf] }', ".bounds[1]", "a number", "inf"),
    ('{ type = "double", bounds = [0, 1e309] }', ".bounds[1]", "hold", "a number of about 310 digits"),
    ('{ type = "decimal", scale = 2, bounds = [0, 0.005] }', ".bounds[1]", "2 digits", "0.005"),
    ('{ type = "decimal", scale = 2, bounds = [0, 1e36] }', ".bounds[1]", "38 digits", "1e+36"),
    ('{ type = "integer", scale = 2 }', ".scale", "no `scale`", "2"),
    ('{ type = "date", bounds = ["1900-01-01", 2029-12-31] }', ".bounds[0]", "without quotes", 'the text "1900'),
    ('{ type = "date", bounds = [1900-01-01 00:00:00, 2029-12-31] }', ".bounds[0]", "a date", "the timestamp"),
    ('{ type = "timestamp", bounds = [2020-01-01, 2021-01-01] }', ".bounds[0]", "a timestamp", "the date 2020"),
    ('{ type = "timestamp", values = [0001-01-01T00:00:00+05:00] }', ".values[0]", "UTC", "0001"),
    ('{ type = "text", bounds = ["A", "Z"] }', ".bounds", "no bounds", '["A", "Z"]'),
    ('{ type = "boolean", bounds = [false, true] }', ".bounds", "no bounds", "[false, true]"),
    ('{ type = "text", values = [] }', ".values", "a list of values", "[]"),
    ('{ type = "text", values = ["F", "F"] }', ".values[1]", "once", '"F" again'),
    ('{ type = "double", values = [1, 1.0] }', ".values[1]", "once", "1.0"),
    ('{ type = "text", values = ["F", 1] }', ".values[1]", "quotes", "1"),
    ('{ type = "integer", values = [1, true] }', ".values[1]", "whole", "true"),
    ('{ type = "integer", bounds = [0, 9], values = [10] }', ".values[0]", "inside", "10"),
    ('{ type = "text", values = ["\\u0000"] }', ".values[0]", "NUL", "the text"),
    ('{ type = "integer", looked = true }', ".looked", "`bounds`", "none"),
]

PATHS = [
    ('{ references = "patients" }', "column", "the column", "nothing"),
    ('{ column = "p", references = "patient" }', "references", "a table of this", '"patient"'),
    ('{ column = "p", references = "patients." }', "references", "table.key", '"patients."'),
    ('{ column = "p", references = "icd10" }', "references", "unit column", "public"),
    ('{ column = "p", references = "visits.p" }', "references", "ends", "visits -> visits"),
    ('{ column = "p", references = "patients", unique = true }', "unique", '"asserted"', "true"),
    ('{ column = "p", unique = "asserted" }', "unique", "`references`", "none"),
    ('{ column = "p", key = "q" }', "key", "`references`", "`key`"),
]


def refused(text: str) -> CatalogError:
    with pytest.raises(CatalogError) as caught:
        loads(text, file="dither.toml")
    return caught.value


def assert_says(error: CatalogError, line: int, key: str, expected: str, found: str) -> None:
    assert (error.file, error.line, error.key) == ("dither.toml", line, key)
    assert error.message.startswith(f"dither.toml:{line}: `{key}`: expected ")
    before, _, after = error.message.partition("; found ")
    assert expected in before
    assert found in after


@pytest.mark.parametrize(("replaced", "by", "line", "key", "expected", "found"), CASES)
def test_a_broken_catalog_names_line_key_expected_and_found(
    replaced: int, by: str, line: int, key: str, expected: str, found: str
) -> None:
    lines = SOUND.splitlines()
    lines[replaced - 1] = by
    assert_says(refused("\n".join(lines)), line, key, expected, found)


@pytest.mark.parametrize(("declaration", "key", "expected", "found"), COLUMNS)
def test_a_broken_column_names_line_key_expected_and_found(
    declaration: str, key: str, expected: str, found: str
) -> None:
    lines = SOUND.splitlines()
    lines[22] = f"age = {declaration}"
    assert_says(refused("\n".join(lines)), 23, f"tables.patients.columns.age{key}", expected, found)


@pytest.mark.parametrize(("unit", "key", "expected", "found"), PATHS)
def test_a_broken_path_to_the_unit_is_refused_at_its_line(unit: str, key: str, expected: str, found: str) -> None:
    error = refused(SOUND.replace('{ column = "patient_id", references = "patients" }', unit))
    assert_says(error, 31, f"tables.visits.privacy_unit.{key}", expected, found)


def test_a_circle_of_references_is_shown() -> None:
    circle = SOUND.replace('privacy_unit = "patient_id"', 'privacy_unit = { column = "v", references = "visits.v" }')
    error = refused(circle)
    assert (error.line, error.key) == (21, "tables.patients.privacy_unit.references")
    assert "the circle patients -> visits -> patients" in error.message


def test_a_path_into_rows_that_are_their_own_units_is_refused() -> None:
    error = refused(SOUND.replace('"patient_id"\n', '"row"\n'))
    assert error.line == 31
    assert "`patients`, which is its own unit per row" in error.message


def test_a_limit_where_each_row_is_its_own_unit_is_refused() -> None:
    error = refused(SOUND.replace('{ column = "patient_id", references = "patients" }', '"row"'))
    assert (error.line, error.key) == (32, "tables.visits.max_rows_per_unit")


def test_a_key_that_would_have_to_be_guessed_must_be_written() -> None:
    # visits.visit_id is not declared, and patient_id, visits' own column, would give tests to strangers.
    guess = '[tables.tests]\nprivacy_unit = { column = "visit_id", references = "visits" }\n'
    error = refused(SOUND + guess)
    assert 'expected the key to match, as in "visits.visit_id"' in error.message
    assert loads(SOUND + guess.replace('"visits"', '"visits.visit_id"')).table("tests") is not None


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("[dataset\n", 1, "column 9"),
        ('[dataset]\nname = "a"\nname = "b"\n', 3, "cannot overwrite a value"),
        ("[dataset]\nname = hospital\n", 2, "invalid value"),
        ('[dataset]\nname = """\n\n', 2, "at the end of the file"),
        ("a = " + "[" * 100_000, None, "nested too deep"),
        ("a = " + "9" * 10_000, None, "too many digits"),
    ],
)
def test_broken_toml_gives_one_error_with_its_place(text: str, line: int | None, says: str) -> None:
    error = refused(text)
    assert (error.line, error.code) == (line, "C-101")
    assert error.message.startswith("dither.toml")
    assert "expected valid TOML; found a mistake" in error.message
    assert says in error.message.lower()


def test_an_empty_file_asks_for_the_source_first() -> None:
    error = refused("")
    assert (error.line, error.key) == (1, "source.url")


def test_a_missing_file_a_folder_and_other_bytes_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b'[dataset]\nname = "\xe9"\n')
    for name, says, line in [
        ("none.toml", "there is no such file", None),
        (".", "this is a folder", None),
        ("latin.toml", "expected text in UTF-8", 2),
        ("a\0b", "cannot be read", None),
    ]:
        with pytest.raises(CatalogError, match=says) as caught:
            load(tmp_path / name)
        assert caught.value.line == line


def test_a_password_is_never_repeated_in_the_message() -> None:
    for url in (
        "postgresql://me:hunter2@h/d",
        "postgresql://h/d?sslmode=require&password=hunter2",
        "postgresql://me:hun/hunter2@h/d",
        "sc://h:15002/;token=hunter2",
    ):
        said = str(refused(SOUND.replace('"hospital.duckdb"', f'"{url}"')))
        assert "hunter2" not in said
        assert "environment" in said


def test_too_many_values_are_refused_with_the_way_to_private_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    assert domains.MOST_VALUES == 10**6
    monkeypatch.setattr(domains, "MOST_VALUES", 3)
    error = refused(SOUND.replace("bounds = [0, 110]", "values = [1, 2, 3, 4]"))
    assert "expected at most 3 values; found 4" in error.message
    assert "private" in (error.hint or "")
    assert error.line == 23


def test_only_public_tables_protect_nobody() -> None:
    only_public = SOUND[: SOUND.index("[tables.patients]")] + "[tables.icd10]\npublic = true\n"
    assert "at least one table with a privacy unit; found only public ones" in refused(only_public).message
    assert "at least one table" in refused(only_public.replace("[tables.icd10]\npublic = true\n", "")).message


def test_near_misses_get_a_suggestion() -> None:
    for old, new, hint in [
        ("max_rows_per_unit", "max_row_per_unit", "Did you mean `max_rows_per_unit`?"),
        ('references = "patients"', 'references = "Patient"', "Did you mean `patients`?"),
        ("[tables.icd10]", "[tables.main.icd10]", "must be quoted"),
        ("[0, 110]", "[110, 0]", "Write bounds = [0, 110]."),
        ("epsilon = 3.0", 'epsilon = "3.0"', "without quotes"),
    ]:
        assert hint in (refused(SOUND.replace(old, new)).hint or ""), new


def test_todos_left_of_a_draft_are_listed_with_their_lines() -> None:
    draft = SOUND.replace("epsilon = 3.0", 'epsilon = "TODO"').replace('"patient_id"\n', '"TODO"\n')
    error = refused(draft)
    assert error.code == "C-170"
    assert "2 TODOs left: `budget.epsilon` (line 14), `tables.patients.privacy_unit` (line 21)" in error.message
