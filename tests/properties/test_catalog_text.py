"""Whatever stands in a catalog file, reading it gives a Catalog or a CatalogError with a place, and nothing else."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import example, given, settings
from hypothesis import strategies as st

from dither.catalog.domains import LARGEST_DOUBLE
from dither.catalog.draft import coarse_bounds, draft
from dither.catalog.load import loads
from dither.catalog.schema import SchemaColumn, SchemaTable, column_type
from dither.errors import CatalogError

SOUND = """\
[dataset]
name = "clinic"
[source]
url = "clinic.duckdb"
csv = { delimiter = ";", quote = "'" }
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
columns.born = { type = "date", bounds = [1900-01-01, 2029-12-31] }
columns.sex = { type = "text", values = ["F", "M"] }
[tables.visits]
privacy_unit = { column = "patient_id", references = "patients" }
max_rows_per_unit = 20
[tables.icd10]
public = true
"""
TOKENS = (
    *SOUND.split(),
    *("inf", "nan", "-1", "0", "1e400", "1e999999999", "true", '"TODO"', '"row"', '""', "[[", "]]", '"""', "'''"),
    *(
        "[tables]",
        "[checks]",
        "answered",
        "looked",
        "scale",
        "rho",
        "unique",
        "\\",
        "#",
        "é",
        "\ufeff",
        "\x00",
        "a.a.a.a",
    ),
    *("07:32:00", "1979-05-27T07:32:00Z", "0x_f", "9" * 5000, "[" * 300, "{ a = " * 300, "{}", "[]", "=", ".", ","),
)


def read(text: str) -> None:
    """Read it; an error must say where it is and what it expected."""
    try:
        loads(text)
    except CatalogError as error:
        assert "expected" in error.message
        assert error.line is None or 1 <= error.line <= text.count("\n") + 1
        assert error.line is not None or error.key is None


@given(st.lists(st.sampled_from(TOKENS), max_size=40), st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_text_made_of_tokens_gives_a_catalog_or_a_catalog_error(tokens: list[str], random) -> None:  # type: ignore[no-untyped-def]
    read("".join(token + random.choice([" ", "\n", ""]) for token in tokens))


@given(st.text(max_size=200))
@settings(max_examples=300, deadline=None)
def test_arbitrary_text_gives_a_catalog_or_a_catalog_error(text: str) -> None:
    read(text)


@given(st.integers(0, len(SOUND.split(" ")) - 1), st.sampled_from(TOKENS), st.booleans())
@settings(max_examples=500, deadline=None)
def test_a_sound_catalog_with_one_word_changed_gives_a_catalog_or_a_catalog_error(
    place: int, token: str, insert: bool
) -> None:
    words = SOUND.split(" ")
    words[place : place + (not insert)] = [token]
    read(" ".join(words))


@given(st.data())
@settings(max_examples=500, deadline=None)
def test_any_value_under_any_key_gives_a_catalog_or_a_catalog_error(data: st.DataObject) -> None:
    values = [
        "1",
        "-1",
        "0.5",
        "inf",
        '""',
        '"x"',
        '"TODO "',
        "true",
        "[]",
        "[1]",
        "[[1]]",
        "{}",
        "{ a = 1 }",
        "{ column = 1 }",
    ]
    lines = SOUND.splitlines()
    at = data.draw(st.sampled_from([n for n, line in enumerate(lines) if "=" in line]))
    lines[at] = lines[at].partition("=")[0] + "= " + data.draw(st.sampled_from(values))
    read("\n".join(lines))


def test_dotted_keys_of_thousands_of_parts_are_an_error_like_any_other() -> None:
    read("a" + ".a" * 5000 + " = 1")
    read("tables" + ".a" * 5000 + " = 'TODO'")


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
types = st.sampled_from(["BIGINT", "DOUBLE", "VARCHAR", "DATE", "DECIMAL(9,2)", "BLOB", "x\ny"]) | names


@given(st.lists(st.tuples(names, types), max_size=6), names)
@settings(max_examples=200, deadline=None)
@example([('a"\n[budget]\nepsilon = 9', "BIGINT\n[budget]")], "t]\nx = 1")
def test_a_draft_of_any_names_is_toml_that_waits_for_its_owner(columns: list[tuple[str, str]], name: str) -> None:
    table = SchemaTable(name, [SchemaColumn(*column) for column in columns])
    try:
        loads(draft([table], source="x.duckdb", name=name))
    except CatalogError as error:
        assert error.code == "C-170", str(error)
        assert "3 TODOs left" in error.message
    else:
        raise AssertionError("a fresh draft was accepted")


@given(st.fractions(), st.fractions())
def test_coarse_bounds_enclose_what_they_round(one: Fraction, other: Fraction) -> None:
    low, high = sorted([one, other])
    coarse = coarse_bounds(low, high)
    assert coarse[0] <= low <= high <= coarse[1]
    # At most a factor of 2.5 wider on either side, as 1, 2, 5 and 10 are that far apart.
    assert coarse[1] <= max(high * Fraction(5, 2), high / Fraction(5, 2))
    assert coarse_bounds(*coarse) == coarse


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_looked_bounds_of_doubles_read_back_as_bounds_around_them(one: float, other: float) -> None:
    low, high = sorted([one, other])
    table = SchemaTable("t", [SchemaColumn("x", "DOUBLE")])
    text = draft([table], source="x.duckdb", name="t", proposals={("t", "x"): (low, high)})
    finished = text.replace('privacy_unit = "TODO"', 'privacy_unit = "row"').replace('epsilon = "TODO"', "epsilon = 1")
    bounds = loads(finished.replace('"TODO"', '"person"')).tables["t"].columns["x"].bounds
    assert bounds is not None
    assert -LARGEST_DOUBLE <= bounds[0] <= Fraction(repr(low))  # type: ignore[operator]
    assert Fraction(repr(high)) <= bounds[1] <= LARGEST_DOUBLE  # type: ignore[operator]


@given(st.text(max_size=40))
def test_any_engine_type_has_a_type_or_none(name: str) -> None:
    assert column_type(name) in (None, "integer", "double", "decimal", "boolean", "text", "date", "timestamp")
