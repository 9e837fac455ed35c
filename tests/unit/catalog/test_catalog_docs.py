"""The pages on catalogs say what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import dither.catalog
from dither.catalog.load import loads
from dither.errors import CatalogError

DOCS = Path(__file__).parents[3] / "docs"
REFERENCE = (DOCS / "reference/catalog.md").read_text(encoding="utf-8")
HOW_TO = (DOCS / "how-to/write-a-catalog.md").read_text(encoding="utf-8")
NEEDED = '[source]\nurl = "hospital.duckdb"\n[unit]\nname = "patient"\n'


def test_the_fragments_of_the_how_to_make_one_sound_catalog() -> None:
    fragments = re.findall(r"```toml\n(.*?)```", HOW_TO, re.DOTALL)
    catalog = loads(NEEDED + "\n".join(fragments))
    assert list(catalog.tables["patients"].columns) == ["age", "sex", "region"]
    assert catalog.fixtures.refused == ("SELECT * FROM patients",)


def test_the_error_shown_in_the_reference_is_the_one_given() -> None:
    padding = "\n" * 15
    tables = '[tables.patients]\nprivacy_unit = "id"\ncolumns.age = { type = "integer", bounds = [110, 0] }\n'
    with pytest.raises(CatalogError) as caught:
        loads(NEEDED + "[budget]" + padding + "epsilon = 1\n" + tables)
    shown = re.findall(r"^> (.*)$", REFERENCE, re.MULTILINE)
    assert shown == [line.strip() for line in str(caught.value).splitlines()]


def test_the_reference_lists_every_code_that_the_package_uses() -> None:
    folder = Path(dither.catalog.__file__).parent
    used = {code for file in folder.glob("*.py") for code in re.findall(r'"(C-\d+)"', file.read_text(encoding="utf-8"))}
    assert used == set(re.findall(r"^\| (C-\d+) \|", REFERENCE, re.MULTILINE))


def test_reading_a_catalog_loads_no_engine_and_no_numeric_library() -> None:
    program = (
        "import sys; from dither.catalog import arguments, check, draft, load\n"
        "print(sorted({'numpy', 'duckdb', 'sqlite3'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
