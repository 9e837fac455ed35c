"""The pages made from source say what the source says: docs/reference/refusals.md and functions.md are up to date."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    import sys

    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["make_refusals", "make_functions"])
def test_a_generated_page_is_up_to_date(name: str) -> None:
    made = tool(name)
    assert made.TARGET.read_text(encoding="utf-8") == made.page(), f"run python tools/{name}.py"


def test_codes_are_found_however_they_are_passed() -> None:
    """By position to `refuse`, by keyword to a class, through a constant, and by a class's default."""
    entries = tool("make_refusals").entries()
    codes = {entry.code for entry in entries}
    assert {"S-153", "K-101", "C-140", "E-100", "M-100"} <= codes
    assert any("dither tune" in entry.hint for entry in entries if entry.code == "B-110")
    assert any(entry.owner_hint for entry in entries if entry.code == "B-104")


def test_every_code_raised_while_a_question_is_planned_is_listed() -> None:
    """A refusal met at run time carries a code of the page: nothing is built in a way the tool cannot see."""
    from dither.errors import QueryRefused
    from dither.sql.parse import parse

    page = (ROOT / "docs" / "reference" / "refusals.md").read_text(encoding="utf-8")
    for text in ("", "SELEC 1", "SELECT 1; SELECT 2", "DELETE FROM t", "SELECT $1", "x" * 70_000):
        with pytest.raises(QueryRefused) as refused:
            parse(text)
        assert f"| {refused.value.code} |" in page


def test_no_code_means_two_families() -> None:
    families = tool("make_refusals").FAMILIES
    assert all(entry.code[0] in families for entry in tool("make_refusals").entries())
