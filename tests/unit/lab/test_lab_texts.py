"""Every text of the lab, in both languages: nothing is called safe, nothing is promised to be 0 %, bounds hold in the
long run. Looked at are all strings of the code, the class pages, the pages about the lab, and the notebook."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import dither.lab
from dither.cli import lab as command
from dither.cli import lab_class

ROOT = Path(__file__).resolve().parents[3]
CODE = Path(dither.lab.__file__).parent
PROMISE = re.compile(
    r"\bsafe(?:ly|ty)?\b|\bunbreakable\b|\bimpossible\b|(?<![\d.,])0(?:\.0+)? ?(?:%|per cent|percent)"
    r"|安全|绝对|不可能|万无一失|百分之零|零风险",
    re.IGNORECASE,
)


def strings(path: Path) -> Iterator[str]:
    """What a Python file could show: its strings, docstrings too; fixed parts of f-strings among them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A width in a style sheet is no claim.
            yield re.sub(r"(?:width|top|left): ?\d+ ?%", "", node.value)


def pages() -> list[Path]:
    docs = ROOT / "docs"
    named = [
        docs / "explanation" / "attacks.md",
        docs / "how-to" / "let-a-class-attack.md",
        docs / "proofs/lab/bounds.md",
    ]
    return [*sorted((CODE / "class_pages").glob("*.md")), *(page for page in named if page.exists())]


@pytest.mark.parametrize("text", ["It is safe.", "0 % risk", "0.0% of them", "绝对安全", "零风险"])
def test_the_test_sees_a_promise(text: str) -> None:
    assert PROMISE.search(text)


@pytest.mark.parametrize("text", ["0 of 300", "100 %", "10 % of the people", "0.500", "unsafe at any epsilon"])
def test_the_test_lets_counts_pass(text: str) -> None:
    assert not PROMISE.search(text)


def test_no_string_of_the_code_promises_anything() -> None:
    files = [*CODE.rglob("*.py"), Path(command.__file__), Path(lab_class.__file__)]
    assert len(files) > 30
    found = {f"{path.name}: {text[:80]}" for path in files for text in strings(path) if PROMISE.search(text)}
    assert not found


def test_no_page_promises_anything() -> None:
    assert len([page for page in pages() if page.parent.name == "class_pages"]) == 4
    for page in pages():
        assert not PROMISE.search(page.read_text(encoding="utf-8")), page.name


def test_the_notebook_promises_nothing() -> None:
    notebook = ROOT / "examples" / "attack_lab.ipynb"
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        assert not PROMISE.search("".join(cell["source"]))


@pytest.mark.parametrize("page", sorted((CODE / "class_pages").glob("*.md")), ids=lambda path: path.name)
def test_a_page_for_a_class_says_that_the_bound_is_for_the_long_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert ("长期" if page.name.endswith("zh.md") else "in the long run") in re.sub(r"\s+", " ", text).replace(
        "In the", "in the"
    )
